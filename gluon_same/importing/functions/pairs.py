"""Functions of the elements of two arrays that are combined from several operators of MXNet."""

from typing import Any, Callable, Dict, Optional

from .elementwise import integer_divide, pairwise, remainder
from .indexing import select

_LOG_2 = 0.6931471805599453


def _logaddexp(F: Any, x: Any, y: Any) -> Any:
    distance = F.abs(F.broadcast_sub(x, y))
    return F.broadcast_add(F.broadcast_maximum(x, y), F.log1p(F.exp(-distance)))


def _arctan2(F: Any, x: Any, y: Any) -> Any:
    angle = F.arctan(F.broadcast_div(x, y + (y == 0) * 1e-38))
    turned = F.broadcast_mul(3.141592653589793 * (1 - 2 * (x < 0)), y < 0)
    return F.broadcast_add(angle, turned)


def _hypot(F: Any, x: Any, y: Any) -> Any:
    x, y = F.abs(x), F.abs(y)
    most = F.broadcast_maximum(x, y)  # whose square may be infinite
    return most * F.sqrt(1 + F.square(F.broadcast_minimum(x, y) / (most + (most == 0))))


def _divide_no_nan(F: Any, x: Any, y: Any) -> Any:
    quotient = F.broadcast_div(x, y + (y == 0))
    return select(F, y != 0, quotient, F.zeros_like(quotient))


def _product(F: Any, x: Any, y: Any) -> Any:
    return F.broadcast_mul(x, y)


def _numbers_only(ending: str) -> Callable[..., Any]:
    """Return the function of the larger or smaller of two elements, or the one that is a number."""

    def function(F: Any, x: Any, y: Any) -> Any:
        best = pairwise(F, ending, x, y)
        return select(F, F.broadcast_equal(x, x), select(F, F.broadcast_equal(y, y), best, x), y)

    return function


def _zero_at_zero(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that is 0 where the first array is, whatever the other is."""
    return lambda F, x, y: select(F, x != 0, function(F, x, y), F.broadcast_mul(x, F.zeros_like(y)))


def _whole_floor_divide(F: Any, x: Any, y: Any) -> Any:
    quotient = integer_divide(F, x, y)
    rest = F.broadcast_sub(x, F.broadcast_mul(quotient, y))
    return quotient - (F.broadcast_mul(rest, F.sign(y)) < 0)


def _undefined_by_zero(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a remainder that is not a number for a divisor of 0, where MXNet's is 0."""
    return lambda F, x, y: F.broadcast_add(function(F, x, y), F.log(y != 0) * 0)


def _rest(divide: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of what a division of whole numbers leaves."""
    return lambda F, x, y: F.broadcast_sub(x, F.broadcast_mul(divide(F, x, y), y))


#: Functions of real numbers, and of whole numbers where those differ.
_OF_TWO: Dict[str, Callable[..., Any]] = {
    "arctan2": _arctan2,
    "divide_no_nan": _divide_no_nan,
    "floor_divide": lambda F, x, y: F.floor(F.broadcast_div(x, y)),
    "fmax": _numbers_only("maximum"),
    "fmin": _numbers_only("minimum"),
    "fmod": _undefined_by_zero(remainder),
    "heaviside": lambda F, x, y: select(F, x == 0, y, x > 0),
    "hypot": _hypot,
    "logaddexp": _logaddexp,
    "logaddexp2": lambda F, x, y: _logaddexp(F, x * _LOG_2, y * _LOG_2) / _LOG_2,
    "mod": _undefined_by_zero(lambda F, x, y: F.broadcast_mod(x, y)),
    "multiply_no_nan": lambda F, x, y: _zero_at_zero(_product)(F, y, x),
    "squared_difference": lambda F, x, y: F.square(F.broadcast_sub(x, y)),
    "xdivy": _zero_at_zero(lambda F, x, y: F.broadcast_div(x, y)),
    "xlogy": _zero_at_zero(lambda F, x, y: _product(F, x, F.log(y))),
}
_WHOLE: Dict[str, Callable[..., Any]] = {
    "floor_divide": _whole_floor_divide,
    "fmod": _rest(integer_divide),
    "mod": _rest(_whole_floor_divide),
}

#: Functions of real numbers only.
REAL = ("arctan2", "divide_no_nan", "heaviside", "hypot", "logaddexp", "logaddexp2", "xdivy", "xlogy")
OF_TWO = tuple(_OF_TWO)


def of_two(F: Any, x: Any, y: Any, kind: str, whole: bool = False) -> Any:
    """Combine two arrays elementwise, by one of :data:`OF_TWO` or as :func:`~.elementwise.pairwise`.

    Divisions round down, except that of fmod. ``whole`` declares that the arrays are of whole numbers.
    """
    function = _WHOLE.get(kind) if whole else None
    function = function or _OF_TWO.get(kind)
    return function(F, x, y) if function else pairwise(F, kind, x, y)


def spaced(F: Any, x: Any, y: Any, count: int, endpoint: bool, base: Optional[float]) -> Any:
    """Return ``count`` numbers from ``x`` to ``y`` along a new second axis, or powers of ``base``."""
    step = F.broadcast_sub(y, x) / max(count - endpoint, 1)
    line = F.stack(*(F.broadcast_add(step * i, x) for i in range(count)), axis=1)
    return line if base is None else base**line


def is_close(F: Any, x: Any, y: Any, rtol: float, atol: float) -> Any:
    """Return 1 where two arrays are equal to ``atol + rtol * |y|``, else 0."""
    near = F.broadcast_lesser_equal(F.abs(F.broadcast_sub(x, y)), F.abs(y) * rtol + atol)
    near = F.broadcast_mul(near, F.abs(y) < float("inf"))
    return F.broadcast_maximum(near, F.broadcast_equal(x, y))
