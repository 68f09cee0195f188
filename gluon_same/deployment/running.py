"""Evaluation and timing of graphs."""

from typing import Any, Callable, Dict, List, Sequence

import mxnet as mx
import numpy as np

from ..tuning.timer import stopwatch
from .graph import Graph

#: The default graph is kept unless another takes less than this fraction of its time. Less is noise.
WORTH_IT = 0.97

#: Number of timing rounds. Each round times all graphs in turn.
REPEATS = 2


def caller(graph: Graph, arrays: Sequence[mx.nd.NDArray]) -> Callable[[], List[mx.nd.NDArray]]:
    """Return a function that runs a graph on arrays and waits for its results."""
    symbol, given = graph.symbol(), dict(zip(graph.inputs, arrays))
    names = symbol.list_inputs()
    values = [given[name] if name in given else graph.params[name] for name in names]
    operator = mx.nd.CachedOp(symbol, [("static_alloc", True), ("static_shape", True)])

    def run():
        results = operator(*values)
        results = results if isinstance(results, list) else [results]
        for result in results:
            result.wait_to_read()
        return results

    return run


def outputs(graph: Graph, arrays: Sequence[mx.nd.NDArray]) -> List[np.ndarray]:
    """Return a graph's results as float64 NumPy arrays."""
    return as_numpy(caller(graph, arrays)())


def as_numpy(results: Sequence[Any]) -> List[np.ndarray]:
    """Return results as float64 NumPy arrays."""
    return [result.astype("float32").asnumpy().astype("float64") for result in results]


def error(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> float:
    """Return the largest error of any output, relative to the largest number of that output."""
    return max(float(np.abs(a - b).max() / (np.abs(b).max() or 1)) for a, b in zip(got, want))


def error_by_channel(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> float:
    """Return the largest error of any channel, relative to the largest number of that channel.

    A channel of small numbers counts as if it reached a thousandth of the output's largest number.
    """
    worst = 0.0
    for a, b in zip(got, want):
        axes = tuple(axis for axis in range(b.ndim) if axis != 1)
        size = np.abs(b).max(axes) + np.abs(b).max() / 1000 + 1e-30
        worst = max(worst, float((np.abs(a - b).max(axes) / size).max()))
    return worst


def times(graphs: Dict[str, Graph], arrays: Sequence[mx.nd.NDArray]) -> Dict[str, float]:
    """Return seconds per call of each graph, timed in turn."""
    runs: Dict[str, Any] = {name: caller(graph, arrays) for name, graph in graphs.items()}
    for run in runs.values():
        run()  # The first call prepares the weights.
    found = [stopwatch(runs) for _ in range(REPEATS)]
    return {name: min(each[name] for each in found) for name in graphs}


def faster(graphs: Dict[str, Graph], arrays: Sequence[mx.nd.NDArray], rule: str) -> str:
    """Return the name of the fastest graph, or the default ``rule`` if it is about as fast."""
    seconds = times(graphs, arrays)
    best = min(seconds, key=lambda name: seconds[name])
    return best if seconds[best] < WORTH_IT * seconds[rule] else rule
