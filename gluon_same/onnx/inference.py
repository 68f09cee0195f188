"""Shapes of the arrays of a net at each trial of the sizes that its file leaves open."""

import random
from functools import reduce
from itertools import chain, combinations
from math import gcd, prod
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import mxnet as mx
import numpy as np

from ..arrays import infer
from ..importing.net import cause
from .limits import steps_of
from .values import Data, Known, Line, NeedsTrials, Refused, Sizes, Unsupported


class Inference:
    """Inference of shapes at several trials of the open sizes."""

    def __init__(self) -> None:
        self._arrays: List[Data] = []  # those whose shapes are inferred
        self._pending: List[Data] = []
        self._shapes: List[Dict[str, Sizes]] = []  # of the variables, at each trial
        self._lines: Dict[Sizes, Optional[Line]] = {}  # on which open numbers are, by their values
        # Whether another attempt, which follows if no sizes fit, has other rules; whether this is it.
        self.has_others = self.again = False
        # Whether doubtful sizes must be those of the trials where they are read; whether any was read.
        self.strict = self.reads_doubts = False

    def refuse(self, why: Dict[int, str]) -> None:
        """Raise if there are reasons why the model refuses trials."""
        if why:
            raise Unsupported(why[0]) if len(self._shapes) == 1 else Refused(why)

    def infer(self) -> None:
        """Infer the shapes of the arrays that were added since the last call."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        shapes: List[Sequence[Sizes]] = []
        why = {}
        for trial, sizes in enumerate(self._shapes):
            try:
                shapes.append(infer([x.symbol for x in pending], sizes))
            except Exception as error:  # MXNet raises it for tensors that are too large
                why[trial] = _culprit(pending, sizes) or cause(error)
        self.refuse(why)
        for x, each in zip(pending, zip(*shapes)):
            self._settle(x, each)

    def find_axes(self, sizes: Sequence[Sequence[int]]) -> Optional[Tuple[Data, int]]:
        """Return an array and the first of its consecutive axes that have these sizes at each trial."""
        wanted = list(zip(*sizes))
        runs = self._runs(len(sizes))
        return next(((x, axis) for x, axis, _, found in runs if found == wanted), None)

    def find_run(self, sizes: Sequence[int]) -> Optional[Tuple[Data, int, int]]:
        """Return an array, and the first and the end of consecutive axes whose product is a size."""
        for x, start, end, found in self._runs():
            if [*map(prod, found)] == list(sizes):
                return x, start, end
        return None

    def _runs(self, count: int = 0) -> Iterator[Tuple[Data, int, int, List[Sizes]]]:
        """Yield consecutive axes, ``count`` or any: an array, the first, the end, and their sizes."""
        self.infer()
        for x in self._arrays:
            for start, end in combinations(range(len(x.stored[0]) + 1), 2):
                found = [shape[start:end] for shape in x.stored] if count in (0, end - start) else []
                if found and not x.doubts.keys() & set(range(start, end)):
                    yield x, start, end, found

    def note_line(self, x: Known) -> None:
        """Note on which line one open whole number is. Of two for the same values, none is certain."""
        if x.line is None or not x.line.slopes or any((n != np.rint(n)).any() for n in x.trials):
            return
        values = tuple(int(n.item()) for n in x.trials)
        if self._lines.setdefault(values, x.line) != x.line:
            self._lines[values] = None

    def find_line(self, sizes: Sequence[int]) -> Optional[Tuple[Data, int, Tuple[int, int, int], int]]:
        """Return an array, its axis, and how its size n gives the sizes at each trial.

        ``times, begin, step``, as the file computes sizes, mean that a size is that of
        ``range(begin, n * times, step)``, times the last result, a factor.
        """
        for factor in range(reduce(gcd, sizes), 0, -1):
            parts = tuple(n // factor for n in sizes)
            line = self._lines.get(parts) if max(n % factor for n in sizes) == 0 else None
            steps = steps_of(line, parts) if line is not None else None
            found = self.find_axes([steps[0]]) if steps else None
            if steps and found:
                return (*found, steps[1], factor)
        return None

    def selected(self, mask: Data, shapes: Sequence[Any]) -> List[Sizes]:
        """Return shapes of a result with as many elements along one axis as an array selects.

        They have None there at each trial. It gets numbers that follow from no other size, and are
        far apart, so that those which are cut to a limit, such as the best 100, differ from the others.
        In another attempt, they are also not above the number of elements that are selected
        from, unless those are few. Of one element, all are selected, or none, which is an error.
        """
        if len(self._shapes) == 1:
            raise NeedsTrials
        self.has_others = True
        chosen = random.Random(mask.slot)
        numbers = [round(10 * 3 ** chosen.uniform(trial, trial + 1)) for trial in range(len(shapes))]
        for trial, shape in enumerate(mask.trials):
            if prod(shape) == 1:
                numbers[trial] = 1
            elif self.again and len(shapes) < prod(shape) < numbers[trial]:
                below = set(range(1, prod(shape) + 1)).difference(numbers)
                numbers[trial] = chosen.choice(sorted(below) or [numbers[trial]])
        return [tuple(n if m is None else m for m in s) for s, n in zip(shapes, numbers)]

    def doubt(self, inputs: Sequence[Data], made: Sequence[Data], symbols: Any) -> None:
        """Doubt sizes of results that follow from doubtful ones of the inputs.

        Those sizes of ``symbols``, the results, follow that change with them. If none can be inferred
        then, the operator makes sure of them itself. Without symbols, equal sizes follow.
        """
        groups: Dict[Sizes, Any] = {}
        for x in dict.fromkeys(inputs):
            for axis in x.doubts:
                groups.setdefault([*zip(*x.stored)][axis], []).append((x, axis))
        if not groups:
            return
        self.infer()
        for sizes, places in groups.items():
            every = [x.doubts[axis] for x, axis in places]
            calls = [] if [] in every else [*dict.fromkeys(chain(*every))]
            for y, axis in self._following(sizes, places, made, symbols):
                y.doubts[axis] = calls if y.doubts.get(axis, [None]) else []

    def _following(self, sizes, places, made, symbols):
        """Yield the results, and those axes of them, whose sizes follow from axes of some sizes."""
        if symbols is None:
            found: Any = [
                [-(each == sizes) or n for each, n in zip(zip(*y.stored), y.stored[0])] for y in made
            ]
        else:
            given = dict(self._shapes[0])
            for x, axis in places:
                shape = [*given[x.symbol.name]]
                shape[axis] *= 2
                given[x.symbol.name] = tuple(shape)
            try:
                found = infer(symbols, given)
            except Exception:  # MXNet raises it for sizes that an operator does not support
                return
        for y, shape in zip(made, found):
            yield from ((y, axis) for axis, n in enumerate(shape) if n != y.stored[0][axis])

    def _settle(self, x: Data, shapes: Sequence[Sizes]) -> None:
        """Store the shapes of an array, which is a variable from now on."""
        name = f"array at run time {x.slot}"
        x.stored, x.symbol = list(shapes), mx.sym.var(name)
        for given, shape in zip(self._shapes, shapes):
            given[name] = shape
        self._arrays.append(x)


def _culprit(pending: Sequence[Data], sizes: Dict[str, Sizes]) -> Optional[str]:
    """Return which array has no shape, and why."""
    for x in pending:
        try:
            infer([x.symbol], sizes)
        except Exception as error:
            return f"the result of {x.node}: {cause(error)}"
    return None
