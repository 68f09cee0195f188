"""Recurrent nets and nets with loops, deployed and specialized."""

import mxnet as mx
import numpy as np
import pytest
from mxnet.gluon import rnn

import gluon_same
from gluon_same import nn
from gluon_same.importing.functions.recurrent import Cell
from gluon_same.keras.layers.rnn import Flow, Recurrent

SHAPE = (2, 4, 7)


class Unrolled(nn.HybridBlock):
    """A cell, unrolled over four steps."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.cell = rnn.GRUCell(8)

    def hybrid_forward(self, F, x):
        return self.cell.unroll(4, x, layout="NTC", merge_outputs=True)[0]


def of_keras(kind, **kwargs):
    new, gate = ((nn.Activation(name), {}) for name in ("tanh", "sigmoid"))
    activations = (gate, new, new)[: 3 if kind == "LSTM" else 2]
    return Recurrent(Cell(kind, 8, activations, True), 4, Flow(sequences=True, **kwargs))


RECURRENT = {
    "LSTM": lambda: rnn.LSTM(8, layout="NTC"),
    "GRU": lambda: rnn.GRU(8, 2, bidirectional=True, layout="NTC"),
    "cell": Unrolled,
    "loop of an LSTM": lambda: of_keras("LSTM", backwards=True),
    "loop of a GRU": lambda: of_keras("GRU"),
}


class Net(nn.HybridBlock):
    """A strided convolution over time, a recurrent layer, and another convolution."""

    def __init__(self, recurrent):
        super().__init__()
        with self.name_scope():
            self.first = nn.Conv1D(4, 3, 2, padding="same")
            self.recurrent = recurrent
            self.last = nn.Conv1D(3, 2, padding="same")

    def hybrid_forward(self, F, x):
        x = self.recurrent(F.transpose(self.first(x), axes=(0, 2, 1)))
        return self.last(F.transpose(x, axes=(0, 2, 1)))


@pytest.fixture(params=RECURRENT)
def net(request):
    net = Net(RECURRENT[request.param]())
    net.initialize(mx.init.Xavier())
    return net


def same_numbers(block, net):
    for seed in (1, 2):
        x = mx.nd.array(np.random.RandomState(seed).normal(size=SHAPE))
        np.testing.assert_allclose(block(x).asnumpy(), net(x).asnumpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("tune", [False, True])
def test_they_are_deployed(net, tune, tmp_path):
    block = gluon_same.deploy(net, SHAPE, tune=tune)
    same_numbers(block, net)
    block.export(str(tmp_path / "net"))
    files = str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    same_numbers(mx.gluon.SymbolBlock.imports(*files), net)


def test_they_are_specialized(net):
    net(mx.nd.ones(SHAPE))
    x = mx.nd.array(np.random.RandomState(0).normal(size=SHAPE))
    expected = net(x).asnumpy()
    block = gluon_same.specialize(net, SHAPE)
    np.testing.assert_allclose(block(x).asnumpy(), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(gluon_same.specialize(net)(x).asnumpy(), expected, rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="is specialized"):
        block(mx.nd.ones((2, 4, 9)))


def test_a_layer_in_a_loop_and_outside_serves_every_size():
    class Looped(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.layer = nn.Conv1D(2, 3, 2, padding="same", in_channels=2)

        def hybrid_forward(self, F, x):
            steps = F.transpose(F.reshape(x, (0, 0, -4, -1, 5)), axes=(2, 0, 1, 3))
            out, _ = F.contrib.foreach(lambda step, state: (self.layer(step), state), steps, [])
            return self.layer(x), out

    net = Looped()
    net.initialize(mx.init.Xavier())
    x = mx.nd.random.normal(shape=(1, 2, 20))
    want = [y.asnumpy() for y in net(x)]
    for got, expected in zip(gluon_same.specialize(net, x.shape)(x), want):
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-4, atol=1e-6)
    for got, expected in zip(gluon_same.deploy(net, x.shape, tune=False)(x), want):
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-4, atol=1e-6)


def test_int8_leaves_recurrent_layers_in_float32(exact_int8):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, padding="same"), nn.HybridLambda(lambda F, x: F.reshape(x, (0, 8, -1))))
    net.add(nn.Conv1D(8, 3, padding="same"), rnn.LSTM(8, layout="NTC"), nn.Dense(4))
    net.initialize(mx.init.Xavier())
    x = mx.nd.random.normal(shape=(2, 3, 4, 4))
    block = gluon_same.deploy(net, x.shape, dtype="int8", data=x, tune=False)
    assert 0 < block.report.error < 0.1
