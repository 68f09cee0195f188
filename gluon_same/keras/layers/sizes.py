"""Padding, cropping, resizing and upsampling layers."""

from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ... import nn
from ...importing import functions
from ...importing.block import Function
from ..arguments import MOST_ELEMENTS, Unsupported, limit
from ..values import Padding, Shape, Size, Value, resized, resized_to
from .computed import sourced
from .kernels import KERNELS, area_matrix, kernel_matrix
from .operations import Operation
from .registry import Lowered, Request, builds, followed, spatial


@builds("Resizing")
def _resizing(request: Request, x: Value) -> Lowered:
    arguments, size = request.arguments, size_of(request)
    crop, pad = (arguments.flag(f"{how}_to_aspect_ratio", False) for how in ("crop", "pad"))
    method = arguments.word("interpolation", _KNOWN, "bilinear")
    antialias, fill = arguments.flag("antialias", False), arguments.number("fill_value", 0)
    if crop or pad:
        return resized_at_ratio(request, x, size, None if crop else fill, method, antialias)
    return resized_images(request, x, size, method, antialias)


#: Keras' interpolations, as TensorFlow computes them.
_METHODS = {
    "bilinear": functions.Resize("linear"),
    "nearest": functions.Resize("nearest", "tf_half_pixel_for_nn", "floor"),
    "bicubic": functions.Resize("cubic", cubic=-0.5, exclude_outside=True, steps=1024),
}


#: All interpolations.
_KNOWN = ("nearest", "area", *KERNELS)


def resized_images(
    request: Request,
    x: Value,
    size: Sequence[Any],
    method: str,
    antialias: bool = False,
    how: Any = None,
) -> Lowered:
    """Interpolate images to a size, which consists of whole numbers, and of sizes of arrays.

    ``how`` is what to do instead of Keras' interpolation of that name.
    """
    built = _interpolated(request, x, size, method, antialias, how)
    if not (request.keras3 and x.whole):
        return built
    if method not in ("bilinear", "nearest"):
        raise Unsupported(f"interpolation={method!r} of whole numbers")
    rounding = Function(functions.round_half_even, "Round")  # Keras 3 returns whole numbers, too
    return built._replace(block=followed(request, built.block, rounding))


def _interpolated(request, x, size, method, antialias, how):
    limit(f"a size of {list(size)}", max([0, *(n for n in size if isinstance(n, int))]), 2**20)
    if method not in _KNOWN:
        raise Unsupported(f"interpolation={method!r}: only {', '.join(_KNOWN)} are supported")
    op = Operation("resize", request)
    axes, order = spatial(request, x, 2)
    computed = [isinstance(n, Size) for n in size]
    if method not in _METHODS or (antialias and method != "nearest"):
        # Each output depends on all inputs that it covers.
        before: List[Any] = [x.shape[axis] for axis in axes]
        if None in before or any(computed):
            what = "antialias=True" if method in _METHODS else f"interpolation={method!r}"
            raise Unsupported(f"{what} for images of unknown size")
        matrices = _matrices(method, before, size, antialias)
        fields = dict(input_axes=(order,), rule=resized_to(axes, size))
        return op.lowered(functions.resize_images, x, *matrices, order=order, **fields)
    how = how or _METHODS[method]
    if how == _METHODS["bilinear"] and not any(computed) and 1 not in size:
        return Lowered(request.function(functions.resize, size=tuple(size)), order, (order,))
    # The sizes of the result are those of arrays: of constants, where they are numbers.
    size = [sourced(request, n) if isinstance(n, Size) else n for n in size]
    sources = [n.source if isinstance(n, Size) else (np.zeros(n, "float32"), 0) for n in size]
    likes = [like for like, _ in sources]
    stored = [y.stored(i) if isinstance(y, Value) else i for y, i in sources]
    times = [n.times if isinstance(n, Size) else 1 for n in size]
    arrays = [like.axes for like in likes if isinstance(like, Value)]
    given = dict(how=tuple(how), axes=tuple(stored), factors=tuple(times), input_axes=(order, *arrays))
    return op.lowered(functions.resize_images_open, x, *likes, order=order, **given)


def size_of(request: Request) -> Tuple[int, int]:
    """Return the height and the width to which a layer resizes."""
    return request.arguments.whole("height"), request.arguments.whole("width")


def resized_at_ratio(
    request: Request, x: Value, size: Sequence[int], fill: Optional[float] = None,
    method: str = "bilinear", antialias: bool = False,
) -> Lowered:  # fmt: skip
    """Interpolate images to a size, cropped to its aspect ratio, or padded with ``fill``."""
    axes, order = spatial(request, x, 2)
    before: List[Any] = [x.shape[axis] for axis in axes]
    if None in before or any(isinstance(n, Size) for n in size):
        raise Unsupported("images of unknown size are not supported")
    borders = []
    for n, other, m, k in zip(before, before[::-1], size, size[::-1]):
        fitting = max(int(other * m / k), 1)
        cut, pad = max(n - fitting, 0), max(fitting - n, 0) // 2
        borders.append((-(cut // 2), cut // 2 - cut) if fill is None else (pad, pad))
    after = [n + sum(pair) for n, pair in zip(before, borders)]
    fitted = x._replace(shape=resized_to(axes, after)(x.shape))
    built = resized_images(request, fitted, size, method, antialias)
    how: Any = dict(before=tuple(before), borders=tuple(borders), value=fill or 0.0)
    block = followed(request, Function(functions.add_borders, "Borders", **how), built.block)
    return built._replace(block=block, rule=resized_to(axes, size))


def _matrices(
    method: str, before: Sequence[int], size: Sequence[int], antialias: bool
) -> List[np.ndarray]:
    """Return the weights along each axis, in float32."""
    pairs = [*zip(before, size)]
    limit(f"weights of {before} elements for {list(size)}", max(n * m for n, m in pairs), MOST_ELEMENTS)
    if method == "area":
        found = [area_matrix(*pair) for pair in pairs]
    else:
        found = [kernel_matrix(KERNELS[method], *pair, antialias) for pair in pairs]
    return [each.astype("float32") for each in found]


@builds("Cropping{}D", "ZeroPadding{}D", ndims=(1, 2, 3))
def _borders(request: Request, x: Value, ndim: int) -> Lowered:
    pads = request.class_name.startswith("Zero")
    given = request.arguments.get("padding" if pads else "cropping")
    block = getattr(nn, request.class_name)(given, prefix=request.prefix)
    pairs, sign = block._amounts, 1 if pads else -1
    axes, order = spatial(request, x, ndim)

    def rule(shape: Shape) -> Shape:
        new = resized(shape, axes, lambda n, pair: n + sign * sum(pair), pairs)
        if any(n is not None and n < 1 for n in new):
            raise ValueError(f"cropping={pairs} removes all of an input of shape {shape}")
        return new

    padding = Padding(request.name, block, pairs) if pads else None
    takes = "float32" if pads else x.number
    how: Any = dict(padding=padding, nonnegative=x.nonnegative, takes=takes)
    return Lowered(None if pads else block, order, (order,), rule, **how)


@builds("UpSampling{}D", ndims=(1, 2, 3))
def _upsampling(request: Request, x: Value, ndim: int) -> Lowered:
    times = request.arguments.axes("size", ndim)
    how = request.arguments.word("interpolation", ("nearest", "bilinear", "bicubic"), "nearest")
    limit(f"size={list(times)}", max(times))
    if how != "nearest" and ndim != 2:
        raise Unsupported(f"interpolation={how!r} is only for images")
    axes, order = spatial(request, x, ndim)
    if how == "bicubic":
        size = [Size(None, (x, axis), times[i]) for i, axis in enumerate(axes)]
        return resized_images(request, x, size, how)
    if how == "nearest":
        block = request.function(functions.repeat_elements, times=times)
        return Lowered(block, order, (order,))
    block = request.function(functions.interpolate, times=times, centers=request.version >= (2, 3))
    return Lowered(block, order, (order,))
