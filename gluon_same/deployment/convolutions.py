"""Convolutions for which oneDNN has only slow kernels, and those that copy."""

from typing import Any, Dict, Optional

import numpy as np

from ..crops import ELEMENTWISE, FIRST, is_convolution, windows_of
from ..graph import Entry, Graph, Node
from .clean import drop_identity, fold_constants
from .fold_batchnorm import affine, weights_of, with_weights
from .layouts import BLOCKED, ONEDNN
from .moves import merge_reshapes

#: The largest number of groups that are worth computing as one, with zeros between them.
GROUPS = 4

#: oneDNN has depthwise kernels and poolings in blocks for channel counts divisible by this.
BLOCK = 8

#: Fewest elements that are worth a convolution or a copy of their own.
LEAST = 2**12

#: Operators on two arrays.
PAIRS = {"elemwise_add", "elemwise_mul", "broadcast_add", "broadcast_mul"}

#: The largest padding of a width that all of oneDNN's kernels take. With more, those for AVX2 leave the
#: convolution to a product of matrices.
MOST_PADDED = 3

#: Operators that compute the same on a row.
ROWWISE = ELEMENTWISE | PAIRS | {"Pooling", "BatchNorm", "Concat", "slice"}

#: Arguments with a number for each spatial axis, or for each axis: that of an axis of one element, and
#: how many there are for other axes.
_OF_WINDOWS = {"kernel": (1, 0), "stride": (1, 0), "dilate": (1, 0), "pad": (0, 0)}
_OF_SLICES = {"begin": (None, 2), "end": (None, 2), "step": (None, 2)}

#: Axes of the transposes to channels last and back to channels first.
TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def transpose_by_dense(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a transposed convolution whose windows do not overlap with a dense layer.

    The dense layer computes all pixels of a window, channels last. A transpose then interleaves the
    rows of neighboring windows.
    """
    kernel, shape = node.get("kernel", ()), graph.shape(node.data)
    if node.op != "Deconvolution" or len(kernel) != 2 or node.get("stride") != kernel or not shape:
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
    """Replace a normalization before an activation with a depthwise convolution, which fuses with it."""
    taker, *others = graph.takers(node.out)
    if node.op != "BatchNorm" or others or taker.get("act_type") not in ("relu", "leaky"):
        return None
    found, shape = affine(graph, node), graph.shape(node.out)
    if found is None or found.axis != 1 or len(shape) != 4:
        return None
    return scaled(graph, node, found.data, found.scale, found.shift)


def clip_by_depthwise(graph: Graph, node: Node) -> Optional[Entry]:
    """Insert a convolution that copies between a clip at 0 and what does not absorb it."""
    x, shape = node.data, graph.shape(node.out)
    if node.op != "clip" or float(node.get("a_min")) != 0 or len(shape) != 4 or x.node.op not in ONEDNN:
        return None
    if x.node.op == "Convolution" and graph.uses(x) == 1:
        return None
    return graph.with_data(node, copied(graph, node, x, shape[1]))


def subtract_by_depthwise(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a difference and its scale with two depthwise convolutions, which fuse with their sum."""
    found = affine(graph, node)
    difference = found.data.node if found and graph.uses(found.data) == 1 else node
    shape, takers = graph.shape(node.out), graph.takers(node.out)
    if difference.op != "elemwise_sub" or len(shape) != 4 or (found and found.axis not in (None, 1)):
        return None
    if node is difference and len(takers) == 1 and affine(graph, takers[0]):
        return None
    scale, shift = found[2:] if found else (1, 0)
    scale, shift = (np.broadcast_to(each, shape[1]) for each in (scale, shift))
    one, other = difference.inputs
    if found:
        one = scaled(graph, node, one, scale, shift)
    return graph.new("elemwise_add", node, [one, scaled(graph, node, other, -scale)])


def shift_by_depthwise(graph: Graph, node: Node) -> Optional[Entry]:
    """Add the bias of a transposed convolution by a depthwise convolution, which oneDNN fuses.

    oneDNN's transposed convolution adds it in a loop of its own, which is not vectorized.
    """
    shape = graph.shape(node.out)
    if node.op != "Deconvolution" or node.get("no_bias", True) or not graph.holds(*node.inputs[1:]):
        return None
    if len(shape) != 4 or shape[1] < BLOCK or np.prod(shape) < LEAST or node.get("layout") not in FIRST:
        return None
    data, weight, bias = node.inputs
    y = graph.like(node, [data, weight], no_bias=True)
    return scaled(graph, node, y, np.ones(shape[1]), bias)


def add_by_depthwise(graph: Graph, node: Node) -> Optional[Entry]:
    """Copy one of the terms of a sum by a depthwise convolution, which adds the other, in blocks."""
    shape = graph.shape(node.out)
    if node.op != "elemwise_add" or len(shape) != 4 or shape[1] % BLOCK or np.prod(shape) < LEAST:
        return None
    one, other = sorted(node.inputs, key=lambda entry: entry.node.op in BLOCKED)
    layers = [e.node for e in node.inputs if e.node.op == "Convolution" and graph.uses(e) == 1]
    if other.node.op not in BLOCKED or any(graph.holds(*layer.inputs[1:]) for layer in layers):
        return None  # plain, or added by a layer, which oneDNN fuses if its weights are not computed
    return graph.new(node.op, node, [copied(graph, node, one, shape[1]), other])


def prelu_by_depthwise(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace slopes of at most 1 by ``slopes * x + relu((1 - slopes) * x)``, which oneDNN fuses."""
    if node.op != "LeakyReLU" or node.get("act_type") != "prelu":
        return None
    shape, slopes = graph.shape(node.out), graph.param(node.inputs[1])
    if len(shape) != 4 or slopes is None or slopes.shape != shape[1:2] or slopes.max() > 1:
        return None
    line, rest = (scaled(graph, node, node.inputs[0], each) for each in (slopes, 1 - slopes))
    relu = graph.new("Activation", node, [rest], act_type="relu")
    return graph.new("elemwise_add", node, [line, relu])


def ungroup(graph: Graph, node: Node, block: int) -> Optional[Entry]:
    """Replace a 1x1 convolution of few groups that fill no blocks with one that has zeros between."""
    groups, count, size, pointwise = _groups(graph, node)
    if not pointwise or not 1 < groups <= GROUPS or size == 1 or not (count % block or size % block):
        return None
    return _merged(graph, node, groups)


def merge_groups(graph: Graph, node: Node) -> Optional[Entry]:
    """Compute several groups as one, with zeros between them, so that oneDNN's blocks are full."""
    groups, count, size, _ = _groups(graph, node)
    if size == 1 or (count % BLOCK == 0 and size % BLOCK == 0):
        return None
    sizes = range(2, GROUPS + 1)
    fit = [n for n in sizes if not (n * count % BLOCK or n * size % BLOCK or groups % n)]
    return _merged(graph, node, fit[0]) if fit else None


def _groups(graph, node):
    """Return the number of groups, the filters and channels of each, and whether the kernel is 1x1."""
    kernel, groups = node.get("kernel", ()), int(node.get("num_group", 1))
    found = is_convolution(node) and len(kernel) == 2 and groups > 1 and graph.shape(node.inputs[1])
    if not found or not graph.holds(*node.inputs[1:]):
        return 1, 0, 1, False
    return groups, found[0] // groups, found[1], set(kernel) == {1}


def _merged(graph, node, merged):
    """Return the result of a convolution with so many groups merged to one."""
    groups, count, size, _ = _groups(graph, node)
    weight, bias = weights_of(graph, node)
    rest = weight.shape[2:]
    parts = weight.reshape(-1, merged, count, size, *rest)
    wide = np.zeros((groups // merged, merged, count, merged, size, *rest))
    for each in range(merged):
        wide[:, each, :, each] = parts[:, each]
    wide = wide.reshape(groups * count, merged * size, *rest)
    return with_weights(graph, node, node.inputs[0], wide, bias, num_group=groups // merged)


def pad_first(graph: Graph, node: Node) -> Optional[Entry]:
    """Pad by an operator in front of a convolution that pads its width by more than MOST_PADDED."""
    if not is_convolution(node):
        return None
    pads = [own for *_, own in windows_of(node)]
    if len(pads) not in (2, 3) or pads[-1] <= MOST_PADDED or node.get("num_group", 1) != 1:
        return None
    width = (0, 0, 0, 0, *(n for own in pads for n in (own, own)))
    data = graph.new("Pad", node, node.inputs[:1], mode="constant", pad_width=width)
    return graph.with_data(node, data, pad=(0,) * len(pads))


def as_row(graph: Graph, node: Node) -> Optional[Entry]:
    """Compute a convolution over one axis, or over a column of an image, as one over a row of an image.

    MXNet fuses only convolutions of images, and oneDNN computes blocks of a row.
    """
    if not is_convolution(node) or not all(_is_line(graph, e) for e in (node.out, node.inputs[0])):
        return None
    if graph.shape(node.inputs[0])[2:] == (1, 1) or node.get("kernel")[1:] not in ((), (1,)):
        return None
    data, weight, *bias = node.inputs
    return _over_row(graph, node, [_row_of(graph, data), _row_of(graph, weight), *bias])


def sink_row(graph: Graph, node: Node) -> Optional[Entry]:
    """Keep a row for the operators that follow."""
    if node.op not in ROWWISE or not _is_line(graph, node.out):
        return None
    count = len(graph.shape(node.out))
    lines = [e for e in node.inputs if not graph.holds(e) or len(graph.shape(e)) > 1]
    if any(len(graph.shape(e)) != count or not _is_line(graph, e) for e in lines):
        return None
    on_channels = node.get("axis", 1) == int(node.get("dim", 1)) == 1 and node.get("layout") in FIRST
    whole = all(len(node.get(key) or [None] * count) == count for key in _OF_SLICES)
    if not on_channels or not whole or not any(_is_row(graph, entry) for entry in lines):
        return None
    rows = [_row_of(graph, entry) if entry in lines else entry for entry in node.inputs]
    return _over_row(graph, node, rows)


def _is_line(graph, entry):
    """Return whether an array has one axis besides batch and channels, or is a column."""
    shape = graph.shape(entry)
    return len(shape) == 3 or (len(shape) == 4 and shape[3] == 1)


def _is_row(graph, entry):
    """Return whether an entry is a row that was reshaped."""
    row, line = graph.shape(entry.node.data), graph.shape(entry)
    return entry.node.op == "Reshape" and row == (*line[:2], 1, *line[2:3])


def _row_of(graph, entry):
    return graph.new("Reshape", entry.node, [entry], shape=(0, 0, 1, -1))


def _over_row(graph, node, inputs):
    """Return the result of an operator on a row in the shape of that on a line."""
    shape = graph.shape(node.out)
    line = len(shape) == 3
    changed: Dict[str, Any] = {}
    for key, (fill, first) in {**_OF_WINDOWS, **_OF_SLICES}.items():
        values = node.get(key)
        if values:
            kept, others = values[:first], values[first:]
            changed[key] = (*kept, fill, *others) if line else (*kept, *others[::-1])
    if "layout" in node.attrs:
        changed["layout"] = "NCHW"
    row = graph.note_shape(graph.like(node, inputs, **changed), (*shape[:2], 1, shape[2]))
    return graph.new("Reshape", node, [row], shape=(0, 0, -1) if line else (0, 0, -1, 1))


def depthwise(graph: Graph, near: Node, data: Entry, weight: np.ndarray, *bias: Any) -> Entry:
    """Return the result of a convolution with a kernel of its own for each channel."""
    how = dict(num_filter=len(weight), num_group=len(weight), kernel=weight.shape[2:], no_bias=not bias)
    return graph.new("Convolution", near, [data, weight, *bias], **how)


def scaled(graph: Graph, near: Node, data: Entry, factors: Any, *bias: Any) -> Entry:
    """Return images whose channels are multiplied by factors, by a convolution."""
    return depthwise(graph, near, data, factors.reshape(-1, 1, 1, 1), *bias)


def dense(graph: Graph, near: Node, data: Entry, weight: np.ndarray) -> Entry:
    """Return the products of the last axis with the rows of a matrix."""
    how = dict(num_hidden=len(weight), no_bias=True, flatten=False)
    return graph.new("FullyConnected", near, [data, weight], **how)


def copied(graph: Graph, near: Node, data: Entry, channels: int) -> Entry:
    """Return a copy of images in oneDNN's blocked layout, by a convolution with ones."""
    return scaled(graph, near, data, np.ones(channels))


#: The rules for lines.
ROWS = (as_row, sink_row, merge_reshapes, drop_identity, fold_constants)
