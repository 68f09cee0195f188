"""Conversion of a net to a fast block for inference."""

from typing import Any, Sequence

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, HybridBlock

from ..arguments import shape_of
from ..arrays import as_classic, flat, in_thread
from ..tracing.shapes import shapes_seen
from ..tracing.trace import Trace, blocks_of, not_traced
from .block import Deployed, structure_of
from .fuse import available
from .graph import Graph
from .int8 import batches_of
from .pipeline import TOLERANCE, Pipeline
from .running import as_numpy, error, outputs, samples

__all__ = ["deploy"]

#: Largest relative error that bfloat16 or int8 rounding explains.
MOST_LOWER = 0.3

DTYPES = ("float32", "bfloat16", "int8")

#: Largest relative error that float32 rounding explains.
MOST = 1e-3

#: What to use if a dtype does not suit a net.
_INSTEAD = {
    "float32": "use gluon_same.specialize and hybridize, and report the net",
    "bfloat16": "use dtype='float32'",
    "int8": "use dtype='float32'",
}


def deploy(
    net: Block,
    *input_shapes: Sequence[int],
    dtype: str = "float32",
    data: Any = None,
    tune: bool = True,
    verbose: bool = False,
    portable: bool = False,
) -> Deployed:
    """Return a fast block for inference at given shapes.

    The function specializes the net to the shapes, folds normalizations into layers, replaces slow
    operators with equivalent faster ones, and fuses layers with the operators that follow. It does not
    change the net. Later changes of the net's parameters do not affect the block.

    Parameters
    ----------
    net : HybridBlock
        Net with float32 parameters.
    *input_shapes : tuple of int or NDArray
        Shape of each input, batch first, or an array of that shape. The block accepts no other shapes.
    dtype : {'float32', 'bfloat16', 'int8'}
        Dtype of convolutions and dense layers. Inputs and results are float32. bfloat16 and int8
        require a CPU with instructions for them. Small nets, and max pooling with a stride of 1, can be
        slower than in float32 even there, so measure both.
    data : NDArray, numpy.ndarray or iterable, optional
        Samples, or batches such as a DataLoader yields. They calibrate int8 and serve to measure the
        error. The default is normal random numbers. int8 requires data, as does a net that is not
        defined for all numbers, such as a logarithm.
    tune : bool
        Whether to choose among equivalent forms by timing them on this machine, which takes seconds.
        Otherwise, fixed rules choose.
    verbose : bool
        Whether to print each pass with its operator counts and milliseconds per call, before and after.
    portable : bool
        Whether to avoid operators that require oneDNN, so that the exported graph runs on other builds
        of MXNet.

    Returns
    -------
    Deployed
        A hybridized block. ``block.report`` lists the passes and the measured error.
        ``block.export(path)`` writes a graph that runs without this package.

    Raises
    ------
    TypeError, ValueError
        If the net is not a HybridBlock, has parameters of another dtype, or returns random numbers,
        infinities or NaN; if the shapes do not fit the net; or if a dtype is not supported here or
        requires data.

    Notes
    -----
    In float32, results differ from the net's by at most about 1e-5 of the largest value, because passes
    that change more are skipped. An infinity or a NaN may spread to outputs that are finite in the
    net. On GPUs, passes that require oneDNN are skipped. The block is on the net's context, the first
    one of several.

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
        raise ValueError(
            f"dtype={dtype!r} requires oneDNN, which {where} does not have: use dtype='float32'"
        )
    if data is not None:
        batches = batches_of(data, shapes, context)
    else:
        random = np.random.RandomState(0)
        batches = [[in_thread(mx.nd.array, random.normal(size=shape), context) for shape in shapes]]
    traced, structure = _trace(net, shapes)
    checks = samples(traced, batches[0])
    want = checks[0][1]
    _check_finite(net, want, data is not None)
    pipeline = Pipeline(batches[0], dtype, onednn, onednn and not portable, tune, verbose)
    try:
        with pipeline.show:
            graph = pipeline.start(traced)
            found = pipeline.run(graph)
            if not error(outputs(found, batches[0]), want) <= TOLERANCE:
                del pipeline.report.rows[1:]
                found = pipeline.run(graph, want)
            block = Deployed(pipeline.end(found, batches), structure, pipeline.report)
        if dtype != "float32":  # measured only on the given data
            checks = [(arrays, outputs(traced, arrays)) for arrays in batches]
        # Some of MXNet's operators fail in the second call.
        pipeline.report.error = max(error(_call(block, arrays), want) for arrays, want in 2 * checks)
    except mx.MXNetError as failure:
        raise ValueError(
            f"MXNet {mx.__version__} cannot run {net.name} in {dtype} on this machine: "
            f"{_INSTEAD[dtype]}. {str(failure).strip().splitlines()[-1]}"
        ) from failure
    _check_error(net, dtype, pipeline.report.error, traced, batches[0], want)
    if verbose:
        print(pipeline.report)
    return block


def _call(block, arrays):
    arrays = [x.as_np_ndarray() if mx.util.is_np_array() else x for x in arrays]
    return as_numpy(flat([block(*arrays)]))


def _check_finite(net, want, given):
    """Raise ValueError if the net's results contain an infinity or a NaN, which cannot be compared."""
    if all(np.isfinite(y).all() for y in want):
        return
    known = {name: p for name, p in net.collect_params().items() if p._data is not None}
    bad = [name for name, p in known.items() if not np.isfinite(in_thread(p.data().asnumpy)).all()]
    if bad:
        raise ValueError(f"{bad[0]} contains an infinity or a NaN: load or train the parameters again")
    what = "the first batch of data" if given else "normal random numbers"
    raise ValueError(
        f"{net.name} returns an infinity or a NaN for {what}, which deploy cannot compare: give samples "
        "with finite results as data=, or use gluon_same.specialize and hybridize"
    )


def _check_error(net, dtype, found, traced, arrays, want):
    """Raise ValueError if the deployed block's numbers are not those of the net."""
    if found <= (MOST if dtype == "float32" else MOST_LOWER):
        return
    if error(outputs(traced, arrays), want) > TOLERANCE:
        raise ValueError(
            f"{net.name} returns random numbers, which deploy cannot compare: pass them to the net as "
            "an input, or use gluon_same.specialize and hybridize"
        )
    raise ValueError(
        f"deploying {net.name} in {dtype} changes its numbers by {found:.1e} of the largest: "
        f"{_INSTEAD[dtype]}"
    )


def _check(net, shapes, dtype, data):
    if not isinstance(net, HybridBlock):
        raise TypeError(
            f"net={net!r} is not a HybridBlock, and has no graph: build it from HybridBlocks"
        )
    if not shapes:
        raise ValueError("deploy requires the shape of each input: deploy(net, (1, 3, 224, 224))")
    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r} is unknown: use one of {DTYPES}")
    if dtype == "int8" and data is None:
        raise ValueError(
            "dtype='int8' requires data for calibration: give typical samples of the inputs"
        )


def _ready(net, shapes):
    """Return the net's context after checking that all parameters are initialized and float32."""
    parameters = list(net.collect_params().values())
    sparse = [p for p in parameters if p._stype != "default"]
    if sparse:
        raise ValueError(f"{sparse[0].name} is {sparse[0]._stype}: give a net with dense parameters")
    bare = [p.name for p in parameters if p._data is None and not p._deferred_init]
    if bare:
        raise ValueError(
            f"{bare[0]} has no values: call net.initialize() or net.load_parameters() first"
        )
    context = parameters[0].list_ctx()[0] if parameters else mx.current_context()
    if any(p._data is None for p in parameters):  # the first call infers the missing shapes
        make = mx.np.zeros if mx.util.is_np_array() else mx.nd.zeros
        net(*[make(shape, ctx=context) for shape in shapes])
    odd = [p for p in parameters if np.dtype(p.dtype) != np.float32]
    if odd:
        raise ValueError(f"{odd[0].name} is {np.dtype(odd[0].dtype)}: call net.cast('float32') first")
    return context


def _trace(net, shapes):
    """Return a net's graph for the shapes, and the nesting of its results."""
    blocks = blocks_of(net)
    shapes_seen(net, blocks, shapes)  # raises if the shapes do not fit
    # The names that `export` of a hybridized net writes.
    names = ["data"] if len(shapes) == 1 else [f"data{i}" for i in range(len(shapes))]
    known = dict(zip(names, shapes))
    clash = known.keys() & {parameter.name for parameter in net.collect_params().values()}
    if clash:
        raise ValueError(f"a parameter of {net.name} is named {min(clash)!r} like an input: rename it")
    inputs = [mx.sym.var(name) for name in known]
    if mx.util.is_np_array():
        inputs = [x.as_np_ndarray() for x in inputs]
    try:
        with Trace(blocks, known):
            structure, results = structure_of(net(*inputs))
        symbol = mx.sym.Group([as_classic(each) for each in results])
        given = {**{name: p.shape for name, p in net.collect_params().items()}, **known}
        symbol.infer_shape_partial(**{name: given[name] for name in symbol.list_inputs()})
    except (mx.MXNetError, AttributeError, TypeError, ValueError) as failure:
        raise ValueError(not_traced(net, shapes, failure)) from failure
    used = set(symbol.list_inputs())  # layers that were not called may have parameters without shapes
    params = {name: p.data().copy() for name, p in net.collect_params().items() if name in used}
    return Graph(symbol, params, known), structure
