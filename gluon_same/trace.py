"""Run a net on symbols, and record what each of its blocks receives and returns."""

import threading
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from math import prod
from typing import Any, Deque, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import mxnet as mx
from mxnet.gluon import Block, Parameter
from mxnet.gluon import nn as stock

from . import _mxnet  # noqa: F401
from .arrays import as_classic, flat, in_mode, infer, read_by
from .blocks import blocks_of, title
from .like_arrays import symbols_like_arrays
from .nn.base import Windowed, windowed
from .replacing import replaced

Shape = Tuple[int, ...]
#: Shape of the input of each call of a block; None if it is not known or depends on the batch.
Sizes = Dict[Windowed, Deque[Optional[Shape]]]

#: Start of the error for a net that returns something else than arrays.
RETURNS = "The net returns"

#: Stock blocks that contain an Activation.
_ACTIVATED = (stock.Dense, stock.Conv2D.__base__)


class Call(NamedTuple):
    """One call of a block: the symbols that it received and returned."""

    block: Block
    inputs: List[mx.sym.Symbol]
    outputs: List[mx.sym.Symbol]


class Trace:
    """A net's graph, and the calls of its blocks. The net does not change.

    Parameters
    ----------
    net : Block
    shapes : sequence of tuple of int
        Shape of each input.
    sized : bool
        Whether layers build the graph for the size that they receive, as in eager mode. A layer whose
        size cannot be inferred, or depends on the batch size, builds the graph for every size.

    Attributes
    ----------
    shapes : dict of str to tuple of int
        Name and shape of each input. The names are those that ``export`` of a hybridized net writes.
    calls : list of Call
        Calls in the order in which they start.
    outputs : list of Symbol
        The net's results.
    structure : int or list
        Nesting of the results: nested lists of their indices.
    free : bool
        Whether the net accepts other batch sizes.
    uses : set of str
        What the net's code uses that only arrays have, so that MXNet cannot hybridize it: 'slices';
        'operators', as in ``mx.nd.relu(x)``; 'broadcasting', as in ``x + y``; 'shapes', as in
        ``x.shape``, so that the graph is for these.
    custom : bool
        Whether the net's code calls an ``autograd.Function``, whose gradient the graph lacks.
    mode : bool or None
        Whether the net is in training, if its code calls ``autograd.is_training``: the graph is for it.
    fixed : bool
        Whether the graph is for these shapes even if ``sized`` is False: the net's code reads shapes, or
        a layer has no graph for every size that supports them.
    unknown : set of str
        Names of parameters that :meth:`size` found no shape for.

    Raises
    ------
    ValueError
        If the net cannot be traced, or if the shapes do not match the net.
    """

    def __init__(self, net: Block, shapes: Sequence[Shape], sized: bool = True):
        self.net, self.blocks = net, blocks_of(net)
        names = ["data"] if len(shapes) == 1 else [f"data{i}" for i in range(len(shapes))]
        self.shapes = dict(zip(names, shapes))
        self.parameters = dict(net.collect_params().items())  # collecting them takes long
        clash = self.shapes.keys() & self.parameters.keys()
        if clash:
            raise ValueError(
                f"a parameter of {title(net)} is named {min(clash)!r} like an input: rename it"
            )
        self.unknown: Set[str] = set()
        self.uses: Set[str] = set()
        self.free, self.fixed, self.varies = True, False, False
        self.custom = any(vars(block).get("custom") is True for block in self.blocks)  # specialized ones
        self.mode: Optional[bool] = None
        self._broadcasts = False
        self._running: List[Block] = []
        try:
            try:
                # One inference of the graph for every size finds all shapes.
                self._run(None)
            except (mx.MXNetError, ValueError):
                # It does not support maps smaller than a kernel, unknown channels or large strides, and
                # x + y does not broadcast.
                self.fixed, self._broadcasts, self._running = True, True, []
                self._run(None)
            if sized:
                other = self._at_another_batch()
                self.free = other is not None
                # Where the batch size changes other axes, sizes are not fixed.
                pairs = [(s, o) for key in other or () for s, o in zip(self._found[key], other[key])]
                self.varies = any(s[2:] != o[2:] for s, o in pairs)
                if any(map(windowed, self.blocks)):
                    self._run(self._sizes(other))
        except Exception as error:  # a block's code may raise any error for a symbol
            raise ValueError(self._explained(error)) from error

    def shapes_of(self, symbols: Sequence[mx.sym.Symbol]) -> Tuple:
        """Return the shape of each output of the recorded symbols, with None for unknown sizes."""
        # Symbols inside of a loop have no known shape, which is ``()``.
        return tuple(shape for x in symbols for shape in self._found.get(id(x), ((),)))

    def layers(self) -> List[Call]:
        """Return the calls of layers in order.

        A layer is a block with parameters of its own or without children. The activation of a layer is
        a part of it.
        """
        parts = {block.act for block in self.blocks if isinstance(block, _ACTIVATED)}
        layers = set(filter(_is_layer, self.blocks)) - parts
        return [call for call in self.calls if call.block in layers]

    def size(self, parameter: Parameter) -> int:
        """Return the number of elements of a parameter, or 0 and add it to ``unknown``."""
        shapes: Any = self.variables.get(parameter.name), parameter.shape
        for shape in shapes:
            if _is_known(shape):
                return prod(shape)
        self.unknown.add(parameter.name)
        return 0

    def symbol(self) -> mx.sym.Symbol:
        """Return the graph of the results, in classic mode."""
        return mx.sym.Group([as_classic(x) for x in self.outputs])

    def _run(self, sizes: Optional[Sizes]) -> None:
        self.calls: List[Call] = []
        with symbols_like_arrays(self.shapes, self.uses.add, self._broadcasts), _recorded(self, sizes):
            self.structure, self.outputs = on_symbols(self.net, self.shapes)
        self.fixed = self.fixed or "shapes" in self.uses
        odd = [type(y).__name__ for y in self.outputs if not isinstance(y, mx.sym.Symbol)]
        if odd or not self.outputs:
            raise TypeError(f"{RETURNS} {f'a result of type {odd[0]}' if odd else 'nothing'}")
        self._symbols = [x for call in self.calls for x in call.inputs + call.outputs] + self.outputs
        known = {*self.shapes, *self.symbol().list_inputs(), *self.parameters}
        if not known.issuperset(mx.sym.Group(list(map(as_classic, self._symbols))).list_inputs()):
            # Some operators infer nothing, but raise an error, for the variables inside of a loop.
            self._symbols = [x for x in self._symbols if known.issuperset(x.list_inputs())]
        self.variables, self._found = self._infer(self.shapes)
        for parameter in self.parameters.values():
            # MXNet's shape inference ignores the channels of BatchNorm's parameters.
            has, wants = parameter.shape or (), self.variables.get(parameter.name) or ()
            if any(0 < n != m > 0 for n, m in zip(has, wants)):
                raise ValueError(f"{parameter.name} has shape {has}, and these inputs require {wants}.")

    def _infer(self, shapes: Dict[str, Shape]) -> Tuple[Dict[str, Shape], Dict[int, Tuple]]:
        """Return the shapes of the variables, by name, and of the recorded symbols, by id."""
        group = mx.sym.Group([as_classic(x) for x in self._symbols])
        args, outs, states = group.infer_shape_partial(**read_by(group, shapes))
        names = group.list_arguments() + group.list_auxiliary_states()
        shapes_left = iter(outs)
        found = {}
        for x in self._symbols:
            own = [next(shapes_left) for _ in x.list_outputs()]
            found[id(x)] = tuple(tuple(n if n > 0 else None for n in shape or ()) for shape in own)
        return dict(zip(names, args + states)), found

    def _sizes(self, other: Optional[Dict[int, Tuple]]) -> Sizes:
        """Return the shapes that layers with windows received."""
        sizes: Sizes = {}
        for block, inputs, _ in self.calls:
            layer = windowed(block)
            if layer is not None:
                (shape,) = self.shapes_of(inputs)
                fixed = bool(shape) and None not in shape
                if fixed and other is not None:
                    fixed = shape[1:] == other[id(inputs[0])][0][1:]
                sizes.setdefault(layer, deque()).append(shape if fixed else None)
        return sizes

    def _at_another_batch(self):
        if "shapes" in self.uses:  # maybe the batch size
            return None
        # A net may accept only even batch sizes, or multiples of a number of frames. Strides round sizes
        # of neighboring batches to one number.
        for factor, more in ((60, 0), (1, 1)):
            other = {name: (factor * n + more, *rest) for name, (n, *rest) in self.shapes.items()}
            with suppress(mx.MXNetError, ValueError):
                return self._infer(other)[1]
        return None

    def _explained(self, error):
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
        told = [line for words in ("Error in operator", "Symbol") for line in lines if words in line]
        cause = (told or lines[-1:])[0].rstrip(".")
        at = [block for block in self._running if block is not self.net][-1:]
        where = f" (in {at[0].name}, a {type(at[0]).__name__})" if at else ""
        advice = "give the shapes of all its inputs"
        if "Symbol" in cause or "NDArray" in cause:
            advice = (
                "replace arrays in its code by params.get_constant, and what only arrays can do, such "
                "as x.asnumpy(), by operators"
            )
        elif cause.startswith(RETURNS):
            advice = "return arrays, or lists and tuples of arrays"
        return (
            f"{cause}. Therefore {title(self.net)} could not be traced with inputs of shape "
            f"{list(self.shapes.values())}{where}: {advice}"
        )


@contextmanager
def _recorded(trace: Trace, sizes: Optional[Sizes]) -> Iterator[None]:
    """Record the calls of blocks in a trace. Layers with windows receive their sizes in turn."""
    waiting: List[Call] = []

    def enter(block, args):
        inputs, layer = flat(args), windowed(block)
        trace._running.append(block)
        if hasattr(block, "_check_input"):  # a net of the model zoo, which may not support every size
            shapes: Any = ()
            with suppress(mx.MXNetError, ValueError):  # inside of a loop, nothing can be inferred
                shapes = infer(inputs[:1], trace.shapes)
            for shape in shapes:
                block._check_input(shape)
        if layer is not None:
            size = sizes[layer].popleft() if sizes else None
            if sizes is None and trace.fixed:
                with suppress(mx.MXNetError, ValueError):
                    (size,) = infer(inputs, trace.shapes)
            layer.__dict__["_in_shape"] = size  # Gluon's __setattr__ is slow
        waiting.append(Call(block, inputs, []))
        trace.calls.append(waiting[-1])

    def leave(block, _, outputs):
        trace._running.pop()
        waiting.pop().outputs.extend(flat(outputs))

    plain, is_training = mx.autograd.Function.__call__, mx.autograd.is_training
    own = threading.get_ident()  # other threads may run nets meanwhile

    def called(*args):
        if threading.get_ident() != own:
            return plain(*args)
        trace.custom = True
        with mx.autograd.pause(is_training()):  # MXNet would record symbols as arrays
            return plain(*args)

    def asked():
        if threading.get_ident() == own:
            trace.mode = is_training()
        return is_training()

    with ExitStack() as stack:
        stack.enter_context(replaced(mx.autograd.Function, {"__call__": called}))
        stack.enter_context(replaced(vars(mx.autograd), {"is_training": asked}))
        for block in trace.blocks:
            stack.callback(block.register_forward_pre_hook(enter).detach)
            stack.callback(block.register_forward_hook(leave).detach)
        for layer in filter(None, map(windowed, trace.blocks)):
            stack.callback(layer.__dict__.update, _in_shape=None)
        yield


def on_symbols(net: Block, names: Iterable[str]) -> Tuple[Any, List[Any]]:
    """Run a net on symbols, and return the nesting of its results, and the results."""
    return structure_of(net(*(in_mode(mx.sym.var(name)) for name in names)))


def structure_of(results: Any) -> Tuple[Any, List[Any]]:
    """Return the nesting of results, as nested lists of indices, and the flat list of results."""
    found: List[Any] = []

    def visit(value):
        several = isinstance(value, mx.sym.Symbol) and len(value.list_outputs()) > 1
        if several or isinstance(value, (list, tuple)):
            return [visit(each) for each in value]
        found.append(value)
        return len(found) - 1

    return visit(results), found


def nest(structure: Any, results: Sequence[Any]) -> Any:
    """Return results nested as described by a structure."""
    if isinstance(structure, list):
        return tuple(nest(each, results) for each in structure)
    return results[structure]


def _is_layer(block):
    if block._reg_params or isinstance(block, _ACTIVATED):
        return True
    return not block._children and not isinstance(block, (stock.Sequential, stock.HybridSequential))


def _is_known(shape: Any) -> bool:
    if mx.util.is_np_shape():  # where () is a scalar, and -1 is an unknown size
        return shape is not None and all(n >= 0 for n in shape)
    return bool(shape) and all(n > 0 for n in shape)
