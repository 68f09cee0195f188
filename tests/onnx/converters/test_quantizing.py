"""Operators between floats and integers of 8 and 16 bits."""

import mxnet as mx
import numpy as np
import pytest
from imported import compared, numbers, recent_runtime, written

import gluon_same


@recent_runtime
@pytest.mark.parametrize("operator, weight", [("MatMulInteger", (8, 5)), ("ConvInteger", (4, 6, 3))])
def test_nets_with_weights_of_integers_deploy(tmp_path, operator, weight):
    path = written(
        tmp_path / "net.onnx",
        "net (float[N, 6, 8] x) => (float[A, B, C] y) "
        f"{{ a, s, z = DynamicQuantizeLinear(x) b = {operator}(a, w, z) y = Cast<to=1>(b) }}",
        {"w": np.random.RandomState(1).randint(-9, 9, weight).astype("int8")},
    )
    x = numbers(2, 6, 8)
    net = compared(path, x, numbers(3, 6, 8))
    block = gluon_same.deploy(net, x.shape, tune=False)
    np.testing.assert_array_equal(block(mx.nd.array(x)).asnumpy(), net(mx.nd.array(x)).asnumpy())


@pytest.mark.parametrize("kind", ["uint16", "int16"])
def test_data_of_16_bits(tmp_path, kind):
    path = written(
        tmp_path / "net.onnx",
        """net (float[N, 3, H] x) => (float[A, B, C] y) {
            q = QuantizeLinear(x, s, z) t = Transpose<perm = [0, 2, 1]>(q) y = DequantizeLinear(t, s, z)
        }""",
        {"s": np.float32(0.0001), "z": np.array(7, kind)}, 21,
    )  # fmt: skip
    compared(path, 3 * numbers(2, 3, 40), numbers(1, 3, 9))


@pytest.mark.parametrize("more", [", z", ""])
def test_blocks_with_scales_of_their_own(tmp_path, more):
    path = written(
        tmp_path / "net.onnx",
        f"""net (float[N, 6, 4] x) => (float[A, B, C] y) {{
            w = DequantizeLinear<axis = 1, block_size = 4>(b, sb) p = MatMul(x, w)
            q = QuantizeLinear<axis = 1, block_size = 3>(p, s{more})
            y = DequantizeLinear<axis = 1, block_size = 3>(q, s{more}) }}""",
        {
            "b": np.random.RandomState(1).randint(-9, 9, (4, 8)).astype("int8"),
            "sb": np.abs(numbers(4, 2)), "s": np.abs(numbers(1, 2, 8)) / 9,
            "z": np.arange(16, dtype="uint8").reshape(1, 2, 8),
        }, 21,
    )  # fmt: skip
    compared(path, numbers(1, 6, 4))


def test_products_of_weights(tmp_path):
    """Positions times weights, which onnxruntime's tools quantize."""
    pair = {"s": np.float32(0.1), "z": np.array(3, "uint8")}
    a, b = (np.random.RandomState(k).randint(0, 255, (4, 4)).astype("uint8") for k in range(2))
    text = """net (float[N, 4, 4] x) => (float[A, B, C] y) {
        q = QLinearMatMul(a, s, z, b, s, z, t, z) p = DequantizeLinear(q, t, z) y = Add(x, p) }"""
    path = written(tmp_path / "net.onnx", text, {**pair, "a": a, "b": b, "t": np.float32(5)})
    compared(path, numbers(2, 4, 4))
