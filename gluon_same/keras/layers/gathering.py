"""Functions that pick and repeat elements: splits, parts by indices, tiles."""

from typing import Any, List, Optional

import numpy as np

from ...importing import functions
from ...importing.indices import beyond
from ..arguments import Unsupported, limit
from ..values import NO_BATCH, Shape, Size, Value, broadcast, replaced
from .computed import repeated
from .lengths import BROADCAST
from .operations import BATCH_MOVED, axis_of, size_of, with_rank
from .rearranging import kept_size, squeezed, with_batch
from .registry import Lowered, Request, computes
from .signatures import Operand


@computes("split", "array_split", "hsplit", "dsplit")
def _split(
    op: Request, x: Value, num_or_size_splits: Any = None,
    indices_or_sections: Any = None, axis: int = 0,
) -> Lowered:  # fmt: skip
    axis = axis_of(op, x, {"hsplit": 1, "dsplit": 2}.get(op.name, axis), batch=True)
    given = num_or_size_splits or indices_or_sections
    samples = axis == x.batch and x.rows != NO_BATCH
    if type(given) is int and given > 0 and (samples or x.shape[axis] is None):
        limit(f"split into {given}", given)
        more: Any = dict(more_axes=(x.axes,) * (given - 1), rule=lambda shape: shape)
        more.update(rows=NO_BATCH - 1 - x.slot if samples else None)
        return op.lowered("split", x, num_outputs=given, axis=x.stored(axis), takes=None, **more)
    size = size_of(op, x, axis)
    if isinstance(indices_or_sections, list):
        cuts = [0, *indices_or_sections, size]
        parts = [end - begin for begin, end in zip(cuts, cuts[1:])]
    elif isinstance(given, list):
        rest = size - sum(n for n in given if n != -1)
        parts = [rest if n == -1 else n for n in given]
    else:
        limit(f"split into {given}", given if isinstance(given, int) else 0)
        parts = [size // given] * given if isinstance(given, int) and given > 0 else []
        more = size - sum(parts) if op.name == "array_split" else 0
        parts = [n + (i < more) for i, n in enumerate(parts)]
    if not parts or min(parts) < 1 or sum(parts) != size:
        raise ValueError(f"split into {given!r} at axis={axis!r} of shape {x.shape}")
    if len(parts) == 1:
        return op.lowered("identity", x, takes=None, rule=lambda shape: shape)
    fields: Any = dict(takes=None, more_axes=(x.axes,) * (len(parts) - 1))
    fields["rule"] = lambda shape: [replaced(shape, axis, shape[axis] and n) for n in parts]
    if len(set(parts)) == 1:
        return op.lowered("split", x, num_outputs=len(parts), axis=x.stored(axis), **fields)
    return op.lowered(functions.split, x, axis=x.stored(axis), sizes=tuple(parts), **fields)


@computes("unstack")
def _unstack(op: Request, x: Value, num: Optional[int] = None, axis: int = 0) -> Lowered:
    axis = axis_of(op, x, axis)
    count, order = size_of(op, x, axis), x.axes_without([axis])
    limit(f"unstack of {count}", count)
    if count == 1:
        return squeezed(op, x, [axis])
    how: Any = dict(num_outputs=count, axis=x.stored(axis), squeeze_axis=True, takes=None)
    how["rule"] = lambda shape: (*shape[:axis], *shape[axis + 1 :])
    return op.lowered("split", x, order=order, more_axes=(order,) * (count - 1), **how)


@computes("diagonal", "diag_part", "trace")
def _diagonal(op: Request, x: Value, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Lowered:
    one, other = [axis_of(op, x, axis) for axis in (axis1, axis2)]
    sums = op.name == "trace"

    def rule(shape: Shape) -> Shape:
        rows, columns = shape[one], shape[other]
        count = None
        if rows is not None and columns is not None:
            count = min(rows + min(offset, 0), columns - max(offset, 0))
        if one == other or (count is not None and count < 1):
            raise ValueError(f"{op.name} of shape {shape} with axes {axis1} and {axis2}, at {offset}")
        rest = tuple(n for axis, n in enumerate(shape) if axis not in (one, other))
        return rest if sums else (*rest, count)

    rest = x.axes_without([one, other])
    how: Any = dict(axes=(x.stored(one), x.stored(other)), offset=offset, sums=sums, rule=rule)
    order = rest if sums else (*rest, len(rest))
    return op.lowered(functions.diagonal, x, order=order, takes=None, **how)


@computes("gather", "take")
def _gather(
    op: Request, x: Operand, indices: Operand, axis: Optional[int] = None, batch_dims: int = 0
) -> Lowered:
    if op.name == "take" and axis is None and len(x.shape) > 1:
        raise Unsupported("take of a flat array: give an axis")
    if isinstance(indices, Value):
        if indices.batch:
            raise Unsupported(BATCH_MOVED)
        table = not isinstance(x, Value)
        if not table and batch_dims == 0 and indices.rows == NO_BATCH and indices.rank == 1:
            place = axis_of(op, x, 0 if axis is None else axis)
            how: Any = dict(axis=place, among=x.shape[place] or 0, takes=None, gives=x.dtype)
            how["rule"] = lambda shape, picked: replaced(shape, place, picked[0])
            return op.in_keras_order(functions.gather, x, indices, ndim=x.rank, **how)
        if (axis if axis is not None else batch_dims, batch_dims) != ((0, 0) if table else (1, 1)):
            raise Unsupported(f"{op.name} along axis={axis} with batch_dims={batch_dims}")
        ndim = len(x.shape) + indices.rank - (1 if table else 2)
        how = dict(ndim=ndim, takes=None, gives="float32" if table else x.dtype)
        if table:
            return op.in_keras_order(functions.gather, x, indices, among=x.shape[0], **how)
        how.update(ranks=(indices.rank + 1, ndim), signed=1)
        return op.in_keras_order(functions.gather_in_batch, x, indices, **how)
    place = axis_of(op, x, 0 if axis is None else axis)
    numbers = indices
    size = x.shape[place] if numbers.min(initial=0) >= 0 else size_of(op, x, place)
    if numbers.dtype.kind != "i" or not numbers.size or beyond(numbers, size).size:
        raise ValueError(f"{op.name} of {numbers.tolist()} along an axis of {size}")
    if numbers.ndim > 1:
        ndim = x.rank + numbers.ndim - 1
        how = dict(axis=place, among=0 if size is None else None, takes=None)
        how["rule"] = lambda shape: (*shape[:place], *numbers.shape, *shape[place + 1 :])
        return op.in_keras_order(functions.gather, x, numbers, ndim=ndim, **how)
    how = dict(axis=x.stored(place), takes=None)
    if numbers.ndim == 0:
        how.update(index=int(numbers), drop=True)
        return op.lowered(functions.element, x, order=x.axes_without([place]), **how)
    how["rule"] = lambda shape: replaced(shape, place, len(numbers))
    return op.lowered(functions.gather, x, numbers, among=0 if size is None else None, **how)


def exactly_at(op: Request, x: Value, axis: int, places: np.ndarray) -> Lowered:
    """Return parts of an axis, whose size must be that of the saved model."""
    how: Any = dict(axis=x.stored(axis), rule=lambda shape: replaced(shape, axis, len(places)))
    return op.lowered(functions.gather, x, places, size=size_of(op, x, axis), takes=None, **how)


@computes("boolean_mask")
def _kept(op: Request, x: Value, mask: List[bool], axis: int = 0) -> Lowered:
    place, kept = axis_of(op, x, axis), np.array(mask, bool)
    if kept.shape != (size_of(op, x, place),) or not kept.any():
        raise ValueError(f"{op.name} of shape {x.shape} along axis={axis} by {mask}")
    return exactly_at(op, x, place, np.flatnonzero(kept))


@computes("slice_update")
def _updated(op: Request, x: Value, start_indices: List[int], updates: Value) -> Lowered:
    fits = len(start_indices) == x.rank == updates.rank and x.batch == updates.batch == 0
    if not fits or any(isinstance(n, Size) for n in start_indices) or start_indices[0] != 0:
        raise Unsupported(f"{op.name} of shape {x.shape} at {start_indices}")
    pairs = [(0, 0)]
    for axis, start in [*enumerate(start_indices)][1:]:
        n, m = x.shape[axis], updates.shape[axis]
        rest = 0 if start == 0 and n == m else size_of(op, x, axis) - start - size_of(op, updates, axis)
        if start < 0 or rest < 0:
            raise ValueError(f"{op.name} of shape {x.shape} by {updates.shape} at {start_indices}")
        pairs.append((start, rest))
    how: Any = dict(pairs=[pairs[axis] for axis in x.axes], input_axes=(x.axes, x.axes))
    return op.lowered(functions.update, x, updates, rule=lambda shape, _: shape, takes=x.number, **how)


@computes("gather_nd", "batch_gather_nd")
def _gather_nd(op: Request, x: Operand, indices: Value, batch_dims: int = 0) -> Lowered:
    count, table = indices.shape[-1], not isinstance(x, Value)
    if count is None or not table and batch_dims < 1:
        raise Unsupported(f"{op.name} with batch_dims={batch_dims}: the batch must stay first")
    ndim = indices.rank - 1 + len(x.shape[batch_dims + count :])
    how: Any = dict(ranks=(indices.rank, ndim), batch_dims=batch_dims, signed=count, takes=None)
    how["gives"] = "float32" if table else x.dtype
    return op.in_keras_order(functions.gather_nd, x, indices, ndim=ndim, **how)


@computes("take_along_axis")
def _take_along_axis(op: Request, x: Value, indices: Operand, axis: int) -> Lowered:
    axis = axis_of(op, x, axis)
    free = indices.free if isinstance(indices, Value) else indices.shape
    pairs = enumerate(zip(x.shape, free))
    grown = tuple(a for a, (size, n) in pairs if n == 1 and size != 1 and a != axis)

    def rule(shape: Shape, picked: Shape = free) -> Shape:
        return tuple(shape[a] if a in grown else n for a, n in enumerate(picked))

    alike = len(free) == x.rank
    if not alike or replaced(rule(x.shape, indices.shape), axis, 0) != replaced(x.shape, axis, 0):
        raise Unsupported(f"take_along_axis of shapes {x.shape} and {indices.shape}")
    if not isinstance(indices, Value) and beyond(indices, x.shape[axis]).size:
        raise Unsupported(f"take_along_axis of {indices.tolist()} along an axis of {x.shape[axis]}")
    signed = isinstance(indices, Value) or bool(indices.min(initial=0) < 0)
    how: Any = dict(axis=axis, rank=x.rank, grown=grown, signed=signed)
    how.update(takes=None, gives=x.dtype, rule=rule)
    return op.in_keras_order(functions.gather_elements, x, indices, ndim=x.rank, **how)


@computes("one_hot")
def _one_hot(
    op: Request, x: Value, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False,
    on_value: float = 1, off_value: float = 0,
) -> Lowered:  # fmt: skip
    gives, place = dtype or "float32", axis % (x.rank + 1)
    if gives not in ("float32", "int32", "int64") or sparse or num_classes < 1 or place == x.batch:
        raise Unsupported(f"one_hot with axis={axis}, dtype={dtype!r} and sparse={sparse}")
    how: Any = dict(depth=num_classes, rank=x.rank, values=(off_value, on_value), to=gives)
    built = op.in_keras_order(functions.classes, x, ndim=x.rank + 1, takes=None, gives=gives, **how)
    return built._replace(axes=(*(axis + (axis >= place) for axis in range(x.rank)), place))


@computes("multi_hot")
def _multi_hot(
    op: Request, x: Value, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False
) -> Lowered:
    if x.rank < 2 or axis not in (-1, x.rank) or dtype not in (None, "float32") or sparse:
        raise Unsupported(f"{op.name} with axis={axis}, dtype={dtype!r} and sparse={sparse}")
    how: Any = dict(depth=num_classes, rank=x.rank, takes=None, gives="float32")
    return op.in_keras_order(functions.multi_hot, x, ndim=x.rank, **how)


@computes("broadcast_to")
def _broadcast_to(op: Request, x: Value, shape: List[int]) -> Lowered:
    x = with_rank(op, x, len(shape)) if x.rows == NO_BATCH else x
    sizes = [kept_size(x, place, n) for place, n in enumerate(with_batch(op, x, shape))]
    known = {a: n for a, n in enumerate(sizes) if isinstance(n, Size) and n.source and n.times == 1}
    if len(shape) == x.rank and known and (0 not in known or x.rows == NO_BATCH):
        # What is not 1 has the size already.
        sizes = [0 if a in known else n for a, n in enumerate(sizes)]
        sources = {a: n.source for a, n in known.items() if x.shape[a] == 1}
        if sources and all(n in (0, x.shape[a]) for a, n in enumerate(sizes)):
            return repeated(op, x, sources)
        if sources or any(x.shape[a] is None for a in known):
            raise Unsupported(f"{op.name} of shape {x.shape} to {shape}")
    if len(shape) != x.rank or sizes[0] != 0 or any(isinstance(n, Size) or n < 0 for n in sizes):
        raise Unsupported(f"{op.name} of shape {x.shape} to {shape}")
    if any(n != m and m != 1 for n, m in zip(sizes[1:], x.shape[1:]) if n):
        raise ValueError(f"{op.name} of shape {x.shape} to {shape}")
    how: Any = dict(shape=tuple(sizes[axis] for axis in x.axes), takes=None)
    return op.lowered("broadcast_to", x, order=x.axes, **how)


@computes("tile")
def _tile(op: Request, x: Value, repeats: List[int]) -> Lowered:
    hows = {axis: n.how for axis, n in enumerate(repeats) if isinstance(n, Size) and n.how}
    grown = {axis: how[1].source for axis, how in hows.items() if how[0] == BROADCAST}
    likes = [like for like, _ in grown.values()]
    if grown and len(repeats) == x.rank == likes[0].rank and len({like.slot for like in likes}) == 1:
        x = _spread(op, x, likes[0], [*grown])
        repeats = [1 if axis in grown else n for axis, n in enumerate(repeats)]
    sources = {axis: n.source for axis, n in enumerate(repeats) if isinstance(n, Size) and n.times == 1}
    known = len(repeats) == x.rank and all(n == 1 for a, n in enumerate(repeats) if a not in sources)
    if sources and known and all(sources[axis] and x.shape[axis] == 1 for axis in sources):
        return repeated(op, x, sources)
    computed = any(isinstance(n, Size) for n in repeats)
    repeats = [1] * (x.rank - len(repeats)) + repeats
    if len(repeats) != x.rank or repeats[0] != 1 or computed or min(repeats) < 1:
        raise Unsupported(f"tile by {repeats}: give one count of 1 for the batch")
    return op.lowered(functions.tile, x, times=tuple(repeats[a] for a in x.axes), takes=None)


def _spread(op: Request, x: Value, like: Value, axes: List[int]) -> Value:
    """Return an array that is broadcast along some axes to the sizes of another."""

    def rule(shape: Shape, whole: Shape) -> Shape:
        pairs = enumerate(zip(shape, whole))
        return tuple(broadcast((n,), (m,))[0] if axis in axes else n for axis, (n, m) in pairs)

    others = tuple(axis for axis in range(x.rank) if axis not in axes)
    return op.derived(functions.spread_like, x, like, rule=rule, others=others, to=x.number)


@computes("repeat")
def _repeat(op: Request, x: Value, repeats: List[int], axis: int) -> Lowered:
    place = axis_of(op, x, axis, True)
    if any(isinstance(n, Size) or n < 0 for n in repeats) or max(repeats) < 1:
        raise ValueError(f"repeat by {repeats}")
    if len(repeats) == 1:
        more: Any = {} if place != x.batch or repeats == [1] else {"rows": x.slot + 1}
        how: Any = dict(repeats=repeats[0], axis=x.stored(place), takes=None)
        return op.lowered("repeat", x, **how, **more)
    if len(repeats) != size_of(op, x, place):
        raise ValueError(f"repeat of shape {x.shape} along axis={axis} by {repeats}")
    return exactly_at(op, x, place, np.repeat(np.arange(len(repeats)), repeats))
