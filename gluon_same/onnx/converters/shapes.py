"""Operators that read shapes: reshaping, expansion, ranges; and casts."""

from functools import partial
from math import prod
from typing import Any, Callable, Optional, Union

import numpy as np

from ... import nn
from ...importing import functions
from ..codes import MOST_AXES, serves
from ..folding import fills
from ..pending import Filled, Unfolded
from ..reading import dtype_of
from ..registry import converter, once_attributes
from ..reshaping import axis_of_size, expanded, make_sure, reshaped, zeros_of
from ..values import (
    FIX,
    Data,
    Flag,
    Known,
    Limited,
    Unsupported,
    axis_of,
    compute_dtype,
    known,
    nothing,
    numbers,
)


@converter("Shape")
def shape(net: Any, x: Data, *, start: int = 0, end: Optional[int] = None) -> Known:
    how = dict(begin=start, end=end, dtype=np.int64, scalar=False)
    make = partial(net.call, functions.shape_of, x, **how)
    return _of_sizes("a shape", tuple, x, slice(start, end), make)


@converter("Size")
def size(net: Any, x: Data) -> Known:
    make = partial(net.call, "size_array", x, dtype=np.int64, scalar=True)
    return _of_sizes("a size", prod, x, slice(None), make)


def _of_sizes(name: str, function: Any, x: Data, part: slice, make: Callable[[], Data]) -> Known:
    """Return a function of some sizes of an array, and make sure of those that are in doubt."""
    found = Known([np.array(function(s[part]), np.int64) for s in x.trials], name)
    found.low = np.array(function(n or 1 for n in x.shape[part]), np.int64)
    axes = range(len(x.stored[0]))[part]
    x.net.reads_doubts |= any(axis in x.doubts for axis in axes)
    sure = make_sure if x.net.strict else lambda x, axis: axis not in x.doubts
    limits = [np.inf if sure(x, axis) else 0 for axis in axes]
    found.limits = np.array(limits if found.ndim else min(limits, default=np.inf), float)
    found.make = make
    return found


@converter("Identity")
def identity(net: Any, x: Data) -> Data:
    return x


@converter("Dropout", 12)
def dropout(net: Any, x: Data, ratio: Any = None, training_mode: Any = None, *, seed: int = 0) -> Data:
    if training_mode is not None and known(training_mode, "mode").any():
        raise Unsupported("training is not supported")
    return _dropout(net, x, 0.5 if ratio is None else float(known(ratio, "ratio").item()))


once_attributes("Dropout", 7, dropout, ratio="ratio")


@converter("Dropout", 1)
def dropout_1(net: Any, x: Data, *, ratio: float = 0.5, is_test: int = 0) -> Data:
    if not is_test:
        raise Unsupported("without is_test=1, training is meant, which is not supported")
    return _dropout(net, x, ratio)


def _dropout(net, x, rate):
    if not 0 <= rate < 1:
        raise Unsupported(f"its ratio {rate} is not in [0, 1)")
    y = net.block(nn.Dropout(rate, prefix=net.prefix()), x, scalar=x.scalar) if rate else x
    return [y, net.call(functions.trues, x, dtype=bool)] if net.outputs > 1 else y


@converter("Cast")
def cast(net: Any, x: Data, *, to: int, saturate: int = 1) -> Data:
    try:
        dtype = dtype_of(to)
    except ValueError as error:
        raise Unsupported(str(error)) from None
    return cast_to(net, x, dtype)


def cast_to(net: Any, x: Data, dtype: Any) -> Data:
    """Return an array of another dtype, by ONNX's types. Half precision is computed in float32."""
    dtype = compute_dtype(dtype)
    if dtype == x.dtype:
        return x
    if dtype.kind == "b":
        return net.call(functions.as_boolean, x, dtype=bool)
    if x.dtype.kind == "b" and dtype == np.float32:
        return net.call("identity", x, dtype=dtype)
    return net.call(functions.cast, x, to=dtype.name, dtype=dtype)


@converter("Reshape", 5)
def reshape(net: Any, x: Union[Data, Unfolded], shape: Any, *, allowzero: Flag = 0) -> Any:
    shape, source = numbers(shape, "shape", 0), x
    x = x.x if isinstance(x, Unfolded) else x

    def resolved(trial, given):
        given = source.trials[trial] if isinstance(source, Unfolded) else given
        new = [n or (0 if allowzero else given[i]) for i, n in enumerate(map(int, shape.at(trial)))]
        if 0 in new or new.count(-1) > 1:
            raise ValueError(f"its shape {new} has no elements, or two unknown sizes")
        if -1 in new:
            new[new.index(-1)] = prod(given) // prod(n for n in new if n != -1)
        return tuple(new)

    wanted = x.each(resolved)
    if len(wanted[0]) > MOST_AXES:
        return Unfolded(x, wanted)
    if shape.limit < np.inf:
        return _reshaped_by_numbers(net, x, wanted, _whole_shape(net, x, wanted, shape))
    y = reshaped(net, x, wanted, shape)
    for axis in y.doubts:
        if all(sizes[axis] > 0 for sizes in shape.trials):  # the file has a number for the size
            make_sure(y, axis)
    return y


def _whole_shape(net: Any, x: Data, wanted: Any, shape: Known) -> Known:
    """Return numbers that may follow another rule than the trials show, with a size instead of a -1."""
    sizes = np.stack(shape.trials)
    unknown = sizes == -1
    if not unknown.any():
        return shape
    fits = bool(sizes.all() and (unknown == unknown[0]).all())
    if not (fits and net.again):
        net.has_others |= fits
        raise Limited(f"whether a limit applies to its shape {FIX}")
    whole = Known([np.array(each, np.int64) for each in wanted], shape.name)
    whole.limits = np.where(unknown[0], 0, shape.limits)
    whole.make = lambda: net.call(functions.whole_shape, x, shape, dtype=np.int64, scalar=False)
    return whole


def _reshaped_by_numbers(net: Any, x: Data, wanted: Any, shape: Known) -> Data:
    """Return an array in a shape of which some sizes may follow another rule than the trials show."""
    limited = [axis for axis, limit in enumerate(shape.limits) if limit < np.inf]
    kept = [sizes[0] if len(set(sizes)) == 1 else 0 for sizes in zip(*wanted)]
    codes = tuple(-1 if axis in limited else n for axis, n in enumerate(kept))
    if len(limited) == 1 and serves(codes, x.trials, wanted):
        y = net.call("reshape", x, shape=codes, scalar=False)
    else:
        flat, like = net.call("reshape", x, shape=(-1,)), zeros_of(net, wanted, shape)
        how = dict(axis=0, other_axis=0, count=len(codes))
        y = net.call(functions.split_like, flat, like, **how, scalar=False)
    for axis in limited:
        y = net.doubtful(y, axis)
    return y


once_attributes("Reshape", 1, reshape, shape="shape")


@converter("Flatten")
def flatten(net: Any, x: Data, *, axis: int = 1) -> Data:
    if axis == 1 and x.ndim > 1:
        return net.block(nn.Flatten(prefix=net.prefix()), x)
    axis = axis_of(axis, x.ndim + (axis == x.ndim))
    if x.doubts:  # without the sizes in doubt
        x = net.call(functions.merge_axes, x, first=axis, count=x.ndim - axis, rank=x.ndim)
        return net.call(functions.merge_axes, x, first=0, count=axis, rank=axis + 1)
    wanted = [(prod(s[:axis]), prod(s[axis:])) for s in x.trials]
    return reshaped(net, x, wanted)


@converter("Expand")
def expand(net: Any, x: Any, shape: Any) -> Any:
    if fills(x, shape):
        return _filled(net, x, shape)
    return _expanded(net, net.array(x), shape)


def _expanded(net, x, shape):
    shape = numbers(shape, "shape", 0)
    wanted = x.each(lambda trial, given: np.broadcast_shapes(given, tuple(map(int, shape.at(trial)))))
    if all(0 in each for each in wanted):
        return nothing(wanted, x.dtype, shape.limit < np.inf)
    return expanded(net, x, wanted, shape)


@converter("ConstantOfShape")
def constant_of_shape(net: Any, shape: Any, *, value: Optional[np.ndarray] = None) -> Any:
    value = np.zeros(1, np.float32) if value is None else value
    return _filled(net, Known([value.reshape(())]), shape)


def _filled(net, number, shape):
    """Return an array of one number: made later, if there may be no elements."""

    def make():
        y = _expanded(net, net.array(number), shape)
        if isinstance(y, Data):
            y.filled = bool(number.first.any())
        return y

    sizes = numbers(shape, "shape", 0)
    certain = sizes.limit == np.inf and all(map(np.all, sizes.trials))
    return make() if certain else Filled(sizes, number.first, make)


@converter("Range")
def range_(net: Any, start: Any, limit: Any, delta: Any, *, stash_type: int = 1) -> Data:
    begin, limit, step = numbers(start, "start", 0), numbers(limit, "limit", 0), known(delta, "step")
    count = max(len(begin.trials), len(limit.trials))
    spans = [(limit.at(trial) - begin.at(trial)) / step for trial in range(count)]
    counts = Known([np.maximum(np.ceil(span), 0).astype(np.int64) for span in spans])
    counts.limits = np.broadcast_to(min(begin.limit, limit.limit), counts.shape)
    counts.make = partial(_steps_between, net, begin, limit, step)
    other, axis = axis_of_size(net, [n.item() for n in counts.trials], counts)
    first = 0 if begin.open else begin.first.item()
    numbered = net.call(
        functions.arange_along, other, axis=axis, start=first, step=step.item(),
        to=begin.dtype.name, dtype=begin.dtype, scalar=False,
    )  # fmt: skip
    return net.call("broadcast_add", numbered, net.array(begin)) if begin.open else numbered


def _steps_between(net: Any, begin: Known, limit: Known, step: np.ndarray) -> Data:
    """Return the number of steps of a range, computed at run time."""
    span = net.call("broadcast_sub", net.array(limit), net.array(begin))
    return net.call(functions.quotient_up, span, by=step.item(), dtype=np.int64)
