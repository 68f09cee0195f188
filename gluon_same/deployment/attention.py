"""Rules for products of matrices, and for slices of a layer's result, as in attention."""

from typing import Any, Optional

import numpy as np

from ..crops import ELEMENTWISE, is_pointwise
from ..graph import Entry, Graph, Node
from .activations import LAYERS, factor_of
from .clean import RESHAPES
from .fold_batchnorm import channels_of, weights_of, with_weights
from .joins import slice_of

#: A 1x1 convolution is computed in parts of multiples of so many channels. oneDNN computes as many at
#: once, and a larger kernel reads its data again for each part.
BLOCK = 16

#: One transpose of fewer elements takes less time than those of its parts.
LEAST = 2**12


def slice_layer(graph: Graph, node: Node) -> Optional[Entry]:
    """Compute a slice of a layer's channels, such as the queries of attention, by a layer of its own.

    This requires that the other slices are of other channels, and that nothing else reads the layer.
    """
    found = slice_of(graph, node.out)
    takers = graph.takers(found[0]) if found else []
    slices: Any = [each.op == "slice_axis" and slice_of(graph, each.out) for each in takers]
    if not found or not all(slices):
        return None
    data, axis, *ends = found
    seen = [place for each in slices for place in range(*each[2:])]
    if {each[1] for each in slices} != {axis} or len({*seen}) < len(seen):
        return None
    return _part(graph, data, axis, np.arange(*ends)) if len(graph.shape(data)) > 2 else None


def _part(graph, entry, axis, kept):
    """Return elements of an axis that a layer computes; None if other operators compute them."""
    node, shape, attrs = entry.node, graph.shape(entry), dict(entry.node.attrs)
    if node.op in LAYERS:
        weight, bias = weights_of(graph, node)
        if weight is None or axis != channels_of(graph, node) or node.get("num_group", 1) != 1:
            return None
        blocks = is_pointwise(node) and not (len(kept) % BLOCK or len(weight) % BLOCK)
        if node.op == "Convolution" and not blocks:
            return None
        return with_weights(graph, node, node.inputs[0], weight[kept], bias[kept])
    if node.op not in {"transpose", *RESHAPES, *ELEMENTWISE} or len(node.inputs) > 1:
        return None
    before = graph.shape(node.inputs[0])
    if not before or not shape or graph.uses(node.inputs[0]) > 1:
        return None
    if node.op == "transpose" and np.prod(shape) < LEAST:
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
    factor, product = factor_of(node), node.data.node
    if factor is None or product.op != "batch_dot" or graph.uses(product.out) > 1:
        return None
    data, result = (graph.shape(entry) for entry in (product.inputs[0], product.out))
    if not data or not result or np.prod(data) >= np.prod(result):
        return None
    scaled = graph.new("_mul_scalar", node, product.inputs[:1], scalar=factor)
    return graph.with_data(product, scaled)


def transpose_operand(graph: Graph, node: Node) -> Optional[Entry]:
    """Let a product of matrices read an operand by columns instead of transposing it before."""
    shape = graph.shape(node.out)
    if node.op != "batch_dot" or not shape:
        return None
    *first, row, column = range(len(shape))
    for i, name in enumerate(("transpose_a", "transpose_b")):
        swap = node.inputs[i].node
        if swap.op != "transpose" or graph.uses(swap.out) > 1:
            continue
        if swap.get("axes") == (*first, column, row):
            return graph.with_data(node, swap.inputs[0], i, **{name: not node.get(name, False)})
    return None


#: The rules in the order in which they are tried.
RULES = (slice_layer, scale_operand, transpose_operand)
