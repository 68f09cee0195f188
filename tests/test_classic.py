"""Operators of NumPy mode become classic ones, in deployed graphs and in ONNX files."""

import numpy as np
import pytest
from mxnet import np as mnp
from mxnet import npx

from gluon_same import deploy, nn
from gluon_same.classic import classic
from gluon_same.graph import Graph
from gluon_same.onnx import export_model
from gluon_same.trace import Trace
from small_nets import normal

onnxruntime = pytest.importorskip("onnxruntime")

pytestmark = pytest.mark.usefixtures("numpy_mode")


def mean(x):
    return x.mean(axis=1, keepdims=True)


#: Codes of nets whose graphs are classic afterwards, but for where.
CLASSIC = [
    lambda x, y: x + y, lambda x, y: x - mean(y), lambda x, y: x * mean(y), lambda x, y: y / (x * x + 1),
    lambda x, y: (x * x) ** y, lambda x, y: mnp.maximum(x, y) - mnp.minimum(x, 0.5),
    lambda x, y: 1 + x - 2, lambda x, y: 2 - x, lambda x, y: 3 * x / 2, lambda x, y: 2 / (x * x + 1),
    lambda x, y: x**3, lambda x, y: 2**x, lambda x, y: -x,
    lambda x, y: mnp.exp(x) + mnp.tanh(y),
    lambda x, y: mnp.log1p(mnp.abs(x)), lambda x, y: mnp.sqrt(x * x), lambda x, y: mnp.copy(x) + y,
    lambda x, y: npx.relu(x) + npx.sigmoid(y),
    lambda x, y: mnp.floor(3 * x) + mnp.ceil(y) + mnp.sign(x),
    lambda x, y: mnp.sin(x) * mnp.cos(y), lambda x, y: mnp.square(x) + mnp.reciprocal(2 + y * y),
    lambda x, y: x.mean(axis=(1, 2)), lambda x, y: x.sum(axis=-1),
    lambda x, y: x.max(axis=1) - x.min(axis=1),
    lambda x, y: x.reshape(2, -1), lambda x, y: npx.reshape(x, (-2, -5)),
    lambda x, y: npx.reshape(x, (-2, -6, 2, 2, -4)),
    lambda x, y: x.transpose(), lambda x, y: mnp.transpose(x, (0, 2, 1)),
    lambda x, y: mnp.swapaxes(x, 0, 2),
    lambda x, y: x[:, -1], lambda x, y: mnp.squeeze(x[:, 1:2], 1), lambda x, y: mnp.expand_dims(x, 1),
    lambda x, y: mnp.concatenate([x, y], axis=-1), lambda x, y: mnp.stack([x, y], axis=1),
    lambda x, y: mnp.where(x < y, x, y), lambda x, y: mnp.where(x > 0.5, x, 1 - y),
    lambda x, y: (x >= y) * x + (x != y) * y, lambda x, y: npx.softmax(x, axis=1),
]  # fmt: skip

#: Those that keep operators of NumPy mode, because no classic one is the same.
KEPT = [
    lambda x, y: x < y, lambda x, y: x % 0.7, lambda x, y: x.var(axis=1),
    lambda x, y: mnp.concatenate([x, y], axis=None),
    lambda x, y: (x < y) * (y < 0.5), lambda x, y: mnp.where(x < 0, x < y, y > 0.5),
    lambda x, y: mnp.sum(x, axis=()), lambda x, y: npx.reshape(x, (-1, -2), reverse=True),
]  # fmt: skip

EXPORTED = [
    lambda x, y: mnp.matmul(x, mnp.swapaxes(y, 1, 2)), lambda x, y: mnp.dot(x[0], y[1].transpose()),
]  # fmt: skip


@pytest.mark.parametrize("code, kept", [(c, False) for c in CLASSIC] + [(c, True) for c in KEPT])
def test_which_operators_become_classic(code, kept):
    trace = Trace(nn.HybridLambda(lambda F, x, y: code(x, y)), [x.shape for x in arguments()])
    graph = Graph(trace.symbol(), inputs=trace.shapes)
    graph.rewrite(classic)
    left = {node.op for node in graph.nodes() if node.op.startswith("_np")} - {"_npi_where"}
    assert bool(left) == kept, left


def arguments():
    return [normal((2, 4, 5)).as_np_ndarray(), normal((2, 4, 5)).as_np_ndarray()]


@pytest.mark.parametrize("code", CLASSIC + KEPT)
def test_deployed_graphs_have_the_same_numbers(code):
    net = nn.HybridLambda(lambda F, x, y: code(x, y))
    given = arguments()
    block = deploy(net, *given, tune=False)
    for values in (given, [x + 0.25 for x in given]):
        got, want = block(*values), net(*values)
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("code", CLASSIC + EXPORTED)
def test_onnx_files_have_the_same_numbers(tmp_path, code):
    net = nn.HybridLambda(lambda F, x, y: code(x, y))
    given = arguments()
    path = export_model(net, [x.shape for x in given], str(tmp_path / "net.onnx"))
    session = onnxruntime.InferenceSession(path)
    names = [each.name for each in session.get_inputs()]
    feeds = {name: given[int(name[-1])].asnumpy() for name in names}
    (got,) = session.run(None, feeds)
    np.testing.assert_allclose(got, net(*given).asnumpy(), rtol=1e-5, atol=1e-5)
