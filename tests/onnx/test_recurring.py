"""Recurrent layers in ONNX files."""

import itertools

import mxnet as mx
import numpy as np
import pytest
from imported import close, reference
from mxnet.gluon import HybridBlock, rnn

from gluon_same.onnx import export_model, import_model
from onnx_files import operators

KINDS = [
    (rnn.LSTM, {}),
    (rnn.GRU, {}),
    (rnn.RNN, {"activation": "relu"}),
    (rnn.RNN, {"activation": "tanh"}),
]


class Stateful(HybridBlock):
    """A layer with all its inputs and results."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def hybrid_forward(self, F, x, *states):
        states, lengths = list(states), {}
        if self.layer._use_sequence_length:
            lengths["sequence_length"] = states.pop()
        y, states = self.layer(x, states, **lengths)
        return (y, *states)


def normal(*shape):
    return mx.nd.array(np.random.RandomState(sum(shape)).normal(size=shape))


def initialized(net):
    net.initialize(mx.init.Uniform(0.7))
    return net


@pytest.mark.parametrize("kind, how", KINDS)
@pytest.mark.parametrize("layers, bidirectional", itertools.product((1, 3), (False, True)))
@pytest.mark.parametrize("layout, channels", [("TNC", 5), ("NTC", 8)])
@pytest.mark.parametrize("dynamic", [False, True])
def test_layers_without_states(kind, how, layers, bidirectional, layout, channels, dynamic, tmp_path):
    net = initialized(kind(8, layers, layout=layout, bidirectional=bidirectional, **how))
    x, path = normal(4, 3, channels), tmp_path / "net.onnx"
    want = net(x)
    export_model(net, x.shape, path, dynamic=dynamic)
    close([want], reference(path, x.asnumpy()))
    assert "Expand" not in operators(path)  # of states, which are zero
    close(import_model(path, input_shapes=x.shape)(x), [want.asnumpy()])


@pytest.mark.parametrize("kind, how", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_layers_with_states(kind, how, bidirectional, tmp_path):
    net = initialized(Stateful(kind(6, 2, bidirectional=bidirectional, input_size=5, **how)))
    states = [normal(2 * (1 + bidirectional), 3, 6) * n for n in range(1, 3 if kind is rnn.LSTM else 2)]
    inputs, path = [normal(4, 3, 5), *states], tmp_path / "net.onnx"
    want = net(*inputs)
    export_model(net, [x.shape for x in inputs], path)
    close(want, reference(path, *(x.asnumpy() for x in inputs)))


@pytest.mark.parametrize(
    "how, words",
    [
        ({"projection_size": 3}, "ONNX has no projection_size"),
        ({"state_clip_min": -1, "state_clip_max": 1}, "ONNX has no lstm_state_clip_min"),
        ({"use_sequence_length": True}, "MXNet ignores its sequence_length on CPUs"),
    ],
)
def test_other_layers_are_refused(how, words, tmp_path):
    net = initialized(Stateful(rnn.LSTM(6, input_size=5, **how)))
    shapes = [(4, 3, 5), (1, 3, how.get("projection_size", 6)), (1, 3, 6)]
    shapes += [(3,)] * how.get("use_sequence_length", False)
    with pytest.raises(ValueError, match=words):
        export_model(net, shapes, tmp_path / "net.onnx")
