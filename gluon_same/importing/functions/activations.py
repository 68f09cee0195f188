"""Activations."""

from typing import Any


def relu6(F: Any, x: Any) -> Any:
    """Return ``min(max(x, 0), 6)``, like :class:`gluon_same.nn.ReLU6`."""
    return F.clip(F.Activation(x, act_type="relu"), 0, 6)


def hard_sigmoid(F: Any, x: Any) -> Any:
    """Return ``relu6(x + 3) / 6``, which is Keras 3's definition."""
    return relu6(F, x + 3) * (1 / 6)


def hard_sigmoid_keras2(F: Any, x: Any) -> Any:
    """Return ``0.2 * x + 0.5`` clipped to [0, 1], which is Keras 2's definition."""
    return clipped_linear(F, x, 0.2, 0.5)


def clipped_linear(F: Any, x: Any, scale: float, offset: float) -> Any:
    """Return ``x * scale + offset`` clipped to [0, 1], which is ONNX's hard sigmoid."""
    return F.clip(x * scale + offset, 0, 1)


def hard_silu(F: Any, x: Any) -> Any:
    """Return ``x * relu6(x + 3) / 6``."""
    return F.elemwise_mul(x, hard_sigmoid(F, x))


def silu(F: Any, x: Any, beta: float = 1) -> Any:
    """Return ``x * sigmoid(beta * x)``."""
    return F.elemwise_mul(x, F.Activation(x if beta == 1 else x * beta, act_type="sigmoid"))


def softplus(F: Any, x: Any) -> Any:
    """Return ``log(1 + exp(x))``. MXNet's activation loses the digits of small results."""
    return F.log1p(F.exp(F.clip(x, -1e30, 30))) + F.relu(x - 30)


def mish(F: Any, x: Any) -> Any:
    """Return ``x * tanh(softplus(x))``, by a form that keeps the digits of small results."""
    e = F.exp(F.clip(x, -1e30, 20))  # beyond 20, tanh is 1
    n = e * (e + 2)
    return F.elemwise_mul(x, n / (n + 2))


def gelu(F: Any, x: Any, approximate: bool = False) -> Any:
    """Return the exact GELU, computed with the error function, or its approximation by tanh."""
    if not approximate:
        return F.LeakyReLU(x, act_type="gelu")
    inner = (x + 0.044715 * x * F.square(x)) * 0.7978845608028654
    return 0.5 * x * (1 + F.tanh(inner))


def selu(F: Any, x: Any, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805) -> Any:
    """Return the SELU as a scaled ELU, because the gradient of MXNet's own operator is wrong."""
    return F.LeakyReLU(x, act_type="elu", slope=alpha) * gamma


def elu(F: Any, x: Any, alpha: float = 1.0) -> Any:
    """Return ``x`` if positive, else ``alpha * (exp(x) - 1)``."""
    return F.LeakyReLU(x, act_type="elu", slope=alpha)


def celu(F: Any, x: Any, alpha: float = 1.0) -> Any:
    """Return ``max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))``."""
    return F.LeakyReLU(x * (1 / alpha), act_type="elu", slope=1) * alpha


def leaky_relu(F: Any, x: Any, slope: float = 0.2) -> Any:
    """Return Keras 3's function, whose default slope differs from the layer's."""
    return F.LeakyReLU(x, act_type="leaky", slope=slope)


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


def shrink(F: Any, x: Any, threshold: float, bias: float) -> Any:
    """Move ``x`` toward 0 by the bias where its magnitude exceeds the threshold; return 0 elsewhere."""
    inside = F.where(x < -threshold, x + bias, F.zeros_like(x))
    return F.where(x > threshold, x - bias, inside)


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


def above(F: Any, x: Any, threshold: float, value: float) -> Any:
    """Return ``x`` if it exceeds the threshold, else a number."""
    return F.where(x > threshold, x, F.zeros_like(x) + value)


def thresholded_relu(F: Any, x: Any, theta: float) -> Any:
    """Return ``x`` if it exceeds theta, else 0."""
    return above(F, x, theta, 0)


def glu(F: Any, x: Any, axis: int) -> Any:
    """Return the first half of an axis times the sigmoid of the second half."""
    first, second = F.split(x, num_outputs=2, axis=axis)
    return first * F.sigmoid(second)


def sparsemax(F: Any, x: Any, axis: int) -> Any:
    """Return Keras' sparsemax.

    Keras adds up running totals of the elements instead of the elements. The result is therefore the
    projection onto the simplex only if a single element stays positive.
    """
    if axis == -1:  # cumsum has no negative axes
        return F.reshape_like(sparsemax(F, F.reshape(x, shape=(-1, 0), reverse=True), 1), x)
    ordered = F.sort(x, axis=axis, is_ascend=False)
    total = F.cumsum(ordered, axis=axis)
    rank = F.cumsum(F.ones_like(ordered), axis=axis)
    inside = 1 + rank * ordered > total
    count = F.sum(inside, axis=axis, keepdims=True)
    reached = F.sum(total * inside, axis=axis, keepdims=True)
    return F.relu(F.broadcast_sub(x, (reached - 1) / count))


def prelu(F: Any, x: Any, alpha: Any) -> Any:
    """Return ``x`` if positive, else ``alpha * x``, with slopes that broadcast."""
    return F.relu(x) - F.broadcast_mul(alpha, F.relu(-x))


def erfc(F: Any, x: Any) -> Any:
    """Return ``1 - erf(x)``."""
    return 1 - F.erf(x)


def crelu(F: Any, x: Any, axis: int = -1) -> Any:
    """Return ``relu(x)`` and ``relu(-x)``, joined along an axis."""
    return F.concat(F.relu(x), F.relu(-x), dim=axis)
