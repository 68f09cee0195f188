"""Convolutions, transposed convolutions and poolings of ONNX files, against onnxruntime."""

import mxnet as mx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from imported import compared, numbers, recent_runtime, reference, written

from gluon_same.onnx import import_model

AXES = {1: "W", 2: "H, W", 3: "D, H, W"}


def ints(name, values):
    return f"{name}: ints = [{', '.join(map(str, values))}]"


def window(draw, ndim, transposed=False):
    """Draw attributes of a window, and the elements that it spans along each axis."""
    kernel, stride, dilation = (
        draw(st.lists(st.integers(1, most), min_size=ndim, max_size=ndim)) for most in (4, 3, 2)
    )
    return kernel, stride, dilation, [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]


@st.composite
def convolutions(draw):
    ndim = draw(st.integers(1, 3))
    kernel, stride, dilation, spans = window(draw, ndim)
    words = [ints("strides", stride), ints("kernel_shape", kernel)]
    auto = draw(st.sampled_from(["", "SAME_UPPER", "SAME_LOWER", "VALID"]))
    if auto.startswith("SAME"):
        dilation = [1] * ndim  # onnxruntime does not support others
        assume(all(k >= s for k, s in zip(kernel, stride)))  # nor gives SAME's numbers here
    else:
        words.append(ints("dilations", dilation))
    if auto:
        words.append(f'auto_pad: string = "{auto}"')
    else:
        pads = draw(st.lists(st.integers(0, 3), min_size=2 * ndim, max_size=2 * ndim))
        words.append(ints("pads", pads))
    group = draw(st.sampled_from([1, 2]))
    return ndim, kernel, [*words, f"group: int = {group}"], group, spans


@settings(max_examples=60, deadline=None)
@given(case=convolutions(), bias=st.booleans())
def test_convolutions(tmp_path_factory, case, bias):
    ndim, kernel, words, group, spans = case
    text = f"""net (float[N, 4, {AXES[ndim]}] x) => (float[N, 6, {AXES[ndim]}] y) {{
        y = Conv<{", ".join(words)}>(x, w{", b" if bias else ""})
    }}"""
    weights = {"w": numbers(6, 4 // group, *kernel, seed=1), **({"b": numbers(6)} if bias else {})}
    path = written(tmp_path_factory.mktemp("c") / "net.onnx", text, weights)
    sizes = [tuple(span + more for span in spans) for more in (3, 6)]
    compared(path, *(numbers(2, 4, *size) for size in sizes))


@recent_runtime
@settings(max_examples=60, deadline=None)
@given(
    data=st.data(), ndim=st.integers(1, 3), ceil=st.booleans(), kind=st.sampled_from(["Max", "Average"])
)
def test_poolings(tmp_path_factory, data, ndim, ceil, kind):
    kernel, stride, dilation, spans = window(data.draw, ndim)
    pads = [data.draw(st.integers(0, (k - 1) // 2)) for k in kernel * 2]
    words = [ints("strides", stride), ints("kernel_shape", kernel), ints("pads", pads)]
    words += [f"ceil_mode: int = {int(ceil)}", ints("dilations", dilation)]
    if kind == "Average":
        words.append(f"count_include_pad: int = {int(data.draw(st.booleans()))}")
    text = f"""net (float[N, 4, {AXES[ndim]}] x) => (float[N, 4, {AXES[ndim]}] y) {{
        y = {kind}Pool<{", ".join(words)}>(x)
    }}"""
    path = written(tmp_path_factory.mktemp("c") / "net.onnx", text, version=19)
    calls = [numbers(2, 4, *(span + more for span in spans)) for more in (3, 6)]
    compared(path, *calls)


@recent_runtime
@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "AveragePool count_include_pad: int = 1,"])
@pytest.mark.parametrize(
    "kernel, stride, pads, size",
    [(2, 2, (0, 0), 1), (3, 3, (0, 0), 2), (4, 2, (0, 0), 3), (3, 2, (1, 0), 1), (3, 3, (0, 2), 1)],
)
def test_a_window_that_fits_only_by_rounding_up(tmp_path, kind, kernel, stride, pads, size):
    kind, _, words = kind.partition(" ")
    text = f"""net (float[N, 2, {size}] x) => (float[N, 2, L] y) {{
        y = {kind}<{words} kernel_shape: ints = [{kernel}], strides: ints = [{stride}],
            ceil_mode: int = 1, {ints("pads", pads)}>(x)
    }}"""
    path = written(tmp_path / "net.onnx", text, version=19)
    compared(path, numbers(2, 2, size), numbers(1, 2, size))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), ndim=st.integers(1, 3), bias=st.booleans())
def test_transposed_convolutions(tmp_path_factory, data, ndim, bias):
    kernel, stride, dilation, spans = window(data.draw, ndim)
    pads = [data.draw(st.integers(0, k - 1)) for k in kernel * 2]
    extra = [data.draw(st.integers(0, s - 1)) for s in stride]
    group = data.draw(st.sampled_from([1, 2]))
    words = [ints("strides", stride), ints("pads", pads), ints("dilations", dilation)]
    words += [ints("output_padding", extra), f"group: int = {group}"]
    text = f"""net (float[N, 4, {AXES[ndim]}] x) => (float[N, 6, {AXES[ndim]}] y) {{
        y = ConvTranspose<{", ".join(words)}>(x, w{", b" if bias else ""})
    }}"""
    weights = {"w": numbers(4, 6 // group, *kernel, seed=1), **({"b": numbers(6)} if bias else {})}
    path = written(tmp_path_factory.mktemp("c") / "net.onnx", text, weights)
    compared(path, *(numbers(2, 4, *(k + more for k in spans)) for more in (2, 5)))


@pytest.mark.parametrize("auto", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("kernel, stride", [(3, 2), (2, 2), (4, 2), (3, 1), (2, 1)])
def test_transposed_same(tmp_path, auto, kernel, stride):
    text = f"""net (float[N, 2, H, W] x) => (float[N, 3, H, W] y) {{
        y = ConvTranspose<auto_pad: string = "{auto}", strides: ints = [{stride}, {stride}]>(x, w)
    }}"""
    path = written(tmp_path / "net.onnx", text, {"w": numbers(2, 3, kernel, kernel)})
    net = import_model(path)
    assert net.input_sizes == ((None, 2, None, None),)
    compared(path, numbers(1, 2, 5, 6))


@pytest.mark.parametrize("shape", [(10, 8), (9, 7), (8, 6)])
def test_transposed_to_a_size(tmp_path, shape):
    text = f"""net (float[1, 1, 3, 3] x) => (float[1, 2, H, W] y) {{
        y = ConvTranspose<strides: ints = [3, 2], output_shape: ints = [{shape[0]}, {shape[1]}]>(x, w)
    }}"""
    path = written(tmp_path / "net.onnx", text, {"w": numbers(1, 2, 3, 3)})
    compared(path, numbers(1, 1, 3, 3))


@pytest.mark.parametrize("stride", [1, 7])
def test_a_number_of_windows_that_all_usual_sizes_have(tmp_path, stride):
    """The rows of a matrix follow from the batch, and not from more windows of a larger image."""
    text = f"""net (float[N, 3, H, W] x) => (float[N, 5] y) {{
        a = MaxPool<kernel_shape: ints = [32, 32], strides: ints = [32, 32]>(x)
        b = AveragePool<kernel_shape: ints = [7, 7], strides: ints = [{stride}, {stride}]>(a)
        s = Shape(b) n = Gather(s, zero) k = Concat<axis: int = 0>(n, rest) c = Reshape(b, k)
        y = Gemm(c, w)
    }}"""
    weights = {"zero": np.array([0]), "rest": np.array([-1]), "w": numbers(3, 5)}
    path = written(tmp_path / "net.onnx", text, weights)
    net = compared(path, numbers(2, 3, 230, 230), numbers(1, 3, 255, 255))
    with pytest.raises(ValueError, match="cannot run on data of shape"):
        net(mx.nd.ones((2, 3, 480, 480)))


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_largest_integers(tmp_path, kind):
    """Padding is less than all numbers. onnxruntime has no dilated pooling of integers."""
    window = "kernel_shape: ints = [2, 2], pads: ints = [1, 0, 0, 1]"
    text = f"net ({kind}[N, 1, H, W] x) => ({kind}[N, 1, a, b] y) {{ y = MaxPool<{window}>(x) }}"
    x = np.array([[-5, -128, -7], [-1, -2, -100]]).astype(kind).reshape(1, 1, 2, 3)
    compared(written(tmp_path / "net.onnx", text), x, np.concatenate([x, x[..., ::-1]], 2))


@recent_runtime
def test_padding_that_a_pooling_cannot_take_over(tmp_path):
    text = """net (float[N, 3, H, W] x) => (float[N, 3, a, b] y) {
        p = Pad(x, pads) y = AveragePool<kernel_shape: ints = [2, 2]>(p) }"""
    path = written(tmp_path / "net.onnx", text, {"pads": np.array([0, 0, 2, 0, 0, 0, 0, 1])})
    compared(path, numbers(2, 3, 4, 5), numbers(1, 3, 7, 4))


@pytest.mark.parametrize("node", ["BatchNormalization", "Dropout"])
def test_training_of_old_operator_sets_is_refused(tmp_path, node):
    more = ", one, zero, zero, one" if node == "BatchNormalization" else ""
    weights = {"one": np.ones(3, "f"), "zero": np.zeros(3, "f")}
    for words, known in ("", False), ("<is_test: int = 1>", True):
        text = f"net (float[N, 3, H, W] x) => (float[N, 3, H, W] y) {{ y = {node}{words}(x{more}) }}"
        path = written(tmp_path / "net.onnx", text, weights, version=6)
        if known:
            y = import_model(path)(mx.nd.ones((1, 3, 2, 2))).asnumpy()
            np.testing.assert_allclose(y, 1, rtol=1e-4)
        else:
            with pytest.raises(ValueError, match="is_test=1"):
                import_model(path)


@pytest.mark.parametrize(
    "node, words",
    [
        ("Conv<pads: ints = [-1, 0, 0, 0]>(x, w)", "are negative"),
        ("Conv<strides: ints = [2]>(x, w)", r"strides=\[2\] does not fit 2 axes"),
        ("Conv<kernel_shape: ints = [5, 5]>(x, w)", "is not that of its weight"),
        ('Conv<auto_pad: string = "SAME">(x, w)', "auto_pad='SAME' is not supported"),
        (
            "MaxPool<kernel_shape: ints = [2, 2], pads: ints = [2, 0, 0, 0]>(x)",
            "not less than its window",
        ),
        ("Conv(x)", "has 1 inputs, and requires 2"),
        ("Conv(x, w, x, x)", "has 4 inputs, of which 3 are known"),
    ],
)
def test_what_cannot_be_served(tmp_path, node, words):
    text = f"net (float[N, 4, H, W] x) => (float[N, C, H, W] y) {{ y = {node} }}"
    path = written(tmp_path / "net.onnx", text, {"w": np.ones((4, 4, 3, 3), "f")}, version=19)
    with pytest.raises(ValueError, match=words):
        import_model(path)


@pytest.mark.parametrize("order", [0, 1])
def test_places_of_the_largest_elements(tmp_path, order):
    words = "kernel_shape: ints = [3, 2], strides: ints = [2, 1], dilations: ints = [1, 2]"
    words += f", pads: ints = [1, 1, 0, 1], storage_order: int = {order}"
    text = "net (float[N, 3, H, W] x) => (float[a, b, c, d] y, int64[a, b, c, d] z) "
    text += f"{{ y, z = MaxPool<{words}>(x) }}"
    calls = [np.round(numbers(2, 3, 6, 7)), np.round(numbers(1, 3, 5, 9))]  # with equal elements
    compared(written(tmp_path / "net.onnx", text), *calls)


@recent_runtime
@pytest.mark.parametrize("number", [-np.inf, np.finfo("f").min])
def test_places_are_those_of_data_even_if_they_equal_the_padding(tmp_path, number):
    text = """net (float[N, 1, H, W] x) => (float[a, b, c, d] y, int64[a, b, c, d] z) {
        y, z = MaxPool<kernel_shape: ints = [2, 2], pads: ints = [1, 1, 1, 1]>(x)
    }"""
    x = np.full((1, 1, 3, 4), number, "f")
    path = written(tmp_path / "net.onnx", text)
    for one, other in zip(import_model(path)(mx.nd.array(x)), reference(path, x)):
        np.testing.assert_array_equal(one.asnumpy(), other)


def test_places_are_those_in_the_padded_data(tmp_path):
    text = """net (float[N, 3, 6, 8] x) => (float[a, b, c, d] y, int64[a, b, c, d] z) {
        padded = Pad(x, pads)
        y, z = MaxPool<kernel_shape: ints = [2, 2], strides: ints = [2, 2]>(padded)
    }"""
    weights = {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])}
    compared(written(tmp_path / "net.onnx", text, weights), numbers(2, 3, 6, 8))


@pytest.mark.parametrize("axes, size", [("N, 1, 2, 2", 2), ("N, 1, H, W", 5)])
def test_a_pooling_whose_only_window_reaches_beyond_the_end(tmp_path, axes, size):
    """EfficientDet's maps of 2x2, and of 1x1 behind a layer."""
    window = "kernel_shape: ints = [3, 3], strides: ints = [2, 2]"
    text = f"""net (float[{axes}] x) => (float[N, 1, a, b] y) {{ p = Pad(x, pads, low)
        q = MaxPool<{window}>(p) y = MaxPool<{window}, pads: ints = [0, 0, 2, 2]>(q) }}"""
    weights = {"pads": np.array([0, 0, 0, 0, 0, 0, 1, 1]), "low": np.float32(-np.inf)}
    compared(written(tmp_path / "net.onnx", text, weights), numbers(2, 1, size, size))


@recent_runtime
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("extras", ["", ", b", ", , mask", ", b, mask"])
@pytest.mark.parametrize(
    "pads, strides, dilations", [((1,) * 4, (1, 1), (1, 1)), ((2, 0, 1, 3), (2, 1), (1, 2))]
)
def test_deformable_convolutions(tmp_path, group, extras, pads, strides, dilations):
    places = [ints("pads", pads), ints("strides", strides), ints("dilations", dilations)]
    groups = [f"group: int = {group}", f"offset_group: int = {group}"]
    text = f"""net (float[N, 4, H, W] x) => (float[N, 6, O, P] y) {{
        offset = Conv<{", ".join(places)}>(x, v) m = Conv<{", ".join(places)}>(x, u) mask = Sigmoid(m)
        y = DeformConv<{", ".join(places + groups)}>(x, w, offset{extras}) }}"""
    weights = {"v": numbers(18 * group, 4, 3, 3), "u": numbers(9 * group, 4, 3, 3), "b": numbers(6)}
    path = written(tmp_path / "net.onnx", text, {**weights, "w": numbers(6, 4 // group, 3, 3)}, 19)
    compared(path, numbers(2, 4, 7, 9), numbers(1, 4, 11, 6))


def test_determinants(tmp_path):
    text = "net (float[N, 3, 3] x) => (float[N] y) { y = Det(x) }"
    compared(written(tmp_path / "net.onnx", text), numbers(4, 3, 3), numbers(1, 3, 3))


@pytest.mark.parametrize("align", [0, 1])
def test_spatial_transformers(tmp_path, align):
    text = f"""net (float[N, 3, H, W] x, float[N, 2, 3] theta) => (float[N, 3, H, W] y) {{
        s = Shape(x) grid = AffineGrid<align_corners: int = {align}>(theta, s)
        y = GridSample<align_corners: int = {align}, mode: string = "linear">(x, grid) }}"""
    path = written(tmp_path / "net.onnx", text, version=20)
    compared(path, *((numbers(n, 3, h, w), numbers(n, 2, 3)) for n, h, w in ((2, 7, 9), (1, 10, 4))))
