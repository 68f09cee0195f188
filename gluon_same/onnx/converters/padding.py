"""Padding, which the window behind it takes over where it can."""

from functools import partial
from typing import Any, Literal, Sequence

import numpy as np

from ...geometry import ceil_div
from ...importing import functions
from ..pending import Padded
from ..registry import converter, once_attributes
from ..reshaping import certain_axis
from ..values import Data, Unsupported, axis_of, known, numbers

_Mode = Literal["constant", "edge", "reflect", "wrap"]

#: Largest number whose multiples an axis is padded to.
_MOST = 64


@converter("Pad", 11)
def pad(
    net: Any, x: Data, pads: Any, value: Any = None, axes: Any = None, *, mode: _Mode = "constant"
) -> Any:
    places: Sequence[int] = range(x.ndim)
    if axes is not None:
        places = [axis_of(axis, x.ndim) for axis in known(axes, "axes").ravel().tolist()]
    amounts = numbers(pads, "pads", 0)
    fill = 0 if value is None else known(value, "value").item() + 0  # 1 for True
    return _padded(net, x, amounts, mode, fill, places)


once_attributes("Pad", 2, pad, pads="pads", value="value")
once_attributes("Pad", 1, pad, paddings="pads", value="value")


def _padded(net, x, amounts, mode, value, axes):
    def pairs_at(trial, shape):
        given = amounts.at(trial).ravel().tolist()
        if len(given) != 2 * len(axes):
            raise ValueError(f"its pads {given} do not fit {len(axes)} axes")
        pairs = [(0, 0)] * x.ndim
        for axis, before, after in zip(axes, given[: len(axes)], given[len(axes) :]):
            pairs[axis] = int(before), int(after)
        return tuple(pairs)

    found = x.each(pairs_at)
    certain = amounts.limit == np.inf
    fixed = certain and len(set(found)) == 1
    if fixed:
        _check(x, found[0], mode)
    make = partial(_open, net, x, found, mode, value, amounts, axes)
    # Windows of whole numbers take no padding over.
    waits = certain and mode == "constant" and (x.dtype.kind == "f" or not fixed)
    return Padded(x, found, value, make) if waits else make()


def _check(x, pairs, mode):
    """Raise for a padding that no data support."""
    for size, pair in zip(x.shape, pairs):
        left = np.inf if size is None else size + sum(n for n in pair if n < 0)
        if mode in ("reflect", "wrap") and max(pair) > left - (mode == "reflect"):
            raise Unsupported(f"its pads {pair} with mode={mode!r} need more than {size} elements")


def _open(net, x, trials, mode, value, amounts, axes):
    """Return padded data: open axes to a multiple of a number or to another array's size."""
    sizes = x.trials
    pairs = []
    for axis, given in enumerate(zip(*trials)):
        places = [axes.index(axis), axes.index(axis) + len(axes)] if axis in axes else []
        certain = (amounts.limits.ravel()[places] == np.inf).all()
        if len(set(given)) == 1 and certain:
            pairs.append(given[0])
            continue
        pairs.append((0, 0))
        along = [shape[axis] for shape in sizes]
        new = [n + sum(pair) for n, pair in zip(along, given)]
        ways = [(m, _around(along, m, given)) for m in (range(2, _MOST) if certain else ())]
        ways = [(m, around) for m, around in ways if around]
        how = dict(axis=axis, ndim=x.ndim)
        if len(ways) > 1 or (ways and len(set(new)) == 1):
            raise ValueError(f"sizes {along} do not show to whose multiples it pads them")
        behind = mode == "constant" and certain and not any(before for before, _ in given)
        like = certain_axis(net, new) if behind and not ways else None
        if ways:
            ((multiple, around),) = ways
            more = dict(multiple=multiple, around=around, how=(mode, value))
            x = net.call(functions.pad_to_multiple, x, **more, **how)
        elif like is not None:
            how.update(other_axis=like[1], value=value)
            x = net.call(functions.pad_like, x, like[0], scalar=False, **how)
        else:
            shapes = [(*s[:axis], n, *s[axis + 1 :]) for s, n in zip(x.trials, new)]
            how.update(at=tuple(places), how=(mode, value), known_shapes=shapes)
            x = net.call(functions.pad_by_numbers, x, net.array(amounts), **how)
            x = net.doubtful(x, axis)
    native = x.dtype.kind == "f" and bool(np.isfinite(value))
    if not any(map(any, pairs)):
        return x
    return net.call(functions.pad, x, pairs=tuple(pairs), mode=mode, value=value, native=native)


def _around(sizes, multiple, pairs):
    """Return the padding around sizes that are rounded up to a multiple, if it is always the same."""
    found = {(b, n + a - ceil_div(n, multiple) * multiple) for n, (b, a) in zip(sizes, pairs)}
    pair = found.pop()
    return pair if not found and min(pair) >= 0 else None
