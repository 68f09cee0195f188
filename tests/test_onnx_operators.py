"""Operators whose conversion to ONNX MXNet's exporter lacks, in onnxruntime at other sizes."""

import mxnet as mx
import numpy as np
import pytest
from mxnet.gluon import HybridBlock

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from gluon_same.onnx import export_model  # noqa: E402


class Calls(HybridBlock):
    def __init__(self, function):
        super().__init__()
        self._function = function

    def hybrid_forward(self, F, x):
        return self._function(F, x)


def reshape(*codes):
    return lambda F, x: F.reshape(x, shape=codes)


FUNCTIONS = {
    "join": reshape(-3, -2),
    "join_twice": reshape(-3, -3),
    "join_later": reshape(0, -3, 0),
    "split": reshape(0, -4, 2, 3, -2),
    "split_rest": reshape(0, -4, -1, 2, -2),
    "split_and_join": reshape(0, -4, 2, -1, -3),
    "widen": reshape(-2, 1),
    "reverse": lambda F, x: F.reverse(x, axis=2),
    "reverse_two": lambda F, x: F.reverse(x, axis=(1, 3)),
    "maximum": lambda F, x: F.broadcast_maximum(x, F.mean(x, axis=2, keepdims=True)),
    "minimum": lambda F, x: F.broadcast_minimum(x, F.mean(x, axis=2, keepdims=True)),
    "rsqrt": lambda F, x: F.rsqrt(x * x + 1),
    "expm1": lambda F, x: F.expm1(x),
    "rpower": lambda F, x: 2**x,
    "greater_equal": lambda F, x: x * (x >= 0.5),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_operator_gives_the_same_numbers(tmp_path, name, dynamic):
    net = Calls(FUNCTIONS[name])
    path = export_model(net, (2, 6, 4, 5), tmp_path / "net.onnx", dynamic=dynamic)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for shape in [(2, 6, 4, 5), (3, 6, 2, 7)][: 1 + dynamic]:
        x = np.random.RandomState(0).normal(size=shape).astype("float32")
        (found,) = session.run(None, {"data": x})
        want = net(mx.nd.array(x)).asnumpy()
        assert found.shape == want.shape
        np.testing.assert_allclose(found, want, atol=1e-6)
