"""Functions that pick, move, repeat or join elements: slices, reshapes, transposes, gathers."""

import math
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ...importing import functions
from ..arguments import Unsupported
from ..values import Shape, Size, Value, channels_first, product, replaced
from .core import permuted, reshaped
from .merging import joined
from .operations import Operation, axis_of, size_of
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
            if not (n is None or begin is None or -n <= begin < n + (step > 0)):
                raise ValueError(f"a slice from {begin} of an axis of {n}")  # MXNet requires it inside
        sizes = [
            None if n is None else len(range(n)[slice(*part)]) if part != _WHOLE else n
            for n, part in zip(shape, parts)
        ]
        if 0 in sizes:
            raise ValueError(f"a slice of shape {shape} would be empty")
        return tuple(1 if axis is None else sizes[axis] for axis in kept)

    added = [place for place, axis in enumerate(kept) if axis is None]
    order = (0, *added, *(kept.index(axis) for axis in x.axes[1:] if axis in kept))
    how = dict(parts=[parts[axis] for axis in x.axes], dropped=tuple(sorted(map(x.stored, dropped))))
    fields = dict(rule=rule, takes=None, nonnegative=x.nonnegative)
    return op.lowered(functions.slices, x, order=order, added=len(added), **how, **fields)


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
    if -1 not in rest and sum(isinstance(n, Size) for n in rest) == 1:  # it follows from the others
        rest = [-1 if isinstance(n, Size) else n for n in rest]
    if any(isinstance(n, Size) for n in rest) or rest.count(-1) > 1:
        raise Unsupported(f"reshape to {_said(shape)}: two sizes of it are computed")
    if batch == 0:
        return (
            _of_tail(op, x, rest)
            if 0 in rest
            else reshaped(op.request, x, rest)._replace(inputs=(x,), takes=None)
        )
    if batch != -1 or -1 in rest or 0 in rest:
        raise Unsupported(f"reshape to {_said(shape)}: the first size must be that of the batch or -1")

    def rule(sizes: Shape) -> Shape:
        return (_divided(op, sizes, rest), *rest)

    fields = dict(rule=rule, takes=None, rows=x.slot + 1)
    return op.in_keras_order(functions.reshape_rows, x, ndim=len(shape), shape=tuple(rest), **fields)


def _divided(op: Operation, sizes: Shape, given: Sequence[int]) -> Optional[int]:
    """Return the size that is not given, of a reshape from sizes; raise if there is none."""
    total, known = product(sizes), math.prod(n for n in given if n != -1)
    if total is not None and total % known:
        raise ValueError(f"{op.name} of axes of {sizes} to {list(given)}")
    return None if total is None else total // known


def _unfolded(op: Operation, x: Value, shape: Sequence[Any]) -> Lowered:
    """Reshape folded rows to another array's batch."""
    sources: Any = [n.source if isinstance(n, Size) else (None, n) for n in shape]
    (like, _), *sizes = sources
    if not any(isinstance(n, Size) for n in shape[1:]) and -1 not in shape:
        return _reshape(op, x, [-1, *shape[1:]])._replace(rows=like.rows)
    if sizes[:1] != [(like, 1)] or tuple(shape[2:]) != x.shape[1:]:
        raise Unsupported(f"reshape to {_said(shape)}, with the batch of another array")

    def rule(sizes: Shape, whole: Shape) -> Shape:
        return (*whole[:2], *sizes[1:])

    fields = dict(rule=rule, takes=None, rows=like.rows, gives=x.dtype)
    return op.in_keras_order(functions.unfold_like, x, like, ndim=len(shape), **fields)


def _of_tail(op: Operation, x: Value, rest: List[int]) -> Lowered:
    """Reshape to sizes, the first of which are those of the input (0)."""
    kept = len(rest) - rest[::-1].index(0)
    tail = rest[kept:] or [1]
    if rest[:kept] != [0] * kept:
        raise Unsupported(f"reshape to {[0, *rest]}: sizes that stay must come first")

    def rule(sizes: Shape) -> Shape:
        found = _divided(op, sizes[kept + 1 :], tail)
        if -1 not in tail and found not in (1, None):
            raise ValueError(f"{op.name} of shape {sizes} to {[0, *rest]}")
        return (*sizes[: kept + 1], *(found if n == -1 else n for n in rest[kept:]))

    how = dict(kept=kept + 1, shape=tuple(tail), drop=not rest[kept:], rule=rule, takes=None)
    return op.in_keras_order(functions.reshape_tail, x, ndim=len(rest) + 1, **how)


def _kept(x: Value, place: int, n: Any) -> Any:
    """Return an entry of a target shape: 0 for the size that the input has there."""
    if isinstance(n, Size) and n.source is not None and (n.times, n.source[1]) == (1, place):
        at = n.source[0]
        return 0 if at.slot == x.slot or (place == 0 and at.rows == x.rows) else n
    return n


def _said(shape: Sequence[Any]) -> str:
    return str(["a size" if isinstance(n, Size) else n for n in shape])


@computes("transpose", "permute_dims")
def _transpose(op: Operation, x: Value, axes: List[int], conjugate: bool = False) -> Lowered:
    if sorted(axes) != list(range(x.rank)) or axes[0] != 0:
        raise Unsupported(f"transpose by {axes!r}: the batch must stay first")
    return permuted(x, axes)._replace(takes=None)


@computes("swapaxes", "matrix_transpose")
def _swapaxes(op: Operation, x: Value, axis1: int = -1, axis2: int = -2) -> Lowered:
    order = list(range(x.rank))
    one, other = (axis_of(op, x, axis) for axis in (axis1, axis2))
    order[one], order[other] = other, one
    return _transpose(op, x, order)


@computes("moveaxis")
def _moveaxis(op: Operation, x: Value, source: List[int], destination: List[int]) -> Lowered:
    return _transpose(op, x, np.moveaxis(np.empty(range(x.rank)), source, destination).shape)


@computes("expand_dims")
def _expand_dims(op: Operation, x: Value, axis: List[int]) -> Lowered:
    if len(axis) != 1 or not -x.rank <= axis[0] <= x.rank or axis[0] % (x.rank + 1) == 0:
        raise ValueError(f"expand_dims at axis={axis!r}")
    order = x.axes_with(axis[0] % (x.rank + 1))
    return op.lowered("expand_dims", x, order=order, axis=1, takes=None)


@computes("squeeze")
def _squeeze(op: Operation, x: Value, axis: Optional[List[int]] = None) -> Lowered:
    axes = x.places([i for i, n in enumerate(x.shape) if n == 1 and i] if axis is None else axis)
    if not axes:
        raise ValueError(f"squeeze of axis={axis!r}")

    def rule(shape: Shape) -> Shape:
        if any(shape[a] not in (1, None) for a in axes):
            raise ValueError(f"axes {axes} of shape {shape} have more than one element")
        return tuple(n for a, n in enumerate(shape) if a not in axes)

    how = dict(axis=tuple(sorted(map(x.stored, axes))), rule=rule, takes=None)
    return op.lowered("squeeze", x, order=x.axes_without(axes), **how)


@computes("pad")
def _pad(
    op: Operation, x: Value, pad_width: Any, mode: str = "constant", constant_values: float = 0
) -> Lowered:
    pairs = pad_width if isinstance(pad_width, list) and len(pad_width) == x.rank else []
    whole = all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
    whole = whole and all(isinstance(n, int) and n >= 0 for pair in pairs for n in pair)
    known = mode in ("constant", "edge", "reflect", "symmetric", "wrap")
    if not whole or pairs[:1] != [[0, 0]] or not known:
        raise Unsupported(f"pad by {pad_width!r} with mode={mode!r}")
    width = [tuple(pairs[axis]) for axis in x.axes]
    return op.lowered(functions.pad, x, pairs=width, mode=mode, value=constant_values, native=True)


@computes("concatenate")
def _joined(op: Operation, x: List[Value], axis: int = -1) -> Lowered:
    return joined(op.request, tuple(x), axis)._replace(inputs=tuple(x))


@computes("stack")
def _stack(op: Operation, x: List[Value], axis: int = 0) -> Lowered:
    place = axis % (x[0].rank + 1)
    if place == 0 or len({each.shape for each in x}) != 1:
        raise ValueError(f"stack at axis={axis!r} of shapes {[each.shape for each in x]}")
    orders = (x[0].axes,) * len(x)
    return op.lowered("stack", *x, order=x[0].axes_with(place), axis=1, input_axes=orders)


@computes("split", "array_split")
def _split(
    op: Operation, x: Value, num_or_size_splits: Optional[List[int]] = None,
    indices_or_sections: Any = None, axis: int = 0,
) -> Lowered:  # fmt: skip
    axis = axis_of(op, x, axis, 1)
    size, given = size_of(op, x, axis), num_or_size_splits or indices_or_sections
    if isinstance(indices_or_sections, list):
        cuts = [0, *indices_or_sections, size]
        parts = [end - begin for begin, end in zip(cuts, cuts[1:])]
    elif isinstance(given, list) and len(given) > 1:
        rest = size - sum(n for n in given if n != -1)
        parts = [rest if n == -1 else n for n in given]
    else:
        (count,) = given if isinstance(given, list) else [given]
        parts = [size // count] * count if isinstance(count, int) and count > 0 else []
    if not parts or min(parts) < 1 or sum(parts) != size:
        raise ValueError(f"split into {given!r} at axis={axis!r} of shape {x.shape}")
    fields: Any = dict(takes=None, more_axes=(x.axes,) * (len(parts) - 1))
    fields["rule"] = lambda shape: [replaced(shape, axis, shape[axis] and n) for n in parts]
    if len(set(parts)) == 1 and len(parts) > 1:
        return op.lowered("split", x, num_outputs=len(parts), axis=x.stored(axis), **fields)
    return op.lowered(functions.split, x, axis=x.stored(axis), sizes=tuple(parts), **fields)


@computes("unstack")
def _unstack(op: Operation, x: Value, num: Optional[int] = None, axis: int = 0) -> Lowered:
    axis = axis_of(op, x, axis, 1)
    count, order = size_of(op, x, axis), x.axes_without([axis])
    if count == 1:
        return _squeeze(op, x, [axis])
    how: Any = dict(num_outputs=count, axis=x.stored(axis), squeeze_axis=True, takes=None)
    how["rule"] = lambda shape: (*shape[:axis], *shape[axis + 1 :])
    return op.lowered("split", x, order=order, more_axes=(order,) * (count - 1), **how)


@computes("tile")
def _tile(op: Operation, x: Value, repeats: List[int]) -> Lowered:
    computed = any(isinstance(n, Size) for n in repeats)
    if len(repeats) != x.rank or repeats[0] != 1 or computed or min(repeats) < 1:
        raise Unsupported(f"tile by {_said(repeats)}: give one count of 1 for the batch")
    return op.lowered(functions.tile, x, times=tuple(repeats[a] for a in x.axes), takes=None)


@computes("repeat")
def _repeat(op: Operation, x: Value, repeats: int, axis: int) -> Lowered:
    if isinstance(repeats, Size) or repeats < 1:
        raise ValueError(f"repeat by {_said([repeats])}")
    stored = x.stored(axis_of(op, x, axis, 1))
    return op.lowered("repeat", x, repeats=repeats, axis=stored, takes=None)


@computes("flip", "flip_left_right", "flip_up_down")
def _flip(op: Operation, x: Value, axis: Optional[List[int]] = None) -> Lowered:
    given = {"flip_left_right": [-2], "flip_up_down": [-3]}.get(op.name, axis) or [0]
    axes = tuple(x.stored(axis_of(op, x, each, 1)) for each in given)
    return op.each(functions.flip, x, axes=axes, rank=x.rank, takes=None)


@computes("roll")
def _roll(op: Operation, x: Value, shift: List[int], axis: List[int]) -> Lowered:
    place = axis_of(op, x, axis[0], 1)
    size = size_of(op, x, place)
    if len(shift) != 1 or len(axis) != 1 or abs(shift[0]) >= size:
        raise Unsupported(f"roll by {shift} along axis={axis} of shape {x.shape}")
    return op.each(functions.roll, x, shift=shift[0], axis=x.stored(place), takes=None)


@computes("tril", "triu", "band_part")
def _triangle(op: Operation, x: Value, k: int = 0, num_lower: int = -1, num_upper: int = 0) -> Lowered:
    if sorted((num_lower, num_upper)) != [-1, 0]:
        raise Unsupported(f"{op.name} of {num_lower} diagonals below and {num_upper} above")
    upper = op.name == "triu" or num_lower == 0
    fields = dict(rule=lambda shape: shape)
    how = dict(rank=x.rank, upper=upper, diagonal=k, **fields)
    return op.in_keras_order(functions.trilu, x, ndim=x.rank, **how)


@computes("depth_to_space", "space_to_depth")
def _blocks(op: Operation, x: Value, block_size: int, data_format: Any = "NHWC") -> Lowered:
    if x.rank != 4 or block_size < 1 or data_format not in ("NHWC", "channels_last", None):
        raise ValueError(f"{op.name} by {block_size} of shape {x.shape} in {data_format}")
    order = channels_first(4)
    return op.lowered(op.name, x, order=order, input_axes=(order,), block_size=block_size)


@computes("flatten", "ravel")
def _flat(op: Operation, x: Value) -> Lowered:
    return _reshape(op, x, [-1])
