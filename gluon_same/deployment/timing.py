"""Timing of graphs, and the choice of the fastest."""

import os
import time
from functools import partial
from timeit import timeit
from typing import Any, Callable, Dict, List, Tuple

from ..arrays import return_freed_memory
from ..graph import Graph
from .running import Arrays, caller

#: The default graph is kept unless another takes less than this fraction of its time. Smaller gains are
#: noise.
WORTH_IT = 0.97

#: Part of the rounds in which a graph must be faster than the default.
NEARLY_ALL = 0.9

#: Seconds of timing for each graph, and the smallest number of rounds.
SECONDS, LEAST = 0.5, 5

#: The clock that compares graphs. Without threads that wait for each other, the time of other programs
#: does not count.
CLOCK = time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter


def times(graphs: Dict[str, Graph], arrays: Arrays) -> Dict[str, float]:
    """Return the fewest seconds per call of each graph, timed in turn."""
    runs: Dict[str, Callable] = {name: partial(caller(graph), arrays) for name, graph in graphs.items()}
    return {name: min(seconds) for name, seconds in in_turns(runs).items()}


def in_turns(runs: Dict[str, Callable[[], Any]], seconds: float = SECONDS) -> Dict[str, List[float]]:
    """Return the seconds of each call of functions that are called in turn, ``seconds`` for each."""
    for run in runs.values():
        run()  # The first call prepares the weights.
    found: Dict[str, List[float]] = {name: [] for name in runs}
    end, rounds = time.perf_counter() + seconds * len(runs), 0
    while rounds < LEAST or time.perf_counter() < end:
        for name, run in runs.items():
            found[name].append(timeit(run, number=1))
        rounds += 1
    return found


def faster(graphs: Dict[str, Graph], arrays: Arrays, rule: str) -> Tuple[str, bool]:
    """Return the name of the fastest graph, or the default ``rule`` if that is about as fast.

    The second result is False if the default stays because times vary too much: on a busy machine, no
    graph is faster than another in nearly all rounds.
    """
    best, clear = rule, True
    run = partial(caller(graphs[rule]), arrays)
    for name, graph in graphs.items():
        if name != rule:
            other = partial(caller(graph), arrays)
            is_faster, sure = _race(run, other)
            if is_faster:
                best, run = name, other
            clear = clear and sure
            del other  # before the next one is prepared, so that two at a time need memory
            return_freed_memory()
    return best, clear or best != rule


def _race(run, other):
    """Return whether the other function is faster than the first, and whether this is clear."""
    for each in (run, other):
        each()  # The first call prepares the weights.
    rounds, losses = max(LEAST, int(SECONDS / _seconds(run))), 0
    most = rounds * (1 - NEARLY_ALL)
    found: List[Tuple[float, float]] = []
    while len(found) < rounds and losses <= most:
        found.append((_seconds(run), _seconds(other)))
        losses += found[-1][0] < found[-1][1]
    own, its = map(min, zip(*found))
    is_faster, nearly_always = its < WORTH_IT * own, losses <= most
    return is_faster and nearly_always, nearly_always or not is_faster


def _seconds(run):
    start = CLOCK()
    run()
    return CLOCK() - start
