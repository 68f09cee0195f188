"""Functions of each element of one or more arrays."""

import math
import operator
from typing import Any, Optional

import numpy as np

#: Pairwise functions with an operator in Python.
_PYTHON = dict(add=operator.add, subtract=operator.sub, multiply=operator.mul, power=operator.pow)
_PYTHON.update(divide=operator.truediv, equal=operator.eq, greater=operator.gt, lesser=operator.lt)
_PYTHON.update(greater_equal=operator.ge, lesser_equal=operator.le)

#: Endings of the names of MXNet's operators, where they differ from the functions' names.
_ENDINGS = {"subtract": "sub", "multiply": "mul", "divide": "div"}

#: Starts of the names of MXNet's faster operators for equal shapes.
_EVEN = {**dict.fromkeys(("add", "sub", "mul", "div"), "elemwise_"), "maximum": "_", "minimum": "_"}


def pairwise(F: Any, kind: str, one: Any, other: Any, even: bool = False) -> Any:
    """Combine two arrays elementwise. ``even`` declares that their shapes are equal.

    ``kind`` is a name such as 'add', or the ending of one of MXNet's ``broadcast_...`` operators.
    """
    ending = _ENDINGS.get(kind, kind)
    start = _EVEN.get(ending, "broadcast_") if even else "broadcast_"
    return getattr(F._internal if start == "_" else F, start + ending)(one, other)


def filled(F: Any, x: Any, number: float) -> Any:
    """Return an array of one number, of the shape of another array."""
    return F.zeros_like(x) + number


def special(F: Any, x: Any, kind: str) -> Any:
    """Return 1 where elements are not a number (isnan), infinite (isinf) or neither (isfinite)."""
    if kind == "isnan":
        return is_nan(F, x)
    found = F.abs(x) == float("inf") if kind == "isinf" else F.abs(x) < float("inf")
    return F.cast(found, dtype="float32")


def scalar(F: Any, x: Any, kind: str, number: float, first: bool) -> Any:
    """Combine an array elementwise with a number, which is the left operand if ``first``."""
    return of_numbers(F, kind, *((number, x) if first else (x, number)))


def of_numbers(F: Any, kind: str, *operands: Any) -> Any:
    """Return a function of arrays and numbers, by its name; each may be in any place."""
    return (_PYTHON.get(kind) or getattr(F, kind))(*operands)


def merge(F: Any, x: Any, *others: Any, kind: str, even: bool, scale: float = 1) -> Any:
    """Combine arrays elementwise, from the first to the last, and multiply by ``scale``.

    ``even`` declares that all shapes are equal, for which MXNet has faster operators.
    """
    if even and kind == "add" and len(others) > 1:
        x = F.add_n(x, *others)
    else:
        for other in others:
            x = pairwise(F, kind, x, other, even)
    return x if scale == 1 else x * scale


def scaled_sum(F: Any, a: Any, b: Any, scale: float) -> Any:
    """Return ``a + scale * b``, as in InceptionResNet's CustomScaleLayer."""
    return F.elemwise_add(a, b * scale)


def linear(F: Any, x: Any, scale: float, offset: float) -> Any:
    """Return ``x * scale + offset`` for two numbers."""
    x = x * scale if scale != 1 else x
    return x + offset if offset else x


def affine(F: Any, x: Any, scale: Any, offset: Any, standardize: bool) -> Any:
    """Return ``x * scale + offset``, or ``(x - offset) / scale`` to standardize."""
    if standardize:
        return F.broadcast_div(F.broadcast_sub(x, offset), scale)
    return F.broadcast_add(F.broadcast_mul(x, scale), offset)


def scaled(F: Any, x: Any, gamma: Any) -> Any:
    """Return ``x * gamma``, as in ConvNeXt's LayerScale."""
    return F.broadcast_mul(x, gamma)


def cast(F: Any, x: Any, to: str) -> Any:
    """Convert to a dtype. Gradients do not pass whole numbers, which MXNet's operator lets through."""
    return F.cast(x, dtype=to) if to.startswith("float") else F.BlockGrad(F.cast(x, dtype=to))


def wrapped(F: Any, x: Any, least: int, count: int) -> Any:
    """Return numbers without their fractions, as those of ``count`` numbers from ``least``, in int32."""
    return (F.cast(x, dtype="int32") - least) % count + least


def quotient_up(F: Any, x: Any, by: float) -> Any:
    """Divide by a number and round up."""
    return F.ceil(F.cast(x, dtype="float64") / by)


def compare(F: Any, x: Any, other: Any, kind: str) -> Any:
    """Compare elementwise and return 0 and 1 in float32. ``kind`` is as for :func:`pairwise`."""
    return F.cast(pairwise(F, kind, x, other), dtype="float32")


def where(F: Any, condition: Any, x: Any, other: Any, spread: str, whole: Any = (0, 0, 0)) -> Any:
    """Return ``x`` where the condition is not 0, else ``other``. All three broadcast.

    ``spread`` is the dtype of ``x``, and ``whole`` declares which have the shape of the result.
    """
    arrays = [F.cast(condition, dtype=spread), x, other]
    zeros = None
    for array in [arrays[whole.index(True)]] if any(whole) else arrays:
        more = F.zeros_like(array)
        zeros = more if zeros is None else F.broadcast_add(zeros, more)
    pairs = zip(arrays, whole)
    return F.where(*(array if full else F.broadcast_add(array, zeros) for array, full in pairs))


def integer_divide(F: Any, x: Any, other: Any) -> Any:
    """Divide integers and round toward 0. Divide by 1 where the divisor is 0.

    MXNet's operator ends the process there, and where it divides the least number by -1.
    """
    turned = (other == -1) * (other < 0)  # MXNet takes the largest unsigned number for -1
    y = F.broadcast_div(x, other + (other == 0) + 2 * turned)
    return F.broadcast_mul(y, 1 - 2 * turned)


def remainder(F: Any, x: Any, other: Any) -> Any:
    """Return the remainder of a division that rounds toward 0, which has the sign of ``x``."""
    return F.broadcast_mul(F.broadcast_mod(F.abs(x), F.abs(other)), 1 - 2 * (x < 0))


def power(F: Any, x: Any, exponent: Any, through: str, to: str) -> Any:
    """Return a power that is computed in one dtype and converted to another."""
    y = F.broadcast_power(F.cast(x, dtype=through), F.cast(exponent, dtype=through))
    return F.cast(y, dtype=to)


def round_half_even(F: Any, x: Any, decimals: int = 0) -> Any:
    """Round to so many decimals, and halves to even digits, which no operator of MXNet does."""
    if decimals:
        return round_half_even(F, x * 10.0**decimals) / 10.0**decimals
    below = F.floor(x)
    rest = x - below
    odd = below - 2 * F.floor(below / 2)  # not a number for infinities
    odd = F.where(rest == 0.5, odd, F.zeros_like(x))
    return below + (rest > 0.5) + odd


def deg2rad(F: Any, x: Any) -> Any:
    """Convert degrees to radians."""
    return x * (math.pi / 180)


def rad2deg(F: Any, x: Any) -> Any:
    """Convert radians to degrees."""
    return x * (180 / math.pi)


def cbrt(F: Any, x: Any) -> Any:
    """Return the cube root. MXNet's exporter lacks its own operator."""
    return F.sign(x) * F.abs(x) ** (1 / 3)


def exp2(F: Any, x: Any) -> Any:
    """Return ``2 ** x``."""
    return 2**x


def sinc(F: Any, x: Any) -> Any:
    """Return ``sin(pi * x) / (pi * x)``, which is 1 at 0."""
    angle = x * 3.141592653589793 + (x == 0) * 1e-20
    return F.sin(angle) / angle


def log10(F: Any, x: Any) -> Any:
    """Return the logarithm to base 10. MXNet's exporter lacks its own operator."""
    return F.log(x) * 0.4342944819032518


def trunc(F: Any, x: Any) -> Any:
    """Round toward 0. MXNet's exporter lacks its own operator."""
    return F.sign(x) * F.floor(F.abs(x))


def is_infinite(F: Any, x: Any, negative: bool, positive: bool) -> Any:
    """Return 1 for infinities of the given signs, else 0, in float32."""
    inf = float("inf")
    found = F.zeros_like(x)
    found = found + (x == inf) if positive else found
    found = found + (x == -inf) if negative else found
    return F.cast(found, dtype="float32")


def nan_to_num(
    F: Any, x: Any, nan: float = 0, posinf: Optional[float] = None, neginf: Optional[float] = None
) -> Any:
    """Replace NaN and the infinities by numbers, by default the largest for infinities."""
    zeros, most = F.zeros_like(x), float(np.finfo("float32").max)
    ends = most if posinf is None else posinf, -most if neginf is None else neginf
    pairs = (is_nan(F, x), nan), (x == float("inf"), ends[0]), (x == -float("inf"), ends[1])
    for places, number in pairs:
        x = F.where(places, zeros + number, x)
    return x


def is_nan(F: Any, x: Any) -> Any:
    """Return 1 for elements that are not a number, else 0, in float32."""
    return 1 - F.cast(F.broadcast_equal(x, x), dtype="float32")


def shift_bits(F: Any, x: Any, count: Any, left: bool, bits: int) -> Any:
    """Shift the bits of integers of ``bits`` bits. Shifts by other counts leave none but the signs."""
    inside = (count < bits) * (count >= 0)
    factor = F.broadcast_power(F.ones_like(count) * 2, count * inside)
    if left:
        return F.broadcast_mul(F.broadcast_mul(x, factor), inside)
    minus = x < 0  # their shifts are those of the inverted bits, which are inverted again
    y = F.broadcast_mul(F.broadcast_div(x * (1 - 2 * minus) - minus, factor), inside)
    return F.broadcast_sub(F.broadcast_mul(y, 1 - 2 * minus), minus)


def clip_whole(F: Any, x: Any, least: float, most: float) -> Any:
    """Return whole numbers within bounds, which MXNet's clip rounds to float32."""
    return F.maximum(F.minimum(x, most), least)


def whole_abs(F: Any, x: Any) -> Any:
    """Return absolute values of whole numbers, which MXNet's abs rounds to float64."""
    return x * (1 - 2 * (x < 0))


def whole_power(F: Any, x: Any, times: int) -> Any:
    """Return a power of whole numbers by products, which are exact and wrap around."""
    y = x
    for bit in bin(times)[3:]:
        y = y * y
        y = y * x if bit == "1" else y
    return y
