"""Padding, cropping, resizing and upsampling layers."""

from typing import Tuple

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
    pairs = _pairs(request, "padding", ndim)
    axes, order = spatial(request, x, ndim)

    def rule(shape: Shape) -> Shape:
        return resized(shape, axes, lambda n, pair: n + sum(pair), pairs)

    block = getattr(nn, f"ZeroPadding{ndim}D")(pairs, prefix=request.prefix)
    padding = Padding(request.name, block, pairs)
    return Lowered(None, order, (order,), rule, padding=padding, nonnegative=x.nonnegative)


@builds("Cropping{}D", ndims=(1, 2, 3))
def _cropping(request: Request, x: Value, ndim: int) -> Lowered:
    pairs = _pairs(request, "cropping", ndim)
    axes, order = spatial(request, x, ndim)

    def rule(shape: Shape) -> Shape:
        cropped = resized(shape, axes, lambda n, pair: n - sum(pair), pairs)
        if any(n is not None and n < 1 for n in cropped):
            raise ValueError(f"cropping={pairs} removes all of an input of shape {shape}")
        return cropped

    block = getattr(nn, f"Cropping{ndim}D")(pairs, prefix=request.prefix)
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


def _pairs(request: Request, name: str, ndim: int) -> Tuple[Tuple[int, int], ...]:
    """Return ``padding`` or ``cropping`` as pairs, given an int, an int per axis or a pair per axis."""
    value = request.arguments.get(name)
    if ndim == 1 and isinstance(value, list) and len(value) == 2:
        value = [value]
    items = value if isinstance(value, list) else [value] * ndim
    pairs = [item if isinstance(item, list) else [item, item] for item in items]
    numbers = [n for pair in pairs for n in pair]
    whole = all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**31 for n in numbers)
    if len(pairs) != ndim or any(len(pair) != 2 for pair in pairs) or not whole:
        raise Unsupported(f"{name}={value!r} is not a pair of whole numbers for each of {ndim} axes")
    return tuple(map(tuple, pairs))
