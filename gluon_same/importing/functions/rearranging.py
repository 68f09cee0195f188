"""Functions that move, repeat or drop elements."""

from typing import Any, Optional, Sequence, Tuple

from ...arrays import apart
from ...gradients import cuts_blocks


def repeat_vector(F: Any, x: Any, times: int) -> Any:
    """Repeat vectors along a new axis after the batch."""
    return F.repeat(F.expand_dims(x, axis=1), repeats=times, axis=1)


def slices(
    F: Any, x: Any, parts: Sequence[Any], dropped: Tuple[int, ...], added: int,
    second: Tuple[int, int] = (0, 0),
) -> Any:  # fmt: skip
    """Slice by one (begin, end, step) for each axis; drop axes of size 1; add some after the batch.

    ``second`` are other bounds of the second axis, within it. In oneDNN's blocks of channels, MXNet's
    ``slice`` of some channels ends the process, and its ``slice_axis`` requires bounds within the axis.
    """
    if any(second):
        x = F.slice_axis(x, axis=1, begin=second[0], end=second[1])
    if any(part != (None, None, 1) for part in parts):
        begin, end, step = zip(*parts)
        if len(parts) in (2, 4) and min(n or 0 for n in begin) < 0:
            # oneDNN's slice of so many axes fails at bounds before the first element.
            begin, end, step = (None, *begin), (None, *end), (1, *step)
            x = F.squeeze(F.slice(F.expand_dims(x, axis=0), begin=begin, end=end, step=step), axis=0)
        else:
            x = F.slice(x, begin=begin, end=end, step=step)
    x = F.squeeze(x, axis=dropped) if dropped else x
    for _ in range(added):
        x = F.expand_dims(x, axis=1)
    return x


def plainly(F: Any, x: Any) -> Any:
    """Return an array in MXNet's own memory layout, by an operator that oneDNN lacks."""
    return F._internal._maximum(x, x)


def flip(F: Any, x: Any, axes: Sequence[int]) -> Any:
    """Reverse the order of the elements along some axes, counted from the first.

    MXNet's ``reverse`` is not used, because it is slower, and its gradient ignores ``grad_req='add'``.
    """
    step = [-1 if axis in axes else 1 for axis in range(max(axes, default=0) + 1)]
    return F.slice(x, begin=(None,) * len(step), end=(None,) * len(step), step=step)


def difference(F: Any, x: Any, axis: int, times: int) -> Any:
    """Subtract from each element along an axis the one before it, and repeat that ``times`` times."""
    for _ in range(times):
        later = F.slice_axis(x, axis=axis, begin=1, end=None)
        x = F.elemwise_sub(later, F.slice_axis(x, axis=axis, begin=0, end=-1))
    return x


def roll(F: Any, x: Any, shifts: Sequence[int], axes: Sequence[int]) -> Any:
    """Move the elements along axes by numbers of positions, and those beyond the end to the start.

    The absolute value of each shift must be less than the size of its axis.
    """
    for n, axis in zip(shifts, axes):
        if n:
            end = F.slice_axis(x, axis=axis, begin=-n, end=None)
            x = F.concat(end, F.slice_axis(x, axis=axis, begin=0, end=-n), dim=axis)
    return x


def exactly(F: Any, x: Any, axis: int, size: Optional[int]) -> Any:
    """Return an array; raise an error if an axis has another size. None allows any."""
    if size is None:
        return x
    x = F.reshape(x, shape=(*(0,) * axis, -4, size, 1, -2))
    return F.reshape(x, shape=(*(0,) * axis, -3, -2))


def longer(F: Any, x: Any, axes: Sequence[int]) -> Any:
    """Return an array; raise an error if one of some axes has fewer than two elements."""
    for axis in axes:
        parts = (F.slice_axis(x, axis=axis, begin=b, end=e) for b, e in ((0, 1), (1, None)))
        x = F.concat(*parts, dim=axis)
    return x


def join_columns(F: Any, *columns: Any, dim: int = 1) -> Any:
    """Concatenate arrays of two axes.

    oneDNN keeps joined columns in memory of its own, and its softmax crashes for more columns than rows.
    A reshape copies them to plain memory.
    """
    return F.reshape(F.concat(*columns, dim=dim), shape=(0, -1))


def join(F: Any, *arrays: Any, dim: int) -> Any:
    """Concatenate arrays whose gradient oneDNN cannot split: see :func:`how_to_join`."""
    return apart(F, F.concat(*arrays, dim=dim))


def how_to_join(axis: int, *shapes: Sequence[Optional[int]]) -> Any:
    """Return the function that concatenates arrays along an axis."""
    if axis == 1 and len(shapes[0]) == 2 and shapes[0][1] == 1:
        return join_columns
    return join if cuts_blocks(axis, shapes) else "concat"


def split(F: Any, x: Any, axis: int, sizes: Sequence[int]) -> Any:
    """Cut an axis into parts of the given sizes, which must add up to the size of the axis."""
    x = exactly(F, x, axis, sum(sizes))
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    pairs = zip(ends, sizes)
    return [F.slice_axis(x, axis=axis, begin=end - n, end=end) for end, n in pairs]


def tile(F: Any, x: Any, times: Sequence[int]) -> Any:
    """Repeat the array along each axis; one by one, because MXNet's operator is limited to 5 axes."""
    for axis, count in enumerate(times):
        if count > 1:
            x = F.tile(x, reps=(count, *(1,) * (len(times) - axis - 1)))
    return x


def depth_to_space(F: Any, x: Any, block: int, columns_first: bool = False) -> Any:
    """Move channels of channels-first images into blocks of pixels.

    The block's two axes are the slowest of the channels (ONNX's DCR), or the fastest if
    ``columns_first`` (CRD, as in PyTorch's PixelShuffle).
    """
    if not columns_first:
        return F.depth_to_space(x, block_size=block)
    x = F.reshape(x, shape=(0, -4, -1, block * block, 0, 0))
    x = F.reshape(x, shape=(0, 0, -4, block, block, 0, 0))
    return F.reshape(F.transpose(x, axes=(0, 1, 4, 2, 5, 3)), shape=(0, 0, -3, -3))


def space_to_depth(F: Any, x: Any, block: int, columns_first: bool = False) -> Any:
    """Move blocks of pixels of channels-first images into channels: the reverse of depth_to_space."""
    y = F.space_to_depth(x, block_size=block)
    if not columns_first:
        return y
    y = F.reshape(y, shape=(0, -4, block * block, -1, 0, 0))
    return F.reshape(F.swapaxes(y, 1, 2), shape=(0, -3, 0, 0))


def along(F: Any, numbers: Any, axis: Optional[int], rank: int) -> Any:
    """Return numbers along an axis, in a shape that broadcasts; one number if the axis is None.

    If the axis is ``rank``, the numbers have all axes.
    """
    if axis == rank:
        return numbers
    return F.reshape(numbers, shape=[-1 if i == axis else 1 for i in range(rank)])


def merge_axes(F: Any, x: Any, first: int, count: int, rank: int) -> Any:
    """Merge consecutive axes into one. No axes become one of size 1."""
    if not count:
        return F.expand_dims(x, axis=first)
    for done in range(1, count):
        x = F.reshape(x, shape=(*(0,) * first, -3, *(0,) * (rank - first - done - 1)))
    return x
