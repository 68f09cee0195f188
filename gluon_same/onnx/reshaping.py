"""Reshapes and repetitions of arrays to shapes that follow from open sizes."""

import itertools
from math import prod
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from ..arrays import apart
from ..importing import functions
from .codes import MOST_AXES, Shapes, parts_of, serves, steps_for
from .values import EMPTY, FIX, Data, Known, Unsupported, stored_dtype


def reshaped(net: Any, x: Data, wanted: Shapes, shape: Optional[Known] = None) -> Data:
    """Return an array in another shape, which is given for each trial of the open sizes.

    ``shape`` are the numbers from which the shape follows.
    """

    def checked(trial, given):
        if prod(given) != prod(wanted[trial]):
            raise ValueError(f"data of shape {given} cannot have the shape {wanted[trial]}")
        if max(wanted[trial], default=0) >= 2**31:
            raise ValueError(f"MXNet supports fewer elements along an axis than {wanted[trial]}")
        return given or (1,)

    given, new = x.each(checked), [sizes or (1,) for sizes in wanted]
    if len(set(map(len, wanted))) > 1:
        raise Unsupported(f"the number of axes {FIX}")
    scalar = not wanted[0]
    if len(new[0]) > MOST_AXES:
        raise Unsupported(f"its result has {len(new[0])} axes, and MXNet supports {MOST_AXES}")
    if given == new:
        return x if scalar == x.scalar else net.call("identity", x, scalar=scalar)
    if x.ndim == 5 and x.blocked:
        # Hybridized, MXNet cannot transpose a reshaped result of a 3-D convolution in oneDNN's memory.
        x = net.call(functions.plainly, x)
    if x.transposed:
        # Hybridized, MXNet cannot transpose the gradient of a reshape in oneDNN's memory.
        x = net.call(apart, x)
    own = () if shape is None else _own_codes(given, shape)
    if len(x.trials) > 1 and len(set(new)) == 1 and -1 not in own:
        # A size may be the same only at the trials, as that of the first 10 elements of a longer axis.
        return net.call(functions.reshape, x, shape=new[0], kept=0, scalar=scalar)
    if own and serves(own, given, new):
        return net.call("reshape", x, shape=own, scalar=scalar)
    steps = steps_for(given, new)
    if steps is None:
        parts = parts_of(given, new)
        made = _split_like(net, x, given, new, shape)
        if made is None and parts not in ([], [given]):
            made = _split_like(net, x, given, parts[0])
        if made is None:
            raise Unsupported(f"a reshape from {given[0]} to {new[0]} {FIX}")
        return reshaped(net, made, wanted)
    return _by_steps(net, x, steps, scalar)


def make_sure(x: Data, axis: int) -> bool:
    """Make sure that the size of an axis follows the rule of the trials; return whether it does."""
    calls = x.doubts.get(axis, [None])
    for call in filter(None, calls):
        call()
    return bool(calls)


def _by_steps(net, x, steps, scalar=False):
    """Return a reshape by codes, and make sure of sizes in doubt that may be in their numbers.

    MXNet would read and write beyond the data.
    """
    written = [n for codes in steps for n in codes if n > 0]
    for axis in x.doubts:
        sizes = {shape[axis] for shape in x.trials}
        numbered = len(sizes) == 1 and any(n % max(sizes) == 0 for n in written)
        if numbered and not make_sure(x, axis):
            raise Unsupported(f"a size of its data {FIX}")
    for codes in steps:
        x = net.call("reshape", x, shape=codes, scalar=scalar)
    return x


def _own_codes(given: Shapes, shape: Known) -> Tuple[int, ...]:
    """Return codes by the numbers of a file, which keep their meaning at sizes that are not tried."""
    sizes, codes = list(zip(*given)), []
    for place, numbers in enumerate(zip(*(each.ravel().tolist() for each in shape.trials))):
        kept = place < len(sizes) and numbers == sizes[place]
        codes.append(numbers[0] if len(set(numbers)) == 1 else 0 if kept else -1)
    return tuple(codes) if codes.count(-1) < 2 else ()


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
        steps = [] if merged == list(given) else steps_for(given, merged)
        like = (net.find_axes(run) or _array_with(net, run, shape, start)) if steps is not None else None
        if steps is None or like is None:
            continue
        x = _by_steps(net, x, steps)
        how = dict(axis=start, other_axis=like[1], count=count)
        return net.call(functions.split_like, x, like[0], **how, scalar=False)
    return None


def _array_with(
    net: Any, run: Sequence[Tuple[int, ...]], shape: Optional[Known], start: int
) -> Optional[Tuple[Data, int]]:
    """Return an array with axes of some sizes, which are given for each trial, and the first axis."""
    try:
        return zeros_of(net, list(zip(*run)), shape, start), 0
    except Unsupported:
        return None


def zeros_of(
    net: Any, wanted: Shapes, shape: Optional[Known] = None, start: Optional[int] = None
) -> Data:
    """Return zeros in a shape as for :func:`expanded`."""
    one = net.array(Known([np.zeros((1,) * len(wanted[0]), np.float32)]))
    return expanded(net, one, wanted, shape, start)


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
    sizes, lines = [0] * rank, []
    for axis, (old, new) in enumerate(zip(zip(*x.trials), zip(*wanted))):
        place = axis + (start if start is not None else 0 if shape is None else shape.first.size - rank)
        limited = shape is not None and place >= 0 and shape.limits[place] < np.inf
        number = [n.flat[place] for n in shape.trials] if shape is not None and place >= 0 else []
        if old == new and (not limited or number != [*new]):
            continue  # also for 1 and -1
        if 0 in new:
            raise Unsupported(EMPTY)
        if len(set(new)) == 1 and not limited:
            sizes[axis] = new[0]
            continue
        if old not in (new, (1,) * len(old)):
            raise Unsupported(f"whether a limit applies to its shape {FIX}")
        lines.append((axis, new, shape, place))
    # Known sizes come first: MXNet cannot broadcast every other one of six axes.
    x = net.call("broadcast_to", x, shape=tuple(sizes)) if any(sizes) else x
    for line in lines:
        x = repeated(net, x, *line)
    return x


def repeated(
    net: Any, x: Data, axis: int, sizes: Sequence[int], numbers: Optional[Known], place: int
) -> Data:
    """Return an array that is repeated along an axis of size 1, to sizes as for ``axis_of_size``.

    An axis that has the sizes where they are tried may have one element elsewhere.
    """
    like, other_axis = axis_of_size(net, sizes, numbers, place)
    if max(shape[axis] for shape in x.trials) > 1:
        line = net.call("reshape", like, shape=tuple(-(i == axis) or 1 for i in range(x.ndim)))
        to = stored_dtype(x.dtype).name
        return net.call(functions.spread_like, x, line, others=(), to=to, scalar=False)
    return net.call("broadcast_like", x, like, lhs_axes=(axis,), rhs_axes=(other_axis,), scalar=False)


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
        return (net.doubtful(line, 0) if limited else line), 0
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
        x, axis, (times, begin, step), repeats = line
        how = dict(axis=axis, times=times, begin=begin, step=step, repeats=repeats)
        return net.call(functions.steps_along, x, **how, scalar=False), 0
    run = net.find_run(sizes)
    if run is None:
        return None
    x, start, end = run
    return reshaped(net, x, [(*s[:start], prod(s[start:end]), *s[end:]) for s in x.stored]), start
