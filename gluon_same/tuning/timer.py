"""Time several functions in turns."""

import time
from typing import Any, Callable, Dict

#: Total seconds of the runs, and the smallest and largest number of rounds.
SECONDS, LEAST, MOST = 0.4, 3, 30

#: Functions that take longer than this factor of the fastest are not run again. The second one applies
#: to the first rounds, where another process may have delayed a run.
HOPELESS, HOPELESS_EARLY = 1.3, 3.0


def stopwatch(runs: Dict[str, Callable[[], Any]]) -> Dict[str, float]:
    """Time functions in turns.

    Parameters
    ----------
    runs : dict of str to callable
        Functions that wait for their result. Slow ones run less often.

    Returns
    -------
    dict of str to float
        Fewest seconds of each function.

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
    """Return the seconds of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
