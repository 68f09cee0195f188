"""Slices."""

from math import prod
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ...importing import functions
from ..registry import converter, once_attributes
from ..reshaping import axis_of_size, reshaped
from ..values import (
    EMPTY,
    FIX,
    UNLIMITED,
    Data,
    Known,
    Limited,
    Unsupported,
    distinct,
    known,
    nothing,
    numbers,
)

#: Axes of an array that MXNet's ``slice`` takes.
_MOST_AXES = 5


@converter("Slice", 10)
def slice_(net: Any, x: Data, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    given = range(x.ndim) if axes is None else known(axes, "axes").ravel()
    where = distinct(given, x.ndim)
    sizes = [x.shape[axis] for axis in where]
    # A limit beyond the end of an axis makes no difference.
    most = np.inf if None in sizes else max([n for n in sizes if n], default=0)
    starts, ends = numbers(starts, "starts", 0), numbers(ends, "ends", 0)
    certain = np.minimum(starts.limits, ends.limits).ravel() >= most
    count = starts.first.size
    where = where[:count]
    step = [1] * count if steps is None else [int(s) for s in known(steps, "steps")]

    def shape_at(trial, given):
        bounds = (each.at(trial).ravel().tolist() for each in (starts, ends))
        shape, parts = list(given), [*map(_part, zip(*bounds, step), sizes)]
        for axis, part in zip(where, parts):
            shape[axis] = len(range(*part.indices(shape[axis])))
        lost = (not shape[a] and x.shape[a] is None and not _is_empty(p) for a, p in zip(where, parts))
        if not (starts.open or ends.open) and any(lost):
            raise ValueError(EMPTY)
        return tuple(shape)

    shapes = x.each(shape_at)
    if all(0 in shape for shape in shapes):
        return nothing(shapes, x.dtype, starts.open or ends.open)
    if x.ndim > _MOST_AXES:
        each = zip(starts.elements(), ends.elements(), (Known([np.array([by])]) for by in step))
        return _one_by_one(net, x, where, list(each))
    backward = tuple(axis for axis, by in zip(where, step) if by < 0)
    if backward:
        x = net.call(functions.flip, x, axes=backward)
    parts: List[Any] = [(None, None, None)] * x.ndim
    limited = []  # axes that may be shorter, or longer, than their end at sizes that are not tried
    for i, axis in enumerate(where):

        def bounds(trial, given, i=i, axis=axis):
            places = (int(each.at(trial).flat[i]) for each in (starts, ends))
            part = _part((*places, step[i]), sizes[i])
            if not range(*part.indices(given[axis])):
                raise ValueError(EMPTY)
            start, end = part.start, part.stop
            # Of the flipped data, the same elements from the first to the last.
            return (given[axis], start, end) if step[i] > 0 else (given[axis], -1 - start, -1 - end)

        trials = x.each(bounds)
        parts[axis] = None, None, abs(step[i])
        try:
            if not certain[i]:
                raise Limited(f"whether a limit applies to its starts or ends {FIX}")
            if step[i] == 1 and _starts_open(trials):
                x = _from_open_start(net, x, axis, starts, i, trials)
                continue
            begin, end, other = _bounds(net, x, axis, trials)
            reach = not starts.open  # a number of the file may reach beyond the axis
            limit = (-begin if reach else 0) if begin and begin < 0 else end or 0
            is_open = x.shape[axis] is None
            if is_open:
                x, begin, end = _cut(net, x, axis, begin, end, reach)
        except Unsupported:
            if step[i] < 0:
                raise
            x = _computed(net, x, axis, starts, ends, i, trials)
            limited.append(axis)
            continue
        below = [n for n, *_ in trials if n < limit]
        if is_open and limit > 1 and (len(below) in (0, len(trials)) or len({n % 2 for n in below}) < 2):
            limited.append(axis)
        parts[axis] = begin, end, abs(step[i])
        if other is not None:
            how = dict(axis=axis, other_axis=other[1], ndim=x.ndim)
            x = net.call(functions.slice_axis_like, x, other[0], **how, scalar=False)
    plain = ((None, None, None), (None, None, 1))
    channels = x.ndim > 2 and x.dtype.kind == "f" and x.shape[1] is not None
    if channels and parts[1] not in plain and parts[1][2] == 1:
        # MXNet's ``slice`` fails on channels in oneDNN's memory. Only ``slice`` accepts ends too far.
        x = net.call("slice_axis", x, axis=1, begin=parts[1][0] or 0, end=parts[1][1])
        parts[1] = plain[1]
    if any(part not in plain for part in parts):
        begin, end, by = (tuple(each) for each in zip(*parts))
        x = net.call("slice", x, begin=begin, end=end, step=by)
    for axis in limited:
        x = net.doubtful(x, axis)
    return x


def _part(part: Tuple[int, int, int], size: Optional[int]) -> slice:
    """Return a slice of Python. Backward from before the first element, ONNX takes the first one."""
    start, end, step = part
    return slice(start if step > 0 or size is None else max(start, -size), end, step)


def _starts_open(trials: Sequence[Tuple[int, int, int]]) -> bool:
    """Return whether a part within an axis starts at a place that depends on open sizes."""
    sizes, starts, ends = zip(*trials)
    ends_within = min(ends) >= UNLIMITED or all(0 < end <= n for n, _, end in trials)
    from_end = max(starts) < 0 and _same(sizes) and min(starts) >= -sizes[0]
    return (min(starts) >= 0 or bool(from_end)) and ends_within and _relative(starts, sizes) is None


def _from_open_start(net: Any, x: Data, axis: int, starts: Known, i: int, trials: Any) -> Data:
    """Return a part of an axis that starts at one of some numbers, which are computed at run time."""
    counts = [len(range(*slice(start, end).indices(n))) for n, start, end in trials]
    other, other_axis = axis_of_size(net, counts)
    behind = trials[0][0] if trials[0][1] < 0 else 0
    how = dict(i=i, axes=(axis, other_axis), behind=behind)
    return net.call(functions.part_from, x, other, net.array(starts), **how, scalar=False)


def _computed(net: Any, x: Data, axis: int, starts: Known, ends: Known, i: int, trials: Any) -> Data:
    """Return a part of an axis whose start and end are computed at run time, by ONNX's rules."""
    bounds = (each if each.open else each.changed(_within) for each in (starts, ends))
    counts = [len(range(*slice(start, end).indices(n))) for n, start, end in trials]
    shapes = [(*s[:axis], count, *s[axis + 1 :]) for s, count in zip(x.trials, counts)]
    how = dict(axis=axis, i=i, scalar=False, known_shapes=shapes)
    return net.call(functions.part_between, x, *bounds, **how)


def _within(places: np.ndarray) -> np.ndarray:
    return np.clip(places.ravel(), -UNLIMITED, UNLIMITED)


def _cut(
    net: Any, x: Data, axis: int, begin: Optional[int], end: Optional[int], reach: bool
) -> Tuple[Data, Optional[int], Optional[int]]:
    """Slice an open axis as far as MXNet's ``slice`` does not, and return the bounds that are left.

    It reads from before the axis if begin is, and returns no elements where ``slice_axis`` raises.
    """
    if begin is not None and begin < 0 and end is not None and end > 0:
        raise Unsupported(f"which of its start {begin} and end {end} is first {FIX}")
    if begin is not None and begin < -1 and reach:
        bounds = [None if i != axis else -begin for i in range(x.ndim)]
        x = net.call(functions.flip, x, axes=(axis,))
        x = net.call("slice", x, begin=(None,) * x.ndim, end=tuple(bounds))
        x = net.call("slice_axis", x, axis=axis, begin=-end, end=None) if end else x
        return net.call(functions.flip, x, axes=(axis,)), None, None
    if begin and end is not None and end > begin:
        return net.call("slice_axis", x, axis=axis, begin=begin, end=None), None, end - begin
    if begin or (end is not None and end < 0):
        return net.call("slice_axis", x, axis=axis, begin=begin or 0, end=end), None, None
    return x, begin, end


def _one_by_one(net: Any, x: Data, axes: Sequence[int], parts: Sequence[Tuple[Known, ...]]) -> Data:
    """Return slices of an array with more axes than MXNet slices, each as the second axis of three."""
    for axis, (start, end, step) in zip(axes, parts):
        shapes = x.trials
        x = reshaped(net, x, [(prod(s[:axis]), s[axis], prod(s[axis + 1 :])) for s in shapes])
        x = slice_(net, x, start, end, Known([np.array([1])]), step)
        cut = zip(shapes, x.trials)
        x = reshaped(net, x, [(*s[:axis], flat[1], *s[axis + 1 :]) for s, flat in cut])
    return x


once_attributes("Slice", 1, slice_, starts="starts", ends="ends", axes="axes")


def _is_empty(part: slice) -> bool:
    """Return whether a slice has no elements at any size, such as that from -3 to 0."""
    if part.step < 0:
        return part.start == part.stop
    return part.stop == 0 or ((part.start < 0) == (part.stop < 0) and part.start >= part.stop)


def _bounds(
    net: Any, x: Data, axis: int, trials: Sequence[Tuple[int, int, int]]
) -> Tuple[Any, Any, Any]:
    """Return begin and end of a slice of one axis, and an array whose axis ends it.

    ``trials`` are size, start and end by the file.
    """
    sizes = [n for n, _, _ in trials]
    starts, ends, _ = zip(*(slice(start, end).indices(n) for n, start, end in trials))
    if x.shape[axis] is None:
        # Numbers of the file keep their meaning at sizes that are not tried.
        start, end = (_same([each[i] for each in trials]) for i in (1, 2))
        if start is not None and end is not None:
            return (
                (None if start <= -UNLIMITED else start or None),
                (None if end >= UNLIMITED else end),
                None,
            )
    begin = _relative(starts, sizes)
    if begin is None:
        raise Unsupported(f"its start {FIX}")
    for places in zip(*((start, end) for _, start, end in trials)):
        if min(places) < 0 and _same(places) is None:
            raise Unsupported(f"whether it counts from the end at each size {FIX}")
    if list(ends) == sizes:
        beyond = [end for *_, end in trials]
        if any(end > n for n, _, end in trials) and _same(beyond) is None and min(beyond) < UNLIMITED:
            raise Unsupported(f"whether its end is within the axis {FIX}")
        return begin or None, None, None
    end = _relative(ends, sizes)
    if end is not None:
        return begin or None, end or None, None
    if begin == 0:
        return None, None, axis_of_size(net, ends)
    raise Unsupported(f"its end {FIX}")


def _relative(places: Sequence[int], sizes: Sequence[int]) -> Optional[int]:
    """Return places that are the same from the start or from the end at all sizes, or None."""
    place = _same(places)
    return _same([place - n for place, n in zip(places, sizes)]) if place is None else place


def _same(numbers: Sequence[int]) -> Optional[int]:
    """Return a number that is the same everywhere, or None."""
    return numbers[0] if len(set(numbers)) == 1 else None
