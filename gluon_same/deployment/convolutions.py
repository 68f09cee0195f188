"""Rules that replace convolutions for which oneDNN has only slow kernels."""

from typing import Optional

import numpy as np

from ..graph import Entry, Graph, Node
from .activations import TO_FIRST, TO_LAST
from .fold_batchnorm import weights_of, with_weights

#: Maximum number of concatenated inputs that are convolved separately.
MOST_PARTS = 4

#: oneDNN's vectorized convolutions require this number of output channels.
LEAST_CHANNELS = 8


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


def convolve_parts(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a convolution of concatenated channels with a sum of convolutions, which fusion adds."""
    if node.op != "Convolution" or node.get("num_group", 1) != 1 or graph.uses(node.inputs[0]) > 1:
        return None
    joined = node.inputs[0].node
    if joined.op != "Concat" or int(joined.get("dim", 1)) != 1 or len(joined.inputs) > MOST_PARTS:
        return None
    weight, bias = weights_of(graph, node)
    shapes = [graph.shape(entry) or () for entry in joined.inputs]
    if weight is None or () in shapes or weight.shape[1] != sum(shape[1] for shape in shapes):
        return None
    total, at = None, 0
    for entry, shape in zip(joined.inputs, shapes):
        part = weight[:, at : at + shape[1]]
        found = with_weights(graph, node, entry, part, bias if total is None else 0 * bias)
        total = found if total is None else graph.new("elemwise_add", node, [total, found])
        at += shape[1]
    return total


def grow_outputs(graph: Graph, node: Node) -> Optional[Entry]:
    """Add zeros to the weights of a convolution with few output channels, and drop these channels."""
    filters = int(node.get("num_filter", 0))
    if node.op != "Convolution" or node.get("num_group", 1) != 1 or filters >= LEAST_CHANNELS:
        return None
    weight, bias = weights_of(graph, node)
    if weight is None or weight.ndim != 4:
        return None
    more = LEAST_CHANNELS - filters
    weight = np.pad(weight, [(0, more), *((0, 0),) * 3])
    bias = np.pad(bias, (0, more))
    grown = with_weights(graph, node, node.inputs[0], weight, bias, num_filter=LEAST_CHANNELS)
    return graph.new("slice_axis", node, [grown], axis=1, begin=0, end=filters)


def activate_grown(graph: Graph, node: Node) -> Optional[Entry]:
    """Move an activation before the slice of :func:`grow_outputs` so that fusion merges it."""
    cut = node.inputs[0].node if node.op == "Activation" else node
    if cut.op != "slice_axis" or cut is node or graph.uses(node.inputs[0]) > 1:
        return None
    source = graph.shape(cut.inputs[0])
    if cut.get("axis") != 1 or source is None or source[1] > LEAST_CHANNELS:
        return None
    active = graph.new(node.op, node, [cut.inputs[0]], **node.attrs)
    return graph.new(cut.op, cut, [active], **cut.attrs)


#: Rules that grow outputs, and compute the activations after them on the grown outputs.
GROW_OUTPUTS = (grow_outputs, activate_grown)
