"""Slices and paddings, by given and by computed numbers of elements."""

from typing import Any, List, Optional, Sequence, Tuple

from ...importing import functions
from ..arguments import Unsupported
from ..values import NO_BATCH, Shape, Size, Value, replaced
from .computed import combined
from .lengths import is_negative, line_of, number_of
from .operations import with_rank
from .registry import Lowered, Request, computes

_WHOLE = (None, None, 1)

#: Trials of unknown sizes, for slices that have as many elements at all sizes.
_TRIALS = 1, 2, 3, 2**30


@computes("getitem")
def _slice(op: Request, x: Value, slice_spec: Any) -> Lowered:
    given = _spelled_out(slice_spec if isinstance(slice_spec, list) else [slice_spec], x.rank)
    if x.rows == NO_BATCH and given[0] is None:
        new = [part is None for part in given].index(False)
        x = with_rank(op, x, x.rank + new)
        given[:new] = _spelled_out([], new)
    parts: List[Tuple[Any, Any, int]] = []
    dropped = []
    kept: List[Optional[int]] = []  # the input's axis for each axis of the result, None for a new one
    for part in given:
        if part is None:
            kept.append(None)
        elif isinstance(part, (int, Size)) and not isinstance(part, bool):
            dropped.append(len(parts))
            part = _from_the_end(x, len(parts), part)
            parts.append((part, combined("add", part, 1) or None, 1))
        else:
            kept.append(len(parts))
            parts.append(_bounds(x, len(parts), part))
    sized = parts[x.batch][2] == 1 and any(isinstance(n, Size) for n in parts[x.batch])
    if (parts[x.batch] != _WHOLE and not sized) or x.batch not in kept:
        raise Unsupported("a slice of the batch")
    if sized and x.rows != NO_BATCH:
        x = x._replace(rows=NO_BATCH - 1 - x.slot)
    if any(isinstance(n, Size) for part in parts for n in part):
        x, parts = _part_of_sizes(op, x, parts)

    def rule(shape: Shape) -> Shape:
        for n, (begin, _, step) in zip(shape, parts):
            if not (n is None or begin is None or -n <= begin < n + (step > 0)):
                raise ValueError(f"a slice from {begin} of an axis of {n}")  # MXNet requires it inside
        sizes = [_count(n, part) for n, part in zip(shape, parts)]
        if 0 in sizes:
            raise ValueError(f"a slice of shape {shape} would be empty")
        return tuple(1 if axis is None else sizes[axis] for axis in kept)

    added = [place for place, axis in enumerate(kept) if axis is None]
    batch, *others = (kept.index(axis) for axis in x.axes if axis in kept)
    order = (batch, *added, *others)
    stored, second = [parts[axis] for axis in x.axes], (0, 0)
    size = x.free[x.axes[1]] if x.rank > 1 else None
    if size is not None and stored[1] != _WHOLE and stored[1][2] == 1:
        begin, end, _ = slice(*stored[1]).indices(size)
        stored[1], second = _WHOLE, (begin, end)
    how = dict(parts=stored, dropped=tuple(sorted(map(x.stored, dropped))), second=second)
    fields = dict(rule=rule, takes=None, nonnegative=x.nonnegative)
    return op.lowered(functions.slices, x, order=order, added=len(added), **how, **fields)


def _part_of_sizes(op: Request, x: Value, parts: List[Any]) -> Tuple[Value, List[Any]]:
    """Return a part of an array by bounds that are computed from sizes, and the other bounds."""
    y = x
    for axis, (begin, end, step) in enumerate(parts):
        if not isinstance(begin, Size) and not isinstance(end, Size):
            continue
        whole = Size(x.shape[axis], (x, axis))
        if step != 1 or x.batch:
            raise Unsupported("a slice by numbers that are computed, with a step")
        start, end = (
            combined("subtract", whole, -n) if isinstance(n, int) and n < 0 else n
            for n in (begin or 0, end)
        )
        length = combined("subtract", whole if end is None else end, start)
        line, first = line_of(op, length), isinstance(start, Size)
        starts = [number_of(op, 1, start, "int64")] if first else []
        how: Any = dict(axis=axis, begin=0 if first else start, rank=x.rank)
        part = op.derive(functions.part_along, y, line, *starts, **how)
        shape, free = replaced(y.shape, axis, length.saved), replaced(y.free, axis, None)
        y = y._replace(slot=part.slot, axes=part.axes, shape=shape, free=free, padding=None)
        parts = [*parts[:axis], _WHOLE, *parts[axis + 1 :]]
    return y, parts


@computes("slice")
def _slice_of(op: Request, x: Value, begin: List[int], size: List[int]) -> Lowered:
    ends = [None if n == -1 else combined("add", at, n) for at, n in zip(begin, size)]
    return _slice(op, x, [dict(start=at or None, stop=end) for at, end in zip(begin, ends)])


def _count(size: Optional[int], part: Tuple[Any, ...]) -> Optional[int]:
    """Return the number of elements in a part of an axis; None if it depends on an unknown size."""
    counts = {len(range(n)[slice(*part)]) for n in (_TRIALS if size is None else (size,))}
    return counts.pop() if len(counts) == 1 else None


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


def _bounds(x: Value, axis: int, part: Any) -> Tuple[Optional[int], Optional[int], int]:
    part = part.get("config") if _class(part) == "__slice__" else part
    if not isinstance(part, dict):
        raise Unsupported(f"a slice by {part!r}")
    begin, end, step = bounds = [part.get(name) for name in ("start", "stop", "step")]
    if any(isinstance(n, bool) or not isinstance(n, (int, Size, type(None))) for n in bounds):
        raise Unsupported(f"a slice by {part!r}")
    begin, end = (_from_the_end(x, axis, n) for n in (begin, end))
    end = None if isinstance(end, Size) and end.source == (x, axis) and end.times == 1 else end
    if step == 0:
        raise Unsupported("a slice with a step of 0")
    return begin, end, 1 if step is None else step


def _from_the_end(x: Value, axis: int, bound: Any) -> Any:
    """Return a bound as a negative number where it is the size of its axis, less a number.

    Computed numbers that are negative are counted from the start.
    """
    if not isinstance(bound, Size):
        return bound
    name, size, *numbers = bound.how or (None, None)
    whole = isinstance(size, Size) and (size.source, size.times) == ((x, axis), 1)
    if whole and name == "subtract" and type(numbers[0]) is int and numbers[0] > 0:
        return -numbers[0]
    end = Size(x.shape[axis], (x, axis))
    return combined("add", end, bound) if is_negative(bound) else bound


@computes("pad")
def _pad(
    op: Request, x: Value, pad_width: Any, mode: str = "constant", constant_values: float = 0
) -> Lowered:
    pairs = checked_pairs(op, x, pad_width)
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap"):
        raise Unsupported(f"pad with mode={mode!r}")
    if any(isinstance(n, Size) for pair in pairs for n in pair):
        return _padded_to_sizes(op, x, pairs, mode, constant_values)
    real = not x.whole or constant_values % 1 != 0
    how: Any = dict(value=constant_values, native=real, mode=mode)
    takes = "float32" if real else None
    width = [tuple(pairs[axis]) for axis in x.axes]
    return op.lowered(functions.pad, x, pairs=width, takes=takes, **how)


def checked_pairs(op: Request, x: Value, given: Any) -> List[Any]:
    """Return the numbers of elements before and after each axis, none of which are samples."""
    fits = isinstance(given, list) and len(given) == x.rank and given[0] == [0, 0]
    for pair in given if fits else [None]:
        kinds = [isinstance(n, Size) or (isinstance(n, int) and n >= 0) for n in pair or ()]
        if kinds != [True, True]:
            raise Unsupported(f"{op.name} by {given!r}")
    return given


def _padded_to_sizes(op: Request, x: Value, pairs: Sequence[Any], mode: str, value: float) -> Lowered:
    """Pad an array by numbers that are computed from sizes."""
    if mode == "wrap":
        raise Unsupported(f"pad by {pairs} with mode='wrap'")
    sizes: List[Any] = [*x.shape]
    y = x
    for axis, (before, after) in enumerate(pairs):
        if before != 0 or after != 0:
            around = combined("add", before, after)
            sizes[axis] = combined("add", Size(x.shape[axis], (x, axis)), around)
            first = [number_of(op, 1, before)] if isinstance(before, Size) else []
            line, before = line_of(op, sizes[axis]), 0 if first else before
            how: Any = dict(axis=axis, before=before, rank=x.rank, how=(mode, value))
            y = op.derived(functions.pad_along, y, line, *first, **how)
    return op.sized(y, sizes)
