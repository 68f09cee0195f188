import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd

import reference
from gluon_same import nn, specialize
from small_nets import every_way


def test_a_2x2_pool_at_stride_one_keeps_the_size():
    x = mx.nd.arange(25).reshape((1, 1, 5, 5))
    want = np.minimum(np.arange(5) + 1, 4)[:, None] * 5 + np.minimum(np.arange(5) + 1, 4)
    net = nn.MaxPool2D(2, 1, padding="same")
    for run in every_way(net, x.shape):
        np.testing.assert_array_equal(run(x).asnumpy()[0, 0], want)


@pytest.mark.parametrize("size, out", [(30, 15), (28, 14), (14, 7), (7, 4), (13, 7), (1, 1)])
def test_halving_pools(size, out):
    net = nn.MaxPool2D(2, padding="same")
    assert net(mx.nd.ones((1, 2, size, size))).shape == (1, 2, out, out)


def test_a_graph_for_every_size_refuses_the_one_size_it_cannot_serve():
    # Strided even kernels use MXNet's rounding, which requires that the kernel fits.
    net = nn.MaxPool2D(2, padding="same")
    net.hybridize()
    assert net(mx.nd.ones((1, 2, 2, 2))).shape == (1, 2, 1, 1)
    with pytest.raises(mx.MXNetError, match="exceeds input"):
        net(mx.nd.ones((1, 2, 1, 1))).wait_to_read()
    for block in (specialize(net, (1, 2, 1, 1)), specialize(net)):
        assert block(mx.nd.ones((1, 2, 1, 1))).shape == (1, 2, 1, 1)


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_max_pooling_never_picks_the_padding(stride, hybridize):
    x = -1 - mx.nd.random.uniform(shape=(1, 2, 7, 8))
    net = nn.MaxPool2D(4, stride, padding="same")
    net.hybridize(hybridize)
    assert net(x).max().asscalar() < -1


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_channels_last(kind, ndim, stride):
    name = {"max": "MaxPool", "avg": "AvgPool"}[kind] + f"{ndim}D"
    layout = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[ndim]
    size = (7, 8, 5)[:ndim]
    x = mx.nd.random.normal(shape=(2, *size, 3))
    net = getattr(nn, name)(4, stride, "same", layout=layout)
    pads = reference.same_pads(size, (4,) * ndim, (stride,) * ndim, (1,) * ndim)
    want = reference.pooling(np.moveaxis(x.asnumpy(), -1, 1), (4,) * ndim, (stride,) * ndim, pads, kind)
    for run in every_way(net, x.shape):
        np.testing.assert_allclose(np.moveaxis(run(x).asnumpy(), -1, 1), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_float16_and_float64_max_pooling_in_every_graph(stride):
    for dtype in ("float16", "float64"):
        x = mx.nd.random.normal(shape=(1, 2, 7, 9)).astype(dtype)
        net = nn.MaxPool2D(3, stride, "same")
        want = net(x).asnumpy()
        net.hybridize()
        got = net(x).asnumpy()
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_infinities_and_nans_spread_as_in_the_stock_operator(stride):
    x = mx.nd.random.normal(shape=(1, 1, 7, 7))
    x[0, 0, 3, 3], x[0, 0, 0, 0], x[0, 0, 6, 6] = np.nan, np.inf, -np.inf
    net = nn.MaxPool2D(3, stride, "same")
    want = net(x).asnumpy()
    assert np.isinf(want).any()
    net.hybridize()
    np.testing.assert_array_equal(net(x).asnumpy(), want)


def test_gradients_of_padded_edges_go_to_the_edge():
    # The largest element is at a corner, and the gradients of all its windows go there.
    x = mx.nd.zeros((1, 1, 5, 5))
    x[0, 0, 4, 4] = 1
    net = nn.MaxPool2D(5, 3, padding="same")
    gradients = []
    for run in (lambda: None, net.hybridize):
        run()
        x.attach_grad()
        with autograd.record():
            y = net(x)
        y.backward()
        gradients.append(x.grad[0, 0, 4, 4].asscalar())
    assert gradients == [1, 1]


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: nn.MaxPool2D(2, padding="same", ceil_mode=True), ValueError, "ceil_mode=True"),
        (lambda: nn.MaxPool2D(2, padding="causal"), ValueError, "1-D convolution only"),
        (lambda: nn.MaxPool1D(2, padding="causal"), ValueError, "1-D convolution only"),
        (lambda: nn.MaxPool2D(2, padding="full"), ValueError, "padding='full'"),
        (lambda: nn.MaxPool2D(0), ValueError, "pool_size=0"),
        (lambda: nn.MaxPool2D((2, 2, 2)), ValueError, "pool_size"),
        (lambda: nn.MaxPool2D(2, 0), ValueError, "strides=0"),
        (lambda: nn.MaxPool2D(2, padding=2), ValueError, "is not less than pool_size"),
        (lambda: nn.MaxPool1D(2, padding=((2, 0),)), ValueError, "is not less than pool_size"),
    ],
)
def test_bad_arguments_are_refused_at_construction(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("hybridize", [False, True])
def test_data_of_another_rank_are_refused(hybridize):
    net = nn.MaxPool2D(2, padding="same")
    net.hybridize(hybridize)
    with pytest.raises(ValueError, match=r"\(3, 8, 8\)"):
        net(mx.nd.ones((3, 8, 8)))
