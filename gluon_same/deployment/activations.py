"""Rules that replace slow operators with equivalent faster ones.

On a CPU, oneDNN's operators are vectorized and read the blocked layout of oneDNN's convolutions.
MXNet's own kernels require plain memory, so MXNet reorders their inputs and the inputs of what follows.
"""

from typing import Optional, Tuple

import numpy as np

from ..graph import Entry, Graph, Node, Rule, scalar
from .clean import BROADCAST

#: Operators that are oneDNN's activations of these names.
ACTIVATIONS = {"relu", "sigmoid", "tanh"}

#: Maps exponents to the operators that compute these powers, in a thirtieth to a half of the time.
POWERS = {2: "square", 0.5: "sqrt", -0.5: "rsqrt"}

#: Maps broadcasting operators to their equal-shape forms. oneDNN supports the sum.
EQUAL = {wide: equal for equal, wide in BROADCAST.items()}

#: Products of two tensors.
PRODUCTS = {"elemwise_mul", "broadcast_mul"}

#: Maps reductions to the equivalent type of global pooling.
REDUCTIONS = {"mean": "avg", "sum": "avg", "max": "max"}

#: Layers that absorb an activation that follows them.
LAYERS = ("Convolution", "FullyConnected")

#: The largest bound and shift of a clip that becomes a hard sigmoid. Its slope must not be denormal.
MOST = 1e6

#: Difference of constants that files write in float32.
NEAR = 1e-6


def use_activation(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace ``relu``, ``sigmoid`` and ``tanh`` with oneDNN's activation."""
    if node.op in ACTIVATIONS:
        return graph.new("Activation", node, node.inputs, act_type=node.op)
    if node.op == "_maximum_scalar" and scalar(node) == 0:
        return graph.new("Activation", node, node.inputs, act_type="relu")
    return None


def use_square(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a power by the operator for its exponent."""
    operator = POWERS.get(scalar(node)) if node.op == "_power_scalar" else None
    return graph.new(operator, node, node.inputs) if operator else None


def use_equal_shapes(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a broadcasting sum or product with its equal-shape form."""
    if node.op not in EQUAL:
        return None
    one, other = map(graph.shape, node.inputs)
    return graph.new(EQUAL[node.op], node, node.inputs) if one and one == other else None


def use_pooling(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace the spatial mean, sum or maximum with global pooling."""
    shape, ones = graph.shape(node.data), set(_tuple(node.get("output_size", 1))) <= {1}
    adaptive = node.op == "_contrib_AdaptiveAvgPooling2D" and ones
    kind = "avg" if adaptive else REDUCTIONS.get(node.op)
    axes = (2, 3) if adaptive else reduced_axes(graph, node)
    if kind is None or len(shape) != 4 or axes != (2, 3):
        return None
    pooled = graph.new("Pooling", node, node.inputs, pool_type=kind, global_pool=True, kernel=(1, 1))
    if node.op == "sum":
        pooled = graph.new("_mul_scalar", node, [pooled], scalar=float(shape[2] * shape[3]))
    if graph.shape(node.out) == (*shape[:2], 1, 1):
        return pooled
    return graph.new("Reshape", node, [pooled], shape=shape[:2])


def use_clip(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a hard sigmoid after a layer with a scale, a shift and a clip, which the layer absorbs."""
    if node.op != "hard_sigmoid" or graph.uses(node.inputs[0]) > 1:
        return None
    if node.inputs[0].node.op not in LAYERS:
        return None
    alpha, beta = float(node.get("alpha", 0.2)), float(node.get("beta", 0.5))
    scaled = graph.new("_mul_scalar", node, node.inputs, scalar=alpha)
    shifted = graph.new("_plus_scalar", node, [scaled], scalar=beta)
    return graph.new("clip", node, [shifted], a_min=0.0, a_max=1.0)


def use_hard_sigmoid(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a shift and a clip at 0 with a hard sigmoid, unless a layer absorbs them."""
    shift, high = node.data.node, float(node.get("a_max", 0))
    if shift.get("act_type") == "relu":
        shift = shift.inputs[0].node
    if node.op != "clip" or float(node.get("a_min", -1)) != 0 or not 1 / MOST <= high <= MOST:
        return None
    if shift.op != "_plus_scalar" or abs(scalar(shift)) > MOST:
        return None
    if shift.inputs[0].node.op in LAYERS and graph.uses(shift.inputs[0]) == 1:
        return None
    line = dict(alpha=1 / high, beta=scalar(shift) / high)
    gate = graph.new("hard_sigmoid", node, shift.inputs, **line)
    return graph.new("_mul_scalar", node, [gate], scalar=high)


def use_gelu(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace ``x * (1 + erf(x / sqrt(2)))`` with twice oneDNN's GELU."""
    for x, gate in node.operands(*PRODUCTS):
        shift = gate.node
        if shift.op != "_plus_scalar" or scalar(shift) != 1 or shift.inputs[0].node.op != "erf":
            continue
        scaled = shift.inputs[0].node.inputs[0].node
        if scaled.inputs[:1] == [x] and abs((factor_of(scaled) or 0) - 0.5**0.5) < NEAR:
            gelu = graph.new("LeakyReLU", node, [x], act_type="gelu")
            return graph.new("_mul_scalar", node, [gelu], scalar=2.0)
    return None


def use_prelu(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace ``relu(x) - slopes * relu(-x)`` with MXNet's operator."""
    if node.op != "elemwise_sub" or node.inputs[1].node.op != "broadcast_mul":
        return None
    upper, (slopes, lower) = node.inputs[0].node, node.inputs[1].node.inputs
    if not upper.get("act_type") == lower.node.get("act_type") == "relu":
        return None
    minus, values, shape = lower.node.inputs[0].node, graph.param(slopes), graph.shape(node.out)
    if values is None or not shape or factor_of(minus) != -1 or minus.inputs != upper.inputs:
        return None
    wide = (1,) * (len(shape) - values.ndim) + values.shape
    if values.size > 1 and (len(shape) < 2 or wide != (1, shape[1], *[1] * (len(shape) - 2))):
        return None
    return graph.new("LeakyReLU", node, [*upper.inputs, values.reshape(-1)], act_type="prelu")


def use_leaky(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace equal slopes of channels with one, which oneDNN supports."""
    slopes = graph.param(node.inputs[1]) if node.get("act_type") == "prelu" else None
    if slopes is None or np.ptp(slopes):
        return None
    return graph.new("LeakyReLU", node, node.inputs[:1], act_type="leaky", slope=float(slopes.flat[0]))


def move_scale(graph: Graph, node: Node) -> Optional[Entry]:
    """Move a scale past a product, and merge scales that follow each other."""
    for i, entry in enumerate(node.inputs[:2]):
        factor = factor_of(entry.node)
        if factor is None or graph.uses(entry) > 1 or graph.shape(entry) != graph.shape(node.out):
            continue
        if node.op in PRODUCTS:
            moved = graph.with_data(node, entry.node.inputs[0], i)
            return graph.new("_mul_scalar", node, [moved], scalar=factor)
        own = factor_of(node)
        if own is not None:
            return graph.new("_mul_scalar", node, entry.node.inputs, scalar=own * factor)
    return None


def scale_before_clip(graph: Graph, node: Node) -> Optional[Entry]:
    """Scale the result of a layer before its clip instead of after it, so that the weights absorb it."""
    factor, clip = factor_of(node) or 0, node.data.node
    if factor <= 0 or clip.op != "clip" or graph.uses(clip.out) > 1 or graph.uses(clip.inputs[0]) > 1:
        return None
    if clip.inputs[0].node.op not in LAYERS:
        return None
    low, high = (factor * float(clip.get(name)) for name in ("a_min", "a_max"))
    scaled = graph.new("_mul_scalar", node, clip.inputs, scalar=factor)
    return graph.new("clip", clip, [scaled], a_min=low, a_max=high)


def factor_of(node: Node) -> Optional[float]:
    """Return the factor by which an operator multiplies; None for other operators."""
    if node.op == "_mul_scalar":
        return scalar(node)
    return 1 / scalar(node) if node.op == "_div_scalar" and scalar(node) else None


def use_bounded(graph: Graph, node: Node) -> Optional[Entry]:
    """Drop the ReLU between a layer and a clip at 0, because the layer absorbs only one of them."""
    act = node.inputs[0].node if node.op == "clip" else node
    if act.op != "Activation" or act.get("act_type") != "relu" or float(node.get("a_min", -1)) != 0:
        return None
    layer = act.inputs[0]
    alone = graph.uses(node.inputs[0]) == graph.uses(layer) == 1
    return graph.with_data(node, layer) if alone and layer.node.op in LAYERS else None


def reduced_axes(graph: Graph, node: Node) -> Tuple[int, ...]:
    """Return the axes along which an operator reduces; none if it does not, or they are not known."""
    shape, axes = graph.shape(node.data), node.get("axis")
    if not shape or axes is None or node.get("exclude", False):
        return ()
    return tuple(sorted(axis % len(shape) for axis in _tuple(axes)))


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)


#: Rules that never make a net slower.
RULES: Tuple[Rule, ...] = (use_activation, use_square, use_equal_shapes, use_pooling, use_clip)
RULES += (use_hard_sigmoid, use_gelu, use_prelu, use_leaky, move_scale, scale_before_clip, use_bounded)
