"""Sizes, and numbers that follow from them, which a net computes when it runs."""

from typing import Any, Sequence, Tuple

import numpy as np

from ..importing import functions
from .values import FIX, Data, Known, Unsupported


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
