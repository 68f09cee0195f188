"""Functions that pick elements: slices, splits, and parts by indices."""

from typing import Any, List, Optional, Tuple

import numpy as np

from ...importing import functions
from ..arguments import Unsupported, limit
from ..values import Shape, Size, Value, replaced
from .operations import Operation, axis_of, size_of
from .rearranging import squeezed
from .registry import Lowered, computes
from .signatures import Operand

_WHOLE = (None, None, 1)

#: A trial of unknown sizes, for slices that are empty at most sizes.
_LARGE = 2**30


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
        if 0 in sizes or any(n is None and not range(_LARGE)[slice(*p)] for n, p in zip(shape, parts)):
            raise ValueError(f"a slice of shape {shape} would be empty")
        return tuple(1 if axis is None else sizes[axis] for axis in kept)

    added = [place for place, axis in enumerate(kept) if axis is None]
    order = (0, *added, *(kept.index(axis) for axis in x.axes[1:] if axis in kept))
    stored, second = [parts[axis] for axis in x.axes], (0, 0)
    size = x.free[x.axes[1]] if x.rank > 1 else None
    if size is not None and stored[1] != _WHOLE and stored[1][2] == 1:
        begin, end, _ = slice(*stored[1]).indices(size)
        stored[1], second = _WHOLE, (begin, end)
    how = dict(parts=stored, dropped=tuple(sorted(map(x.stored, dropped))), second=second)
    fields = dict(rule=rule, takes=None, nonnegative=x.nonnegative)
    return op.lowered(functions.slices, x, order=order, added=len(added), **how, **fields)


@computes("slice")
def _slice_of(op: Operation, x: Value, begin: List[int], size: List[int]) -> Lowered:
    if any(isinstance(n, Size) for n in (*begin, *size)):
        raise Unsupported("a slice to a computed size")
    ends = [None if n == -1 else at + n for at, n in zip(begin, size)]
    return _slice(op, x, [dict(start=at or None, stop=end) for at, end in zip(begin, ends)])


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


@computes("split", "array_split")
def _split(
    op: Operation, x: Value, num_or_size_splits: Any = None,
    indices_or_sections: Any = None, axis: int = 0,
) -> Lowered:  # fmt: skip
    axis = axis_of(op, x, axis, 1)
    size, given = size_of(op, x, axis), num_or_size_splits or indices_or_sections
    if isinstance(indices_or_sections, list):
        cuts = [0, *indices_or_sections, size]
        parts = [end - begin for begin, end in zip(cuts, cuts[1:])]
    elif isinstance(given, list):
        rest = size - sum(n for n in given if n != -1)
        parts = [rest if n == -1 else n for n in given]
    else:
        limit(f"split into {given}", given if isinstance(given, int) else 0)
        parts = [size // given] * given if isinstance(given, int) and given > 0 else []
    if not parts or min(parts) < 1 or sum(parts) != size:
        raise ValueError(f"split into {given!r} at axis={axis!r} of shape {x.shape}")
    if len(parts) == 1:
        return op.lowered("identity", x, takes=None, rule=lambda shape: shape)
    fields: Any = dict(takes=None, more_axes=(x.axes,) * (len(parts) - 1))
    fields["rule"] = lambda shape: [replaced(shape, axis, shape[axis] and n) for n in parts]
    if len(set(parts)) == 1:
        return op.lowered("split", x, num_outputs=len(parts), axis=x.stored(axis), **fields)
    return op.lowered(functions.split, x, axis=x.stored(axis), sizes=tuple(parts), **fields)


@computes("hsplit", "dsplit")
def _split_at(op: Operation, x: Value, indices_or_sections: Any) -> Lowered:
    return _split(op, x, None, indices_or_sections, 1 if op.name == "hsplit" else 2)


@computes("unstack")
def _unstack(op: Operation, x: Value, num: Optional[int] = None, axis: int = 0) -> Lowered:
    axis = axis_of(op, x, axis, 1)
    count, order = size_of(op, x, axis), x.axes_without([axis])
    limit(f"unstack of {count}", count)
    if count == 1:
        return squeezed(op, x, [axis])
    how: Any = dict(num_outputs=count, axis=x.stored(axis), squeeze_axis=True, takes=None)
    how["rule"] = lambda shape: (*shape[:axis], *shape[axis + 1 :])
    return op.lowered("split", x, order=order, more_axes=(order,) * (count - 1), **how)


@computes("diagonal", "diag_part", "trace")
def _diagonal(op: Operation, x: Value, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Lowered:
    one, other = [axis_of(op, x, axis, 1) for axis in (axis1, axis2)]
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
    op: Operation, x: Operand, indices: Operand, axis: Optional[int] = None, batch_dims: int = 0
) -> Lowered:
    if op.name == "take" and axis is None and len(x.shape) > 1:
        raise Unsupported("take of a flat array: give an axis")
    if isinstance(indices, Value):
        table = not isinstance(x, Value)
        if (axis if axis is not None else batch_dims, batch_dims) != ((0, 0) if table else (1, 1)):
            raise Unsupported(f"{op.name} along axis={axis} with batch_dims={batch_dims}")
        ndim = len(x.shape) + indices.rank - (1 if table else 2)
        how: Any = dict(ndim=ndim, takes=None, gives="float32" if table else x.dtype)
        if table:
            return op.in_keras_order(functions.gather, x, indices, **how)
        how["ranks"] = (indices.rank + 1, ndim)
        return op.in_keras_order(functions.gather_in_batch, x, indices, **how)
    place = axis_of(op, x, 0 if axis is None else axis, 1)
    size, numbers = size_of(op, x, place), indices
    if numbers.dtype.kind != "i" or numbers.ndim > 1 or np.abs(numbers + 0.5).max() > size:
        raise ValueError(f"{op.name} of {numbers.tolist()} along an axis of {size}")
    stored = x.stored(place)
    if numbers.ndim == 0:
        how = dict(index=int(numbers), axis=stored, drop=True, takes=None)
        return op.lowered(functions.element, x, order=x.axes_without([place]), **how)
    rule = lambda shape: replaced(shape, place, len(numbers))  # noqa: E731
    return op.lowered(functions.gather, x, numbers, axis=stored, takes=None, rule=rule)


@computes("gather_nd", "batch_gather_nd")
def _gather_nd(op: Operation, x: Operand, indices: Value, batch_dims: int = 0) -> Lowered:
    count, table = indices.shape[-1], not isinstance(x, Value)
    if count is None or not table and batch_dims < 1:
        raise Unsupported(f"{op.name} with batch_dims={batch_dims}: the batch must stay first")
    sizes = x.shape[batch_dims + count :]

    def rule(*shapes: Shape) -> Shape:
        return (*shapes[-1][:-1], *(sizes if table else shapes[0][batch_dims + count :]))

    ndim = indices.rank - 1 + len(sizes)
    how: Any = dict(ranks=(indices.rank, ndim), batch_dims=batch_dims, rule=rule, takes=None)
    how["gives"] = "float32" if table else x.dtype
    return op.in_keras_order(functions.gather_nd, x, indices, ndim=ndim, **how)


@computes("take_along_axis")
def _take_along_axis(op: Operation, x: Value, indices: Value, axis: int) -> Lowered:
    axis = axis_of(op, x, axis, 1)
    pairs = enumerate(zip(x.shape, indices.free))
    grown = tuple(a for a, (size, n) in pairs if n == 1 and size != 1 and a != axis)

    def rule(shape: Shape, picked: Shape) -> Shape:
        return tuple(shape[a] if a in grown else n for a, n in enumerate(picked))

    alike = indices.rank == x.rank
    if not alike or replaced(rule(x.shape, indices.shape), axis, 0) != replaced(x.shape, axis, 0):
        raise Unsupported(f"take_along_axis of shapes {x.shape} and {indices.shape}")
    how: Any = dict(axis=axis, rank=x.rank, grown=grown, takes=None, gives=x.dtype, rule=rule)
    return op.in_keras_order(functions.gather_elements, x, indices, ndim=x.rank, **how)


@computes("one_hot")
def _one_hot(
    op: Operation, x: Value, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False
) -> Lowered:
    if dtype not in (None, "float32") or sparse or num_classes < 1 or axis not in (-1, x.rank):
        raise Unsupported(f"one_hot with axis={axis}, dtype={dtype!r} and sparse={sparse}")
    how = dict(mode="one_hot", depth=num_classes, rank=x.rank, takes=None, gives="float32")
    return op.in_keras_order(functions.encode, x, ndim=x.rank + 1, **how)
