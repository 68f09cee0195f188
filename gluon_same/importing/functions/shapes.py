"""Functions whose sizes come from other arrays, so that one graph serves every size."""

from typing import Any, Optional, Tuple

from .elementwise import of_numbers
from .indexing import eye_like, places_along
from .padding import pad, places_within
from .rearranging import along, merge_axes


def constant(F: Any, x: Any, value: Any) -> Any:
    """Return a constant. ``x`` is any array, because a block has at least one input."""
    return F.identity(value)


def after(F: Any, x: Any, *others: Any, to: str) -> Any:
    """Return an array, of dtype ``to``, and make graphs compute others too, which may raise errors."""
    for other in others:
        x = F.broadcast_add(x, F.cast(F.sum(F.zeros_like(other)), dtype=to))
    return x


def as_boolean(F: Any, x: Any) -> Any:
    """Return 1 where an array is not 0, and 0 elsewhere, in float32."""
    return F.cast(x != 0, dtype="float32")


def trues(F: Any, x: Any) -> Any:
    """Return ones of the shape of an array, in float32."""
    return F.cast(F.ones_like(x), dtype="float32")


def split_like(F: Any, x: Any, like: Any, axis: int, other_axis: int, count: int) -> Any:
    """Split one axis into as many as another array has from ``other_axis`` on, of the same sizes.

    A reshape comes first, which copies oneDNN's blocks of channels to plain memory: of a result in such
    blocks, ``reshape_like`` makes one that other operators of oneDNN cannot read.
    """
    x = F.reshape(x, shape=(-2,))
    ends = {"lhs_end": axis + 1, "rhs_begin": other_axis, "rhs_end": other_axis + count}
    return F.reshape_like(x, like, lhs_begin=axis, **ends)


def unfolded_like(
    F: Any, x: Any, like: Any, *others: Any, lengths: Any, count: int, tail: Tuple[int, ...]
) -> Any:
    """Reshape to the sizes of the first ``count`` axes of another array, and further ones.

    ``lengths`` are the sizes after the batch, as for :func:`line_of_sizes`, if they are not the array's.
    """
    if lengths:
        sized = along(F, places_along(F, like, 0, "float32"), 0, count)
        for axis, length in enumerate(lengths, 1):
            line = line_of_sizes(F, like, *others, **length)
            sized = F.broadcast_add(sized, along(F, line, axis, count))
        like = sized
    return split_like(F, F.reshape(x, shape=(-1, *tail)), like, 0, 0, count)


def merged(F: Any, x: Any, *lines: Any, count: int, axes: Tuple[int, ...], rank: int) -> Any:
    """Merge the first axes, and raise an error unless some axes are as long as lines."""
    x = merge_axes(F, x, 0, count, rank)
    for axis, line in zip(axes, lines):
        x = split_like(F, x, line, axis, 0, 1)
    return x


def spread_like(F: Any, x: Any, like: Any, others: Tuple[int, ...], to: str) -> Any:
    """Broadcast an array, of dtype ``to``, to the sizes of another one, except along some axes."""
    ones = F.cast(F.ones_like(like), dtype=to)
    return F.broadcast_mul(x, F.max(ones, axis=others, keepdims=True) if others else ones)


def slice_axis_like(F: Any, x: Any, like: Any, axis: int, other_axis: int, ndim: int) -> Any:
    """Cut the end of an axis to the size of another array's axis."""
    sized = along(F, F.contrib.arange_like(like, axis=other_axis), axis, ndim)
    return F.slice_like(x, sized, axes=(axis,))


def part_from(F: Any, x: Any, like: Any, starts: Any, i: int, axes: Tuple[int, int], behind: int) -> Any:
    """Return a part of an axis from the i-th start on, as long as another array's axis.

    ``axes`` are those of ``x`` and of ``like``. ``behind`` is added to the start. Raise an error where
    the part is not within the axis, which ONNX would count backwards, or cut.
    """
    start = F.slice_axis(starts, axis=0, begin=i, end=i + 1) + behind
    start = start + F.broadcast_minimum(start, F.zeros_like(start)) * 2**20
    places = places_along(F, like, axes[1])
    return F.take(x, F.broadcast_add(places, start), axis=axes[0], mode="raise")


def arange_along(F: Any, like: Any, axis: int, start: float, step: float, to: str) -> Any:
    """Return evenly spaced numbers, as many as an axis of another array has elements."""
    return places_along(F, like, axis, to) * step + start


def spaced_along(F: Any, like: Any, start: float, stop: float) -> Any:
    """Return evenly spaced numbers from one to another, as many as a line has elements."""
    places = places_along(F, like, 0, "float32")
    last = F.slice_axis(places, axis=0, begin=-1, end=None)
    return F.broadcast_div(places * (stop - start), F.maximum(last, 1)) + start


def identity_matrix(F: Any, rows: Any, columns: Any) -> Any:
    """Return ones on the diagonal of a matrix, and zeros elsewhere, with the sizes of two lines."""
    table = F.broadcast_add(*(along(F, line, i, 2) for i, line in enumerate((rows, columns))))
    return F.cast(eye_like(F, table, 0), dtype="float32")


def shape_of(F: Any, x: Any, begin: int, end: Optional[int]) -> Any:
    """Return sizes of an array as int64."""
    return F.slice_axis(F.shape_array(x), axis=0, begin=begin, end=end)


def as_large(F: Any, x: Any, *likes: Any, axes: Any) -> Any:
    """Repeat axes with one element to sizes of other arrays, given as pairs of axes."""
    for like, (axis, other) in zip(likes, axes):
        x = F.broadcast_like(x, like, lhs_axes=(axis,), rhs_axes=(other,))
    return x


def part_along(F: Any, x: Any, line: Any, start: Any = None, *, axis: int, begin: int, rank: int) -> Any:
    """Return a part of an axis, as long as a line, from ``begin`` or the number in an array on.

    Raise an error where the part is not within the axis.
    """
    if start is not None:
        return part_from(F, x, line, start, 0, (axis, 0), 0)
    x = F.slice_axis(x, axis=axis, begin=begin, end=None) if begin else x
    return F.slice_like(x, along(F, line, axis, rank), axes=(axis,))


def pad_along(
    F: Any, x: Any, line: Any, *first: Any, axis: int, before: int, rank: int, how: Tuple[str, float]
) -> Any:
    """Lengthen an axis to the size of a line, by ``before`` or the number in an array in front.

    ``how`` are the mode and the value. Raise an error where a number of elements is negative, or larger
    than the mode can repeat.
    """
    mode, value = how
    places = F.contrib.arange_like(line)
    places = F.broadcast_sub(places, *first) if first else places - before
    last = F.cast(shape_of(F, x, axis, axis + 1), dtype="float32") - 1
    found = inside = F.broadcast_minimum(F.relu(places), last)
    if mode in ("reflect", "symmetric"):
        half = 0.5 if mode == "symmetric" else 0
        end = last + 2 * half
        found = F.broadcast_sub(end, F.abs(F.broadcast_sub(end, F.abs(places + half)))) - half
    ends = [F.slice_axis(places, axis=0, begin=begin, end=begin + 1 or None) for begin in (0, -1)]
    found = F.broadcast_sub(found, (F.relu(ends[0]) + F.relu(last - ends[1])) * 2**20)
    x = F.take(x, F.cast(found, dtype="int64"), axis=axis, mode="raise")
    if mode == "constant":
        kept = F.broadcast_like(along(F, inside == places, axis, rank), x)
        x = F.where(kept, x, F.zeros_like(x) + value)
    return x


def line_of_sizes(F: Any, *arrays: Any, terms: Any, rest: int) -> Any:
    """Return a line with as many elements as a number that is computed from sizes of arrays.

    The number is a sum of terms and of ``rest``. A term ``(array, axis, more, step, factor)`` is
    ``(n + more) // step * factor`` for the size n of an axis, or two lengths that are multiplied.
    """
    arrays = tuple(map(F.BlockGrad, arrays))  # gradients of what is joined here crash MXNet
    one = F.cast(F.slice_axis(F.reshape(arrays[0], shape=(-1,)), axis=0, begin=0, end=1), "float32")
    parts = []
    for term in terms:
        if len(term) == 2:
            lines = (line_of_sizes(F, *arrays, **length) for length in term)
            table = F.broadcast_add(*(along(F, line, axis, 2) for axis, line in enumerate(lines)))
            parts.append(F.reshape(table, shape=(-1,)))
            continue
        array, axis, more, step, factor = term
        line = F.cast(F.contrib.arange_like(arrays[array], axis=axis), dtype="float32")
        line = F.concat(line, F.repeat(one, repeats=more), dim=0) if more else line
        line = F.slice(line, begin=(step - 1,), end=(None,), step=(step,)) if step > 1 else line
        parts.append(F.repeat(line, repeats=factor) if factor > 1 else line)
    if rest > 0:
        parts.append(F.repeat(one, repeats=rest))
    line = F.concat(*parts, dim=0) if len(parts) > 1 else parts[0]
    return F.slice_axis(line, axis=0, begin=-rest, end=None) if rest < 0 else line


def of_sizes(F: Any, *arrays: Any, tree: Any, rank: int, to: str) -> Any:
    """Return a number that is computed from sizes of arrays, in float64, in which products are exact.

    ``tree`` is a number, ``(array, axis, factor)``, or ``(function, *operands)``, which are trees.
    """

    def value(part):
        if isinstance(part, float):
            return part
        first, *rest = part
        if first in ("floor_divide", "mod"):
            x, y = map(value, rest)
            whole = F.floor(x / y)
            return whole if first == "floor_divide" else x - whole * y
        if isinstance(first, str):
            return of_numbers(F, first, *map(value, rest))
        axis, factor = rest
        return F.cast(shape_of(F, arrays[first], axis, axis + 1), dtype="float64") * factor

    return F.reshape(F.cast(value(tree), dtype=to), shape=(1,) * rank)


def steps_along(
    F: Any, like: Any, axis: int, times: int, begin: int, step: int, repeats: int = 1
) -> Any:
    """Return an array ``repeats`` times as long as ``range(begin, n * times, step)`` for a size n."""
    line = F.repeat(F.contrib.arange_like(like, axis=axis), repeats=times)
    if begin < 0:
        more = F.repeat(F.slice_axis(line, axis=0, begin=0, end=1), repeats=-begin)
        line = F.concat(line, more, dim=0)
    line = F.slice_axis(line, axis=0, begin=max(begin, 0), end=None)  # raises an error for no elements
    line = F.slice(line, begin=(None,), end=(None,), step=(step,)) if step > 1 else line
    return F.repeat(line, repeats=repeats) if repeats > 1 else line


def pad_to_multiple(
    F: Any, x: Any, axis: int, multiple: int, ndim: int, around: Tuple[int, int], how: Tuple[str, float]
) -> Any:
    """Lengthen an axis to the next multiple of a number, and by numbers around it, as ``pad`` does.

    ``how`` are the mode and the value.
    """
    blocks = F.slice(F.contrib.arange_like(x, axis=axis), begin=(None,), end=(None,), step=(multiple,))
    line = F.repeat(blocks, repeats=multiple)
    if max(around):
        line = F.concat(line, F.repeat(F.slice_axis(line, axis=0, begin=0, end=1), sum(around)), dim=0)
    (before, after), (mode, _) = around, how
    if mode in ("reflect", "wrap"):  # maybe of fewer elements than MXNet's Pad requires
        last = F.slice_axis(places_along(F, x, axis), axis=0, begin=-1, end=None)
        place = places_within(F, places_along(F, line, 0) - before, last, mode)
        return F.take(x, place, axis=axis)
    sized = along(F, line, axis, ndim)
    pairs = [(before, after + multiple - 1) if i == axis else (0, 0) for i in range(ndim)]
    return F.slice_like(pad(F, x, pairs, *how), sized, axes=(axis,))


def pad_like(F: Any, x: Any, like: Any, axis: int, other_axis: int, ndim: int, value: float) -> Any:
    """Lengthen an axis at its end to the size of another array's axis."""
    sized = along(F, F.contrib.arange_like(like, axis=other_axis), axis, ndim)
    edge = F.zeros_like(F.slice_axis(x, axis=axis, begin=0, end=1)) + value
    after = F.broadcast_like(edge, sized, lhs_axes=(axis,), rhs_axes=(axis,))
    return F.slice_like(F.concat(x, after, dim=axis), sized, axes=(axis,))
