"""Activations without a block in MXNet, as functions of ``F`` and an array or symbol."""

import operator
from typing import Any, Callable, Optional

#: Functions that Keras' ``activation`` arguments select only by name.
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


#: Pairwise functions with an operator in Python.
ARITHMETIC = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
}

#: Maps pairwise functions to MXNet's operators for equal shapes and for broadcasting.
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
    """Combine two arrays elementwise. ``even`` declares that their shapes are equal."""
    name = _PAIRWISE[kind][0 if even else 1]
    return getattr(F._internal if name.startswith("_") else F, name)(one, other)


def _named(name: str) -> Callable[[Any, Any], Any]:
    return lambda F, x: getattr(F, name)(x)


relu, tanh, sqrt, rsqrt, square = map(_named, ("relu", "tanh", "sqrt", "rsqrt", "square"))
abs, exp, log, sin, cos, negative = map(_named, ("abs", "exp", "log", "sin", "cos", "negative"))


def sigmoid(F: Any, x: Any) -> Any:
    """Return ``1 / (1 + exp(-x))``."""
    return F.Activation(x, act_type="sigmoid")


def softplus(F: Any, x: Any) -> Any:
    """Return ``log(1 + exp(x))``."""
    return F.Activation(x, act_type="softrelu")


def clip(F: Any, x: Any, low: float, high: float) -> Any:
    """Clip to the interval from ``low`` to ``high``."""
    return F.clip(x, low, high)


def relu6(F: Any, x: Any) -> Any:
    """Return ``min(max(x, 0), 6)``, like :class:`gluon_same.nn.ReLU6`."""
    return F.clip(F.Activation(x, act_type="relu"), 0, 6)


def hard_sigmoid(F: Any, x: Any) -> Any:
    """Return ``relu6(x + 3) / 6``, which is Keras 3's definition."""
    return relu6(F, x + 3) * (1 / 6)


def hard_sigmoid_keras2(F: Any, x: Any) -> Any:
    """Return ``0.2 * x + 0.5`` clipped to [0, 1], which is Keras 2's definition."""
    return F.clip(x * 0.2 + 0.5, 0, 1)


def hard_silu(F: Any, x: Any) -> Any:
    """Return ``x * relu6(x + 3) / 6``."""
    return F.elemwise_mul(x, hard_sigmoid(F, x))


def silu(F: Any, x: Any) -> Any:
    """Return ``x * sigmoid(x)``."""
    return F.elemwise_mul(x, F.Activation(x, act_type="sigmoid"))


def mish(F: Any, x: Any) -> Any:
    """Return ``x * tanh(softplus(x))``."""
    return F.elemwise_mul(x, F.tanh(F.Activation(x, act_type="softrelu")))


def gelu(F: Any, x: Any) -> Any:
    """Return the exact GELU, computed with the error function."""
    return F.LeakyReLU(x, act_type="gelu")


def gelu_tanh(F: Any, x: Any) -> Any:
    """Return the tanh approximation of GELU."""
    inner = (x + 0.044715 * x * F.square(x)) * 0.7978845608028654
    return 0.5 * x * (1 + F.tanh(inner))


def selu(F: Any, x: Any) -> Any:
    """Return the SELU as a scaled ELU, because the gradient of MXNet's own operator is wrong."""
    return F.LeakyReLU(x, act_type="elu", slope=1.6732632423543772) * 1.0507009873554805


def elu(F: Any, x: Any, alpha: float = 1.0) -> Any:
    """Return ``x`` if positive, else ``alpha * (exp(x) - 1)``."""
    return F.LeakyReLU(x, act_type="elu", slope=alpha)


def celu(F: Any, x: Any, alpha: float = 1.0) -> Any:
    """Return ``max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))``."""
    return F.LeakyReLU(x * (1 / alpha), act_type="elu", slope=1) * alpha


def leaky_relu(F: Any, x: Any, slope: float = 0.2) -> Any:
    """Return Keras 3's function, whose default slope differs from the layer's."""
    return F.LeakyReLU(x, act_type="leaky", slope=slope)


def exponential(F: Any, x: Any) -> Any:
    """Return ``exp(x)``."""
    return F.exp(x)


def softsign(F: Any, x: Any) -> Any:
    """Return ``x / (1 + |x|)``."""
    return x / (1 + F.abs(x))


def log_sigmoid(F: Any, x: Any) -> Any:
    """Return ``-softplus(-x)``."""
    return -F.Activation(-x, act_type="softrelu")


def hard_tanh(F: Any, x: Any) -> Any:
    """Clip ``x`` to [-1, 1]."""
    return F.clip(x, -1, 1)


def hard_shrink(F: Any, x: Any, threshold: float = 0.5) -> Any:
    """Return ``x`` if its magnitude exceeds the threshold, else 0."""
    return x * (F.abs(x) > threshold)


def soft_shrink(F: Any, x: Any, threshold: float = 0.5) -> Any:
    """Move ``x`` toward 0 by the threshold, but not past 0."""
    return F.relu(x - threshold) - F.relu(-x - threshold)


def tanh_shrink(F: Any, x: Any) -> Any:
    """Return ``x - tanh(x)``."""
    return x - F.tanh(x)


def squareplus(F: Any, x: Any, b: float = 4.0) -> Any:
    """Return ``(x + sqrt(x ** 2 + b)) / 2``."""
    return (x + F.sqrt(F.square(x) + b)) / 2


def sparse_plus(F: Any, x: Any) -> Any:
    """Return 0 below -1, ``x`` above 1, and ``(x + 1) ** 2 / 4`` in between."""
    return F.square(F.clip(x, -1, 1) + 1) / 4 + F.relu(x - 1)


def sparse_sigmoid(F: Any, x: Any) -> Any:
    """Return ``(x + 1) / 2`` clipped to [0, 1]."""
    return F.clip(x * 0.5 + 0.5, 0, 1)


def general_relu(F: Any, x: Any, most: Optional[float], slope: float, threshold: float) -> Any:
    """Return ``min(x, most)`` if ``x >= threshold``, else ``slope * (x - threshold)``."""
    high = x * (x >= threshold)
    if most is not None:
        high = F.clip(high, -3e38, most)
    return high - slope * F.relu(threshold - x) if slope else high


def thresholded_relu(F: Any, x: Any, theta: float) -> Any:
    """Return ``x`` if it exceeds theta, else 0."""
    return x * (x > theta)


def softmax(F: Any, x: Any, axis: int) -> Any:
    """Return the softmax along one axis."""
    return F.softmax(x, axis=axis)


def log_softmax(F: Any, x: Any, axis: int) -> Any:
    """Return the log-softmax along one axis."""
    return F.log_softmax(x, axis=axis)


def glu(F: Any, x: Any, axis: int) -> Any:
    """Return the first half of an axis times the sigmoid of the second half."""
    first, second = F.split(x, num_outputs=2, axis=axis)
    return first * F.sigmoid(second)


def sparsemax(F: Any, x: Any, axis: int) -> Any:
    """Return Keras' sparsemax.

    Keras adds up running totals of the elements instead of the elements. The result is therefore the
    projection onto the simplex only if a single element stays positive.
    """
    ordered = F.sort(x, axis=axis, is_ascend=False)
    total = F.cumsum(ordered, axis=axis)
    rank = F.cumsum(F.ones_like(ordered), axis=axis)
    inside = 1 + rank * ordered > total
    count = F.sum(inside, axis=axis, keepdims=True)
    reached = F.sum(total * inside, axis=axis, keepdims=True)
    return F.relu(F.broadcast_sub(x, (reached - 1) / count))
