"""Gradients with ``grad_req='add'`` of layers that reverse data.

MXNet's ``reverse`` ignores it; the operator before it takes its gradient, and adds it.
"""

import mxnet as mx
import numpy as np
import pytest

import gluon_same.keras_backend as K
from gluon_same import nn
from gluon_same.importing.functions.recurrent import Cell
from gluon_same.keras.layers.rnn import Bidirectional, Flow, Recurrent

DATA = [np.random.RandomState(i).normal(size=(2, 5, 3)).astype("float32") for i in range(2)]


def recurrent(kind, fused=False, **kwargs):
    new, gate = ((name if fused else nn.Activation(name), {}) for name in ("tanh", "sigmoid"))
    activations = (gate, new, new)[: 3 if kind == "LSTM" else 2]
    return Recurrent(Cell(kind, 4, activations, True), 3, Flow(**kwargs))


def bidirectional(kind, mode):
    layers = [recurrent(kind, sequences=True, backwards=backwards) for backwards in (False, True)]
    return Bidirectional(*layers, mode)


class Transposed(mx.gluon.HybridBlock):
    """A transposed convolution of the Keras backend, whose weight another operator computes."""

    def __init__(self):
        super().__init__()
        self.weight = self.params.get("weight", shape=(3, 2, 3))

    def hybrid_forward(self, F, x, weight):
        return K.conv_transpose(x, F.identity(weight), strides=2, data_format="channels_last")


LAYERS = {
    "LSTM": lambda: recurrent("LSTM", backwards=True),
    "GRU": lambda: recurrent("GRU", backwards=True, sequences=True),
    "fused": lambda: recurrent("LSTM", True, backwards=True, sequences=True),
    "concat": lambda: bidirectional("LSTM", "concat"),
    "ave": lambda: bidirectional("GRU", "ave"),
    "transposed": Transposed,
}


def passes(layer, grad_req):
    """Train two passes; return the gradients of the data and of the parameters after each."""
    x = mx.nd.zeros((2, 5, 3))
    x.attach_grad(grad_req)
    parameters = layer.collect_params().values()
    for p in parameters:
        p.grad_req = grad_req
        p.zero_grad()
    found = []
    for data in DATA:
        x[:] = mx.nd.array(data)
        with mx.autograd.record():
            y = layer(x)
            y = y[0] if isinstance(y, (list, tuple)) else y
            loss = (y * y).sum()
        loss.backward()
        found.append([x.grad.asnumpy(), *(p.grad().asnumpy() for p in parameters)])
    return found


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_added(name, hybridize):
    layer = LAYERS[name]()
    layer.initialize(mx.init.Normal(0.5))
    layer.hybridize(hybridize)
    written, added = passes(layer, "write"), passes(layer, "add")
    for one, other, total in zip(*written, added[-1]):
        assert np.abs(one).max() > 1e-3 and np.abs(other).max() > 1e-3
        np.testing.assert_allclose(total, one + other, rtol=1e-4, atol=1e-5)
