"""Comparisons of open sizes that come out the same at all sizes which are tried."""

from typing import Any, Sequence

import numpy as np

_COMPARISONS = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}


#: Operators that return elements of their inputs.
_MOVES = {"Cast", "Concat", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze"}


def limit_of(operator: str, inputs: Sequence[Any], result: Any) -> float:
    """Return the number from which on a result may follow another rule than at the sizes tried.

    This is 512 for ``Min(size, 512)`` if all sizes that were tried are below 512; 0 if nothing is known
    about it; and infinite if the rule is the same at all sizes.

    Parameters
    ----------
    operator : str
    inputs : sequence of Known
    result : Known
        The operator's result at each trial.
    """
    limit = min((x.limit for x in inputs), default=np.inf)
    if limit < np.inf and operator not in _MOVES:
        return 0
    if not any(x.open for x in inputs):
        return limit
    if operator in ("ArgMax", "ArgMin"):
        return limit if result.open else 0
    if operator not in {*_COMPARISONS, "Clip", "Max", "Min", "Mod"}:
        return limit
    count = len(result.trials)
    given = [np.stack([x.at(trial) for trial in range(count)]) for x in inputs]
    made = np.stack(result.trials)
    if operator == "Mod":
        given = given[:1]
    given = [np.broadcast_to(x.reshape(count, *(1,) * (made.ndim - x.ndim), *x.shape[1:]), made.shape)
             for x in given]  # fmt: skip
    opened = np.stack([(x != x[:1]).any(0) for x in given])
    if operator in _COMPARISONS:  # sizes are above 0
        above = np.stack([x[0] > 0 for x in given]) | opened
        return 0 if (opened.any(0) & above.all(0) & (made == made[:1]).all(0)).any() else limit
    same = np.stack([(x == made).all(0) for x in given])
    small = np.stack([x[0] <= 1 for x in given]) & ~opened
    if operator == "Max":  # no size is less than 1
        same &= ~(opened & (small.sum(0) == len(given) - 1))
    if not (same & opened.any(0)).any():
        return limit
    fixed = [x.min() for x, is_open in zip(given, opened) if not is_open.any()]
    return min(fixed, default=0) if operator == "Min" and not (same & ~opened).any() else 0
