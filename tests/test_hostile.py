"""Errors for invalid arguments, and the words that they must contain."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same import deploy, functional, geometry, nn, specialize, summary

X = mx.nd.ones((1, 3, 8, 8))
W = mx.nd.ones((4, 3, 3, 3))
HUGE = 10**30


def conv(*args, **kwargs):
    return lambda: nn.Conv2D(*args, **{"padding": "same", **kwargs})


def run(layer, x=X, **hybridize):
    def call():
        layer.initialize()
        layer.hybridize(**hybridize)
        return layer(x)

    return call


def convolve(x=X, w=W, bias=None, F=mx.nd, **kwargs):
    return lambda: functional.convolution(F, x, w, bias, **{"kernel": (3, 3), "num_filter": 4, **kwargs})


def transpose(x=X, w=W, bias=None):
    return lambda: functional.deconvolution(mx.nd, x, w, bias, kernel=3, num_filter=4)


def net(dtype="float32"):
    """Return a net of three channels that was not called."""
    made = nn.HybridSequential()
    made.add(nn.Conv2D(4, 3, padding="same", in_channels=3), nn.BatchNorm())
    made.initialize()
    made.cast(dtype)
    return made


def pool(x=X, F=mx.nd, **kwargs):
    return lambda: functional.pooling(F, x, **{"kernel": (2, 2), **kwargs})


S, T = mx.sym.var("data"), mx.sym.var("weight")

CASES = [
    # Layers, at construction.
    (conv(8, 3, strides=None), TypeError, "strides=None"),
    (conv(8, HUGE), ValueError, r"kernel_size=10{30} is out of range: .* at most 2147483647"),
    (conv(HUGE, 3), ValueError, "channels=10{30} is out of range"),
    (conv(8, 3, strides=HUGE), ValueError, "strides=10{30} is out of range"),
    (conv(8, 3, groups=3), ValueError, "channels=8 is not a multiple of groups=3"),
    (conv(8, 3, groups=4, in_channels=6), ValueError, "in_channels=6 is not a multiple of groups=4"),
    (conv(8, 3, activation="nope"), ValueError, "activation='nope' is unknown: use one of .*'relu'"),
    (conv(8, 3, activation=5), TypeError, "activation=5 is not a name"),
    (conv(8, 3, use_bias="yes"), TypeError, "use_bias='yes' is neither True nor False"),
    (conv(8, 3, weight_initializer="nope"), ValueError, "weight_initializer='nope' is unknown"),
    (conv(8, 3, bias_initializer=5), TypeError, "bias_initializer=5 is not an initializer"),
    (conv(8, 3, padding="full"), ValueError, r"padding='full' is unknown: use one of \('same', 's"),
    (conv(8, 3, stride=2), TypeError, "Conv2D has no argument 'stride': use 'strides'"),
    (conv(8, 3, dilate=2), TypeError, "'dilate': use 'dilation'"),
    (conv(8, 3, num_group=2), TypeError, "'num_group': use 'groups'"),
    (lambda: nn.MaxPool2D(2, stride=1), TypeError, "'stride': use 'strides'"),
    (lambda: nn.MaxPool2D(2, kernel_size=1), TypeError, "'kernel_size': use 'pool_size'"),
    (lambda: nn.MaxPool2D(HUGE, padding="same"), ValueError, "pool_size=10{30}"),
    (conv(8, 3, pool_size=2), TypeError, "'pool_size': use 'kernel_size'"),
    (conv(8, 3, color=2), TypeError, r"Conv2D has no argument 'color': help\(Conv2D\)"),
    (lambda: nn.DepthwiseConv2D(3, stride=2), TypeError, "DepthwiseConv2D has no .*: use 'strides'"),
    (lambda: nn.DepthwiseConv1D(3, channels=8), TypeError, "DepthwiseConv1D .*: use 'depth_multiplier'"),
    (lambda: nn.SeparableConv2D(8, 3, dilations=2), TypeError, "SeparableConv2D has .*: use 'dilation'"),
    (lambda: nn.SeparableConv1D(8, 3, color=2), TypeError, r"'color': help\(SeparableConv1D\)"),
    (lambda: nn.Conv2D(8, 3, 1, 0, channels=4), TypeError, "multiple values for argument 'channels'"),
    (conv(8, 3, prefix=5), TypeError, "prefix=5 is not a string: give the start"),
    (conv(8, 3, params=5), TypeError, "params=5 is not a ParameterDict: give other.params"),
    (lambda: nn.MaxPool2D(prefix=5), TypeError, "prefix=5 is not a string"),
    (lambda: nn.AvgPool1D(params=5, padding="same"), TypeError, "params=5 is not a ParameterDict"),
    (lambda: nn.DepthwiseConv2D(3, params=5), TypeError, "params=5 is not a ParameterDict"),
    (lambda: nn.SeparableConv2D(8, 3, prefix=5), TypeError, "prefix=5 is not a string"),
    (lambda: nn.ZeroPadding2D(1, params=5), TypeError, "params=5 is not a ParameterDict"),
    (lambda: nn.Cropping1D(1, prefix=5), TypeError, "prefix=5 is not a string"),
    (lambda: nn.ReLU6(params=5), TypeError, "params=5 is not a ParameterDict"),
    (lambda: nn.MaxPool2D(ceil_mode="yes"), TypeError, "ceil_mode='yes' is neither True nor False"),
    (lambda: nn.AvgPool2D(ceil_mode=2), TypeError, "ceil_mode=2 is neither True nor False"),
    (lambda: nn.AvgPool2D(count_include_pad="x"), TypeError, "count_include_pad='x' is neither"),
    (lambda: nn.AvgPool2D(count_include_pad=np.ones(2)), TypeError, "count_include_pad=array"),
    (
        lambda: nn.Conv2DTranspose(8, 3, groups=4, padding="same"),
        ValueError,
        "groups=4 .*: give in_channels",
    ),
    # Layers, when called.
    (lambda: net("float16")(X.astype("float16")), TypeError, "float16 cannot be convolved on a CPU"),
    (run(nn.Conv2D(8, 3, padding="same", groups=2)), ValueError, "3 channels.* groups=2"),
    (run(nn.Conv2D(8, 3, padding="same", layout="NHWC")), ValueError, "layout='NHWC' .* GPUs only"),
    (run(nn.Conv2D(8, 3, padding="same"), X.astype("float64")), TypeError, "float64 .* float32.*cast"),
    (run(nn.MaxPool2D(2, padding="same"), X.astype("int32")), TypeError, "int32 .*floating"),
    # Functions.
    (convolve([[1.0] * 10**5]), TypeError, "^data is a list: give an NDArray or a Symbol$"),
    (convolve(np.ones((1, 3, 8, 8))), TypeError, "data is a ndarray: give an NDArray"),
    (convolve(w=None), TypeError, "weight is a NoneType: give an NDArray or a Symbol"),
    (convolve(w=np.ones((4, 3, 3, 3))), TypeError, "weight is a ndarray: give an NDArray"),
    (convolve(w=T), TypeError, "weight is a Symbol, and data is a NDArray"),
    (convolve(bias=5), TypeError, "bias is a int: give an NDArray"),
    (convolve(S, T, F=mx.sym, in_size=5), TypeError, "in_size=5 is not a tuple: give 2 sizes"),
    (convolve(S, T, F=mx.sym, in_channels="8"), TypeError, "in_channels='8' is not a whole number"),
    (convolve(S, T, F=mx.sym, in_channels=-8), ValueError, "in_channels=-8 is out of range"),
    (convolve(num_group=2), ValueError, "3 channels.* num_group=2"),
    (pool(X.astype("int32")), TypeError, "int32 .*floating"),
    (pool(pool_type="lp"), ValueError, "pool_type='lp'"),
    (pool(count_include_pad="x"), TypeError, "count_include_pad='x' is neither True nor False"),
    (pool(ceil_mode="yes"), TypeError, "ceil_mode"),
    (convolve(X.astype("int32"), W.astype("int32")), TypeError, "int32 cannot be convolved"),
    (convolve(X.astype("float16"), W.astype("float16")), TypeError, "float16 .* on a CPU: use float32"),
    (convolve(w=mx.nd.ones((4, 2, 3, 3))), ValueError, r"weight .* require \(4, 3, 3, 3\)"),
    (convolve(w=mx.nd.ones((4, 3, 3))), ValueError, r"weight has shape \(4, 3, 3\)"),
    (convolve(bias=mx.nd.ones(5)), ValueError, r"bias has shape \(5,\), .* require \(4,\)"),
    (transpose(), ValueError, r"weight has shape \(4, 3, 3, 3\), .* require \(3, 4, 3, 3\)"),
    (transpose(w=mx.nd.ones((3, 4, 3, 3)), bias=mx.nd.ones(3)), ValueError, r"bias has shape \(3,\)"),
    # Nets.
    (lambda: specialize(nn.MaxPool2D(2), (1, 3, 10**18, 2)), ValueError, "input shape=10{18} is out of"),
    (lambda: specialize(net(), (1, 5, 8, 8)), ValueError, r"\[4,3,3,3\], inferred shape=\(4,5,3,3\)"),
    (lambda: deploy(net(), (1, 5, 8, 8)), ValueError, r"\[4,3,3,3\], inferred shape=\(4,5,3,3\)"),
    (lambda: deploy(net(), tune="yes"), TypeError, "tune='yes' is neither True nor False"),
    (lambda: deploy(net(), X, tune=2), TypeError, "tune=2 is neither True nor False"),
    (lambda: deploy(net("float16"), X), ValueError, r"weight is float16: call net.cast\('float32'\)"),
    (
        lambda: summary(nn.MaxPool2D(2), (1, 3, HUGE, 2)),
        ValueError,
        "input shape=10{30} is out of range",
    ),
    # Arithmetic.
    (lambda: geometry.same_padding(5, 3, padding="full"), ValueError, "padding='full'"),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_errors_name_the_value(number):
    call, error, words = CASES[number]
    with pytest.raises(error, match=words) as caught:
        call()
    assert not isinstance(caught.value, mx.MXNetError) and len(str(caught.value)) < 400


@pytest.mark.parametrize("mode", ["SAME", "Same", "SAME_LOWER", "Valid"])
def test_geometry_ignores_letter_case_as_layers_do(mode):
    assert geometry.padding_of(mode, 13, 2) == geometry.padding_of(mode.lower(), 13, 2)
    assert geometry.output_size(13, 2, padding=mode) == geometry.output_size(13, 2, padding=mode.lower())


def test_arrays_are_accepted_as_shapes():
    net = nn.Conv2D(2, 3, 2, padding="same")
    net.initialize()
    x = mx.nd.ones((1, 3, 8, 9))
    assert summary(net, x).input_shapes == (x.shape,)
    assert repr(specialize(net, x)) == repr(specialize(net, x.shape))


def test_the_error_of_a_failed_trace_begins_with_the_cause():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3, padding="same", in_channels=3))
    for call in (specialize, summary):
        with pytest.raises(ValueError) as caught:
            call(net, (1, 3, 8))
        cause, *_ = str(caught.value).split("could not be traced")
        assert "data for " in cause and "(1, 3, 8) has 3 axes" in cause


@pytest.mark.parametrize("kernel", [2, (2, 2)])
def test_an_int_kernel_applies_to_the_axes_of_the_data_or_of_images(kernel):
    want = functional.pooling(mx.nd, X, kernel=kernel)
    got = functional.pooling(mx.sym, S, kernel=kernel).eval(data=X)[0]
    np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())


def test_arguments_of_stock_layers_are_accepted():
    for more in ({"use_bias": None}, {"weight_initializer": ""}, {"bias_initializer": "zeros"}):
        layer = conv(8, 3, **more)()
        layer.initialize()
        assert layer(X).shape == (1, 8, 8, 8)
