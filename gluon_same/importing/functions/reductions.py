"""Reductions, and functions of all elements along axes."""

import math
from typing import Any, Sequence, Tuple

from .elementwise import is_nan
from .rearranging import along, exactly, flip

#: Functions of each element before the sum along the axes, and of the sum.
_SUMS = {
    "l1": ("abs", None),
    "l2": ("square", "sqrt"),
    "sum_square": ("square", None),
    "log_sum": (None, "log"),
}


def reduce(F: Any, x: Any, kind: str, axes: Tuple[int, ...], keepdims: bool = False) -> Any:
    """Reduce along axes.

    ``kind`` is one of MXNet's (sum, mean, prod, min, max), or l1, l2, sum_square, log_sum, log_sum_exp,
    var, std, ptp (the range), and all and any, which return 0 and 1.
    """
    how = dict(axis=axes, keepdims=keepdims)
    if kind in _SUMS:
        before, after = _SUMS[kind]
        # MXNet's square rounds whole numbers to float32.
        x = x * x if before == "square" else getattr(F, before)(x) if before else x
        y = F.sum(x, **how)
        return getattr(F, after)(y) if after else y
    if kind == "log_sum_exp":
        # The largest number becomes finite, because inf - inf is not a number.
        most = F.BlockGrad(F.clip(F.max(x, axis=axes, keepdims=True), -3e38, 3e38))
        total = F.log(F.sum(F.exp(F.broadcast_sub(x, most)), **how))
        return total + (most if keepdims else F.max(most, axis=axes))
    if kind == "count_nonzero":
        return F.sum(x != 0, **how)
    if kind in ("all", "any"):
        return (F.min if kind == "all" else F.max)(x != 0, **how)
    if kind == "ptp":
        return F.max(x, **how) - F.min(x, **how)
    if kind == "max_abs":
        return F.max(F.abs(x), **how)
    if kind in ("var", "std"):
        centered = F.broadcast_sub(x, F.mean(x, axis=axes, keepdims=True))
        y = F.mean(F.square(centered), **how)
        return F.sqrt(y) if kind == "std" else y
    return getattr(F, kind)(x, **how)


def reduce_numbers(F: Any, x: Any, kind: str, axes: Tuple[int, ...], keepdims: bool = False) -> Any:
    """Reduce along axes without the elements that are not a number.

    ``kind`` is sum, prod, mean, var, std, min or max. All but the first two of no element are NaN.
    """
    missing, zeros = is_nan(F, x), F.zeros_like(x)
    how, ends = dict(axis=axes, keepdims=keepdims), dict(prod=1.0, max=-math.inf, min=math.inf)
    y = getattr(F, kind if kind in ends else "sum")(
        F.where(missing, zeros + ends.get(kind, 0.0), x), **how
    )
    if kind in ("sum", "prod"):
        return y
    count = F.sum(1 - missing, **how)
    if kind in ("max", "min"):
        return F.where(count, y, y * math.nan)
    if kind == "mean":
        return y / count
    mean = reduce_numbers(F, x, "mean", axes, keepdims=True)
    y = F.sum(F.where(missing, zeros, F.square(F.broadcast_sub(x, mean))), **how) / count
    return F.sqrt(y) if kind == "std" else y


def over_sum(F: Any, x: Any, axis: int, least: float) -> Any:
    """Divide vectors by the sums of their absolute elements, which are taken for at least ``least``."""
    return F.broadcast_div(x, F.maximum(F.sum(F.abs(x), axis=axis, keepdims=True), least))


def moments(F: Any, x: Any, axes: Tuple[int, ...], keepdims: bool) -> Any:
    """Return the mean and the variance along axes."""
    return [reduce(F, x, kind, axes, keepdims) for kind in ("mean", "var")]


def weighted_mean(F: Any, x: Any, weights: Any, axes: Tuple[int, ...], keepdims: bool) -> Any:
    """Return the mean along axes of elements that have weights."""
    total = F.sum(F.broadcast_mul(x, weights), axis=axes, keepdims=keepdims)
    return F.broadcast_div(total, F.sum(weights, axis=axes, keepdims=keepdims))


def with_negative_zeros(F: Any, x: Any, kind: str, **how: Any) -> Any:
    """Return :func:`arg_reduce` with -0.0 below 0.0, as in Keras 3."""
    negative = (x == 0) * (1 / x < 0)
    return arg_reduce(F, x - negative * 1.1754943508222875e-38, kind, **how)


def arg_reduce(
    F: Any, x: Any, kind: str, axis: int, rank: int, keepdims: bool = False, last: bool = False
) -> Any:
    """Return the positions of the largest (argmax) or smallest (argmin) elements along an axis.

    Of equal elements, the first one counts, or the last one if ``last``. The dtype of ``x`` must be able
    to hold all positions.
    """
    if last:
        most = getattr(F, kind[3:])(x, axis=axis, keepdims=True)
        found = F.cast(F.broadcast_equal(x, most), dtype="float32")
        y = F.max(F.broadcast_mul(found, positions(F, found, axis, rank)), axis=axis, keepdims=keepdims)
    else:
        y = getattr(F, kind)(x, axis=axis, keepdims=keepdims)
    return F.cast(y, dtype="int64")


def positions(F: Any, x: Any, axis: int, rank: int) -> Any:
    """Return the positions 0, 1, ... along an axis, in a shape that broadcasts with ``x``."""
    return along(F, F.contrib.arange_like(x, axis=axis), axis, rank)


def hardmax(F: Any, x: Any, axis: int, rank: int) -> Any:
    """Return 1 for the first of the largest elements along an axis, and 0 for all others."""
    found = F.argmax(x, axis=axis, keepdims=True)
    return F.broadcast_equal(positions(F, x, axis, rank), found)


def over_axes(F: Any, x: Any, kind: str, axes: Sequence[int], rank: int, **arguments: Any) -> Any:
    """Apply a function of one axis, such as 'softmax', to all elements along several axes at once."""
    others = [axis for axis in range(rank) if axis not in axes]
    order = [*others, *axes]
    moved = x if order == sorted(order) else F.transpose(x, axes=order)
    flat = F.reshape(moved, shape=(*(0,) * len(others), -1))
    if kind == "hardmax":
        y = hardmax(F, flat, len(others), len(others) + 1)
    else:
        y = getattr(F, kind)(flat, axis=len(others))
    y = F.reshape_like(y, moved)
    return y if moved is x else F.transpose(y, axes=[order.index(axis) for axis in range(rank)])


def over_last_axis(F: Any, x: Any, kind: str) -> Any:
    """Apply 'softmax' or 'log_softmax' along the last axis, of data with one axis less.

    oneDNN computes it for up to 4 axes, but crashes for blocks of 8 or 16 channels of 3 or 4. A reshape
    copies them to plain memory.
    """
    return F.reshape_like(getattr(F, kind)(F.reshape(x, shape=(-3, -2)), axis=-1), x)


def along_axis(F: Any, x: Any, kind: str, axis: int, rank: int) -> Any:
    """Apply 'softmax' or 'log_softmax' along an axis of data that oneDNN may hold in blocks."""
    if rank > 2 and axis == rank - 1:
        return over_last_axis(F, x, kind)
    return getattr(F, kind)(x, axis=axis)


def cumsum(F: Any, x: Any, axis: int, exclusive: bool = False, reverse: bool = False) -> Any:
    """Return running totals along an axis.

    ``exclusive`` leaves each element out of its own total; ``reverse`` starts at the end.
    """
    return _running(F, x, axis, exclusive, reverse)


def cumprod(F: Any, x: Any, axis: int, size: int, exclusive: bool = False, reverse: bool = False) -> Any:
    """Return running products along an axis of a known size, like :func:`cumsum`."""
    return _running(F, exactly(F, x, axis, size), axis, exclusive, reverse, size)


def _running(F, x, axis, exclusive, reverse, size=None):
    """Return running totals, or products of ``size`` elements."""
    x = flip(F, x, (axis,)) if reverse else x
    x = _shifted(F, x, axis, 1, int(size is not None)) if exclusive else x
    if size is None:
        x = F.cumsum(x, axis=axis)
    for k in (2**i for i in range((size - 1).bit_length() if size else 0)):
        x = x * _shifted(F, x, axis, k, 1)
    return flip(F, x, (axis,)) if reverse else x


def _shifted(F, x, axis, count, number):
    """Move elements toward the end of an axis, behind as many copies of a number."""
    first = F.zeros_like(F.slice_axis(x, axis=axis, begin=0, end=count)) + number
    return F.slice_axis(F.concat(first, x, dim=axis), axis=axis, begin=0, end=-count)


def quantile(
    F: Any, x: Any, axes: Tuple[int, ...], keepdims: bool, rank: int, size: int, place: float
) -> Any:
    """Return the element at a place among the ``size`` sorted elements of axes, or between two."""
    others = [axis for axis in range(rank) if axis not in axes]
    flat = F.reshape(F.transpose(x, axes=(*others, *axes)), shape=(*(0,) * len(others), -1))
    line, last = F.sort(exactly(F, flat, len(others), size), axis=-1), len(others)
    below, share = math.floor(place), place - math.floor(place)
    y = F.slice_axis(line, axis=last, begin=below, end=below + 1)
    if share:
        y = y * (1 - share) + F.slice_axis(line, axis=last, begin=below + 1, end=below + 2) * share
    # A quantile of what is not a number is none.
    y = F.squeeze(y + F.log(F.min(flat == flat, axis=last, keepdims=True)) * 0, axis=last)
    for axis in axes if keepdims else ():
        y = F.expand_dims(y, axis=axis)
    return y
