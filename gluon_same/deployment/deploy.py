"""From a net to the fastest block for it: passes over its graph, one after the other."""

from typing import Any, Sequence

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, HybridBlock

from ..arguments import shape_of
from ..symbols import as_classic, flat
from ..tracing.shapes import shapes_seen
from ..tracing.trace import Trace, blocks_of, not_traced
from ..tuning import choose_ways
from .block import Deployed, structure_of
from .fuse import available
from .graph import Graph
from .int8 import batches_of
from .pipeline import TOLERANCE, Pipeline
from .running import as_numpy, error, outputs

__all__ = ["deploy"]

DTYPES = ("float32", "bfloat16", "int8")

#: An error of float32 that is no rounding.
MOST = 1e-3


def deploy(
    net: Block,
    *input_shapes: Sequence[int],
    dtype: str = "float32",
    data: Any = None,
    tune: bool = True,
    verbose: bool = False,
    portable: bool = False,
) -> Deployed:
    """Make the fastest block of a net for inference at given shapes.

    The net is specialized to the shapes, its normalizations are folded into its layers, operators that
    MXNet runs slowly are replaced by equal ones that it runs fast, and layers are fused with what
    follows. The net itself stays as it is. Later changes of its parameters do not reach the block.

    Parameters
    ----------
    net : HybridBlock
        With parameters of float32.
    *input_shapes : tuple of int or NDArray
        Shape of each input, the batch first, or an array that has it. The block takes no others.
    dtype : {'float32', 'bfloat16', 'int8'}
        What convolutions and dense layers compute in. Inputs and results are float32. bfloat16 and int8
        are for CPUs whose processor has instructions for them. Elsewhere they are slower, and so they
        are for small nets and for max pooling with a stride of 1: measure both.
    data : NDArray, numpy.ndarray or iterable, optional
        Samples, or batches as a DataLoader gives them, to calibrate int8 and to measure the error on.
        Random numbers without it, which int8 does not accept.
    tune : bool
        Whether to choose among equal forms by running them on this machine, which takes seconds; by
        rules otherwise.
    verbose : bool
        Whether to print the passes: operators before and after, and milliseconds of a call.
    portable : bool
        Whether to leave out operators that MXNet has with oneDNN alone, so that the exported graph runs
        on other builds of MXNet.

    Returns
    -------
    Deployed
        A hybridized block, which was called once. ``block.report`` says what was done and holds the
        error; ``block.export(path)`` writes a graph that runs without this package.

    Raises
    ------
    TypeError, ValueError
        If the net is no HybridBlock or has parameters of another dtype, if the shapes do not fit it, or
        if a dtype is not supported here or lacks data.

    Notes
    -----
    Numbers are those of the net to 1e-5 of the largest for float32: passes that change more are left
    out. An infinity or a NaN may spread to outputs beside those of the net. On GPUs the passes that are
    for oneDNN are left out.

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
    _check(net, shapes, dtype, data)
    context = _ready(net, shapes)
    onednn = context.device_type == "cpu" and available()
    if dtype != "float32" and (not onednn or portable):
        where = "portable=True" if onednn else f"{context} with this build of MXNet"
        raise ValueError(f"dtype={dtype!r} needs oneDNN, and {where} is without: use dtype='float32'")
    if data is not None:
        batches = batches_of(data, shapes, context)
    else:
        random = np.random.RandomState(0)
        batches = [[mx.nd.array(random.normal(size=shape), ctx=context) for shape in shapes]]
    pipeline = Pipeline(batches[0], dtype, onednn, onednn and not portable, tune, verbose)
    traced, structure = _trace(net, shapes)
    want = outputs(traced, batches[0])
    graph = pipeline.start(traced, _tuned(net, shapes) if tune else None)
    found = pipeline.run(graph)
    if not error(outputs(found, batches[0]), want) <= TOLERANCE:
        del pipeline.report.rows[1:]
        found = pipeline.run(graph, want)
    block = Deployed(pipeline.end(found, batches), structure, pipeline.report)
    pipeline.report.error = error(_call(block, batches[0]), want)
    if dtype == "float32":
        _check_numbers(net, pipeline.report, block, traced, batches[0])
    if verbose:
        print(pipeline.report)
    return block


def _call(block, arrays):
    arrays = [x.as_np_ndarray() if mx.util.is_np_array() else x for x in arrays]
    return as_numpy(flat([block(*arrays)]))


def _check_numbers(net, report, block, traced, arrays):
    # On other inputs, because what the block keeps from one call must not reach the next.
    other = [-x for x in arrays]
    report.error = max(report.error, error(_call(block, other), outputs(traced, other)))
    if not report.error <= MOST:
        raise ValueError(
            f"deploying {net.name} changed its numbers by {report.error:.1e} of the largest: use "
            "gluon_same.specialize and hybridize, and report the net"
        )


def _check(net, shapes, dtype, data):
    if not isinstance(net, HybridBlock):
        raise TypeError(f"net={net!r} is no HybridBlock, and has no graph: make it of HybridBlocks")
    if not shapes:
        raise ValueError("deploy needs the shape of each input: deploy(net, (1, 3, 224, 224))")
    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r} is unknown: use one of {DTYPES}")
    if dtype == "int8" and data is None:
        raise ValueError(
            "dtype='int8' needs data to calibrate on: give samples of what the net will get"
        )


def _ready(net, shapes):
    """The net's context, once all its parameters are there and are float32."""
    parameters = list(net.collect_params().values())
    bare = [p.name for p in parameters if p._data is None and not p._deferred_init]
    if bare:
        raise ValueError(
            f"{bare[0]} has no values: call net.initialize() or net.load_parameters() first"
        )
    context = parameters[0].list_ctx()[0] if parameters else mx.current_context()
    if any(p._data is None for p in parameters):  # its shape follows from the first call
        make = mx.np.zeros if mx.util.is_np_array() else mx.nd.zeros
        net(*[make(shape, ctx=context) for shape in shapes])
    odd = [p for p in parameters if np.dtype(p.dtype) != np.float32]
    if odd:
        raise ValueError(f"{odd[0].name} is {np.dtype(odd[0].dtype)}: call net.cast('float32') first")
    return context


def _tuned(net, shapes):
    """The graph of each layer's fastest way; None where the portable ones are."""
    known = {f"data{i}": shape for i, shape in enumerate(shapes)}
    ways = choose_ways(net, blocks_of(net), known, False)
    return _trace(net, shapes, ways)[0] if ways else None


def _trace(net, shapes, ways=None):
    """A net's graph for the shapes, and how its results are nested."""
    blocks = blocks_of(net)
    shapes_seen(net, blocks, shapes)  # which raises what does not fit
    # The names that `export` of a hybridized net writes.
    names = ["data"] if len(shapes) == 1 else [f"data{i}" for i in range(len(shapes))]
    known = dict(zip(names, shapes))
    inputs = [mx.sym.var(name) for name in known]
    if mx.util.is_np_array():
        inputs = [x.as_np_ndarray() for x in inputs]
    try:
        with Trace(blocks, known, ways=ways):
            structure, results = structure_of(net(*inputs))
        symbol = mx.sym.Group([as_classic(each) for each in results])
        given = {**{name: p.shape for name, p in net.collect_params().items()}, **known}
        symbol.infer_shape(**{name: given[name] for name in symbol.list_inputs()})
    except (mx.MXNetError, AttributeError, TypeError, ValueError) as failure:
        raise ValueError(not_traced(net, shapes, failure)) from failure
    params = {name: p.data().copy() for name, p in net.collect_params().items()}
    return Graph(symbol, params, known), structure
