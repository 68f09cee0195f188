"""Convolutions for which oneDNN has only slow kernels, and those that copy."""

from typing import Any, Optional

import numpy as np

from ..crops import ELEMENTWISE, FIRST, windows_of
from ..graph import Entry, Graph, Node
from .clean import drop_identity, fold_constants
from .fold_batchnorm import affine, weights_of, with_weights
from .moves import merge_reshapes

#: The largest number of groups that are worth computing with zeros.
GROUPS = 4

#: The largest padding of a width that all of oneDNN's kernels take. With more, those for AVX2 leave the
#: convolution to a product of matrices.
MOST_PADDED = 3

#: Arguments that have a number for each spatial axis.
_OF_AXES = ("kernel", "stride", "dilate", "pad")

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


def pad_first(graph: Graph, node: Node) -> Optional[Entry]:
    """Pad by an operator in front of a convolution that pads its width by more than MOST_PADDED."""
    shape = graph.shape(node.inputs[0]) if node.op == "Convolution" else None
    if shape is None or len(shape) not in (4, 5) or node.get("layout") not in FIRST:
        return None
    pads = [own for *_, own in windows_of(node)]
    if pads[-1] <= MOST_PADDED or node.get("num_group", 1) != 1:
        return None
    width = (0, 0, 0, 0, *(n for own in pads for n in (own, own)))
    data = graph.new("Pad", node, node.inputs[:1], mode="constant", pad_width=width)
    attrs = {**node.attrs, "pad": (0,) * len(pads)}
    return graph.new(node.op, node, [data, *node.inputs[1:]], **attrs)


def column_as_row(graph: Graph, node: Node) -> Optional[Entry]:
    """Compute a convolution over a column as one over a row, of which oneDNN computes blocks."""
    shapes = [graph.shape(node.out), *(graph.shape(entry) for entry in node.inputs[:1])]
    columns = all(shape and len(shape) == 4 and shape[2] > 1 == shape[3] for shape in shapes)
    if node.op != "Convolution" or not columns or node.get("layout") not in FIRST:
        return None
    data, weight, *bias = node.inputs
    row = graph.new("Reshape", node, [data], shape=(0, 0, 1, -1))
    weight = graph.new("transpose", node, [weight], axes=(0, 1, 3, 2))
    return _over_row(graph, node, [row, weight, *bias])


def sink_column(graph: Graph, node: Node) -> Optional[Entry]:
    """Keep a row for the elementwise operators and poolings that follow."""
    if node.op not in ELEMENTWISE | {"Pooling", "elemwise_add", "elemwise_mul"}:
        return None
    rows = [entry.node.inputs[0] for entry in node.inputs if entry.node.op == "Reshape"]
    for row, column in zip(rows, node.inputs):
        shape = graph.shape(row) or ()
        if len(shape) != 4 or graph.shape(column) != (*shape[:2], shape[3], shape[2]) or shape[2] > 1:
            return None
    return _over_row(graph, node, rows) if len(rows) == len(node.inputs) else None


def _over_row(graph, node, inputs):
    attrs = {**node.attrs, **{key: node.get(key)[::-1] for key in _OF_AXES if key in node.attrs}}
    row = graph.new(node.op, node, inputs, **attrs)
    return graph.new("Reshape", node, [row], shape=(0, 0, -1, 1))


def depthwise(graph: Graph, near: Node, data: Entry, weight: np.ndarray, *bias: Any) -> Entry:
    """Return the result of a convolution with a kernel of its own for each channel.

    With ones, it copies, to oneDNN's blocked layout.
    """
    how = dict(num_filter=len(weight), num_group=len(weight), kernel=weight.shape[2:], no_bias=not bias)
    return graph.new("Convolution", near, [data, weight, *bias], **how)


#: The rules for columns.
ROWS = (column_as_row, sink_column, merge_reshapes, drop_identity, fold_constants)
