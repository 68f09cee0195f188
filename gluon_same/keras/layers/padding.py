"""Padding by given and by computed numbers of elements."""

from typing import Any, List, Sequence

from ...importing import functions
from ..arguments import Unsupported
from ..values import Size, Value
from .computed import combined
from .lengths import line_of, number_of
from .registry import Lowered, Request, computes


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
            how: Any = dict(axis=axis, before=0 if first else before, mode=mode, value=value)
            y = op.derive(functions.pad_along, y, line_of(op, sizes[axis]), *first, rank=x.rank, **how)
    return op.sized(y, x, sizes)
