"""Padding, which the window behind it takes over where it can."""

from typing import Any, Literal, Sequence, Tuple

import numpy as np

from ...geometry import ceil_div
from ...importing import functions
from ..registry import converter, once_attributes
from ..reshaping import axis_of_size
from ..values import FIX, Data, Padded, Unsupported, axis_of, known, numbers

_Mode = Literal["constant", "edge", "reflect", "wrap"]
Pairs = Tuple[Tuple[int, int], ...]

#: Largest number whose multiples an axis is padded to.
_MOST = 64


@converter("Pad", 11)
def pad(
    net: Any, x: Data, pads: Any, value: Any = None, axes: Any = None, *, mode: _Mode = "constant"
) -> Any:
    places: Sequence[int] = range(x.ndim)
    if axes is not None:
        places = [axis_of(axis, x.ndim) for axis in known(axes, "axes").ravel().tolist()]
    amounts = numbers(pads, "pads")
    fill = 0 if value is None else known(value, "value").item() + 0  # 1 for True
    return _padded(net, x, lambda trial: amounts.at(trial).tolist(), mode, fill, places)


once_attributes("Pad", 2, pad, pads="pads", value="value")
once_attributes("Pad", 1, pad, paddings="pads", value="value")


def _padded(net, x, amounts, mode, value, axes):
    def pairs_at(trial, shape):
        given = list(map(int, amounts(trial)))
        if len(given) != 2 * len(axes):
            raise ValueError(f"its pads {given} do not fit {len(axes)} axes")
        pairs = [(0, 0)] * x.ndim
        for axis, before, after in zip(axes, given[: len(axes)], given[len(axes) :]):
            pairs[axis] = before, after
        return tuple(pairs)

    found = x.each(pairs_at)
    if len(set(found)) == 1:
        return _fixed(net, x, found, found[0], mode, value)
    if mode != "constant":
        return _open(net, x, found, mode, value)
    return Padded(x, found, value, lambda: _open(net, x, found, mode, value))


def _fixed(net, x, found, pairs, mode, value):
    """Return data with the same padding at every size."""
    if mode != "constant" and min(map(min, pairs)) < 0:
        raise Unsupported(f"its pads {pairs} are negative with mode={mode!r}")
    for size, pair in zip(x.shape, pairs):
        if mode in ("reflect", "wrap") and size is not None and max(pair) > size - (mode == "reflect"):
            raise Unsupported(f"its pads {pair} with mode={mode!r} need more than {size} elements")
    native = x.dtype.kind == "f" and bool(np.isfinite(value))

    def make():
        return net.call(functions.pad, x, pairs=pairs, mode=mode, value=value, native=native)

    # Windows of whole numbers take no padding over.
    return Padded(x, found, value, make) if mode == "constant" and x.dtype.kind == "f" else make()


def _open(net, x, trials, mode, value):
    """Return data whose open axes are padded, to a multiple of a number or to another array's size."""
    sizes = x.trials
    pairs = []
    for axis, given in enumerate(zip(*trials)):
        if len(set(given)) == 1:
            pairs.append(given[0])
            continue
        along = [shape[axis] for shape in sizes]
        ways = [(m, _around(along, m, given)) for m in range(2, _MOST)]
        ways = [(m, around) for m, around in ways if around]
        how = dict(axis=axis, ndim=x.ndim)
        if len(ways) > 1 or (ways and len({n + sum(pair) for n, pair in zip(along, given)}) == 1):
            raise ValueError(f"sizes {along} do not show to whose multiples it pads them")
        if ways:
            ((multiple, around),) = ways
            more = dict(multiple=multiple, around=around, how=(mode, value))
            x = net.call(functions.pad_to_multiple, x, **more, **how)
        else:
            if mode != "constant" or any(before for before, _ in given):
                raise Unsupported(f"its padding {FIX}")
            other, other_axis = axis_of_size(net, tuple(n + sum(p) for n, p in zip(
                (shape[axis] for shape in sizes), given
            )))  # fmt: skip
            how.update(other_axis=other_axis, value=value)
            x = net.call(functions.pad_like, x, other, dtype=x.dtype, scalar=False, **how)
        pairs.append((0, 0))
    native = x.dtype.kind == "f" and bool(np.isfinite(value))
    if not any(map(any, pairs)):
        return x
    return net.call(functions.pad, x, pairs=tuple(pairs), mode=mode, value=value, native=native)


def _around(sizes, multiple, pairs):
    """Return the padding around sizes that are rounded up to a multiple, if it is always the same."""
    found = {(b, n + a - ceil_div(n, multiple) * multiple) for n, (b, a) in zip(sizes, pairs)}
    pair = found.pop()
    return pair if not found and min(pair) >= 0 else None
