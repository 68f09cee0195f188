"""Padding, cropping, resizing and upsampling layers."""

from ... import nn
from ...importing import functions
from ..arguments import Unsupported
from ..values import Padding, Shape, Value, resized
from .registry import Lowered, Request, builds, spatial


@builds("Resizing")
def _resizing(request: Request, x: Value) -> Lowered:
    arguments = request.arguments
    arguments.word("interpolation", ("bilinear",), "bilinear")
    arguments.only(
        crop_to_aspect_ratio=False, pad_to_aspect_ratio=False, antialias=False, fill_mode="constant"
    )
    arguments.ignore("fill_value")
    _, order = spatial(request, x, 2)
    size = arguments.whole("height"), arguments.whole("width")
    return Lowered(request.function(functions.resize, size=size), order, (order,))


@builds("ZeroPadding{}D", ndims=(1, 2, 3))
def _zero_padding(request: Request, x: Value, ndim: int) -> Lowered:
    block = getattr(nn, f"ZeroPadding{ndim}D")(request.arguments.get("padding"), prefix=request.prefix)
    pairs = block._amounts
    axes, order = spatial(request, x, ndim)

    def rule(shape: Shape) -> Shape:
        return resized(shape, axes, lambda n, pair: n + sum(pair), pairs)

    padding = Padding(request.name, block, pairs)
    return Lowered(None, order, (order,), rule, padding=padding, nonnegative=x.nonnegative)


@builds("Cropping{}D", ndims=(1, 2, 3))
def _cropping(request: Request, x: Value, ndim: int) -> Lowered:
    block = getattr(nn, f"Cropping{ndim}D")(request.arguments.get("cropping"), prefix=request.prefix)
    pairs = block._amounts
    axes, order = spatial(request, x, ndim)

    def rule(shape: Shape) -> Shape:
        cropped = resized(shape, axes, lambda n, pair: n - sum(pair), pairs)
        if any(n is not None and n < 1 for n in cropped):
            raise ValueError(f"cropping={pairs} removes all of an input of shape {shape}")
        return cropped

    return Lowered(block, order, (order,), rule, nonnegative=x.nonnegative)


@builds("UpSampling{}D", ndims=(1, 2, 3))
def _upsampling(request: Request, x: Value, ndim: int) -> Lowered:
    times = request.arguments.axes("size", ndim)
    how = request.arguments.word("interpolation", ("nearest", "bilinear"), "nearest")
    if how == "bilinear" and ndim != 2:
        raise Unsupported(f"interpolation={how!r} is only for images")
    _, order = spatial(request, x, ndim)
    if how == "nearest":
        block = request.function(functions.repeat_elements, times=times)
    else:
        block = request.function(functions.interpolate, times=times, centers=request.version >= (2, 3))
    return Lowered(block, order, (order,))
