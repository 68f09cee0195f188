import mxnet as mx
import numpy as np
import pytest

from gluon_same import geometry, nn
from gluon_same.model_zoo import TinyDarkNet, tiny_darknet


@pytest.fixture(scope="module")
def net():
    net = TinyDarkNet()
    net.initialize(mx.init.Xavier())
    return net


def picture(height, width=None):
    return mx.nd.random.uniform(shape=(1, 3, height, width or height))


@pytest.mark.parametrize("size, route, last", [(416, 26, 13), (320, 20, 10), (32, 2, 1)])
def test_returns_the_route_and_the_last_map(net, size, route, last):
    shapes = [out.shape for out in net(picture(size))]
    assert shapes == [(1, 256, route, route), (1, 1024, last, last)]


def test_sizes_that_are_not_multiples_of_32_are_rounded_up(net):
    for height, width in ((33, 65), (47, 90)):
        route, out = net(picture(height, width))
        assert route.shape[2:] == (geometry.ceil_div(height, 16), geometry.ceil_div(width, 16))
        assert out.shape[2:] == (geometry.ceil_div(height, 32), geometry.ceil_div(width, 32))


def test_one_hybridized_graph_serves_every_size(net):
    pictures = [picture(96), picture(97), picture(64, 131), picture(417)]
    want = [[out.asnumpy() for out in net(x)] for x in pictures]
    net.hybridize()
    for x, outs in zip(pictures, want):
        for have, out in zip(net(x), outs):
            np.testing.assert_allclose(have.asnumpy(), out, rtol=1e-4, atol=1e-5)
    net.hybridize(False)


def test_layers_are_those_of_yolov3_tiny(net):
    kinds = [type(layer).__name__ for layer in net.features]
    convolution = ["Conv2D", "BatchNorm", "LeakyReLU"]
    assert kinds == (convolution + ["MaxPool2D"]) * 6 + convolution
    strides = [layer._kwargs["stride"][0] for layer in net.features if isinstance(layer, nn.MaxPool2D)]
    assert strides == [2, 2, 2, 2, 2, 1]


def test_parameter_count(net):
    net(picture(32))
    counts = [int(np.prod(p.shape)) for p in net.collect_params().values()]
    channels = [3, 16, 32, 64, 128, 256, 512, 1024]
    assert sum(counts) == sum(9 * i * o + 4 * o for i, o in zip(channels, channels[1:]))


def test_images_may_have_other_channels():
    net = tiny_darknet(ctx=mx.cpu())
    assert net(mx.nd.ones((1, 1, 32, 32)))[1].shape == (1, 1024, 1, 1)


def test_numpy_mode(net, numpy_mode):
    net = tiny_darknet(ctx=mx.cpu())
    assert [out.shape for out in net(mx.np.ones((1, 3, 32, 32)))] == [(1, 256, 2, 2), (1, 1024, 1, 1)]


@pytest.mark.parametrize("shape", [(1, 3, 31, 32), (1, 3, 32, 31)])
@pytest.mark.parametrize("hybridize", [False, True])
def test_images_smaller_than_the_stride_are_refused(net, shape, hybridize):
    net.hybridize(hybridize)
    with pytest.raises(ValueError, match=r"\(1, 3, 3\d, 3\d\).*at least 32 rows"):
        net(mx.nd.ones(shape))
    net.hybridize(False)


def test_other_ranks_are_refused(net):
    with pytest.raises(ValueError, match=r"\(3, 64, 64\) has 3 axes"):
        net(mx.nd.ones((3, 64, 64)))


def test_ctx_initializes_and_none_does_not():
    assert tiny_darknet(ctx=[mx.cpu(0)]).features[0].weight.list_ctx() == [mx.cpu(0)]
    with pytest.raises(RuntimeError, match="initialize"):
        tiny_darknet()(picture(32))


@pytest.mark.parametrize("value", [True, False])
def test_pretrained_is_refused_with_a_hint_to_read_weights(value):
    with pytest.raises(TypeError, match=f"pretrained={value}.*load_darknet_weights"):
        tiny_darknet(pretrained=value)


def test_an_unknown_argument_is_named():
    with pytest.raises(TypeError, match="channels"):
        tiny_darknet(channels=3)
