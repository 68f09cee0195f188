"""Functions that keep what the data select, so that the size of the result is known at run time only.

MXNet has no arrays without elements: it raises an error if nothing is selected.
"""

from typing import Any, Optional, Sequence, Tuple

from .indexing import indices_along, places_along, select
from .padding import places_within
from .rearranging import along

#: Sizes that are computed are found by their multiple of the second number, which is below the first.
_BLOCKS = 2048, 1024


def selected(F: Any, x: Any, mask: Any) -> Any:
    """Return the rows of an array where a mask with one axis is not 0."""
    return F.identity(F.contrib.boolean_mask(x, mask != 0))  # ``identity`` raises the error at once


def compress(F: Any, x: Any, mask: Any, axis: int) -> Any:
    """Keep the indices of an axis where a mask, which may be shorter, is not 0."""
    rows = F.slice_like(F.swapaxes(x, dim1=0, dim2=axis), mask, axes=(0,))
    return F.swapaxes(selected(F, rows, mask), dim1=0, dim2=axis)


def part_between(F: Any, x: Any, starts: Any, ends: Any, axis: int, i: int) -> Any:
    """Return the part of an axis from the i-th start to the i-th end, as a slice of Python does."""
    places = places_along(F, x, axis)
    size = F.slice_axis(places, axis=0, begin=-1, end=None) + 1  # shape_array requires known axes
    bounds = (_number(F, each, i) for each in (starts, ends))
    start, end = (F.broadcast_add(each, F.broadcast_mul(each < 0, size)) for each in bounds)
    kept = F.broadcast_greater_equal(places, start) * F.broadcast_lesser(places, end)
    return F.take(x, selected(F, places, kept), axis=axis)


def pad_by_numbers(
    F: Any, x: Any, amounts: Any, axis: int, ndim: int, at: Tuple[int, int], how: Tuple[str, float]
) -> Any:
    """Lengthen an axis by the numbers at two places: of elements before and after it.

    ``how`` are the mode and the value, as for :func:`~gluon_same.importing.functions.pad`.
    """
    size = F.slice_axis(places_along(F, x, axis), axis=0, begin=-1, end=None)
    (before, after), (mode, value) = (_number(F, amounts, i) for i in at), how
    total = F.broadcast_add(F.broadcast_add(before, after), size + 1)
    place = F.broadcast_sub(F.cast(line_of(F, total, 0), "int64"), before)
    inside = F.broadcast_equal(place, places_within(F, place, size, "edge"))
    y = F.take(x, places_within(F, place, size, mode), axis=axis)
    if mode != "constant":
        return y
    return select(F, along(F, F.cast(inside, "float32"), axis, ndim), y, F.zeros_like(y) + value)


def line_of(F: Any, numbers: Any, i: int) -> Any:
    """Return an array with one axis, as long as the i-th number says."""
    count = _number(F, numbers, i)
    line = F.contrib.arange_like(F.broadcast_to(count, shape=_BLOCKS[:1]))
    line = F.repeat(selected(F, line, F.broadcast_lesser(line * _BLOCKS[1], count)), repeats=_BLOCKS[1])
    line = F.contrib.arange_like(line)
    line = selected(F, line, F.broadcast_lesser(line, count))
    last = F.take(line, count - 1, axis=0, mode="raise")  # raises an error if it is too long
    return F.cast(F.broadcast_add(line, last * 0), dtype="float32")


def whole_shape(F: Any, x: Any, numbers: Any) -> Any:
    """Return the sizes of an array in another shape, of which the one that is -1 follows, as int64."""
    numbers = _whole_line(F, numbers)
    product = F.prod(numbers, keepdims=True)
    rest = F.broadcast_div(F.size_array(x), product + (product == 0))  # by 0, the process would end
    return F.where(numbers < 0, F.broadcast_like(-rest, numbers), numbers)


def _number(F, numbers, i):
    return F.slice_axis(_whole_line(F, numbers), axis=0, begin=i, end=i + 1)


def _whole_line(F, numbers):
    return F.cast(F.reshape(numbers, shape=(-1,)), "int64")


def nonzero(F: Any, x: Any, rank: int) -> Any:
    """Return the coordinates of elements other than 0, as int64 of shape (rank, elements)."""
    every = (F.broadcast_like(indices_along(F, x, axis, rank), x) for axis in range(rank))
    places = F.stack(*(F.reshape(each, shape=(-1,)) for each in every), axis=1)
    return F.transpose(selected(F, places, F.reshape(x, shape=(-1,))))


def non_max_suppression(
    F: Any, boxes: Any, scores: Any, most: int, limits: Tuple[float, Optional[float]], center: bool,
    tops: Sequence[int] = (),
) -> Any:  # fmt: skip
    """Return (batch, class, box) of the boxes that overlap with no box of a higher score, as int64.

    Boxes have shape (batch, boxes, 4), and are two opposite corners, or center and size; scores have
    shape (batch, classes, boxes). Each class keeps at most ``most``, with scores above the second limit,
    and none whose intersection over union with a kept one is above the first. ``tops`` are numbers of
    boxes with the highest scores that are tried first, one after another, as long as fewer are kept.
    """
    overlap, least = limits
    one, other = (F.slice_axis(boxes, axis=2, begin=i, end=i + 2) for i in (0, 2))
    if center:
        pair = one - other / 2, one + other / 2
    else:
        pair = F.broadcast_minimum(one, other), F.broadcast_maximum(one, other)
    if least is None:
        scores, least = F.maximum(scores, -3.4028235e38), -float("inf")
    scores = F.expand_dims(scores, axis=3)
    corners = F.expand_dims(F.concat(*pair, dim=2), axis=1)
    corners = F.broadcast_like(corners, scores, lhs_axes=(1,), rhs_axes=(1,))
    batch, label, box = (indices_along(F, scores, axis, 4, "float32") for axis in range(3))
    rows = F.reshape(F.concat(F.broadcast_like(box, scores), scores, corners, dim=3), shape=(-3, 0, 0))
    how = dict(overlap_thresh=overlap, valid_thresh=least, force_suppress=True)
    if tops:
        kept = _best_boxes(F, rows, most, how, *tops, -1)
    else:
        kept = _numbers_of(F, F.contrib.box_nms(rows, **how))
    box = F.reshape_like(kept, scores, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)
    places = F.concat(F.broadcast_like(batch, box), F.broadcast_like(label, box), box, dim=3)
    places = F.reshape(F.cast(places, dtype="int64"), shape=(-1, 3))
    fits = F.broadcast_lesser(indices_along(F, box, 2, 4, "float32"), box * 0 + most) * (box >= 0)
    return selected(F, places, F.reshape(fits, shape=(-1,)))


def _best_boxes(F, rows, most, how, top, *more):
    """Return the numbers of the first ``most`` boxes that are kept in each row, and -1 behind them.

    MXNet compares all boxes of a row with one another. To save time, those are left out whose scores are
    too low in all rows, and only ``top`` are tried at first, and more of them in rows where too few are
    kept then. Boxes and rows without scores come in front, so that there are some.
    """
    fits = F.slice_axis(rows, axis=2, begin=1, end=2) > how["valid_thresh"]
    used = _behind_one(F, F.max(fits, axis=(0, 2)))
    rows = compress(F, F.concat(_lowest(F, rows, 1, how), rows, dim=1), used, axis=1)
    kept = _numbers_of(F, F.contrib.box_nms(rows, topk=top, **how))
    none = F.tile(F.slice_axis(kept, axis=1, begin=0, end=1) * 0 - 1, reps=(1, most, 1))
    kept = F.slice_axis(F.concat(kept, none, dim=1), axis=1, begin=0, end=most)
    if not more:
        return kept
    again = (F.sum(kept >= 0, axis=(1, 2)) < most) * (F.sum(fits, axis=(1, 2)) > top)
    rows = F.concat(_lowest(F, rows, 0, how), rows, dim=0)
    others = _best_boxes(F, selected(F, rows, _behind_one(F, again)), most, how, *more)
    return F.where(again, F.take(others, F.cumsum(again, axis=0) * again), kept)


def _numbers_of(F, rows):
    return F.slice_axis(rows, axis=2, begin=0, end=1)


def _lowest(F, rows, axis, how):
    return F.slice_axis(rows, axis=axis, begin=0, end=1) * 0 + how["valid_thresh"]


def _behind_one(F, mask):
    return F.concat(F.slice_axis(mask, axis=0, begin=0, end=1) * 0 + 1, mask, dim=0)


#: Functions whose results have sizes that follow from numbers.
SELECTING = {selected, compress, line_of, nonzero, non_max_suppression, pad_by_numbers, part_between}
