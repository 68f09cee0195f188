"""Running a graph: on given arrays, or against the clock."""

from typing import Any, Callable, Dict, List, Sequence

import mxnet as mx
import numpy as np

from ..tuning.timer import stopwatch
from .graph import Graph

#: What is the rule is kept unless another graph takes less than this of its time: less is noise.
WORTH_IT = 0.97

#: Times that all are timed, each time in turns.
REPEATS = 2


def caller(graph: Graph, arrays: Sequence[mx.nd.NDArray]) -> Callable[[], List[mx.nd.NDArray]]:
    """A function that runs a graph on arrays and waits for its results."""
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
    """A graph's results as NumPy arrays, in float64."""
    return as_numpy(caller(graph, arrays)())


def as_numpy(results: Sequence[Any]) -> List[np.ndarray]:
    """Results as NumPy arrays of float64."""
    return [result.astype("float32").asnumpy().astype("float64") for result in results]


def error(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> float:
    """The largest difference over the largest number, of the output where that is largest."""
    return max(float(np.abs(a - b).max() / (np.abs(b).max() or 1)) for a, b in zip(got, want))


def times(graphs: Dict[str, Graph], arrays: Sequence[mx.nd.NDArray]) -> Dict[str, float]:
    """Seconds of a call of each graph, in turns."""
    runs: Dict[str, Any] = {name: caller(graph, arrays) for name, graph in graphs.items()}
    for run in runs.values():
        run()  # the first call prepares the weights
    found = [stopwatch(runs) for _ in range(REPEATS)]
    return {name: min(each[name] for each in found) for name in graphs}


def faster(graphs: Dict[str, Graph], arrays: Sequence[mx.nd.NDArray], rule: str) -> str:
    """The name of the fastest graph, or that of the rule where it is about as fast."""
    seconds = times(graphs, arrays)
    best = min(seconds, key=lambda name: seconds[name])
    return best if seconds[best] < WORTH_IT * seconds[rule] else rule
