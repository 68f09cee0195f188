"""Rules that replace slow operators with equivalent faster ones.

On a CPU, oneDNN's operators are vectorized and read the blocked layout of oneDNN's convolutions.
MXNet's own kernels require plain memory, so MXNet reorders their inputs and the inputs of what follows.
"""

from typing import Optional

import numpy as np

from ..graph import Entry, Graph, Node, scalar

#: Maps MXNet's operators to oneDNN's activations.
ACTIVATIONS = {
    "relu": "relu",
    "sigmoid": "sigmoid",
    "tanh": "tanh",
    "_npx_relu": "relu",
    "_npx_sigmoid": "sigmoid",
    "_np_tanh": "tanh",
}

#: Maps broadcasting operators to their equal-shape forms. oneDNN supports the sum.
EQUAL = {
    "broadcast_add": "elemwise_add",
    "broadcast_plus": "elemwise_add",
    "_npi_add": "elemwise_add",
    "broadcast_mul": "elemwise_mul",
    "_npi_multiply": "elemwise_mul",
}

#: Axes of the transposes to channels last and back to channels first.
TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)

#: Maps reductions to the equivalent type of global pooling.
REDUCTIONS = {"mean": "avg", "_npi_mean": "avg", "max": "max"}

#: Operators whose results may be in oneDNN's blocked layout.
ONEDNN = {"Convolution", "Deconvolution", "BatchNorm", "Activation", "LeakyReLU", "Pooling", "Concat"}


def use_activation(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace ``relu``, ``sigmoid`` and ``tanh`` with oneDNN's activation."""
    if node.op in ACTIVATIONS:
        return graph.new("Activation", node, node.inputs, act_type=ACTIVATIONS[node.op])
    if node.op == "_maximum_scalar" and scalar(node) == 0:
        return graph.new("Activation", node, node.inputs, act_type="relu")
    return None


def use_equal_shapes(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a broadcasting sum or product with its equal-shape form."""
    if node.op not in EQUAL:
        return None
    shapes = [graph.shape(entry) for entry in node.inputs]
    if None in shapes or shapes[0] != shapes[1]:
        return None
    return graph.new(EQUAL[node.op], node, node.inputs)


def use_pooling(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace the spatial mean or maximum with global pooling."""
    shape = graph.shape(node.inputs[0]) if node.inputs else None
    if node.op == "_contrib_AdaptiveAvgPooling2D" and set(_tuple(node.get("output_size", 1))) <= {1}:
        kind, axes = "avg", (2, 3)
    elif node.op in REDUCTIONS and not node.get("exclude", False) and node.get("axis") is not None:
        kind, axes = REDUCTIONS[node.op], _tuple(node.get("axis"))
    else:
        return None
    if shape is None or len(shape) != 4 or sorted(axis % 4 for axis in axes) != [2, 3]:
        return None
    pooled = graph.new("Pooling", node, node.inputs, pool_type=kind, global_pool=True, kernel=(1, 1))
    if graph.shape(node.out) == (*shape[:2], 1, 1):
        return pooled
    return graph.new("Reshape", node, [pooled], shape=shape[:2])


def use_clip(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a hard sigmoid after a layer with a scale, a shift and a clip, which the layer absorbs."""
    if node.op != "hard_sigmoid" or graph.uses(node.inputs[0]) > 1:
        return None
    if node.inputs[0].node.op not in ("Convolution", "FullyConnected"):
        return None
    alpha, beta = float(node.get("alpha", 0.2)), float(node.get("beta", 0.5))
    scaled = graph.new("_mul_scalar", node, node.inputs, scalar=alpha)
    shifted = graph.new("_plus_scalar", node, [scaled], scalar=beta)
    return graph.new("clip", node, [shifted], a_min=0.0, a_max=1.0)


def gate_in_plain_memory(graph: Graph, node: Node) -> Optional[Entry]:
    """Copy ``x`` of ``x * activation(x)`` to plain memory once.

    The product requires plain memory for both operands.
    """
    x, shape = _gated(graph, node)
    return None if x is None else _product(graph, node, x, tuple(range(len(shape))))


def gate_channels_last(graph: Graph, node: Node) -> Optional[Entry]:
    """Compute ``x * activation(x)`` channels last if only 1x1 convolutions or averages read it."""
    x, shape = _gated(graph, node)
    if x is None or len(shape) != 4:
        return None
    if not all(_takes_channels_last(graph, taker) for taker in graph.takers(node.out)):
        return None
    return _first(graph, node, _product(graph, node, x, TO_LAST))


def pool_channels_last(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace global average pooling of channels-last data with a matrix product."""
    last = _channels_last(node)
    shape = None if last is None else graph.shape(node.inputs[0])
    if shape is None or not _averages_planes(node):
        return None
    batch, channels, height, width = shape
    rows = graph.new("Reshape", node, [last], shape=(batch, height * width, channels))
    share = np.full((batch, 1, height * width), 1 / (height * width))
    mean = graph.new("batch_dot", node, [graph.constant(node, "share", share), rows])
    return graph.new("Reshape", node, [mean], shape=(batch, channels, 1, 1))


def scale_channels_last(graph: Graph, node: Node) -> Optional[Entry]:
    """Scale channels without leaving the channels-last layout."""
    place, shape = _scaled_channels(graph, node)
    last = None if place is None else _channels_last(node, place)
    if last is None:
        return None
    batch, channels, *_ = shape
    scales = graph.new("Reshape", node, [node.inputs[1 - place]], shape=(batch, 1, 1, channels))
    return _first(graph, node, graph.new("broadcast_mul", node, [last, scales]))


def convolve_channels_last(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a 1x1 convolution of channels-last data with a dense layer."""
    last, kernel = _channels_last(node), graph.param(node.inputs[1]) if len(node.inputs) > 1 else None
    if last is None or kernel is None or not _is_pointwise(node):
        return None
    weight = graph.constant(node, "weight", kernel.reshape(kernel.shape[:2]))
    dense = graph.new(
        *("FullyConnected", node, [last, weight, *node.inputs[2:]]),
        num_hidden=len(kernel),
        no_bias=len(node.inputs) < 3,
        flatten=False,
    )
    return _first(graph, node, dense)


def _gated(graph, node):
    """Return ``x`` of ``x * activation(x)`` and its shape if oneDNN may store ``x`` blocked."""
    if node.op != "elemwise_mul":
        return None, None
    for x, gate in (node.inputs, node.inputs[::-1]):
        act = gate.node
        gated = act.op in ("Activation", "LeakyReLU") and act.inputs == [x] and graph.uses(gate) == 1
        shape = graph.shape(x)
        if gated and shape is not None and x.node.op in ONEDNN:
            return x, shape
    return None, None


def _product(graph, node, x, axes):
    act = next(entry.node for entry in node.inputs if entry != x)
    plain = graph.new("transpose", node, [x], axes=axes)
    return graph.new("elemwise_mul", node, [plain, graph.new(act.op, act, [plain], **act.attrs)])


def _first(graph, node, last):
    return graph.new("transpose", node, [last], axes=TO_FIRST)


def _channels_last(node, place=0):
    """Return the channels-last source of an input that is transposed to channels first, else None."""
    source = node.inputs[place].node if node.inputs else None
    if source is None or source.op != "transpose" or source.get("axes") != TO_FIRST:
        return None
    return source.inputs[0]


def _takes_channels_last(graph, node):
    if node is None:
        return False
    if _scaled_channels(graph, node) != (None, None):
        return all(taker is not None and _is_pointwise(taker) for taker in graph.takers(node.out))
    return _is_pointwise(node) or _averages_planes(node)


def _is_pointwise(node):
    ones = set(node.get("kernel", ())) | set(node.get("stride", ())) | {node.get("num_group", 1)}
    two = len(node.get("kernel", ())) == 2
    return node.op == "Convolution" and two and ones == {1} and not any(node.get("pad", ()))


def _averages_planes(node):
    return node.op == "Pooling" and node.get("global_pool") and node.get("pool_type") == "avg"


def _scaled_channels(graph, node):
    """Return the index and shape of the product's input whose channels the other input scales.

    Return ``(None, None)`` for all other operators.
    """
    if node.op != "broadcast_mul":
        return None, None
    shapes = [graph.shape(entry) for entry in node.inputs]
    if None in shapes or len(shapes[0]) != 4 or len(shapes[1]) != 4:
        return None, None
    place = int(np.prod(shapes[1]) > np.prod(shapes[0]))
    large, small = shapes[place], shapes[1 - place]
    return (place, large) if small == (*large[:2], 1, 1) else (None, None)


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)


#: Rules that never make a net slower.
RULES = (use_activation, use_equal_shapes, use_pooling, use_clip)

#: Rules for gates whose results 1x1 convolutions read.
CHANNELS_LAST = (
    gate_channels_last,
    pool_channels_last,
    scale_channels_last,
    convolve_channels_last,
)
