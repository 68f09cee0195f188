"""Fourier transforms of imported files against onnxruntime."""

import numpy as np
import pytest
from imported import compared, numbers, recent_runtime, written

from gluon_same.onnx import export_model, import_model


@pytest.mark.parametrize("onesided, inverse, parts", [(0, 0, 1), (1, 0, 1), (0, 0, 2), (0, 1, 2)])
def test_transforms_of_one_axis(tmp_path, onesided, inverse, parts):
    text = f"""net (float[N, 8, C, {parts}] x) => (float[a, b, c, d] y) {{
        y = DFT<axis: int = 1, onesided: int = {onesided}, inverse: int = {inverse}>(x)
    }}"""
    path = written(tmp_path / "net.onnx", text)
    compared(path, numbers(2, 8, 3, parts), numbers(1, 8, 5, parts))


@recent_runtime
@pytest.mark.parametrize(
    "onesided, inverse, parts", [(0, 0, 1), (1, 0, 1), (0, 0, 2), (0, 1, 2), (1, 1, 2)]
)
def test_transforms_of_an_axis_of_any_size(tmp_path, onesided, inverse, parts):
    text = f"""net (float[N, T, {parts}] x) => (float[a, b, c] y) {{
        y = DFT<axis: int = 1, onesided: int = {onesided}, inverse: int = {inverse}>(x)
    }}"""
    net = compared(written(tmp_path / "net.onnx", text), *(numbers(2, n, parts) for n in (5, 8, 33)))
    assert net.input_sizes == ((None, None, parts),)


@recent_runtime
@pytest.mark.parametrize("size", [8, 9])
def test_inverse_transforms_to_real_numbers_of_a_known_size(tmp_path, size):
    text = """net (float[N, 5, 2] x) => (float[a, b, c] y) {
        y = DFT<onesided: int = 1, inverse: int = 1>(x, length, axis)
    }"""
    weights = {"length": np.array(size), "axis": np.array(1)}
    compared(written(tmp_path / "net.onnx", text, weights, version=20), numbers(2, 5, 2))


@recent_runtime
def test_a_transform_and_its_inverse_at_any_size(tmp_path):
    """As of torch.fft.rfft and irfft with n = x.shape[1]."""
    text = """net (float[N, T, 1] x) => (float[a, b, c] y) {
        start = Constant<value: tensor = int64[1] {1}>() end = Constant<value: tensor = int64[1] {2}>()
        shape = Shape(x) length = Slice(shape, start, end) n = Squeeze(length)
        f = DFT<onesided: int = 1>(x, , axis) g = Relu(f)
        y = DFT<onesided: int = 1, inverse: int = 1>(g, n, axis)
    }"""
    path = written(tmp_path / "net.onnx", text, {"axis": np.array(1)}, version=20)
    compared(path, *(numbers(2, n, 1) for n in (5, 8, 33)))


@pytest.mark.parametrize("length", [6, 11])
def test_another_length_cuts_or_pads(tmp_path, length):
    text = "net (float[N, 8, 1] x) => (float[a, b, c] y) { y = DFT(x, length, axis) }"
    weights = {"length": np.array(length), "axis": np.array(1)}
    compared(written(tmp_path / "net.onnx", text, weights, version=20), numbers(2, 8, 1))


def test_spectrograms_of_any_length(tmp_path):
    text = """net (float[N, T, 1] x) => (float[a, b, c, d] y) {
        y = STFT<onesided: int = 1>(x, step, window)
    }"""
    weights = {"step": np.array(4), "window": np.hanning(16).astype("f")}
    path = written(tmp_path / "net.onnx", text, weights)
    net = compared(path, numbers(2, 64, 1), numbers(1, 61, 1))
    assert net.input_sizes == ((None, None, 1),)
    export_model(net, (2, 64, 1), tmp_path / "again.onnx", dynamic=True)  # which compares the numbers


def test_frames_without_a_window(tmp_path):
    text = """net (float[2, 32, 1] x) => (float[a, b, c, d] y) {
        y = STFT<onesided: int = 0>(x, step, , length)
    }"""
    weights = {"step": np.array(8), "length": np.array(16)}
    compared(written(tmp_path / "net.onnx", text, weights), numbers(2, 32, 1))


@pytest.mark.parametrize(
    "node, words",
    [
        ("STFT(x, step)", "neither a window nor"),
        ("STFT(x, step, window, length)", "has 3 elements, and its frame_length is 8"),
        (
            "DFT<axis: int = 1, onesided: int = 1, inverse: int = 1>(x, length)",
            "onesided=1 with inverse=1",
        ),
        (
            "DFT<axis: int = 1, onesided: int = 1, inverse: int = 1>(pair, length)",
            "frequencies are not those of 8 results",
        ),
        ("DFT<axis: int = 1>(x, length)", "size of its axis 1 depends on sizes"),
    ],
)
def test_what_cannot_be_served(tmp_path, node, words):
    pair = "pair = Concat<axis: int = 2>(x, x)"
    text = f"net (float[N, T, 1] x) => (float[a, b] y) {{ {pair} y = {node} }}"
    weights = {"step": np.array(4), "window": np.ones(3, "f"), "length": np.array(8)}
    with pytest.raises(ValueError, match=words):
        import_model(written(tmp_path / "net.onnx", text, weights))
