"""Operators that read shapes: reshaping, expansion, ranges; and casts."""

import itertools
from functools import partial
from math import prod
from typing import Any, Iterable, Iterator, Optional, Sequence, Tuple, Union

import mxnet as mx
import numpy as np

from ... import nn
from ...importing import functions
from ..computed import axis_of_size
from ..reading import dtype_of
from ..registry import converter, once_attributes
from ..values import FIX, Data, Known, Unfolded, Unsupported, compute_dtype, known, numbers

Shapes = Sequence[Tuple[int, ...]]

#: Axes of a reshape on a CPU, where oneDNN may hold the data.
MOST_AXES = 6


@converter("Shape")
def shape(net: Any, x: Data, *, start: int = 0, end: Optional[int] = None) -> Known:
    sizes = Known([np.array(s[start:end], np.int64) for s in x.trials], "a shape")
    sizes.limit = _limit(x, [*zip(*x.stored)][start:end])
    sizes.low = np.array([n or 1 for n in x.shape[start:end]], np.int64)
    how = dict(begin=start, end=end, dtype=np.int64, scalar=False)
    sizes.make = partial(net.call, functions.shape_of, x, **how)
    return sizes


@converter("Size")
def size(net: Any, x: Data) -> Known:
    count = Known([np.array(prod(s), np.int64) for s in x.trials], "a size")
    count.limit = _limit(x, zip(*x.stored))
    count.low = np.array(prod(n or 1 for n in x.shape), np.int64)
    count.make = partial(net.call, "size_array", x, dtype=np.int64, scalar=True)
    return count


def _limit(x: Data, axes: Iterable[Any]) -> float:
    """Return the limit of sizes, which are given for each axis at all trials, or make sure of them."""
    doubts = [x.doubts[sizes] for sizes in axes if sizes in x.doubts]
    for make_sure in itertools.chain(*doubts):
        make_sure()
    return np.inf if all(doubts) else 0


@converter("Identity")
def identity(net: Any, x: Data) -> Data:
    return x


@converter("Dropout", 12)
def dropout(net: Any, x: Data, ratio: Any = None, training_mode: Any = None, *, seed: int = 0) -> Data:
    if training_mode is not None and known(training_mode, "mode").any():
        raise Unsupported("training is not supported")
    rate = 0.5 if ratio is None else float(known(ratio, "ratio"))
    return _dropout(net, x, rate)


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
def reshape(net: Any, x: Union[Data, Unfolded], shape: Any, *, allowzero: int = 0) -> Any:
    # Without a -1, the number of elements leaves no choice at any size.
    whole = isinstance(shape, Known) and not any((sizes == -1).any() for sizes in shape.trials)
    shape, source = numbers(shape, "shape", 0 if whole else np.inf), x
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
    return reshaped(net, x, wanted)


once_attributes("Reshape", 1, reshape, shape="shape")


@converter("Flatten")
def flatten(net: Any, x: Data, *, axis: int = 1) -> Data:
    if axis == 1 and x.ndim > 1:
        return net.block(nn.Flatten(prefix=net.prefix()), x)
    axis = axis + x.ndim if axis < 0 else axis
    wanted = [(prod(s[:axis]), prod(s[axis:])) for s in x.trials]
    if x.ndim > 3 and codes_for(x.trials, wanted) is None:
        return net.call(functions.matrix, x, rows=axis, rank=x.ndim)
    return reshaped(net, x, wanted)


def reshaped(net: Any, x: Data, wanted: Shapes) -> Data:
    """Return an array in another shape, which is given for each trial of the open sizes."""

    def checked(trial, given):
        if prod(given) != prod(wanted[trial]):
            raise ValueError(f"data of shape {given} cannot have the shape {wanted[trial]}")
        return given or (1,)

    given, new = x.each(checked), [sizes or (1,) for sizes in wanted]
    if len(set(map(len, wanted))) > 1:
        raise Unsupported(f"the number of axes {FIX}")
    scalar = not wanted[0]
    if len(new[0]) > MOST_AXES:
        raise Unsupported(f"its result has {len(new[0])} axes, and MXNet supports {MOST_AXES}")
    if given == new:
        return x if scalar == x.scalar else net.call("identity", x, scalar=scalar)
    if x.ndim == 5 and net.in_blocks(x):
        # Hybridized, MXNet cannot transpose a reshaped result of a 3-D convolution in oneDNN's memory.
        x = net.call(functions.plainly, x)
    if len(x.trials) > 1 and len(set(new)) == 1:
        # A size may be the same only at the trials, as that of the first 10 elements of a longer axis.
        return net.call(functions.reshape, x, shape=new[0], kept=0, scalar=scalar)
    codes = codes_for(given, new)
    if codes is not None:
        return net.call("reshape", x, shape=codes, scalar=scalar)
    return _split_like(net, x, given, new)


def codes_for(given: Shapes, wanted: Shapes) -> Optional[Tuple[int, ...]]:
    """Return MXNet's codes of a reshape that is right at every trial, or None.

    Examples
    --------
    >>> codes_for([(2, 6, 5), (3, 8, 5)], [(12, 5), (24, 5)])
    (-1, 5)
    >>> codes_for([(2, 6, 5, 5), (3, 8, 7, 7)], [(2, 6, 25), (3, 8, 49)])
    (0, 0, -1)
    """
    open_axes = [j for j in range(len(wanted[0])) if len({new[j] for new in wanted}) > 1]
    # The simplest: numbers, and one size that follows from the others.
    if len(open_axes) <= 1:
        return tuple(-1 if j in open_axes else n for j, n in enumerate(wanted[0]))
    inputs = list(zip(*given))  # the sizes of each axis at all trials
    outputs = list(zip(*wanted))
    aligned = tuple(
        0 if inputs[j : j + 1] == [sizes] else -1 if j in open_axes else sizes[0]
        for j, sizes in enumerate(outputs)
    )
    candidates = itertools.chain([aligned], _codes(inputs, outputs))
    return next((codes for codes in candidates if _is_right(codes, given, wanted)), None)


def _is_right(codes: Tuple[int, ...], given: Shapes, wanted: Shapes) -> bool:
    """Return whether MXNet's reshape gives the wanted shapes."""
    y = mx.sym.reshape(mx.sym.var("x"), shape=codes)
    try:
        return all(y.infer_shape_partial(x=s)[1] == [new] for s, new in zip(given, wanted))
    except mx.MXNetError:
        return False


def _codes(inputs, outputs) -> Iterator[Tuple[int, ...]]:
    """Yield codes that may make the outputs from the inputs, from the first axis to the last."""
    if not outputs:
        if not inputs:
            yield ()
        return
    first, rest = outputs[0], outputs[1:]
    if inputs and inputs[0] == first:
        yield from ((0, *more) for more in _codes(inputs[1:], rest))
    if len(inputs) > 1 and _times(inputs[0], inputs[1]) == first:
        yield from ((-3, *more) for more in _codes(inputs[2:], rest))
    if inputs and rest and _times(first, rest[0]) == inputs[0]:
        pair = [n[0] if len(set(n)) == 1 else -1 for n in (first, rest[0])]
        if pair.count(-1) < 2:
            yield from ((-4, *pair, *more) for more in _codes(inputs[1:], rest[1:]))
    if all(len(set(n)) == 1 for n in rest):
        yield (-1, *(n[0] for n in rest))


def _times(one, other):
    return tuple(a * b for a, b in zip(one, other))


def _split_like(net: Any, x: Data, given: Shapes, wanted: Shapes) -> Data:
    """Return a reshape in which one axis becomes several open ones, as another array has them."""
    for count, start in itertools.product(range(2, len(wanted[0]) + 1), range(len(wanted[0]) - 1)):
        end = start + count
        run = list(zip(*wanted))[start:end]
        if len(run) < count or max(len(set(sizes)) for sizes in run) == 1:
            continue
        merged = [(*new[:start], prod(new[start:end]), *new[end:]) for new in wanted]
        codes = (0,) if merged == list(given) else codes_for(given, merged)
        like = (net.find_axes(run) or _array_with(net, run)) if codes is not None else None
        if like is None:
            continue
        if codes != (0,):
            x = net.call("reshape", x, shape=codes, scalar=False)
        return net.call(
            functions.split_like, x, like[0], axis=start, other_axis=like[1], count=count,
            dtype=x.dtype, scalar=False,
        )  # fmt: skip
    raise Unsupported(f"a reshape from {given[0]} to {wanted[0]} {FIX}")


def _array_with(net: Any, run: Sequence[Tuple[int, ...]]) -> Optional[Tuple[Data, int]]:
    """Return an array with axes of some sizes, which are given for each trial, and the first axis."""
    one = net.array(Known([np.zeros((1,) * len(run), np.float32)]))
    try:
        return expanded(net, one, list(zip(*run))), 0
    except Unsupported:
        return None


@converter("Expand")
def expand(net: Any, x: Data, shape: Any) -> Data:
    shape = numbers(shape, "shape")
    wanted = x.each(lambda trial, given: np.broadcast_shapes(given, tuple(map(int, shape.at(trial)))))
    return expanded(net, x, wanted)


def expanded(net: Any, x: Data, wanted: Shapes) -> Data:
    """Return an array that is repeated along axes of size 1, to a shape for each trial."""
    rank = len(wanted[0])
    if rank == 0:
        return x
    more = rank - x.ndim
    if more:
        x = reshaped(net, x, [(1,) * more + s for s in x.trials])
    sizes = [0] * rank
    for axis, (old, new) in enumerate(zip(zip(*x.trials), zip(*wanted))):
        if old == new:
            continue
        if 0 in new:
            raise Unsupported("its result has no elements, which MXNet does not support")
        if len(set(new)) == 1:
            sizes[axis] = new[0]
            continue
        other, other_axis = axis_of_size(net, new)
        x = net.call(
            "broadcast_like", x, other, lhs_axes=(axis,), rhs_axes=(other_axis,), dtype=x.dtype,
            scalar=False,
        )  # fmt: skip
    return net.call("broadcast_to", x, shape=tuple(sizes)) if any(sizes) else x


@converter("ConstantOfShape")
def constant_of_shape(net: Any, shape: Any, *, value: Optional[np.ndarray] = None) -> Data:
    shape = numbers(shape, "shape")
    value = np.zeros(1, np.float32) if value is None else value
    return expand(net, net.array(Known([value.reshape(())])), shape)


@converter("Range")
def range_(net: Any, start: Any, limit: Any, delta: Any) -> Data:
    begin, limit, step = numbers(start, "start"), numbers(limit, "limit"), known(delta, "step")
    count = max(len(begin.trials), len(limit.trials))
    spans = [(limit.at(trial) - begin.at(trial)) / step for trial in range(count)]
    other, axis = axis_of_size(net, [max(int(np.ceil(span)), 0) for span in spans])
    first = 0 if begin.open else begin.first.item()
    numbered = net.call(
        functions.arange_along, other, axis=axis, start=first, step=step.item(),
        to=begin.dtype.name, dtype=begin.dtype, scalar=False,
    )  # fmt: skip
    return net.call("broadcast_add", numbered, net.array(begin)) if begin.open else numbered
