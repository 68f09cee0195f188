"""Conversion of the nodes of an ONNX graph to a net."""

from collections import Counter
from functools import partial
from itertools import chain
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, get_args

import numpy as np
from mxnet.gluon import HybridBlock

from ..importing.net import FAILURES, cause
from .assembly import Assembly
from .choosing import chosen, note_base
from .evaluation import attributes_of
from .folding import folded
from .pending import Pending
from .registry import check_call, find, kinds_of
from .scopes import Scope, check_types, definition, in_order, initializers_of, inputs_of, names_read
from .values import Data, Input, Known, Missing, Unsupported, stored_dtype
from .weights import Weights

#: Operators that take numbers which depend on open sizes, as others take arrays.
_BY_NUMBERS = {"ConstantOfShape", "Expand", "Pad", "Range", "Reshape", "Slice", "Split"}


class _Rejected(Exception):
    """Result of a node that is not supported, which is reported; raised by what depends on it."""


class Builder(Assembly):
    """Builder of a net from the nodes of a graph.

    Parameters
    ----------
    model : onnx.ModelProto
    custom : dict of str to callable
        Builders of blocks, by operator.
    weights : Weights
        As for :class:`Assembly`.

    Attributes
    ----------
    problems : dict of str to type
        What is not supported, and the kind of error. Unless it is Unsupported, the sizes that are tried
        may not fit.
    unrolled : int
        Number of steps of loops that are unrolled.
    values : dict
        What each name of the graph stands for.
    """

    def __init__(self, model: Any, custom: Dict[str, Callable[..., HybridBlock]], weights: Weights):
        super().__init__(weights)
        self.custom, self._model = custom, model
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.producer = model.producer_name
        self.opsets = {each.domain or "": each.version for each in model.opset_import}
        self.problems: Dict[str, type] = {}
        self.unrolled = 0
        self._inside: Dict[int, Tuple[Any, Dict[str, Known]]] = {}  # subgraphs and their initializers

    def build(
        self, graph: Any, inputs: Sequence[Input], weights: Dict[str, np.ndarray],
        constants: Optional[Dict[str, np.ndarray]] = None,
    ) -> Tuple:  # fmt: skip
        """Convert a graph.

        Parameters
        ----------
        graph : onnx.GraphProto
        inputs : sequence of Input
            Inputs that are arrays at run time.
        weights : dict of str to numpy.ndarray
            Initializers.
        constants : dict of str to numpy.ndarray, optional
            Inputs whose values are given.

        Returns
        -------
        list of Data, list of Data or Known
            The inputs and the outputs.
        """
        read = chain.from_iterable(map(inputs_of, graph.node))
        self._uses = Counter([*read, *(output.name for output in graph.output)])
        values: Dict[str, Any] = {name: Known([x], name) for name, x in (constants or {}).items()}
        values.update({name: Known([x], name, x.dtype.kind == "f") for name, x in weights.items()})
        starts = self.start(inputs)
        for each, data in zip(inputs, starts):
            values.setdefault(each.name, data)  # unless its value is given
        self.values = values
        self._scope = scope = Scope(values, self.opsets, "", {})
        self._convert_nodes(graph.node, scope)
        names = [output.name for output in graph.output]
        lost = [
            f"the output {name!r} is not computed by any node" for name in names if name not in values
        ]
        self.problems.update(dict.fromkeys(lost, Unsupported))
        outputs = [self._as_output(name, values.get(name)) for name in names]
        if any(x is _Rejected for x in outputs) and not self.problems:
            self.problems["an output depends on nodes that are nested too deep"] = Unsupported
        return starts, outputs

    def _as_output(self, name: str, x: Any) -> Any:
        """Return an output of the graph, of which no other node makes an array."""
        if not isinstance(x, Pending):
            return x
        try:
            return self.array(x)
        except FAILURES as error:
            self.problems[f"the output {name!r}: {cause(error)}"] = type(error)
            return _Rejected

    def subgraph(self, graph: Any, inputs: Sequence[Any]) -> List[Any]:
        """Convert a subgraph of the current node in place, and return its outputs."""
        scope = self._scope
        values = {each.name: value for each, value in zip(graph.input, inputs)}
        if id(graph) not in self._inside:  # all steps of a loop share the weights in its body
            self._inside[id(graph)] = graph, initializers_of(graph)
        values.update(self._inside[id(graph)][1])
        inner = Scope(values, scope.opsets, f"{self.name()}/", scope.attributes, scope)
        self._convert_inside(graph.node, inner)
        return [inner.find(output.name) for output in graph.output]

    def nested(
        self, graph: Any, inputs: Sequence[Input], values: Optional[Dict[str, np.ndarray]] = None,
        first: int = 0,
    ) -> Tuple[HybridBlock, List[Data], List[Any]]:  # fmt: skip
        """Convert a subgraph of the current node to a net.

        Parameters
        ----------
        graph : onnx.GraphProto
        inputs : sequence of Input
            Inputs of the subgraph that are inputs of the net.
        values : dict of str to numpy.ndarray, optional
            Other inputs, whose values are known.
        first : int
            The first output of the subgraph that is an output of the net.

        Returns
        -------
        HybridBlock, list of Data, list of Data or Known
            The net; its further inputs, which are arrays around the subgraph; and the outputs.
        """
        found = {name: self._scope.find(name) for name in names_read(graph)}
        around: Dict[str, Any] = {
            name: self.array(x) if isinstance(x, Pending) else x for name, x in found.items()
        }
        if any(x is _Rejected for x in around.values()):
            raise _Rejected
        outer = {name: x for name, x in around.items() if isinstance(x, Data)}
        known = {**around, **initializers_of(graph)}
        given = {name: x.array for name, x in known.items() if name not in outer}
        given.update(values or {})
        more = [Input(name, x.dtype, tuple(x.trials), None, x.doubts) for name, x in outer.items()]
        inner = Builder(self._model, self.custom, self.weights)
        inner.opsets, inner.again, inner.strict = self._scope.opsets, self.again, self.strict
        starts, outputs = inner.build(graph, [*inputs, *more], given)
        self.reads_doubts |= inner.reads_doubts
        if inner.problems:
            self.problems.update(inner.problems)
            raise _Rejected
        dtypes = [stored_dtype(x.dtype) for x in outputs[first:]]
        net = inner.net(starts, outputs[first:], dtypes, self.name())
        return net, list(outer.values()), outputs

    def _convert_inside(self, nodes: Sequence[Any], scope: Scope) -> None:
        """Convert the nodes within the current one; raise _Rejected if any is not supported."""
        current = self._node, self._scope
        self._convert_nodes(nodes, scope)
        self._node, self._scope = current
        if any(x is _Rejected for x in scope.values.values()):  # also by what they read
            raise _Rejected

    def _convert_nodes(self, nodes: Sequence[Any], scope: Scope) -> None:
        for node in in_order(nodes):
            try:
                results = self._convert(node, scope)
            except (_Rejected, RecursionError):
                results = [_Rejected] * len(node.output)
            except FAILURES as error:
                self._node, self._scope = node, scope
                self.problems.setdefault(f"{self.title()}: {cause(error)}", type(error))
                results = [_Rejected] * len(node.output)
            for name, value in zip(node.output, results):
                if name:
                    scope.values[name] = value

    def _convert(self, node: Any, scope: Scope) -> List[Any]:
        inputs: List[Any] = [scope.find(name) if name else None for name in node.input]
        while inputs and inputs[-1] is None:
            inputs.pop()
        if any(x is _Rejected for x in inputs):
            raise _Rejected
        self._node, self._scope = node, scope
        attributes = attributes_of(node, scope.attributes)
        domain = "" if node.domain == "ai.onnx" else node.domain
        operator = f"{domain}::{node.op_type}" if domain else node.op_type
        if operator in self.custom or node.op_type in self.custom:
            results = self._custom(operator, attributes, inputs)
        elif (node.domain, node.op_type) in self.functions:
            results = self._inlined(self.functions[node.domain, node.op_type], attributes, inputs)
        else:
            check_types(node, domain, scope.opsets, inputs)
            results = self._folded(node, scope, attributes, inputs)
        if results is None:
            results = self._at_run_time(operator, domain, attributes, inputs)
        results = list(results) if type(results) in (list, tuple) else [results]
        for place, name in enumerate(node.output):
            if name and (place >= len(results) or results[place] is None):
                raise Unsupported(f"its output number {place}, {name!r}, is not supported")
        return results

    def _called(self, function, inputs, attributes) -> Any:
        """Return the results of a converter."""
        check_call(function, inputs, attributes)
        inputs = [self._as(kind, x) for kind, x in zip(kinds_of(function, len(inputs)), inputs)]
        return function(self, *inputs, **attributes)

    def _as(self, kind: Any, x: Any) -> Any:
        """Return an input of a converter as it takes it."""
        kinds = get_args(kind) or (kind,)
        pending = isinstance(x, Pending) and type(x) not in kinds
        return self.array(x) if pending or (Data in kinds and isinstance(x, Known)) else x

    def _at_run_time(self, operator, domain, attributes, inputs) -> Any:
        """Return the results of the current node by its converter, or by ONNX's definition of it."""
        opsets = self._scope.opsets
        if domain not in opsets:
            raise Unsupported(f"the file does not state a version of the operator set {domain!r}")
        function = find(operator, opsets[domain])
        if function is not None:
            call = partial(self._called, function, attributes=attributes)
            result = chosen(self, operator, function, inputs, attributes, call)
            result = call(inputs) if result is None else result
            note_base(operator, inputs[0] if inputs else None, result)
            return result
        inputs = [self.array(x) if isinstance(x, Pending) else x for x in inputs]
        body = definition(self._node, domain, opsets, attributes, inputs)
        if body is None:
            raise Missing(f"the operator has no converter: give custom={{{operator!r}: builder}}")
        return self._inlined(body, attributes, inputs)

    def _made(self, node, scope, attributes, inputs, place) -> Optional[Data]:
        """Return a known result of a node, computed at run time; None if that is not supported."""
        current = self._node, self._scope
        self._node, self._scope = node, scope
        try:
            if node.op_type not in _BY_NUMBERS:
                inputs = [self.array(x) if isinstance(x, Known) and x.open else x for x in inputs]
            results = self._at_run_time(node.op_type, "", attributes, inputs)
            # The shape of an array is known in turn.
            return self.array(results[place] if type(results) in (list, tuple) else results)
        except (Unsupported, _Rejected):
            return None
        finally:
            self._node, self._scope = current

    def _folded(self, node, scope, attributes, inputs) -> Optional[List[Known]]:
        """Return the results of a node whose inputs are known, at each trial of the open sizes."""
        results = folded(node, scope.opsets, attributes, inputs, self.refuse)
        if results and node.op_type == "Shape" and not attributes and inputs[0].sizes is not None:
            return [inputs[0].sizes]
        for place, result in enumerate(results or ()):
            self.note_line(result)
            result.make = partial(self._made, node, scope, attributes, inputs, place)
        return results

    def _inlined(self, function: Any, attributes: Dict[str, Any], inputs: Sequence[Any]) -> List[Any]:
        """Convert the nodes of a function of the model, or of ONNX's definition of an operator."""
        scope = self._scope
        if scope.path.count("/") > 30:
            raise Unsupported("functions of the model call each other more than 30 levels deep")
        values = dict(zip(function.input, [*inputs, *[None] * (len(function.input) - len(inputs))]))
        opsets = {each.domain or "": each.version for each in function.opset_import} or scope.opsets
        defaults = attributes_of(function, {}, "attribute_proto")
        inner = Scope(values, opsets, f"{self.name()}/", {**defaults, **attributes})
        self._convert_inside(function.node, inner)
        return [inner.values.get(name) for name in function.output]

    def _custom(self, operator: str, attributes: Dict[str, Any], inputs: Sequence[Any]) -> Any:
        """Return the result of a block that the user's builder makes."""
        build = self.custom.get(operator) or self.custom[self._node.op_type]
        constants = {i: x.array for i, x in enumerate(inputs) if isinstance(x, Known)}
        data = [self.array(x) for x in inputs if isinstance(x, (Data, Pending))]
        block = build(attributes, constants, [x.shape for x in data])
        if not isinstance(block, HybridBlock):
            raise TypeError(f"the builder in custom= returned {block!r}, which is not a HybridBlock")
        return self.block(block, *data, outputs=len(self._node.output))
