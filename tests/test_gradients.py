"""Layers of which MXNet alone has no gradient, and graphs without what their gradients require."""

from functools import partial

import mxnet as mx
import numpy as np
import onnx
import pytest
from mxnet.gluon import HybridBlock
from mxnet.gluon import nn as stock

from gluon_same import deploy, functional, nn, specialize
from gluon_same.deployment.fuse import has_avx512
from gluon_same.gradients import channels_of
from gluon_same.onnx import export_model
from small_nets import has_right_gradients, normal, operators_of

#: oneDNN has other memory layouts there. After an error, later operators of the process fail, too.
in_parts = pytest.mark.skipif(has_avx512(), reason="not tried with AVX-512")

TRANSPOSED = {1: nn.Conv1DTranspose, 2: nn.Conv2DTranspose, 3: nn.Conv3DTranspose}


def one_filter(ndim=2, channels=16, padding="same", **given):
    mx.random.seed(0)
    layer = TRANSPOSED[ndim](1, 4, 2, padding, in_channels=channels, prefix="up_", **given)
    layer.initialize(mx.init.Normal(0.5))
    return layer


def gradients(layer, x):
    x.attach_grad()
    with mx.autograd.record():
        loss = mx.nd.square(layer(x)).sum()
    loss.backward()
    trained = [p for p in layer.collect_params().values() if p.grad_req != "null"]
    return [x.grad.asnumpy(), *(p.grad().asnumpy() for p in trained)]


class Joined(HybridBlock):
    """Joins the results of two convolutions, and convolves them."""

    def __init__(self, counts):
        super().__init__()
        self.parts = [stock.Conv2D(n, 3, padding=1, in_channels=16) for n in counts]
        self.last = stock.Conv2D(16, 1, in_channels=sum(counts))
        for part in self.parts:
            self.register_child(part)

    def hybrid_forward(self, F, x):
        return self.last(F.concat(*(part(x) for part in self.parts), dim=1))


def normalized(ndim):
    conv, net = {1: stock.Conv1D, 3: stock.Conv3D}[ndim], stock.HybridSequential()
    net.add(conv(16, 3, use_bias=False), stock.BatchNorm(beta_initializer="ones"), conv(16, 1))
    return net


def one_filter_of_stock(channels):
    net = stock.HybridSequential()
    net.add(stock.Conv2D(channels, 1, activation="relu"), stock.Conv2DTranspose(1, 4, 2, 1))
    return net


#: Nets that fail or crash in training, hybridized, and the number of axes of their data.
FAILING = [
    *((partial(Joined, counts), 2) for counts in [(4, 12), (8, 16), (3, 5), (12, 12, 8)]),
    *((partial(normalized, ndim), ndim) for ndim in (1, 3)),
    *(pytest.param(partial(one_filter_of_stock, n), 2, marks=in_parts) for n in (8, 16, 24)),
]


@pytest.mark.parametrize("make, ndim", FAILING)
def test_specialized_nets_learn_where_mxnet_has_no_gradient(make, ndim):
    """MXNet computes float64 without oneDNN."""
    net, shape, found = make(), (2, 16, *(5, 6, 7)[:ndim]), []
    net.initialize(mx.init.Normal(0.5))
    net(normal(shape))
    for dtype in ("float32", "float64"):
        net.cast(dtype)
        found.append(gradients(specialize(net, shape), normal(shape, dtype=dtype)))
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * np.abs(other).max())


@in_parts
@pytest.mark.parametrize("padding", ["same", "valid", 1, ((0, 1), (2, 1))])
@pytest.mark.parametrize("channels", [3, 8, 16, 24, 64])
def test_a_transposed_convolution_of_one_filter_learns(channels, padding):
    layer = one_filter(2, channels, padding, activation="tanh")
    has_right_gradients(lambda: layer, normal((2, channels, 5, 4)))


@in_parts
@pytest.mark.parametrize("ndim", [1, 3])
def test_it_learns_over_other_axes(ndim):
    """MXNet has no such operator for float64 over three axes: the sums are those of two filters."""
    layer, x = one_filter(ndim), mx.nd.array(normal((2, 16, *(4,) * ndim)))
    two = TRANSPOSED[ndim](2, 4, 2, "same", in_channels=16)
    two.initialize()
    two.weight.set_data(mx.nd.concat(layer.weight.data(), layer.weight.data(), dim=1))
    for hybridized in (False, True):
        layer.hybridize(hybridized)
        (data, weight, _), (want, wanted, _) = gradients(layer, x), gradients(two, x)
        np.testing.assert_allclose(data, want / 2, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(weight, wanted[:, :1], rtol=1e-4, atol=1e-4)


@in_parts
def test_it_learns_after_its_channels_were_inferred():
    layer = nn.Conv2DTranspose(1, 4, 2, "same")
    layer.initialize()
    layer(mx.nd.ones((1, 16, 4, 4)))
    has_right_gradients(lambda: layer, normal((2, 16, 5, 4)))


@in_parts
@pytest.mark.parametrize("between", [
    list,
    lambda: [nn.BatchNorm(), nn.Activation("relu")],
    lambda: [nn.LeakyReLU(0.1), nn.BatchNorm()],
])  # fmt: skip
@pytest.mark.parametrize("channels", [4, 12, 16])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_a_hybridized_net_infers_its_channels_before_they_are_known(ndim, channels, between):
    mx.random.seed(0)
    conv, net, found = TRANSPOSED[ndim], nn.HybridSequential(), []
    net.add(conv(channels, 3, 2, "same"), *between(), conv(1, 4, 2, "same"))
    net.initialize(mx.init.Normal(0.5))
    x = mx.nd.array(normal((2, 3, *(4,) * ndim)))
    for hybridized in (True, False):
        net.hybridize(hybridized)
        x.attach_grad()
        with mx.autograd.record():
            loss = mx.nd.square(net(x)).sum()
        loss.backward()
        found.append([x.grad.asnumpy(), net[-1].weight.grad().asnumpy()])
    assert found[0][1].shape == (channels, 1, *(4,) * ndim)
    for got, want in zip(*found):
        assert np.abs(want).max() > 0
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * np.abs(want).max())


def test_unknown_channels_stay_open():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3), nn.HybridLambda(lambda F, x: F.slice_axis(x, axis=1, begin=0, end=6)))
    net.add(nn.Conv2DTranspose(1, 4, 2, "same"))
    net.initialize()
    net.hybridize()
    assert net(mx.nd.ones((1, 3, 5, 5))).shape == (1, 1, 6, 6)
    assert net[-1].weight.shape == (6, 1, 4, 4)


@pytest.mark.parametrize(
    "end, channels", [((None, None, -1), 16), ((None, 6), 0), ((None, None, None, 4), 16)]
)
def test_crops_of_images_keep_their_channels(end, channels):
    x = nn.Conv2D(16, 3)(mx.sym.var("data"))
    cropped = mx.sym.slice(x, begin=(None,) * len(end), end=end)
    assert channels_of(mx.sym.Activation(cropped, act_type="relu")) == channels


@in_parts
def test_the_function_of_arrays_learns():
    x, weight = mx.nd.array(normal((2, 16, 5, 4))), mx.nd.array(normal((16, 1, 3, 3)))
    given = dict(kernel=3, num_filter=1, stride=2, layout="NCHW")
    symbol = functional.deconvolution(mx.sym, *map(mx.sym.var, "xw"), **given)
    want = mx.nd.CachedOp(symbol)(x, weight).asnumpy()
    found = []
    for dtype in ("float32", "float64"):  # the latter without oneDNN
        data = x.astype(dtype)
        data.attach_grad()
        with mx.autograd.record():
            y = functional.deconvolution(mx.nd, data, weight.astype(dtype), **given)
        y.backward()
        np.testing.assert_allclose(y.asnumpy(), want, rtol=1e-4, atol=1e-5)
        found.append(data.grad.asnumpy())
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-5)


@in_parts
@pytest.mark.parametrize("padding", ["same", 1])
def test_graphs_without_gradients_have_one_operator(padding, tmp_path):
    layer, shape = one_filter(padding=padding), (2, 16, 5, 4)
    x = mx.nd.array(normal(shape))
    want, data = layer(x).asnumpy(), mx.sym.var("data")
    assert operators_of(layer(data)).count("Deconvolution") == 2
    block = specialize(layer, shape)
    assert operators_of(block._graphs[False]) == ["Deconvolution"]
    np.testing.assert_allclose(gradients(block, x)[0], gradients(layer, x)[0], rtol=1e-4, atol=1e-4)
    deployed = deploy(layer, shape, tune=False)
    assert operators_of(deployed._graphs[False]).count("Deconvolution") == 1
    for got in (block(x), deployed(x)):
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-5)
    path = export_model(layer, shape, tmp_path / "net.onnx")
    assert [node.op_type for node in onnx.load(path).graph.node] == ["ConvTranspose"]


def test_a_specialized_net_normalizes_without_copies_in_inference():
    net = nn.HybridSequential()
    net.add(nn.Conv3D(16, 3, padding="same"), nn.BatchNorm())
    net.initialize()
    x = mx.nd.array(normal((2, 3, 4, 4, 4)))
    want = net(x).asnumpy()
    block = specialize(net, x.shape)
    assert operators_of(block._graphs[False]) == ["Convolution", "BatchNorm"]
    np.testing.assert_allclose(block(x).asnumpy(), want, rtol=1e-5, atol=1e-6)
    with mx.autograd.record():
        loss = block(x).sum()
    loss.backward()
    np.testing.assert_allclose(net[1].beta.grad().asnumpy(), 2 * 4**3)  # the elements of a channel
