"""A net's graph in which every SAME block is one operator, marked for the padding it will have."""

import itertools
import json
import operator
import traceback
from contextlib import ExitStack, contextmanager
from typing import Any, Dict, List, NamedTuple, Tuple

import mxnet as mx
from mxnet.gluon import Block

from .. import geometry
from ..arguments import Window, normalize_padding
from ..arrays import classic
from ..nn.base import Windowed
from ..nn.conv import _Convolution, _Transposed
from ..nn.pool import _Pooling
from ..sizes import flat
from ..specialize import _Guard

_AUTO_PAD = {"same": "SAME_UPPER", "same_lower": "SAME_LOWER"}


class Mark(NamedTuple):
    """What becomes of one block: ``operator`` takes the place of the slice after it."""

    operator: str  # name of the node
    attributes: Dict[str, Any]  # of ONNX


class Trace:
    """One tracing of a net.

    Parameters
    ----------
    net : Block
    shapes : dict of str to tuple of int
        Shape of each input.
    dynamic : bool
        Whether spatial sizes are to stay free.
    """

    def __init__(self, net: Block, shapes: Dict[str, Tuple[int, ...]], dynamic: bool):
        self.net = net
        self.shapes = shapes
        self.dynamic = dynamic
        self.marks: Dict[str, Mark] = {}
        self._blocks: List[Block] = []
        self._running: List[Block] = []
        net.apply(self._blocks.append)

    def run(self) -> mx.sym.Symbol:
        """The graph, right in its shapes; the numbers of marked operators are not what is wanted."""
        inputs = [mx.sym.var(name) for name in self.shapes]
        if mx.util.is_np_array():
            inputs = [x.as_np_ndarray() for x in inputs]
        with ExitStack() as stack:
            for block in set(self._blocks):
                stack.enter_context(self._watched(block))
                if isinstance(block, _Guard):  # the check of a specialised size has no place in ONNX
                    stack.enter_context(_replaced(block, forward=super(_Guard, block).forward))
                if isinstance(block, Windowed) and block._padding is not None:
                    stack.enter_context(self._marking(block))
            try:
                outputs = flat([self.net(*inputs)])
                group = mx.sym.Group(_named([classic(x)[0] for x in outputs], self.shapes))
                self._shapes_of(group)
            except Exception as error:  # whatever a block's code raises when it meets a symbol
                raise ValueError(
                    f"{self._innermost()} could not be traced with inputs of shape "
                    f"{list(self.shapes.values())}: give the shapes of all inputs, and make blocks "
                    f"whose code needs arrays HybridBlocks. {error}"
                ) from error
        content = json.loads(group.tojson())
        for node in content["nodes"]:
            attributes = node.get("attrs", {})
            if attributes.get("layout") == "NCW":
                del attributes["layout"]  # the default; the exporter refuses to read the word
            why = _why_different(node["op"], attributes)
            if why:
                raise ValueError(
                    f"{self._owner(node)} cannot be exported: its operator {node['op']} "
                    f"({node['name']}) would compute something else in ONNX. {why}"
                )
        _name_apart(content["nodes"])
        return mx.sym.load_json(json.dumps(content, ensure_ascii=False))

    def outputs(self, symbol: mx.sym.Symbol) -> List[str]:
        """What the exporter calls the outputs, in the net's order."""
        return [name[: -len("_output")] for name in symbol.list_outputs()]

    def parameters(self, symbol: mx.sym.Symbol) -> Dict[str, mx.nd.NDArray]:
        """Values of the parameters in a graph."""
        wanted = set(symbol.list_inputs())
        values, missing = {}, []
        for parameter in self.net.collect_params().values():
            if parameter.name in wanted:
                try:
                    values[parameter.name] = parameter.list_data()[0]
                except RuntimeError:
                    missing.append(parameter.name)
        if missing:
            raise ValueError(
                f"{self.net.name} has parameters without values ({', '.join(missing[:3])}"
                f"{', ...' if missing[3:] else ''}): call net.initialize(), or load_parameters, and "
                "run the net once before it is exported"
            )
        return values

    def explain(self, error: BaseException) -> str:
        """What to tell of an error of MXNet's exporter: which operator of which block it was."""
        node = {}
        for frame, _ in traceback.walk_tb(error.__traceback__):
            # The exporter does not say where it was; the innermost node that it held does.
            found = frame.f_locals.get("node")
            if isinstance(found, dict) and "op" in found:
                node = found
        if not node:
            return f"{self.net.name} could not be exported: {error}"
        hint = ""
        if node["op"] in ("slice_like", "slice"):
            hint = (
                ". Graphs that gluon_same.functional builds for every size are not known to it: use "
                "the blocks of gluon_same.nn there, or give in_size"
            )
        return (
            f"{self._owner(node)} cannot be exported: MXNet's ONNX exporter refused its operator "
            f"{node['op']} ({node['name']}): {error}{hint}"
        )

    @contextmanager
    def _watched(self, block):
        def entered(_, inputs):
            self._running.append(block)
            if hasattr(block, "_check_input"):  # a net of the zoo, which takes not every size
                block._check_input(self._shapes_of(classic(inputs[0])[0])[0])

        enter = block.register_forward_pre_hook(entered)
        leave = block.register_forward_hook(lambda *_: self._running.pop())
        try:
            yield
        finally:
            enter.detach()
            leave.detach()

    def _owner(self, node):
        owners = [b for b in reversed(self._blocks) if b.prefix and node["name"].startswith(b.prefix)]
        return _title(max(owners, key=lambda b: len(b.prefix), default=self.net))

    def _innermost(self):
        return _title(self._running[-1] if self._running else self.net)

    @contextmanager
    def _marking(self, block):
        if isinstance(block, _Convolution):
            name, whole = "_convolve", _Convolution._convolve
            if isinstance(block, _Transposed):
                whole = _Transposed._convolve
            mark = self._transposed if isinstance(block, _Transposed) else self._convolution
        else:
            name, whole, mark = "hybrid_forward", _Pooling.hybrid_forward, self._pooling
        original = getattr(block, name)
        if original.__func__ is not whole:  # a subclass does something else: leave it to that
            yield
            return

        def instead(F, *inputs, **kwargs):
            return original(F, *inputs, **kwargs) if F is mx.nd else mark(block, *inputs)

        with _replaced(block, **{name: instead}):
            yield

    def _convolution(self, block, x, weight, bias):
        known = block._kwargs
        spans = map(geometry.effective_kernel, known["kernel"], known["dilate"])
        return self._window(block, mx.sym.Convolution, (x, weight, bias), tuple(spans))

    def _pooling(self, block, x):
        return self._window(block, mx.sym.Pooling, (x,), block._kwargs["kernel"])

    def _window(self, block, kind, inputs, spans):
        strides = block._kwargs["stride"]
        padding = normalize_padding("padding", block._padding, spans, causal=True)
        pairs = (padding,) * len(spans) if isinstance(padding, str) else padding
        windows = tuple(map(Window, spans, strides, pairs))

        def place(sizes):
            here = [w.at(n) for w, n in zip(windows, sizes)]
            out = tuple(map(Window.outputs, windows, sizes, here))
            if min(out) < 1:
                raise ValueError(f"data of spatial size {sizes} is smaller than a window of {spans}")
            wanted = [w.at(None) for w in windows] if self.dynamic else here
            if None in wanted:
                self._check_free(block, spans, strides)
                return out, {"auto_pad": _AUTO_PAD[padding]}
            return out, {"pads": _pads(wanted)}

        own = tuple(max(w.at(None) or (w.span - 1,)) for w in windows)
        return self._mark(block, kind, inputs, place, pad=own)

    def _transposed(self, block, x, weight, bias):
        known = block._kwargs
        spans = list(map(geometry.effective_kernel, known["kernel"], known["dilate"]))
        strides, extra = known["stride"], known["adj"]
        pairs = normalize_padding("padding", block._padding, spans)
        if isinstance(pairs, str):
            same = [geometry.transposed_padding(k, s, mode=pairs) for k, s in zip(spans, strides)]
            pairs, extra = zip(*same)

        def place(sizes):
            parts = zip(sizes, strides, spans, pairs, extra)
            out = tuple((n - 1) * s + k - sum(pair) + more for n, s, k, pair, more in parts)
            return out, {"pads": _pads(pairs), "output_padding": list(extra)}

        own = tuple(map(min, pairs))
        return self._mark(block, mx.sym.Deconvolution, (x, weight, bias), place, pad=own, adj=extra)

    def _mark(self, block, kind, inputs, place, **changed):
        """One operator for a block, and a slice that gives its size."""
        *inputs, restore = classic(*(x for x in inputs if x is not None))
        kwargs = {**block._kwargs, **changed}
        layout = kwargs.pop("layout")
        ndim = len(layout)
        last = layout.endswith("C")
        if last:  # the exporter has channels first alone; weights are laid out as data are
            first = (0, ndim - 1, *range(1, ndim - 1))
            inputs = [mx.sym.transpose(x, axes=first) for x in inputs[:2]] + inputs[2:]
        out, attributes = place(self._shapes_of(inputs[0])[0][2:])
        count = sum(mark.operator.startswith(block.prefix + "window") for mark in self.marks.values())
        again = count or ""
        y = kind(*inputs, name=f"window{again}", **kwargs)
        name = y.name
        y = mx.sym.slice(y, begin=(None,) * ndim, end=(None, None, *out), name=f"fwd{again}")
        self.marks[y.name] = Mark(name, attributes)
        if last:
            y = mx.sym.transpose(y, axes=(0, *range(2, ndim), 1))
        return restore(y)

    def _shapes_of(self, symbol):
        _, found, _ = symbol.infer_shape_partial(
            **{name: shape for name, shape in self.shapes.items() if name in symbol.list_inputs()}
        )
        if any(not shape or min(shape) < 1 for shape in found):
            raise ValueError("Some shapes do not follow from those of the inputs.")
        return found

    def _check_free(self, block, spans, strides):
        if any(n > 1 for n in block._kwargs.get("dilate", ())):
            why = "onnxruntime has no auto_pad for dilated windows"
        elif any(map(operator.lt, spans, strides)):
            why = "onnxruntime's auto_pad misplaces windows with gaps between them"
        else:
            return
        raise ValueError(
            f"The padding of {_title(block)} depends on the size, and {why}: use dynamic=False"
        )


@contextmanager
def _replaced(block, **methods):
    vars(block).update(methods)  # not by Gluon's __setattr__, which drops cached graphs
    try:
        yield
    finally:
        for name in methods:
            del vars(block)[name]


def _pads(pairs):
    return [before for before, _ in pairs] + [after for _, after in pairs]


def _title(block):
    return f"{block.name} ({type(block).__name__})"


def _named(outputs, inputs):
    """The outputs, each a node of its own: the exporter loses those that are not."""
    names = [name for x in outputs for name in x.list_outputs()]
    plain = len(names) == len(outputs) == len(set(names))
    if plain and all(name.endswith("_output") and name not in inputs for name in names):
        return outputs
    return [mx.sym.identity(part) for x in outputs for part in x]


def _name_apart(nodes):
    """Give each operator a name of its own, because MXNet's exporter takes those of one name for one."""
    taken = set()
    for node in nodes:
        name, numbers = node["name"], itertools.count(1)
        while node["op"] != "null" and node["name"] in taken:
            node["name"] = f"{name}_call{next(numbers)}"
        taken.add(node["name"])


_TRUE = ("True", "true", "1")


def _why_different(operator, attributes):
    """What MXNet's exporter gets wrong of an operator without saying so, and what to do instead."""

    def given(name, default=""):
        return attributes.get(name, default)

    averages = (
        operator == "Pooling" and given("pool_type") == "avg" and given("global_pool") not in _TRUE
    )
    if (
        averages
        and given("pooling_convention") == "full"
        and given("count_include_pad", "True") in _TRUE
    ):
        return "Average pooling with ceil_mode=True needs count_include_pad=False"
    if operator == "Pooling" and given("pool_type") == "lp" and given("p_value", "2") != "2":
        return "Pooling of type 'lp' needs p_value=2"
    by_class = given("id_index", "-1") != "-1" and given("force_suppress") not in _TRUE
    if operator == "_contrib_box_nms" and by_class:
        return "box_nms needs force_suppress=True: boxes of all classes compete there"
    if operator == "LeakyReLU" and given("act_type") == "prelu":
        return "Its slopes would lie along the last axis: use LeakyReLU with one slope"
    if operator == "LRN" and "knorm" not in attributes:
        return "Give knorm, even where it is the default, 2"
    if given("exclude") in _TRUE:
        return "Give the axes themselves in place of exclude=True"
    if operator == "_contrib_BilinearResize2D" and given("align_corners", "True") not in _TRUE:
        return "BilinearResize2D needs align_corners=True"
    return None
