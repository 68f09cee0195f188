"""Conversion of a net to a fast block for inference."""

from functools import partial
from typing import Any, Dict, Sequence, Union

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, Parameter

from ..arguments import shape_of, true_or_false
from ..arrays import flat, in_mode, in_thread, read_by, return_freed_memory, settle
from ..blocks import check_for_graphs, title
from ..classic import classic
from ..gradients import join_parts
from ..graph import Graph
from ..sized import EverySize, Sized
from ..trace import Trace
from ..whole_inputs import random_inputs
from .data import batches_of
from .fuse import available
from .layouts import softmax_of_rows
from .pipeline import Pipeline
from .running import (
    ERRORS,
    MOST,
    RANKING,
    TOLERANCE,
    as_numpy,
    error,
    flags,
    outputs,
    ranks,
    samples,
    unstable,
)

__all__ = ["deploy"]

#: Largest relative error that bfloat16 or int8 rounding explains.
MOST_LOWER = 0.3

DTYPES = ("float32", "bfloat16", "int8")

#: What to use if a dtype does not suit a net.
_INSTEAD = dict.fromkeys(DTYPES, "use dtype='float32'")
_INSTEAD["float32"] = "use gluon_same.specialize, and report the net"


def deploy(
    net: Block,
    *input_shapes: Sequence[int],
    dtype: str = "float32",
    data: Any = None,
    tune: bool = True,
    verbose: bool = False,
    portable: bool = False,
    graphs: int = 16,
) -> Union[Sized, EverySize]:
    """Return a fast block for inference at given shapes.

    The function specializes the net to the shapes, folds normalizations into layers, replaces slow
    operators with equivalent faster ones, and fuses layers with the operators that follow. It does not
    change the net. Later changes of the net's parameters do not affect the block.

    Parameters
    ----------
    net : Block
        Net with float32 parameters.
    *input_shapes : tuple of int or NDArray
        Shape of each input, batch first, or an array of that shape. The block accepts no other shapes.
        Without any shape, the block serves every size: at the first call with a new shape it deploys the
        net for it, with the values that the parameters have then.
    dtype : {'float32', 'bfloat16', 'int8'}
        Dtype of convolutions and dense layers. Inputs and results are float32. bfloat16 and int8
        require a CPU with instructions for them. Small nets, and max pooling with a stride of 1, can be
        slower than in float32 even there, so measure both.
    data : NDArray, numpy.ndarray or iterable, optional
        Samples, or batches such as a DataLoader yields. They calibrate int8 and serve to measure the
        error. The default is normal random numbers, but 0 and 1 for indices. int8 requires data, as
        does a net that is not defined for all numbers, such as a logarithm, or whose input has regions
        of samples.
    tune : bool
        Whether to choose among equivalent forms by timing them on this machine, which takes seconds.
        Otherwise, fixed rules choose.
    verbose : bool
        Whether to print each pass with its operator counts and milliseconds per call, before and after.
    portable : bool
        Whether to avoid operators that require oneDNN, so that the exported graph runs on other builds
        of MXNet.
    graphs : int
        Number of graphs that a block for every size keeps, the most recently used ones.

    Returns
    -------
    Block
        A hybridized block. ``block.report`` lists the passes and the measured error.
        ``block.export(path)`` writes a graph that runs without this package.

    Raises
    ------
    TypeError, ValueError
        If the net is not a Block, cannot be traced, has parameters of another dtype, or returns random
        numbers, infinities or NaN; if the shapes do not fit the net; or if a dtype is not supported
        here or requires data.

    Notes
    -----
    In float32, results differ from the net's by at most about 1e-5 of the largest value, or four times
    as much as the net's results change with the last bit of its numbers. What changes more is
    left out. An infinity or a NaN may spread to outputs that are finite in the net. On GPUs, passes that
    require oneDNN are skipped. The block is on the net's context, the first one of several.

    Several threads may call a block for given shapes: a lock lets one in at a time. A block for every
    size, which traces the net, is for one thread at a time.

    Examples
    --------
    >>> import mxnet as mx
    >>> from gluon_same import deploy, nn
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Conv2D(8, 3, padding='same'), nn.BatchNorm(), nn.Activation('relu'))
    >>> net.initialize()
    >>> block = deploy(net, (1, 3, 8, 8), tune=False)
    >>> block(mx.nd.ones((1, 3, 8, 8))).shape, block.report.error < 1e-5
    ((1, 8, 8, 8), True)
    """
    shapes = [shape_of("input shape", shape) for shape in input_shapes]
    for name, value in (("tune", tune), ("verbose", verbose), ("portable", portable)):
        true_or_false(name, value)
    _check(dtype, data)
    check_for_graphs(net)
    if not shapes:
        given = dict(dtype=dtype, data=data, tune=tune, verbose=verbose, portable=portable)
        return EverySize(net, partial(deploy, **given), graphs)
    with mx.autograd.predict_mode():
        trace = Trace(net, shapes)
    context = ready(trace)
    onednn = _has_onednn(context, dtype, portable)
    symbol = trace.symbol()
    settle()
    # Layers that were not called may have parameters without shapes.
    values = {name: p.data(context) for name, p in read_by(symbol, trace.parameters).items()}
    traced = Graph(symbol, values, trace.shapes)
    # The first before anything runs, because errors of oneDNN end the process.
    traced.rewrite(classic, softmax_of_rows, join_parts)
    typical = [random_inputs(traced, trace.shapes)] if data is None else data
    batches = batches_of(typical, shapes, context)
    try:
        checks = samples(traced, batches[0], wide=data is None)
        return_freed_memory()
        want = checks[0].results
        _check_finite(net, want, data is not None)
        fuses = onednn and not portable
        pipeline = Pipeline(checks, dtype, onednn, fuses, tune, verbose, ranks(traced))
        found = pipeline.optimize(traced, batches)
        return_freed_memory()
        block = _block(net, found, trace.structure, pipeline.report)
        pairs = [(each.arrays, each.results) for each in checks]
        if dtype != "float32":  # measured only on the given data
            pairs = [(arrays, outputs(traced, arrays)) for arrays in batches]
        # Some of MXNet's operators fail in the second call.
        errors = (error(_call(block, arrays), want, pipeline.ranked) for arrays, want in 2 * pairs)
        pipeline.report.error = max(errors)
    except ERRORS as failure:
        if "out of bound" in str(failure):
            where = "random indices: give typical inputs as data=" if data is None else "indices of data"
            raise ValueError(f"{title(net)} lacks elements at {where}") from failure
        raise ValueError(
            f"MXNet {mx.__version__} cannot run {title(net)} in {dtype} on this machine: "
            f"{_INSTEAD[dtype]}. {str(failure).strip().splitlines()[-1]}"
        ) from failure
    _check_error(net, dtype, pipeline.report.error, traced, batches[0], want)
    _check_graph(net, checks[0], pipeline.ranked)
    if verbose:
        print(pipeline.report)
    return block


def _has_onednn(context, dtype, portable):
    """Return whether a context has oneDNN; raise a ValueError if the dtype requires what it lacks."""
    onednn = context.device_type == "cpu" and available()
    if dtype != "float32" and (not onednn or portable):
        where = "portable=True" if onednn else f"{context} with this build of MXNet"
        raise ValueError(
            f"dtype={dtype!r} requires oneDNN, which {where} does not have: use dtype='float32'"
        )
    return onednn


def _block(net, graph, structure, report):
    """Return the block for a graph, with parameters of its own. The graph loses those it has."""
    parameters: Dict[str, Parameter] = {}
    for name in list(graph.params):
        value = graph.params.pop(name)  # so that no more than one array exists twice
        parameter = Parameter(name, "null", shape=value.shape, dtype=value.dtype)
        parameter.initialize(init=mx.init.Zero(), ctx=value.context)
        parameter.set_data(in_mode(value))
        parameters[name] = parameter
    block = Sized(
        (net.name, ""), {False: graph.symbol()}, graph.inputs, parameters,
        structure=structure, report=report,
    )  # fmt: skip
    block.hybridize(**flags(graph))
    return block


def _call(block, arrays):
    return as_numpy(flat([block(*map(in_mode, arrays))]))


def _check_finite(net, want, given):
    """Raise ValueError if the net's results contain an infinity or a NaN, which cannot be compared."""
    if all(np.isfinite(y).all() for y in want):
        return
    what = "the first batch of data" if given else "normal random numbers"
    filled = [(name, p) for name, p in net.collect_params().items() if p._data is not None]
    # Constants that are masks contain -inf.
    names = [name for name, p in filled if not (in_thread(p.data().asnumpy) < np.inf).all()]
    train = f"load or train {names[0]} again, which contains one, " if names else ""
    raise ValueError(
        f"{title(net)} returns an infinity or a NaN for {what}, which deploy cannot compare: {train}"
        "give samples with finite results as data=, or use gluon_same.specialize"
    )


def _check_error(net, dtype, found, traced, arrays, want):
    """Raise ValueError if the deployed block's results are not those of the net."""
    if found <= (MOST if dtype == "float32" else MOST_LOWER):
        return
    node = unstable(traced, arrays)
    where = node and f"{node.op} ({node.name}) in {title(net)}"
    if node and node.op in RANKING:
        raise ValueError(
            f"{where} orders scores that are nearly equal, so that rounding changes its results by "
            f"{found:.1e} of the largest: load trained parameters, give typical samples as data=, or "
            "use gluon_same.specialize"
        )
    if node and error(outputs(traced, arrays), want) > TOLERANCE:
        raise ValueError(
            f"{where} returns random numbers, which deploy cannot compare: pass them to the net as an "
            "input, or use gluon_same.specialize"
        )
    raise ValueError(
        f"deploying {title(net)} in {dtype} changes its results by {found:.1e} of the largest: "
        f"{_INSTEAD[dtype]}"
    )


def _check_graph(net, check, ranked):
    """Raise ValueError if a net's results are not those of its graph, as of code with ``F is mx.nd``."""
    if getattr(net, "_active", False):  # hybridized, so that its results are those of a graph
        return
    try:
        with mx.autograd.pause():
            own = _call(net, check.arrays)
    except Exception:  # of any kind: a net may require hybridize()
        return
    found = error(own, check.results, ranked)
    if not found <= max(check.tolerance, TOLERANCE):
        raise ValueError(
            f"the results of {title(net)} and of its graph differ by {found:.1e} of the largest: its "
            "code may compute something else if F is mx.nd. If the graph is right, first call "
            "net.hybridize()"
        )


def _check(dtype, data):
    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r} is unknown: use one of {DTYPES}")
    if dtype == "bfloat16" and mx.util.is_np_array():
        raise ValueError("MXNet's NumPy mode has no bfloat16: use dtype='float32' or 'int8'")
    if dtype == "int8" and data is None:
        raise ValueError(
            "dtype='int8' requires data for calibration: give typical samples of the inputs"
        )


#: dtypes of parameters. Whole numbers are indices, on which no step of deployment acts.
_DTYPES = {np.dtype(name) for name in ("float32", "uint8", "int8", "int32", "int64")}


def ready(trace):
    """Return the net's context after checking that all parameters are initialized and float32."""
    parameters = list(trace.parameters.values())
    used = {np.dtype(p.dtype) for p in parameters}
    # A net of float32 may compute a few numbers in float64.
    supported = _DTYPES | ({np.dtype("float64")} if np.dtype("float32") in used else set())
    for p in parameters:
        if p._stype != "default":
            raise ValueError(f"{p.name} is {p._stype}: give a net with dense parameters")
        if p._data is None and not p._deferred_init:
            raise ValueError(
                f"{p.name} has no values: call net.initialize() or net.load_parameters() first"
            )
        if np.dtype(p.dtype) not in supported:
            raise ValueError(f"{p.name} is {np.dtype(p.dtype)}: call net.cast('float32') first")
    for parameter in parameters:
        if parameter._data is None and parameter.name in trace.variables:  # as the first call does
            parameter.shape = trace.variables[parameter.name]
            parameter._finish_deferred_init()
    return parameters[0].list_ctx()[0] if parameters else mx.current_context()
