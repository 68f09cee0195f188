"""Compare an exported file, run by onnxruntime, with its net."""

import warnings
from functools import partial
from math import prod
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import mxnet as mx
import numpy as np
from mxnet.gluon import Block

from .._compat import required
from ..arrays import in_thread, read_by
from ..deployment.running import caller, error, noises
from ..graph import Graph
from ..trace import Trace
from ..whole_inputs import random_inputs

#: Largest difference, relative to the largest magnitude of an output. Rounding stays well below it.
TOLERANCE = 1e-3

#: The same for a net that amplifies rounding: this many times what a change of the last bits makes of
#: its results, and at most so much for numbers from 0 to 2. Larger ones may leave nothing to compare.
TIMES, MOST = 4, 0.1

_ATTENTION = "_contrib_interleaved_matmul_selfatt_qk"
#: Arguments that the data should reach, and the largest one that it needs to.
_CONSTANTS, _MOST = ("scalar", "a_min", "a_max"), 1000

Shapes = Dict[str, Tuple[int, ...]]


class _Run(NamedTuple):
    """Results of a file and its net."""

    shapes: Shapes
    data: Dict[str, np.ndarray]
    got: List[np.ndarray]
    want: List[np.ndarray]
    rounding: Callable[[], float]  # returns how far rounding changes the net's results
    most: float  # that it may explain


def compare(
    net: Block, path: str, shapes: Shapes, dtypes: Sequence[str],
    free: Optional[Dict[str, Sequence[int]]] = None,
) -> None:  # fmt: skip
    """Raise an error if a file and its net give different numbers for random data.

    Parameters
    ----------
    net : Block
    path : str
    shapes : dict of str to tuple of int
        Shape of each input.
    dtypes : list of str
        dtype of each input.
    free : dict of str to sequence of int, optional
        The axes of each input whose sizes are free. The next two sizes are compared as well, if the net
        supports them and its inputs have one shape.

    Raises
    ------
    ImportError
        If onnxruntime is not installed.
    ValueError
        If the numbers differ, or if the file or the net cannot be run.

    Warns
    -----
    UserWarning
        If the net draws random numbers, so that only shapes were compared.
    """
    onnxruntime = required("onnxruntime", "The check of an exported file", "", ", or use check=False")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        graph = Graph(Trace(net, list(shapes.values())).symbol(), inputs=shapes)
        draws = any(node.op.startswith(("_random", "_sample", "_shuffle")) for node in graph.nodes())
        compared = []
        for given, low, high in _runs(graph, shapes, free or {}):
            data = _data(graph, given, dtypes, low, high)
            try:
                want, rounding = _outputs(net, data)
            except Exception:
                if given == shapes:
                    raise
                continue  # the net does not support this size
            most = MOST if high == 2 else np.inf
            used = {x.name: data[x.name] for x in session.get_inputs()}
            compared.append(_Run(given, data, session.run(None, used), want, rounding, most))
    except Exception as failure:  # onnxruntime and the net raise errors of many types
        text = " ".join(str(failure).split())
        cause = text if len(text) <= 300 else f"... {text[-300:]}"  # onnxruntime's cause comes last
        raise ValueError(
            f"{net.name} was exported and could not be checked: {cause}. Use check=False to skip "
            "the check"
        ) from failure
    for run in compared:
        _compare(net, run, None if draws else partial(_allowed, session, run))
    if draws:
        warnings.warn(
            f"{net.name} draws random numbers: its results were not compared, only their shapes",
            stacklevel=3,
        )


def _runs(graph: Graph, shapes: Shapes, free: Dict[str, Sequence[int]]) -> Iterator[Tuple]:
    """Yield the shapes of the inputs, and the least and the largest number in them."""
    yield shapes, 0, 2
    values = [float(node.get(key, 0) or 0) for node in graph.nodes() for key in _CONSTANTS]
    reach = 2 * max((abs(value) for value in values if abs(value) <= _MOST), default=0)
    if reach > 2:
        yield shapes, -reach, reach
    # At sizes that are inconsistent, some of MXNet's operators on several inputs read other memory.
    first, alike = next(iter(shapes.values())), len(set(shapes.values())) == 1
    for more in (1, 2) if free and alike else ():
        axes = next(iter(free.values()))
        yield dict.fromkeys(shapes, tuple(n + more * (i in axes) for i, n in enumerate(first))), 0, 2


def _data(graph, shapes, dtypes, low, high):
    drawn = zip(shapes, random_inputs(graph, shapes, "uniform", low, high), dtypes)
    data = {name: x.astype(dtype) for name, x, dtype in drawn}
    for node in graph.nodes():
        if node.op == "_contrib_box_nms" and node.inputs[0].node.name in data:
            at = int(node.get("coord_start", 2))
            corners = data[node.inputs[0].node.name][..., at : at + 4]
            corners[...] = np.sort(corners.reshape(*corners.shape[:-1], 2, 2), -2).reshape(corners.shape)
    return data


def _compare(net: Block, run: _Run, allowed: Optional[Callable[[], float]]) -> None:
    where = f"for inputs of shape {[*run.shapes.values()]}"
    if [x.shape for x in run.got] != [x.shape for x in run.want]:
        both = " and ".join(str([x.shape for x in each]) for each in (run.got, run.want))
        raise ValueError(
            f"{net.name} cannot be exported: {where}, onnxruntime and MXNet give outputs of "
            f"shapes {both}"
        )
    if allowed is None:
        return
    for i, (one, other) in enumerate(zip(run.got, run.want)):
        scale = np.abs(other[np.isfinite(other)]).max(initial=0)
        if not _near(one, other, scale, TOLERANCE) and not _near(one, other, scale, allowed()):
            off = np.nanmax(np.abs(one.astype(float) - other))
            raise ValueError(
                f"{net.name} cannot be exported: {where}, its output {i}, which reaches {scale:.3g}, "
                f"would differ by {off:.3g} in onnxruntime. If the net has discontinuous outputs, use "
                "check=False to skip the check"
            )


def _allowed(session, run):
    """Return the largest difference that rounding explains, in MXNet or in onnxruntime."""
    data = {
        name: np.nextafter(x, x.dtype.type(np.inf)) if x.dtype.kind == "f" else x
        for name, x in run.data.items()
    }
    changed, own = ([x.astype(float) for x in each] for each in (session.run(None, data), run.got))
    with np.errstate(invalid="ignore"):
        return min(run.most, TIMES * max(run.rounding(), error(changed, own)))


def _near(one, other, scale, tolerance):
    return np.allclose(one, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def _outputs(net: Block, data: Dict[str, np.ndarray]) -> Tuple[List[np.ndarray], Callable[[], float]]:
    """Return the outputs of a net, and a function that returns how far rounding changes them."""
    trace = Trace(net, [x.shape for x in data.values()])
    symbol, contexts = trace.symbol(), [c for p in trace.parameters.values() for c in p.list_ctx()]
    context = (contexts or [mx.cpu()])[0]
    values = {name: p.data(context) for name, p in read_by(symbol, trace.parameters).items()}
    # A graph of its own leaves the net's cached graphs as they are.
    graph = Graph(symbol, values, trace.shapes)
    graph.rewrite(_refuse_other_counts)
    # Of booleans, MXNet has arrays, and few operators.
    data = {name: x.astype("float32") if x.dtype == bool else x for name, x in data.items()}
    arrays = [in_thread(mx.nd.array, x, context, x.dtype) for x in data.values()]
    with mx.util.np_array(False):
        found = [in_thread(x.asnumpy) for x in caller(graph)(arrays)]

    def rounding():
        with mx.util.np_array(False):
            return noises(graph, [(arrays, [x.astype(float) for x in found])])[0][0]

    return found, rounding


def _refuse_other_counts(graph, node):
    """Raise an error for numbers of elements that an operator cannot divide: it reads other memory."""
    if node.op not in ("Reshape", _ATTENTION):
        return
    before, after = graph.shape(node.inputs[0]), graph.shape(node.out)
    if not before or not after:
        return
    if node.op == _ATTENTION and before[-1] % (3 * int(node.get("heads"))):
        raise ValueError(f"{node.name} cannot split {before[-1]} elements into heads")
    if node.op == "Reshape" and prod(before) != prod(after):
        raise ValueError(f"{node.name} cannot reshape {before} to {after}")
