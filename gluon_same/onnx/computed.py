"""Sizes, and numbers that follow from them, which a net computes when it runs."""

from fractions import Fraction
from typing import Any, Sequence, Tuple

import numpy as np

from ..importing import functions
from .values import FIX, Data, Known, Unsupported, compute_dtype

#: Most numbers of an array that are computed one by one.
_MOST_SIZES = 8


def axis_of_size(net: Any, sizes: Sequence[int]) -> Tuple[Data, int]:
    """Return an array and its axis that has a size at each trial; raise if there is none."""
    found = net.find_axes([sizes])
    if found is not None:
        return found
    if len(set(sizes)) == 1:
        return net.array(Known([np.zeros(sizes[0], np.float32)])), 0
    steps = net.find_steps(sizes)
    if steps is None:
        raise Unsupported(f"a size of its result {FIX}")
    x, axis, (times, begin, step) = steps
    how = dict(axis=axis, times=times, begin=begin, step=step)
    return net.call(functions.steps_along, x, **how, scalar=False), 0


def computed_size(net: Any, x: Known) -> Data:
    """Return numbers that follow from sizes of arrays; raise if they do not."""
    if x.ndim == 1 and 1 < x.first.size <= _MOST_SIZES:
        return net.call("concat", *map(net.array, x.elements()), dim=0)
    if x.bounded or any(x.at(t).size != 1 for t in net.trials):
        raise Unsupported(f"{x.name or 'an input'} {FIX}")
    values = [Fraction(x.at(t).item()) for t in net.trials]
    like, axis, factor, offset = net.find_size(values)
    linear, dtype = (factor.numerator, factor.denominator, float(offset)), compute_dtype(x.dtype)
    return net.call(
        functions.size_of, like, axis=axis, rank=max(x.ndim, 1), to=dtype.name, linear=linear,
        dtype=dtype, scalar=x.ndim == 0,
    )  # fmt: skip
