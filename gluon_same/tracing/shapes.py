"""Shapes in a traced net: of its symbols, its parameters, and what its blocks receive."""

from contextlib import suppress
from math import prod
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import mxnet as mx
from mxnet.gluon import Block, Parameter

from ..symbols import as_classic, infer
from .trace import Shape, Trace, not_traced

#: For each block, the shapes of the inputs of each of its calls.
Seen = Dict[Block, Set[Tuple[Shape, ...]]]


def shapes_seen(net: Block, blocks: Sequence[Block], shapes: Sequence[Shape]) -> Tuple[Seen, bool]:
    """Find the shapes that the blocks of a net receive.

    Parameters
    ----------
    net : Block
    blocks : sequence of Block
        All of the net's.
    shapes : sequence of tuple of int
        Of the net's inputs.

    Returns
    -------
    dict, bool
        The shapes for each block, and whether the net takes other batches, as far as a few tries show.

    Raises
    ------
    ValueError
        If the net cannot be traced.
    """
    known = {f"data{i}": shape for i, shape in enumerate(shapes)}
    trace = Trace(blocks, known)
    try:
        trace.run(net)
        symbols = [x for call in trace.calls for x in call.inputs]
        found = infer(symbols, known)
    except (mx.MXNetError, AttributeError, TypeError, ValueError, AssertionError) as error:
        raise ValueError(not_traced(net, shapes, error)) from error
    others = _at_another_batch(symbols, known)
    pairs = iter(zip(found, others or found))
    seen: Seen = {}
    for block, inputs, _ in trace.calls:
        received = [next(pairs) for _ in inputs]
        seen.setdefault(block, set()).add(tuple(shape for shape, _ in received))
        if any(shape[1:] != other[1:] for shape, other in received):
            # The batch reaches other axes: what they are is not settled.
            seen[block].add(tuple(other for _, other in received))
    return seen, others is not None


def _at_another_batch(symbols: Sequence[Any], known: Dict[str, Shape]) -> Optional[List[Shape]]:
    # A net may take even batches alone, or clips of several frames.
    for factor, more in ((1, 1), (1, 2), (2, 0), (3, 0)):
        other = {name: (factor * n + more, *rest) for name, (n, *rest) in known.items()}
        with suppress(mx.MXNetError, ValueError):
            return infer(symbols, other)
    return None


class Shapes:
    """The shapes of symbols and parameters, from those of the inputs.

    Parameters
    ----------
    net : Block
    symbols : sequence of Symbol
        Those that will be asked about.
    known : dict of str to tuple of int
        Name and shape of each input.

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
        shape: Any = self._found.get(parameter.name)
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
