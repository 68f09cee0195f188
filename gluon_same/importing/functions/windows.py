"""Convolutions with computed weights, and poolings that MXNet lacks."""

import math
from typing import Any, List, Sequence, Tuple

from ...functional import convolution, deconvolution  # noqa: F401
from .padding import pad
from .rearranging import along


def batch_norm(F: Any, x: Any, *weights: Any, epsilon: float, ndim: int) -> Any:
    """Normalize each channel, the second axis, by its gamma, beta, mean and variance."""
    gamma, beta, mean, variance = weights
    scale = gamma / F.sqrt(variance + epsilon)
    offset = beta - mean * scale
    return F.broadcast_add(F.broadcast_mul(x, along(F, scale, 1, ndim)), along(F, offset, 1, ndim))


def spread(F: Any, w: Any, dilation: Sequence[int]) -> Any:
    """Return weights with the zeros between their elements that a dilated window skips."""
    for axis, step in enumerate(dilation, 2):
        if step > 1:
            w = F.expand_dims(w, axis=axis + 1)
            w = F.concat(w, *[F.zeros_like(w)] * (step - 1), dim=axis + 1)
            w = F.reshape(w, shape=(*(0,) * axis, -3, *(0,) * (len(dilation) + 1 - axis)))
            w = F.slice_axis(w, axis=axis, begin=0, end=1 - step)
    return w


def gemm(
    F: Any, a: Any, b: Any, *c: Any, alpha: float, beta: float, transpose: Tuple[bool, bool]
) -> Any:
    """Return ``alpha * a @ b + beta * c`` for matrices, each of which may be transposed first."""
    y = F.dot(a, b, transpose_a=transpose[0], transpose_b=transpose[1])
    y = y if alpha == 1 else y * alpha
    return F.broadcast_add(y, c[0] if beta == 1 else c[0] * beta) if c else y


def dilated_average(F: Any, x: Any, ones: Any, channels: int, counted: bool, **window: Any) -> Any:
    """Return averages of dilated windows, by convolutions with ones.

    Padding counts if ``counted``. ``window`` has the arguments of a convolution.
    """
    total = convolution(F, x, ones, num_filter=channels, num_group=channels, **window)
    if counted:
        return total / math.prod(window["kernel"])
    one, weight = F.slice_axis(x, axis=1, begin=0, end=1), F.slice_axis(ones, axis=0, begin=0, end=1)
    return F.broadcast_div(total, convolution(F, F.ones_like(one), weight, num_filter=1, **window))


def max_by_slices(
    F: Any, x: Any, windows: Sequence[Tuple[int, int, int]], padding: Sequence[Tuple[int, int]],
    least: float, order: Sequence[int] = (),
) -> Any:  # fmt: skip
    """Return the max pooling with a dilated window, one axis after the other.

    ``windows`` are the elements, the stride and the dilation along each axis, and ``least`` is the
    padding: the least number of the dtype, which may be any. If ``order`` is given, the places of the
    largest elements in the flat input are returned as well. It is an order of axes, of which the last is
    that of neighbors.
    """
    rank = len(windows) + 2
    arrays = [x]
    if order:
        line = F.contrib.arange_like(F.cast(F.transpose(x, axes=order), dtype="int64"))
        arrays.append(F.transpose(line, axes=[order.index(axis) for axis in range(rank)]))
    arrays = [pad(F, each, ((0, 0), (0, 0), *padding), value=v) for each, v in zip(arrays, (least, -1))]
    # The first of equal elements counts, in the order of rows, and padding if there is nothing else.
    for axis, (k, stride, step) in reversed([*enumerate(windows, 2)]):
        best: List[Any] = []
        for i in range(k):
            end = None if i == k - 1 else (i - k + 1) * step
            first, last, by = ((*(None,) * axis, n) for n in (i * step, end, stride))
            parts = [F.slice(each, begin=first, end=last, step=by) for each in arrays]
            if best and order:
                better = [F.cast(c, dtype="float32") for c in (parts[0] > best[0], best[1] < 0)]
                best = [F.where(better[0] + better[1], *pair) for pair in zip(parts, best)]
            else:
                best = [F.broadcast_maximum(best[0], parts[0])] if best else parts
        arrays = best
    return arrays if order else arrays[0]
