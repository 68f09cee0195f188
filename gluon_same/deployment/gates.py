"""Rules that multiply by gates in oneDNN's memory layout.

MXNet multiplies in plain memory only, so each product costs reorders. oneDNN's operators compute two
products: a tensor times a sigmoid, and channels times computed scales.
"""

from typing import Optional

import numpy as np

from ..graph import Entry, Graph, Node
from .convolutions import copied
from .layouts import BLOCKED

#: Name of the operator that returns a gradient times the derivative of an activation.
GRADIENT = "_backward_Activation"

#: oneDNN's derivative of softplus is 0 here, that of MXNet's own kernel -inf.
FAR = -100.0

#: A power of two, so that float32 represents 1 - EPSILON and adds both to exactly 1.
EPSILON = 2.0**-10


def scale_by_normalization(graph: Graph, node: Node) -> Optional[Entry]:
    """Scale the channels of a batch of one by a normalization with computed ``gamma``."""
    for x, gate in node.operands("broadcast_mul"):
        shape = graph.shape(x)
        if len(shape) != 4 or shape[0] != 1 or min(shape[2:]) < 2:
            continue
        if graph.shape(gate) != (*shape[:2], 1, 1) or gate.node.op == "null":
            continue
        gamma = graph.new("Reshape", node, [gate], shape=shape[1:2])
        inputs = [x, gamma, *(np.full(shape[1], n) for n in (0, 0, 1 - EPSILON))]
        attrs = {"eps": EPSILON, "fix_gamma": False, "use_global_stats": True}
        return graph.new("BatchNorm", node, inputs, **attrs)
    return None


def scale_by_depthwise(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a normalization with computed ``gamma`` by a depthwise convolution with computed weights.

    It requires that convolutions compute or read the images, because others are in plain memory.
    """
    if node.op != "BatchNorm" or graph.holds(node.inputs[1]) or node.get("fix_gamma", True):
        return None
    if node.get("axis", 1) != 1 or node.get("output_mean_var", False):
        return None
    x, gamma, *given = node.inputs
    shape, (beta, mean, var) = graph.shape(x), map(graph.param, given)
    if beta is None or mean is None or var is None or len(shape) != 4 or shape[0] != 1:
        return None
    if np.any(mean) or np.any(np.float32(var) + np.float32(node.get("eps")) != 1):
        return None
    takers = {taker.op for taker in graph.takers(node.out)}
    if x.node.op not in BLOCKED and "Convolution" not in takers:
        return None
    bias = given[:1] if beta.any() else []
    how = dict(kernel=(1, 1), num_filter=shape[1], num_group=shape[1], no_bias=not bias)
    gate = gamma.node.inputs[0] if gamma.node.op == "Reshape" else gamma
    weight = graph.new("Reshape", node, [gate], shape=(shape[1], 1, 1, 1))
    return graph.new("Convolution", node, [x, weight, *bias], **how)


def end_at_layer(graph: Graph, node: Node) -> Optional[Entry]:
    """Insert a convolution that copies its input between a gated tensor and other operators.

    :func:`multiply_by_gradient` requires that layers read the product.
    """
    shape = graph.shape(node.out)
    if _factors(graph, node) is None or len(shape) != 4 or _ends_at_layers(graph, node):
        return None
    product = graph.like(node, node.inputs)
    return copied(graph, node, product, shape[1])


def multiply_by_gradient(graph: Graph, node: Node) -> Optional[Entry]:
    """Compute ``x * sigmoid(y)`` as the gradient ``x`` times the derivative of softplus at ``y``."""
    factors = _factors(graph, node)
    if factors is None or not _ends_at_layers(graph, node):
        return None
    x, y = factors
    return graph.new(GRADIENT, node, [x, y, y], act_type="softrelu")


def can_fail(graph: Graph) -> bool:
    """Return whether :func:`fail_without_onednn` applies: whether all results are float32.

    No infinity marks wrong integers, such as classes.
    """
    return all(graph.dtype(head) == np.float32 for head in graph.heads)


def fail_without_onednn(graph: Graph) -> None:
    """Change a graph to return -inf if oneDNN is off.

    There, MXNet computes the gradient from its second input, which is not the softplus that it expects,
    so that :func:`multiply_by_gradient` would silently give different results.
    """
    near = graph.heads[0].node
    zero = graph.new(GRADIENT, near, [np.array([n]) for n in (1, FAR, FAR)], act_type="softrelu")
    zero = graph.new("BlockGrad", near, [zero])  # because the operator has no gradient of its own
    graph.heads = [graph.new("broadcast_add", head.node, [head, zero]) for head in graph.heads]


def _factors(graph, node):
    """Return ``x`` and ``y`` of ``x * sigmoid(y)``; None for all other operators."""
    for x, gate in node.operands("elemwise_mul") if graph.shape(node.out) else ():
        if gate.node.op == "Activation" and gate.node.get("act_type") == "sigmoid":
            return x, gate.node.inputs[0]
    return None


def _ends_at_layers(graph, node):
    """Return whether all consumers are layers that fusion replaces, with the node's result as data."""
    layers = {"FullyConnected", "Convolution" if len(graph.shape(node.out)) == 4 else None}
    return all(
        taker.op in layers and taker.inputs[0] == node.out and graph.holds(*taker.inputs[1:])
        for taker in graph.takers(node.out)
    )


#: Rules that must precede fusion, in this order.
BEFORE_FUSION = (end_at_layer, multiply_by_gradient)
