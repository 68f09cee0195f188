"""Convolutions for which oneDNN has only slow kernels, and those that copy."""

from typing import Any, Optional

import numpy as np

from ..graph import Entry, Graph, Node
from .fold_batchnorm import affine, weights_of, with_weights

#: The largest number of groups that are worth computing with zeros.
GROUPS = 4

#: Axes of the transposes to channels last and back to channels first.
TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def transpose_by_dense(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a transposed convolution whose windows do not overlap with a dense layer.

    The dense layer computes all pixels of a window, channels last. A transpose then interleaves the
    rows of neighboring windows.
    """
    kernel, shape = node.get("kernel", ()), graph.shape(node.inputs[0]) if node.inputs else None
    if node.op != "Deconvolution" or len(kernel) != 2 or node.get("stride") != kernel or shape is None:
        return None
    (batch, channels, height, width), (down, right) = shape, kernel
    filters, (weight, bias) = int(node.get("num_filter")), weights_of(graph, node)
    plain = not any(node.get("pad", ())) and all(d == 1 for d in node.get("dilate", ()))
    if weight is None or node.get("num_group", 1) != 1 or not plain:
        return None
    if graph.shape(node.out) != (batch, filters, height * down, width * right):
        return None
    pixels = graph.new("transpose", node, [node.inputs[0]], axes=TO_LAST)
    rows = weight.transpose(2, 3, 1, 0).reshape(-1, channels)
    inputs = [pixels, rows, np.tile(bias, down * right)]
    dense = graph.new("FullyConnected", node, inputs, num_hidden=len(rows), flatten=False)
    shape = (batch * height, width, down, right * filters)
    windows = graph.new("Reshape", node, [dense], shape=shape)
    lines = graph.new("transpose", node, [windows], axes=(0, 2, 1, 3))
    shape = (batch, height * down, width * right, filters)
    image = graph.new("Reshape", node, [lines], shape=shape)
    return graph.new("transpose", node, [image], axes=TO_FIRST)


def normalize_by_depthwise(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a normalization before a ReLU with a depthwise convolution, which fuses with it."""
    taker = graph.takers(node.out)[0] if graph.uses(node.out) == 1 else None
    if node.op != "BatchNorm" or taker is None or taker.get("act_type") != "relu":
        return None
    found, shape = affine(graph, node), graph.shape(node.out)
    if found is None or found.axis != 1 or shape is None or len(shape) != 4:
        return None
    return depthwise(graph, node, found.data, found.scale.reshape(-1, 1, 1, 1), found.shift)


def ungroup(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a 1x1 convolution of few groups of odd sizes with one that has zeros between groups."""
    groups, kernel = int(node.get("num_group", 1)), node.get("kernel", ())
    if node.op != "Convolution" or not 1 < groups <= GROUPS or set(kernel) != {1} or len(kernel) != 2:
        return None
    weight, bias = weights_of(graph, node)
    if weight is None:
        return None
    count, size = len(weight) // groups, weight.shape[1]
    if size == 1 or (count % 16 == 0 and size % 16 == 0):
        return None
    wide = np.zeros((groups, count, groups, size))
    for group in range(groups):
        wide[group, :, group] = weight.reshape(groups, count, size)[group]
    wide = wide.reshape(groups * count, groups * size, 1, 1)
    return with_weights(graph, node, node.inputs[0], wide, bias, num_group=1)


def depthwise(graph: Graph, near: Node, data: Entry, weight: np.ndarray, *bias: Any) -> Entry:
    """Return the result of a convolution with a kernel of its own for each channel.

    With ones, it copies, to oneDNN's blocked layout.
    """
    how = dict(num_filter=len(weight), num_group=len(weight), kernel=weight.shape[2:], no_bias=not bias)
    return graph.new("Convolution", near, [data, weight, *bias], **how)
