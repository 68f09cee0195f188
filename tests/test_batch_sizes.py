"""Nets whose first axis is no batch, or becomes a spatial axis."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same import nn, specialize


class Image(nn.HybridBlock):
    """Reads an image of shape (height, width, channels), which has no batch."""

    def __init__(self, *layers):
        super().__init__()
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(*layers)

    def hybrid_forward(self, F, x):
        return self.body(F.expand_dims(F.transpose(x, axes=(2, 0, 1)), axis=0))


@pytest.mark.parametrize(
    "layers, size",
    [
        (lambda: [nn.Conv2D(4, 2, padding="same", activation="relu"), nn.MaxPool2D(2, 2)], 8),
        (lambda: [nn.Conv2D(4, 3, 2, "same"), nn.Conv2D(4, 3, 2, "same")], 7),
        (lambda: [nn.Conv2D(4, 2, padding="same"), nn.Activation("relu"), nn.AvgPool2D(3, 2)], 9),
    ],
)
def test_the_first_axis_may_be_the_height(layers, size):
    net = Image(*layers())
    net.initialize()
    block = specialize(net, (size, 8, 3))
    for height in (size, size + 1, size + 2, size + 4, 3 * size):
        x = mx.nd.random.normal(shape=(height, 8, 3))
        np.testing.assert_allclose(block(x).asnumpy(), net(x).asnumpy(), 1e-4, 1e-5)
