"""Rules that convert layers, and the operators between them, to bfloat16."""

from typing import Optional

import mxnet as mx
import numpy as np

from ..graph import Entry, Graph, Node
from .activations import LAYERS

#: Operators that accept both dtypes, provided all inputs have the same one.
EITHER = {"Pooling", "Concat", "elemwise_add", "clip"}

_SMALL, _FULL = "bfloat16", "float32"

#: MXNet's dtype of arrays. NumPy knows its name only if the package ml_dtypes is imported.
_OF_ARRAYS = np.dtype([("bfloat16", np.uint16)])


def lower_layer(graph: Graph, node: Node) -> Optional[Entry]:
    """Compute a layer in bfloat16 between casts, and cast constant weights once."""
    if node.op not in LAYERS or _casts_to(node.inputs[0], _SMALL):
        return None
    if len(graph.shape(node.inputs[0])) not in (2, 4):
        return None
    data, *weights = node.inputs
    inputs = [_cast(graph, node, data, _SMALL), *(_weight(graph, node, entry) for entry in weights)]
    lowered = graph.like(node, inputs)
    return _cast(graph, node, lowered, _FULL)


def sink_cast(graph: Graph, node: Node) -> Optional[Entry]:
    """Move casts to float32 after an operator that also accepts bfloat16."""
    if node.op not in EITHER and node.attrs.get("act_type") not in ("relu", "leaky"):
        return None
    if not all(_casts_to(entry, _FULL) for entry in node.inputs):
        return None
    known = node.get("kernel") and node.get("pool_type", "max") in ("max", "avg")
    if node.op == "Pooling" and not known:
        return None  # which oneDNN does not compute
    lowered = graph.like(node, [entry.node.inputs[0] for entry in node.inputs])
    return _cast(graph, node, lowered, _FULL)


def cancel_casts(graph: Graph, node: Node) -> Optional[Entry]:
    """Cancel a cast to float32 that is followed by a cast back to bfloat16."""
    if node.op == "amp_cast" and _casts_to(node.out, _SMALL) and _casts_to(node.inputs[0], _FULL):
        return node.inputs[0].node.inputs[0]
    return None


def to_bfloat16(graph: Graph) -> Graph:
    """Return a copy of the graph whose layers compute in bfloat16."""
    lowered = graph.copy()
    lowered.rewrite(lower_layer, dtype=np.float32)
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
    # MXNet cannot cast arrays in oneDNN's blocked layout, so this copies to a new array.
    value = mx.nd.array(values, dtype=_FULL)
    # oneDNN fails on constant bfloat16 weights of grouped convolutions, so these are cast at each call.
    if node.get("num_group", 1) > 1:
        return _cast(graph, node, graph.constant(node, "plain", value), _SMALL)
    # ``astype`` truncates, which makes all weights smaller. ``amp_cast`` rounds.
    return graph.constant(node, "bfloat16", mx.nd.amp_cast(value, dtype=_OF_ARRAYS))
