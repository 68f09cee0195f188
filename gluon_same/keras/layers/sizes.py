"""Padding, cropping, resizing and upsampling."""

import math
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ... import nn
from ...importing import functions
from ...importing.block import Function
from ..arguments import MOST_ELEMENTS, Unsupported, limit
from ..values import Padding, Shape, Size, Value, channels_first, resized, resized_to
from .lengths import sourced
from .operations import size_of
from .registry import Lowered, Request, builds, computes, followed, of_rank, spatial


@builds("Resizing")
def _resizing(request: Request, x: Value) -> Lowered:
    size = target_of(request)
    crop, pad = (request.flag(f"{how}_to_aspect_ratio", False) for how in ("crop", "pad"))
    method = request.word("interpolation", _KNOWN, "bilinear")
    antialias, fill = request.flag("antialias", False), request.number("fill_value", 0)
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
_KNOWN = ("nearest", "area", *functions.KERNELS)


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
    return _rounded(request, x, method, _interpolated(request, x, size, method, antialias, how))


def _rounded(request: Request, x: Value, method: str, built: Lowered) -> Lowered:
    """Return the result of an interpolation, rounded if Keras returns whole numbers."""
    if not (request.keras3 and x.whole) or request.class_name.endswith("Crop"):  # which computes floats
        return built
    if method not in ("bilinear", "nearest"):
        raise Unsupported(f"interpolation={method!r} of whole numbers")
    # Keras 3 returns whole numbers, too, which it truncated before 3.6.
    rounding = Function(functions.round_half_even if request.version >= (3, 6) else "fix", "Round")
    return built._replace(block=followed(request, built.block, rounding))


def _interpolated(request, x, size, method, antialias, how):
    limit(f"a size of {list(size)}", max([0, *(n for n in size if isinstance(n, int))]), 2**20)
    if method not in _KNOWN:
        raise Unsupported(f"interpolation={method!r}: only {', '.join(_KNOWN)} are supported")
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
        return request.lowered(functions.resize_images, x, *matrices, order=order, **fields)
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
    return request.lowered(functions.resize_images_open, x, *likes, order=order, **given)


def target_of(request: Request) -> Tuple[int, int]:
    """Return the height and the width to which a layer resizes."""
    return request.whole("height"), request.whole("width")


def resized_at_ratio(
    request: Request, x: Value, size: Sequence[int], fill: Optional[float] = None,
    method: str = "bilinear", antialias: bool = False,
) -> Lowered:  # fmt: skip
    """Interpolate images to a size, cropped to its aspect ratio, or padded with ``fill``."""
    before, borders = _known_sizes(request, x, size), []
    for n, other, m, k in zip(before, before[::-1], size, size[::-1]):
        fitting = max(int(other * m / k), 1)
        cut, pad = max(n - fitting, 0), max(fitting - n, 0) // 2
        borders.append((-(cut // 2), cut // 2 - cut) if fill is None else (pad, pad))
    return _framed(request, x, borders, size, [(0, 0)] * 2, fill or 0.0, (method, antialias))


def resized_within(
    request: Request, x: Value, size: Sequence[int], method: str, antialias: bool, pad: bool = False
) -> Lowered:
    """Interpolate images to the largest size of their aspect ratio within a size, and perhaps pad."""
    # TensorFlow computes in float32, divides where it pads, and rounds where it does not.
    old, new = (np.array(n, "float32") for n in (_known_sizes(request, x, size), size))
    exact = old / (old / new).max() if pad else old * (new / old).min()
    fitted = [int(n) for n in (np.floor(exact) if pad else np.round(exact))]
    starts = [max(0, int(n)) for n in np.floor((new - exact) / 2)]
    around = [(a, m - n - a) if pad else (0, 0) for a, n, m in zip(starts, fitted, size)]
    return _framed(request, x, [(0, 0)] * 2, fitted, around, 0.0, (method, antialias))


def _known_sizes(request: Request, x: Value, size: Sequence[Any]) -> List[Any]:
    """Return the height and the width of images; raise if they, or the new ones, are not known."""
    before: List[Any] = [x.shape[axis] for axis in spatial(request, x, 2)[0]]
    if None in before or any(isinstance(n, Size) for n in size):
        raise Unsupported("images of unknown size are not supported")
    return before


def _framed(request, x, borders, size, around, fill, how):
    """Add borders to images, interpolate them, and add other borders."""
    axes, order = spatial(request, x, 2)
    before: List[Any] = [x.shape[axis] for axis in axes]
    after = [n + sum(pair) for n, pair in zip(before, borders)]
    fitting = x._replace(shape=resized_to(axes, after)(x.shape))
    built = resized_images(request, fitting, size, *how)
    blocks = [
        Function(functions.add_borders, "Borders", before=tuple(n), borders=tuple(pairs), value=fill)
        for n, pairs in ((before, borders), (size, around))
    ]
    whole = [n + sum(pair) for n, pair in zip(size, around)]
    block = followed(request, blocks[0], built.block, *blocks[1:])
    return built._replace(block=block, axes=order, rule=resized_to(axes, whole))


def _matrices(
    method: str, before: Sequence[int], size: Sequence[int], antialias: bool
) -> List[np.ndarray]:
    """Return the weights along each axis, in float32."""
    pairs = [*zip(before, size)]
    limit(f"weights of {before} elements for {list(size)}", max(n * m for n, m in pairs), MOST_ELEMENTS)
    if method == "area":
        found = [functions.area_matrix(*pair) for pair in pairs]
    else:
        found = [functions.kernel_matrix(functions.KERNELS[method], *pair, antialias) for pair in pairs]
    return [each.astype("float32") for each in found]


@builds("Cropping{}D", "ZeroPadding{}D", ndims=(1, 2, 3))
def _borders(request: Request, x: Value, ndim: int) -> Lowered:
    pads = request.class_name.startswith("Zero")
    given = request.get("padding" if pads else "cropping")
    block = getattr(nn, request.class_name)(given, prefix=request.prefix)
    pairs, sign = block._amounts, 1 if pads else -1
    axes, order = spatial(request, x, ndim)

    def rule(shape: Shape) -> Shape:
        new = resized(shape, axes, lambda n, pair: n + sign * sum(pair), pairs)
        if any(n is not None and n < 1 for n in new):
            raise ValueError(f"cropping={pairs} removes all of an input of shape {shape}")
        return new

    padding = Padding(request.layer_name, block, pairs) if pads else None
    takes = "float32" if pads else x.number
    how: Any = dict(padding=padding, nonnegative=x.nonnegative, takes=takes)
    return Lowered(None if pads else block, order, (order,), rule, **how)


@builds("UpSampling{}D", ndims=(1, 2, 3))
def _upsampling(request: Request, x: Value, ndim: int) -> Lowered:
    times = request.axes("size", ndim)
    how = request.word("interpolation", _KNOWN, "nearest")
    limit(f"size={list(times)}", max(times))
    if how != "nearest" and ndim != 2:
        raise Unsupported(f"interpolation={how!r} is only for images")
    axes, order = spatial(request, x, ndim)
    if how not in ("nearest", "bilinear"):
        size: List[Any] = [Size(None, (x, axis), n) for axis, n in zip(axes, times)]
        if how != "bicubic" and None not in x.shape[1:]:
            size = [x.shape[n.source[1]] * n.times for n in size]
        return resized_images(request, x, size, how)
    fields: Any = dict(order=order, input_axes=(order,))
    if how == "nearest":
        return request.lowered(functions.repeat_elements, x, times=times, **fields)
    centers = request.version >= (2, 3)
    built = request.lowered(functions.interpolate, x, times=times, centers=centers, **fields)
    return _rounded(request, x, how, built)


@computes("central_crop", "resize_with_crop_or_pad")
def _central(
    op: Request, x: Value, central_fraction: float = 1, target_height: int = 0, target_width: int = 0
) -> Lowered:
    before = [size_of(op, of_rank(x, 4), axis) for axis in (1, 2)]
    size: List[Any] = [target_height, target_width]
    if op.name == "central_crop":
        size = [n - 2 * int((n - n * central_fraction) / 2) for n in before]
    if not 0 < central_fraction <= 1:
        raise Unsupported(f"{op.name} by {central_fraction}")
    if any(isinstance(n, Size) for n in size) or min(size) < 1:
        raise Unsupported(f"{op.name} to {size} of shape {x.shape}")
    # One element more is cut or added at the end, if their number is odd.
    starts = [(m - n) // 2 if m > n else -((n - m) // 2) for n, m in zip(before, size)]
    borders = [(start, m - n - start) for n, m, start in zip(before, size, starts)]
    order = channels_first(4)
    fields: Any = dict(order=order, input_axes=(order,), rule=resized_to((1, 2), size))
    return op.lowered(functions.add_borders, x, before=before, borders=borders, value=0.0, **fields)


@computes("crop_to_bounding_box", "pad_to_bounding_box")
def _box(
    op: Request, x: Value, offset_height: int, offset_width: int, target_height: int,
    target_width: int,
) -> Lowered:  # fmt: skip
    return _border(op, x, offset_height, offset_width, None, None, target_height, target_width)


@computes("crop_images", "pad_images")
def _border(
    op: Request, x: Value, top: Optional[int] = None, left: Optional[int] = None,
    bottom: Optional[int] = None, right: Optional[int] = None, target_height: Optional[int] = None,
    target_width: Optional[int] = None,
) -> Lowered:  # fmt: skip
    """Crop or pad by two numbers for each side: of before, after, and the size of the result."""
    sides: Any = (top, bottom, target_height), (left, right, target_width)
    crops = op.name.startswith("crop")
    for side, n in zip(sides, of_rank(x, 4).shape[1:3]):
        given, size = [each for each in side if each is not None], side[2]
        if any(isinstance(each, Size) for each in given):
            raise Unsupported(f"{op.name} by numbers that are computed")
        fits = len(given) == 2 and min(given) >= 0 and size != 0
        if fits and n is not None and (crops or size is not None):
            around = sum(given) - (size or 0)
            fits = around + (size or 1) <= n if crops else around + n <= size
        if not fits:
            raise ValueError(f"{op.name} of shape {x.shape} by {sides}")

    def rule(shape: Shape) -> Shape:
        pairs = zip(shape[1:3], sides)
        sizes = (size or n and n + (a + b) * (-1 if crops else 1) for n, (a, b, size) in pairs)
        return (shape[0], *sizes, shape[3])

    how: Any = dict(axes=(x.stored(1), x.stored(2)), order=x.axes, rule=rule, takes=None)
    if crops:
        bounds = [(-b - n if a is None else a, a + n if b is None else -b or None) for a, b, n in sides]
        return op.lowered(functions.crop_to, x, bounds=bounds, nonnegative=x.nonnegative, **how)
    if any(before is None for before, _, _ in sides):
        raise Unsupported(f"{op.name} by a height or width and what follows: give what is before")
    limit(f"{op.name} by {sides}", math.prod(sum(filter(None, side)) + 1 for side in sides))
    return op.lowered(functions.pad_to, x, sides=sides, **how)
