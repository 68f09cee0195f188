"""Conversions of operators that MXNet's ONNX exporter lacks, or converts for few cases."""

import ast
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List

import numpy as np

#: Conversions by operator of MXNet.
_CONVERSIONS: Dict[str, Callable[..., List[Any]]] = {}

_END = 2**62


@contextmanager
def registered() -> Iterator[None]:
    """Add the conversions to MXNet's exporter while a graph is exported."""
    from mxnet.onnx.mx2onnx import _export_onnx

    known = _export_onnx.MXNetGraph.registry_[13]
    before = dict(known)
    known.update(_CONVERSIONS)
    try:
        yield
    finally:
        known.clear()
        known.update(before)


def _converts(*names: str) -> Callable:
    def register(function):
        for name in names:
            _CONVERSIONS[name] = function
        return function

    return register


class _Nodes(list):
    """The ONNX nodes of one operator of MXNet."""

    def __init__(self, node: Dict[str, Any], known: Dict[str, Any]):
        super().__init__()
        self.name, self.op = node["name"], node["op"]
        self.attributes = node.get("attrs", {})
        found = [known["outputs_lookup"][entry[0]][entry[1]] for entry in node["inputs"]]
        self.inputs = [each.name for each in found]
        self.dtype = found[0].dtype
        self._initializer = known["initializer"]

    def add(self, operator: str, *inputs: str, last: bool = False, **attributes: Any) -> str:
        """Add a node and return the name of its output, which for the last one is the operator's."""
        from onnx import helper

        output = self.name if last else f"{self.name}_part{len(self)}"
        self.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def constant(self, values: Any, dtype: Any = np.int64) -> str:
        """Add a constant array and return its name."""
        from onnx import numpy_helper

        name = f"{self.name}_constant{len(self._initializer)}"
        self._initializer.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def axes(self, name: str) -> List[int]:
        """Return an attribute that is an int or a tuple of ints as a list."""
        value = ast.literal_eval(self.attributes[name])
        return list(value) if isinstance(value, (tuple, list)) else [value]


@_converts("Reshape")
def _reshape(node: Dict[str, Any], **known: Any) -> List[Any]:
    """Convert a reshape with the codes -2 (all other axes), -3 (join two) and -4 (split one)."""
    nodes = _Nodes(node, known)
    codes = nodes.axes("shape")
    if not {-2, -3, -4} & set(codes) or nodes.attributes.get("reverse") == "True":
        from mxnet.onnx.mx2onnx._op_translations import _op_translations_opset12

        return _op_translations_opset12.convert_reshape(node, **known)
    sizes = nodes.add("Shape", nodes.inputs[0])

    def taken(first, end):
        return nodes.add("Slice", sizes, nodes.constant([first]), nodes.constant([end]))

    parts, axis, rest = [], 0, iter(codes)
    for code in rest:
        if code == -2:
            parts.append(taken(axis, _END))
        elif code == -3:
            parts.append(nodes.add("ReduceProd", taken(axis, axis + 2), axes=[0], keepdims=1))
            axis += 2
        elif code == -4:
            pair = next(rest), next(rest)
            factor = nodes.constant([max(pair)])
            other = nodes.add("Div", taken(axis, axis + 1), factor) if -1 in pair else None
            parts += [other if n == -1 else nodes.constant([n]) for n in pair]
            axis += 1
        else:
            parts.append(taken(axis, axis + 1) if code == 0 else nodes.constant([code]))
            axis += 1
    nodes.add("Reshape", nodes.inputs[0], nodes.add("Concat", *parts, axis=0), last=True)
    return nodes


@_converts("reverse")
def _reverse(node: Dict[str, Any], **known: Any) -> List[Any]:
    nodes = _Nodes(node, known)
    axes = nodes.axes("axis")
    each = [nodes.constant([value] * len(axes)) for value in (-1, -_END, -1)]
    nodes.add("Slice", nodes.inputs[0], *each[:2], nodes.constant(axes), each[2], last=True)
    return nodes


@_converts("broadcast_maximum", "broadcast_minimum")
def _extremum(node: Dict[str, Any], **known: Any) -> List[Any]:
    nodes = _Nodes(node, known)
    nodes.add("Max" if nodes.op == "broadcast_maximum" else "Min", *nodes.inputs, last=True)
    return nodes


@_converts("rsqrt")
def _rsqrt(node: Dict[str, Any], **known: Any) -> List[Any]:
    nodes = _Nodes(node, known)
    nodes.add("Reciprocal", nodes.add("Sqrt", *nodes.inputs), last=True)
    return nodes


@_converts("expm1")
def _expm1(node: Dict[str, Any], **known: Any) -> List[Any]:
    nodes = _Nodes(node, known)
    nodes.add("Sub", nodes.add("Exp", *nodes.inputs), nodes.constant(1, nodes.dtype), last=True)
    return nodes


@_converts("_rpower_scalar", "_RPowerScalar")
def _rpower(node: Dict[str, Any], **known: Any) -> List[Any]:
    nodes = _Nodes(node, known)
    base = nodes.constant(float(nodes.attributes["scalar"]), nodes.dtype)
    nodes.add("Pow", base, *nodes.inputs, last=True)
    return nodes


@_converts("_greater_equal_scalar", "_GreaterEqualScalar")
def _greater_equal(node: Dict[str, Any], **known: Any) -> List[Any]:
    from onnx import helper

    nodes = _Nodes(node, known)
    other = nodes.constant(float(nodes.attributes["scalar"]), nodes.dtype)
    compared = nodes.add("GreaterOrEqual", *nodes.inputs, other)
    nodes.add("Cast", compared, last=True, to=helper.np_dtype_to_tensor_dtype(np.dtype(nodes.dtype)))
    return nodes
