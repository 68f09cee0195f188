"""BatchNorm has gradients beside convolutions over one, two and three axes."""

import mxnet as mx
import numpy as np
import pytest
from mxnet.gluon import nn as stock

from gluon_same import nn
from small_nets import has_right_gradients, normal, operators_of

CONVOLUTIONS = {1: nn.Conv1D, 2: nn.Conv2D, 3: nn.Conv3D}
POOLS = {1: nn.MaxPool1D, 2: nn.MaxPool2D, 3: nn.MaxPool3D}


class Joined(nn.HybridBlock):
    """A normalization of joined arrays, whose axes follow from the layer before."""

    def __init__(self, ndim, norm):
        super().__init__()
        self.before = CONVOLUTIONS[ndim](16, 3, padding="same", in_channels=3)
        self.norm = norm(in_channels=32)
        self.after = CONVOLUTIONS[ndim](16, 3, padding="same", in_channels=32)

    def hybrid_forward(self, F, x):
        y = self.before(x)
        return self.after(F.relu(self.norm(F.concat(F.relu(y), y * 2, dim=1))))


def net_of(form, ndim, norm=nn.BatchNorm):
    mx.random.seed(0)
    if form == "joined":
        net = Joined(ndim, norm)
    else:
        net = nn.HybridSequential()
        conv = CONVOLUTIONS[ndim]
        if form == "first":
            net.add(norm(in_channels=3))
        net.add(conv(16, 3, padding="same", in_channels=3))
        if form == "between":
            net.add(norm(in_channels=16), nn.Activation("relu"))
            net.add(conv(16, 3, strides=2, padding="same", in_channels=16))
        net.add(POOLS[ndim](2, 1, padding="same"))
        if form != "first":
            net.add(norm(in_channels=16))
            net.add(CONVOLUTIONS[ndim](16, 1, in_channels=16))
    net.initialize()
    return net


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("form", ["first", "between", "last", "joined"])
def test_gradients_beside_a_convolution_are_those_of_float64(form, ndim):
    net = net_of(form, ndim)
    has_right_gradients(lambda: net, normal((2, 3, *(6,) * ndim)))


@pytest.mark.parametrize("form", ["between", "last", "joined"])
def test_the_graph_of_a_2d_net_is_that_of_stock_gluon(form):
    for ndim in (2, 3):
        own, plain = (
            operators_of(net_of(form, ndim, norm)(mx.sym.var("data")))
            for norm in (nn.BatchNorm, stock.BatchNorm)
        )
        assert "BatchNorm" in plain and (own == plain) is (ndim == 2)


@pytest.mark.parametrize(
    "axis, shape", [(1, (2, 16, 5)), (-1, (2, 5, 16)), (1, (2, 16)), (1, (2, 16, 3, 4, 5))]
)
def test_results_are_those_of_stock_gluon(axis, shape):
    x, found = mx.nd.array(normal(shape)), []
    for layer in (stock.BatchNorm, nn.BatchNorm):
        block = layer(axis=axis, prefix="norm_")
        block.initialize()
        for hybridized in (False, True):
            block.hybridize(hybridized)
            with mx.autograd.record():
                found.append(block(x).asnumpy())
        found.append(block(x).asnumpy())
        assert repr(block).startswith("BatchNorm(axis")
    for want, got in zip(found[:3], found[3:]):
        np.testing.assert_array_equal(got, want)


def test_numpy_mode(numpy_mode):
    for shape in ((2, 3, 4), (2, 3, 4, 5), (2, 3, 4, 5, 6)):
        block = nn.BatchNorm()
        block.initialize()
        for hybridized in (False, True):
            block.hybridize(hybridized)
            y = block(mx.np.ones(shape))
            assert isinstance(y, mx.np.ndarray) and y.shape == shape
