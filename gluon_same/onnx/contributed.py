"""Operators of onnxruntime's own domain, which models contain that its tools quantized or optimized.

Each is defined by operators of ONNX, as Python calls: the inputs are ``i0``, ``i1`` and so on, the
results ``o0`` and so on, and names that are not assigned are attributes, which have a default behind
``or``. A sum with an input that a node lacks is its other operand.
"""

import ast
from typing import Any, Callable, Dict, List, Sequence, Set, Union

import numpy as np

from .values import Unsupported

DOMAIN = "com.microsoft"

#: Operators in ONNX's domain that ONNX does not define: one that onnxruntime's tools write, and some of
#: the first files.
IN_DOMAIN_OF_ONNX = {"SimplifiedLayerNormalization", "Affine", "ImageScaler", "ScaledTanh"}
IN_DOMAIN_OF_ONNX |= {"ParametricSoftplus"}

#: Activations behind other operators, and the names of their numbers.
_ACTIVATIONS: Dict[str, Sequence[str]] = dict.fromkeys(("Identity", "Relu", "Sigmoid", "Tanh"), ())
_ACTIVATIONS.update(HardSigmoid=("alpha", "beta"), LeakyRelu=("alpha",))

_WINDOW = "auto_pad=auto_pad, dilations=dilations, kernel_shape=kernel_shape, pads=pads, strides=strides"
_GEMM = "alpha=alpha, transA=transA, transB=transB"
_LAST_AXIS = "axis=-1, epsilon=epsilon or 1e-12"

#: The first array of an operator of quantized ones.
_FIRST = "DequantizeLinear(i0, i1, i2)"


def definition(operator: str, attributes: Dict[str, Any], inputs: Sequence[Any]) -> Any:
    """Return the definition of an operator for a node as a function of a model; None if it has none.

    Raise Unsupported for inputs that the definition does not contain, and attributes unless they are 0.
    """
    from onnx import helper

    body = _BODIES.get(operator)
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
    opsets = [helper.make_opsetid("", 20)]
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


def _has(inputs: Sequence[Any], place: int) -> bool:
    return len(inputs) > place and inputs[place] is not None


def _quantized(call: str) -> str:
    return f"o0 = QuantizeLinear({call}, i3, i4)"


def _quantized_pair(operator: str) -> str:
    return f"o0 = QuantizeLinear({operator}({_FIRST}, DequantizeLinear(i3, i4, i5)), i6, i7)"


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
    if _has(inputs, 6):  # in units of the product
        y = f"Add({y}, Mul(Cast(i6, to=1), Mul(Mul(i1, i4), alpha or 1.0)))"
    return f"o0 = QuantizeLinear({y}, i7, i8)" if _has(inputs, 7) else f"o0 = {y}"


def _matmul(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    operands = []
    for place, name in enumerate(("transA", "transB")):
        *outer, row, column = range(inputs[place].ndim)
        order = [*outer, column, row] if given.pop(name, 0) else [*outer, row, column]
        operands.append(f"Transpose(i{place}, perm={order})")
    return f"o0 = Mul(MatMul({', '.join(operands)}), alpha or 1.0)"


def _conv(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    y = f"Conv(i0, i1, i2, group=group, {_WINDOW})"
    return f"o0 = {_activated(f'Add({y}, i3)', given)}"


def _activated(x: str, given: Dict[str, Any]) -> str:
    """Return the activation of a result."""
    kind, numbers = given.pop("activation", "Identity"), given.pop("activation_params", [])
    if kind not in _ACTIVATIONS:
        raise Unsupported(f"its activation {kind!r} is not supported")
    words = [f", {name}={n!r}" for name, n in zip(_ACTIVATIONS[kind], numbers)]
    return f"{kind}({x}{''.join(words)})"


def _fused_gemm(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    numbers = (given.pop(f"activation_{name}", None) for name in ("alpha", "beta", "gamma"))
    given["activation_params"] = [n for n in numbers if n is not None]
    return f"o0 = {_activated(f'Gemm(i0, i1, i2, beta=beta, {_GEMM})', given)}"


def _root_mean_square(x: str) -> str:
    """Return an array divided by the root of the mean square along its last axis."""
    return f"Div({x}, Sqrt(Add(ReduceMean(Mul({x}, {x}), [-1]), epsilon or 1e-5)))"


def _simple_normalization(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    given.pop("stash_type", None)
    if given.pop("axis", -1) != -1:
        raise Unsupported("its axis is not the last one")
    return f"o0 = Mul({_root_mean_square('i0')}, i1)"


def _embedding(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    given.pop("mask_index_type", None)
    place = "Gather(i3, i8)" if _has(inputs, 8) else "Slice(i3, [0], Shape(i0, start=1, end=2))"
    total = f"Add(Gather(i2, i0), {place})"
    total = f"Add({total}, Gather(i4, i1))" if _has(inputs, 1) else total
    kept = f"ReduceSum({'i7' if _has(inputs, 7) else 'Sub(i0, i0)'}, [1], keepdims=0)"  # by the mask
    return f"o2 = {total}; o1 = {kept}; o0 = LayerNormalization(o2, i5, i6, {_LAST_AXIS})"


def _attention(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    sizes = list(given.pop("qkv_hidden_sizes", None) or [inputs[1].shape[1] // 3] * 3)
    parts = f"q, k, v = Split(Add(MatMul(i0, i1), i2), {sizes}, axis=-1)"
    return f"{parts}; {_attended(given, inputs, sizes[0], 3, 5)}"


def _multi_head(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    ranks = [getattr(x, "ndim", 0) for x in inputs[:3]]
    sizes = [x and x.shape[-1] for x in inputs[:3]]
    if ranks != [3, 3, 3] or None in sizes:
        raise Unsupported("its queries, keys and values are not three arrays of known width")
    parts = "q = Identity(i0); k = Identity(i1); v = Identity(i2)"
    if _has(inputs, 3):
        parts = f"a, b, c = Split(i3, {sizes}, axis=0); q = Add(i0, a); k = Add(i1, b); v = Add(i2, c)"
    return f"{parts}; {_attended(given, inputs, sizes[0], 4, 5)}"


def _attended(given: Dict[str, Any], inputs: Sequence[Any], width: int, mask: int, bias: int) -> str:
    """Return the statements behind the projections to queries, keys and values, which are q, k and v.

    ``mask`` and ``bias`` are the numbers of inputs: which keys count, and what is added to the products.
    A mask with one axis has the number of keys.
    """
    heads = given.pop("num_heads")
    q, k, v = (
        f"Transpose(Reshape({x}, [0, 0, {heads}, -1]), perm={order})"
        for x, order in zip("qkv", ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    )
    scores = f"Mul(MatMul({q}, {k}), {given.pop('scale', 0.0) or (width // heads) ** -0.5})"
    low = max(given.pop("mask_filter_value", -10000.0), -3e38)
    if _has(inputs, mask):
        rank, kept = inputs[mask].ndim, f"Cast(i{mask}, to=9)"
        if rank not in (1, 2, 3):
            raise Unsupported(f"its mask with {rank} axes")
        if rank == 1:
            places = "Range(0, Squeeze(Shape(k, start=1, end=2)), 1)"
            kept = f"Less({places}, Cast(Unsqueeze(i{mask}, [1]), to=7))"
        axes = [1] if rank == 3 else [1, 2]
        scores = f"Add({scores}, Where(Unsqueeze({kept}, {axes}), 0.0, {low}))"
    causal = (
        "Add(s, Trilu(Expand(-3e38, Shape(s)), 1, upper=1))" if given.pop("unidirectional", 0) else "s"
    )
    y = f"Transpose(MatMul(Softmax({causal}, axis=-1), {v}), perm=[0, 2, 1, 3])"
    return f"s = Add({scores}, i{bias}); o0 = Reshape({y}, [0, 0, -1])"


_BODIES: Dict[str, Union[str, Callable[[Dict[str, Any], Sequence[Any]], str]]] = {
    "Affine": "o0 = Add(Mul(i0, alpha), beta)",
    "Attention": _attention,
    "BiasGelu": "o0 = Gelu(Add(i0, i1))",
    "DynamicQuantizeMatMul": (
        "a, s, z = DynamicQuantizeLinear(i0); "
        "o0 = Add(Mul(Cast(MatMulInteger(a, i1, z, i3), to=1), Mul(s, i2)), i4)"
    ),
    "EmbedLayerNormalization": _embedding,
    "FastGelu": "o0 = Gelu(Add(i0, i1), approximate='tanh')",
    "FusedConv": _conv,
    "FusedGemm": _fused_gemm,
    "FusedMatMul": _matmul,
    "Gelu": "o0 = Gelu(i0)",
    "ImageScaler": "o0 = Add(Mul(i0, scale), Unsqueeze(bias, [1, 2]))",
    "MatMulIntegerToFloat": (
        "o0 = Add(Mul(Cast(MatMulInteger(i0, i1, i4, i5), to=1), Mul(i2, i3)), i6)"
    ),
    "MultiHeadAttention": _multi_head,
    "ParametricSoftplus": "o0 = Mul(Softplus(Mul(i0, beta)), alpha)",
    "QGemm": _gemm,
    "QLinearAdd": _quantized_pair("Add"),
    "QLinearAveragePool": _quantized(
        f"AveragePool({_FIRST}, ceil_mode=ceil_mode, count_include_pad=count_include_pad, {_WINDOW})"
    ),
    "QLinearConcat": _concat,
    "QLinearGlobalAveragePool": _quantized(f"GlobalAveragePool({_FIRST})"),
    "QLinearLeakyRelu": _quantized(f"LeakyRelu({_FIRST}, alpha=alpha)"),
    "QLinearMul": _quantized_pair("Mul"),
    "QLinearSigmoid": _quantized(f"Sigmoid({_FIRST})"),
    "QLinearSoftmax": _softmax,
    "QuickGelu": "o0 = Mul(i0, Sigmoid(Mul(i0, alpha or 1.702)))",
    "ScaledTanh": "o0 = Mul(Tanh(Mul(i0, beta)), alpha)",
    "SimplifiedLayerNormalization": _simple_normalization,
    "SkipLayerNormalization": (
        f"o3 = Add(Add(i0, i1), i4); o0 = LayerNormalization(o3, i2, i3, {_LAST_AXIS})"
    ),
    "SkipSimplifiedLayerNormalization": (
        f"o3 = Add(Add(i0, i1), i3); o0 = Mul({_root_mean_square('o3')}, i2)"
    ),
}
