"""Functions of each element of imported files, at open sizes, against onnxruntime."""

from math import erf, tanh

import mxnet as mx
import numpy as np
import pytest
from imported import compared, numbers, recent_runtime, written

from gluon_same import deploy, nn
from gluon_same.onnx import import_model

SIZES = [(2, 3, 5), (1, 3, 8)]


def model(path, text, weights=None, version=17, out="float[a, b, c]", kind="float", second=""):
    graph = f"net ({kind}[N, 3, W] x{second}) => ({out} y) {{ {text} }}"
    return written(path / "net.onnx", graph, weights, version)


def draw(shape, dtype="float32", seed=0):
    """Return numbers that are no multiples of anything, or integers of both signs."""
    state = np.random.RandomState(seed)
    if np.issubdtype(dtype, np.integer):
        return state.randint(-9 if np.issubdtype(dtype, np.signedinteger) else 1, 9, shape).astype(dtype)
    return (3 * state.normal(size=shape)).astype(dtype)


UNARY = {
    **dict.fromkeys(("Abs", "Neg", "Ceil", "Floor", "Round", "Sign", "Sin", "Cos", "Atan")),
    **dict.fromkeys(("Tanh", "Sigmoid", "Relu", "Softplus", "Softsign", "Exp", "Erf", "Sinh")),
    **dict.fromkeys(("Cosh", "Asinh", "Reciprocal", "HardSwish", "Identity", "Mish")),
    "Elu": "alpha: float = 0.7",
    "Celu": "alpha: float = 0.7",
    "Selu": "alpha: float = 1.5, gamma: float = 1.1",
    "LeakyRelu": "alpha: float = 0.3",
    "HardSigmoid": "alpha: float = 0.3, beta: float = 0.4",
    "Shrink": "bias: float = 0.2, lambd: float = 0.7",
    "ThresholdedRelu": "alpha: float = 0.8",
}


@pytest.mark.parametrize("operator", UNARY)
def test_functions_of_one_array(tmp_path, operator):
    attributes = f"<{UNARY[operator]}>" if UNARY[operator] else ""
    version = 18 if operator == "Mish" else 17
    path = model(tmp_path, f"y = {operator}{attributes}(x)", version=version)
    compared(path, *map(draw, SIZES))


def test_hard_sigmoid_of_a_sixth_is_kept_simple(tmp_path):
    path = model(tmp_path, "y = HardSigmoid<alpha: float = 0.16666667, beta: float = 0.5>(x)")
    compared(path, *map(draw, SIZES))


def test_halves_and_infinities(tmp_path):
    x = np.array([[[-2.5, -1.5, -0.5, 0.5, 1.5], [2.5, 1e9, -np.inf, np.inf, 0]] + [[0] * 5]], "f")
    compared(model(tmp_path, "y = Round(x)"), x)
    compared(model(tmp_path, "y = IsInf(x)", out="bool[a, b, c]"), x)
    compared(model(tmp_path, "y = IsInf<detect_negative: int = 0>(x)", out="bool[a, b, c]"), x)
    x[0, 0, 0] = np.nan
    compared(model(tmp_path, "y = IsNaN(x)", out="bool[a, b, c]"), x)


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div", "Pow"])
@pytest.mark.parametrize("constant", [np.float32(1.7), draw((3, 1)), draw((2, 1, 1, 1))])
@pytest.mark.parametrize("first", [True, False])
def test_constants_on_either_side(tmp_path, operator, constant, first):
    if operator == "Pow":
        constant = np.abs(constant)
    out = "float[a, b, c, d]" if constant.ndim > 3 else "float[a, b, c]"
    text = f"y = {operator}({'c, x' if first else 'x, c'})"
    path = model(tmp_path, text, {"c": constant}, out=out)
    calls = [np.abs(draw(shape)) + 0.5 for shape in SIZES]
    compared(path, *calls)


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div", "Max", "Min", "Mod"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers(tmp_path, operator, dtype):
    text = f"y = {operator}(x, z)"
    path = model(tmp_path, text, kind=dtype, out=f"{dtype}[a, b, c]", second=f", {dtype}[W] z")
    calls = [(draw(shape, dtype), draw(shape[-1:], dtype, 1)) for shape in SIZES]
    compared(path, *[(x, np.where(z == 0, 4, z).astype(dtype)) for x, z in calls])


@pytest.mark.parametrize("number", [2, -3])
def test_integers_and_numbers(tmp_path, number):
    for operator in ("Add", "Sub", "Mul", "Div", "Mod"):
        path = model(
            tmp_path,
            f"y = {operator}(x, c)",
            {"c": np.int64(number)},
            kind="int64",
            out="int64[a, b, c]",
        )
        compared(path, *(draw(shape, "int64") for shape in SIZES))


def test_large_integers_are_exact(tmp_path):
    weights = {"c": np.int64(2**60 + 1)}
    path = model(tmp_path, "y = Sub(x, c)", weights, kind="int64", out="int64[a, b, c]")
    compared(path, np.arange(2**60, 2**60 + 6, dtype="int64").reshape(1, 3, 2).astype(np.int64))


LARGE = np.array([2**53 + 1, -(2**53) - 1, 2**24 + 1, 2**31 + 5, -(2**62) - 3, 7, -3, -(2**63)])


@pytest.mark.parametrize(
    "text",
    [
        "y = Abs(x)",
        "y = Mod(x, three)",
        "y = Mod(x, large)",
        "y = Mod(large, x)",
        "y = Mod(x, z)",
        "y = Pow(x, three)",
        "y = Clip(x, , large)",
        pytest.param("y = Clip(x, three, large)", marks=recent_runtime),
        "p = Reshape(x, pair) y = MatMul(p, p)",
        'p = Reshape(x, pair) y = Einsum<equation: string = "aij,aij->a">(p, p)',
    ],
)
def test_whole_numbers_beyond_floats_are_exact(tmp_path, text):
    weights = {"three": np.array(3), "large": np.array(2**53 + 1), "pair": np.array([-1, 2, 2])}
    weights = {name: array for name, array in weights.items() if name in text}
    axes = "a, b, c" if "MatMul" in text else "a"
    graph = f"net (int64[8] x, int64[8] z) => (int64[{axes}] y) {{ {text} }}"
    path = written(tmp_path / "net.onnx", graph, weights)
    compared(path, (LARGE, LARGE[::-1].copy()))


@pytest.mark.parametrize("divisor", ["three", "z"])
def test_truncated_remainders_beyond_floats_are_exact(tmp_path, divisor):
    """Compare with NumPy, because onnxruntime for Python 3.8 computes them with floats."""
    weights = {"three": np.array(3)} if divisor == "three" else {}
    graph = f"net (int64[8] x, int64[8] z) => (int64[8] y) {{ y = Mod<fmod: int = 1>(x, {divisor}) }}"
    path = written(tmp_path / "net.onnx", graph, weights)
    x, z = LARGE, LARGE[::-1].copy()
    got = import_model(path)(mx.nd.array(x, dtype="int64"), mx.nd.array(z, dtype="int64"))
    np.testing.assert_array_equal(got.asnumpy(), np.fmod(x, weights.get(divisor, z)))


@pytest.mark.parametrize(
    "text",
    [
        "y = Pad(x, ends, large)",
        "i = Mod(x, three) y0 = OneHot(i, three, pair) y = Slice(y0, ends, ends)",
    ],
)
def test_numbers_that_mxnet_would_round_are_refused(tmp_path, text):
    weights = {"ends": np.array([1, 1]), "large": np.array(2**53 + 1), "three": np.array(3)}
    weights["pair"] = np.array([0, 2**53 + 1])
    weights = {name: array for name, array in weights.items() if name in text}
    path = written(tmp_path / "net.onnx", f"net (int64[N] x) => (int64[a] y) {{ {text} }}", weights)
    with pytest.raises(ValueError, match=r"y0? \((Pad|OneHot)\): .*9007199254740993 is too large"):
        import_model(path)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_the_least_integer_by_minus_one_does_not_end_the_process(tmp_path, dtype):
    """As it does in onnxruntime."""
    x = mx.nd.array([np.iinfo(dtype).min, 5], dtype=dtype)
    for operator, rest in (("Div", [np.iinfo(dtype).min, -5]), ("Mod", [0, 0])):
        for constant in (True, False):
            text = f"net ({dtype}[N] x, {dtype}[N] z) => ({dtype}[N] y) {{ y = {operator}(x, w) }}"
            path = tmp_path / "net.onnx"
            if constant:
                path = written(path, text, {"w": np.array(-1, dtype)})
            else:
                path = written(path, text.replace("w)", "z)"))
            got = import_model(path)(x, mx.nd.array([-1, -1], dtype=dtype)).asnumpy()
            np.testing.assert_array_equal(got, rest)


def test_a_division_of_integers_by_zero_does_not_end_the_process(tmp_path):
    text = "y = Div(x, z)"
    path = model(tmp_path, text, kind="int32", out="int32[a, b, c]", second=", int32[1] z")
    net = import_model(path)
    x = mx.nd.ones((1, 3, 2), dtype="int32")
    assert net(x, mx.nd.zeros(1, dtype="int32")).shape == (1, 3, 2)


@pytest.mark.parametrize("first, second", [("float", "float"), ("float", "int64"), ("int64", "int64")])
def test_powers(tmp_path, first, second):
    dtypes = {"float": "float32", "int64": "int64"}
    path = model(
        tmp_path, "y = Pow(x, z)", kind=first, out=f"{first}[a, b, c]", second=f", {second}[W] z"
    )
    calls = [
        (np.abs(draw(s, dtypes[first])), np.arange(s[-1]).astype(dtypes[second]) % 4) for s in SIZES
    ]
    compared(path, *calls)


def test_powers_by_integers(tmp_path):
    for exponent in (np.int64(2), np.array([[0], [1], [3]])):
        compared(model(tmp_path, "y = Pow(x, c)", {"c": exponent}), *map(draw, SIZES))


@pytest.mark.parametrize("operator", ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"])
@pytest.mark.parametrize(
    "kind, dtype", [("float", "float32"), ("int64", "int64"), ("double", "float64")]
)
def test_comparisons(tmp_path, operator, kind, dtype):
    path = model(
        tmp_path, f"y = {operator}(x, z)", kind=kind, out="bool[a, b, c]", second=f", {kind}[3, 1] z"
    )
    compared(path, *[(np.round(draw(s, dtype)), np.round(draw((3, 1), dtype, 1))) for s in SIZES])


@pytest.mark.parametrize("operator", ["And", "Or", "Xor"])
def test_logic_broadcasts(tmp_path, operator):
    text = f"a = Greater(x, zero) b = Less(z, zero) c = {operator}(a, b) y = Not(c)"
    path = model(tmp_path, text, {"zero": np.float32(0)}, out="bool[a, b, c]", second=", float[3, 1] z")
    compared(path, *[(draw(s), draw((3, 1), seed=1)) for s in SIZES])


@pytest.mark.parametrize("shape", ["N, 3, W", "3, 1", "W", "1"])
def test_where_broadcasts(tmp_path, shape):
    for text in ("y = Where(c, x, z)", "y = Where(c, z, x)"):
        path = model(tmp_path, f"c = Greater(x, z) {text}", second=f", float[{shape}] z")
        calls = []
        for n, m, w in SIZES:
            names = {"N": n, "3": m, "W": w, "1": 1}
            given = tuple(names[each] for each in shape.split(", "))
            calls.append((draw((n, m, w)), draw(given, seed=1)))
        compared(path, *calls)


def test_masks_of_attention(tmp_path):
    text = "c = Equal(z, zero) y = Where(c, low, x)"
    weights = {"zero": np.float32(0), "low": np.float32(-np.inf)}
    path = model(tmp_path, text, weights, second=", float[1, W] z")
    compared(path, *[(draw(s), np.arange(s[-1], dtype="f")[None] % 2) for s in SIZES])


def test_several_arrays(tmp_path):
    for operator in ("Sum", "Mean", "Max", "Min"):
        path = model(
            tmp_path, f"y = {operator}(x, z, c)", {"c": np.float32(0.5)}, second=", float[3, 1] z"
        )
        compared(path, *[(draw(s), draw((3, 1), seed=1)) for s in SIZES])


def test_sums_of_arrays_with_equal_shapes_are_fast(tmp_path):
    path = model(tmp_path, "a = Relu(x) y = Add(x, a)")
    net = compared(path, *map(draw, SIZES))
    assert "elemwise_add" in net(mx.sym.var("data")).tojson()


@pytest.mark.parametrize("bounds", ["x, l, h", "x, l", 'x, "", h', "x"])
def test_bounds(tmp_path, bounds):
    text = f"y = Clip({bounds})".replace('""', "")
    compared(model(tmp_path, text, {"l": np.float32(-1), "h": np.float32(2)}), *map(draw, SIZES))


def test_bounds_that_are_computed(tmp_path):
    path = model(
        tmp_path, "m = ReduceMax<keepdims: int = 0>(z) y = Clip(x, , m)", second=", float[3, 1] z"
    )
    compared(path, *[(draw(s), draw((3, 1), seed=1)) for s in SIZES])


def test_relu6_is_a_block(tmp_path):
    path = model(tmp_path, "y = Clip(x, l, h)", {"l": np.float32(0), "h": np.float32(6)})
    net = compared(path, *map(draw, SIZES))
    assert [type(block) for block in net.layers.values()] == [nn.ReLU6]
    path = model(tmp_path, "y = Clip<min: float = 0.0, max: float = 6.0>(x)", version=10)
    compared(path, *map(draw, SIZES))


def test_large_integers_are_bounded_exactly(tmp_path):
    weights = {"l": np.int64(2**40 + 1)}
    path = model(tmp_path, "y = Clip(x, l)", weights, kind="int64", out="int64[a, b, c]")
    compared(path, np.arange(2**40 - 4, 2**40 + 5).reshape(1, 3, 3))


@pytest.mark.parametrize("shape", [(), (1,), (3, 1), (1, 3, 1)])
def test_slopes_are_trained(tmp_path, shape):
    path = model(tmp_path, "y = PRelu(x, s)", {"s": np.float32(np.abs(draw(shape)) / 9)})
    net = compared(path, *map(draw, SIZES))
    assert list(net.collect_params()) == ["s"]


def test_slopes_of_channels_as_older_files_have_them(tmp_path):
    slopes = np.array([0.1, 0.2, 0.3], "f")
    path = model(tmp_path, "y = PRelu(x, s)", {"s": slopes}, version=6)
    x = draw(SIZES[0])
    got = import_model(path)(mx.nd.array(x)).asnumpy()
    np.testing.assert_allclose(got, np.where(x > 0, x, x * slopes[:, None]), rtol=1e-6)


def test_operands_broadcast_as_in_older_files(tmp_path):
    c = draw((3,))
    path = model(tmp_path, "y = Mul<broadcast: int = 1, axis: int = 1>(x, c)", {"c": c}, version=6)
    x = draw(SIZES[0])
    got = import_model(path)(mx.nd.array(x)).asnumpy()
    np.testing.assert_allclose(got, x * c[:, None], rtol=1e-6)


def test_bits_shift(tmp_path):
    for direction in ("LEFT", "RIGHT"):
        text = f'y = BitShift<direction: string = "{direction}">(x, z)'
        path = model(tmp_path, text, kind="uint8", out="uint8[a, b, c]", second=", uint8[W] z")
        compared(path, *[(draw(s, "uint8"), draw(s[-1:], "uint8", 1) % 8) for s in SIZES])


@pytest.mark.parametrize("kind", ["uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_bits_of_signed_integers_shift_by_any_count(tmp_path, kind, direction):
    """Operator set 28, which onnxruntime lacks. Other counts than those of the bits leave the sign."""
    text = f"""net ({kind}[N, W] x, {kind}[W] z) => ({kind}[a, b] y) {{
        y = BitShift<direction: string = "{direction}">(x, z) }}"""
    path = written(tmp_path / "net.onnx", text, version=28)
    limits, bits = np.iinfo(kind), 8 * np.dtype(kind).itemsize
    counts = [0, 1, bits - 2, bits - 1, bits, bits + 5, *[-1, -bits] * (limits.min < 0)]
    values = [
        0,
        1,
        5,
        limits.max,
        limits.max - 2,
        *[-1, -2, -7, limits.min, limits.min + 1] * (limits.min < 0),
    ]
    x = np.array(values, kind)[:, None].repeat(len(counts), 1)
    net, wanted = import_model(path), np.zeros_like(x)
    for i, j in np.ndindex(len(values), len(counts)):
        inside, value = 0 <= counts[j] < bits, values[i]
        right = value >> counts[j] if inside else -(value < 0)
        left = (value << counts[j]) % 2**bits if inside else 0
        left -= 2**bits * (left > limits.max)
        wanted[i, j] = left if direction == "LEFT" else right
    got = net(mx.nd.array(x, dtype=kind), mx.nd.array(counts, dtype=kind)).asnumpy()
    np.testing.assert_array_equal(got, wanted)


def test_gelu(tmp_path):
    for how in ("none", "tanh"):
        path = model(tmp_path, f'y = Gelu<approximate: string = "{how}">(x)', version=20)
        x = draw(SIZES[0])
        inner = 0.7978845608 * (x + 0.044715 * x**3)
        curve = [
            0.5 * v * (1 + (erf(v / 2**0.5) if how == "none" else tanh(t)))
            for v, t in zip(x.flat, inner.flat)
        ]
        got = import_model(path)(mx.nd.array(x)).asnumpy()
        np.testing.assert_allclose(got.ravel(), curve, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("text", ["y = Mod<fmod: int = 1>(x, z)", "y = Mod<fmod: int = 1>(z, x)"])
def test_remainders_have_the_sign_of_the_dividend(tmp_path, text):
    path = model(tmp_path, text, second=", float[3, 1] z")
    compared(path, *[(draw(s) + 0.5, numbers(3, 1)) for s in SIZES])


def test_comparisons_with_true_and_false(tmp_path):
    for number in (True, False):
        path = model(
            tmp_path, "y = Equal(x, c)", {"c": np.array(number)}, kind="bool", out="bool[a, b, c0]"
        )
        compared(path, *(draw(shape) > 0 for shape in SIZES))


def test_comparisons_with_a_number_are_deployed(tmp_path):
    """deploy computes in float32, and would not compare it with an array of integers."""
    text = "net (int64[N, 4] x) => (float[N, 4] y) { a = Equal(x, two) y = Cast<to: int = 1>(a) }"
    path = written(tmp_path / "net.onnx", text, {"two": np.array(2)})
    x = mx.nd.array([[0, 1, 2, 3]], dtype="int64")
    np.testing.assert_array_equal(deploy(import_model(path), x, tune=False)(x).asnumpy(), [[0, 0, 1, 0]])


def test_quantized_nets_are_deployed(tmp_path):
    text = """net (float[N, 4] x) => (float[N, 4] y) {
        a = QuantizeLinear(x, scale, zero)
        y = DequantizeLinear(a, scale, zero)
    }"""
    weights = {"scale": np.float32(0.05), "zero": np.int8(3)}
    path = written(tmp_path / "net.onnx", text, weights)
    net = compared(path, numbers(2, 4))
    x = mx.nd.array(numbers(2, 4))
    got = deploy(net, x, tune=False)(x).asnumpy()
    np.testing.assert_allclose(got, net(x).asnumpy(), atol=1e-6)
