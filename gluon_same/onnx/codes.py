"""Codes of MXNet's reshape that are right at every size that a file leaves open."""

from math import prod
from typing import Any, Iterator, List, Optional, Sequence, Set, Tuple

import mxnet as mx
import numpy as np

Shapes = Sequence[Tuple[int, ...]]
Codes = Tuple[int, ...]  #: of MXNet's reshape

#: Axes of a reshape on a CPU, where oneDNN may hold the data.
MOST_AXES = 6


def steps_for(given: Shapes, wanted: Shapes) -> Optional[List[Codes]]:
    """Return codes of reshapes, one after another, that are right at every trial, or None.

    At other sizes they are right as well, or MXNet raises an error: it divides by the two numbers behind
    -4 without a remainder, but leaves out elements, or reads further ones, for a -1 that is not whole.
    """
    parts = parts_of(given, wanted)
    multiples = _multiples(wanted, codes_for(given, wanted))
    for between in ([], parts, parts and _merged(parts[0], wanted), multiples):
        shapes = [given, *between, wanted]
        pairs = [(codes_for(*each), each[0]) for each in zip(shapes, shapes[1:])]
        steps = [codes for codes, start in pairs if codes is not None and _is_whole(codes, start)]
        if len(steps) == len(pairs):
            return steps
    return None


def _is_whole(codes: Codes, given: Shapes) -> bool:
    """Return whether a reshape has all elements at every size, or raises an error.

    It does if that holds where open sizes are 1, because the others have multiples of these elements.
    """
    shape = tuple(sizes[0] if len(set(sizes)) == 1 else 1 for sizes in zip(*given))
    try:
        made = mx.sym.reshape(mx.sym.var("x"), shape=codes).infer_shape_partial(x=shape)[1][0]
    except mx.MXNetError:
        return True
    return prod(made) == prod(shape)


def parts_of(given: Shapes, wanted: Shapes) -> List[Shapes]:
    """Return shapes that both follow from by merging axes, if there are any.

    Of too many axes, fixed ones that the wanted shape merges are merged.

    Examples
    --------
    >>> parts_of([(2, 12, 5), (3, 20, 5)], [(8, 3, 5), (12, 5, 5)])
    [[(2, 4, 3, 5), (3, 4, 5, 5)]]
    """
    old, new = ([np.array(sizes) for sizes in zip(*shapes)] for shapes in (given, wanted))
    parts: List[Any] = []
    ends: Set[int] = set()  # numbers of parts after which an axis of the wanted shape ends
    while old and new:
        small, large = (old, new) if (new[0] % old[0] == 0).all() else (new, old)
        if (large[0] % small[0]).any():
            return []
        parts.append(small.pop(0))
        large[0] = large[0] // parts[-1]
        if (large[0] == 1).all():
            large.pop(0)
        if len(new) + len(ends) < len(wanted[0]):
            ends.add(len(parts))
    for i in range(len(parts) - 1, 0, -1):
        if len(parts) > MOST_AXES and i not in ends and max(map(np.ptp, parts[i - 1 : i + 1])) == 0:
            parts[i - 1 : i + 1] = [parts[i - 1] * parts[i]]
    return [[tuple(map(int, sizes)) for sizes in zip(*parts)]] if len(parts) <= MOST_AXES else []


def _merged(parts: Shapes, wanted: Shapes) -> List[Shapes]:
    """Return shapes that lead from parts to a shape by merging two axes at a time.

    Examples
    --------
    >>> _merged([(2, 4, 3, 5), (3, 4, 5, 5)], [(24, 5), (60, 5)])
    [[(2, 4, 3, 5), (3, 4, 5, 5)], [(8, 3, 5), (12, 5, 5)]]
    """
    shapes, columns = [parts], list(zip(*parts))
    for axis, sizes in enumerate(zip(*wanted)):
        while columns[axis : axis + 1] != [sizes] and axis + 1 < len(columns):
            columns[axis : axis + 2] = [_times(columns[axis], columns[axis + 1])]
            shapes.append(list(zip(*columns)))
    return shapes[:-1] if shapes[-1] == list(wanted) else shapes


def _multiples(wanted: Shapes, codes: Optional[Codes]) -> List[Shapes]:
    """Return shapes with a multiple of the numbers around a -1 as one axis, and divided by them.

    Examples
    --------
    >>> _multiples([(2, 4, 6), (2, 4, 9)], (2, 4, -1))
    [[(48,), (72,)], [(6, 8), (9, 8)]]
    """
    if codes is None or -1 not in codes or -4 in codes:
        return []
    start = end = open_axis = codes.index(-1)
    while start and codes[start - 1] > 0:
        start -= 1
    while end + 1 < len(codes) and codes[end + 1] > 0:
        end += 1
    runs = [(new[:start], new[start : end + 1], new[end + 1 :]) for new in wanted]
    merged = [(*first, prod(run), *last) for first, run, last in runs]
    ones = [run[open_axis - start] for _, run, _ in runs]
    divided = [(*f, one, prod(run) // one, *last) for one, (f, run, last) in zip(ones, runs)]
    return [merged, divided]


def codes_for(given: Shapes, wanted: Shapes) -> Optional[Codes]:
    """Return MXNet's codes of a reshape that is right at every trial, or None.

    Examples
    --------
    >>> codes_for([(2, 6, 5), (3, 8, 5)], [(12, 5), (24, 5)])
    (-1, 5)
    >>> codes_for([(2, 6, 5, 5), (3, 8, 7, 7)], [(2, 6, 25), (3, 8, 49)])
    (0, 0, -1)
    """
    open_axes = [j for j in range(len(wanted[0])) if len({new[j] for new in wanted}) > 1]
    # The simplest: numbers, and one size that follows from the others.
    simple = tuple(-1 if j in open_axes else n for j, n in enumerate(wanted[0]))
    if len(open_axes) <= 1 and _is_whole(simple, given):
        return simple
    inputs = list(zip(*given))  # the sizes of each axis at all trials
    outputs = list(zip(*wanted))
    aligned = tuple(
        0 if inputs[j : j + 1] == [sizes] else -1 if j in open_axes else sizes[0]
        for j, sizes in enumerate(outputs)
    )
    candidates = [aligned, *_codes(inputs, outputs), simple]
    right = [codes for codes in candidates if _is_right(codes, given, wanted)]
    return next((codes for codes in right if _is_whole(codes, given)), right[0] if right else None)


def serves(codes: Codes, given: Shapes, wanted: Shapes) -> bool:
    """Return whether a reshape by codes gives the wanted shapes, with all elements at every size."""
    return _is_right(codes, given, wanted) and _is_whole(codes, given)


def _is_right(codes: Codes, given: Shapes, wanted: Shapes) -> bool:
    """Return whether MXNet's reshape gives the wanted shapes.

    It divides by the number of elements beside a -1, of which it keeps 32 bits: all 0, it crashes.
    """
    if -1 in codes and any(prod(new) // n % 2**32 == 0 for new in wanted for n in new):
        return False
    y = mx.sym.reshape(mx.sym.var("x"), shape=codes)
    try:
        return all(y.infer_shape_partial(x=s)[1] == [new] for s, new in zip(given, wanted))
    except Exception:  # an MXNetError, or a bare one for arrays of 2**31 elements
        return False


def _codes(inputs, outputs) -> Iterator[Codes]:
    """Yield codes that may make the outputs from the inputs, from the first axis to the last."""
    if not outputs:
        if not inputs:
            yield ()
        return
    first, rest = outputs[0], outputs[1:]
    if inputs and inputs[0] == first:
        yield from ((0, *more) for more in _codes(inputs[1:], rest))
    if len(inputs) > 1 and _times(inputs[0], inputs[1]) == first:
        yield from ((-3, *more) for more in _codes(inputs[2:], rest))
    if inputs and rest and _times(first, rest[0]) == inputs[0]:
        pair = [n[0] if len(set(n)) == 1 else -1 for n in (first, rest[0])]
        if pair.count(-1) < 2:
            yield from ((-4, *pair, *more) for more in _codes(inputs[1:], rest[1:]))
    if all(len(set(n)) == 1 for n in rest):
        yield (-1, *(n[0] for n in rest))


def _times(one, other):
    return tuple(a * b for a, b in zip(one, other))
