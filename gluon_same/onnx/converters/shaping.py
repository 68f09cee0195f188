"""Operators that move, join, cut, repeat and pad arrays."""

from functools import partial
from math import prod
from typing import Any, List, Literal, Optional, Sequence, Tuple, Union

import numpy as np

from ...arrays import runs_of
from ...importing import functions
from ..codes import MOST_AXES
from ..pending import Filled, Unfolded
from ..registry import converter, once_attributes
from ..reshaping import repeated, reshaped
from ..values import (
    EMPTY,
    FIX,
    Data,
    Known,
    Limited,
    Unsupported,
    axis_of,
    distinct,
    known,
    nothing,
    numbers,
)
from .padding import pad
from .reducing import axes_of
from .shapes import shape as shape_of
from .slicing import slice_


@converter("Transpose")
def transpose(net: Any, x: Union[Data, Unfolded], *, perm: Optional[List[int]] = None) -> Any:
    count = len(x.trials[0])
    axes = tuple(range(count))[::-1] if perm is None else tuple(axis_of(axis, count) for axis in perm)
    if sorted(axes) != list(range(count)):
        raise Unsupported(f"its perm={perm} does not fit data with {count} axes")
    if isinstance(x, Unfolded):
        return transposed(net, x.x, x.trials, list(axes))
    return net.call("transpose", x, axes=axes) if axes != tuple(sorted(axes)) else x


def transposed(net: Any, x: Data, shapes: Sequence[Tuple[int, ...]], perm: List[int]) -> Unfolded:
    """Return an array, which has the given shape at each trial, with its axes in another order."""
    runs = sorted(runs_of(perm))
    if len(runs) > MOST_AXES:  # bring the next two axes to their places first, which takes 6 runs
        count = next(i for i, axis in enumerate(perm) if axis != i)
        first = perm[: count + 2]
        order = first + [axis for axis in range(len(perm)) if axis not in first]
        half = transposed(net, x, shapes, order)
        return transposed(net, half.x, half.trials, [order.index(axis) for axis in perm])
    order = sorted(range(len(runs)), key=lambda i: perm.index(runs[i][0]))
    x = reshaped(net, x, [tuple(prod(s[a] for a in run) for run in runs) for s in shapes])
    x = net.call("transpose", x, axes=tuple(order)) if len(runs) > 1 else x
    return Unfolded(x, [tuple(s[axis] for axis in perm) for s in shapes])


@converter("Concat", 4)
def concat(net: Any, *arrays: Union[Any, Filled], axis: int) -> Any:
    axis = axis_of(axis, arrays[0].ndim)
    x: Any
    parts: List[Any] = []
    front: List[Any] = []  # arrays of one number before the first other one
    for x in arrays:
        if _fills(x, axis):
            if parts:
                parts[-1] = _lengthened(net, parts[-1], x, axis)
            else:
                front.append(x)
        elif x.shape[axis] != 0:
            parts.append(x)
        elif isinstance(x, Known) and x.resized:
            raise Limited(f"whether {x.name or 'an input'} has elements {FIX}")
    if not parts:
        parts = [net.array(x) for x in front] or [*arrays[:1]]
    else:
        for x in reversed(front):
            parts[0] = _lengthened(net, parts[0], x, axis, before=True)
    if len(parts) == 1:
        return parts[0]
    return net.call(functions.how_to_join(axis, *(x.shape for x in parts)), *parts, dim=axis)


def _fills(x, axis):
    """Return whether an array is of one number, and may have any number of elements along an axis."""
    return isinstance(x, Filled) or (
        isinstance(x, Known) and x.sizes is not None and x.sizes.limits[axis] < np.inf
    )


def _lengthened(net, x, filled, axis, before=False):
    """Return an array joined along an axis with one of a single number: in front of it if ``before``."""
    step = 1 if before else -1
    pair = [filled.sizes.elements()[axis], Known([np.zeros(1, np.int64)])][::step]
    amounts = filled.sizes.changed(lambda given: np.array([given[axis], 0][::step]))
    amounts.make = lambda: net.call("concat", *pair, dim=0)
    amounts.limits = np.zeros(2)  # without looking for a simpler rule
    return pad(net, net.array(x), amounts, Known([filled.fill]), Known([np.array([axis])]))


converter("Concat", 1)(partial(concat, axis=1))


@converter("Split", 13)
def split(
    net: Any, x: Data, sizes: Any = None, *, axis: int = 0, num_outputs: Optional[int] = None
) -> Any:
    axis = axis_of(axis, x.ndim)
    count = num_outputs or net.outputs
    size = x.shape[axis]
    if isinstance(sizes, Known) and sizes.open:
        bounds = sizes.changed(lambda given: np.cumsum([0, *given]))
        bounds.make = partial(_running_totals, net, sizes)
        return _between(net, x, axis, bounds.elements())
    if sizes is not None:
        parts = known(sizes, "sizes").tolist()
    elif size is None and num_outputs and any(shape[axis] % count for shape in x.trials):
        return _uneven(net, x, axis, count)
    elif size is None:  # MXNet raises an error at sizes that are no multiple
        return net.call("split", x, axis=axis, num_outputs=count, outputs=count) if count > 1 else x
    else:
        chunk = -(-size // count)
        parts = [chunk] * (count - 1) + [size - chunk * (count - 1)]
    if min(parts) < 0 or (size is not None and sum(parts) != size):
        raise Unsupported(f"its parts {parts} do not fit an axis of size {size}")
    sizes = tuple(n for n in parts if n)
    if len(sizes) == 1:
        rest = iter([net.call(functions.exactly, x, axis=axis, size=sizes[0])])
    else:
        rest = iter(net.call(functions.split, x, axis=axis, sizes=sizes, outputs=len(sizes)))
    empty = nothing(((*s[:axis], 0, *s[axis + 1 :]) for s in x.trials), x.dtype)
    return [next(rest) if n else empty for n in parts]


def _uneven(net, x, axis, count):
    """Return parts of an open axis, of which the last one is smaller unless the size is a multiple."""
    how = dict(axis=axis, times=1, step=count, scalar=False)
    part, *_ = (net.call(functions.steps_along, x, begin=b, **how) for b in range(1 + (count == 2)))
    length, numbers = shape_of(net, part), Known([np.arange(count)])
    starts = length.changed(lambda given: given * numbers.first)
    starts.make = lambda: net.call("broadcast_mul", net.array(length), numbers)
    return _between(net, x, axis, [*starts.elements(), Known([np.array([np.iinfo(np.int64).max])])])


def _between(net: Any, x: Data, axis: int, bounds: Sequence[Known]) -> List[Any]:
    """Return the parts of an axis between places."""
    pairs = zip(bounds, bounds[1:])
    return [slice_(net, x, start, end, Known([np.array([axis])])) for start, end in pairs]


def _running_totals(net: Any, sizes: Known) -> Data:
    """Return 0 and the ends of parts of some sizes, computed at run time."""
    zero = Known([np.zeros(1, np.int64)])
    return net.call("concat", zero, net.call("cumsum", net.array(sizes), axis=0), dim=0)


once_attributes("Split", 1, split, split="sizes")


@converter("Squeeze", 13)
def squeeze(net: Any, x: Data, axes: Any = None) -> Data:
    if axes is not None:
        places = axes_of(x, known(axes, "axes").ravel().tolist())
    else:
        places = tuple(axis for axis, n in enumerate(x.shape) if n == 1)
        opened = tuple(axis for axis, n in enumerate(x.shape) if n is None)
        if opened and x.ndim - len(places) > 1:  # their size 1 would go, too, and not leave one number
            x = net.call(functions.longer, x, axes=opened)

    def check(_: int, given: Tuple[int, ...]) -> None:
        if any(given[axis] != 1 for axis in places):
            raise ValueError(f"axes {places} of data of shape {given} cannot be squeezed")

    x.each(check)
    if len(places) == x.ndim:
        return net.call("reshape", x, shape=(1,), scalar=True)
    return net.call("squeeze", x, axis=places) if places else x


once_attributes("Squeeze", 1, squeeze, axes="axes")


@converter("Unsqueeze", 13)
def unsqueeze(net: Any, x: Data, axes: Any) -> Data:
    given = known(axes, "axes").ravel().tolist()
    rank = x.ndim + len(given)
    if x.ndim == 0:
        return net.call("reshape", x, shape=(1,) * rank, scalar=False)
    for axis in sorted(distinct(given, rank)):
        x = net.call("expand_dims", x, axis=axis)
    return x


once_attributes("Unsqueeze", 1, unsqueeze, axes="axes")


@converter("Tile", 6)
def tile(net: Any, x: Data, repeats: Any) -> Data:
    times = numbers(repeats, "repeats", 0)
    if times.shape != (x.ndim,):
        raise Unsupported(f"its repeats of shape {times.shape} do not fit data with {x.ndim} axes")
    each = [part.open for part in times.elements()]
    fixed = tuple(1 if opened else int(k) for opened, k in zip(each, times.first))
    if min(fixed, default=1) < 1:
        raise Unsupported(EMPTY)
    if set(fixed) != {1} or not any(each):
        x = net.call(functions.tile, x, times=fixed)
    for axis in [axis for axis, opened in enumerate(each) if opened]:
        counts = [int(times.at(trial)[axis]) for trial in range(len(x.trials))]
        single = x.shape[axis] == 1
        x = x if single else net.call("expand_dims", x, axis=axis)
        x = repeated(net, x, axis, counts, times, axis)
        x = x if single else net.call("reshape", x, shape=(*(0,) * axis, -3, -2), scalar=False)
    return x


@converter("DepthToSpace")
def depth_to_space(net: Any, x: Data, *, blocksize: int, mode: Literal["DCR", "CRD"] = "DCR") -> Data:
    return net.call(functions.depth_to_space, x, block=blocksize, columns_first=mode == "CRD")


@converter("SpaceToDepth")
def space_to_depth(net: Any, x: Data, *, blocksize: int, mode: Literal["DCR", "CRD"] = "DCR") -> Data:
    return net.call(functions.space_to_depth, x, block=blocksize, columns_first=mode == "CRD")
