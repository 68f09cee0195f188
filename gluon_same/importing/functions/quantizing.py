"""Functions between floats and integers of 8 bits, with ONNX's numbers.

Products of integers are computed in floats that are exact: float32 for sums of up to 258 terms, in which
they are below 2 ** 24, and of up to 4112 terms with the second operand in two parts of 4 bits, which
takes less time and memory than float64; else float64.
"""

from typing import Any, Callable, List, Optional, Sequence

from .elementwise import round_half_even
from .rearranging import along

_LIMITS = {"uint8": (0, 255), "int8": (-128, 127)}
_LIMITS.update(uint16=(0, 2**16 - 1), int16=(-(2**15), 2**15 - 1))


def quantize(
    F: Any, x: Any, scale: Any, *zero: Any, rank: int, to: str, axis: Optional[int] = None
) -> Any:
    """Return ``x / scale + zero``, rounded and clipped to the range of ``to``.

    Integers of 16 bits are returned as int32, because MXNet has no arrays of them.

    ``scale`` and ``zero`` have one element, or one for each index along ``axis``.
    """
    y = F.broadcast_div(F.cast(x, dtype="float32"), along(F, scale, axis, rank))
    return _saturated(F, round_half_even(F, y), [along(F, each, axis, rank) for each in zero], to)


def dequantize(F: Any, x: Any, scale: Any, *zero: Any, rank: int, axis: Optional[int] = None) -> Any:
    """Return ``(x - zero) * scale``, with ``scale`` and ``zero`` as in :func:`quantize`."""
    x = _centered(F, x, [along(F, each, axis, rank) for each in zero], "float32")
    return F.broadcast_mul(x, along(F, scale, axis, rank))


def dynamic_quantize(F: Any, x: Any, rank: int) -> List[Any]:
    """Return ``x`` in the uint8 that its range, extended to 0, requires; the scale; the zero point."""
    low, high = -F.relu(-F.min(x)), F.relu(F.max(x))
    scale = (high - low) / 255
    scale = scale + (scale == 0)
    zero = F.cast(F.clip(round_half_even(F, -low / scale), 0, 255), dtype="uint8")
    return [quantize(F, x, scale, zero, rank=rank, to="uint8"), scale, zero]


def integer_product(
    F: Any, a: Any, b: Any, *zeros: Any, product: Callable[..., Any], shapes: Sequence[Sequence[int]],
    terms: Optional[int] = None, to: str = "int32", **arguments: Any,
) -> Any:  # fmt: skip
    """Multiply two arrays of integers minus their zero points.

    ``product`` is a function of ``F``, two arrays and the arguments, such as a matrix product.
    ``shapes`` are those of the two zero points, so that they broadcast, and ``terms`` is the number of
    products that are added up; None if it is not known.
    """
    through = "float32" if terms is not None and terms * 255 * 16 < 2**24 else "float64"
    a, b = (
        _centered(F, x, [F.reshape(zero, shape=shape)], through)
        for x, zero, shape in zip((a, b), zeros, shapes)
    )
    if through == "float64" or (terms or 0) * 255**2 < 2**24:
        return F.cast(product(F, a, b, **arguments), dtype=to)
    high = F.floor(b / 16)
    upper, lower = (F.cast(product(F, a, x, **arguments), dtype=to) for x in (high, b - 16 * high))
    return 16 * upper + lower


def quantized_product(
    F: Any, *given: Any, shapes: Sequence[Sequence[int]], outer: Sequence[Sequence[int]], to: str,
    **arguments: Any,
) -> Any:  # fmt: skip
    """Multiply two quantized arrays and quantize the result.

    Parameters
    ----------
    *given
        Two arrays, each with its scale and zero point; scale and zero point of the result; and the
        bias, if there is one, whose scale is the product of the two first.
    shapes : sequence of tuple
        Shapes in which the zero points of the two arrays broadcast.
    outer : sequence of tuple
        Shapes in which the scales of the two arrays broadcast with the result, and the bias like the
        second.
    to : str
        dtype of the result.
    **arguments
        As for :func:`integer_product`.
    """
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero, *bias = given
    one = (1,) * len(outer[0])
    y = integer_product(F, a, b, a_zero, b_zero, shapes=shapes, to="float64", **arguments)
    for each in bias:
        y = F.broadcast_add(y, F.reshape(F.cast(each, dtype="float64"), shape=outer[1]))
    a_scale, b_scale = (F.reshape(s, shape=shape) for s, shape in zip((a_scale, b_scale), outer))
    factor = F.broadcast_div(F.broadcast_mul(a_scale, b_scale), F.reshape(scale, shape=one))
    y = round_half_even(F, F.broadcast_mul(F.cast(y, dtype="float32"), factor))
    return _saturated(F, y, [F.reshape(zero, shape=one)], to)


def _centered(F, x, zeros, dtype):
    """Return an array minus the zero point, if there is one."""
    x = F.cast(x, dtype=dtype)
    for zero in zeros:
        x = F.broadcast_sub(x, F.cast(zero, dtype=dtype))
    return x


def _saturated(F, x, zeros, dtype):
    """Return an array plus the zero point, if there is one, clipped to the range of a type."""
    for zero in zeros:
        x = F.broadcast_add(x, F.cast(zero, dtype="float32"))
    return F.cast(F.clip(x, *_LIMITS[dtype]), dtype="int32" if dtype.endswith("16") else dtype)
