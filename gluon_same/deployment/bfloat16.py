"""Rules that have layers, and what is between them, compute in bfloat16."""

from typing import Optional

import mxnet as mx
import numpy as np

from .fold_batchnorm import LAYERS
from .graph import Entry, Graph, Node

#: Operators that take both dtypes, where all they are given is of one.
EITHER = {"Pooling", "Concat", "elemwise_add", "clip"}

_SMALL, _FULL = "bfloat16", "float32"


def lower_layer(graph: Graph, node: Node) -> Optional[Entry]:
    """Have a layer read and write bfloat16, between casts; its weights are cast once."""
    if node.op not in LAYERS or node.op == "Deconvolution" or _casts_to(node.inputs[0], _SMALL):
        return None
    if len(graph.shape(node.inputs[0]) or ()) not in (2, 4):
        return None
    data, *weights = node.inputs
    inputs = [_cast(graph, node, data, _SMALL), *(_weight(graph, node, entry) for entry in weights)]
    lowered = graph.new(node.op, node, inputs, **node.attrs)
    return _cast(graph, node, lowered, _FULL)


def sink_cast(graph: Graph, node: Node) -> Optional[Entry]:
    """Move a cast to float32 behind an operator that takes bfloat16, too."""
    if node.op not in EITHER and node.attrs.get("act_type") not in ("relu", "leaky"):
        return None
    if not all(_casts_to(entry, _FULL) for entry in node.inputs):
        return None
    lowered = graph.new(node.op, node, [entry.node.inputs[0] for entry in node.inputs], **node.attrs)
    return _cast(graph, node, lowered, _FULL)


def cancel_casts(graph: Graph, node: Node) -> Optional[Entry]:
    """Drop a cast to bfloat16 of what was cast from it."""
    if node.op == "amp_cast" and _casts_to(node.out, _SMALL) and _casts_to(node.inputs[0], _FULL):
        return node.inputs[0].node.inputs[0]
    return None


def to_bfloat16(graph: Graph) -> Graph:
    """The graph in bfloat16, where that is of use."""
    lowered = graph.copy()
    lowered.rewrite(lower_layer)
    lowered.rewrite(sink_cast, cancel_casts)
    return lowered


def _cast(graph, node, entry, dtype):
    return graph.new("amp_cast", node, [entry], dtype=dtype)


def _casts_to(entry, dtype):
    return entry.node.op == "amp_cast" and entry.node.attrs["dtype"] == dtype


def _weight(graph, node, entry):
    values = graph.param(entry)
    if values is None:
        return _cast(graph, node, entry, _SMALL)
    # A new array, because MXNet casts none that oneDNN put in an order of its own.
    value = mx.nd.array(values, dtype=_FULL)
    if (
        node.get("num_group", 1) > 1
    ):  # whose weights in bfloat16 end in an error of oneDNN's, and are small
        return _cast(graph, node, graph.constant(node, "plain", value), _SMALL)
    return graph.constant(node, "bfloat16", value.astype(np.dtype([(_SMALL, np.uint16)])))
