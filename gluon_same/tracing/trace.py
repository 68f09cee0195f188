"""Run a net on symbols, and record what each of its blocks receives and returns."""

from contextlib import suppress
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import mxnet as mx
from mxnet.gluon import Block
from mxnet.gluon import nn as stock

from ..arrays import flat, infer
from ..nn.base import Windowed

Shape = Tuple[int, ...]


#: Stock blocks that contain an Activation.
_ACTIVATED = (stock.Dense, stock.Conv2D.__base__)


class Call(NamedTuple):
    """One call of a block: the symbols that it received and returned."""

    block: Block
    inputs: List[mx.sym.Symbol]
    outputs: List[mx.sym.Symbol]


class Trace:
    """Context manager that records the calls of blocks and leaves the blocks unchanged.

    Parameters
    ----------
    blocks : sequence of Block
        Blocks whose calls are recorded.
    known : dict of str to tuple of int
        Name and shape of each input of the net.
    sized : bool
        Whether layers build the graph for the size that they receive, as in eager mode. A layer whose
        size cannot be inferred from ``known`` builds the graph for every size.

    Attributes
    ----------
    calls : list of Call
        Calls in the order in which they start.
    running : list of Block
        Blocks whose call has not returned, the outermost first. After an error, the last one raised it.
    """

    def __init__(self, blocks: Sequence[Block], known: Dict[str, Shape], sized: bool = True):
        self.calls: List[Call] = []
        self.running: List[Block] = []
        self._blocks, self._known = blocks, known
        self._sized = sized
        self._open: List[Call] = []
        self._fixed: List[Block] = []
        self._handles: List[Any] = []

    def __enter__(self) -> "Trace":
        for block in self._blocks:
            self._handles.append(block.register_forward_pre_hook(self._enter))
            self._handles.append(block.register_forward_hook(self._leave))
        return self

    def __exit__(self, *_: Any) -> None:
        for handle in self._handles:
            handle.detach()
        while self._fixed:
            self._free()

    def run(self, net: Block) -> List[mx.sym.Symbol]:
        """Record a call of a net with a symbol for each input, and return its outputs."""
        with self:
            return self.call(net)

    def call(self, net: Block) -> List[mx.sym.Symbol]:
        """Call a net with a symbol for each input, and return its outputs."""
        inputs = [mx.sym.var(name) for name in self._known]
        if mx.util.is_np_array():
            inputs = [x.as_np_ndarray() for x in inputs]
        return flat(net(*inputs))

    def _enter(self, block, args):
        inputs = flat(args)
        self.running.append(block)
        if hasattr(block, "_check_input"):  # a net of the model zoo, which may not support every size
            block._check_input(infer(inputs[:1], self._known)[0])
        if self._sized and isinstance(block, Windowed) and block._in_shape is None:
            with suppress(ValueError):
                (block._in_shape,) = infer(inputs, self._known)
                self._fixed.append(block)
        self._open.append(Call(block, inputs, []))
        self.calls.append(self._open[-1])

    def _leave(self, block, _, outputs):
        self.running.pop()
        self._open.pop().outputs.extend(flat(outputs))
        if self._fixed and self._fixed[-1] is block:
            self._free()

    def _free(self):
        self._fixed.pop()._in_shape = None


def blocks_of(net: Block) -> List[Block]:
    """List a net's blocks, each once."""
    blocks: Dict[Block, Any] = {}
    net.apply(blocks.setdefault)
    return list(blocks)


def trace_layers(net: Block, known: Dict[str, Shape]) -> Tuple[List[Call], List[mx.sym.Symbol]]:
    """Return the calls of a net's layers in order, and its outputs.

    A layer is a block with parameters of its own or without children. The activation of a layer is a
    part of it.
    """
    blocks = blocks_of(net)
    trace = Trace(blocks, known)
    outputs = trace.run(net)
    parts = {block.act for block in blocks if isinstance(block, _ACTIVATED)}
    layers = set(filter(_is_layer, blocks)) - parts
    return [call for call in trace.calls if call.block in layers], outputs


def _is_layer(block):
    if block._reg_params or isinstance(block, _ACTIVATED):
        return True
    return not block._children and not isinstance(block, (stock.Sequential, stock.HybridSequential))


def not_traced(net: Block, shapes: Sequence[Shape], error: BaseException) -> str:
    """Return an error message with the reason of a failed trace, and a possible remedy."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    cause = next((line for line in lines if "Error in operator" in line), lines[-1]).rstrip(".")
    return (
        f"{cause}. Therefore {net.name} could not be traced with inputs of shape {shapes}: give the "
        "shapes of all its inputs, and replace blocks that require arrays by HybridBlocks"
    )
