"""From a net to the fastest block for it: passes over its graph, one after the other."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, HybridBlock

from ..arguments import shape_of
from ..sizes import as_classic, blocks_of, flat, not_traced, seeing, shapes_seen
from ..tuning import choose_ways
from . import activations, clean, fold_batchnorm, windows
from .bfloat16 import to_bfloat16
from .block import Deployed, structure_of
from .fuse import available, fuse
from .graph import Graph, Rule
from .int8 import batches_of, to_int8
from .report import Report, Row
from .running import as_numpy, error, faster, outputs, times

__all__ = ["deploy"]

DTYPES = ("float32", "bfloat16", "int8")

#: A pass that changes numbers by more than this of the largest is left out.
TOLERANCE = 1e-5


class Pass(NamedTuple):
    """A step from one graph to another.

    ``choice`` passes are faster for some nets and on some processors: tuning measures which, and without
    it those with ``default`` are taken.
    """

    name: str
    rules: Sequence[Rule]
    onednn: bool = False  #: whether it is for oneDNN alone
    choice: bool = False
    default: bool = True
    lower: bool = True  #: whether it is for bfloat16 and int8, too

    def apply(self, graph: Graph) -> Optional[Graph]:
        """The graph after the pass; None where there is nothing to do."""
        changed = graph.copy()
        return changed if changed.rewrite(*self.rules) else None


_FOLD = (*fold_batchnorm.RULES, clean.fold_constants)

#: In their order; fusion or another dtype comes last.
PASSES = (
    Pass("drop and fold constants", clean.RULES),
    Pass("grow depthwise kernels", [windows.grow_depthwise], onednn=True, choice=True),
    Pass("grow kernels", [windows.grow_kernel], onednn=True, choice=True, default=False),
    Pass("fold normalizations", _FOLD),
    Pass("activations", (*activations.RULES, *_FOLD), onednn=True),
    Pass("gates in plain memory", [activations.gate_in_plain_memory], onednn=True, choice=True),
    Pass("gates into weights", [activations.scale_weights], onednn=True, choice=True, lower=False),
    Pass("gates by convolutions", [activations.gate_by_convolution], True, True, False, False),
)


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
        Shape of each input, the batch first, or an array that has it. The block takes these shapes alone.
    dtype : {'float32', 'bfloat16', 'int8'}
        What convolutions and dense layers compute in. Inputs and results are float32. bfloat16 and int8
        are for CPUs whose processor has instructions for them, and are slower elsewhere.
    data : NDArray, numpy.ndarray or iterable, optional
        Samples, or batches as a DataLoader gives them, to calibrate int8 and to measure the error on.
        Random numbers without it, which int8 does not accept.
    tune : bool
        Whether to choose among equal forms by running them on this machine, which takes seconds; by rules
        otherwise.
    verbose : bool
        Whether to print the passes: operators before and after, and milliseconds of a call.
    portable : bool
        Whether to leave out operators that MXNet has with oneDNN alone, so that the exported graph runs on
        other builds of MXNet.

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
    >>> from gluon_same import nn
    >>> from gluon_same.deployment import deploy
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
    work = _Work(Report(), batches[0], dtype, tune, verbose, onednn, portable)
    traced, structure = _trace(net, shapes, {})
    want = outputs(traced, batches[0])
    graph = work.specialize(net, shapes, traced)
    found = work.run(graph)
    if not error(outputs(found, batches[0]), want) <= TOLERANCE:
        del work.report.rows[1:]
        found = work.run(graph, want)
    block = Deployed(work.end(found, batches), structure, work.report)
    work.report.error = error(as_numpy(flat([block(*batches[0])])), want)
    if verbose:
        print(work.report)
    return block


class _Work:
    """The passes over one net, and what is noted of them."""

    def __init__(self, report, arrays, dtype, tune, verbose, onednn, portable):
        self.report, self.arrays, self.dtype = report, arrays, dtype
        self.tune, self.verbose = tune, verbose
        self.onednn, self.fuses = onednn, onednn and not portable

    def specialize(self, net, shapes, traced):
        """The graph of the layers' fastest ways, or of their portable ones."""
        graph, note = traced, "" if self.tune else "portable windows"
        if self.tune:
            known = {f"data{i}": shape for i, shape in enumerate(shapes)}
            ways = choose_ways(net, blocks_of(net), known, False)
            graphs = {"portable": traced, "tuned": _trace(net, shapes, ways)[0] if ways else traced}
            note = self._choose({name: (each, 0) for name, each in graphs.items()}, "portable")
            graph, note = graphs[note], f"{note} windows"
        self._note("specialize", traced, graph, note)
        return graph

    def run(self, graph, want=None):
        """The graph after all passes; those that change the numbers ``want`` are left out."""
        for at, each in enumerate(PASSES):
            changed = self._apply(each, graph)
            if changed is None:
                continue
            note = ""
            if want is not None and error(outputs(changed, self.arrays), want) > TOLERANCE:
                note = "left out: gives other numbers"
            elif each.choice:
                kept = "with" if each.default else "without"
                if self.tune:
                    kept = self._choose({"with": (changed, at + 1), "without": (graph, at + 1)}, kept)
                note = "" if kept == "with" else "left out: slower" if self.tune else "left out"
            self._note(each.name, graph, graph if note else changed, note)
            graph = graph if note else changed
        return graph

    def end(self, graph, batches):
        """The graph fused, or in another dtype."""
        if self.dtype == "int8":
            found, name = to_int8(graph, batches), "int8"
        elif self.dtype == "bfloat16":
            lowered = to_bfloat16(graph)
            found, name = fuse(lowered) or lowered, "bfloat16"
        else:
            found, name = self.fuses and fuse(graph) or graph, "oneDNN's fusion"
            if self.tune and found is not graph:
                kept = faster({"with": found, "without": graph}, self.arrays, "with")
                found = found if kept == "with" else graph
        where = "" if self.fuses else "left out: portable" if self.onednn else "left out: no oneDNN here"
        self._note(name, graph, found, where or ("left out: slower" if found is graph else ""))
        return found

    def _apply(self, each, graph):
        if (each.onednn and not self.onednn) or (self.dtype != "float32" and not each.lower):
            return None
        return each.apply(graph)

    def _choose(self, graphs, rule):
        """The fastest graph, once the passes from its number on, and fusion, are applied to each."""
        ends = {}
        for name, (graph, at) in graphs.items():
            for each in PASSES[at:]:
                if not each.choice or each.default:
                    graph = self._apply(each, graph) or graph
            ends[name] = self.fuses and fuse(graph) or graph
        return faster(ends, self.arrays, rule)

    def _note(self, name, before, after, note=""):
        found = {"before": None, "after": None}
        if self.verbose and after is not before:
            found = times({"before": before, "after": after}, self.arrays)
            found = {key: 1e3 * seconds for key, seconds in found.items()}
        counts = before.operators(), after.operators()
        self.report.rows.append(Row(name, *counts, found["before"], found["after"], note))


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


def _trace(net, shapes, ways: Dict[Any, str]):
    """A net's graph for the shapes, and how its results are nested."""
    blocks: List[Block] = blocks_of(net)
    shapes_seen(net, blocks, shapes)  # which raises what does not fit
    known = {f"data{i}": shape for i, shape in enumerate(shapes)}
    inputs = [mx.sym.var(name) for name in known]
    if mx.util.is_np_array():
        inputs = [x.as_np_ndarray() for x in inputs]
    with seeing(blocks, known, ways):
        try:
            structure, results = structure_of(net(*inputs))
        except (mx.MXNetError, AttributeError, TypeError, ValueError) as failure:
            raise ValueError(not_traced(net, shapes, failure)) from failure
    params = {name: p.data().copy() for name, p in net.collect_params().items()}
    return Graph(mx.sym.Group([as_classic(each) for each in results]), params, known), structure
