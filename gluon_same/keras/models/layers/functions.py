"""Activations that MXNet has no block for, as functions of ``F`` and an array or symbol."""

import operator
from typing import Any, Callable, Optional

#: Those that are activations by their name alone, as Keras' ``activation`` arguments give them.
ACTIVATIONS = (
    "celu",
    "elu",
    "exponential",
    "gelu",
    "hard_shrink",
    "hard_sigmoid",
    "hard_silu",
    "hard_tanh",
    "leaky_relu",
    "log_sigmoid",
    "mish",
    "selu",
    "silu",
    "soft_shrink",
    "softsign",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "tanh_shrink",
)


#: Pairwise functions of arrays and numbers that Python has an operator for.
ARITHMETIC = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
}

#: For each pairwise function MXNet's operators for equal shapes and for others.
_PAIRWISE = {
    "add": ("elemwise_add", "broadcast_add"),
    "subtract": ("elemwise_sub", "broadcast_sub"),
    "multiply": ("elemwise_mul", "broadcast_mul"),
    "divide": ("elemwise_div", "broadcast_div"),
    "maximum": ("_maximum", "broadcast_maximum"),
    "minimum": ("_minimum", "broadcast_minimum"),
    "power": ("broadcast_power", "broadcast_power"),
}


def pairwise(F: Any, kind: str, one: Any, other: Any, even: bool = False) -> Any:
    """Two arrays, combined element by element; ``even`` says that their shapes are equal."""
    name = _PAIRWISE[kind][0 if even else 1]
    return getattr(F._internal if name.startswith("_") else F, name)(one, other)


def _named(name: str) -> Callable[[Any, Any], Any]:
    return lambda F, x: getattr(F, name)(x)


relu, tanh, sqrt, rsqrt, square = map(_named, ("relu", "tanh", "sqrt", "rsqrt", "square"))
abs, exp, log, sin, cos, negative = map(_named, ("abs", "exp", "log", "sin", "cos", "negative"))


def sigmoid(F: Any, x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    return F.Activation(x, act_type="sigmoid")


def softplus(F: Any, x: Any) -> Any:
    """``log(1 + exp(x))``."""
    return F.Activation(x, act_type="softrelu")


def clip(F: Any, x: Any, low: float, high: float) -> Any:
    """Between two bounds."""
    return F.clip(x, low, high)


def relu6(F: Any, x: Any) -> Any:
    """``min(max(x, 0), 6)``, as :class:`gluon_same.nn.ReLU6` does it."""
    return F.clip(F.Activation(x, act_type="relu"), 0, 6)


def hard_sigmoid(F: Any, x: Any) -> Any:
    """``relu6(x + 3) / 6``, Keras 3's."""
    return relu6(F, x + 3) * (1 / 6)


def hard_sigmoid_keras2(F: Any, x: Any) -> Any:
    """``0.2 x + 0.5`` between 0 and 1, Keras 2's."""
    return F.clip(x * 0.2 + 0.5, 0, 1)


def hard_silu(F: Any, x: Any) -> Any:
    """``x * relu6(x + 3) / 6``."""
    return F.elemwise_mul(x, hard_sigmoid(F, x))


def silu(F: Any, x: Any) -> Any:
    """``x * sigmoid(x)``."""
    return F.elemwise_mul(x, F.Activation(x, act_type="sigmoid"))


def mish(F: Any, x: Any) -> Any:
    """``x * tanh(softplus(x))``."""
    return F.elemwise_mul(x, F.tanh(F.Activation(x, act_type="softrelu")))


def gelu(F: Any, x: Any) -> Any:
    """The exact one, by the error function."""
    return F.LeakyReLU(x, act_type="gelu")


def gelu_tanh(F: Any, x: Any) -> Any:
    """The approximate one, by tanh."""
    inner = (x + 0.044715 * x * F.square(x)) * 0.7978845608028654
    return 0.5 * x * (1 + F.tanh(inner))


def selu(F: Any, x: Any) -> Any:
    """Keras' and MXNet's constants are the same."""
    return F.LeakyReLU(x, act_type="selu")


def elu(F: Any, x: Any, alpha: float = 1.0) -> Any:
    """``x`` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere."""
    return F.LeakyReLU(x, act_type="elu", slope=alpha)


def celu(F: Any, x: Any, alpha: float = 1.0) -> Any:
    """``max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))``."""
    return F.relu(x) + alpha * F.expm1(-F.relu(-x) / alpha)


def leaky_relu(F: Any, x: Any, slope: float = 0.2) -> Any:
    """Keras 3's function, whose slope is not the layer's."""
    return F.LeakyReLU(x, act_type="leaky", slope=slope)


def exponential(F: Any, x: Any) -> Any:
    """``exp(x)``."""
    return F.exp(x)


def softsign(F: Any, x: Any) -> Any:
    """``x / (1 + |x|)``."""
    return x / (1 + F.abs(x))


def log_sigmoid(F: Any, x: Any) -> Any:
    """``-softplus(-x)``."""
    return -F.Activation(-x, act_type="softrelu")


def hard_tanh(F: Any, x: Any) -> Any:
    """``x`` between -1 and 1."""
    return F.clip(x, -1, 1)


def hard_shrink(F: Any, x: Any, threshold: float = 0.5) -> Any:
    """``x`` where its magnitude exceeds the threshold, 0 elsewhere."""
    return x * (F.abs(x) > threshold)


def soft_shrink(F: Any, x: Any, threshold: float = 0.5) -> Any:
    """``x`` moved toward 0 by the threshold, and not beyond."""
    return F.relu(x - threshold) - F.relu(-x - threshold)


def tanh_shrink(F: Any, x: Any) -> Any:
    """``x - tanh(x)``."""
    return x - F.tanh(x)


def squareplus(F: Any, x: Any, b: float = 4.0) -> Any:
    """``(x + sqrt(x ** 2 + b)) / 2``."""
    return (x + F.sqrt(F.square(x) + b)) / 2


def sparse_plus(F: Any, x: Any) -> Any:
    """0 up to -1, ``x`` from 1 on, and ``(x + 1) ** 2 / 4`` between."""
    return F.square(F.clip(x, -1, 1) + 1) / 4 + F.relu(x - 1)


def sparse_sigmoid(F: Any, x: Any) -> Any:
    """``(x + 1) / 2`` between 0 and 1."""
    return F.clip(x * 0.5 + 0.5, 0, 1)


def general_relu(F: Any, x: Any, most: Optional[float], slope: float, threshold: float) -> Any:
    """``min(x, most)`` where x is at least the threshold, ``slope * (x - threshold)`` elsewhere."""
    high = x * (x >= threshold)
    if most is not None:
        high = F.clip(high, -3e38, most)
    return high - slope * F.relu(threshold - x) if slope else high


def thresholded_relu(F: Any, x: Any, theta: float) -> Any:
    """``x`` where it exceeds theta, 0 elsewhere."""
    return x * (x > theta)


def softmax(F: Any, x: Any, axis: int) -> Any:
    """Along one axis."""
    return F.softmax(x, axis=axis)


def log_softmax(F: Any, x: Any, axis: int) -> Any:
    """Along one axis."""
    return F.log_softmax(x, axis=axis)


def glu(F: Any, x: Any, axis: int) -> Any:
    """The first half of an axis, times the sigmoid of the second."""
    first, second = F.split(x, num_outputs=2, axis=axis)
    return first * F.sigmoid(second)


def sparsemax(F: Any, x: Any, axis: int) -> Any:
    """Along one axis: the nearest point of the simplex."""
    ordered = F.sort(x, axis=axis, is_ascend=False)
    total = F.cumsum(ordered, axis=axis)
    rank = F.cumsum(F.ones_like(ordered), axis=axis)
    inside = 1 + rank * ordered > total
    count = F.sum(inside, axis=axis, keepdims=True)
    reached = F.sum(ordered * inside, axis=axis, keepdims=True)
    return F.relu(F.broadcast_sub(x, (reached - 1) / count))
