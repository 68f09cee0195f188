"""Rules that write operators which MXNet runs slowly as equal ones that it runs fast.

On a CPU, oneDNN runs what it knows in vectors, on memory in whatever order its convolutions leave.
MXNet's own kernels require plain memory: what oneDNN left is put in order for them, and back again.
"""

from typing import Optional

import numpy as np

from .graph import Entry, Graph, Node, scalar

#: Activations of oneDNN, by MXNet's own operators for them.
ACTIVATIONS = {
    "relu": "relu",
    "sigmoid": "sigmoid",
    "tanh": "tanh",
    "_npx_relu": "relu",
    "_npx_sigmoid": "sigmoid",
    "_np_tanh": "tanh",
}

#: Operators of equal shapes, by those that broadcast; oneDNN knows the sum.
EQUAL = {
    "broadcast_add": "elemwise_add",
    "broadcast_plus": "elemwise_add",
    "_npi_add": "elemwise_add",
    "broadcast_mul": "elemwise_mul",
    "_npi_multiply": "elemwise_mul",
}

#: A pooling of whole planes, by what reduces axes.
REDUCTIONS = {"mean": "avg", "_npi_mean": "avg", "max": "max"}

#: Those whose results oneDNN may leave in an order of its own.
ONEDNN = {"Convolution", "Deconvolution", "BatchNorm", "Activation", "LeakyReLU", "Pooling", "Concat"}


def use_activation(graph: Graph, node: Node) -> Optional[Entry]:
    """Write ``relu``, ``sigmoid`` and ``tanh`` as oneDNN's activation."""
    if node.op in ACTIVATIONS:
        return graph.new("Activation", node, node.inputs, act_type=ACTIVATIONS[node.op])
    if node.op == "_maximum_scalar" and scalar(node) == 0:
        return graph.new("Activation", node, node.inputs, act_type="relu")
    return None


def use_equal_shapes(graph: Graph, node: Node) -> Optional[Entry]:
    """Write a sum or product of equal shapes without broadcasting."""
    if node.op not in EQUAL:
        return None
    shapes = [graph.shape(entry) for entry in node.inputs]
    if None in shapes or shapes[0] != shapes[1]:
        return None
    return graph.new(EQUAL[node.op], node, node.inputs)


def use_pooling(graph: Graph, node: Node) -> Optional[Entry]:
    """Write the mean or the maximum of planes as a pooling."""
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
    """Write a hard sigmoid behind a layer as a scale, a shift and a clip, which the layer takes in."""
    if node.op != "hard_sigmoid" or graph.uses(node.inputs[0]) > 1:
        return None
    if node.inputs[0].node.op not in ("Convolution", "FullyConnected"):
        return None
    alpha, beta = float(node.get("alpha", 0.2)), float(node.get("beta", 0.5))
    scaled = graph.new("_mul_scalar", node, node.inputs, scalar=alpha)
    shifted = graph.new("_plus_scalar", node, [scaled], scalar=beta)
    return graph.new("clip", node, [shifted], a_min=0.0, a_max=1.0)


def gate_in_plain_memory(graph: Graph, node: Node) -> Optional[Entry]:
    """Put ``x`` of ``x * activation(x)`` in plain memory once, which the product requires of both."""
    if node.op != "elemwise_mul":
        return None
    for x, gate in (node.inputs, node.inputs[::-1]):
        act, shape = gate.node, graph.shape(x)
        gated = act.op in ("Activation", "LeakyReLU") and act.inputs[0] == x and graph.uses(gate) == 1
        if gated and shape is not None and x.node.op in ONEDNN:
            plain = graph.new("Reshape", node, [x], shape=(0,) * len(shape))
            inner = graph.new(act.op, act, [plain], **act.attrs)
            return graph.new("elemwise_mul", node, [plain, inner])
    return None


def scale_weights(graph: Graph, node: Node) -> Optional[Entry]:
    """Scale the small weights of a 1x1 convolution, not the many elements of one image that it reads."""
    if node.op != "Convolution" or set(node.get("kernel")) != {1} or node.get("num_group", 1) > 1:
        return None
    product = node.inputs[0].node
    if product.op != "broadcast_mul" or graph.uses(node.inputs[0]) > 1 or any(node.get("pad", ())):
        return None
    x, gate = sorted(product.inputs, key=lambda entry: -np.prod(graph.shape(entry) or (0,)))
    shape, filters = graph.shape(x), node.get("num_filter")
    if shape is None or shape[0] != 1 or graph.shape(gate) != (1, shape[1], *(1,) * len(shape[2:])):
        return None
    if filters >= np.prod(shape[2:]):
        return None
    weight = graph.new("broadcast_mul", node, [node.inputs[1], gate])
    return graph.new("Convolution", node, [x, weight, *node.inputs[2:]], **node.attrs)


def gate_by_convolution(graph: Graph, node: Node) -> Optional[Entry]:
    """Scale the channels of one image by a depthwise convolution, which leaves oneDNN's order."""
    if node.op != "broadcast_mul":
        return None
    x, gate = sorted(node.inputs, key=lambda entry: -np.prod(graph.shape(entry) or (0,)))
    shape = graph.shape(x)
    if shape is None or len(shape) != 4 or graph.shape(gate) != (1, shape[1], 1, 1) or shape[0] != 1:
        return None
    if x.node.op not in ONEDNN:
        return None
    weight = graph.new("Reshape", node, [gate], shape=(shape[1], 1, 1, 1))
    count = dict(num_filter=shape[1], num_group=shape[1])
    return graph.new("Convolution", node, [x, weight], kernel=(1, 1), no_bias=True, **count)


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)


#: Equal operators that are never slower.
RULES = (use_activation, use_equal_shapes, use_pooling, use_clip)

#: Forms that are faster on some processors and for some sizes.
CHOICES = (gate_in_plain_memory, scale_weights, gate_by_convolution)
