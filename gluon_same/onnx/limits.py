"""Limits of numbers that depend on open sizes: whether the sizes that are tried show all that occurs."""

import math
from fractions import Fraction
from functools import partial
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .inputs import TRIES
from .values import UNLIMITED, Line

#: Slopes below this are rounding.
_CANCELED = 1e-6
#: The most by which a number of steps of at least 1e-6 is rounded.
_LESS_THAN_ONE = 1 - 1e-6

#: Operators that return elements of their inputs.
_MOVES = {"Cast", "Concat", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose"}
_MOVES |= {"Unsqueeze"}

#: Operators whose results have sizes that follow from numbers.
_SIZED = {"Compress", "ConstantOfShape", "Expand", "NonZero", "OneHot", "Pad", "Range", "Reshape"}
_SIZED |= {"Slice", "Split", "Tile", "TopK", "Unique"}

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


def may_be_resized(operator: str, inputs: Sequence[Any]) -> bool:
    """Return whether a result may have another shape at sizes that are not tried."""
    limited = any(x.limit < np.inf for x in inputs)
    return (operator in _SIZED and limited) or any(x.resized for x in inputs) or _cuts(operator, inputs)


def _cuts(operator, inputs):
    """Return whether an operator cuts to open bounds. Those that are tried may be beyond the end."""
    return operator == "Slice" and any(x.open for x in inputs[1:])


def least_inputs(operator: str, inputs: Sequence[Any]) -> Optional[List[Any]]:
    """Return inputs of an operator for which its result is a lower bound of those at all sizes."""
    lows = [x if x is None else x.least for x in inputs]
    open_inputs = [i for i, x in enumerate(inputs) if x is not None and x.open]
    if any(lows[i] is None for i in open_inputs):
        return None
    sizes = all(low is None or low.min(initial=0) >= 0 for low in lows)
    if operator == "Div" and open_inputs == [0, 1] and sizes:
        return [np.zeros_like(lows[0]), np.ones_like(lows[1])]  # a quotient of sizes is not negative
    grows = operator in _GROW_WITH_ALL or (operator in _GROW_WITH_SIZES and sizes)
    grows |= operator in _GROW and open_inputs == [0] and (sizes or operator != "Div")
    return lows if grows else None


def limits_that_move(operator: str, inputs: Sequence[Any]) -> Optional[List[Any]]:
    """Return inputs for which an operator returns the limits of its results; None if it computes."""
    data = inputs if operator == "Concat" else inputs[:1]
    moves = operator in _MOVES - {"Cast"} and not any(
        x is not None and x.open for x in inputs[len(data) :]
    )
    if not moves or all(x.limit == np.inf for x in data):
        return None
    return [x.limits for x in data] + [x if x is None else x.first for x in inputs[len(data) :]]


def line_of(operator: str, inputs: Sequence[Any], result: Any) -> Optional[Line]:
    """Return how the one number of a result follows from open sizes, but for rounding; None if unknown.

    The padding ``2 * ceil(size / 2) + 1 - size`` is a number from 1 to 3 at all sizes.
    """
    lines = [_line(x) for x in inputs if x is not None]
    if result.first.size != 1 or not lines or None in lines:
        return None
    line, *others = lines
    whole = result.dtype.kind in "iu"
    if operator in ("Add", "Sub"):
        return _sum(line, _times(others[0], 1 if operator == "Add" else -1))
    if operator == "Mul" and not (line.slopes and others[0].slopes):
        line, other = (line, others[0]) if line.slopes else (others[0], line)
        return _times(line, other.low)
    if operator == "Div" and not others[0].slopes and others[0].low:
        rest = whole * (1 - 1 / abs(others[0].low))
        lows = [x.least for x in inputs]
        positive = all(low is not None and low.min() >= 0 for low in lows)
        return _widened(_times(line, 1 / others[0].low), rest, 0 if positive else rest)
    if operator in ("Ceil", "Floor"):
        below, above = (_LESS_THAN_ONE * (operator == name) for name in ("Floor", "Ceil"))
        return _widened(line, below, above)._replace(whole=True)
    if operator == "Neg":
        return _times(line, -1)
    if operator == "Cast" and whole and inputs[0].dtype.kind == "f" and not line.whole:
        return _widened(line, _LESS_THAN_ONE, _LESS_THAN_ONE)._replace(whole=True)
    return line if operator in _MOVES - {"Concat", "Gather", "Slice"} else None


def least_of(line: Optional[Line], result: Any) -> Optional[np.ndarray]:
    """Return the lower bound of a number at all sizes if the sizes cancel out; None otherwise."""
    if line is None or result.dtype.kind not in "if":
        return None
    if max(map(abs, line.slopes.values()), default=0) > _CANCELED:
        return None
    whole = all((x == np.rint(x)).all() for x in result.trials)
    low = np.ceil(line.low - _CANCELED) if whole else line.low
    return np.full(result.shape, low, result.dtype)


def _line(x):
    if x.first.size != 1 or x.dtype.kind not in "iuf":
        return None
    if not x.open:
        return Line({}, float(x.first.item()), float(x.first.item()))
    if x.line is None and x.limit == np.inf:  # of itself
        return Line({tuple(float(each.item()) for each in x.trials): 1.0}, 0.0, 0.0)
    return x.line


def _sum(one, other):
    keys = {**one.slopes, **other.slopes}
    slopes = {key: one.slopes.get(key, 0) + other.slopes.get(key, 0) for key in keys}
    return Line(slopes, one.low + other.low, one.high + other.high)


def _times(line, factor):
    ends = sorted((line.low * factor, line.high * factor))
    return Line({key: slope * factor for key, slope in line.slopes.items()}, *ends)


def _widened(line, below, above):
    return Line(line.slopes, line.low - below, line.high + above)


def steps_of(line: Line, sizes: Sequence[int]) -> Optional[Tuple[Any, Tuple[int, int, int]]]:
    """Return the one open number n of a line, by its values, and how sizes on the line follow from it.

    ``times, begin, step`` mean that a size is that of ``range(begin, n * times, step)``.
    """
    if len(line.slopes) != 1:
        return None
    ((numbers, slope),) = line.slopes.items()
    times, step = ratio_of(slope, line.low < 0, line.high > 0) or (0, 1)
    begin = step - 1 - math.floor(line.high * step + _CANCELED)
    sure = times > 0 and begin == -math.ceil(line.low * step - _CANCELED)
    found = [len(range(begin, int(n) * times, step)) for n in numbers]
    return (numbers, (times, begin, step)) if sure and found == list(sizes) else None


def ratio_of(factor: float, down: bool = True, up: bool = False) -> Optional[Tuple[int, int]]:
    """Return two whole numbers of whose ratio a factor is float32's, or None.

    ``down`` and ``up`` require that products with sizes, in float32, are rounded as with the ratio:
    ``99 * 7 / 3`` is 231, and 230.99998 in float32.
    """
    ratio = Fraction(factor).limit_denominator(1000)
    times, step = ratio.numerator, ratio.denominator
    if abs(times / step - factor) < 1e-12 * factor:
        return times, step
    sizes = np.arange(1, 2**14)
    products = sizes.astype(np.float32) * np.float32(factor)
    right = not down or (np.floor(products) == sizes * times // step).all()
    right &= not up or (np.ceil(products) == -(-sizes * times // step)).all()
    return (times, step) if right else None


def limit_of(operator: str, inputs: Sequence[Any], result: Any) -> float:
    """Return the number below which a result follows the rule that the sizes tried show.

    This is 512 for ``Min(size, 512)`` if all sizes tried are below 512; 0 if the rule is never certain;
    and infinite if it holds at all sizes.

    Parameters
    ----------
    operator : str
    inputs : sequence of Known
    result : Known
        The operator's result at each trial.
    """
    if operator in ("Shape", "Size") and not inputs[0].resized:
        return np.inf
    limit = min((x.limit for x in inputs), default=np.inf)
    if not any(x.open for x in inputs) or not result.first.size:
        return limit
    if limit < np.inf and _RULES.get(operator) is _comparison:
        trials = _trials_of(inputs, result)
        return np.inf if any(not x.open and _apart(trials, i).all() for i, x in enumerate(inputs)) else 0
    if operator in _PICKS or _cuts(operator, inputs) or (limit < np.inf and operator not in _MOVES):
        return 0
    if operator in ("ArgMax", "ArgMin"):
        return limit if result.open else 0
    if operator == "OneHot":
        return 0 if any(x.open for x in inputs[:2]) else limit  # its indices and depth
    rule = _RULES.get(operator)
    return limit if rule is None else min(limit, rule(_trials_of(inputs, result)))


class _Trials(NamedTuple):
    """Inputs and result of an operator at each trial, all of one shape."""

    given: List[np.ndarray]
    made: np.ndarray
    opened: np.ndarray  # which elements of each input differ among the trials
    lows: List[Any]  # lower bounds of the inputs; not a number if there is none

    @property
    def same(self) -> np.ndarray:
        """Return which elements of the result are the same at all trials."""
        return (self.made == self.made[:1]).all(0)

    def unless(self, sure: Any) -> float:
        """Return 0 if elements are the same at all trials, and not sure to be so at all sizes."""
        return 0 if (self.opened.any(0) & self.same & np.logical_not(sure)).any() else np.inf


def _trials_of(inputs: Sequence[Any], result: Any) -> _Trials:
    count = len(result.trials)
    given = [np.stack([x.at(trial) for trial in range(count)]) for x in inputs]
    made = np.stack(result.trials)
    given = [np.broadcast_to(x.reshape(count, *(1,) * (made.ndim - x.ndim), *x.shape[1:]), made.shape)
             for x in given]  # fmt: skip
    opened = np.stack([(x != x[:1]).any(0) for x in given])
    return _Trials(given, made, opened, [np.nan if x.least is None else x.least for x in inputs])


def _comparison(trials: _Trials) -> float:
    return trials.unless(np.any([_apart(trials, i) for i in (0, 1)], axis=0))


def _apart(trials, i):
    """Return where a fixed number is less than another one at all sizes, or beyond all sizes."""
    x, most = trials.given[i][0], trials.given[1 - i].max(0)
    return ~trials.opened[i] & ((x < trials.lows[1 - i]) | (x >= np.maximum(most + 1, UNLIMITED)))


def _sign(trials: _Trials) -> float:
    return trials.unless(trials.lows[0] > 0)


def _rounding(trials: _Trials) -> float:
    return _sign(trials) if trials.made.dtype == bool else trials.unless(False)


def _quotient(trials: _Trials) -> float:
    (x, other), opened = trials.given, trials.opened
    # Exact quotients, and those of remainders, which may be 0 or 1: sizes that are tried are at least 2.
    sure = ((x == trials.made * other) | (abs(x) <= opened[0])).all(0)
    ratio = x / other  # or of sizes in a proportion that is not near a whole number
    apart = abs(ratio - np.rint(ratio)).min(0) > 0.1
    return trials.unless(sure | (opened.all(0) & (np.ptp(ratio, 0) < 0.05) & apart))


def _remainder(trials: _Trials) -> float:
    x, made = trials.given[0], trials.made
    # Not all sizes that are tried are multiples of one number, but those that are not refused may be.
    divides = (made[0] == 0) & (len(made) == TRIES)
    same = (x == made).all(0) | (trials.same & ~divides)
    return 0 if (same & trials.opened[0]).any() else np.inf


def _chosen(trials: _Trials, of_max: bool = False, of_min: bool = False) -> float:
    """Return the limit of results that are one of the inputs: the same one at all trials."""
    given, opened = trials.given, trials.opened
    same = np.stack([(x == trials.made).all(0) for x in given])
    same &= ~same.all(0)  # of sizes that are equal, either is right
    for i, low in enumerate(trials.lows if of_max else ()):
        small = [~opened[j] & (x[0] <= low) for j, x in enumerate(given) if j != i]
        same[i] &= ~(opened[i] & np.all(small, axis=0))
    for i, x in enumerate(given if of_min else ()):
        large = [~opened[j] | (x[0] <= low) for j, low in enumerate(trials.lows) if j != i]
        same[i] &= opened[i] | ~np.all(large, axis=0)
    if not (same & opened.any(0)).any():
        return np.inf
    fixed = [x.min() for x, is_open in zip(given, opened) if not is_open.any()]
    return min(fixed, default=0) if of_min and not (same & ~opened).any() else 0


#: Limits of results that may be the same at all trials although they depend on open sizes.
_RULES: Dict[str, Callable[[_Trials], float]] = {
    **dict.fromkeys(("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"), _comparison),
    **dict.fromkeys(("Cast", "Ceil", "Floor", "Round"), _rounding),
    "Clip": partial(_chosen, of_max=True),
    "Div": _quotient,
    "Max": partial(_chosen, of_max=True),
    "Min": partial(_chosen, of_min=True),
    "Mod": _remainder,
    "Sign": _sign,
}
