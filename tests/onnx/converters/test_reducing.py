"""Reductions, softmax, norms and products of imported files, at open sizes, against onnxruntime."""

import mxnet as mx
import numpy as np
import pytest
from imported import compared, numbers, recent_runtime, written

from gluon_same import nn
from gluon_same.onnx import import_model

CALLS = [np.abs(numbers(2, 3, 5)) + 0.1, np.abs(numbers(1, 3, 8)) + 0.1]
KINDS = ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]


def model(path, text, weights=None, version=17, out="float[a, b, c]", shape="N, 3, W", more=""):
    graph = f"net (float[{shape}] x{more}) => ({out} y) {{ {text} }}"
    return written(path / "net.onnx", graph, weights, version)


def ranked(rank):
    return f"float[{', '.join('abcdef'[:rank])}]"


@pytest.mark.parametrize("kind", KINDS)
def test_axes_are_reduced(tmp_path, kind):
    for axes, keepdims, rank in [("1", 1, 3), ("0, -1", 0, 1), ("2", 0, 2), (None, 0, 0), (None, 1, 3)]:
        given = f", axes: ints = [{axes}]" if axes else ""
        as_input = kind == "Sum"
        weights = {"axes": np.array(eval(f"[{axes}]"))} if axes and as_input else {}
        text = f"y = Reduce{kind}<keepdims: int = {keepdims}{'' if as_input else given}>"
        path = model(tmp_path, f"{text}(x{', axes' if weights else ''})", weights, out=ranked(rank))
        compared(path, *CALLS)
        if axes and not as_input:  # as from version 18 on
            weights = {"axes": np.array(eval(f"[{axes}]"))}
            text = f"y = Reduce{kind}<keepdims: int = {keepdims}>(x, axes)"
            compared(model(tmp_path, text, weights, 18, ranked(rank)), *CALLS)


def test_no_axes_may_mean_none(tmp_path):
    text = "y = ReduceSum<noop_with_empty_axes: int = 1>(x)"
    for x in CALLS:  # which not all releases of onnxruntime support
        np.testing.assert_array_equal(import_model(model(tmp_path, text))(mx.nd.array(x)).asnumpy(), x)


@pytest.mark.parametrize(
    "kind, function", [("L1", np.abs), ("SumSquare", np.square), ("LogSum", np.log)]
)
def test_no_axes_leave_the_functions_of_a_reduction(tmp_path, kind, function):
    text = f"y = Reduce{kind}<noop_with_empty_axes: int = 1>(x)"
    net = import_model(model(tmp_path, text, version=18))
    for x in CALLS:  # which not all releases of onnxruntime support
        np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), function(x), rtol=1e-5)


@pytest.mark.parametrize("kind, dtype", [
    pytest.param("L2", "int32", marks=recent_runtime), ("L1", "int64"), ("SumSquare", "int64"),
])  # fmt: skip
def test_norms_of_whole_numbers(tmp_path, kind, dtype):
    """Their squares are too large for int32 and float32."""
    text = f"net ({dtype}[N, 2] x) => ({dtype}[N, 1] y) {{ y = Reduce{kind}<axes: ints = [1]>(x) }}"
    x = np.array([[300_000, 400_000], [3, 4], [30_001, -40_001]], dtype)
    compared(written(tmp_path / "net.onnx", text), x)


def test_axes_that_do_not_exist_are_refused(tmp_path):
    for text in ("y = ReduceMax<axes: ints = [3]>(x)", "y = Softmax<axis: int = -4>(x)"):
        with pytest.raises(ValueError, match="does not fit data with 3 axes"):
            import_model(model(tmp_path, text))


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
def test_positions_of_extremes(tmp_path, operator, last):
    calls = [np.round(x * 2) for x in CALLS]
    for axis, keepdims in [(0, 1), (1, 0), (-1, 1)]:
        attributes = f"axis: int = {axis}, keepdims: int = {keepdims}, select_last_index: int = {last}"
        out = ranked(2 + keepdims).replace("float", "int64")
        compared(model(tmp_path, f"y = {operator}<{attributes}>(x)", out=out), *calls)


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("between, reshapes", [("Identity", 1), ("Elu", 1), ("Transpose", 0)])
def test_softmax_behind_a_convolution(tmp_path, operator, between, reshapes):
    """oneDNN would crash for channels that it holds in blocks."""
    weights = {"w": numbers(8, 8, 1, 1)}
    text = f"a = Conv(x, w) b = {between}(a) y = {operator}<axis: int = -1>(b)"
    path = model(tmp_path, text, weights, 17, ranked(4), "N, 8, 5, W")
    net = compared(path, numbers(2, 8, 5, 9), numbers(1, 8, 5, 7))
    assert net(mx.sym.var("data")).tojson().count('"reshape_like"') == reshapes


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("between", ["Identity", "Relu"])
def test_softmax_of_more_joined_columns_than_rows(tmp_path, operator, between):
    """oneDNN would crash for these, too."""
    text = f"a = Concat<axis: int = 1>(x, x, x) b = {between}(a) y = {operator}<axis: int = -1>(b)"
    compared(model(tmp_path, text, out=ranked(2), shape="N, 1"), numbers(2, 1), numbers(5, 1))


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("version", [11, 13])
def test_softmax_by_both_rules(tmp_path, operator, version):
    for axis in (0, 1, 2, -1):
        path = model(tmp_path, f"y = {operator}<axis: int = {axis}>(x)", version=version)
        compared(path, *CALLS)
    compared(model(tmp_path, f"y = {operator}(x)", version=version), *CALLS)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_running_totals(tmp_path, exclusive, reverse):
    for axis in (1, -1):
        text = f"y = CumSum<exclusive: int = {exclusive}, reverse: int = {reverse}>(x, axis)"
        compared(model(tmp_path, text, {"axis": np.int32(axis)}), *CALLS)


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("outputs", ["y", "y, m, i"])
def test_layer_normalization(tmp_path, axis, outputs):
    shape = (5,) if axis == -1 else (3, 5)
    weights = {"g": numbers(*shape), "b": numbers(*shape, seed=1)}
    more = ", float[N, q, r] m, float[N, q, r] i" if len(outputs) > 1 else ""
    for given in ("g, b", "g"):
        text = f"{outputs} = LayerNormalization<axis: int = {axis}, epsilon: float = 0.01>(x, {given})"
        graph = f"net (float[N, 3, 5] x) => (float[N, 3, 5] y{more}) {{ {text} }}"
        path = written(tmp_path / "net.onnx", graph, {k: weights[k] for k in given.split(", ")})
        net = compared(path, numbers(2, 3, 5), numbers(4, 3, 5))
        block = next(iter(net.layers.values()))
        assert isinstance(block, nn.LayerNorm) == (axis == -1 and given == "g, b" and outputs == "y")


def test_statistics_of_a_layer_normalization_are_of_float32(tmp_path):
    text = "y, m, i = LayerNormalization(x, g)"
    graph = f"net (double[N, 5] x) => (double[N, 5] y, float[N, q] m, float[N, r] i) {{ {text} }}"
    path = written(tmp_path / "net.onnx", graph, {"g": numbers(5).astype("f8")})
    compared(path, numbers(4, 5).astype("f8"))


def test_instance_normalization(tmp_path):
    text = "y = InstanceNormalization<epsilon: float = 0.01>(x, g, b)"
    path = model(tmp_path, text, {"g": numbers(3), "b": numbers(3, seed=1)})
    net = compared(path, *CALLS)
    assert [type(block) for block in net.layers.values()] == [nn.GroupNorm]


def test_instance_normalization_of_images_does_not_lose_digits(tmp_path):
    """MXNet's InstanceNorm is off by 3e-6 here."""
    text = "y = InstanceNormalization<epsilon: float = 1e-5>(x, g, b)"
    path = model(tmp_path, text, {"g": np.ones(3, "f"), "b": np.zeros(3, "f")})
    x = numbers(1, 3, 256 * 256)
    wide = x.astype("f8")
    mean, variance = (f(wide, axis=2, keepdims=True) for f in (np.mean, np.var))
    want = (wide - mean) / np.sqrt(variance + 1e-5)
    assert abs(import_model(path)(mx.nd.array(x)).asnumpy() - want).max() < 2e-6


@pytest.mark.parametrize("version", [18, 21])
def test_group_normalization(tmp_path, version):
    # onnxruntime has the version of operator set 21 only.
    weights = {"g": numbers(6 if version == 21 else 2), "b": numbers(6 if version == 21 else 2, seed=1)}
    text = "y = GroupNormalization<num_groups: int = 2, epsilon: float = 0.01>(x, g, b)"
    path = model(tmp_path, text, weights, version, "float[a, b, c, d]", "N, 6, H, W")
    net = import_model(path)
    g, b = (np.repeat(w, 6 // len(w))[:, None, None] for w in weights.values())
    for x in (numbers(2, 6, 5, 4), numbers(1, 6, 3, 3)):
        groups = x.reshape(len(x), 2, -1)
        mean, variance = groups.mean(2, keepdims=True), groups.var(2, keepdims=True)
        want = ((groups - mean) / np.sqrt(variance + 0.01)).reshape(x.shape) * g + b
        net.hybridize()
        np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 3, 4, 5])
def test_local_responses(tmp_path, size):
    text = f"y = LRN<size: int = {size}, alpha: float = 0.3, beta: float = 0.6, bias: float = 1.5>(x)"
    path = model(tmp_path, text, None, 17, "float[a, b, c, d]", "N, 6, H, W")
    if size % 2:
        compared(path, numbers(2, 6, 5, 4), numbers(1, 6, 3, 3))
    else:  # onnxruntime refuses even sizes
        x = numbers(2, 6, 5, 4)
        got = import_model(path)(mx.nd.array(x)).asnumpy()
        wide = np.pad(x**2, [(0, 0), (1, 2), (0, 0), (0, 0)])
        total = sum(wide[:, i : i + 6] for i in range(4))
        np.testing.assert_allclose(got, x / (1.5 + 0.3 / 4 * total) ** 0.6, rtol=1e-5)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_norms(tmp_path, p):
    shapes = (None, 17, "float[a, b, c, d]", "N, 3, H, W")
    calls = [numbers(2, 3, 5, 4), numbers(1, 3, 6, 7)]
    compared(model(tmp_path, f"y = GlobalLpPool<p: int = {p}>(x)", *shapes), *calls)
    window = "kernel_shape: ints = [2, 3], strides: ints = [1, 2], pads: ints = [0, 1, 1, 1]"
    compared(model(tmp_path, f"y = LpPool<p: int = {p}, {window}>(x)", *shapes), *calls)
    window = "kernel_shape: ints = [3, 3], strides: ints = [2, 2], ceil_mode: int = 1"
    shapes = (None, 18, *shapes[2:])
    compared(model(tmp_path, f"y = LpPool<p: int = {p}, {window}>(x)", *shapes), *calls)
    if p < 3:
        compared(
            model(tmp_path, f"y = LpNormalization<p: int = {p}, axis: int = 1>(x)", *shapes), *calls
        )


def test_mean_and_variance(tmp_path):
    shapes = (None, 17, "float[a, b, c, d]", "N, 3, H, W")
    calls = [numbers(2, 3, 5, 4), numbers(1, 3, 6, 7)]
    compared(model(tmp_path, "y = MeanVarianceNormalization(x)", *shapes), *calls)


MATRICES = [
    ("N, H, W, 4", "N, H, 4, K", 4, [((2, 3, 5, 4), (2, 3, 4, 7)), ((1, 2, 6, 4), (1, 2, 4, 1))]),
    ("N, H, 4", "4, K", 3, [((2, 3, 4), (4, 7)), ((1, 2, 4), (4, 1))]),
    ("H, 4", "N, 4, K", 3, [((3, 4), (2, 4, 7)), ((2, 4), (1, 4, 1))]),
    ("N, 1, H, 4", "3, 4, K", 4, [((2, 1, 3, 4), (3, 4, 7)), ((5, 1, 2, 4), (3, 4, 1))]),
    ("4", "N, 4, K", 2, [((4,), (2, 4, 7)), ((4,), (3, 4, 5))]),
    ("N, H, 4", "4", 2, [((2, 3, 4), (4,)), ((5, 1, 4), (4,))]),
    ("H", "H", 0, [((4,), (4,)), ((7,), (7,))]),
]


@pytest.mark.parametrize("first, second, rank, shapes", MATRICES)
def test_matrices_multiply_over_any_ranks(tmp_path, first, second, rank, shapes):
    path = model(tmp_path, "y = MatMul(x, z)", None, 17, ranked(rank), first, f", float[{second}] z")
    compared(path, *[(numbers(*a), numbers(*b, seed=1)) for a, b in shapes])


def test_matrices_of_weights_are_dense_layers(tmp_path):
    path = model(tmp_path, "y = MatMul(x, w)", {"w": numbers(3, 7)}, 17, ranked(3), "N, H, 3")
    net = compared(path, numbers(2, 5, 3), numbers(1, 4, 3))
    assert [type(block) for block in net.layers.values()] == [nn.Dense]


@pytest.mark.parametrize(
    "more, layers",
    [
        ("y = Add(v, p)", 1),
        ("y = Add(p, v)", 1),
        # which read the product without the vector, too
        ("z = Identity(p) q = Relu(z) a = Add(p, v) y = Add(a, q)", 4),
        ("a = Add(p, v) y = Add(a, p)", 3),
        ("y = Add(p, one)", 2),
    ],
)
def test_vectors_that_are_added_are_biases(tmp_path, more, layers):
    weights = {"w": numbers(3, 7), "v": numbers(7), "one": numbers(1)}
    path = model(tmp_path, f"p = MatMul(x, w) {more}", weights, 17, ranked(3), "N, H, 3")
    assert len(compared(path, numbers(2, 5, 3), numbers(1, 4, 3)).layers) == layers


def test_products_of_constants_and_data(tmp_path):
    path = model(tmp_path, "y = MatMul(w, x)", {"w": numbers(6, 3)}, 17, ranked(3), "N, 3, W")
    compared(path, *CALLS)


def test_integers_multiply(tmp_path):
    graph = "net (int32[N, 3] x, int32[3, W] z) => (int32[N, W] y) { y = MatMul(x, z) }"
    path = written(tmp_path / "net.onnx", graph)
    pairs = [
        (np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)),
        (np.ones((1, 3)), np.ones((3, 1))),
    ]
    compared(path, *[tuple(x.astype("int32") for x in pair) for pair in pairs])


EINSUMS = [
    (
        "nhwd,nhkd->nhwk",
        "N, H, W, 4",
        "N, H, K, 4",
        4,
        [((2, 3, 5, 4), (2, 3, 6, 4)), ((1, 2, 7, 4), (1, 2, 3, 4))],
    ),
    (
        "nwhd,hdk->nwk",
        "N, W, 3, 4",
        "3, 4, 6",
        3,
        [((2, 5, 3, 4), (3, 4, 6)), ((1, 2, 3, 4), (3, 4, 6))],
    ),
    ("...ij,...jk", "N, H, 4", "N, 4, W", 3, [((2, 3, 4), (2, 4, 5)), ((3, 5, 4), (3, 4, 1))]),
    ("nh,nw->", "N, H", "N, W", 0, [((2, 3), (2, 4)), ((3, 5), (3, 1))]),
]


@pytest.mark.parametrize("equation, first, second, rank, shapes", EINSUMS)
def test_sums_of_products(tmp_path, equation, first, second, rank, shapes):
    text = f'y = Einsum<equation: string = "{equation}">(x, z)'
    path = model(tmp_path, text, None, 17, ranked(rank), first, f", float[{second}] z")
    compared(path, *[(numbers(*a), numbers(*b, seed=1)) for a, b in shapes])


def test_equations_that_do_not_fit_are_refused(tmp_path):
    path = model(tmp_path, 'y = Einsum<equation: string = "ij->ji">(x)', None, 17, ranked(2))
    with pytest.raises(ValueError, match="does not fit operands"):
        import_model(path)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_running_products(tmp_path, exclusive, reverse):
    """Operator set 26, which onnxruntime lacks."""
    text = f"""net (float[N, 5] x) => (float[a, b] y) <int64 axis = {{-1}}> {{
        y = CumProd<exclusive: int = {exclusive}, reverse: int = {reverse}>(x, axis) }}"""
    x = numbers(3, 5)
    wanted = np.cumprod(x[:, ::-1] if reverse else x, 1)
    if exclusive:
        wanted = np.concatenate([np.ones((3, 1)), wanted[:, :-1]], 1)
    got = import_model(written(tmp_path / "net.onnx", text, version=26))(mx.nd.array(x)).asnumpy()
    np.testing.assert_allclose(got, wanted[:, ::-1] if reverse else wanted, rtol=1e-5)
    path = written(tmp_path / "open.onnx", text.replace("N, 5", "5, N"), version=26)
    with pytest.raises(ValueError, match="axis 1 depends on sizes"):
        import_model(path)


@pytest.mark.parametrize("loss", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_losses_require_classes(tmp_path, loss):
    text = f"net (float[5] x, int64[5] t) => (float y) {{ y = {loss}(x, t) }}"
    with pytest.raises(ValueError, match="have one axis, and require samples and classes"):
        import_model(written(tmp_path / "net.onnx", text))
