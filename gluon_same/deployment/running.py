"""Evaluation of graphs, and comparison of their results."""

import os
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import mxnet as mx
import numpy as np

from ..arrays import flat, in_thread, operator_of
from ..graph import LOOPS, Graph, Node
from ..whole_inputs import region_inputs, whole_inputs

#: Operators that order by numbers. Their rows may change places if the numbers are nearly equal.
RANKING = {"_contrib_box_nms", "_contrib_MultiBoxDetection", "argsort", "sort", "topk"}
RANKING |= {"_contrib_Proposal", "_contrib_MultiProposal"}

#: Relative difference above which rows are searched for elsewhere, and the largest number of such rows.
TOLERANCE, MOST_MOVED = 1e-5, 2000

#: Largest relative error that float32 rounding explains, of a net whose results change by much when a
#: last bit changes. That of other nets is TOLERANCE.
MOST = 1e-3

#: Largest error over that of a change of the last bits, and in how many ways these change.
TIMES, CHANGES = 4, 3

#: How much larger errors of channels may be, which are relative to the largest number of the channel.
BY_CHANNEL = 100

#: Size of the second random sample over that of the first. With it, nearly all ReLUs that biases keep at
#: zero become positive, and values exceed bounds such as that of ReLU6.
WIDER = 8

#: What a graph raises when it runs, such as an IndexError for an index out of bounds.
ERRORS = (mx.MXNetError, IndexError)

#: Inputs of a graph.
Arrays = Sequence[mx.nd.NDArray]


class Check(NamedTuple):
    """Inputs of a graph, its results for them, and what float32's rounding may change."""

    arrays: Arrays
    results: List[np.ndarray]
    tolerance: float  #: the largest error of a graph that computes the same, of the largest number
    by_channel: float  #: that of any channel, of the largest number of the channel


def flags(graph: Graph) -> Dict[str, bool]:
    """Return the fastest arguments of ``hybridize`` with which MXNet runs a graph correctly."""
    # Loops are wrong with static_shape, and MXNet refuses it if data select the sizes of arrays.
    unfit = any(node.op in LOOPS or node.op == "_contrib_boolean_mask" for node in graph.nodes())
    return {"static_alloc": True, "static_shape": not unfit}


def caller(graph: Graph) -> Callable[[Arrays], List[mx.nd.NDArray]]:
    """Return a function that runs a graph on its inputs and waits for the results."""
    symbol = graph.symbol()
    names, operator = symbol.list_inputs(), operator_of(symbol, graph.inputs, flags(graph).items())

    def run(arrays):
        given = {**graph.params, **dict(zip(graph.inputs, arrays))}
        results = operator(*(given[name] for name in names))
        # If a result raised the error of an operator while others wait, they would run on memory that
        # the failed one left unset, and might write anywhere.
        mx.nd.waitall()
        return flat(results)

    return run


@contextmanager
def quiet() -> Iterator[None]:
    """Prevent the line that MXNet logs about fusion for each graph that it binds."""
    asked = "MXNET_SUBGRAPH_VERBOSE" in os.environ
    os.environ.setdefault("MXNET_SUBGRAPH_VERBOSE", "0")
    try:
        yield
    finally:
        if not asked:
            del os.environ["MXNET_SUBGRAPH_VERBOSE"]


def outputs(graph: Graph, arrays: Arrays) -> List[np.ndarray]:
    """Return a graph's results as float64 NumPy arrays."""
    return as_numpy(caller(graph)(arrays))


def as_numpy(results: Sequence[Any]) -> List[np.ndarray]:
    """Return results as float64 NumPy arrays."""
    return in_thread(lambda: [x.astype("float32").asnumpy().astype("float64") for x in results])


def error(got: Sequence[np.ndarray], want: Sequence[np.ndarray], ranked: bool = False) -> float:
    """Return the largest error of any output, relative to the largest number of that output.

    If rows are ``ranked``, those of nearly equal scores may have changed places.
    """
    if [y.shape for y in got] != [y.shape for y in want]:
        return float("inf")
    if ranked:
        got = _in_order(got, want)
    return max(float(np.abs(a - b).max() / (np.abs(b).max() or 1)) for a, b in zip(got, want))


def ranks(graph: Graph) -> bool:
    """Return whether the order of a graph's results may depend on the rounding of scores."""
    return any(node.op in RANKING for node in graph.nodes())


def _in_order(got, want):
    """Return results such as classes, scores and boxes with the rows in the order of those wanted."""
    shape = want[0].shape[:2]
    if any(y.ndim < 2 or y.shape[:2] != shape for y in want):
        return got
    got = [y.copy() for y in got]
    for each in range(shape[0]):
        scales = [np.abs(y[each]).max() or 1 for y in want]
        rows, others = (
            np.hstack([y[each].reshape(shape[1], -1) / scale for y, scale in zip(some, scales)])
            for some in (want, got)
        )
        (moved,) = np.nonzero(np.abs(rows - others).max(1) > TOLERANCE)
        if not 1 < len(moved) <= MOST_MOVED:
            continue
        apart = np.abs(rows[moved][:, None] - others[moved][None]).max(2)
        nearest = moved[apart.argmin(1)]
        if len(set(nearest)) == len(moved):
            for y in got:
                y[each, moved] = y[each, nearest]
    return got


def samples(graph: Graph, arrays: Arrays, wide: bool = False) -> List[Check]:
    """Return inputs with the graph's results for them: the arrays, and different ones.

    The different ones reveal state that another form of the graph wrongly keeps between calls. They are
    left out if the graph returns an infinity or a NaN for them.

    Parameters
    ----------
    graph : Graph
    arrays : sequence of NDArray
    wide : bool
        Whether the different ones may be outside of the arrays' range: of the opposite sign, and
        ``WIDER`` times as large. Then they reach activations that are zero or within their bounds for
        the others. They stay in the range if the graph cannot run on them, or if rounding changes the
        results for them by too much to compare.
    """
    kept, whole = region_inputs(graph), whole_inputs(graph)
    if wide and kept:
        raise ValueError(f"the input {min(kept)!r} has regions of samples: give typical ones as data=")
    for factor in (-WIDER, 0.5) if wide else (0.5,):
        named = zip(graph.inputs, arrays)
        other = [x if name in kept else _turned(x, factor, name in whole) for name, x in named]
        run = caller(graph)
        pairs = [(arrays, as_numpy(run(arrays)))]
        try:
            pairs.append((other, as_numpy(run(other))))
        except ERRORS:  # of computed indices, which wider numbers may not give
            if factor == 0.5:
                raise
            continue
        finally:
            del run  # before another one needs memory
        pairs[1:] = [pair for pair in pairs[1:] if all(np.isfinite(y).all() for y in pair[1])]
        limits = TIMES * noises(graph, pairs)
        if len(limits) > 1 and limits[1][0] <= MOST:
            break
    least = np.array([1, BY_CHANNEL])
    limits = np.minimum(MOST * least, np.fmax(TOLERANCE * least, limits))
    return [Check(*pair, *each) for pair, each in zip(pairs, limits)]


def noises(graph: Graph, pairs: Sequence[Tuple[Arrays, List[np.ndarray]]]) -> np.ndarray:
    """Return the errors of a graph's results for some inputs after changes of its numbers' last bits.

    Each parameter and input changes, up or down, by float32's rounding, by which the results of graphs
    that compute the same may differ. A row has the largest error for one of the inputs, and the largest
    of any channel.
    """
    return np.max([_noises(graph, pairs, bit) for bit in range(CHANGES)], axis=0)


def _noises(graph, pairs, bit):
    run, ranked = _caller_of_last_bits(graph, bit), ranks(graph)
    results = ((as_numpy(run(arrays)), want) for arrays, want in pairs)
    return [(error(got, want, ranked), error_by_channel(got, want)) for got, want in results]


def unstable(graph: Graph, arrays: Arrays) -> Optional[Node]:
    """Return the first operator whose result changes by more than ``MOST`` with the last bits.

    Such an operator returns random numbers, or orders numbers that are nearly equal.
    """
    whole = graph.copy()
    nodes = [node for node in whole.nodes() if node.op != "null"]
    whole.heads = [node.out for node in nodes]
    pairs = zip(nodes, caller(whole)(arrays), _caller_of_last_bits(whole)(arrays))
    return next((node for node, a, b in pairs if error(as_numpy([b]), as_numpy([a])) > MOST), None)


def _caller_of_last_bits(graph, bit=0):
    changed = graph.copy()
    changed.params = dict(zip(graph.params, in_thread(_last_bits, graph.params.values(), bit)))
    run, kept = caller(changed), {*region_inputs(graph), *whole_inputs(graph)}

    def call(arrays):
        triples = zip(graph.inputs, arrays, in_thread(_last_bits, arrays, bit))
        return run([x if name in kept else y for name, x, y in triples])

    return call


def _turned(x, factor, whole):
    """Return numbers in the opposite order: lines of whole ones, or all others times a factor."""
    if whole:
        return mx.nd.reverse(x, axis=x.ndim - 1)  # the coordinates of gather_nd are lines
    return factor * mx.nd.reverse(x.reshape((-1,)), axis=0).reshape(x.shape)


def _last_bits(arrays, bit):
    """Return numbers with other last bits: larger ones where the given bit is 0, smaller elsewhere."""
    return [_last_bit(x, bit) if x.dtype == np.float32 else x for x in arrays]


def _last_bit(array, bit):
    values = array.asnumpy()
    bits = values.view("int32")
    steps = 1 - 2 * (bits >> bit & 1).astype("int8")
    bits += steps * (np.isfinite(values) & (values != 0))
    return mx.nd.array(values, array.context, "float32")


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
