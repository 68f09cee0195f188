"""Rules that resize images by products with matrices, or by convolutions."""

from typing import Any, Optional

import mxnet as mx
import numpy as np

from ..arrays import in_thread
from ..graph import Entry, Graph, Node
from .convolutions import BLOCK, dense

#: A product multiplies each number of the result by this many numbers at most. With more, it is slower.
MOST = 128


def resize_by_products(graph: Graph, node: Node) -> Optional[Entry]:
    """Resize images, or average windows that divide them, by a product with a matrix for each axis.

    MXNet computes these element by element.
    """
    if node.op not in ("_contrib_BilinearResize2D", "_contrib_AdaptiveAvgPooling2D"):
        return None
    before, after = graph.shape(node.inputs[0]), graph.shape(node.out)
    if not before or not after or len(node.inputs) > 1 or max(before[2:]) > MOST:
        return None
    # The rows first, while the image is small.
    y = _times(graph, node, node.inputs[0], _matrix(node, before[2], after[2]), 2, 4)
    return _times(graph, node, y, _matrix(node, before[3], after[3]), 3, 4)


def interpolate_by_product(graph: Graph, node: Node) -> Optional[Entry]:
    """Add weighted elements along an axis by a product with a matrix.

    Importers resize so, because MXNet has few modes. The elements are taken one by one.
    """
    taps: Any = [_tap(graph, entry) for entry in node.inputs] if node.op == "add_n" else [None]
    if None in taps or len({(data, axis) for data, axis, _ in taps}) != 1:
        return None
    data, axis, matrix = taps[0][0], taps[0][1], sum(tap[2] for tap in taps)
    if matrix.shape[1] > MOST * len(taps):  # each tap takes as long as a product with that many numbers
        return None
    if matrix.shape[0] == matrix.shape[1] and (matrix == np.eye(len(matrix))).all():
        return data
    return _times(graph, node, data, matrix, axis, len(graph.shape(data)))


def _tap(graph, entry):
    """Return data, an axis and weights of elements that are taken along it; None for others."""
    for taken, weights in entry.node.operands("broadcast_mul"):
        node, shape, weight = taken.node, graph.shape(taken), graph.param(weights)
        if node.op != "take" or node.get("mode", "clip") != "clip" or not shape or weight is None:
            continue
        before, places = graph.shape(node.inputs[0]), graph.param(node.inputs[1])
        axis = node.get("axis", 0) % max(len(before), 1)
        if places is None or places.ndim != 1 or len(before) != len(shape):
            continue
        wide = (1,) * (len(shape) - weight.ndim) + weight.shape
        if wide == tuple(n if i == axis else 1 for i, n in enumerate(shape)):
            matrix = np.zeros((shape[axis], before[axis]))
            rows = np.arange(shape[axis]), np.clip(places.astype(int), 0, before[axis] - 1)
            matrix[rows] = weight.reshape(-1)
            return node.inputs[0], axis, matrix
    return None


def repeat_by_depthwise(graph: Graph, node: Node) -> Optional[Entry]:
    """Repeat pixels by a transposed depthwise convolution with ones, in oneDNN's blocked layout."""
    data, times, takers = node.out, np.array([1, 1]), graph.takers(node.out)
    if len(takers) == 1 and _repeated(graph, takers[0]):
        return None  # the next operator repeats further, and is replaced together with this one
    found = _repeated(graph, node)
    while found and (data == node.out or graph.uses(data) == 1):
        data, times = found[0], times * found[1]
        found = _repeated(graph, data.node)
    shape = graph.shape(data)
    if times.prod() == 1 or shape[1] % BLOCK:
        return None
    how = dict(kernel=tuple(times), stride=tuple(times), num_filter=shape[1], num_group=shape[1])
    inputs = [data, np.ones((shape[1], 1, *times))]
    return graph.new("Deconvolution", node, inputs, no_bias=True, **how)


def _repeated(graph, node):
    """Return data, and how often their rows and columns are repeated; None for others."""
    if node.op not in ("UpSampling", "repeat", "take"):
        return None
    before, after = (graph.shape(entry) for entry in (node.inputs[0], node.out))
    if len(before) != 4 or len(after) != 4:
        return None
    times = [n // size for size, n in zip(before[2:], after[2:])]
    if node.op == "take":
        places, axis = graph.param(node.inputs[1]), node.get("axis", 0) % 4
        if axis < 2 or places is None:
            return None
        if not np.array_equal(places, np.repeat(np.arange(before[axis]), times[axis - 2])):
            return None
    elif node.op == "UpSampling" and (node.get("sample_type") != "nearest" or len(node.inputs) > 1):
        return None
    return (node.inputs[0], times) if before[:2] == after[:2] else None


def _times(graph, node, data, matrix, axis, rank):
    """Return the product of an axis, which is the last one between two transposes, with a matrix."""
    axes = list(range(rank))
    axes[axis], axes[-1] = axes[-1], axes[axis]
    moves = axis != axes[axis]
    y = graph.new("transpose", node, [data], axes=tuple(axes)) if moves else data
    y = dense(graph, node, y, matrix)
    return graph.new("transpose", node, [y], axes=tuple(axes)) if moves else y


def _matrix(node, size, count):
    """Return the weights with which an operator adds the elements of an axis to each of its results."""
    each = mx.nd.array(np.eye(size).reshape(1, size, 1, size))
    if node.op == "_contrib_AdaptiveAvgPooling2D":
        found = mx.nd.contrib.AdaptiveAvgPooling2D(each, output_size=(1, count))
    else:
        aligned = node.get("align_corners", True)
        found = mx.nd.contrib.BilinearResize2D(each, height=1, width=count, align_corners=aligned)
    return in_thread(found.asnumpy).reshape(size, count).T


#: The rules in the order in which they are tried.
RULES = (resize_by_products, interpolate_by_product)
