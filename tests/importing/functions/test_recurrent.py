"""Recurrent layers with masks, against the steps one by one in NumPy."""

import mxnet as mx
import numpy as np
import pytest
from checks import random
from mxnet.gluon import HybridBlock

from gluon_same.importing.functions.recurrent import ACTIVATIONS, GATES, Cell, Weights, recurrent

TIME, BATCH, CHANNELS, UNITS = 7, 5, 3, 4

#: Steps that count, of each sequence: all, none, the first, the last, and some in between.
MASK = np.array(["1111111", "0000000", "1110000", "0001111", "0110101"])
MASK = np.array([list(row) for row in MASK]).astype("float32").T[..., None]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, states, h2h):
    h, c = states
    i, f, g, o = np.split(x + h2h(h), 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return [sigmoid(o) * np.tanh(c), c]


def gru(x, states, h2h):
    (h,) = states
    (xr, xz, xn), (hr, hz, hn) = (np.split(each, 3, axis=1) for each in (x, h2h(h)))
    z = sigmoid(xz + hz)
    return [z * h + (1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn)]


def rnn(x, states, h2h):
    return [np.tanh(x + h2h(states[0]))]


def reference(kind, x, mask, states, i2h, h2h, i2h_bias, h2h_bias):
    step, results = {"LSTM": lstm, "GRU": gru, "RNN": rnn}[kind], []
    for data, counts in zip(x, mask != 0):
        after = step(data @ i2h.T + i2h_bias, states, lambda h: h @ h2h.T + h2h_bias)
        states = [np.where(counts, new, old) for new, old in zip(after, states)]
        results.append(states[0])
    return [np.stack(results), *states]


class Layer(HybridBlock):
    def __init__(self, kind, clip=0):
        super().__init__()
        self.cell = Cell(kind, UNITS, ACTIVATIONS[kind], reset_after=True, clip=clip)

    def hybrid_forward(self, F, x, mask, *arrays):
        states, weights = arrays[:-4], arrays[-4:]
        y, last = recurrent(F, x, self.cell, Weights(*weights), states, mask)
        return [y, *last]


def arrays_for(kind, states):
    size = GATES[kind] * UNITS
    shapes = [(BATCH, UNITS)] * (states * (1 + (kind == "LSTM")))
    shapes += [(size, CHANNELS), (size, UNITS), (size,), (size,)]
    return [random(*shape, low=-1, high=1, seed=i) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("kind", GATES)
def test_steps_that_do_not_count_leave_the_states_as_they_are(kind, states, hybridize):
    layer = Layer(kind)
    layer.hybridize(hybridize)
    x, arrays = random(TIME, BATCH, CHANNELS, low=-1, high=1, seed=9), arrays_for(kind, states)
    given = arrays[:-4] or [np.zeros((BATCH, UNITS))] * (1 + (kind == "LSTM"))
    want = reference(kind, x, MASK, given, *arrays[-4:])
    x[~np.broadcast_to(MASK != 0, x.shape)] = np.nan  # of which nothing may remain
    # A mask may hold any numbers but 0.
    for mask in (MASK, -3.5 * MASK):
        got = layer(*map(mx.nd.array, (x, mask, *arrays)))
        for one, other in zip(got, want):
            np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", GATES)
def test_gradients_are_those_of_the_loop(kind):
    x = random(TIME, BATCH, CHANNELS, low=-1, high=1, seed=9)
    gradients = []
    for layer in (Layer(kind), Layer(kind, clip=100)):  # a limit requires the loop
        assert bool(layer.cell.fused) != bool(layer.cell.clip)
        given = [mx.nd.array(each) for each in (x, MASK, *arrays_for(kind, True))]
        for each in given:
            each.attach_grad()
        with mx.autograd.record():
            parts = [(y * mx.nd.arange(y.size).reshape(y.shape)).sum() for y in layer(*given)]
            sum(parts).backward()
        gradients.append([each.grad.asnumpy() for each in given])
    for one, other in zip(*gradients):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 * np.abs(other).max())


def test_states_do_not_grow_in_steps_that_do_not_count():
    layer = Layer("RNN")
    layer.cell = layer.cell._replace(activations=(("relu", {}),))
    mask = np.zeros((300, BATCH, 1))
    mask[:3] = 1
    x, arrays = random(300, BATCH, CHANNELS, low=-1, high=1), arrays_for("RNN", False)
    arrays[1] = 1.5 * np.eye(UNITS)  # after 300 steps, states would be infinite, and gradients NaN
    given = [mx.nd.array(each) for each in (x, mask, *arrays)]
    for each in given:
        each.attach_grad()
    with mx.autograd.record():
        layer(*given)[1].sum().backward()
    assert all(np.isfinite(each.grad.asnumpy()).all() for each in given)
    assert np.abs(given[3].grad.asnumpy()).max() > 0


@pytest.mark.parametrize("kind", GATES)
def test_masks_need_no_loop(kind):
    names = ("data", "mask", "i2h", "h2h", "i2h_bias", "h2h_bias")
    symbol = mx.sym.Group(Layer(kind)(*map(mx.sym.var, names)))
    assert "RNN" in symbol.tojson() and "foreach" not in symbol.tojson()
