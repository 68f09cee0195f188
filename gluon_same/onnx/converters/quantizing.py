"""Operators between floats and integers of 8 bits."""

from typing import Any, List

import numpy as np

from ...importing import functions
from ..registry import converter
from ..values import Data, Known, Unsupported, axis_of
from .windows import Attributes, convolved

#: Types of quantized data by ONNX's numbers, the default first. Data of 16 bits are stored in 32.
_TYPES = {0: np.uint8, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16}


def _placed(net, x, scale, zero, axis, block):
    """Return scale and zero point, and the axis along which they are, by ``functions.along``."""
    given, shapes = [scale, zero], {scale.shape, scale.shape if zero is None else zero.shape}
    if len(shapes) > 1 and shapes != {(), (1,)} and not any(None in shape for shape in shapes):
        raise Unsupported(f"its scale of shape {scale.shape} and zero point of shape {zero.shape}")
    if scale.ndim < 2:
        each = scale.ndim == 1 and scale.shape != (1,)
        return [*map(_stored, given)], axis_of(axis, x.ndim) if each else None
    axis = axis_of(axis, x.ndim)
    size = x.shape[axis]
    if not block or scale.ndim != x.ndim or size is None or not isinstance(scale, Known):
        raise Unsupported(f"its scale of shape {scale.shape} with block_size={block}")

    def spread(numbers):
        return np.repeat(numbers, block, axis).take(range(size), axis)

    return [each and _stored(each.changed(spread)) for each in given], x.ndim


@converter("QuantizeLinear")
def quantize_linear(
    net: Any, x: Any, scale: Any, zero: Any = None, *, axis: int = 1, saturate: int = 1,
    block_size: int = 0, output_dtype: int = 0,
) -> Data:  # fmt: skip
    if output_dtype not in _TYPES:
        raise Unsupported(f"its output_dtype={output_dtype}")
    dtype = np.dtype(_TYPES[output_dtype]) if zero is None else _checked(zero.dtype, *_TYPES.values())
    given, axis = _placed(net, x, scale, zero, axis, block_size)
    return net.call(
        functions.quantize, x, *given, rank=max(x.ndim, 1), to=dtype.name, axis=axis,
        dtype=np.int32 if dtype.itemsize == 2 else dtype, scalar=x.ndim == 0,
    )  # fmt: skip


@converter("DequantizeLinear")
def dequantize_linear(
    net: Any, x: Any, scale: Any, zero: Any = None, *, axis: int = 1, block_size: int = 0
) -> Data:
    given, axis = _placed(net, x, scale, zero, axis, block_size)
    return net.call(
        functions.dequantize, x, *given, rank=max(x.ndim, 1), axis=axis, dtype=np.float32,
        scalar=x.ndim == 0,
    )  # fmt: skip


@converter("DynamicQuantizeLinear")
def dynamic_quantize_linear(net: Any, x: Data) -> List[Data]:
    how: Any = dict(dtype=(np.uint8, np.float32, np.uint8), scalar=(x.scalar, True, True), outputs=3)
    return net.call(functions.dynamic_quantize, x, rank=max(x.ndim, 1), **how)


@converter("MatMulInteger")
def matmul_integer(net: Any, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Data:
    return _integer_product(net, a, b, a_zero, b_zero, _matrices(a, b, a_zero, b_zero))


@converter("QLinearMatMul")
def qlinear_matmul(
    net: Any, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any,
    y_zero: Any,
) -> Data:  # fmt: skip
    dtype = _checked(y_zero.dtype)
    rank = max(a.ndim, b.ndim)
    if a_scale.ndim > 1 or b_scale.ndim > 1 or y_scale.ndim > 1:
        raise Unsupported("its scales have several axes")
    outer = ((1,) * (rank - 2) + (-1, 1), (1,) * (rank - 1) + (-1,))
    given = [a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero]
    return _quantized_product(net, given, dtype, outer, _matrices(a, b, a_zero, b_zero))


def _matrices(a, b, a_zero, b_zero):
    """Return the arguments of a product of matrices of integers.

    Zero points for each row and for each column broadcast in the ``shapes``.
    """
    if min(a.ndim, b.ndim) < 2:
        raise Unsupported(f"operands with {a.ndim} and {b.ndim} axes: both must be matrices")
    shapes = []
    for x, zero, end in ((a, a_zero, (-1, 1)), (b, b_zero, (1, -1))):
        if zero is not None and zero.ndim > 1:
            raise Unsupported(f"a zero point of shape {zero.shape}")
        shapes.append((1,) * (x.ndim - 2) + end)
    labels, out = functions.matmul_labels(a.shape, b.shape)
    how = dict(product=functions.einsum, shapes=tuple(shapes))
    return {**how, "labels": labels, "out": out, "terms": a.shape[-1]}


@converter("ConvInteger")
def conv_integer(
    net: Any, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None, *, group: int = 1,
    **window: Attributes,
) -> Data:  # fmt: skip
    return _integer_product(net, x, w, x_zero, w_zero, _convolution(x, w, group, window))


@converter("QLinearConv")
def qlinear_conv(
    net: Any, x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any, y_scale: Any,
    y_zero: Any, b: Any = None, *, group: int = 1, **window: Attributes,
) -> Data:  # fmt: skip
    dtype = _checked(y_zero.dtype)
    one = (1,) * x.ndim
    given = [x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b]
    how = _convolution(x, w, group, window)
    return _quantized_product(net, given, dtype, (one, (1, -1, *one[2:])), how)


def _convolution(x, w, group, window):
    """Return the arguments of a convolution of integers."""
    how = dict(product=functions.convolution, num_filter=w.shape[0], num_group=group)
    how.update(convolved(x, w, None, window).arguments(), terms=int(np.prod(w.shape[1:])))
    return {**how, "shapes": ((1,) * x.ndim, (-1, *(1,) * (x.ndim - 1)))}


def _integer_product(net, a, b, a_zero, b_zero, how):
    """Return a product of integers, whose zero points are 0 by default."""
    zeros = [Known([np.zeros(1, np.uint8)]) if zero is None else zero for zero in (a_zero, b_zero)]
    return net.call(functions.integer_product, a, b, *zeros, **how, dtype=np.int32, scalar=False)


def _quantized_product(net, given, dtype, outer, how):
    """Return a product of quantized arrays, whose scales broadcast with it in the ``outer`` shapes."""
    how = {**how, "to": dtype.name}
    return net.call(functions.quantized_product, *given, **how, outer=outer, dtype=dtype, scalar=False)


def _stored(zero):
    """Return a zero point of 16 bits, of which MXNet has no arrays, in the dtype of quantized data."""
    short = isinstance(zero, Known) and zero.dtype.itemsize == 2
    return zero.changed(lambda z: z.astype(np.int32)) if short else zero


def _checked(dtype, *types):
    if np.dtype(dtype) not in (types or (np.uint8, np.int8)):
        raise Unsupported(f"quantized arrays of type {np.dtype(dtype).name}")
    return np.dtype(dtype)
