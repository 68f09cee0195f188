"""Speed of a net in each of its forms, measured on this machine."""

import math
import os
import time
from copy import copy
from functools import partial
from importlib.util import find_spec
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Sequence, Tuple

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, HybridBlock

from .arguments import shape_of
from .arrays import flat, in_mode, in_thread
from .deployment.deploy import deploy, ready
from .deployment.running import error, flags
from .deployment.timing import in_turns
from .graph import Graph
from .importing.net import cause
from .onnx import export_model
from .sized import Sized
from .specializing import specialize
from .tables import aligned, html
from .trace import Trace
from .whole_inputs import random_inputs

__all__ = ["compare_speed"]

_TITLES = ("", "ms", "ratio", "difference", "seconds to prepare")

#: Seconds of timing for each form, and the largest spread of times that prove anything.
SECONDS, BUSY = 1.0, 0.25


class Speed(NamedTuple):
    """One form of a net. Numbers are NaN for a form that is left out."""

    code: str  # what to write for it
    ms: float  # milliseconds per call, the minimum of all rounds
    ratio: float  # milliseconds over those of the first form
    difference: float  # largest difference from the first form's results, over the largest of these
    seconds: float  # to prepare the form, with the first call
    spread: float  # how far the median of the rounds exceeds the minimum, over the minimum
    note: str = ""  # why the form is left out


class Speeds:
    """Result of :func:`compare_speed`, which prints as a table.

    Attributes
    ----------
    rows : list of Speed
        One for each form.
    busy : bool
        Whether the times vary so much that they prove nothing.
    """

    def __init__(self, rows: Iterable[Speed]):
        self.rows: List[Speed] = list(rows)
        self.busy = any(row.spread > BUSY for row in self.rows)

    def _parts(self) -> Tuple[List[Tuple[str, ...]], str]:
        """Return the rows of the table, and the text below it."""
        shown = [row for row in self.rows if not row.note]
        below = [f"Left out: {row.code}: {row.note}" for row in self.rows if row.note]
        if self.busy:
            most = max(row.spread for row in shown)
            below.append(
                f"The machine is too busy to tell: times vary by {most:.0%}. Repeat this when it is idle"
            )
        cells = [tuple(map(format, row, ("", ".2f", ".2f", ".1e", ".1f"))) for row in shown]
        return [_TITLES, *cells], "\n".join(below)

    def __str__(self) -> str:
        rows, below = self._parts()
        return "\n".join(filter(None, [*aligned(rows, range(1, 5)), below]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows, below = self._parts()
        return html(rows, range(1, 5), below=below)


def compare_speed(net: Block, *input_shapes: Sequence[int]) -> Speeds:
    """Measure each form of a net on this machine: hybridized, specialized, deployed and in onnxruntime.

    The forms take turns, so that changes of the machine's speed affect all of them. The net does not
    change. Takes seconds for each form.

    Parameters
    ----------
    net : Block
        Net with float32 parameters.
    *input_shapes : tuple of int or NDArray
        Shape of each input, the batch first, filled with normal random numbers, or 0 and 1 for
        indices; or an array.

    Returns
    -------
    Speeds
        Its ``str()`` is a table, also shown by notebooks, and ``rows`` are data: for each form, the line
        of code, milliseconds per call, their ratio to those of the first form, ``net.hybridize()``
        if MXNet can hybridize the net, the largest difference from its results relative to the largest
        of these, and the seconds to prepare it.
        ``busy`` says that other programs disturbed the measurement.

    Raises
    ------
    TypeError, ValueError
        If ``net`` is not a Block, or if the shapes do not fit it.

    Notes
    -----
    Specialized blocks take over the flags of the second line. Deploying chooses among forms by timing
    them. A form that does not support the net, and onnxruntime where it is not installed or the net is
    on a GPU, are left out, with the reason. ``OMP_NUM_THREADS`` sets the threads of all forms.

    Examples
    --------
    >>> from gluon_same import compare_speed, nn
    >>> net = nn.Conv2D(8, 3, strides=2, padding='same')
    >>> net.initialize()
    >>> found = compare_speed(net, (1, 3, 32, 32))
    >>> print(found.rows[2].code)
    gluon_same.specialize(net, (1, 3, 32, 32))
    >>> found.rows[2].difference < 1e-5
    True
    """
    if not input_shapes:
        raise ValueError("input_shapes is empty: give a shape for each input, the batch first")
    shapes = [shape_of("input shape", shape) for shape in input_shapes]
    trace = Trace(net, shapes, sized=False)
    context = ready(trace)
    traced = Graph(trace.symbol(), inputs=trace.shapes)
    pairs = zip(input_shapes, random_inputs(traced, trace.shapes))
    arrays = [_array(given, numbers, context) for given, numbers in pairs]
    allowed = {name: True for name, value in flags(traced).items() if value}
    text = ", ".join(map(str, shapes))
    marks = ", ".join(f"{name}=True" for name in allowed)
    exported = f"{text if len(shapes) == 1 else f'[{text}]'}, 'net.onnx', dynamic=True"
    in_onnx = f"gluon_same.onnx.export_model(net, {exported})  # in onnxruntime"
    graph = Sized(
        (net.name, net.prefix), {False: trace.symbol()}, {**trace.shapes},
        net._collect_params_with_prefix(), structure=trace.structure,
    )  # fmt: skip  # of the hybridized net, which itself does not change

    def hybridized(block, **given):
        if trace.uses:
            found = " and ".join(sorted(trace.uses))
            raise ValueError(f"the net's code uses {found} of arrays, which hybridized nets lack")
        if not isinstance(net, HybridBlock):
            raise ValueError("the net is not a HybridBlock")
        return _flagged(block, **given)

    forms: Dict[str, Callable[[], Any]] = {
        "net.hybridize()": lambda: hybridized(copy(graph)),
        f"net.hybridize({marks})": lambda: hybridized(graph, **allowed),
        f"gluon_same.specialize(net, {text})": lambda: _flagged(specialize(net, *shapes), **allowed),
        f"gluon_same.deploy(net, {text})": lambda: deploy(net, *shapes, data=[arrays]),
        in_onnx: lambda: _exported(net, shapes, arrays),
    }
    return Speeds(_measured(forms, arrays))


def _measured(forms: Dict[str, Callable[[], Any]], arrays: Sequence[Any]) -> Iterator[Speed]:
    """Yield the row of each form, from the function that prepares it."""
    runs: Dict[str, Callable[[], Any]] = {}
    results, seconds, left_out = {}, {}, {}
    for code, prepare in forms.items():
        start = time.perf_counter()
        try:
            run = partial(_results, prepare(), arrays)
            results[code] = [_as_numpy(y).astype("float64") for y in run()]
            runs[code] = run
        except (ImportError, ValueError, mx.MXNetError) as failure:
            left_out[code] = cause(failure).strip().splitlines()[0]
        seconds[code] = time.perf_counter() - start
    laps = in_turns(runs, SECONDS)
    first = next(iter(runs))
    for code in forms:
        if code in left_out:
            yield Speed(code, *(math.nan,) * 5, left_out[code])
            continue
        least, gap = min(laps[code]), error(results[code], results[first])
        ratio, spread = least / min(laps[first]), median(laps[code]) / least - 1
        yield Speed(code, 1000 * least, ratio, gap, seconds[code], spread)


def _results(form: Any, arrays: Sequence[Any]) -> List[Any]:
    """Return the results of a block after waiting for them, or those of a function without arguments."""
    results = flat([form(*arrays)]) if isinstance(form, Block) else form()
    for result in filter(lambda y: isinstance(y, mx.nd.NDArray), results):
        result.wait_to_read()
    return results


def _as_numpy(x: Any) -> np.ndarray:
    return x if isinstance(x, np.ndarray) else in_thread(x.asnumpy)


def _array(given: Any, numbers: np.ndarray, context: mx.Context) -> Any:
    """Return the array that was given, or one of the numbers instead of a shape."""
    if isinstance(given, mx.nd.NDArray):
        return given
    return in_mode(in_thread(mx.nd.array, numbers, context))


def _flagged(block: Sized, **given: bool) -> Sized:
    block.hybridize(**given)
    return block


def _exported(net: Block, shapes: Any, arrays: Sequence[Any]) -> Callable[..., Any]:
    """Return a function that runs the ONNX file of a net in onnxruntime."""
    if any(find_spec(name) is None for name in ("onnx", "onnxruntime")):
        raise ImportError("onnx and onnxruntime are not installed: pip install onnx onnxruntime")
    if arrays[0].context.device_type != "cpu":
        raise ValueError("the net is on a GPU, and onnxruntime is measured on CPUs")
    import onnxruntime

    options, threads = onnxruntime.SessionOptions(), os.environ.get("OMP_NUM_THREADS", "")
    options.intra_op_num_threads = int(threads) if threads.isdigit() else 0
    with TemporaryDirectory() as folder:
        path = export_model(net, shapes, os.path.join(folder, "net.onnx"), dynamic=True)
        session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    kinds = {
        "tensor(int32)": "int32",
        "tensor(int64)": "int64",
    }  # the file's, where the net takes float32
    pairs = [(each, _as_numpy(x)) for each, x in zip(session.get_inputs(), arrays)]
    named = {each.name: x.astype(kinds.get(each.type, x.dtype)) for each, x in pairs}
    return partial(session.run, None, named)
