"""Rules for products of matrices, and for slices of a layer's result, as in attention."""

from typing import Any, Optional

import numpy as np

from ..crops import ELEMENTWISE
from ..graph import Entry, Graph, Node
from .activations import LAYERS, factor_of
from .clean import RESHAPES
from .fold_batchnorm import channels_of, weights_of, with_weights


def slice_layer(graph: Graph, node: Node) -> Optional[Entry]:
    """Compute a slice of a layer's channels, such as the queries of attention, by a layer of its own.

    This requires that the other slices are of other channels, and that nothing else reads the layer.
    """
    shape = graph.shape(node.inputs[0]) if node.op == "slice_axis" else None
    if shape is None or len(shape) < 3:
        return None
    axis, seen = node.get("axis", 0), []
    for taker in graph.takers(node.inputs[0]):
        if taker is None or (taker.op, taker.get("axis")) != ("slice_axis", axis):
            return None
        seen += _kept(taker, shape[axis])
    if len(set(seen)) < len(seen):
        return None
    return _part(graph, node.inputs[0], axis % len(shape), _kept(node, shape[axis]))


def _kept(node, size):
    """Return the places of an axis that a slice keeps."""
    return list(range(size)[slice(node.get("begin"), node.get("end"))])


def _part(graph, entry, axis, kept):
    """Return elements of an axis that a layer computes; None if other operators compute them."""
    node, shape, attrs = entry.node, graph.shape(entry), dict(entry.node.attrs)
    if node.op in LAYERS:
        weight, bias = weights_of(graph, node)
        if weight is None or axis != channels_of(graph, node) or node.get("num_group", 1) != 1:
            return None
        count = {"num_hidden" if node.op == "FullyConnected" else "num_filter": len(kept)}
        return with_weights(graph, node, node.inputs[0], weight[kept], bias[kept], **count)
    if node.op not in {"transpose", *RESHAPES, *ELEMENTWISE} or len(node.inputs) > 1:
        return None
    before = graph.shape(node.inputs[0])
    if before is None or shape is None or graph.uses(node.inputs[0]) > 1:
        return None
    op, place, elements = node.op, axis, kept
    if node.op == "transpose":
        place = (node.get("axes") or range(len(shape))[::-1])[axis]
    elif node.op in RESHAPES:
        # The reshape splits axis `place` of the layer into the axes from `start` to before `end`.
        found = [
            (place, start, end)
            for place, size in enumerate(before)
            for start in range(axis + 1)
            for end in range(axis + 1, len(shape) + 1)
            if np.prod(before[:place]) == np.prod(shape[:start]) and size == np.prod(shape[start:end])
        ]
        if not found:
            return None
        place, start, end = found[0]
        places = np.arange(before[place]).reshape(shape[start:end])
        elements = places.take(kept, axis - start).reshape(-1)
        op, attrs = "Reshape", {"shape": (*shape[:axis], len(kept), *shape[axis + 1 :])}
    data = _part(graph, node.inputs[0], place, elements)
    return None if data is None else graph.new(op, node, [data], **attrs)


def scale_operand(graph: Graph, node: Node) -> Optional[Entry]:
    """Scale the first operand of a product of matrices instead of its result, which is larger."""
    factor, product = factor_of(node), node.inputs[0].node if node.inputs else node
    if factor is None or product.op != "batch_dot" or graph.uses(product.out) > 1:
        return None
    data, result = (graph.shape(entry) for entry in (product.inputs[0], product.out))
    if data is None or result is None or np.prod(data) >= np.prod(result):
        return None
    scaled = graph.new("_mul_scalar", node, product.inputs[:1], scalar=factor)
    return graph.new(product.op, product, [scaled, product.inputs[1]], **product.attrs)


def transpose_operand(graph: Graph, node: Node) -> Optional[Entry]:
    """Let a product of matrices read an operand by columns instead of transposing it before."""
    shape = graph.shape(node.out) if node.op == "batch_dot" else None
    if shape is None:
        return None
    *first, row, column = range(len(shape))
    for i, name in enumerate(("transpose_a", "transpose_b")):
        swap = node.inputs[i].node
        if swap.op != "transpose" or graph.uses(swap.out) > 1:
            continue
        if swap.get("axes") == (*first, column, row):
            inputs: Any = list(node.inputs)
            inputs[i] = swap.inputs[0]
            return graph.new(node.op, node, inputs, **{**node.attrs, name: not node.get(name, False)})
    return None


#: The rules in the order in which they are tried.
RULES = (slice_layer, scale_operand, transpose_operand)
