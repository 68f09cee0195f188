"""Padding by given and by computed numbers of elements."""

from typing import Any, List, Sequence

from ...importing import functions
from ..arguments import MOST_PARTS, Unsupported
from ..values import Shape, Size, Value
from .computed import combined, length_of, tree_of, value_for
from .operations import Operation
from .registry import Lowered, computes

#: Sizes up to this one, and some larger ones, for which a computed padding has to follow a rule.
_NEAR = 1024
_TRIALS = (*range(1, _NEAR + 1), *(2**i + more for i in range(11, 21) for more in (-1, 0, 1)))


@computes("pad")
def _pad(
    op: Operation, x: Value, pad_width: Any, mode: str = "constant", constant_values: float = 0
) -> Lowered:
    pairs = pad_width if isinstance(pad_width, list) and len(pad_width) == x.rank else []
    fits = all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
    numbers = [n for pair in pairs for n in pair] if fits else []
    fits = fits and all(isinstance(n, Size) or (isinstance(n, int) and n >= 0) for n in numbers)
    known = mode in ("constant", "edge", "reflect", "symmetric", "wrap")
    if not fits or pairs[:1] != [[0, 0]] or not known:
        raise Unsupported(f"pad by {pad_width!r} with mode={mode!r}")
    real = not x.whole or constant_values % 1 != 0
    how: Any = dict(value=constant_values, native=real, mode=mode)
    takes = "float32" if real else None
    if any(isinstance(n, Size) for n in numbers):
        return _padded_to_sizes(op, x, pairs, takes, how)
    width = [tuple(pairs[axis]) for axis in x.axes]
    return op.lowered(functions.pad, x, pairs=width, takes=takes, **how)


def _padded_to_sizes(op: Operation, x: Value, pairs: Sequence[Any], takes: Any, how: Any) -> Lowered:
    """Return the part of an array with the most padding that has what is computed."""
    if how["mode"] != "constant":
        raise Unsupported(f"pad by {pairs} with mode={how['mode']!r}: only constants are supported")
    arrays: List[Value] = []
    parts, most, lengths = [], [*pairs], {}
    for axis, (before, after) in enumerate(pairs):
        if not isinstance(before, Size) and not isinstance(after, Size):
            continue
        source = (x, axis)
        lengths[axis] = _length(Size(x.shape[axis], source), combined("add", before, after), source)
        both = [[value_for(n, source, at) for at in _TRIALS] for n in (before, after)]
        most[axis] = [max(numbers) for numbers in both]
        if min(map(min, both)) < 0 or max(most[axis]) > MOST_PARTS:
            raise Unsupported(f"pad by {pairs}, which may be negative or many")
        start = combined("subtract", most[axis][0], before) if isinstance(before, Size) else 0
        parts.append((axis, length_of(lengths[axis], arrays), start and tree_of(start, arrays)))

    def rule(shape: Shape, *_: Shape) -> Shape:
        pairs = ((n, lengths.get(axis), (x, axis)) for axis, n in enumerate(shape))
        return tuple(
            n and (value_for(length, source, n) if length else n) for n, length, source in pairs
        )

    how.update(pairs=[tuple(pair) for pair in most], parts=parts, rule=rule, takes=takes)
    return op.in_keras_order(functions.padded_to_sizes, x, *arrays, ndim=x.rank, **how)


def _length(size: Size, total: Any, source: Any) -> Any:
    """Return a size that is padded to a multiple of a number, and perhaps by more."""
    sums = {n: n + value_for(total, source, n) for n in _TRIALS}
    multiple = next((n for n in range(1, _NEAR) if sums[n + 1] != sums[n]), None)
    if multiple is None:
        raise Unsupported("pad to a computed number")
    more = sums[1] - multiple
    if more < 0 or any(-(-n // multiple) * multiple + more != end for n, end in sums.items()):
        raise Unsupported("pad by computed numbers, unless to a multiple of a number")
    blocks = combined("floor_divide", combined("add", size, multiple - 1), multiple)
    length = combined("multiply", blocks, multiple)
    return combined("add", length, more) if more else length
