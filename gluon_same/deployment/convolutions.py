"""Convolutions for which oneDNN has only slow kernels, and those that copy."""

from typing import Optional

import numpy as np

from ..graph import Entry, Graph, Node
from .fold_batchnorm import weights_of

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
    inputs = [pixels, graph.constant(node, "weight", rows)]
    inputs.append(graph.constant(node, "bias", np.tile(bias, down * right)))
    dense = graph.new("FullyConnected", node, inputs, num_hidden=len(rows), flatten=False)
    shape = (batch * height, width, down, right * filters)
    windows = graph.new("Reshape", node, [dense], shape=shape)
    lines = graph.new("transpose", node, [windows], axes=(0, 2, 1, 3))
    shape = (batch, height * down, width * right, filters)
    image = graph.new("Reshape", node, [lines], shape=shape)
    return graph.new("transpose", node, [image], axes=TO_FIRST)


def copied(graph: Graph, near: Node, entry: Entry, channels: int) -> Entry:
    """Return the result of a depthwise convolution with ones, a copy in oneDNN's blocked layout."""
    ones = graph.constant(near, "ones", np.ones((channels, 1, 1, 1)))
    counts = {"num_filter": channels, "num_group": channels}
    return graph.new("Convolution", near, [entry, ones], kernel=(1, 1), no_bias=True, **counts)
