"""Rules for products of stacked matrices, as in attention.

MXNet multiplies stacks of matrices by OpenBLAS. A dense layer that takes the second matrix as weights
runs in oneDNN, which is faster with AVX-512. Everywhere, the next operator finds its matrix in a cache.
"""

from math import prod
from typing import Any, List, Optional, Sequence

import numpy as np

from ..crops import ELEMENTWISE
from ..graph import Entry, Graph, Node
from .clean import BROADCAST, RESHAPES
from .layouts import SOFTMAX

#: Fewest elements of each first matrix, or of each product. For smaller ones, MXNet's overhead for each
#: operator is larger than the gain.
LEAST = 2**16

#: Most matrices of a stack. More operators take long to deploy.
MOST = 128

#: Operators on several arrays that broadcast or have the same shape.
_ON_SEVERAL = {*BROADCAST, *BROADCAST.values(), "broadcast_maximum", "broadcast_minimum", "where"}


def multiply_one_by_one(graph: Graph, node: Node) -> Optional[Entry]:
    """Multiply each pair of matrices by a dense layer of its own."""
    shape, size = graph.shape(node.out), graph.shape(node.data)
    if node.op != "batch_dot" or not shape or not all(map(graph.shape, node.inputs)):
        return None
    *first, rows, columns = shape
    count, elements = prod(first), prod(size)
    if count > MOST or max(elements, prod(shape)) < LEAST * count:
        return None
    operands, inner, axes = [], elements // (count * rows), range(len(first))
    for entry, name, transposed in zip(node.inputs, ("transpose_a", "transpose_b"), (False, True)):
        if node.get(name, False) != transposed:
            entry = graph.new("transpose", node, [entry], axes=(*axes, len(axes) + 1, len(axes)))
        size = (columns if transposed else rows, inner)
        operands.append(_parts(graph, entry, count, size) or _split(graph, node, entry, count, size))
    how = dict(num_hidden=columns, no_bias=True)
    products = [graph.new("FullyConnected", node, pair, **how) for pair in zip(*operands)]
    stack = graph.new("stack", node, products, axis=0, num_args=count)
    graph.note_shape(stack, (count, rows, columns))
    return graph.new("Reshape", node, [stack], shape=shape)


def _split(graph, near, entry, count, size) -> List[Entry]:
    """Return the matrices of an array."""
    if count == 1:
        return [graph.new("Reshape", near, [entry], shape=size)]
    stack = graph.new("Reshape", near, [entry], shape=(count, *size))
    node = graph.new("SliceChannel", near, [stack], num_outputs=count, axis=0, squeeze_axis=True).node
    return [Entry(node, i) for i in range(count)]


def _parts(graph, entry, count, size) -> Sequence[Entry]:
    """Return the matrices of a stack after operators on elements or rows; an empty list for others."""
    node, shape = entry.node, graph.shape(entry)
    if node.op == "stack" and node.get("axis", 0) == 0 and shape == (count, *size):
        return node.inputs
    if shape[-2:] != size or graph.uses(entry) > 1:
        return []
    attrs = node.attrs
    if node.op in SOFTMAX and len(node.inputs) == 1:
        if node.get("axis", -1) not in (-1, len(shape) - 1):
            return []
        attrs = {**attrs, "axis": -1}
    elif node.op not in ELEMENTWISE | RESHAPES | _ON_SEVERAL:
        return []
    found: List[Any] = [_parts(graph, each, count, size) for each in node.inputs]
    if not any(found):
        return []
    if node.op in RESHAPES:
        return found[0]
    operands = [parts or _broadcast(graph, node, each, shape) for parts, each in zip(found, node.inputs)]
    op = BROADCAST.get(node.op, node.op)
    return [graph.new(op, node, each, **attrs) for each in zip(*operands)] if all(operands) else []


def _broadcast(graph, near, entry, shape) -> List[Entry]:
    """Return, for each matrix of a stack, the part of an array that broadcasts with it."""
    own = graph.shape(entry)
    if not own or (own != shape and not near.op.startswith("broadcast_")):
        return []
    own = (*(1 for _ in shape[len(own) :]), *own)
    count, matrix = prod(own[:-2]), own[-2:]
    parts = _split(graph, near, entry, count, matrix)
    places = np.broadcast_to(np.arange(count).reshape(own[:-2]), shape[:-2])
    return [parts[place] for place in places.reshape(-1)]
