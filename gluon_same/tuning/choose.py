"""Measure the ways of each layer of a net between its neighbors, and choose the fastest."""

import hashlib
import json
from contextlib import suppress
from typing import Dict, Sequence, Tuple

import mxnet as mx
from mxnet.gluon import Block

from ..arrays import as_classic, flat
from ..nn.base import Windowed
from ..progress import Progress
from ..tracing.trace import Shape, Trace
from .store import measured
from .surroundings import Graph, tagged
from .timer import stopwatch, timed

#: Ways within this factor of the fastest count as equally fast, because such differences are noise.
TIE = 1.05

#: A way is dropped if its first run takes longer than this factor of the fastest, plus the seconds that
#: a set-up may take.
HOPELESS_AT_FIRST, SET_UP = 3.0, 0.02

#: Ways that support every dtype and device.
EVERYWHERE = ("portable", "crop", "pad")


#: Errors of a way that MXNet cannot build or run.
_FAILURES = (mx.MXNetError, TypeError, ValueError)


def fastest(times: Dict[str, float]) -> str:
    """Return the first way that is as fast as the fastest, except for noise."""
    limit = TIE * min(times.values())
    return next(name for name, seconds in times.items() if seconds <= limit)


def choose_ways(
    net: Block, blocks: Sequence[Block], known: Dict[str, Shape], training: bool
) -> Dict[Tuple[Block, Shape], str]:
    """Choose the fastest way for each call of a layer that has several.

    Parameters
    ----------
    net : Block
    blocks : sequence of Block
        All blocks of the net.
    known : dict of str to tuple of int
        Name and shape of each input.
    training : bool
        Whether to measure the gradients, too.

    Returns
    -------
    dict
        Names of ways, by block and input shape, except for layers whose portable way is the fastest.
    """
    same = [block for block in blocks if isinstance(block, Windowed) and block._padding is not None]
    trace = Trace(blocks, known)
    with trace, tagged(same) as calls:
        outputs = [as_classic(x) for x in trace.call(net)]
    if not outputs:  # the net does not return its results as symbols
        return {}
    graph = Graph(mx.sym.Group(outputs), known)
    chosen, context = {}, _context(net)
    with Progress() as show:
        for tag, (block, shape) in enumerate(calls):
            show(f"tuning {tag + 1}/{len(calls)}: {block.name}")
            if (block, shape) not in chosen:
                times = _times(graph, tag, block, shape, context, training)
                if times:
                    chosen[block, shape] = fastest(times)
    return {call: way for call, way in chosen.items() if way != "portable"}


def times_of(block: Block, shape: Sequence[int], training: bool = False) -> Dict[str, float]:
    """Measure the seconds of each way of a single layer, without neighbors.

    Parameters
    ----------
    block : Block
        A layer of :mod:`gluon_same.nn`.
    shape : tuple of int
        Shape of its input, the batch first.
    training : bool
        Whether to measure the gradients, too.

    Returns
    -------
    dict of str to float
        Seconds by way, those with the fewest operators first; empty for a layer that has only one way.

    Examples
    --------
    >>> from gluon_same import nn
    >>> layer = nn.MaxPool2D(2, strides=1, padding='same')
    >>> 'portable' in times_of(layer, (1, 8, 13, 13))
    True
    >>> times_of(nn.Conv2D(8, 3, padding='same'), (1, 8, 9, 9))
    {}
    """
    known: Dict[str, Shape] = {"data": tuple(shape)}
    with Trace([block], known), tagged([block]) as calls:
        graph = Graph(as_classic(block(mx.sym.var("data"))), known)
    return _times(graph, 0, block, calls[0][1], _context(block), training)


def _times(graph, tag, block, shape, context, training):
    """Return the seconds of each way of a layer; empty if there is only one."""
    block_shape, block_way = block._in_shape, block._way
    try:
        block._in_shape = shape
        ways = block._ways()
        if context.device_type != "cpu" or block._data_dtype() != "float32":
            ways = [way for way in ways if way in EVERYWHERE]
        if len(ways) < 2:
            return {}
        symbols = {}
        around = graph.around(tag, block, shape)
        if around is None:
            return {}
        for way in ways:
            block._way = None if way == "portable" else way
            with suppress(*_FAILURES):
                symbols[way] = around.with_layer(block)
        if "portable" not in symbols:
            return {}
    finally:
        block._in_shape, block._way = block_shape, block_way
    shortest = sorted(symbols, key=lambda way: (_length(symbols[way]), way != "portable"))
    key = _key(symbols["portable"], around.shapes, block, shape, context, training)
    if key not in measured:
        runs, first = {}, {}
        for way in shortest:
            try:
                runs[way] = _runner(symbols[way], around, block, context, training)
                first[way] = timed(runs[way])
            except _FAILURES:
                runs.pop(way, None)
        limit = HOPELESS_AT_FIRST * min(first.values(), default=0) + SET_UP
        hopeful = {way: run for way, run in runs.items() if first[way] <= limit}
        measured[key] = {**first, **(stopwatch(hopeful) if len(runs) > 1 else {})}
    return {way: measured[key][way] for way in shortest if way in measured[key]}


def _runner(symbol, around, block, context, training):
    """Return a function that runs a graph once, with gradients in training, and waits for it."""
    arrays = around.arrays(symbol, block._data_dtype(), context)
    run_graph = mx.nd.CachedOp(symbol, [("static_alloc", True), ("static_shape", True)])
    if not training:

        def run():
            for out in flat([run_graph(*arrays)]):
                out.wait_to_read()

        return run
    for name, array in zip(symbol.list_inputs(), arrays):
        if name not in symbol.list_auxiliary_states():
            array.attach_grad()

    def run_and_return():
        with mx.autograd.record():
            outs = flat([run_graph(*arrays)])
        mx.autograd.backward(outs)
        mx.nd.waitall()

    return run_and_return


def _length(symbol):
    return sum(node["op"] != "null" for node in json.loads(symbol.tojson())["nodes"])


def _key(symbol, shapes, block, shape, context, training):
    content = json.loads(symbol.tojson())
    nodes = [[n["op"], n.get("attrs", {}).items(), n["inputs"]] for n in content["nodes"]]
    plain = repr([[op, sorted(attrs), inputs] for op, attrs, inputs in nodes]) + repr(
        sorted(shapes.items())
    )
    digest = hashlib.sha256(plain.encode()).hexdigest()[:12]
    use = "training" if training else "inference"
    layer = " ".join(str(block).split())
    return f"{layer} of {shape} {block._data_dtype()} on {context.device_type}, {use}, {digest}"


def _context(net):
    for parameter in net.collect_params().values():
        try:
            return parameter.list_ctx()[0]
        except RuntimeError:  # not initialized
            continue
    return mx.current_context()
