"""Functions that pick, move, repeat or join elements: slices, reshapes, transposes, gathers."""

import math
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ...importing import functions
from ..arguments import Unsupported
from ..values import Shape, Size, Value, channels_first, keras_order, product, replaced
from .arithmetic import number_of
from .core import permuted, reshaped
from .merging import joined
from .operations import Operand, Operation, axis_of, sizes_of
from .registry import Lowered, computes

_WHOLE = (None, None, 1)


@computes("getitem")
def _slice(op: Operation, x: Value, slice_spec: Any) -> Lowered:
    given = _spelled_out(slice_spec if isinstance(slice_spec, list) else [slice_spec], x.rank)
    parts: List[Tuple[Optional[int], Optional[int], int]] = []
    dropped = []
    kept: List[Optional[int]] = []  # the input's axis for each axis of the result, None for a new one
    for part in given:
        if part is None:
            kept.append(None)
        elif isinstance(part, int) and not isinstance(part, bool):
            dropped.append(len(parts))
            parts.append((part, part + 1 or None, 1))
        else:
            kept.append(len(parts))
            parts.append(_bounds(part))
    if parts[0] != _WHOLE or kept[0] != 0:
        raise Unsupported("a slice of the batch")

    def rule(shape: Shape) -> Shape:
        for n, (begin, _, step) in zip(shape, parts):
            inside = n is None or begin is None or -n <= begin < n + (step > 0)
            if not inside:  # MXNet requires that it is inside
                raise ValueError(f"a slice from {begin} of an axis of {n}")
        sizes = [
            None if n is None else len(range(n)[slice(*part)]) if part != _WHOLE else n
            for n, part in zip(shape, parts)
        ]
        if 0 in sizes:
            raise ValueError(f"a slice of shape {shape} would be empty")
        return tuple(1 if axis is None else sizes[axis] for axis in kept)

    added = [place for place, axis in enumerate(kept) if axis is None]
    axes = (0, *added, *(kept.index(axis) for axis in x.axes[1:] if axis in kept))
    how = dict(
        parts=[parts[axis] for axis in x.axes],
        dropped=tuple(sorted(map(x.stored, dropped))),
        added=len(added),
    )
    more = dict(rule=rule, takes=None, nonnegative=x.nonnegative)
    return op.lowered(functions.slices, x, order=axes, more=more, **how)


def _spelled_out(given: List[Any], rank: int) -> List[Any]:
    """Return one slice entry for each axis, and None for each new axis."""
    whole = {"start": None, "stop": None, "step": None}
    ellipses = [i for i, part in enumerate(given) if _class(part) == "__ellipsis__"]
    at = ellipses[0] if ellipses else len(given)
    rest = given[at + 1 :]
    missing = rank - sum(part is not None for part in (*given[:at], *rest))
    if len(ellipses) > 1 or missing < 0:
        raise ValueError(f"a slice by {given!r}")
    return [*given[:at], *[whole] * missing, *rest]


def _class(part: Any) -> Any:
    return part.get("class_name") if isinstance(part, dict) else None


def _bounds(part: Any) -> Tuple[Optional[int], Optional[int], int]:
    part = part.get("config") if _class(part) == "__slice__" else part
    if not isinstance(part, dict):
        raise Unsupported(f"a slice by {part!r}")
    bounds = [part.get(name) for name in ("start", "stop", "step")]
    if any(n is not None and (isinstance(n, bool) or not isinstance(n, int)) for n in bounds):
        raise Unsupported(f"a slice by {part!r}")
    begin, end, step = bounds
    if step == 0:
        raise Unsupported("a slice with a step of 0")
    return begin, end, 1 if step is None else step


@computes("reshape")
def _reshape(op: Operation, x: Value, shape: List[int]) -> Lowered:
    batch, *rest = [_kept(x, place, n) for place, n in enumerate(shape)]
    if isinstance(batch, Size):
        if batch.source is not None and batch.times == 1 and batch.source[1] == 0:
            return _unfolded(op, x, shape)
        batch = -1
    saved = product([n.saved if isinstance(n, Size) else n for n in shape[1:]])
    if batch == -1 and -1 not in shape[1:] and saved is not None and saved == product(x.shape[1:]):
        batch = 0
    computed = [n for n in rest if isinstance(n, Size)]
    if -1 not in rest and len(computed) == 1:  # the size that is not known follows from the others
        rest, computed = [-1 if isinstance(n, Size) else n for n in rest], []
    plain = -1 not in rest and 0 not in rest and not computed
    counts = [product(x.free[1:]), product(rest) if plain else None]
    row = product([n for n in rest if n not in (-1, 0) and not isinstance(n, Size)])
    if computed or rest.count(-1) > 1:
        raise Unsupported(f"reshape to {_listed(shape)}: two sizes of it are computed")
    if batch == 0 or (batch == -1 and None not in counts and counts[0] == counts[1]):
        if 0 not in rest:
            return reshaped(op.request, x, rest)._replace(inputs=(x,), takes=None)
        return _prefixed(op, x, rest)
    if batch != -1 or -1 in rest or 0 in rest or row is None:
        raise Unsupported(f"reshape to {_listed(shape)}: the first size must be that of the batch or -1")

    def rule(sizes: Shape) -> Shape:
        total = product(sizes)
        if total is not None and total % row:
            raise ValueError(f"reshape of shape {sizes} to {_listed(shape)}")
        return (None if total is None else total // row, *rest)

    more = dict(rule=rule, takes=None, rows=x.slot + 1)
    return op.in_keras_order(functions.reshape_rows, x, ndim=len(shape), shape=tuple(rest), more=more)


def _unfolded(op: Operation, x: Value, shape: Sequence[Any]) -> Lowered:
    """Reshape folded rows to another array's batch."""
    (like, _), *sizes = [n.source if isinstance(n, Size) else (None, n) for n in shape]
    if not any(isinstance(n, Size) for n in shape[1:]) and -1 not in shape:
        return _reshape(op, x, [-1, *shape[1:]])._replace(rows=like.rows)
    if sizes[:1] != [(like, 1)] or tuple(shape[2:]) != x.shape[1:]:
        raise Unsupported(f"reshape to {_listed(shape)}, with the batch of another array")

    def rule(sizes: Shape, whole: Shape) -> Shape:
        return (*whole[:2], *sizes[1:])

    more = dict(rule=rule, takes=None, rows=like.rows, gives=x.dtype)
    return op.in_keras_order(functions.unfold_like, x, like, ndim=len(shape), more=more)


def _prefixed(op: Operation, x: Value, rest: List[int]) -> Lowered:
    """Reshape to sizes, the first of which are those of the input (0)."""
    kept = len(rest) - rest[::-1].index(0)
    if rest[:kept] != [0] * kept:
        raise Unsupported(f"reshape to {_listed([0, *rest])}: sizes that stay must come first")
    tail = rest[kept:] or [1]
    known = math.prod(n for n in tail if n != -1)

    def rule(sizes: Shape) -> Shape:
        total = product(sizes[kept + 1 :])
        if total is not None and (total % known if -1 in tail else total != known):
            raise ValueError(f"reshape of shape {sizes} to {_listed([0, *rest])}")
        found = None if total is None else total // known
        return (*sizes[: kept + 1], *(found if n == -1 else n for n in rest[kept:]))

    how = dict(kept=kept + 1, shape=tuple(tail), drop=not rest[kept:])
    more = dict(rule=rule, takes=None)
    return op.in_keras_order(functions.reshape_tail, x, ndim=len(rest) + 1, more=more, **how)


def _kept(x: Value, place: int, n: Any) -> Any:
    """Return an entry of a target shape: 0 for the size that the input has there."""
    same = isinstance(n, Size) and n.times == 1 and n.source is not None
    if same and place < x.rank and n.source[1] == place:
        at = n.source[0]
        if at.slot == x.slot or (place == 0 and at.rows == x.rows):
            return 0
    return n


def _listed(shape: Sequence[Any]) -> str:
    return str(["a size" if isinstance(n, Size) else n for n in shape])


@computes("transpose", "permute_dims")
def _transpose(op: Operation, x: Value, axes: List[int], conjugate: bool = False) -> Lowered:
    if sorted(axes) != list(range(x.rank)) or axes[0] != 0:
        raise Unsupported(f"transpose by {axes!r}: the batch must stay first")
    return permuted(x, axes)._replace(takes=None)


@computes("swapaxes", "moveaxis", "matrix_transpose")
def _swapaxes(
    op: Operation, x: Value, axis1: int = -1, axis2: int = -2, source: Optional[List[int]] = None,
    destination: Optional[List[int]] = None,
) -> Lowered:  # fmt: skip
    order = list(range(x.rank))
    if source is not None and destination is not None:
        moved = [axis_of(op, x, axis) for axis in source]
        order = [axis for axis in order if axis not in moved]
        for place, axis in sorted(zip([axis_of(op, x, each) for each in destination], moved)):
            order.insert(place, axis)
    else:
        one, other = (axis_of(op, x, axis) for axis in (axis1, axis2))
        order[one], order[other] = other, one
    return _transpose(op, x, order)


@computes("expand_dims")
def _expand_dims(op: Operation, x: Value, axis: List[int]) -> Lowered:
    if len(axis) != 1 or not -x.rank <= axis[0] <= x.rank or axis[0] % (x.rank + 1) == 0:
        raise ValueError(f"expand_dims at axis={axis!r}")
    axes = x.axes_with(axis[0] % (x.rank + 1))
    return op.lowered("expand_dims", x, order=axes, axis=1, more={"takes": None})


@computes("squeeze")
def _squeeze(op: Operation, x: Value, axis: Optional[List[int]] = None) -> Lowered:
    given = [i for i, n in enumerate(x.shape) if n == 1 and i] if axis is None else axis
    axes = x.places(given)
    if not axes:
        raise ValueError(f"squeeze of axis={axis!r}")

    def rule(shape: Shape) -> Shape:
        if any(shape[a] not in (1, None) for a in axes):
            raise ValueError(f"axes {axes} of shape {shape} have more than one element")
        return tuple(n for a, n in enumerate(shape) if a not in axes)

    how = dict(axis=tuple(sorted(map(x.stored, axes))))
    more = dict(rule=rule, takes=None)
    return op.lowered("squeeze", x, order=x.axes_without(axes), more=more, **how)


@computes("pad")
def _pad(
    op: Operation, x: Value, pad_width: List[List[int]], mode: str = "constant",
    constant_values: float = 0,
) -> Lowered:  # fmt: skip
    pairs = [pair if isinstance(pair, list) else [pair, pair] for pair in pad_width]
    pairs = pairs * x.rank if len(pairs) == 1 else pairs
    whole = all(len(pair) == 2 and all(_is_count(n) for n in pair) for pair in pairs)
    known = mode in ("constant", "edge", "reflect", "symmetric", "wrap")
    if not whole or len(pairs) != x.rank or pairs[0] != [0, 0] or not known:
        raise Unsupported(f"pad by {pad_width!r} with mode={mode!r}")
    width = [tuple(pairs[axis]) for axis in x.axes]
    return op.lowered(functions.pad, x, pairs=width, mode=mode, value=constant_values, native=True)


def _is_count(n: Any) -> bool:
    return isinstance(n, int) and not isinstance(n, bool) and n >= 0


@computes("concatenate")
def _joined(op: Operation, x: List[Operand], axis: int = -1) -> Lowered:
    arrays = [each for each in x if isinstance(each, Value)]
    kinds = {each.dtype for each in arrays}
    takes = None if len(kinds) == 1 else "float32"
    if len(arrays) == len(x):
        return joined(op.request, tuple(arrays), axis)._replace(inputs=tuple(arrays), takes=takes)
    raise Unsupported("concatenate of a constant array, whose batch has one size")


@computes("stack")
def _stack(op: Operation, x: List[Value], axis: int = 0) -> Lowered:
    first = x[0]
    if axis % (first.rank + 1) == 0 or any(each.rank != first.rank for each in x):
        raise ValueError(f"stack at axis={axis!r} of shapes {[each.shape for each in x]}")
    if len({each.shape for each in x}) != 1:
        raise ValueError(f"arrays of shapes {[each.shape for each in x]} do not stack")
    axes = first.axes_with(axis % (first.rank + 1))
    more = dict(input_axes=(first.axes,) * len(x))
    return op.lowered("stack", *x, order=axes, axis=1, more=more)


@computes("split", "array_split")
def _split(
    op: Operation, x: Value, num_or_size_splits: Optional[List[int]] = None,
    indices_or_sections: Any = None, axis: int = 0,
) -> Lowered:  # fmt: skip
    axis = axis_of(op, x, axis, 1)
    size = x.shape[axis]
    given = num_or_size_splits if num_or_size_splits is not None else indices_or_sections
    if isinstance(indices_or_sections, list):
        cuts = [0, *indices_or_sections, sizes_of(x.shape, axis, "split")]
        parts = [end - begin for begin, end in zip(cuts, cuts[1:])]
    elif isinstance(given, list) and len(given) > 1:
        parts = [_rest(size, given) if n == -1 else n for n in given]
    else:
        (count,) = given if isinstance(given, list) else [given]
        parts = [size // count] * count if isinstance(count, int) and count > 0 and size else []
    if not parts or min(parts) < 1 or sum(parts) != size:
        raise ValueError(f"split into {given!r} at axis={axis!r} of shape {x.shape}")
    more: Any = dict(takes=None, more_axes=(x.axes,) * (len(parts) - 1))
    more["rule"] = lambda shape: [replaced(shape, axis, shape[axis] and n) for n in parts]
    stored = x.stored(axis)
    if len(set(parts)) == 1 and len(parts) > 1:
        return op.lowered("split", x, num_outputs=len(parts), axis=stored, more=more)
    return op.lowered(functions.split, x, axis=stored, sizes=tuple(parts), more=more)


def _rest(size: Optional[int], parts: Sequence[int]) -> int:
    return -1 if size is None else size - sum(n for n in parts if n != -1)


@computes("unstack")
def _unstack(op: Operation, x: Value, num: Optional[int] = None, axis: int = 0) -> Lowered:
    axis = axis_of(op, x, axis, 1)
    count = sizes_of(x.shape, axis, "unstack")
    axes = x.axes_without([axis])

    def rule(shape: Shape) -> Shape:
        return (*shape[:axis], *shape[axis + 1 :])

    more: Any = dict(takes=None, more_axes=(axes,) * (count - 1), rule=rule)
    how = dict(num_outputs=count, axis=x.stored(axis), squeeze_axis=True)
    if count == 1:
        return op.lowered("squeeze", x, order=axes, axis=(x.stored(axis),), more=more)
    return op.lowered("split", x, order=axes, more=more, **how)


@computes("tile", "broadcast_to")
def _tile(
    op: Operation, x: Value, repeats: Optional[List[int]] = None, shape: Optional[List[int]] = None
) -> Lowered:
    if repeats is None:
        target = [number_of(n, op.name) if i else -1 for i, n in enumerate(shape or [])]
        pairs = list(zip(x.shape, target))[1:]
        if len(target) != x.rank or any(n not in (1, m) for n, m in pairs):
            raise Unsupported(f"broadcast_to of shape {x.shape} to {_listed(shape or [])}")
        repeats = [1, *(m if n == 1 else 1 for n, m in pairs)]  # type: ignore[list-item]
    times = [number_of(n, op.name) for n in repeats]
    if len(times) != x.rank or times[0] != 1 or min(times) < 1:
        raise Unsupported(f"tile by {times} of shape {x.shape}: give one count of 1 for the batch")
    return op.lowered(functions.tile, x, times=tuple(times[a] for a in x.axes), more={"takes": None})


@computes("repeat")
def _repeat(op: Operation, x: Value, repeats: int, axis: int) -> Lowered:
    if repeats < 1:
        raise ValueError(f"repeat by {repeats}")
    stored = x.stored(axis_of(op, x, axis, 1))
    return op.lowered("repeat", x, repeats=repeats, axis=stored, more={"takes": None})


@computes("flip", "flip_left_right", "flip_up_down")
def _flip(op: Operation, x: Value, axis: Optional[List[int]] = None) -> Lowered:
    given = {"flip_left_right": [-2], "flip_up_down": [-3]}.get(op.name, axis) or [0]
    axes = tuple(x.stored(axis_of(op, x, each, 1)) for each in given)
    return op.lowered(functions.flip, x, axes=axes, rank=x.rank, more={"takes": None})


@computes("roll")
def _roll(op: Operation, x: Value, shift: List[int], axis: List[int]) -> Lowered:
    if len(shift) != 1 or len(axis) != 1:
        raise Unsupported(f"roll by {shift} along {axis}: only one axis is supported")
    place = axis_of(op, x, axis[0], 1)
    size = sizes_of(x.shape, place, "roll")
    least = abs(shift[0]) < size and x.free[place] is None
    by = shift[0] if least else shift[0] % size
    if x.free[place] is None and abs(shift[0]) >= size:
        raise Unsupported(f"roll by {shift[0]} of an axis of {size} elements, whose size may vary")
    return op.lowered(functions.roll, x, shift=by, axis=x.stored(place), more={"takes": None})


@computes("gather", "take")
def _gather(
    op: Operation, x: Operand, indices: Operand, axis: Optional[int] = None, batch_dims: int = 0
) -> Lowered:
    if isinstance(x, Value) and isinstance(indices, Value):
        if batch_dims != 1 or axis not in (1, None):
            raise Unsupported(f"{op.name} along axis={axis} with batch_dims={batch_dims}")
        rank = x.rank + indices.rank - 2
        order = keras_order(x.rank), keras_order(indices.rank)
        how = dict(ranks=(indices.rank + 1, rank))
        more = dict(takes=None, gives=x.dtype, input_axes=order)
        return op.lowered(
            functions.gather_in_batch, x, indices, order=keras_order(rank), more=more, **how
        )
    if isinstance(indices, Value):  # rows of a table
        if axis not in (0, None) or batch_dims:
            raise Unsupported(f"{op.name} along axis={axis} of a constant")
        table = np.asarray(x, dtype="float32")
        more = dict(takes=None, gives="float32")
        rank = indices.rank + table.ndim - 1
        return op.in_keras_order(functions.gather, table, indices, ndim=rank, more=more)
    assert isinstance(x, Value)  # build_operation has an array
    place = axis_of(op, x, 0 if axis is None else axis, 1)
    size = x.shape[place]
    numbers = np.asarray(indices)
    if numbers.dtype.kind != "i" or (size and not ((-size <= numbers) & (numbers < size)).all()):
        raise ValueError(f"{op.name} of {numbers.tolist()} along an axis of {size}")
    if numbers.ndim > 1:
        raise Unsupported(f"{op.name} of indices with {numbers.ndim} axes")
    if numbers.ndim == 0:
        how = dict(index=int(numbers), axis=x.stored(place), drop=True)
        axes = x.axes_without([place])
        return op.lowered(functions.element, x, order=axes, more={"takes": None}, **how)

    def rule(shape: Shape) -> Shape:
        return replaced(shape, place, len(numbers))

    more = dict(takes=None, rule=rule)
    return op.lowered(functions.gather, x, numbers, axis=x.stored(place), more=more)


@computes("take_along_axis")
def _take_along_axis(op: Operation, x: Value, indices: Value, axis: int) -> Lowered:
    axis = axis_of(op, x, axis, 1)
    others = [n for shape in (x.shape, indices.shape) for n in replaced(shape, axis, 0)]
    if indices.rank != x.rank or others[: x.rank] != others[x.rank :]:
        raise Unsupported(f"take_along_axis of shapes {x.shape} and {indices.shape}")
    more = dict(takes=None, gives=x.dtype, rule=lambda shape, picked: picked)
    how = dict(axis=axis, rank=x.rank)
    return op.in_keras_order(functions.gather_elements, x, indices, ndim=x.rank, **how, more=more)


@computes("gather_nd")
def _gather_nd(op: Operation, x: Value, indices: Value, batch_dims: int = 0) -> Lowered:
    count = sizes_of(indices.shape, indices.rank - 1, "gather_nd")
    if batch_dims != 1:
        raise Unsupported(f"gather_nd with batch_dims={batch_dims}: only 1 is supported")
    rank = indices.rank - 1 + x.rank - 1 - count
    more = dict(takes=None, gives=x.dtype)
    order = keras_order(x.rank), keras_order(indices.rank)
    more["input_axes"] = order
    how = dict(ranks=(indices.rank, rank), batch_dims=1)
    return op.lowered(functions.gather_nd, x, indices, order=keras_order(rank), more=more, **how)


@computes("one_hot")
def _one_hot(
    op: Operation, x: Value, num_classes: int, on_value: float = 1, off_value: float = 0,
    axis: int = -1, dtype: Any = None, sparse: bool = False,
) -> Lowered:  # fmt: skip
    kept = dtype in (None, "float32") and not sparse and num_classes > 0
    if not kept or axis not in (-1, x.rank):
        raise Unsupported(f"one_hot with axis={axis}, dtype={dtype!r} and sparse={sparse}")
    how = dict(depth=num_classes, axis=-1, values=(off_value, on_value), to="float32", wraps=False)
    more = dict(takes=None, gives="float32", input_axes=(keras_order(x.rank),))
    axes = keras_order(x.rank + 1)
    return op.lowered(functions.one_hot, x, order=axes, rank=x.rank, more=more, **how)


@computes("tril", "triu", "matrix_band_part", "band_part")
def _triangle(
    op: Operation, x: Value, k: int = 0, num_lower: Optional[int] = None,
    num_upper: Optional[int] = None,
) -> Lowered:  # fmt: skip
    upper = op.name == "triu" or num_lower == 0
    if num_lower is not None and sorted([num_lower, num_upper]) != [-1, 0]:  # type: ignore[list-item]
        raise Unsupported(f"{op.name} of {num_lower} diagonals below and {num_upper} above")
    how = dict(rank=x.rank, upper=upper, diagonal=k)
    return op.in_keras_order(functions.trilu, x, ndim=x.rank, **how, more={"rule": lambda shape: shape})


@computes("depth_to_space", "space_to_depth")
def _blocks(op: Operation, x: Value, block_size: int, data_format: Optional[str] = "nhwc") -> Lowered:
    first = str(data_format) in ("channels_first", "nchw")
    if x.rank != 4 or block_size < 1 or first:
        raise ValueError(f"{op.name} by {block_size} of shape {x.shape} in {data_format}")
    axes = channels_first(4)
    how = dict(block_size=block_size)
    return op.lowered(op.name, x, order=axes, more={"input_axes": (axes,)}, **how)


@computes("flatten", "ravel")
def _flat(op: Operation, x: Value) -> Lowered:
    return _reshape(op, x, [-1])
