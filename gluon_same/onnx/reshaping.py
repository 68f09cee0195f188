"""Reshapes and repetitions of arrays to shapes that follow from open sizes."""

import itertools
from math import prod
from typing import Any, Iterator, List, Optional, Sequence, Set, Tuple

import mxnet as mx
import numpy as np

from ..importing import functions
from .values import EMPTY, FIX, Data, Known, Unsupported

Shapes = Sequence[Tuple[int, ...]]
Codes = Tuple[int, ...]  #: of MXNet's reshape

#: Axes of a reshape on a CPU, where oneDNN may hold the data.
MOST_AXES = 6


def reshaped(net: Any, x: Data, wanted: Shapes, shape: Optional[Known] = None) -> Data:
    """Return an array in another shape, which is given for each trial of the open sizes.

    ``shape`` are the numbers from which the shape follows.
    """

    def checked(trial, given):
        if prod(given) != prod(wanted[trial]):
            raise ValueError(f"data of shape {given} cannot have the shape {wanted[trial]}")
        return given or (1,)

    given, new = x.each(checked), [sizes or (1,) for sizes in wanted]
    if len(set(map(len, wanted))) > 1:
        raise Unsupported(f"the number of axes {FIX}")
    scalar = not wanted[0]
    if len(new[0]) > MOST_AXES:
        raise Unsupported(f"its result has {len(new[0])} axes, and MXNet supports {MOST_AXES}")
    if given == new:
        return x if scalar == x.scalar else net.call("identity", x, scalar=scalar)
    if x.ndim == 5 and net.in_blocks(x):
        # Hybridized, MXNet cannot transpose a reshaped result of a 3-D convolution in oneDNN's memory.
        x = net.call(functions.plainly, x)
    if len(x.trials) > 1 and len(set(new)) == 1:
        # A size may be the same only at the trials, as that of the first 10 elements of a longer axis.
        return net.call(functions.reshape, x, shape=new[0], kept=0, scalar=scalar)
    steps = _steps(given, new)
    if steps is None:
        parts = _parts(given, new)
        made = _split_like(net, x, given, new, shape)
        if made is None and parts not in ([], [given]):
            made = _split_like(net, x, given, parts[0])
        if made is None:
            raise Unsupported(f"a reshape from {given[0]} to {new[0]} {FIX}")
        return reshaped(net, made, wanted)
    for codes in steps:
        x = net.call("reshape", x, shape=codes, scalar=scalar)
    return x


def _steps(given: Shapes, wanted: Shapes) -> Optional[List[Codes]]:
    """Return codes of reshapes, one after another, that are right at every trial, or None.

    At other sizes they are right as well, or MXNet raises an error: it divides by the two numbers behind
    -4 without a remainder, but leaves out elements, or reads further ones, for a -1 that is not whole.
    """
    parts = _parts(given, wanted)
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


def _parts(given: Shapes, wanted: Shapes) -> List[Shapes]:
    """Return shapes that both follow from by merging axes, if there are any.

    Of too many axes, fixed ones that the wanted shape merges are merged.

    Examples
    --------
    >>> _parts([(2, 12, 5), (3, 20, 5)], [(8, 3, 5), (12, 5, 5)])
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
    except mx.MXNetError:
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


def _split_like(
    net: Any, x: Data, given: Shapes, wanted: Shapes, shape: Optional[Known] = None
) -> Optional[Data]:
    """Return a reshape in which one axis becomes several open ones as of another array, or None."""
    for count, start in itertools.product(range(2, len(wanted[0]) + 1), range(len(wanted[0]) - 1)):
        end = start + count
        run = list(zip(*wanted))[start:end]
        if len(run) < count or max(len(set(sizes)) for sizes in run) == 1:
            continue
        merged = [(*new[:start], prod(new[start:end]), *new[end:]) for new in wanted]
        steps = [] if merged == list(given) else _steps(given, merged)
        like = (net.find_axes(run) or _array_with(net, run, shape, start)) if steps is not None else None
        if steps is None or like is None:
            continue
        for codes in steps:
            x = net.call("reshape", x, shape=codes, scalar=False)
        return net.call(
            functions.split_like, x, like[0], axis=start, other_axis=like[1], count=count,
            dtype=x.dtype, scalar=False,
        )  # fmt: skip
    return None


def _array_with(
    net: Any, run: Sequence[Tuple[int, ...]], shape: Optional[Known], start: int
) -> Optional[Tuple[Data, int]]:
    """Return an array with axes of some sizes, which are given for each trial, and the first axis."""
    one = net.array(Known([np.zeros((1,) * len(run), np.float32)]))
    try:
        return expanded(net, one, list(zip(*run)), shape, start), 0
    except Unsupported:
        return None


def expanded(
    net: Any, x: Data, wanted: Shapes, shape: Optional[Known] = None, start: Optional[int] = None
) -> Data:
    """Return an array that is repeated along axes of size 1, to a shape for each trial.

    ``shape`` are the numbers from which sizes follow, from a place on; that of the last axis by default.
    """
    rank = len(wanted[0])
    if rank == 0:
        return x
    more = rank - x.ndim
    if more:
        x = reshaped(net, x, [(1,) * more + s for s in x.trials])
    sizes = [0] * rank
    for axis, (old, new) in enumerate(zip(zip(*x.trials), zip(*wanted))):
        place = axis + (start if start is not None else 0 if shape is None else shape.first.size - rank)
        limited = shape is not None and place >= 0 and shape.limits[place] < np.inf
        if old == new and not limited:
            continue
        if 0 in new:
            raise Unsupported(EMPTY)
        if len(set(new)) == 1 and not limited:
            sizes[axis] = new[0]
            continue
        if old != (1,) * len(old):
            raise Unsupported(f"whether a limit applies to its shape {FIX}")
        other, other_axis = axis_of_size(net, new, shape, place)
        x = net.call(
            "broadcast_like", x, other, lhs_axes=(axis,), rhs_axes=(other_axis,), dtype=x.dtype,
            scalar=False,
        )  # fmt: skip
    return net.call("broadcast_to", x, shape=tuple(sizes)) if any(sizes) else x


def axis_of_size(
    net: Any, sizes: Sequence[int], numbers: Optional[Known] = None, place: int = 0
) -> Tuple[Data, int]:
    """Return an array and its axis that has a size at each trial; raise if there is none.

    If it is not certain, it is made at run time from the number at a place of ``numbers``.
    """
    trials = range(len(sizes) if numbers is not None else 0)
    if numbers is not None and [numbers.at(t).flat[place] for t in trials] != list(sizes):
        numbers = None  # such as -1
    limited = numbers is not None and numbers.limits.flat[place] < np.inf
    found = None if limited else certain_axis(net, sizes)
    if found is None and numbers is not None and numbers.make is not None:
        how = dict(i=place, dtype=np.float32, scalar=False, known_shapes=[(n,) for n in sizes])
        line = net.call(functions.line_of, net.array(numbers), **how)
        if limited:
            net.doubt_size(line, 0)
        return line, 0
    steps = net.find_steps(sizes) if found is None else None
    if steps is not None:
        return _stepped(net, *steps), 0
    if found is None:
        raise Unsupported(f"a size of its result {FIX}")
    return found


def certain_axis(net: Any, sizes: Sequence[int]) -> Optional[Tuple[Data, int]]:
    """Return an array and its axis that has a size, unless it is known from the trials only."""
    found = net.find_axes([sizes])
    if found is not None:
        return found
    if len(set(sizes)) == 1:
        return net.array(Known([np.zeros(sizes[0], np.float32)])), 0
    line = net.find_line(sizes)
    if line is not None:
        return _stepped(net, *line), 0
    run = net.find_run(sizes)
    if run is None:
        return None
    x, start, end = run
    return reshaped(net, x, [(*s[:start], prod(s[start:end]), *s[end:]) for s in x.stored]), start


def _stepped(net: Any, x: Data, axis: int, steps: Tuple[int, int, int], repeats: int = 1) -> Data:
    """Return an array whose size follows from an axis of another one."""
    times, begin, step = steps
    how = dict(axis=axis, times=times, begin=begin, step=step, repeats=repeats)
    return net.call(functions.steps_along, x, **how, scalar=False)
