"""Rules for sums over a few groups of channels, as in split attention, and for what surrounds them."""

from functools import reduce
from typing import Optional

import numpy as np

from ..crops import FIRST, is_convolution, is_pointwise, windows_of
from ..graph import Entry, Graph, Node
from .activations import PRODUCTS, reduced_axes
from .clean import RESHAPES
from .fold_batchnorm import Affine, affine, weights_of, widened, with_weights
from .moves import image_of, merge_reshapes

#: The largest number of groups, and of channels of each, that a convolution sums.
GROUPS, CHANNELS = 4, 512


def scale_before_reshape(graph: Graph, node: Node) -> Optional[Entry]:
    """Scale the channels of an image before they are split into groups, not after."""
    for split, gate in node.operands("broadcast_mul"):
        image = image_of(graph, split)
        if image is None or graph.shape(gate) != (*graph.shape(split)[:3], 1, 1):
            continue
        batch, groups, count, *_ = graph.shape(split)
        flat = graph.new("Reshape", node, [gate], shape=(batch, groups * count, 1, 1))
        scaled = graph.new("broadcast_mul", node, [image, flat])
        return graph.new("Reshape", node, [scaled], shape=graph.shape(split))
    return None


def add_kernels(graph: Graph, node: Node) -> Optional[Entry]:
    """Add the kernels of convolutions of the same data instead of their results, as RepVGG does.

    The data themselves, and a normalization of them, are convolutions with one element, too.
    """
    for one, other in node.operands("elemwise_add"):
        layer, alone = one.node, [one] if other in one.node.inputs[:1] else [one, other]
        if any(graph.uses(entry) > 1 for entry in alone):
            continue
        if is_convolution(layer):
            weight, bias = weights_of(graph, layer)
            found = None if weight is None else _kernel(graph, layer, weight.shape, other)
            if found is not None:
                return with_weights(graph, layer, layer.inputs[0], weight + found[0], bias + found[1])
    return None


def _kernel(graph, layer, shape, entry):
    """Return weight and bias of an entry as a result of a layer's data; None if they do not fit."""
    node, windows = entry.node, windows_of(layer)
    if node.op == "Convolution":
        weight, bias = weights_of(graph, node)
        read = [(each.inputs[0], each.get("num_group", 1), each.get("layout")) for each in (layer, node)]
        wide = widened(node, weight, windows) if weight is not None and read[0] == read[1] else None
        return None if wide is None else (wide, bias)
    same = Affine(entry, 1, np.ones(shape[0]), np.zeros(shape[0]))
    found = same if entry == layer.inputs[0] else affine(graph, node)
    if found is None or found[:2] != (layer.inputs[0], 1) or np.size(found.scale) != shape[0]:
        return None
    if any((size, *steps) != (2 * pad + 1, 1, 1) for size, *steps, pad in windows):
        return None
    weight, channels = np.zeros(shape), np.arange(shape[0])
    weight[(channels, channels % shape[1], *(pad for *_, pad in windows))] = found.scale
    return weight, found.shift


def sum_of_stack(graph: Graph, node: Node) -> Optional[Entry]:
    """Add the parts of a stack, or their products with those of a gate, instead of its elements."""
    axes = reduced_axes(graph, node) if node.op == "sum" else ()
    if len(axes) != 1:
        return None
    (axis,), shape = axes, graph.shape(node.inputs[0])
    inputs = node.inputs[0].node.inputs if node.inputs[0].node.op in PRODUCTS else node.inputs
    for stack, *gates in (inputs, inputs[::-1]):
        dim = {"Concat": stack.node.get("dim", 1), "stack": stack.node.get("axis", 0)}.get(stack.node.op)
        if dim is None or int(dim) % len(graph.shape(stack)) != axis:
            continue
        count, terms = len(stack.node.inputs), []
        sizes = [graph.shape(entry) for entry in gates]
        alike = all(len(each) == len(shape) and each[axis] == count for each in sizes)
        if graph.shape(stack) != shape or shape[axis] != count or count > GROUPS or not alike:
            continue
        for i, part in enumerate(stack.node.inputs):
            term = _without(graph, node, part, shape, axis)
            for gate, size in zip(gates, sizes):
                each = graph.new("slice_axis", node, [gate], axis=axis, begin=i, end=i + 1)
                each = _without(graph, node, each, size, axis)
                term = graph.new("broadcast_mul", node, [term, each])
            terms.append(term)
        y = reduce(lambda one, other: graph.new("elemwise_add", node, [one, other]), terms)
        return graph.new("expand_dims", node, [y], axis=axis) if node.get("keepdims", False) else y
    return None


def _without(graph, node, entry, shape, axis):
    """Return an array of the given shape, but for an axis of one element."""
    shape = (*shape[:axis], *shape[axis + 1 :])
    source = entry.node.inputs[0] if entry.node.op in RESHAPES else entry
    return source if graph.shape(source) == shape else graph.new("Reshape", node, [entry], shape=shape)


def sum_by_convolution(graph: Graph, node: Node) -> Optional[Entry]:
    """Sum groups of channels by a convolution with ones, which remains in oneDNN's memory layout."""
    if node.op != "sum" or reduced_axes(graph, node) != (1,):
        return None
    image, shape = image_of(graph, node.inputs[0]), graph.shape(node.inputs[0])
    if image is None or len(graph.shape(node.out)) != 4:
        return None
    groups, count = shape[1:3]
    if groups > GROUPS or count > CHANNELS:
        return None
    ones = np.tile(np.eye(count), groups)[..., None, None]
    return graph.new("Convolution", node, [image, ones], kernel=(1, 1), num_filter=count, no_bias=True)


def pool_before_layer(graph: Graph, node: Node) -> Optional[Entry]:
    """Average the input of a 1x1 convolution instead of its result."""
    layer = node.data.node
    if node.op != "Pooling" or not node.get("global_pool", False) or node.get("pool_type") != "avg":
        return None
    if not is_pointwise(layer) or node.get("layout") not in FIRST or graph.uses(node.inputs[0]) > 1:
        return None
    return graph.with_data(layer, graph.with_data(node, layer.inputs[0]))


RULES = (merge_reshapes, sum_of_stack, scale_before_reshape, sum_by_convolution, pool_before_layer)
