"""Graphs in 8-bit integers."""

import mxnet as mx
import numpy as np
import pytest
from mxnet import gluon

import gluon_same


def returned_and_used(F, y):
    y = F.relu(y)
    return y, F.sigmoid(y)


@pytest.mark.parametrize(
    "make", [lambda: gluon.nn.Dense(8), lambda: gluon.nn.Conv2D(8, 1)], ids=["dense", "2-D"]
)
@pytest.mark.parametrize(
    "results",
    [lambda F, y: (y, F.identity(y)), lambda F, y: (F.relu(y),) * 2, returned_and_used],
    ids=["twice", "activation twice", "returned and used"],
)
def test_results_that_are_returned_twice_or_used_too(exact_int8, make, results):
    net = gluon.nn.HybridSequential()
    net.add(make(), gluon.nn.HybridLambda(results))
    net.initialize()
    x = mx.nd.random.normal(shape=(4, 8, 2, 2))
    block = gluon_same.deploy(net, x.shape, dtype=exact_int8, data=x, tune=False)
    for found, want in zip(block(x), net(x)):
        np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), atol=0.05 * want.max().asscalar())


def test_a_dense_result_that_several_layers_use(exact_int8):
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = gluon.nn.Dense(10, flatten=False)
            self.layer = gluon.nn.Conv2D(8, 3, padding=1, activation="relu")

        def hybrid_forward(self, F, x):
            y = self.dense(x)
            z = self.layer(y)
            return F.sigmoid(z), (y + z) * F.sigmoid(z)

    net = Net()
    net.initialize()
    x = mx.nd.random.normal(shape=(3, 8, 4, 8))
    net(x)
    block = gluon_same.deploy(net, x.shape, dtype=exact_int8, data=x, tune=False)
    for found, want in zip(block(x), net(x)):
        np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), atol=0.05 * want.max().asscalar())


def test_inputs_without_use(exact_int8):
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.convolution = gluon.nn.Conv2D(8, 3, in_channels=2)

        def hybrid_forward(self, F, unused, x):
            return self.convolution(x)

    net, shapes = Net(), [(1, 5), (1, 2, 6, 6)]
    net.initialize()
    batch = tuple(mx.nd.random.uniform(shape=shape) for shape in shapes)
    deployed = gluon_same.deploy(net, *shapes, dtype=exact_int8, data=[batch], tune=False)
    want = net(*batch).asnumpy()
    np.testing.assert_allclose(deployed(*batch).asnumpy(), want, atol=0.02 * abs(want).max())


def test_a_net_that_uses_no_input(int8):
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = self.params.get("weight", shape=(2, 3), init="ones")

        def hybrid_forward(self, F, x, weight):
            return F.relu(weight)

    net = Net()
    net.initialize()
    with pytest.raises(ValueError, match="requires a net that uses its inputs"):
        gluon_same.deploy(net, (1, 3), dtype=int8, data=np.ones((1, 3)), tune=False)


class Joined(gluon.HybridBlock):
    """A dense layer whose weight and bias consist of two parameters each."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            for name, shape in (("w", (4, 8)), ("v", (4, 8)), ("b", (4,)), ("c", (4,))):
                setattr(self, name, self.params.get(name, shape=shape, init=mx.init.Uniform(1)))

    def hybrid_forward(self, F, x, w, v, b, c):
        y = F.FullyConnected(x, F.concat(w, v, dim=0), F.concat(b, c, dim=0), num_hidden=8)
        return F.relu(y)


def test_weights_that_are_folded_constants_are_quantized(exact_int8):
    net = Joined()
    net.initialize()
    x = mx.nd.random.normal(shape=(16, 8))
    block = gluon_same.deploy(net, x.shape, dtype=exact_int8, data=x, tune=False)
    assert 1e-4 < block.report.error < 0.05
    assert any("quantize" in name for name in block.collect_params())


class WithConstants(gluon.HybridBlock):
    """A convolution, and outputs that follow from parameters alone."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.layer = gluon.nn.Conv2D(8, 3, in_channels=3)
            self.table = self.params.get("table", shape=(3, 4), init=mx.init.Uniform(9))

    def hybrid_forward(self, F, x, table):
        twice = table * 2
        large = F.broadcast_to(F.reshape(twice, shape=(1, 12)), shape=(4096, 12))  # which is not folded
        return self.layer(x), twice, F.cast(table, dtype="int32"), twice, large


def test_outputs_may_be_constants(exact_int8):
    net = WithConstants()
    net.initialize()
    x = mx.nd.random.normal(shape=(1, 3, 8, 8))
    block = gluon_same.deploy(net, x.shape, dtype=exact_int8, data=x, tune=False)
    table = net.table.data().asnumpy()
    large = np.broadcast_to(table.reshape(1, 12) * 2, (4096, 12))
    for got, want in zip(block(x)[1:], (table * 2, table.astype("int32"), table * 2, large)):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.asnumpy(), want)


def test_messages_name_a_net_without_a_name_by_its_class():
    net = Joined(prefix="")
    net.initialize()
    with pytest.raises(ValueError, match="Therefore Joined could not be traced"):
        gluon_same.deploy(net, (2, 9))
