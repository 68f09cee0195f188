"""Operators of onnxruntime's own domain, which models contain that its tools quantized or optimized.

Each is defined by operators of ONNX. The inputs are ``i0``, ``i1`` and so on, the results ``o0`` and so
on, and ``@name`` is an attribute.
"""

import re
from typing import Any, Callable, Dict, List, Sequence, Union

from .values import Unsupported

DOMAIN = "com.microsoft"

#: Operators of onnxruntime that it writes as if they were ONNX's.
IN_DOMAIN_OF_ONNX = {"SimplifiedLayerNormalization"}

#: Activations behind other operators, and the names of their numbers.
_ACTIVATIONS: Dict[str, List[str]] = {
    **{name: [] for name in ("Identity", "Relu", "Sigmoid", "Tanh")},
    "HardSigmoid": ["alpha", "beta"],
    "LeakyRelu": ["alpha"],
}

_TEXT = '<domain: "{}", opset_import: ["": 20]> {} ({}) => ({}) {{ {} }}'

_WINDOW = ", ".join(
    f"{name}: ints = @{name}" for name in ("dilations", "kernel_shape", "pads", "strides")
)
_WINDOW += ", auto_pad: string = @auto_pad"


def definition(operator: str, attributes: Dict[str, Any], inputs: Sequence[Any]) -> Any:
    """Return the definition of an operator for a node as a function of a model; None if it has none.

    Raise Unsupported for attributes that the definition does not contain, unless they are 0.
    """
    from onnx import parser

    body = _BODIES.get(operator)
    if body is None:
        return None
    given = dict(attributes)
    body = body if isinstance(body, str) else body(given, inputs)
    unread = {name for name, value in given.items() if value} - set(re.findall(r"@(\w+)", body))
    if unread:
        raise Unsupported(f"its attributes {', '.join(sorted(unread))} are not supported")
    names = (", ".join(f"{kind}{i}" for i in range(max(len(inputs), 9))) for kind in "io")
    return parser.parse_function(_TEXT.format(DOMAIN, operator, *names, body))


def _quantized(node: str) -> str:
    """Return an operator of one quantized array."""
    return f"a = DequantizeLinear(i0, i1, i2) b = {node} o0 = QuantizeLinear(b, i3, i4)"


def _quantized_pair(operator: str) -> str:
    floats = "a = DequantizeLinear(i0, i1, i2) b = DequantizeLinear(i3, i4, i5)"
    return f"{floats} c = {operator}(a, b) o0 = QuantizeLinear(c, i6, i7)"


def _concat(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    places = range(2, len(inputs), 3)
    floats = [f"a{i} = DequantizeLinear(i{i}, i{i + 1}, i{i + 2})" for i in places]
    joined = f"b = Concat<axis: int = @axis>({', '.join(f'a{i}' for i in places)})"
    return f"{' '.join(floats)} {joined} o0 = QuantizeLinear(b, i0, i1)"


def _gemm(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    axis = 0 if given.get("transB") else 1  # of scales for each column
    words = "alpha: float = @alpha, transA: int = @transA, transB: int = @transB"
    steps = ["a = DequantizeLinear(i0, i1, i2)", f"b = DequantizeLinear<axis: int = {axis}>(i3, i4, i5)"]
    steps.append(f"c = Gemm<{words}>(a, b)")
    if len(inputs) > 6 and inputs[6] is not None:  # in units of the product
        steps += ["d = Mul(i1, i4)", f"k = {_number(given.get('alpha', 1.0))}", "e = Mul(d, k)"]
        steps += ["f = Cast<to: int = 1>(i6)", "g = Mul(f, e)", "h = Add(c, g)"]
    last = steps[-1].split()[0]
    quantized = len(inputs) > 7 and inputs[7] is not None
    steps.append(f"o0 = QuantizeLinear({last}, i7, i8)" if quantized else f"o0 = Identity({last})")
    return " ".join(steps)


def _matmul(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    steps = [f"k = {_number(given.pop('alpha', 1.0))}"]
    for place, name in enumerate(("transA", "transB")):
        *outer, row, column = range(inputs[place].ndim)
        order = [*outer, column, row] if given.pop(name, 0) else [*outer, row, column]
        steps.append(f"a{place} = Transpose<perm: ints = {order}>(i{place})")
    return f"{' '.join(steps)} b = MatMul(a0, a1) o0 = Mul(b, k)"


def _conv(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    words = f"{_WINDOW}, group: int = @group"
    steps, last = [f"a = Conv<{words}>(i0, i1, i2)"], "a"
    if len(inputs) > 3:
        steps, last = [*steps, "b = Add(a, i3)"], "b"
    return f"{' '.join(steps)} o0 = {_activated(last, given)}"


def _activated(x: str, given: Dict[str, Any]) -> str:
    """Return a node with the activation of another."""
    kind, numbers = given.pop("activation", "Identity"), given.pop("activation_params", [])
    if kind not in _ACTIVATIONS:
        raise Unsupported(f"its activation {kind!r} is not supported")
    words = ", ".join(f"{name}: float = {n!r}" for name, n in zip(_ACTIVATIONS[kind], numbers))
    return f"{kind}<{words}>({x})" if words else f"{kind}({x})"


def _skip(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    total = "o3 = Add(a, i4)" if len(inputs) > 4 else "o3 = Identity(a)"
    words = f"axis: int = -1, epsilon: float = {given.pop('epsilon', 1e-12)!r}"
    return f"a = Add(i0, i1) {total} o0 = LayerNormalization<{words}>(o3, i2, i3)"


def _skip_simple(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    total = "o3 = Add(a, i3)" if len(inputs) > 3 else "o3 = Identity(a)"
    return f"a = Add(i0, i1) {total} {_root_mean_square(given, 'o3', 'i2')}"


def _root_mean_square(given: Dict[str, Any], x: str, scale: str) -> str:
    """Return nodes that divide the last axis by the root of its mean square."""
    if given.pop("axis", -1) != -1:
        raise Unsupported("its axis is not the last one")
    given.pop("stash_type", None)
    steps = [f"axes = Constant<value_ints: ints = [-1]>() r = Mul({x}, {x}) m = ReduceMean(r, axes)"]
    steps.append(f"e = {_number(given.pop('epsilon', 1e-5))} v = Add(m, e) d = Sqrt(v) n = Div({x}, d)")
    return f"{' '.join(steps)} o0 = Mul(n, {scale})"


def _fused_gemm(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    words = ", ".join(f"{name}: float = @{name}" for name in ("alpha", "beta"))
    words += "".join(f", {name}: int = @{name}" for name in ("transA", "transB"))
    numbers = (given.pop(f"activation_{name}", None) for name in ("alpha", "beta", "gamma"))
    given["activation_params"] = [n for n in numbers if n is not None]
    return f"a = Gemm<{words}>(i0, i1, i2) o0 = {_activated('a', given)}"


def _fast_gelu(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    first = "a = Add(i0, i1)" if len(inputs) > 1 else "a = Identity(i0)"
    return f'{first} o0 = Gelu<approximate: string = "tanh">(a)'


def _quick_gelu(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    return f"k = {_number(given.pop('alpha', 1.702))} a = Mul(i0, k) b = Sigmoid(a) o0 = Mul(i0, b)"


def _number(value: float) -> str:
    return f"Constant<value_float: float = {float(value)!r}>()"


_BODIES: Dict[str, Union[str, Callable[[Dict[str, Any], Sequence[Any]], str]]] = {
    "BiasGelu": "a = Add(i0, i1) o0 = Gelu(a)",
    "FastGelu": _fast_gelu,
    "FusedConv": _conv,
    "FusedGemm": _fused_gemm,
    "FusedMatMul": _matmul,
    "Gelu": "o0 = Gelu(i0)",
    "QGemm": _gemm,
    "QLinearAdd": _quantized_pair("Add"),
    "QLinearAveragePool": _quantized(
        f"AveragePool<{_WINDOW}, ceil_mode: int = @ceil_mode, "
        "count_include_pad: int = @count_include_pad>(a)"
    ),
    "QLinearConcat": _concat,
    "QLinearGlobalAveragePool": _quantized("GlobalAveragePool(a)"),
    "QLinearLeakyRelu": _quantized("LeakyRelu<alpha: float = @alpha>(a)"),
    "QLinearMul": _quantized_pair("Mul"),
    "QLinearSigmoid": _quantized("Sigmoid(a)"),
    "QuickGelu": _quick_gelu,
    "SimplifiedLayerNormalization": lambda given, inputs: _root_mean_square(given, "i0", "i1"),
    "SkipLayerNormalization": _skip,
    "SkipSimplifiedLayerNormalization": _skip_simple,
}
