"""Trace a net to a graph in which each SAME block is one operator, marked with its ONNX padding."""

import itertools
import threading
import traceback
from contextlib import ExitStack, suppress
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Set, Tuple

import mxnet as mx
import numpy as np
from mxnet.gluon import Block

from .. import gradients, lowering
from ..arrays import as_classic, settle
from ..blocks import blocks_of, title
from ..classic import classic
from ..deployment.clean import SELECTS, fold_constants
from ..geometry import Window
from ..graph import Graph
from ..lowering.steps import Operator, Plan
from ..replacing import replaced
from ..sized import Sized
from ..trace import Trace
from .windows import MARK

_BY_SIZE = {"same": {"auto_pad": "SAME_UPPER"}, "same_lower": {"auto_pad": "SAME_LOWER"}}


class Marked:
    """The graph of a net for the exporter.

    Parameters
    ----------
    net : Block
    shapes : list of tuple of int
        Shape of each input.
    dynamic : bool
        Whether spatial sizes stay free.

    Attributes
    ----------
    symbol : Symbol
        Its shapes are right. Operators with a :data:`~.windows.MARK` compute different results, because
        MXNet cannot pad them as ONNX does; a slice to the right size, marked too, follows each.
    shapes : dict of str to tuple of int
        Name and shape of each input.
    outputs : list of str
        The exporter's names of the outputs, in the net's order.
    """

    def __init__(self, net: Block, shapes: List[Tuple[int, ...]], dynamic: bool):
        self.net = net
        self.dynamic = dynamic
        with ExitStack() as stack:
            for block in blocks_of(net):
                if isinstance(block, Sized):  # ONNX has no operator for the check of the size
                    stack.enter_context(replaced(vars(block), {"_checks": False}))
            plans: Dict[str, Any] = dict.fromkeys(("plan_convolution", "plan_pooling"), self._window)
            plans["plan_deconvolution"] = self._transposed
            here = {name: _here(plan, getattr(lowering, name)) for name, plan in plans.items()}
            stack.enter_context(replaced(vars(lowering), here))
            found = Trace(net, shapes)
        if dynamic and "shapes" in found.uses:
            raise ValueError(
                f"{title(net)} cannot be exported with dynamic=True: its code reads shapes, as in "
                "x.shape, and its graph serves only these. Use dynamic=False"
            )
        self._blocks, self.shapes = found.blocks, found.shapes
        self._parameters = found.parameters.values()
        outputs = _named(list(map(as_classic, found.outputs)), self.shapes)
        graph = Graph(mx.sym.Group(outputs), inputs=self.shapes)
        if not dynamic and any(node.op == SELECTS for node in graph.nodes()):
            # Sizes that do not follow from the data are known at fixed sizes of the inputs.
            graph.params = dict(_constants(self._parameters))
            while graph.rewrite(fold_constants):
                pass
        self._taken: Set[str] = set()
        graph.rewrite(classic, *gradients.INFERENCE)
        graph.rewrite(self._prepared)
        self.symbol, self._folded = graph.symbol(), graph.params
        self.outputs = [name[: -len("_output")] for name in self.symbol.list_outputs()]

    def _prepared(self, graph, node):
        """Bring an operator to a form that the exporter converts right."""
        if node.op == SELECTS:
            raise ValueError(
                f"{self._owner(node.name)} cannot be exported: the size of its result follows from the "
                "data, and MXNet's exporter requires all shapes. Export the part of the net before it"
            )
        if node.op == "slice" and MARK in node.attrs:
            operator = node.inputs[0].node
            while operator.op not in ("Convolution", "Deconvolution", "Pooling"):
                operator = operator.inputs[0].node  # an activation is between the two
            operator.attrs[MARK] = node.attrs[MARK]
        for i, entry in enumerate(node.inputs):
            if entry.node.op == "_arange" and entry.node.get("infer_range"):
                # MXNet infers its length from the other operand, and the exporter does not.
                like = [each for each in node.inputs if each != entry]
                if len(like) != 1 or graph.shape(like[0]) != graph.shape(entry):
                    raise ValueError(
                        f"{self._owner(node.name)} cannot be exported: give its arange a stop"
                    )
                taken = {name: entry.node.get(name) for name in ("start", "step", "repeat")}
                node.inputs[i] = graph.new("_contrib_arange_like", node, like, axis=0, **taken)
        if node.op == "LRN":
            node.attrs.setdefault("knorm", "2")  # the exporter has another default
        if node.get("exclude") and node.get("axis") is None:
            node.attrs["exclude"] = "False"  # as MXNet reads it
        elif node.get("exclude") and graph.shape(node.inputs[0]):
            rank = len(graph.shape(node.inputs[0]))
            axes = {int(axis) % rank for axis in np.ravel(node.get("axis"))}
            node.attrs.update(axis=str(tuple(sorted({*range(rank)} - axes))), exclude="False")
        # MXNet's exporter treats operators of one name as one.
        name, numbers = node.name, itertools.count(1)
        while node.name in self._taken:
            node.name = f"{name}_call{next(numbers)}"
        self._taken.add(node.name)

    def parameters(self) -> Dict[str, mx.nd.NDArray]:
        """Return the values of the parameters in a graph."""
        settle()
        wanted = set(self.symbol.list_inputs())
        values, missing = dict(self._folded), []
        for parameter in self._parameters:
            if parameter.name in wanted:
                try:
                    values[parameter.name] = parameter.list_data()[0]
                except RuntimeError:
                    missing.append(parameter.name)
        if missing:
            raise ValueError(
                f"{self.net.name} has parameters without values ({', '.join(missing[:3])}"
                f"{', ...' if missing[3:] else ''}): call net.initialize() or load_parameters, and run "
                "the net once before exporting it"
            )
        return values

    def explain(self, error: BaseException) -> str:
        """Return a message for an error of MXNet's exporter that names the operator and the block."""
        node = {}
        for frame, _ in traceback.walk_tb(error.__traceback__):
            # The exporter's error does not name the node, but its innermost stack frame contains it.
            found = frame.f_locals.get("node")
            if isinstance(found, dict) and "op" in found:
                node = found
        if not node:
            return f"{self.net.name} could not be exported: {error}"
        return (
            f"{self._owner(node['name'])} cannot be exported: MXNet's ONNX exporter rejected its "
            f"operator {node['op']} ({node['name']}): {error}"
        )

    def _owner(self, name):
        owners = [b for b in reversed(self._blocks) if b.prefix and name.startswith(b.prefix)]
        block = max(owners, key=lambda b: len(b.prefix), default=self.net)
        return f"{block.name} ({type(block).__name__})"

    def _window(self, windows, sizes, *_):
        here = [w.at(n) for w, n in zip(windows, sizes)]
        out = tuple(map(Window.outputs, windows, sizes, here))
        if min(out) < 1:
            spans = tuple(w.span for w in windows)
            raise ValueError(f"data of spatial size {sizes} is smaller than a window of {spans}")
        wanted = [w.at(None) for w in windows] if self.dynamic else here
        attributes = {"pads": _pads(wanted)} if None not in wanted else _BY_SIZE[windows[0].padding]
        own = tuple(max(w.at(None) or (w.span - 1,)) for w in windows)
        return Plan((), Operator(own), (_Cut(out, attributes),))

    def _transposed(self, windows, extra, sizes):
        pairs, extra = zip(*map(Window.cut, windows, extra))
        axes = zip(sizes, windows, pairs, extra)
        out = tuple((n - 1) * w.stride + w.span - sum(pair) + more for n, w, pair, more in axes)
        attributes = {"pads": _pads(pairs), "output_padding": list(extra)}
        return Plan((), Operator(tuple(map(min, pairs)), adj=extra), (_Cut(out, attributes),))


class _Cut(NamedTuple):
    """Step of a plan: cut a result to its size in ONNX."""

    sizes: Tuple[int, ...]
    attributes: Dict[str, Any]  # of the operator in ONNX

    def apply(self, F, x, layout, _):
        sizes = iter(self.sizes)
        end = [None if axis in "NC" else next(sizes) for axis in layout]
        return F.slice(x, begin=[None] * len(end), end=end, attr={MARK: str(self.attributes)})


def _constants(parameters: Iterable[Any]) -> Iterator[Tuple[str, mx.nd.NDArray]]:
    """Yield the names and values of parameters that are not trained, such as a file's indices."""
    for each in parameters:
        if each.grad_req == "null":
            with suppress(RuntimeError):  # without values, which is reported later
                yield each.name, each.list_data()[0]


def _here(plan, original):
    """Return a function that plans windows in this thread whose sizes are known."""
    thread = threading.get_ident()

    def planned(*args):
        known = not any(None in each for each in args if isinstance(each, tuple))
        return (plan if known and threading.get_ident() == thread else original)(*args)

    return planned


def _pads(pairs):
    return [before for before, _ in pairs] + [after for _, after in pairs]


def _named(outputs, inputs):
    """Return the outputs as separate nodes, because the exporter loses outputs that share a node."""
    names = [name for x in outputs for name in x.list_outputs()]
    plain = names == [f"{x.name}_output" for x in outputs] == list(dict.fromkeys(names))
    if plain and not set(names) & set(inputs):
        return outputs
    return [mx.sym.identity(part) for x in outputs for part in x]
