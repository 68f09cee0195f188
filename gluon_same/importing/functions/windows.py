"""Convolutions with computed weights, and poolings that MXNet lacks."""

from typing import Any, List, Sequence, Tuple

from ... import functional
from .padding import pad


def convolution(F: Any, x: Any, weight: Any, bias: Any = None, **arguments: Any) -> Any:
    """Return a convolution whose weight is an input."""
    return functional.convolution(F, x, weight, bias, **arguments)


def deconvolution(F: Any, x: Any, weight: Any, bias: Any = None, **arguments: Any) -> Any:
    """Return a transposed convolution whose weight is an input."""
    return functional.deconvolution(F, x, weight, bias, **arguments)


def batch_norm(F: Any, x: Any, *weights: Any, epsilon: float, ndim: int) -> Any:
    """Normalize each channel, the second axis, by its gamma, beta, mean and variance."""
    gamma, beta, mean, variance = weights
    shape = (1, -1, *(1,) * (ndim - 2))
    scale = gamma / F.sqrt(variance + epsilon)
    offset = beta - mean * scale
    return F.broadcast_add(F.broadcast_mul(x, F.reshape(scale, shape)), F.reshape(offset, shape))


def gemm(
    F: Any, a: Any, b: Any, *c: Any, alpha: float, beta: float, transpose: Tuple[bool, bool]
) -> Any:
    """Return ``alpha * a @ b + beta * c`` for matrices, each of which may be transposed first."""
    y = F.dot(a, b, transpose_a=transpose[0], transpose_b=transpose[1])
    y = y if alpha == 1 else y * alpha
    return F.broadcast_add(y, c[0] if beta == 1 else c[0] * beta) if c else y


def max_by_slices(
    F: Any,
    x: Any,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[Tuple[int, int]],
    least: float,
) -> Any:
    """Return the max pooling with a dilated window, one axis after the other.

    ``least`` is the padding: the least number of the dtype, which may be any.
    """
    x = pad(F, x, ((0, 0), (0, 0), *padding), value=least)
    for axis, (k, stride, step) in enumerate(zip(kernel, strides, dilation), 2):
        span = (k - 1) * step
        parts = []
        for i in range(k):
            end = None if i == k - 1 else i * step - span
            begin: List[Any] = [None] * (axis + 1)
            ends, steps = list(begin), list(begin)
            begin[axis], ends[axis], steps[axis] = i * step, end, stride
            parts.append(F.slice(x, begin=begin, end=ends, step=steps))
        x = parts[0]
        for part in parts[1:]:
            x = F.broadcast_maximum(x, part)
    return x
