"""Which layers a net calls, and all shapes in it, found by tracing it with the shapes of its inputs."""

from contextlib import suppress
from math import prod
from typing import Any, Dict, List, Sequence, Set, Tuple

import mxnet as mx
from mxnet.gluon import Block, Parameter
from mxnet.gluon import nn as stock

from .nn.base import Windowed
from .sizes import as_classic, flat, infer

Shape = Tuple[int, ...]

#: Stock blocks that hold an Activation as a part of themselves.
_ACTIVATED = (stock.Dense, stock.Conv2D.__base__)


def trace(net: Block, known: Dict[str, Shape]) -> Tuple[List[Tuple[Block, List, List]], List]:
    """Trace a net, and leave it as it was.

    Parameters
    ----------
    net : Block
    known : dict of str to tuple of int
        A name and the shape of each input.

    Returns
    -------
    calls, outputs
        For each call of a layer, in order, the block and the symbols that it was given and gave; and
        the symbols that the net gave.
    """
    calls, running, fixed, handles, blocks = [], [], [], [], []
    net.apply(blocks.append)

    def enter(block, args):
        # A layer is as eager calls have it: in the form for the size it is given.
        if isinstance(block, Windowed) and block._in_shape is None:
            with suppress(ValueError):  # its size does not follow: in the form for every size, then
                (block._in_shape,) = infer(flat(args), known)
                fixed.append(block)
        if _is_layer(block) and not _is_activation_of(block, running):
            calls.append([block, flat(args), None])
        running.append(block)

    def leave(block, _, out):
        running.pop()
        if fixed and fixed[-1] is block:
            fixed.pop()._in_shape = None
        call = next((c for c in reversed(calls) if c[0] is block and c[2] is None), None)
        if call is not None:
            call[2] = flat([out])

    inputs = [mx.sym.var(name) for name in known]
    if mx.util.is_np_array():
        inputs = [x.as_np_ndarray() for x in inputs]
    try:
        for block in dict.fromkeys(blocks):
            handles.append(block.register_forward_pre_hook(enter))
            handles.append(block.register_forward_hook(leave))
        out = flat([net(*inputs)])
    finally:
        for handle in handles:
            handle.detach()
        for block in fixed:
            block._in_shape = None
    return calls, out


class Shapes:
    """The shapes of symbols and parameters, from those of the inputs.

    Parameters
    ----------
    net, known
        As for :func:`trace`.
    symbols : sequence of Symbol
        Those that will be asked about.

    Raises
    ------
    MXNetError, ValueError
        If the shapes do not fit each other, or the net's parameters.
    """

    def __init__(self, net: Block, symbols: Sequence[mx.sym.Symbol], known: Dict[str, Shape]):
        group = mx.sym.Group([as_classic(x) for x in symbols])
        there = set(group.list_inputs())
        args, outs, states = group.infer_shape_partial(**{k: v for k, v in known.items() if k in there})
        self._found = dict(zip(group.list_arguments() + group.list_auxiliary_states(), args + states))
        self._outputs: Dict[int, Tuple] = {}
        self.unknown: Set[str] = set()  #: Names of the parameters asked about that have no shape.
        outs = iter(outs)
        for x in symbols:
            shapes = [next(outs) for _ in x.list_outputs()]
            self._outputs[id(x)] = tuple(
                tuple(n if n > 0 else None for n in shape or ()) for shape in shapes
            )
        self._symbols = symbols  # kept, so that no other symbol takes an id
        for parameter in net.collect_params().values():
            # BatchNorm's inference takes any number of channels, whatever its parameters have.
            has, wants = parameter.shape or (), self._found.get(parameter.name) or ()
            if any(0 < n != m > 0 for n, m in zip(has, wants)):
                raise ValueError(f"{parameter.name} of shape {has} would have to be of shape {wants}.")

    def of(self, symbols: Sequence[mx.sym.Symbol]) -> Tuple:
        """The shape of each output of each symbol, with None for what does not follow."""
        return tuple(shape for x in symbols for shape in self._outputs[id(x)])

    def size(self, parameter: Parameter) -> int:
        """Elements of a parameter; 0 where its shape is not known, which is kept in mind."""
        shape = self._found.get(parameter.name)
        shape = shape if self._is_known(shape) else parameter.shape
        if not self._is_known(shape):
            self.unknown.add(parameter.name)
            return 0
        return prod(shape)

    @staticmethod
    def _is_known(shape: Any) -> bool:
        if mx.util.is_np_shape():  # () is a scalar there, and -1 what is not known
            return shape is not None and all(n >= 0 for n in shape)
        return bool(shape) and all(n > 0 for n in shape)


def _is_layer(block):
    if block._reg_params or isinstance(block, _ACTIVATED):
        return True
    return not block._children and not isinstance(block, (stock.Sequential, stock.HybridSequential))


def _is_activation_of(block, running):
    """Whether a block is the activation that the running layer holds as a part of itself."""
    return bool(running) and isinstance(running[-1], _ACTIVATED) and running[-1].act is block
