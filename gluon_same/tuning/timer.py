"""Timing calls in turns."""

import time
from typing import Any, Callable, Dict

#: Seconds of runs, and the rounds that they are run in.
SECONDS, LEAST, MOST = 0.4, 3, 30

#: What takes longer than this of the fastest is run no more; in the first rounds, what takes longer than
#: that, because a run may have been held up.
HOPELESS, HOPELESS_EARLY = 1.3, 3.0


def stopwatch(runs: Dict[str, Callable[[], Any]]) -> Dict[str, float]:
    """Time calls that wait for their result, in turns.

    Parameters
    ----------
    runs : dict of str to callable

    Returns
    -------
    dict of str to float
        Least seconds of each; of those that were slow at first, from few runs.

    Examples
    --------
    >>> times = stopwatch({'short': lambda: sum(range(10)), 'long': lambda: sum(range(10**5))})
    >>> min(times, key=times.get)
    'short'
    """

    best = {name: timed(run) for name, run in runs.items()}
    spent, rounds = 0.0, 0
    while rounds < LEAST or (rounds < MOST and spent < SECONDS):
        limit = (HOPELESS if rounds >= LEAST else HOPELESS_EARLY) * min(best.values())
        for name in [name for name, seconds in best.items() if seconds <= limit]:
            seconds = timed(runs[name])
            spent += seconds
            best[name] = min(best[name], seconds)
        rounds += 1
    return best


def timed(run: Callable[[], Any]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
