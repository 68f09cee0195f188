"""Comparisons of open sizes that come out the same at all sizes which are tried."""

from typing import Any, List, Optional, Sequence

import numpy as np

_COMPARISONS = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}

#: Operators that return elements of their inputs.
_MOVES = {"Cast", "Concat", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze"}

#: Operators of many results for which numbers may be the same: those of some sizes, or of all.
_STEPS = {"Cast", "Ceil", "Div", "Floor", "Round", "Sign"}

#: Operators that pick one of several numbers, which may be another one at other sizes.
_PICKS = {"ReduceMax", "ReduceMin", "TopK"}

#: Operators whose results may be a number that is the same from some size on, and that keep it.
_BOUNDS = {"Clip", "Min", "ReduceMin", "Where"}
_KEEPS_BOUNDS = {*_MOVES, "Max", "ReduceMax"}

#: Operators whose results grow with their first inputs, if all others are fixed; and with all inputs, or
#: with all that are not negative.
_GROW = {"Ceil", "Div", "Floor", "Sub"}
_GROW_WITH_ALL = {*_MOVES, "Add", "Max", "Min", "ReduceSum"}
_GROW_WITH_SIZES = {"Mul", "ReduceProd"}


def may_be_bounded(operator: str, inputs: Sequence[Any]) -> bool:
    """Return whether a result may be a size up to a bound, and the bound at larger sizes."""
    return operator in _BOUNDS or (operator in _KEEPS_BOUNDS and any(x.bounded for x in inputs))


def least_inputs(operator: str, inputs: Sequence[Any]) -> Optional[List[Any]]:
    """Return inputs of an operator for which its result is a lower bound of those at all sizes."""
    lows = [x if x is None else x.least for x in inputs]
    open_inputs = [i for i, x in enumerate(inputs) if x is not None and x.open]
    if any(lows[i] is None for i in open_inputs):
        return None
    sizes = all(low is None or low.min(initial=0) >= 0 for low in lows)
    grows = operator in _GROW_WITH_ALL or (operator in _GROW_WITH_SIZES and sizes)
    grows |= operator in _GROW and open_inputs == [0] and (sizes or operator != "Div")
    return lows if grows else None


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
    if operator in _PICKS:
        return 0
    if operator not in {*_COMPARISONS, *_STEPS, "Clip", "Max", "Min", "Mod"}:
        return limit
    count = len(result.trials)
    given = [np.stack([x.at(trial) for trial in range(count)]) for x in inputs]
    made = np.stack(result.trials)
    if operator == "Mod":
        given = given[:1]
    given = [np.broadcast_to(x.reshape(count, *(1,) * (made.ndim - x.ndim), *x.shape[1:]), made.shape)
             for x in given]  # fmt: skip
    opened = np.stack([(x != x[:1]).any(0) for x in given])
    lows = [np.nan if x.least is None else x.least for x in inputs]
    fixed_result = (made == made[:1]).all(0)
    if operator in _COMPARISONS:
        pairs = zip(given, opened, reversed(lows))
        below = np.stack([~is_open & (x[0] < low) for x, is_open, low in pairs])
        return 0 if (opened.any(0) & ~below.any(0) & fixed_result).any() else limit
    if operator in _STEPS:
        sure = (lows[0] > 0) & (operator == "Sign" or made.dtype == bool)
        if operator == "Div":  # without rest, or of rests: sizes that are tried are at least 2
            sure = ((given[0] == made * given[1]) | (abs(given[0]) <= opened[0])).all(0)
            ratio = given[0] / given[1]  # or of sizes in a proportion that is not near a whole number
            apart = abs(ratio - np.rint(ratio)).min(0) > 0.1
            sure |= opened.all(0) & (np.ptp(ratio, 0) < 0.05) & apart
        return 0 if (opened.any(0) & fixed_result & ~sure).any() else limit
    same = np.stack([(x == made).all(0) for x in given])
    if operator == "Mod":
        same |= fixed_result & (made[0] != 0)
    if operator == "Max":
        for i, low in enumerate(lows):
            small = [~opened[j] & (x[0] <= low) for j, x in enumerate(given) if j != i]
            same[i] &= ~(opened[i] & np.all(small, axis=0))
    if not (same & opened.any(0)).any():
        return limit
    fixed = [x.min() for x, is_open in zip(given, opened) if not is_open.any()]
    return min(fixed, default=0) if operator == "Min" and not (same & ~opened).any() else 0
