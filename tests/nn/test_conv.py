import inspect
import json

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd

import reference
from gluon_same import nn
from small_nets import every_way

X = dict(rtol=1e-4, atol=1e-4)


def layer(kind, *args, **kwargs):
    net = kind(*args, **kwargs)
    net.initialize(mx.init.Normal(1.0))
    return net


@pytest.mark.parametrize("word", ["same", "SAME", "Same"])
def test_words_in_any_letter_case(word):
    net = layer(nn.Conv2D, 2, 4, padding=word)
    assert net(mx.nd.ones((1, 3, 9, 8))).shape == (1, 2, 9, 8)
    assert "padding='same'" in repr(net)


def test_repr_shows_the_padding():
    assert repr(nn.Conv2D(8, 3, padding="same", in_channels=3)) == (
        "Conv2D(3 -> 8, kernel_size=(3, 3), stride=(1, 1), padding='same')"
    )
    assert "padding='causal'" in repr(nn.Conv1D(8, 3, padding="causal"))
    assert "padding=((0, 1), (2, 3))" in repr(nn.Conv2D(8, 4, padding=((0, 1), (2, 3))))


def test_valid_is_no_padding():
    net = layer(nn.Conv2D, 2, 3, padding="valid")
    assert net(mx.nd.ones((1, 3, 9, 8))).shape == (1, 2, 7, 6)


@pytest.mark.parametrize("stride, dilation", [(1, 1), (2, 1), (1, 3), (3, 2)])
def test_causal_windows_never_look_ahead(stride, dilation):
    net = layer(nn.Conv1D, 2, 3, stride, "causal", dilation)
    x = mx.nd.random.normal(shape=(1, 3, 16))
    want = reference.convolution(
        x.asnumpy(), net_weight(net, x), (stride,), (dilation,), [(2 * dilation, 0)]
    )
    for run in every_way(net, x.shape):
        np.testing.assert_allclose(run(x).asnumpy(), want, **X)
    later = x.copy()
    later[:, :, 9:] = 7
    seen = 1 + 8 // stride
    np.testing.assert_array_equal(net(x).asnumpy()[:, :, :seen], net(later).asnumpy()[:, :, :seen])


def net_weight(net, x):
    net(x)
    return net.weight.data().asnumpy()


@pytest.mark.parametrize("groups, channels", [(1, 4), (2, 4), (4, 4), (4, 8)])
@pytest.mark.parametrize("stride", [1, 2])
def test_groups_and_depthwise_with_deferred_in_channels(groups, channels, stride):
    net = layer(nn.Conv2D, channels, 4, stride, "same", groups=groups, use_bias=False)
    net.hybridize()
    x = mx.nd.random.normal(shape=(2, 4, 7, 8))
    weight = net_weight(net, x)
    assert weight.shape == (channels, 4 // groups, 4, 4)
    pads = reference.same_pads((7, 8), (4, 4), (stride,) * 2, (1, 1))
    want = reference.convolution(x.asnumpy(), weight, (stride,) * 2, (1, 1), pads, groups)
    np.testing.assert_allclose(net(x).asnumpy(), want, **X)


def test_activation_is_applied_last():
    net = layer(nn.Conv2D, 2, 2, padding="same", activation="relu")
    x = mx.nd.random.normal(shape=(1, 3, 5, 5))
    plain = nn.Conv2D(2, 2, padding="same", params=net.params)
    np.testing.assert_array_equal(net(x).asnumpy(), plain(x).relu().asnumpy())
    assert "Activation(relu)" in repr(net)


@pytest.mark.parametrize(
    "kind, args, operator",
    [
        (nn.Conv2D, (2, 4, 1, "same"), "Convolution"),
        (nn.Conv1D, (2, 3, 2, ((0, 1),)), "Convolution"),
        (nn.Conv2DTranspose, (2, 4, 1, "same_lower"), "Deconvolution"),
        (nn.DepthwiseConv2D, (3, 2, "same"), "Convolution"),
    ],
)
@pytest.mark.parametrize("activation", ["relu", "sigmoid", "softrelu", "softsign", "tanh"])
def test_activation_directly_follows_the_operator(kind, args, operator, activation):
    net = layer(kind, *args, activation=activation, in_channels=3, prefix="with_")
    plain = kind(*args, in_channels=3, params=net.params)
    operators = [node["op"] for node in json.loads(net(mx.sym.var("data")).tojson())["nodes"]]
    assert operators[operators.index(operator) + 1] == "Activation" != operators[-1]
    x = mx.nd.random.normal(shape=(2, 3, 7, 6)[: 2 + len(net._windows)])
    want = mx.nd.Activation(plain(x), act_type=activation).asnumpy()
    for hybridize in (False, True):
        net.hybridize(hybridize)
        np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-5, atol=1e-6)


def test_activation_in_numpy_mode(numpy_mode):
    net = layer(nn.Conv2D, 2, 2, padding="same", activation="relu", in_channels=3)
    x = mx.np.ones((1, 3, 5, 5))
    for hybridize in (False, True):
        net.hybridize(hybridize)
        out = net(x)
        assert isinstance(out, mx.np.ndarray) and out.shape == (1, 2, 5, 5) and out.min() >= 0


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("mode", ["same", "same_lower"])
def test_float64_keeps_its_precision_in_every_graph(stride, mode):
    net = layer(nn.Conv2D, 2, 3, stride, mode, in_channels=2, use_bias=False)
    net.cast("float64")
    net.hybridize()
    net(mx.nd.ones((1, 2, 9, 9), dtype="float64"))
    for size in [(8, 9), (7, 10)]:
        x = mx.nd.random.normal(shape=(1, 2, *size), dtype="float64")
        pads = reference.same_pads(size, (3, 3), (stride,) * 2, (1, 1), mode)
        weight = net.weight.data().asnumpy()
        want = reference.convolution(x.asnumpy(), weight, (stride,) * 2, (1, 1), pads)
        got = net(x)
        assert got.dtype == np.float64
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-12, atol=1e-12)


def test_summary_works(capsys):
    net = nn.HybridSequential()
    net.add(layer(nn.Conv2D, 4, 4, padding="same"), nn.MaxPool2D(2, 1, padding="same"))
    net.summary(mx.nd.ones((1, 3, 13, 13)))
    assert capsys.readouterr().out.count("(1, 4, 13, 13)") >= 2


def test_nans_and_infinities_spread_as_in_the_stock_operator():
    x = mx.nd.random.normal(shape=(1, 1, 6, 6))
    x[0, 0, 2, 2], x[0, 0, 5, 5] = np.nan, np.inf
    for stride in (1, 2):
        net = layer(nn.Conv2D, 1, 2, stride, "same")
        want = net(x).asnumpy()
        assert np.isnan(want).any() and np.isinf(want).any() and np.isfinite(want).any()
        net.hybridize()
        np.testing.assert_array_equal(net(x).asnumpy(), want)


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: nn.Conv2D(8, 3, padding="sam"), ValueError, "padding='sam'"),
        (lambda: nn.Conv2D(8, 3, padding=-1), ValueError, "padding=-1"),
        (lambda: nn.Conv2D(8, 3, padding=1.5), TypeError, "padding=1.5"),
        (lambda: nn.Conv2D(8, 3, padding=None), TypeError, "padding=None"),
        (lambda: nn.Conv2D(8, 3, padding=(1,)), ValueError, r"padding=\(1,\)"),
        (lambda: nn.Conv2D(8, 3, padding=((1, 1),)), ValueError, "2 pairs"),
        (lambda: nn.Conv2D(8, 3, padding=((1, 1), (1, 1, 1))), ValueError, "2 pairs"),
        (lambda: nn.Conv2D(8, 3, padding=((1, 1), 1)), ValueError, "2 pairs"),
        (lambda: nn.Conv2D(8, 3, padding=((1, 1), (1, -1))), ValueError, "padding=-1"),
        (lambda: nn.Conv2D(8, 3, padding="causal"), ValueError, "1-D convolution only"),
        (lambda: nn.Conv2D(8, (3, 3, 3)), ValueError, r"kernel_size=\(3, 3, 3\)"),
        (lambda: nn.Conv2D(8, 0), ValueError, "kernel_size=0"),
        (lambda: nn.Conv2D(8, (3, 2.5)), TypeError, "kernel_size=2.5"),
        (lambda: nn.Conv2D(8, 3, 0), ValueError, "strides=0"),
        (lambda: nn.Conv2D(8, 3, dilation=(1, 0)), ValueError, "dilation=0"),
        (lambda: nn.Conv2D(0, 3), ValueError, "channels=0"),
        (lambda: nn.Conv2D(8, 3, groups=0), ValueError, "groups=0"),
        (lambda: nn.Conv2D(8, 3, layout="NCW"), ValueError, "layout='NCW'"),
        (lambda: nn.Conv1D(8, 3, layout="NWC"), ValueError, "NCW"),
        (lambda: nn.Conv2D(8), TypeError, "kernel_size"),
        (lambda: nn.Conv2D(3, 3, groups=2), ValueError, "channels=3"),
        (lambda: nn.Conv2D(4, 3, groups=2, in_channels=3), ValueError, "in_channels=3"),
    ],
)
def test_bad_arguments_are_refused_at_construction(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("shape", [(1, 3, 8), (1, 3, 8, 8, 8), (3,)])
def test_data_of_another_rank_are_refused(shape, hybridize):
    net = layer(nn.Conv2D, 8, 3, padding="same", in_channels=3)
    net.hybridize(hybridize)
    with pytest.raises(ValueError, match="NCHW"):
        net(mx.nd.ones(shape))


def test_empty_axes_are_refused(numpy_mode):
    net = layer(nn.Conv2D, 8, 3, padding="same", in_channels=3)
    for hybridize in (False, True):
        net.hybridize(hybridize)
        with pytest.raises(ValueError, match="an empty axis"):
            net(mx.np.ones((1, 3, 0, 8)))


def test_a_window_that_does_not_fit_is_refused():
    net = layer(nn.Conv2D, 8, 5, padding=((1, 0), (0, 1)), in_channels=3)
    with pytest.raises(ValueError, match="smaller than a window"):
        net(mx.nd.ones((1, 3, 3, 8)))


def test_a_users_subclass_keeps_its_own_signature():
    class Mine(nn.Conv2D):
        def __init__(self, channels, **kwargs):
            super().__init__(channels, 3, padding="same", **kwargs)

    assert list(inspect.signature(Mine).parameters) == ["channels", "kwargs"]
    assert layer(Mine, 4)(mx.nd.ones((1, 3, 5, 6))).shape == (1, 4, 5, 6)


@pytest.mark.parametrize("kernel, stride, depth", [(3, 2, 3), (4, 2, 4), (5, 3, 5), (3, 3, 4)])
@pytest.mark.parametrize("mode", ["same", "same_lower"])
def test_gradients_of_strided_3d_convolutions_with_many_filters(kernel, stride, depth, mode):
    # At these sizes oneDNN's weight gradient is wrong if oneDNN pads the depth.
    net = layer(nn.Conv3D, 16, kernel, stride, mode, in_channels=16, use_bias=False)
    x = mx.nd.random.normal(shape=(2, 16, depth, 7, 6))
    pads = reference.same_pads((depth, 7, 6), (kernel,) * 3, (stride,) * 3, (1,) * 3, mode)
    weight = net.weight.data().copy()
    weight.attach_grad()
    padded = mx.nd.array(np.pad(x.asnumpy(), [(0, 0), (0, 0), *pads]))
    with autograd.record():
        y = mx.nd.Convolution(
            padded, weight, kernel=(kernel,) * 3, stride=(stride,) * 3, num_filter=16, no_bias=True
        )
    head = mx.nd.random.normal(shape=y.shape)
    y.backward(head)
    want = weight.grad.asnumpy()
    for run in every_way(net, x.shape):
        with autograd.record():
            out = run(x)
        out.backward(head)
        np.testing.assert_allclose(net.weight.grad().asnumpy(), want, rtol=1e-3, atol=1e-2)
