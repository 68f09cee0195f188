"""Operators of onnxruntime's own domain, which models contain that its tools quantized or optimized.

Each is defined by operators of ONNX. The inputs are ``i0``, ``i1`` and so on, the results ``o0`` and so
on, and ``@name`` is an attribute.
"""

import re
from typing import Any, Callable, Dict, List, Sequence, Union

from .values import Unsupported

DOMAIN = "com.microsoft"

#: Operators in ONNX's domain that ONNX does not define: one that onnxruntime's tools write, and some of
#: the first files.
IN_DOMAIN_OF_ONNX = {"SimplifiedLayerNormalization", "Affine", "ImageScaler", "ScaledTanh"}
IN_DOMAIN_OF_ONNX |= {"ParametricSoftplus"}

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

    Raise Unsupported for inputs that the definition does not contain, and attributes unless they are 0.
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
    for i, x in enumerate(inputs):
        if x is not None and not re.search(rf"\bi{i}\b", body):
            raise Unsupported(f"its input number {i} is not supported")
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


def _softmax(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    axis = given.pop("axis", -1)
    if given.pop("opset", 13) < 13 and axis not in (-1, inputs[0].ndim - 1):
        raise Unsupported(f"axis={axis} by the rules of operator sets before 13")
    return _quantized(f"Softmax<axis: int = {axis}>(a)")


def _scaled(product: str, scales: str, bias: str, inputs: Sequence[Any]) -> str:
    """Return a product of integers in floats, and the bias if the node has that input."""
    steps = f"m = {product} f = Cast<to: int = 1>(m) s = Mul({scales}) g = Mul(f, s)"
    return f"{steps} o0 = Add(g, {bias})" if int(bias[1:]) < len(inputs) else f"{steps} o0 = Identity(g)"


def _dynamic_matmul(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    quantized = "a, r, z = DynamicQuantizeLinear(i0)"
    return f"{quantized} {_scaled('MatMulInteger(a, i1, z, i3)', 'r, i2', 'i4', inputs)}"


def _matmul_to_float(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    return _scaled("MatMulInteger(i0, i1, i4, i5)", "i2, i3", "i6", inputs)


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


def _embedding(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    has = [i < len(inputs) and inputs[i] is not None for i in range(9)]
    steps = ["first = Constant<value_ints: ints = [0]>() size = Shape<start: int = 1, end: int = 2>(i0)"]
    steps.append("b = Gather(i3, i8)" if has[8] else "b = Slice(i3, first, size)")
    steps.append("a = Gather(i2, i0) c = Add(a, b)")
    steps.append("d = Gather(i4, i1) o2 = Add(c, d)" if has[1] else "o2 = Identity(c)")
    steps.append("kept = Identity(i7)" if has[7] else "kept = Sub(i0, i0)")  # by the mask
    steps.append(
        "axes = Constant<value_ints: ints = [1]>() o1 = ReduceSum<keepdims: int = 0>(kept, axes)"
    )
    given.pop("mask_index_type", None)
    words = f"axis: int = -1, epsilon: float = {given.pop('epsilon', 1e-12)!r}"
    return f"{' '.join(steps)} o0 = LayerNormalization<{words}>(o2, i5, i6)"


def _attention(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    sizes = given.pop("qkv_hidden_sizes", None) or [inputs[1].shape[1] // 3] * 3
    steps = f"sizes = Constant<value_ints: ints = {list(sizes)}>() p = MatMul(i0, i1) b = Add(p, i2)"
    split = "q, k, v = Split<axis: int = -1>(b, sizes)"
    return f"{steps} {split} {_attended(given, inputs, sizes[0], 3, 5)}"


def _multi_head(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    given_axes = [getattr(x, "ndim", 0) for x in inputs[:3]]
    sizes = [x and x.shape[-1] for x in inputs[:3]]
    if given_axes != [3, 3, 3] or None in sizes:
        raise Unsupported("its queries, keys and values are not three arrays of known width")
    steps = "q = Identity(i0) k = Identity(i1) v = Identity(i2)"
    if len(inputs) > 3 and inputs[3] is not None:
        steps = (
            f"sizes = Constant<value_ints: ints = {sizes}>() a, b, c = Split<axis: int = 0>(i3, sizes)"
        )
        steps += " q = Add(i0, a) k = Add(i1, b) v = Add(i2, c)"
    return f"{steps} {_attended(given, inputs, sizes[0], 4, 5)}"


def _attended(given: Dict[str, Any], inputs: Sequence[Any], width: int, mask: int, bias: int) -> str:
    """Return the nodes behind the projections to queries, keys and values, which are q, k and v.

    ``mask`` and ``bias`` are the numbers of inputs: which keys count, and what is added to the products.
    A mask with one axis has the number of keys.
    """
    heads = given.pop("num_heads")
    apart = f"apart = Constant<value_ints: ints = [0, 0, {heads}, -1]>()"
    steps = [f"{apart} together = Constant<value_ints: ints = [0, 0, -1]>()"]
    for x, order in {"q": [0, 2, 1, 3], "k": [0, 2, 3, 1], "v": [0, 2, 1, 3]}.items():
        steps.append(f"{x}0 = Reshape({x}, apart) {x}1 = Transpose<perm: ints = {order}>({x}0)")
    scale = given.pop("scale", 0.0) or (width // heads) ** -0.5
    steps.append(f"scale = {_number(scale)} w0 = MatMul(q1, k1) w1 = Mul(w0, scale)")
    last, low = "w1", given.pop("mask_filter_value", -10000.0)
    if len(inputs) > mask and inputs[mask] is not None:
        rank = inputs[mask].ndim
        if rank not in (1, 2, 3):
            raise Unsupported(f"its mask with {rank} axes")
        axes = {1: [1, 2, 3], 2: [1, 2], 3: [1]}[rank]
        steps.append(f"axes = Constant<value_ints: ints = {axes}>() m0 = Unsqueeze(i{mask}, axes)")
        if rank == 1:
            steps.append("n0 = Shape<start: int = 1, end: int = 2>(k) n = Squeeze(n0)")
            steps.append("none = Constant<value_int: int = 0>() one = Constant<value_int: int = 1>()")
            steps.append("place = Range(none, n, one) m1 = Cast<to: int = 7>(m0) m2 = Less(place, m1)")
        else:
            steps.append("m2 = Cast<to: int = 9>(m0)")
        steps.append(f"zero = {_number(0)} low = {_number(low)} m3 = Where(m2, zero, low)")
        steps.append(f"w2 = Add({last}, m3)")
        last = "w2"
    if len(inputs) > bias and inputs[bias] is not None:
        steps.append(f"w3 = Add({last}, i{bias})")
        last = "w3"
    if given.pop("unidirectional", 0):
        steps.append(f"sizes4 = Shape({last}) step = Constant<value_int: int = 1>()")
        steps.append("t0 = ConstantOfShape<value: tensor = float[1] {-3e38}>(sizes4)")
        steps.append(f"t1 = Trilu<upper: int = 1>(t0, step) w4 = Add({last}, t1)")
        last = "w4"
    steps.append(f"w = Softmax<axis: int = -1>({last}) y0 = MatMul(w, v1)")
    steps.append("y1 = Transpose<perm: ints = [0, 2, 1, 3]>(y0) o0 = Reshape(y1, together)")
    return " ".join(steps)


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


def _attribute(name: str) -> str:
    return f"Constant<value_float: float = @{name}>()"


def _number(value: float) -> str:
    return f"Constant<value_float: float = {float(value)!r}>()"


_BODIES: Dict[str, Union[str, Callable[[Dict[str, Any], Sequence[Any]], str]]] = {
    "Affine": f"k = {_attribute('alpha')} b = {_attribute('beta')} a = Mul(i0, k) o0 = Add(a, b)",
    "Attention": _attention,
    "BiasGelu": "a = Add(i0, i1) o0 = Gelu(a)",
    "DynamicQuantizeMatMul": _dynamic_matmul,
    "EmbedLayerNormalization": _embedding,
    "FastGelu": _fast_gelu,
    "FusedConv": _conv,
    "FusedGemm": _fused_gemm,
    "FusedMatMul": _matmul,
    "Gelu": "o0 = Gelu(i0)",
    "ImageScaler": (
        "axes = Constant<value_ints: ints = [1, 2]>() b = Constant<value_floats: floats = @bias>() "
        f"c = Unsqueeze(b, axes) k = {_attribute('scale')} a = Mul(i0, k) o0 = Add(a, c)"
    ),
    "MatMulIntegerToFloat": _matmul_to_float,
    "MultiHeadAttention": _multi_head,
    "ParametricSoftplus": (
        f"k = {_attribute('alpha')} b = {_attribute('beta')} "
        "a = Mul(i0, b) c = Softplus(a) o0 = Mul(k, c)"
    ),
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
    "QLinearSoftmax": _softmax,
    "QLinearSigmoid": _quantized("Sigmoid(a)"),
    "QuickGelu": _quick_gelu,
    "ScaledTanh": (
        f"k = {_attribute('alpha')} b = {_attribute('beta')} a = Mul(i0, b) c = Tanh(a) o0 = Mul(k, c)"
    ),
    "SimplifiedLayerNormalization": lambda given, inputs: _root_mean_square(given, "i0", "i1"),
    "SkipLayerNormalization": _skip,
    "SkipSimplifiedLayerNormalization": _skip_simple,
}
