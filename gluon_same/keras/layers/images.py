"""Functions of images: convolutions, poolings, resizing, colors."""

import math
from typing import Any, Dict, List, Optional

import numpy as np

from ...importing import functions
from ..arguments import Arguments, Unsupported, limit
from ..values import Shape, Size, Value, channels_first
from .operations import Operation
from .registry import OPERATIONS, Lowered, computes, of_rank
from .signatures import Operand
from .sizes import resized_at_ratio, resized_images


def _window(x: Value, given: Any, what: str) -> List[int]:
    """Return one number for each spatial axis, from one for each axis of the data, or one for all."""
    ndim = x.rank - 2
    items = given if isinstance(given, list) else [given]
    if len(items) == x.rank and items[0] == items[-1] == 1:
        items = items[1:-1]
    items = items * ndim if len(items) == 1 else items
    if len(items) != ndim or not 1 <= ndim <= 3:
        raise Unsupported(f"{what}={given!r} of an array with {x.rank} axes")
    return items


@computes("conv", "depthwise_conv")
def _convolution(
    op: Operation, x: Value, kernel: Operand, strides: Any = 1, padding: str = "valid",
    dilation_rate: Any = None,
) -> Lowered:  # fmt: skip
    if isinstance(kernel, Value) or kernel.ndim != x.rank or not x.channels:
        raise Unsupported(f"{op.name} by what is not a constant array with {x.rank} axes")
    rates = _window(x, 1 if dilation_rate is None else dilation_rate, "dilation_rate")
    config: Dict[str, Any] = dict(strides=_window(x, strides, "strides"), padding=padding)
    config.update(dilation_rate=rates, kernel_size=list(kernel.shape[:-2]), use_bias=False)
    name = f"Conv{x.rank - 2}D"
    if op.name == "conv":
        groups, rest = divmod(x.channels, kernel.shape[-2])
        config.update(filters=kernel.shape[-1], groups=groups)
    else:
        rest = x.channels - kernel.shape[-2]
        config.update(depth_multiplier=kernel.shape[-1])
        name = f"Depthwise{name}"
    if rest:
        raise ValueError(f"{op.name} of shape {x.shape} by a kernel of shape {kernel.shape}")
    return op.layer(name, x, config, kernel.astype("float32"))


@computes("extract_patches")
def _patches(
    op: Operation, x: Value, size: List[int], strides: Any = None, padding: str = "valid",
    dilation_rate: Any = 1,
) -> Lowered:  # fmt: skip
    window = _window(of_rank(x, 4), size, "size")
    count = math.prod(window) * (x.channels or 0)
    limit(f"patches of {count} elements", count)
    kernel = np.eye(count, dtype="float32").reshape((*window, -1, count))
    how = dict(strides=window if strides is None else strides, padding=padding)
    return _convolution(op._replace(name="conv"), x, kernel, dilation_rate=dilation_rate, **how)


@computes("max_pool", "average_pool")
def _pool(
    op: Operation, x: Value, pool_size: Any, strides: Any = None, padding: str = "valid"
) -> Lowered:
    size = _window(x, pool_size, "ksize")
    steps = size if strides is None else _window(x, strides, "strides")
    config = dict(pool_size=size, strides=steps, padding=padding)
    kind = "Max" if op.name == "max_pool" else "Average"
    return op.layer(f"{kind}Pooling{x.rank - 2}D", x, config)


@computes("local_response_normalization")
def _local_response(
    op: Operation, x: Value, depth_radius: int = 5, bias: float = 1, alpha: float = 1,
    beta: float = 0.5,
) -> Lowered:  # fmt: skip
    order = channels_first(of_rank(x, 4).rank)
    size = 2 * depth_radius + 1
    if size < 1:
        raise ValueError(f"{op.name} over {size} channels")
    limit(f"{op.name} over {size} channels", size)
    how: Any = dict(nsize=size, alpha=alpha * size, beta=beta, knorm=bias)
    return op.lowered("LRN", x, order=order, input_axes=(order,), rule=lambda shape: shape, **how)


@computes("crop_to_bounding_box", "pad_to_bounding_box")
def _box(
    op: Operation, x: Value, offset_height: int, offset_width: int, target_height: int,
    target_width: int,
) -> Lowered:  # fmt: skip
    sides = (offset_height, None, target_height), (offset_width, None, target_width)
    return (_cropped if op.name.startswith("crop") else _padded)(op, x, sides)


@computes("crop_images", "pad_images")
def _border(
    op: Operation, x: Value, top: Optional[int] = None, left: Optional[int] = None,
    bottom: Optional[int] = None, right: Optional[int] = None, target_height: Optional[int] = None,
    target_width: Optional[int] = None,
) -> Lowered:  # fmt: skip
    sides = (top, bottom, target_height), (left, right, target_width)
    return (_cropped if op.name == "crop_images" else _padded)(op, x, sides)


def _checked(op: Operation, x: Value, sides: Any, least: int) -> None:
    """Raise for what is not two numbers for each side: before, after, and the size of the result.

    ``least`` is the least that is left of the larger of the images.
    """
    for (*ends, size), n in zip(sides, of_rank(x, 4).shape[1:3]):
        if any(isinstance(each, Size) for each in (*ends, size)):
            raise Unsupported(f"{op.name} by numbers that are computed")
        known = [each for each in ends if each is not None]
        fits = len(known) == (2 if size is None else 1) and min(known) >= 0 and size != 0
        total = sum(known) + (least if size is None else size)
        if not fits or (size or 0) < 0 or (least and n is not None and total > n):
            raise ValueError(f"{op.name} of shape {x.shape} by {sides}")


def _cropped(op: Operation, x: Value, sides: Any) -> Lowered:
    _checked(op, x, sides, 1)
    parts = []
    for before, after, size in sides:
        stop = before + size if after is None else -after or None
        start = -after - size if before is None else before
        parts.append(dict(start=start or None, stop=stop))
    return OPERATIONS["getitem"](op, x, [{}, *parts])


def _padded(op: Operation, x: Value, sides: Any) -> Lowered:
    _checked(op, x, sides, 0)
    if any(before is None for before, _, _ in sides):
        raise Unsupported(f"{op.name} by a height or width and what follows: give what is before")
    limit(f"{op.name} by {sides}", math.prod(sum(filter(None, side)) + 1 for side in sides))

    def rule(shape: Shape) -> Shape:
        pairs = zip(shape[1:3], sides)
        if any(size is not None and n is not None and n + at > size for n, (at, _, size) in pairs):
            raise ValueError(f"{op.name} of shape {shape} by {sides}")
        whole = (
            size if after is None else n and n + before + after
            for n, (before, after, size) in zip(shape[1:3], sides)
        )
        return (shape[0], *whole, shape[3])

    axes = x.stored(1), x.stored(2)
    how: Any = dict(axes=axes, sides=sides, rule=rule, takes=None)
    return op.lowered(functions.pad_to, x, order=x.axes, **how)


@computes("resize")
def _resize(
    op: Operation, x: Value, size: List[int], method: str = "bilinear", antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False, fill_value: float = 0,
) -> Lowered:  # fmt: skip
    if x.rank != 4 or len(size) != 2:
        raise ValueError(f"resize to {size} of shape {x.shape}")
    request = op.request._replace(arguments=Arguments({}))
    if crop_to_aspect_ratio or pad_to_aspect_ratio:
        fill = None if crop_to_aspect_ratio else fill_value
        return resized_at_ratio(request, x, size, fill, method, antialias)
    return resized_images(request, x, size, method, antialias)


@computes("rgb_to_grayscale")
def _gray(op: Operation, x: Value) -> Lowered:
    if x.channels != 3:
        raise ValueError(f"{op.name} of shape {x.shape}")
    weights = np.array([[0.2989, 0.587, 0.114]], "float32")
    return op.lowered(functions.resize_by_matrix, x, weights, axis=x.stored(-1), rank=x.rank)


@computes("adjust_brightness", "adjust_contrast")
def _adjusted(op: Operation, x: Value, delta: float = 0, contrast_factor: float = 1) -> Lowered:
    if x.rank != 4:
        raise ValueError(f"{op.name} of shape {x.shape}")
    if op.name == "adjust_brightness":
        return op.each(functions.scalar, x, kind="add", number=delta, first=False)
    axes = tuple(sorted((x.stored(1), x.stored(2))))
    return op.each(functions.adjust_contrast, x, factor=contrast_factor, axes=axes)
