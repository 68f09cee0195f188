"""Functions that crop and pad images."""

import math
from typing import Any, List, Optional

from ...importing import functions
from ..arguments import Unsupported, limit
from ..values import Shape, Size, Value, channels_first, resized, resized_to
from .operations import Operation, size_of
from .registry import Lowered, computes, of_rank


@computes("crop_to_bounding_box", "pad_to_bounding_box")
def _box(
    op: Operation, x: Value, offset_height: int, offset_width: int, target_height: int,
    target_width: int,
) -> Lowered:  # fmt: skip
    sides = (offset_height, None, target_height), (offset_width, None, target_width)
    return (_cropped if op.name.startswith("crop") else _padded)(op, x, sides)


@computes("central_crop", "resize_with_crop_or_pad")
def _central(
    op: Operation, x: Value, central_fraction: float = 1, target_height: int = 0, target_width: int = 0
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
    bounds = []
    for before, after, size in sides:
        stop = before + size if after is None else -after or None
        bounds.append((-after - size if before is None else before, stop))

    def left(n: int, side: Any) -> int:
        before, after, size = side
        return n - before - after if size is None else size

    rule = lambda shape: resized(shape, (1, 2), left, sides)  # noqa: E731
    how: Any = dict(axes=(x.stored(1), x.stored(2)), bounds=bounds, rule=rule, takes=None)
    return op.lowered(functions.crop_to, x, order=x.axes, nonnegative=x.nonnegative, **how)


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
