"""MXNet's oneDNN fusion, which merges a layer with a following sum and activation."""

import json
import os
from collections import Counter
from typing import Callable, List, Optional

import mxnet as mx
import numpy as np

from .._compat import processor_features
from ..graph import Entry, Graph, Node
from .activations import LAYERS
from .clean import drop_identity
from .gates import BEFORE_FUSION, GRADIENT, can_fail, fail_without_onednn

#: MXNet's name for the fusion backend.
BACKEND = "MKLDNN"

#: Operators that fusion merges with the next one.
FUSED = ("Convolution", "FullyConnected", "BatchNorm", "elemwise_add", "broadcast_add")


def available() -> bool:
    """Return whether this build of MXNet has oneDNN."""
    features = mx.runtime.Features()
    return any(name in features and features.is_enabled(name) for name in ("MKLDNN", "ONEDNN"))


def has_avx512() -> bool:
    """Return whether oneDNN computes with AVX-512, on Linux."""
    limit = (os.environ.get("DNNL_MAX_CPU_ISA") or "ALL").upper()
    return "avx512bw" in processor_features() and limit.startswith(("ALL", "AVX512_CORE"))


def computes_weights(graph: Graph) -> bool:
    """Return whether any layer's weights are computed."""
    return not all(_holds_weights(graph, node) for node in graph.nodes() if node.op in LAYERS)


def _holds_weights(graph, layer):
    weights = layer.inputs[1:]
    return graph.holds(*(e.node.inputs[0] if e.node.op == "amp_cast" else e for e in weights))


def fuse(graph: Graph, gates: bool = True) -> Optional[Graph]:
    """Return the graph with oneDNN's fused operators; None if nothing is fused.

    Parameters
    ----------
    graph : Graph
    gates : bool
        Whether to replace products with a sigmoid, too. In bfloat16 that is slower.
    """
    gated = graph.copy()
    gated.rewrite(flatten_pixel)
    changed = gates and can_fail(gated) and gated.rewrite(*BEFORE_FUSION, dtype=np.float32)
    shielded = shield(gated)
    # Fusion treats weights as constant, so layers with computed weights are hidden from it as ``add_n``.
    hidden = [node for node in shielded.nodes() if node.op in LAYERS and not _holds_weights(gated, node)]
    for node in hidden:
        layer = json.dumps([node.op, node.attrs])
        node.op, node.attrs = "add_n", {"num_args": str(len(node.inputs)), "__layer__": layer}
    fused = Graph(shielded.symbol().get_backend_symbol(BACKEND), gated.params, graph.inputs)
    for node in fused.nodes():
        if "__layer__" in node.attrs:
            node.op, node.attrs = json.loads(node.attrs["__layer__"])
    fused.rewrite(drop_identity)  # the products by one
    if any(node.op == GRADIENT for node in fused.nodes()):
        fail_without_onednn(fused)
    return fused if changed or kinds(fused) else None


def flatten_pixel(graph: Graph, node: Node) -> Optional[Entry]:
    """Flatten an image of one pixel before a dense layer.

    A fused dense layer fails in its second call if its data are such an image from a fused convolution.
    """
    shape = graph.shape(node.data)
    if node.op != "FullyConnected" or not node.get("flatten", True):
        return None
    if len(shape) < 3 or max(shape[2:]) > 1:
        return None
    flat = graph.new("Flatten", node, node.inputs[:1])
    return graph.with_data(node, flat)


def kinds(graph: Graph) -> List[str]:
    """Return the kinds of fused operators that can be taken apart, such as ``'Convolution + relu'``."""
    return sorted({_kind(node) for node in graph.nodes()} - {""})


def unfuse(graph: Graph, kind: str) -> Graph:
    """Return a fused graph with the fused operators of one kind taken apart."""
    changed = graph.copy()
    changed.rewrite(lambda graph, node: _parts(graph, node) if _kind(node) == kind else None)
    return changed


def _kind(node):
    if not node.op.startswith("_sg_mkldnn"):
        return ""
    if any(entry.node.op == GRADIENT for entry in node.inputs):
        return ""  # only fused layers pass no gradient to an operator that has none
    parts = [part for part in node.subgraphs[0]["nodes"] if part["op"] != "null"]
    return " + ".join(part.get("attrs", {}).get("act_type", part["op"]) for part in parts)


def _parts(graph, node):
    """Return the result of the operators that a fused operator consists of."""
    subgraph, given = node.subgraphs[0], iter(node.inputs)
    made: List[Entry] = []

    def entry(source, index, *_):
        return Entry(made[source].node, made[source].output + index)

    for part in subgraph["nodes"]:
        if part["op"] == "null":
            made.append(next(given))
        else:
            inputs = [entry(*each) for each in part["inputs"]]
            made.append(graph.new(part["op"], node, inputs, **part.get("attrs", {})))
    return entry(*subgraph["heads"][0])


def shares_an_output(graph: Graph) -> bool:
    """Return whether an output of the graph is a layer's result that other operators use, too."""
    used = {entry for node in graph.nodes() for entry in node.inputs}
    return any(entry in used and entry.node.op in FUSED for entry in graph.heads)


def shield(graph: Graph, among: Callable[[Node], bool] = lambda node: node.op in FUSED) -> Graph:
    """Return the graph with a product by one after each result that several operators or outputs use.

    Only results of nodes for which ``among`` returns True are considered, and those before
    normalizations that fusion would break.

    MXNet fuses a layer with the next operator even if others use the layer's own result, and then
    passes the fused result to them.
    """
    shielded = graph.copy()
    nodes = list(shielded.nodes())
    uses = Counter([*(entry for node in nodes for entry in node.inputs), *shielded.heads])
    # Fusion folds a normalization into its layer once, even if the scales are computed at each call, and
    # one of another axis than the channels, too, for which it writes beyond its arrays.
    norms = [node for node in nodes if node.op == "BatchNorm"]
    scaled = {
        node.inputs[0] for node in norms
        if node.get("axis", 1) != 1 or not graph.holds(*node.inputs[1:])
    }  # fmt: skip
    copies = {
        # MXNet's pass drops a ``_copy`` that has one consumer.
        node.out: Node("_mul_scalar", f"{node.name}_shield{i}", [node.out], scalar=1.0).out
        for i, node in enumerate(nodes)
        if (among(node) and uses[node.out] > 1) or (node.op in FUSED and node.out in scaled)
    }
    for node in nodes:
        node.inputs = [copies.get(entry, entry) for entry in node.inputs]
    shielded.heads = [copies.get(entry, entry) for entry in shielded.heads]
    return shielded
