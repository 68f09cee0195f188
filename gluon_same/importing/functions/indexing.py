"""Functions that pick, place, count and mask elements by their positions.

Positions may be negative. They are computed on integers, because float32 has none above 2 ** 24.
"""

from typing import Any, Optional, Sequence, Tuple

from ...arrays import foreach
from .elementwise import pairwise
from .padding import pad
from .rearranging import along, exactly, merge_axes


def indices_along(F: Any, x: Any, axis: int, rank: int, dtype: str = "int64") -> Any:
    """Return 0, 1, 2, ... along an axis, with size 1 along the others."""
    return along(F, places_along(F, F.BlockGrad(x), axis % rank, dtype), axis % rank, rank)


def places_along(F: Any, x: Any, axis: int, dtype: str = "int64") -> Any:
    """Return 0, 1, 2, ... as many as an axis has elements, also for arrays of 8 bits."""
    return F.contrib.arange_like(F.cast(F.contrib.arange_like(x, axis=axis), dtype=dtype))


def select(F: Any, condition: Any, x: Any, y: Any) -> Any:
    """Return elements of ``x`` where a condition is not 0, else of ``y``. All three broadcast."""
    return _numpy(F, "where", condition, x, y)


def select_first(F: Any, *arrays: Any, conditions: int) -> Any:
    """Return elements of the first array, after so many conditions, whose condition is not 0.

    The last array is for elements of which no condition holds.
    """
    y = arrays[-1]
    for condition, x in reversed([*zip(arrays, arrays[conditions:-1])]):
        y = select(F, condition, x, y)
    return y


def is_in(F: Any, x: Any, numbers: Any, invert: bool) -> Any:
    """Return whether elements are among some numbers, or are not."""
    same = F.broadcast_equal(F.expand_dims(x, axis=-1), numbers)
    found = F.cast(F.max(same, axis=-1), dtype="float32")
    return 1 - found if invert else found


def bitwise(F: Any, *arrays: Any, kind: str) -> Any:
    """Combine the bits of integers: ``kind`` is 'and', 'or', 'xor' or 'not'."""
    return _numpy(F, f"bitwise_{kind}", *arrays)


def _numpy(F, name, *arrays):
    return getattr(F.np, name)(*(x.as_np_ndarray() for x in arrays)).as_nd_ndarray()


def gather(
    F: Any, x: Any, indices: Any, axis: int = 0, drop: bool = False, size: Optional[int] = None,
    among: Optional[int] = None,
) -> Any:  # fmt: skip
    """Pick elements along an axis. ``drop`` declares that the index is a scalar, whose axis goes.

    Raise an error if the axis does not have ``size`` elements, or for indices that are not among those
    of ``among`` elements. Negative ones count from the end.
    """
    if among is not None:
        indices = F.elemwise_add(indices, (indices < 0) * among)
    mode = "wrap" if among is None else "raise"
    y = F.take(exactly(F, x, axis, size), indices, axis=axis, mode=mode)
    return F.squeeze(y, axis=axis) if drop else y


def gather_in_batch(F: Any, x: Any, indices: Any, ranks: Tuple[int, int], signed: int = 0) -> Any:
    """Pick elements along the second axis, by indices for each element of the batch.

    ``ranks`` are as for :func:`gather_nd`, with one more axis of the indices.
    """
    return gather_nd(F, x, F.expand_dims(indices, axis=-1), ranks, batch_dims=1, signed=signed)


def decide(F: Any, x: Any, features: Any, limits: Any, following: Any, roots: Any, depth: int) -> Any:
    """Return at which places trees end for each row of numbers, from their roots on.

    At each place, the next one is the following, plus 1 if a feature is at most the limit.
    """
    start = F.cast(F.zeros_like(F.slice_axis(x, axis=1, begin=0, end=1)), dtype="int64")
    place = F.broadcast_add(start, roots)
    for _ in range(depth):
        number = gather_in_batch(F, x, F.take(features, place), (3, 2))
        second = F.broadcast_lesser_equal(number, F.take(limits, place))
        place = F.elemwise_add(F.take(following, place), F.cast(second, dtype="int64"))
    return place


def element(F: Any, x: Any, index: int, axis: int, drop: bool) -> Any:
    """Return one index of an axis, which goes if ``drop``."""
    y = F.slice_axis(x, axis=axis, begin=index, end=index + 1 or None)
    return F.squeeze(y, axis=axis) if drop else y


def gather_elements(
    F: Any, x: Any, indices: Any, axis: int, rank: int, grown: Tuple[int, ...] = (), signed: bool = True
) -> Any:
    """Pick along an axis, for each element of ``indices``, the element of ``x`` at its position.

    ``grown`` are axes along which ``indices`` has one element, which is that of all positions, and
    ``signed`` tells whether indices may count from the end.
    """
    if grown:
        indices = F.broadcast_like(indices, x, lhs_axes=grown, rhs_axes=grown)
    if signed:
        indices = _from_the_start(F, x, F.cast(indices, dtype="int64"), axis % rank, 1, rank)
    return F.reshape_like(F.gather_nd(x, _coordinates(F, indices, axis, rank)), indices)


def gather_nd(
    F: Any, x: Any, indices: Any, ranks: Tuple[int, int], batch_dims: int = 0, signed: int = 0
) -> Any:
    """Pick parts of ``x`` by coordinates along the last axis of ``indices``.

    ``ranks`` are the numbers of axes of ``indices`` and of the result, and ``signed`` is that of
    coordinates, if they may count from the end.
    """
    rank, left = ranks
    indices = F.cast(indices, dtype="int64")
    if signed:
        indices = _from_the_start(F, x, indices, batch_dims, signed, rank)
    if rank == 1:  # MXNet requires two axes
        y = F.gather_nd(x, F.expand_dims(indices, axis=1))
        return F.squeeze(y, axis=0) if left else y
    one = F.slice_axis(indices, axis=-1, begin=0, end=1)
    batch = [_along(F, one, axis, rank) for axis in range(batch_dims)]
    return F.gather_nd(x, _first(F, F.concat(*batch, indices, dim=-1) if batch else indices, rank))


def scatter_elements(
    F: Any, x: Any, indices: Any, updates: Any, axis: int, rank: int, reduction: str = "none"
) -> Any:
    """Place updates along an axis, or combine them with the elements that are there."""
    places = _coordinates(F, indices, axis, rank)
    return _scatter(F, x, places, F.reshape(updates, shape=(-1,)), rank, rank, reduction)


def scatter_nd(
    F: Any, x: Any, indices: Any, updates: Any, ranks: Tuple[int, int], count: int,
    reduction: str = "none",
) -> Any:  # fmt: skip
    """Place parts by coordinates along the last axis of ``indices``, or combine them with ``x``.

    ``ranks`` are the numbers of axes of ``x`` and ``indices``, and ``count`` the size of the last axis
    of ``indices``.
    """
    rank, batch = ranks[0], ranks[1] - 1
    places = F.reshape(_first(F, F.cast(indices, dtype="int64"), batch + 1), shape=(0, -1))
    updates = merge_axes(F, updates, 0, batch, batch + rank - count)
    return _scatter(F, x, places, updates, rank, count, reduction)


def update(F: Any, x: Any, part: Any, pairs: Sequence[Tuple[int, int]]) -> Any:
    """Replace a part, with (before, after) elements around it along each axis."""
    inside = pad(F, F.ones_like(part), pairs)
    return select(F, F.cast(inside, dtype="float32"), pad(F, part, pairs), x)


def _scatter(F, x, places, updates, rank, count, reduction):
    """Place rows in data whose first ``count`` axes are merged, at places of shape (count, rows)."""
    sizes = F.shape_array(x)
    row = 0
    for axis in range(count):
        size = F.slice_axis(sizes, axis=0, begin=axis, end=axis + 1)
        place = F.reshape(F.slice_axis(places, axis=0, begin=axis, end=axis + 1), shape=(-1,))
        place = F.broadcast_add(place, F.broadcast_mul(place < 0, size))
        # MXNet writes outside of the array if a place is.
        place = F.broadcast_minimum(F.clip(place, 0, 2**62), size - 1)
        row = F.broadcast_add(F.broadcast_mul(row, size), place) if axis else place
    rows = merge_axes(F, x, 0, count, rank)
    if reduction == "none":
        # MXNet requires as many rows as updates.
        y = F.contrib.index_copy(F.concat(rows, updates, dim=0), row, updates)
        y = F.slice_like(y, rows, axes=(0,))
    else:

        def step(part, state):
            place, update = part
            old = F.take(state, place, axis=0, mode="clip")
            return update, F.contrib.index_copy(state, place, pairwise(F, reduction, old, update, True))

        # Places may repeat, so the updates follow one another.
        parts = [F.expand_dims(row, axis=1), F.expand_dims(updates, axis=1)]
        _, y = foreach(F, step, parts, rows)
    return F.reshape_like(y, x)


def _coordinates(F, indices, axis, rank):
    """Return the coordinates, of shape (rank, places), of places that are given along one axis."""
    axis, indices = axis % rank, F.cast(indices, dtype="int64")
    every = (indices if i == axis else _along(F, indices, i, rank) for i in range(rank))
    return F.stack(*(F.reshape(each, shape=(-1,)) for each in every), axis=0)


def _from_the_start(F, x, indices, axis, count, rank):
    """Return indices of some axes of data, of which negative ones count from the end.

    MXNet's ``gather_nd`` accepts these, and its gradient writes outside of the array.
    """
    sizes = F.slice_axis(F.shape_array(x), axis=0, begin=axis, end=axis + count)
    sizes = F.reshape(sizes, shape=(*(1,) * (rank - 1), count))
    return indices + F.broadcast_mul(indices < 0, sizes)


def _along(F, x, axis, rank):
    return F.broadcast_like(indices_along(F, x, axis, rank), x)


def _first(F, x, rank):
    return F.transpose(x, axes=(rank - 1, *range(rank - 1)))


def one_hot(
    F: Any, indices: Any, depth: int, axis: int, rank: int, values: Tuple[float, float], to: str
) -> Any:
    """Return the second value at an index along a new axis, and the first elsewhere.

    ``rank`` is the number of axes of the indices.
    """
    indices = indices + depth * (indices < 0)
    y = F.one_hot(indices, depth=depth, off_value=values[0], on_value=values[1], dtype=to)
    order = [*range(rank)]
    order.insert(axis % (rank + 1), rank)
    return y if order[-1] == rank else F.transpose(y, axes=order)


def topk(
    F: Any, x: Any, k: Optional[int], axis: int, rank: int, largest: bool = True
) -> Tuple[Any, Any]:
    """Return the ``k`` largest or smallest elements or all, sorted, and their indices as int64.

    The lower index is first among equal elements, whose order MXNet's operator leaves open.
    """
    axis %= rank  # cumsum has no negative axes
    order = F.argsort(x, axis=axis, is_ascend=not largest, dtype="int64")
    values = F.gather_nd(x, _coordinates(F, order, axis, rank))
    # Without a gradient right here, MXNet's backward pass would end the process.
    values, known = (F.reshape_like(each, order) for each in (values, F.BlockGrad(values)))
    before = F.concat(F.slice_axis(known, axis=axis, begin=0, end=1), known, dim=axis)
    rises = F.broadcast_not_equal(F.slice_axis(before, axis=axis, begin=0, end=-1), known)
    run = F.cumsum(F.cast(rises, dtype="int64"), axis=axis) * 2**32
    order = F.sort(run + order, axis=axis) - run
    return tuple(F.slice_axis(y, axis=axis, begin=0, end=k) for y in (values, order))


def order(F: Any, x: Any, k: int, axis: int, rank: int, largest: bool) -> Any:
    """Return the indices that sort all ``k`` elements of an axis."""
    return topk(F, exactly(F, x, axis, k), k, axis, rank, largest)[1]


def eye_like(F: Any, x: Any, k: int) -> Any:
    """Return int64 ones on a diagonal of a matrix of the same shape, and zeros elsewhere."""
    return F.broadcast_equal(indices_along(F, x, 1, 2), indices_along(F, x, 0, 2) + k)


def trilu(F: Any, x: Any, *k: Any, rank: int, upper: bool, diagonal: int = 0) -> Any:
    """Return the upper or lower triangles of matrices in the last two axes, and zeros elsewhere.

    The diagonal, which belongs to both, is a number or an array ``k`` of one element.
    """
    if rank > 5:  # more than MXNet's ``where`` takes
        y = trilu(F, merge_axes(F, x, 0, rank - 2, rank), *k, rank=3, upper=upper, diagonal=diagonal)
        return F.reshape_like(y, x)
    offset = F.broadcast_sub(indices_along(F, x, -1, rank), indices_along(F, x, -2, rank)) - diagonal
    for each in k:
        offset = F.broadcast_sub(offset, F.reshape(F.cast(each, dtype="int64"), shape=(1,) * rank))
    return select(F, offset >= 0 if upper else offset <= 0, x, F.zeros_like(x))


def band(F: Any, x: Any, lower: int, upper: int, rank: int) -> Any:
    """Return matrices with zeros outside of some diagonals below and above; all of them if negative."""
    if upper >= 0:
        x = trilu(F, x, rank=rank, upper=False, diagonal=upper)
    return trilu(F, x, rank=rank, upper=True, diagonal=-lower) if lower >= 0 else x


def diagonal(F: Any, x: Any, axes: Sequence[int], offset: int, sums: bool) -> Any:
    """Return the diagonals of matrices in two axes, along a new last axis, or their sums."""
    y = F.diag(x, k=offset, axis1=axes[0], axis2=axes[1])
    return F.sum(y, axis=-1) if sums else y


def reverse_sequence(F: Any, x: Any, lengths: Any, time_first: bool) -> Any:
    """Reverse the first elements of each sequence, whose axes are the first and second."""
    if time_first:
        # MXNet writes outside of the array for a length that is negative or more than the axis has.
        steps = F.slice_axis(F.shape_array(x), axis=0, begin=0, end=1)
        lengths = F.clip(F.cast(lengths, dtype="int64"), 0, 2**62)
        return F.SequenceReverse(x, F.broadcast_minimum(lengths, steps), use_sequence_length=True)
    x = F.swapaxes(x, dim1=0, dim2=1)
    return F.swapaxes(reverse_sequence(F, x, lengths, True), dim1=0, dim2=1)


def max_unpool(
    F: Any, x: Any, indices: Any, strides: Tuple[int, ...], ends: Tuple[int, ...],
    beyond: Tuple[int, ...],
) -> Any:  # fmt: skip
    """Place the results of a max pooling where their indices in the flat input of the pooling say.

    ``ends`` are the elements that the input has beyond its size times the stride (or lacks, if
    negative) along each spatial axis, and ``beyond`` those to append after that.
    """
    y = F.zeros_like(x)
    for axis, stride in enumerate(strides, 2):
        y = F.repeat(y, repeats=stride, axis=axis)
    y = pad(F, y, [(0, 0), (0, 0), *((0, n) for n in ends)])
    flat, values = (F.reshape(each, shape=(-1,)) for each in (y, x))
    places = F.reshape(F.cast(indices, dtype="int64"), shape=(1, -1))
    y = F.reshape_like(_scatter(F, flat, places, values, 1, 1, "none"), y)
    return pad(F, y, [(0, 0), (0, 0), *((0, n) for n in beyond)])
