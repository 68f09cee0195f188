"""MXNet's oneDNN fusion, which merges a layer with a following sum and activation."""

from typing import Optional

import mxnet as mx

from .graph import Graph

#: MXNet's name for the fusion backend.
BACKEND = "MKLDNN"


def available() -> bool:
    """Return whether this build of MXNet has oneDNN."""
    features = mx.runtime.Features()
    return any(name in features and features.is_enabled(name) for name in ("MKLDNN", "ONEDNN"))


def computes_weights(graph: Graph) -> bool:
    """Return whether any layer's weights are computed. Fused operators treat weights as constant."""
    layers = [node for node in graph.nodes() if node.op in ("Convolution", "FullyConnected")]
    return any(
        entry.node.op != "null" and not _is_cast(entry.node) for n in layers for entry in n.inputs[1:]
    )


def _is_cast(node):
    return node.op == "amp_cast" and node.inputs[0].node.op == "null"


def fuse(graph: Graph) -> Optional[Graph]:
    """Return the graph with oneDNN's fused operators; None if fusion saves no operator."""
    if computes_weights(graph):
        return None
    fused = Graph(graph.symbol().get_backend_symbol(BACKEND), graph.params, graph.inputs)
    return fused if fused.operators() < graph.operators() else None
