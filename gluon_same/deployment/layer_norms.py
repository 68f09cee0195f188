"""Rules for normalizations along axes that files write as means, differences and roots."""

from typing import Iterator, NamedTuple, Optional, Tuple

import numpy as np

from ..graph import Entry, Graph, Node, scalar
from .activations import reduced_axes
from .clean import RESHAPES
from .convolutions import dense
from .layouts import to_reshape

#: The largest number of elements in a row. MXNet's operator adds them up in float32.
MOST = 2**13

#: Number of elements from which a layer averages faster than MXNet's operator.
LEAST = 2**12

#: Number of filters for which oneDNN has fast kernels. All but the first are 0.
FILTERS = 16


class Along(NamedTuple):
    """An array and the axes along which its mean or variance is computed."""

    data: Entry
    axes: Tuple[int, ...]


def join_normalization(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace ``(x - mean) / sqrt(variance + epsilon)`` by MXNet's operator."""
    for one, other in _pairs(node, "div", "mul"):
        centered = _centered(graph, one)
        deviation = _root(graph, other, 0.5 if _is(node, "div") else -0.5)
        if centered and deviation and centered == deviation[0]:
            return _normalized(graph, node, centered, deviation[1])
    return None


def join_scaled_normalization(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace ``x * scale + (beta - mean * scale)`` of TensorFlow by a normalization and its scale."""
    for one, other in _pairs(node, "add"):
        if not _is(other.node, "sub"):
            continue
        beta, shift = other.node.inputs
        for x, scale in _pairs(one.node, "mul"):
            means = [mean for mean, again in _pairs(shift.node, "mul") if again == scale]
            for inverse, *gamma in [(scale,), *_pairs(scale.node, "mul")]:
                found = _root(graph, inverse, -0.5) if means else None
                if not found or found[0].data != x or _mean(graph, means[0]) != found[0]:
                    continue
                y = _normalized(graph, node, *found)
                for each in gamma if y else ():
                    y = graph.new("broadcast_mul", node, [y, each])
                return y and graph.new("broadcast_add", node, [y, beta])
    return None


def average_by_layer(graph: Graph, node: Node) -> Optional[Entry]:
    """Compute means and sums along the last axis, or of an image's channels, by a layer."""
    found = _along(graph, node) if node.op in ("mean", "sum") else None
    shape = found and graph.shape(found.data)
    if not found or not shape or np.prod(shape) < LEAST:
        return None
    (axis, *more), count = found.axes, shape[found.axes[0]]
    factor = 1 / count if node.op == "mean" else 1
    if axis == len(shape) - 1 > 0:
        y = dense(graph, node, found.data, np.full((1, count), factor))
    elif axis == 1 and len(shape) == 4 and not more:
        weight = np.zeros((FILTERS, count, 1, 1))
        weight[0] = factor
        how = dict(kernel=(1, 1), num_filter=FILTERS, no_bias=True)
        y = graph.new("Convolution", node, [found.data, weight], **how)
        y = graph.new("slice_axis", node, [y], axis=1, begin=0, end=1)
    else:
        return None
    if node.get("keepdims", False):
        return y
    return graph.new("Reshape", node, [y], shape=graph.shape(node.out))


def _normalized(graph, node, found, epsilon):
    """Return the normalization of rows; None if they are too long for MXNet's operator."""
    shape = graph.shape(found.data)
    order = [*(axis for axis in range(len(shape)) if axis not in found.axes), *found.axes]
    sizes, count = [shape[axis] for axis in order], int(np.prod([shape[axis] for axis in found.axes]))
    if count > MOST:
        return None
    y, moves, many = found.data, order != sorted(order), len(found.axes) > 1
    if (many and not moves) or y.node.op in RESHAPES:
        y = to_reshape(graph, node, y)
    if moves:
        y = graph.new("transpose", node, [y], axes=tuple(order))
    if many:
        y = graph.new("Reshape", node, [y], shape=(*sizes[: -len(found.axes)], count))
    y = graph.new("LayerNorm", node, [y, np.ones(count), np.zeros(count)], eps=epsilon)
    if many:
        y = graph.new("Reshape", node, [y], shape=tuple(sizes))
    return graph.new("transpose", node, [y], axes=tuple(np.argsort(order))) if moves else y


def _is(node, kind):
    return node.op in (f"broadcast_{kind}", f"elemwise_{kind}")


def _pairs(node: Node, *kinds: str) -> Iterator[Tuple[Entry, Entry]]:
    """Return the operands of an operator of one of the kinds, as :meth:`.Node.operands` does."""
    return node.operands(*(f"{start}_{kind}" for kind in kinds for start in ("broadcast", "elemwise")))


def _along(graph, node):
    """Return what a reduction reduces; None if its shape is unknown."""
    axes = reduced_axes(graph, node)
    return Along(node.inputs[0], axes) if axes else None


def _mean(graph, entry):
    is_mean = entry.node.op == "mean" and entry.node.get("keepdims", False)
    return _along(graph, entry.node) if is_mean else None


def _centered(graph, entry):
    """Return what an entry is without its mean."""
    if not _is(entry.node, "sub"):
        return None
    found = _mean(graph, entry.node.inputs[1])
    return found if found and found.data == entry.node.inputs[0] else None


def _variance(graph, entry):
    """Return of what an entry is the variance."""
    mean = _mean(graph, entry)
    node = mean.data.node if mean else entry.node
    squared = node.op == "square" or (node.op == "_power_scalar" and scalar(node) == 2)
    squared |= _is(node, "mul") and node.inputs[0] == node.inputs[1]
    found = _centered(graph, node.inputs[0]) if mean and squared else None
    return found if found and found.axes == mean.axes else None


def _root(graph, entry, exponent):
    """Return of what an entry is the standard deviation or its inverse, and epsilon."""
    node, power = entry.node, 1.0
    while True:
        if node.op in ("sqrt", "rsqrt"):
            power *= 0.5 if node.op == "sqrt" else -0.5
        elif node.op == "reciprocal" or (node.op == "_rdiv_scalar" and scalar(node) == 1):
            power *= -1
        elif node.op == "_power_scalar" and abs(scalar(node)) != 2:
            power *= scalar(node)
        else:
            break
        node = node.inputs[0].node
    found = _variance(graph, node.inputs[0]) if node.op == "_plus_scalar" else None
    return (found, scalar(node)) if found and power == exponent and scalar(node) > 0 else None


#: The rules in the order in which they are tried.
RULES = (join_normalization, join_scaled_normalization)
