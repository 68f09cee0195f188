"""Compare depthwise and separable blocks with NumPy and TensorFlow, in every form of a net."""

from pathlib import Path

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd

import reference
from gluon_same import nn, specialize, summary
from golden import make_block_golden as golden
from small_nets import every_way

with np.load(str(Path(golden.TARGET))) as file:
    GOLDEN = {name: file[name] for name in file.files}

X = dict(rtol=1e-4, atol=1e-4)
ARGUMENTS = {"filters": "channels", "dilation_rate": "dilation"}


def ready(net):
    net.initialize(mx.init.Normal(1.0))
    return net


def first(array):
    """Transpose channels last to channels first."""
    return np.moveaxis(array, -1, 1)


def kernels(kind, arguments, channels):
    """Return the weights of a golden layer, in Gluon's layout."""
    ndim, multiplier = int(kind[-2]), arguments.get("depth_multiplier", 1)
    window = arguments["kernel_size"]
    window = (window,) * ndim if isinstance(window, int) else window
    shapes = [(*window, channels, multiplier)]
    if kind.startswith("Separable"):
        shapes.append((*(1,) * ndim, channels * multiplier, arguments["filters"]))
    if arguments.get("use_bias", True):
        shapes.append((arguments.get("filters", channels * multiplier),))
    drawn = [golden.draw(shape, f"weight {i}") for i, shape in enumerate(shapes)]
    depthwise = np.moveaxis(drawn[0], (-2, -1), (0, 1)).reshape(-1, 1, *window)
    pointwise = [
        w.transpose(w.ndim - 1, w.ndim - 2, *range(w.ndim - 2)) for w in drawn[1:] if w.ndim > 1
    ]
    return [depthwise, *pointwise, *(w for w in drawn if w.ndim == 1)]


@pytest.mark.parametrize("number", range(len(golden.LAYERS)))
def test_layers_equal_keras(number):
    kind, arguments, shape = golden.LAYERS[number]
    layer = getattr(nn, kind)(**{ARGUMENTS.get(k, k): v for k, v in arguments.items()})
    layer.initialize()
    x = mx.nd.array(first(golden.draw((2, *shape))))
    layer(x)
    parameters = list(layer.collect_params().values())
    weights = kernels(kind, arguments, shape[-1])
    assert len(parameters) == len(weights)
    for parameter, weight in zip(parameters, weights):
        parameter.set_data(mx.nd.array(weight))
    want = first(GOLDEN[f"layer {number}"])
    for run in every_way(layer, x.shape):
        np.testing.assert_allclose(run(x).asnumpy(), want, rtol=1e-6)


PADDINGS = {
    "same": None,
    "same_lower": None,
    "valid": [(0, 0), (0, 0)],
    1: [(1, 1), (1, 1)],
    (1, 0): [(1, 1), (0, 0)],
    ((0, 1), (2, 0)): [(0, 1), (2, 0)],
}


@pytest.mark.parametrize("multiplier", [1, 3])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("strides, dilation", [(1, 1), (2, 1), (1, 2), ((3, 2), 1)])
def test_a_depthwise_convolution_equals_a_grouped_convolution(multiplier, padding, strides, dilation):
    layer = ready(nn.DepthwiseConv2D((3, 2), strides, padding, dilation, multiplier))
    x = mx.nd.random.normal(shape=(2, 4, 9, 10))
    got = layer(x).asnumpy()
    strides, dilation = (np.broadcast_to(n, 2).tolist() for n in (strides, dilation))
    pads = PADDINGS[padding] or reference.same_pads((9, 10), (3, 2), strides, dilation, padding)
    weight = layer.weight.data().asnumpy()
    assert weight.shape == (4 * multiplier, 1, 3, 2)
    want = reference.convolution(x.asnumpy(), weight, strides, dilation, pads, 4)
    np.testing.assert_allclose(got, want, **X)
    layer.hybridize()
    np.testing.assert_allclose(layer(x).asnumpy(), want, **X)


def make_net():
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(
            nn.DepthwiseConv2D(3, 2, "same", depth_multiplier=2),
            nn.BatchNorm(),
            nn.SeparableConv2D(8, 4, padding="same", activation="relu"),
            nn.DepthwiseConv2D(2, 2, padding=1),
        )
    return ready(net)


def shapes_of(net):
    return [p.shape for p in net.collect_params(".*weight|.*bias").values()]


KNOWN = [(6, 1, 3, 3), (6,), (6, 1, 4, 4), (8, 6, 1, 1), (8,), (8, 1, 2, 2), (8,)]


@pytest.mark.parametrize("begin", ["eager", "specialized", "every size", "alone"])
def test_channels_are_inferred_from_the_first_data(begin):
    net, x = make_net(), mx.nd.random.normal(shape=(2, 3, 15, 16))
    block = net
    if begin == "specialized":
        block = specialize(net, x.shape)
    elif begin == "every size":
        block = specialize(net)
    elif begin == "alone":
        net[0].hybridize()
        net[3].hybridize()
    got = block(x).asnumpy()
    assert shapes_of(net) == KNOWN
    net.hybridize(False)
    np.testing.assert_allclose(got, net(x).asnumpy(), **X)
    assert "(3 -> 6, " in repr(net[0]) and "(6 -> 6, " in repr(net[2].depthwise)


def test_a_hybridized_net_infers_the_channels_from_the_layer_before():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(6, 3, padding="same"), nn.BatchNorm(), nn.DepthwiseConv2D(3, 2, "same"))
    ready(net).hybridize()
    x = mx.nd.random.normal(shape=(2, 3, 15, 16))
    got = net(x).asnumpy()
    assert net[2].weight.shape == (6, 1, 3, 3)
    net.hybridize(False)
    np.testing.assert_allclose(got, net(x).asnumpy(), **X)


@pytest.mark.parametrize("inner", [False, True])
def test_a_hybridized_net_whose_first_layer_has_open_channels_asks_for_them(inner):
    net = make_net()
    if inner:
        net, layers = nn.HybridSequential(prefix=""), net
        net.add(nn.MaxPool2D(1), layers)
    net.hybridize()
    with pytest.raises(ValueError, match="in_channels=0.* give in_channels, or call the net with an"):
        net(mx.nd.ones((2, 3, 15, 16)))
    net.hybridize(False)
    net(mx.nd.ones((2, 3, 15, 16)))
    net.hybridize()
    assert net(mx.nd.ones((2, 3, 15, 16))).shape == (2, 8, 5, 5)


def test_one_graph_serves_every_size():
    net = make_net()
    x = [mx.nd.random.normal(shape=(2, 3, *size)) for size in [(15, 16), (8, 9), (21, 7)]]
    want = [net(each).asnumpy() for each in x]
    net.hybridize()
    for each, right in zip(x, want):
        np.testing.assert_allclose(net(each).asnumpy(), right, **X)


def test_a_net_is_exported_and_imported(tmp_path):
    net, path = make_net(), str(tmp_path / "net")
    net(mx.nd.ones((1, 3, 9, 9)))
    net.hybridize()
    net(mx.nd.ones((1, 3, 9, 9)))
    net.export(path)
    imported = mx.gluon.SymbolBlock.imports(path + "-symbol.json", ["data"], path + "-0000.params")
    x = mx.nd.random.normal(shape=(2, 3, 12, 7))
    np.testing.assert_array_equal(imported(x).asnumpy(), net(x).asnumpy())


def test_a_summary_does_not_fix_the_channels():
    net = make_net()
    assert summary(net, (1, 3, 15, 16)).total_params == summary(net, (1, 3, 9, 9)).total_params
    assert summary(net, (1, 5, 15, 16)).rows[0].params == 10 * 9 + 10
    assert net[0].weight.shape[0] < 1
    assert repr(net[0]).startswith("DepthwiseConv2D(None -> None, kernel_size=(3, 3), stride=(2, 2)")


def test_parameter_files_fix_the_channels(tmp_path):
    net, other, x = make_net(), make_net(), mx.nd.random.normal(shape=(2, 3, 15, 16))
    want = net(x).asnumpy()
    net.save_parameters(str(tmp_path / "net.params"))
    other.load_parameters(str(tmp_path / "net.params"))
    assert shapes_of(other) == KNOWN
    other.hybridize()
    np.testing.assert_allclose(other(x).asnumpy(), want, **X)


@pytest.mark.parametrize("when", ["before", "after"])
def test_parameters_are_shared(when):
    x = mx.nd.random.normal(shape=(1, 3, 9, 9))
    net = ready(nn.SeparableConv2D(4, 3, depth_multiplier=2, padding="same"))
    if when == "after":
        net(x)
    twin = nn.SeparableConv2D(4, 3, depth_multiplier=2, padding="same", params=net.collect_params())
    np.testing.assert_array_equal(twin(x).asnumpy(), net(x).asnumpy())
    assert twin.depthwise.weight is net.depthwise.weight


def test_names_and_arguments():
    net = nn.SeparableConv1D(
        *(4, 3, 1, "causal"),
        depth_multiplier=2,
        in_channels=3,
        depthwise_initializer="ones",
        pointwise_initializer=mx.init.Constant(2.0),
        bias_initializer="ones",
        prefix="sep_",
    )
    net.initialize()
    names = [f"sep_{name}" for name in ("depthwise_weight", "pointwise_weight", "pointwise_bias")]
    assert list(net.collect_params()) == names
    # The third element is the first with a whole window: 3 elements, 6 channels, times 2, plus the bias.
    assert net(mx.nd.ones((1, 3, 5)))[0, 0].asnumpy().tolist() == [13, 25, 37, 37, 37]
    assert nn.DepthwiseConv2D(3, prefix="a_").name == "a"
    assert nn.DepthwiseConv2D(3).prefix.startswith("depthwiseconv")
    assert list(nn.DepthwiseConv2D(3, use_bias=False, prefix="a_").collect_params()) == ["a_weight"]


def test_gradients_equal_those_of_a_grouped_convolution():
    x = mx.nd.random.normal(shape=(2, 3, 8, 9))
    ours = ready(nn.DepthwiseConv2D(3, 2, "same", depth_multiplier=2))
    theirs = ready(nn.Conv2D(6, 3, 2, "same", groups=3, in_channels=3))
    ours(x)
    found = []
    for net in (ours, theirs):
        net.weight.set_data(ours.weight.data())
        net.bias.set_data(ours.bias.data())
        x.attach_grad()
        with autograd.record():
            y = net(x)
        y.backward(y)
        found.append([a.asnumpy() for a in (y, x.grad, net.weight.grad(), net.bias.grad())])
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)


def test_float64():
    net = make_net()
    net.cast("float64")
    x = mx.nd.random.normal(shape=(1, 3, 9, 8), dtype="float64")
    assert net(x).dtype == np.float64
    net.hybridize()
    assert net(x).dtype == np.float64


def test_numpy_mode(numpy_mode):
    net = nn.HybridSequential()
    net.add(nn.DepthwiseConv2D(3, 2, "same", depth_multiplier=2), nn.SeparableConv2D(4, 3))
    net.initialize()
    for hybridize in (False, True):
        net.hybridize(hybridize)
        out = net(mx.np.ones((2, 3, 9, 9)))
        assert isinstance(out, mx.np.ndarray) and out.shape == (2, 4, 3, 3)


@pytest.mark.parametrize(
    "make, error, words",
    [
        (
            lambda: nn.DepthwiseConv2D(3, depth_multiplier=0),
            ValueError,
            "depth_multiplier=0 .* 1 or more",
        ),
        (lambda: nn.DepthwiseConv2D(3, depth_multiplier=1.5), TypeError, "depth_multiplier=1.5"),
        (lambda: nn.DepthwiseConv2D(3, in_channels=-1), ValueError, "in_channels=-1"),
        (lambda: nn.DepthwiseConv2D((3, 3, 3)), ValueError, "kernel_size=.* 3 entries"),
        (lambda: nn.DepthwiseConv2D(3, padding="causal"), ValueError, "causal.* 1-D convolution only"),
        (lambda: nn.DepthwiseConv2D(3, padding=-1), ValueError, "padding=-1"),
        (lambda: nn.DepthwiseConv1D(3, layout="NCHW"), ValueError, "layout='NCHW'"),
        (lambda: nn.DepthwiseConv2D(3, activation="swosh"), ValueError, "activation='swosh'"),
        (lambda: nn.SeparableConv2D(0, 3), ValueError, "channels=0"),
        (lambda: nn.SeparableConv2D(4, 3, depth_multiplier=0), ValueError, "depth_multiplier=0"),
        (
            lambda: nn.SeparableConv2D(4, 3, depthwise_initializer=3),
            TypeError,
            "depthwise_initializer=3",
        ),
        (lambda: nn.SeparableConv2D(4, 3, pointwise_initializer="x"), ValueError, "pointwise_initial"),
    ],
)
def test_invalid_arguments_are_refused_at_construction(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("padding", ["same", 1])
def test_data_of_other_channels_are_refused(padding):
    net = ready(nn.DepthwiseConv2D(3, padding=padding, in_channels=3))
    with pytest.raises(ValueError, match="6 channels: give 3"):
        net(mx.nd.ones((1, 6, 8, 8)))
    with pytest.raises(ValueError, match="3 axes: give 4"):
        net(mx.nd.ones((1, 3, 8)))


def test_channels_are_inferred_from_a_symbol_if_possible():
    layer = nn.DepthwiseConv2D(3, padding="same", prefix="layer_")
    with pytest.raises(ValueError, match="layer has in_channels=0.* give in_channels"):
        layer(mx.sym.var("data"))
    with pytest.raises(ValueError, match="cannot be inferred"):
        layer(nn.Conv1D(5, 3)(mx.sym.var("data")))
    assert layer(mx.sym.var("data", shape=(1, 3, 8, 8))).attr("num_group") == "3"
    before = nn.Conv2D(5, 3)(mx.sym.var("data"))
    assert layer(before).attr("num_group") == "5"
