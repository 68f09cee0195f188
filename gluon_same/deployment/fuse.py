"""MXNet's own fusion: a layer, what is added to its result and an activation as one operator."""

from typing import Optional

import mxnet as mx

from .graph import Graph

#: MXNet's name for its fusion by oneDNN.
BACKEND = "MKLDNN"


def available() -> bool:
    """Whether this build of MXNet has oneDNN."""
    features = mx.runtime.Features()
    return any(name in features and features.is_enabled(name) for name in ("MKLDNN", "ONEDNN"))


def fuse(graph: Graph) -> Optional[Graph]:
    """The graph with oneDNN's fused operators; None where nothing is fused."""
    fused = Graph(graph.symbol().get_backend_symbol(BACKEND), graph.params, graph.inputs)
    return fused if fused.operators() < graph.operators() else None
