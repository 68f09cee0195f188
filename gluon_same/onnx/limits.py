"""Comparisons of open sizes that come out the same at all sizes which are tried."""

from typing import Any, Sequence

import numpy as np

_COMPARISONS = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}


def is_assumed(operator: str, inputs: Sequence[Any], result: Any) -> bool:
    """Return whether the result may follow another rule at other sizes than those that were tried.

    This is so for ``Min(size, 512)`` if all sizes that were tried are below 512, or all above.

    Parameters
    ----------
    operator : str
    inputs : sequence of Known
    result : Known
        The operator's result at each trial.
    """
    if operator in ("ArgMax", "ArgMin"):
        return not result.open
    if operator not in {*_COMPARISONS, "Clip", "Max", "Min", "Mod"}:
        return False
    count = len(result.trials)
    given = [np.stack([x.at(trial) for trial in range(count)]) for x in inputs]
    made = np.stack(result.trials)
    if operator == "Mod":
        given = given[:1]
    given = [np.broadcast_to(x.reshape(count, *(1,) * (made.ndim - x.ndim), *x.shape[1:]), made.shape)
             for x in given]  # fmt: skip
    opened = [(x != x[:1]).any(0) for x in given]
    if operator in _COMPARISONS:  # sizes are above 0
        below = [is_open | (x[0] > 0) for x, is_open in zip(given, opened)]
        return bool((np.any(opened, 0) & np.all(below, 0) & (made == made[:1]).all(0)).any())
    same = np.stack([(x == made).all(0) for x in given])
    small = np.stack([~is_open & (x[0] <= 1) for x, is_open in zip(given, opened)])
    if operator == "Max":  # no size is less than 1
        same &= ~(np.stack(opened) & (small.sum(0) == len(given) - 1))
    return bool((same & np.any(opened, 0)).any())
