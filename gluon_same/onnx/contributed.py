"""Operators that onnx does not define, or not in all of its releases.

Most are of onnxruntime's own domain: models contain them that its tools quantized or optimized. Each is
defined by operators of ONNX, as Python calls: the inputs are ``i0``, ``i1`` and so on, the
results ``o0`` and so on, and names that are not assigned are attributes, which have a default behind
``or``. A sum with an input that a node lacks is its other operand.
"""

import ast
from typing import Any, Callable, Dict, List, Sequence, Set, Union

import numpy as np

from . import attending
from .attending import LAST_AXIS, has
from .values import Unsupported

DOMAIN = "com.microsoft"

#: Activations behind other operators, and the names of their numbers.
_ACTIVATIONS: Dict[str, Sequence[str]] = dict.fromkeys(("Identity", "Relu", "Sigmoid", "Tanh"), ())
_ACTIVATIONS.update(HardSigmoid=("alpha", "beta"), LeakyRelu=("alpha",))

_WINDOW = "auto_pad=auto_pad, dilations=dilations, kernel_shape=kernel_shape, pads=pads, strides=strides"
_GEMM = "alpha=alpha, transA=transA, transB=transB"

#: The first array of an operator of quantized ones.
_FIRST = "DequantizeLinear(i0, i1, i2)"


def definition(domain: str, operator: str, attributes: Dict[str, Any], inputs: Sequence[Any]) -> Any:
    """Return the definition of an operator for a node as a function of a model; None if it has none.

    Raise Unsupported for inputs that the definition does not contain, and attributes unless they are 0.
    """
    from onnx import helper

    body = _BODIES.get(domain, {}).get(operator)
    if body is None:
        return None
    given = dict(attributes)
    made = _Nodes(given, {f"i{i}" for i, x in enumerate(inputs) if x is not None})
    made.add(body if isinstance(body, str) else body(given, inputs))
    unread = {name for name, value in given.items() if value} - made.read
    if unread:
        raise Unsupported(f"its attributes {', '.join(sorted(unread))} are not supported")
    if made.inputs - made.read:
        raise Unsupported(f"its input number {min(made.inputs - made.read)[1:]} is not supported")
    given_names, names = ([f"{kind}{i}" for i in range(max(len(inputs), 9))] for kind in "io")
    opsets = [helper.make_opsetid("", 23)]
    return helper.make_function(DOMAIN, operator, given_names, names, made.nodes, opsets)


class _Nodes:
    """Nodes of a definition, and the names that it reads.

    Parameters
    ----------
    given : dict
        Attributes of the operator.
    inputs : set of str
        Names of the inputs that the node has.
    """

    def __init__(self, given: Dict[str, Any], inputs: Set[str]):
        self._given, self.inputs = given, inputs
        self.nodes: List[Any] = []
        self.read: Set[str] = set()

    def add(self, body: str) -> None:
        """Add the nodes of assignments."""
        for statement in ast.parse(body).body:
            assert isinstance(statement, ast.Assign)
            (target,) = statement.targets
            self._result(statement.value, [each.id for each in getattr(target, "elts", [target])])

    def _result(self, x: Any, names: Sequence[str] = ()) -> str:
        """Return the name of a result: the first one of ``names`` if there are any."""
        from onnx import helper, numpy_helper

        if isinstance(x, ast.Name) and x.id not in self._given:
            self.read.add(x.id)
            return x.id
        how: Dict[str, Any] = {}
        if isinstance(x, ast.Call):
            operator: Any = getattr(x.func, "id", None)
            last = x.args[-1]
            lacks = isinstance(last, ast.Name) and last.id[0] == "i" and last.id not in self.inputs
            if operator == "Add" and lacks:
                return self._result(x.args[0], names)
            inputs = [*map(self._result, x.args)]
            how.update((str(each.arg), self._value(each.value)) for each in x.keywords)
        else:
            array = np.array(self._value(x))
            array = array.astype(np.float32 if array.dtype.kind == "f" else np.int64)
            operator, inputs, how = "Constant", [], {"value": numpy_helper.from_array(array)}
        names = names or [f"t{len(self.nodes)}"]
        how = {name: value for name, value in how.items() if value is not None}
        self.nodes.append(helper.make_node(operator, inputs, names, **how))
        return names[0]

    def _value(self, x: Any) -> Any:
        """Return a literal, or an attribute of the operator; its default if the node lacks it."""
        if isinstance(x, ast.BoolOp):
            value = self._value(x.values[0])
            return self._value(x.values[1]) if value is None else value
        if not isinstance(x, ast.Name):
            return ast.literal_eval(x)
        self.read.add(x.id)
        return self._given.get(x.id)


def _quantized(call: str) -> str:
    return f"o0 = QuantizeLinear({call}, i3, i4)"


def _quantized_pair(operator: str) -> str:
    return f"o0 = QuantizeLinear({operator}({_FIRST}, DequantizeLinear(i3, i4, i5)), i6, i7)"


def _in_any_layout(body: str, last: bool = False) -> Callable[[Dict[str, Any], Sequence[Any]], str]:
    """Return a definition for channels that may come last, or do."""

    def definition_for(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
        if not given.pop("channels_last", last):
            return body
        count = inputs[0].ndim
        first = f"Transpose(i0, perm={[0, count - 1, *range(1, count - 1)]})"
        again = f"Transpose(y, perm={[0, *range(2, count), 1]})"
        return f"{body.replace('i0', first).replace('o0 =', 'y =')}; o0 = {again}"

    return definition_for


def _concat(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    floats = [f"DequantizeLinear(i{i}, i{i + 1}, i{i + 2})" for i in range(2, len(inputs), 3)]
    return f"o0 = QuantizeLinear(Concat({', '.join(floats)}, axis=axis), i0, i1)"


def _softmax(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    axis = given.pop("axis", -1)
    if given.pop("opset", 13) < 13 and axis not in (-1, inputs[0].ndim - 1):
        raise Unsupported(f"axis={axis} by the rules of operator sets before 13")
    return _quantized(f"Softmax({_FIRST}, axis={axis})")


def _gemm(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    axis = 0 if given.get("transB") else 1  # of scales for each column
    y = f"Gemm({_FIRST}, DequantizeLinear(i3, i4, i5, axis={axis}), {_GEMM})"
    if has(inputs, 6):  # in units of the product
        y = f"Add({y}, Mul(Cast(i6, to=1), Mul(Mul(i1, i4), alpha or 1.0)))"
    return f"o0 = QuantizeLinear({y}, i7, i8)" if has(inputs, 7) else f"o0 = {y}"


def _matmul(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    operands = []
    for place, operand in enumerate("AB"):
        *outer, row, column = range(inputs[place].ndim)
        if given.pop(f"transBatch{operand}", 0):
            row, *outer = *outer, row
        order = [*outer, column, row] if given.pop(f"trans{operand}", 0) else [*outer, row, column]
        operands.append(f"Transpose(i{place}, perm={order})")
    return f"o0 = Mul(MatMul({', '.join(operands)}), alpha or 1.0)"


def _conv(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    y = f"Conv(i0, i1, i2, group=group, {_WINDOW})"
    return f"o0 = {_activated(f'Add({y}, i3)', given)}"


def _activated(x: str, given: Dict[str, Any]) -> str:
    """Return the activation of a result."""
    kind, numbers = given.pop("activation", "Identity"), given.pop("activation_params", [])
    if kind == "Clip" and len(numbers) == 2:
        return f"Clip({x}, {numbers[0]!r}, {numbers[1]!r})"
    if kind not in _ACTIVATIONS:
        raise Unsupported(f"its activation {kind!r} is not supported")
    words = [f", {name}={n!r}" for name, n in zip(_ACTIVATIONS[kind], numbers)]
    return f"{kind}({x}{''.join(words)})"


def _fused_gemm(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    numbers = (given.pop(f"activation_{name}", None) for name in ("alpha", "beta", "gamma"))
    given["activation_params"] = [n for n in numbers if n is not None]
    return f"o0 = {_activated(f'Gemm(i0, i1, i2, beta=beta, {_GEMM})', given)}"


def _distances(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    """Return the distances between all rows of two matrices."""
    metric = given.pop("metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        raise Unsupported(f"its metric {metric!r} is not supported")
    y = "ReduceSum(Mul(d, d), [2], keepdims=0)"
    y = f"Sqrt({y})" if metric == "euclidean" else y
    return f"d = Sub(Unsqueeze(i0, [1]), Unsqueeze(i1, [0])); o0 = {y}"


def _root_mean_square(x: str) -> str:
    """Return an array divided by the root of the mean square along its last axis."""
    return f"Div({x}, Sqrt(Add(ReduceMean(Mul({x}, {x}), [-1]), epsilon or 1e-5)))"


def _simple_normalization(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    given.pop("stash_type", None)
    if given.pop("axis", -1) != -1:
        raise Unsupported("its axis is not the last one")
    return f"o0 = Mul({_root_mean_square('i0')}, i1)"


#: Statements, or a function that returns them for attributes and inputs; by domain.
_Bodies = Dict[str, Union[str, Callable[[Dict[str, Any], Sequence[Any]], str]]]

#: Those in ONNX's domain are of an operator that its releases define differently, of one that
#: onnxruntime's tools write, and of some of the first files.
_OF_ONNX: _Bodies = {
    "Affine": "o0 = Add(Mul(i0, alpha), beta)",
    "Attention": attending.standard,
    "ImageScaler": "o0 = Add(Mul(i0, scale), Unsqueeze(bias, [1, 2]))",
    "ParametricSoftplus": "o0 = Mul(Softplus(Mul(i0, beta)), alpha)",
    "ScaledTanh": "o0 = Mul(Tanh(Mul(i0, beta)), alpha)",
    "SimplifiedLayerNormalization": _simple_normalization,
}

_OF_ONNXRUNTIME: _Bodies = {
    "Attention": attending.attention,
    "BiasGelu": "o0 = Gelu(Add(i0, i1))",
    "CDist": _distances,
    "DequantizeLinear": "o0 = DequantizeLinear(i0, i1, i2, axis=axis)",
    "DynamicQuantizeMatMul": (
        "a, s, z = DynamicQuantizeLinear(i0); "
        "o0 = Add(Mul(Cast(MatMulInteger(a, i1, z, i3), to=1), Mul(s, i2)), i4)"
    ),
    "EmbedLayerNormalization": attending.embedding,
    "FastGelu": "o0 = Gelu(Add(i0, i1), approximate='tanh')",
    "FusedConv": _conv,
    "FusedGemm": _fused_gemm,
    "FusedMatMul": _matmul,
    "Gelu": "o0 = Gelu(i0)",
    "GroupQueryAttention": attending.grouped,
    "MatMulIntegerToFloat": (
        "o0 = Add(Mul(Cast(MatMulInteger(i0, i1, i4, i5), to=1), Mul(i2, i3)), i6)"
    ),
    "MultiHeadAttention": attending.multi_head,
    "NhwcMaxPool": _in_any_layout(f"o0 = MaxPool(i0, ceil_mode=ceil_mode, {_WINDOW})", True),
    "Pad": "o0 = Pad(i0, i1, i2, mode=mode)",
    "QAttention": attending.quantized_attention,
    "QEmbedLayerNormalization": attending.quantized_embedding,
    "QGemm": _gemm,
    "QLinearAdd": _quantized_pair("Add"),
    "QLinearAveragePool": _in_any_layout(
        _quantized(
            f"AveragePool({_FIRST}, ceil_mode=ceil_mode, count_include_pad=count_include_pad, {_WINDOW})"
        )
    ),
    "QLinearConcat": _concat,
    "QLinearConv": _in_any_layout(
        f"o0 = QLinearConv(i0, i1, i2, i3, i4, i5, i6, i7, i8, group=group, {_WINDOW})"
    ),
    "QLinearGlobalAveragePool": _in_any_layout(_quantized(f"GlobalAveragePool({_FIRST})")),
    "QLinearLeakyRelu": _quantized(f"LeakyRelu({_FIRST}, alpha=alpha)"),
    "QLinearMul": _quantized_pair("Mul"),
    "QLinearSigmoid": _quantized(f"Sigmoid({_FIRST})"),
    "QLinearSoftmax": _softmax,
    "QLinearWhere": (
        "o0 = QuantizeLinear("
        "Where(i0, DequantizeLinear(i1, i2, i3), DequantizeLinear(i4, i5, i6)), i7, i8)"
    ),
    "QuantizeLinear": "o0 = QuantizeLinear(i0, i1, i2, axis=axis)",
    "QuickGelu": "o0 = Mul(i0, Sigmoid(Mul(i0, alpha or 1.702)))",
    "Range": lambda given, inputs: f"o0 = Range(i0, i1, {'i2' if has(inputs, 2) else 1})",
    "RotaryEmbedding": attending.rotation,
    "SimplifiedLayerNormalization": _simple_normalization,
    "SkipLayerNormalization": (
        f"o3 = Add(Add(i0, i1), i4); o0 = LayerNormalization(o3, i2, i3, {LAST_AXIS})"
    ),
    "SkipSimplifiedLayerNormalization": (
        f"o3 = Add(Add(i0, i1), i3); o0 = Mul({_root_mean_square('o3')}, i2)"
    ),
    "TransposeMatMul": _matmul,
    "Trilu": "o0 = Trilu(i0, i1, upper=upper)",
}

_BODIES = {"": _OF_ONNX, DOMAIN: _OF_ONNXRUNTIME}
