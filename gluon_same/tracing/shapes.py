"""Infer shapes in a traced net: of its symbols, its parameters and the inputs of its blocks."""

from contextlib import suppress
from math import prod
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import mxnet as mx
from mxnet.gluon import Block, Parameter

from ..arrays import as_classic, infer
from .trace import Call, Shape, Trace, not_traced

#: For each block, the shapes of the inputs of each of its calls.
Seen = Dict[Block, Set[Tuple[Shape, ...]]]


def shapes_seen(net: Block, blocks: Sequence[Block], shapes: Sequence[Shape]) -> Tuple[Seen, bool]:
    """Find the shapes that the blocks of a net receive.

    Parameters
    ----------
    net : Block
    blocks : sequence of Block
        All blocks of the net.
    shapes : sequence of tuple of int
        Shapes of the net's inputs.

    Returns
    -------
    dict, bool
        The shapes for each block that no loop such as ``foreach`` calls, and whether the net accepts
        other batch sizes, tested with a few.

    Raises
    ------
    ValueError
        If the net cannot be traced.
    """
    known = {f"data{i}": shape for i, shape in enumerate(shapes)}
    trace = Trace(blocks, known)
    try:
        trace.run(net)
        looped = _in_loops(net, trace.calls, known)
        calls = [call for call in trace.calls if call.block not in looped]
        symbols = [x for call in calls for x in call.inputs]
        found = infer(symbols, known)
    except (mx.MXNetError, AttributeError, TypeError, ValueError, AssertionError) as error:
        raise ValueError(not_traced(net, shapes, error)) from error
    others = _at_another_batch(symbols, known)
    pairs = iter(zip(found, others or found))
    seen: Seen = {}
    for block, inputs, _ in calls:
        received = [next(pairs) for _ in inputs]
        seen.setdefault(block, set()).add(tuple(shape for shape, _ in received))
        if any(shape[1:] != other[1:] for shape, other in received):
            # The batch size changes other axes here, so add the second shape: the size is not fixed.
            seen[block].add(tuple(other for _, other in received))
    return seen, others is not None


def _in_loops(net: Block, calls: Sequence[Call], known: Dict[str, Shape]) -> Set[Block]:
    """Return the blocks that loops call, with symbols of the loop that have no shape outside."""
    outside = {*known, *net.collect_params().keys()}

    def in_loop(symbols):
        group = mx.sym.Group([as_classic(x) for x in symbols])
        return not outside.issuperset(group.list_inputs())

    symbols = [x for call in calls for x in call.inputs]
    if not symbols or not in_loop(symbols):  # one check of all symbols is faster than one for each
        return set()
    return {call.block for call in calls if call.inputs and in_loop(call.inputs)}


def _at_another_batch(symbols: Sequence[Any], known: Dict[str, Shape]) -> Optional[List[Shape]]:
    # A net may accept only even batch sizes, or multiples of a number of frames.
    for factor, more in ((1, 1), (1, 2), (2, 0), (3, 0)):
        other = {name: (factor * n + more, *rest) for name, (n, *rest) in known.items()}
        with suppress(mx.MXNetError, ValueError):
            return infer(symbols, other)
    return None


class Shapes:
    """Shapes of symbols and parameters, inferred from those of the inputs.

    Parameters
    ----------
    net : Block
    symbols : sequence of Symbol
        Symbols whose shapes :meth:`of` returns.
    known : dict of str to tuple of int
        Name and shape of each input.

    Raises
    ------
    MXNetError, ValueError
        If the shapes do not match each other or the net's parameters.
    """

    def __init__(self, net: Block, symbols: Sequence[mx.sym.Symbol], known: Dict[str, Shape]):
        group = mx.sym.Group([as_classic(x) for x in symbols])
        there = set(group.list_inputs())
        args, outs, states = group.infer_shape_partial(**{k: v for k, v in known.items() if k in there})
        self._found = dict(zip(group.list_arguments() + group.list_auxiliary_states(), args + states))
        self._outputs: Dict[int, Tuple] = {}
        self.unknown: Set[str] = set()  #: Names of parameters that :meth:`size` found no shape for.
        outs = iter(outs)
        for x in symbols:
            shapes = [next(outs) for _ in x.list_outputs()]
            self._outputs[id(x)] = tuple(
                tuple(n if n > 0 else None for n in shape or ()) for shape in shapes
            )
        self._symbols = symbols  # keeps the ids valid
        for parameter in net.collect_params().values():
            # MXNet's shape inference ignores the channels of BatchNorm's parameters.
            has, wants = parameter.shape or (), self._found.get(parameter.name) or ()
            if any(0 < n != m > 0 for n, m in zip(has, wants)):
                raise ValueError(f"{parameter.name} has shape {has}, and these inputs require {wants}.")

    def of(self, symbols: Sequence[mx.sym.Symbol]) -> Tuple:
        """Return the shape of each output of each symbol, with None for unknown sizes."""
        return tuple(shape for x in symbols for shape in self._outputs[id(x)])

    def size(self, parameter: Parameter) -> int:
        """Return the number of elements of a parameter, or 0 and add it to ``unknown``."""
        shape: Any = self._found.get(parameter.name)
        shape = shape if self._is_known(shape) else parameter.shape
        if not self._is_known(shape):
            self.unknown.add(parameter.name)
            return 0
        return prod(shape)

    @staticmethod
    def _is_known(shape: Any) -> bool:
        if mx.util.is_np_shape():  # where () is a scalar, and -1 is an unknown size
            return shape is not None and all(n >= 0 for n in shape)
        return bool(shape) and all(n > 0 for n in shape)
