"""Functions that move, repeat or join elements: reshapes, transposes, paddings."""

from functools import partial
from typing import Any, List, Optional, Sequence

import numpy as np

from ...importing import functions
from ..arguments import Unsupported, limit
from ..values import NO_BATCH, Shape, Size, Value, channels_first, product, replaced
from .core import permuted, reshape_rule, reshaped
from .lengths import length_of, line_of, tree_of
from .merging import common_dtype, joined
from .operations import axis_of
from .registry import Lowered, Request, computes, of_rank


@computes("reshape")
def _reshape(op: Request, x: Value, shape: List[int]) -> Lowered:
    if x.rows == NO_BATCH and shape[0] == 1 and _is_square(x, shape[1:]):
        return _expand_dims(op, x, [0])
    shape = with_batch(op, x, shape)
    first, *last = shape
    if op.batch_size and type(first) is int and first > 0 and x.rows != NO_BATCH and -1 not in last:
        shape = [first if first % op.batch_size else -1, *last]
    batch, *rest = [kept_size(x, place, n) for place, n in enumerate(shape)]
    if isinstance(batch, Size):
        if batch.source is not None and batch.times == 1 and batch.source[1] == 0:
            return _unfolded(op, x, shape, batch.source[0])
        batch = -1
    if batch == -1 and _same_rest(x, rest):
        batch = 0
    elif batch == -1 and any(isinstance(n, Size) for n in shape[1:]):
        if _keeps_last(x, shape[1:]):
            return _merged(op, x, shape)
        if shape[0] == -1:
            return _unfolded(op, x, shape)
    if -1 not in rest and sum(isinstance(n, Size) for n in rest) == 1:  # it follows from the others
        rest = [-1 if isinstance(n, Size) else n for n in rest]
    if any(isinstance(n, Size) for n in rest) or rest.count(-1) > 1:
        if batch != 0:
            raise Unsupported(f"reshape to {[*shape]}: two sizes of it are computed")
        return _unfolded(op, x, shape, x)
    if batch == 0 and 0 not in rest:
        return reshaped(op, x, rest)
    target = [batch, *rest]
    kept = 0 if batch else len(target) - target[::-1].index(0)
    tail = tuple(target[kept:])
    if batch not in (0, -1) or any(target[:kept]) or 0 in tail or tail.count(-1) > 1:
        raise Unsupported(
            f"reshape to {[*shape]}: the first size must be that of the batch or -1, and sizes "
            "that stay must come first"
        )
    more = {} if kept else {"rows": x.slot + 1}
    fields: Any = dict(rule=reshape_rule(tail, kept), takes=None, **more)
    return op.in_keras_order(functions.reshape, x, ndim=len(shape), shape=tail, kept=kept, **fields)


def _is_square(x: Value, sizes: Sequence[Any]) -> bool:
    """Return whether sizes are those of an array, which are alike, and the size of an axis."""
    whole = all(n.source is not None and n.times == 1 for n in sizes if isinstance(n, Size))
    return whole and len(sizes) == x.rank and len({*sizes}) == len({*x.shape}) == 1


def _same_rest(x: Value, rest: Sequence[Any]) -> bool:
    """Return whether a reshape to sizes behind the batch, in which 0 keeps a size, keeps the batch."""
    others = [n for axis, n in enumerate(x.shape[1:]) if rest[axis : axis + 1] != [0]]
    sizes = [n.saved if isinstance(n, Size) else n for n in rest if n != 0]
    return -1 not in rest and None not in sizes and product(sizes) == product(others)


def _keeps_last(x: Value, last: Sequence[Any]) -> bool:
    """Return whether sizes look as those of the last axes, so that a reshape merges those before."""
    pairs = zip(last, x.free[x.rank - len(last) :])
    alike = (
        n == m if not isinstance(n, Size) else n.source and n.times == 1 and not m for n, m in pairs
    )
    return x.rank > len(last) + 1 and all(alike)


def _merged(op: Request, x: Value, shape: Sequence[Any]) -> Lowered:
    """Merge the first axes; raise an error at run time if the sizes of the others are not as given."""
    count = x.rank - len(shape) + 1
    lines = {
        place: line_of(op, n)
        for place, n in enumerate(shape)
        if isinstance(n, Size) and place and kept_size(x, place + count - 1, n) != 0
    }
    how: Any = dict(count=count, axes=tuple(lines), rank=x.rank)
    y = op.derived(functions.merged, x, *lines.values(), **how)
    return op.sized(y, [None, *shape[1:]])._replace(rows=x.slot + 1)


def _unfolded(op: Request, x: Value, shape: Sequence[Any], like: Optional[Value] = None) -> Lowered:
    """Reshape to sizes behind the batch of an array: by default, of the first with one of the sizes."""
    arrays: List[Value] = [] if like is None else [like]
    computed = [place for place, n in enumerate(shape) if place and tree_of(n, arrays) != n]
    like = arrays[0]
    if not computed and -1 not in shape:
        return _reshape(op, x, [-1, *shape[1:]])._replace(rows=like.rows)
    if -1 in shape[1:] or NO_BATCH in (x.rows, like.rows):
        raise Unsupported(f"reshape to {[*shape]}, computed sizes beside -1 or without a batch")
    last = max(computed) + 1
    lengths = [length_of(n, arrays) for n in shape[1:last]]
    own = [dict(terms=((0, axis, 0, 1, 1),), rest=0) for axis in range(1, like.rank)]
    known = [dict(terms=(), rest=n) for n in like.free[1:]]
    if len(lengths) < like.rank and all(n in pair for n, *pair in zip(lengths, own, known)):
        lengths = []
    how: Any = dict(lengths=lengths, count=last, tail=tuple(shape[last:]))
    y = op.derived(functions.unfolded_like, x, *arrays, **how)
    return op.sized(y, [None if n == -1 else n for n in shape])._replace(rows=like.rows)


def with_batch(op: Request, x: Value, shape: List[Any]) -> List[Any]:
    """Return a target shape that begins with any batch if it begins with the fixed one of the model."""
    kept = op.batch_size and x.rows == 0 and shape[0] == op.batch_size
    return [Size(None, (x, 0)), *shape[1:]] if kept else shape


def kept_size(x: Value, place: int, n: Any) -> Any:
    """Return an entry of a target shape: 0 for the size that the input has there."""
    if isinstance(n, Size) and n.source is not None and (n.times, n.source[1]) == (1, place):
        at = n.source[0]
        same = (at.slot, at.axes, at.padding) == (x.slot, x.axes, x.padding)
        return 0 if same or (place == 0 and at.rows == x.rows) else n
    return n


@computes("transpose", "permute_dims")
def _transpose(op: Request, x: Value, axes: Optional[List[int]] = None) -> Lowered:
    axes = [*range(x.rank)][::-1] if axes is None else axes
    if sorted(axes) != list(range(x.rank)):
        raise ValueError(f"transpose by {axes!r} of shape {x.shape}")
    return permuted(x, axes)._replace(takes=None)


@computes("swapaxes", "matrix_transpose")
def _swapaxes(op: Request, x: Value, axis1: int = -1, axis2: int = -2) -> Lowered:
    order = list(range(x.rank))
    one, other = (axis_of(op, x, axis, True) for axis in (axis1, axis2))
    order[one], order[other] = other, one
    return _transpose(op, x, order)


@computes("moveaxis")
def _moveaxis(op: Request, x: Value, source: List[int], destination: List[int]) -> Lowered:
    return _transpose(op, x, np.moveaxis(np.empty(range(x.rank)), source, destination).shape)


@computes("expand_dims")
def _expand_dims(op: Request, x: Value, axis: List[int]) -> Lowered:
    rank = x.rank + len(axis)
    places = sorted(each % rank for each in axis)
    fits = len({*places}) == len(places) > 0 and all(-rank <= each < rank for each in axis)
    if not fits or (len(axis) > 1 and places[0] == 0 and x.rows != NO_BATCH):
        raise ValueError(f"expand_dims at axis={axis!r}")
    *first, new = places
    for place in first:
        x = op.derived("expand_dims", x, axis=place, rule=partial(_with_one, place))
    if x.rows == NO_BATCH and new == 0:
        return op.in_keras_order("expand_dims", x, ndim=x.rank + 1, axis=0, takes=None)
    return op.lowered("expand_dims", x, order=x.axes_with(new), axis=1, takes=None)


def _with_one(place: int, shape: Shape) -> Shape:
    return (*shape[:place], 1, *shape[place:])


@computes("squeeze")
def squeezed(op: Request, x: Value, axis: Optional[List[int]] = None) -> Lowered:
    ones = [i for i, n in enumerate(x.shape) if n == 1 and i != x.batch]
    axes = x.places(ones if axis is None else axis)
    if not axes:
        raise ValueError(f"squeeze of axis={axis!r}")

    def rule(shape: Shape) -> Shape:
        if any(shape[a] not in (1, None) for a in axes):
            raise ValueError(f"axes {axes} of shape {shape} have more than one element")
        return tuple(n for a, n in enumerate(shape) if a not in axes)

    how = dict(axis=tuple(sorted(map(x.stored, axes))), rule=rule, takes=None)
    return op.lowered("squeeze", x, order=x.axes_without(axes), **how)


@computes("concatenate")
def _joined(op: Request, x: List[Value], axis: int = -1) -> Lowered:
    return joined(op, tuple(x), axis)


@computes("append", "hstack", "dstack")
def _appended(op: Request, x: List[Value], axis: Optional[int] = None) -> Lowered:
    axis = {"hstack": 1, "dstack": 2}.get(op.name, axis)
    if axis is None or min(each.rank for each in x) <= axis:
        raise Unsupported(f"{op.name} along axis={axis} of shapes {[each.shape for each in x]}")
    return _joined(op, x, axis)


@computes("diff")
def _difference(op: Request, x: Value, n: int = 1, axis: int = -1) -> Lowered:
    place = axis_of(op, x, axis)
    limit(f"{op.name} with n={n}", n)

    def rule(shape: Shape) -> Shape:
        size = shape[place]
        if size is not None and size <= n:
            raise ValueError(f"{op.name} of shape {shape}, {n} times along axis={axis}")
        return replaced(shape, place, None if size is None else size - n)

    how: Any = dict(axis=x.stored(place), times=n, rule=rule, takes=x.number)
    return op.lowered(functions.difference, x, order=x.axes, **how)


@computes("stack")
def _stack(op: Request, x: List[Value], axis: int = 0) -> Lowered:
    place = axis % (x[0].rank + 1)
    if len({each.shape for each in x}) != 1:
        raise ValueError(f"stack at axis={axis!r} of shapes {[each.shape for each in x]}")
    fields: Any = dict(input_axes=(x[0].axes,) * len(x), takes=common_dtype(x))
    return op.lowered("stack", *x, order=x[0].axes_with(place), axis=1, **fields)


@computes("flip", "flip_left_right", "flip_up_down", "fliplr")
def _flip(op: Request, x: Value, axis: Optional[List[int]] = None) -> Lowered:
    given = {"flip_left_right": [-2], "flip_up_down": [-3], "fliplr": [1]}.get(op.name, axis) or [0]
    axes = tuple(x.stored(axis_of(op, x, each)) for each in given)
    return op.each(functions.flip, x, axes=axes, takes=None)


@computes("rot90")
def _turned(op: Request, x: Value, k: int = 1, axes: Optional[List[int]] = None) -> Lowered:
    x = of_rank(x, 4) if axes is None else x  # images of TensorFlow
    one, other = [axis_of(op, x, each) for each in axes or (1, 2)]
    flipped = {0: (), 1: (other,), 2: (one, other), 3: (one,)}[k % 4]
    swapped = {one: other, other: one} if k % 2 else {}
    order = tuple(swapped.get(axis, axis) for axis in x.axes)
    how: Any = dict(axes=tuple(map(x.stored, flipped)), takes=None)
    return op.lowered(functions.flip, x, order=order, **how)


@computes("roll")
def _roll(op: Request, x: Value, shift: List[int], axis: List[int]) -> Lowered:
    axes = [axis_of(op, x, each) for each in axis]
    if len(shift) != len(axes) or any(isinstance(n, Size) for n in shift):
        raise Unsupported(f"roll by {shift} along axis={axis} of shape {x.shape}")
    sizes = [x.shape[each] for each in axes]
    shifts = tuple(n if size is None else n % size for n, size in zip(shift, sizes))
    return op.each(functions.roll, x, shifts=shifts, axes=tuple(map(x.stored, axes)), takes=None)


@computes("tril", "triu")
def _triangle(op: Request, x: Value, k: int = 0) -> Lowered:
    how: Any = dict(rank=x.rank, rule=lambda shape: shape, takes=None)
    upper = op.name == "triu"
    return op.in_keras_order(functions.trilu, x, ndim=x.rank, upper=upper, diagonal=k, **how)


@computes("band_part")
def _band(op: Request, x: Value, num_lower: int, num_upper: int) -> Lowered:
    if isinstance(num_lower, Size) or isinstance(num_upper, Size):
        raise Unsupported(f"{op.name} of {num_lower} and {num_upper} diagonals")
    how: Any = dict(rank=x.rank, rule=lambda shape: shape, takes=None)
    return op.in_keras_order(functions.band, x, ndim=x.rank, lower=num_lower, upper=num_upper, **how)


@computes("depth_to_space", "space_to_depth")
def _blocks(op: Request, x: Value, block_size: int) -> Lowered:
    if x.rank != 4 or block_size < 1:
        raise ValueError(f"{op.name} by {block_size} of shape {x.shape}")
    order = channels_first(4)
    how: Any = dict(input_axes=(order,), block_size=block_size, takes=None)
    return op.lowered(op.name, x, order=order, **how)


@computes("flatten", "ravel", "batch_flatten")
def _flat(op: Request, x: Value) -> Lowered:
    if op.name == "batch_flatten":
        return reshaped(op, x, [-1])
    return _reshape(op, x, [-1])
