"""Errors name the argument, the value and what is allowed."""

import gluon_same  # noqa: F401  isort: skip  before mxnet

import inspect

import mxnet as mx
import numpy as np
import pytest

from gluon_same import keras_backend as K

X, KERNEL = mx.nd.ones((1, 8, 8, 4)), mx.nd.ones((3, 3, 4, 6))
POINT = mx.nd.ones((1, 1, 24, 5))

CALLS = {
    "conv": lambda **how: K.conv(X, KERNEL, **how),
    "depthwise_conv": lambda **how: K.depthwise_conv(X, KERNEL, **how),
    "separable_conv": lambda **how: K.separable_conv(X, KERNEL, POINT, **how),
    "conv_transpose": lambda **how: K.conv_transpose(X, mx.nd.ones((3, 3, 6, 4)), **how),
    "max_pool": lambda **how: K.max_pool(X, 2, **how),
    "average_pool": lambda **how: K.average_pool(X, 2, **how),
}
CONVOLUTIONS = [name for name in CALLS if "conv" in name]


# Signatures of keras/src/backend/tensorflow/nn.py in Keras 3.9.
TAIL = "strides=1, padding='valid', data_format=None, dilation_rate=1"
SIGNATURES = {
    "conv": f"inputs, kernel, {TAIL}",
    "depthwise_conv": f"inputs, kernel, {TAIL}",
    "separable_conv": f"inputs, depthwise_kernel, pointwise_kernel, {TAIL}",
    "conv_transpose": f"inputs, kernel, {TAIL}".replace("'valid',", "'valid', output_padding=None,"),
    "max_pool": "inputs, pool_size, strides=None, padding='valid', data_format=None",
    "average_pool": "inputs, pool_size, strides=None, padding='valid', data_format=None",
}


@pytest.mark.parametrize("name", CALLS)
def test_signatures_match_a_keras_backend(name):
    parameters = inspect.signature(getattr(K, name)).parameters.values()
    bare = [str(p.replace(annotation=p.empty)) for p in parameters]
    assert ", ".join(bare) == SIGNATURES[name]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_words(call):
    for padding in ("full", "causal", 1, None):
        with pytest.raises(ValueError, match=rf"`padding` argument must be one of.*padding={padding!r}"):
            call(padding=padding)
    for data_format in ("NHWC", 1):
        with pytest.raises(ValueError, match=rf"`data_format` .*one of.*data_format={data_format!r}"):
            call(data_format=data_format)
    assert call(padding="SAME", strides=1).shape == call(padding="same", strides=1).shape


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_strides(call):
    for strides in (0, -1, (1, 0)):
        with pytest.raises(ValueError, match="strides=.* must be 1 or more"):
            call(strides=strides)
    with pytest.raises(ValueError, match=r"strides=\(1, 1, 1\) has 3 entries"):
        call(strides=(1, 1, 1))
    with pytest.raises(TypeError, match="strides=1.5 is not a whole number"):
        call(strides=1.5)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_dilation(name):
    with pytest.raises(ValueError, match="dilation_rate=0 is out of range"):
        CALLS[name](dilation_rate=0)
    assert CALLS[name](dilation_rate=2, strides=2).shape[0] == 1  # MXNet supports both at once


def test_dilation_of_a_transposed_convolution_over_three_axes():
    x, kernel = mx.nd.ones((1, 4, 4, 4, 2)), mx.nd.ones((2, 2, 2, 3, 2))
    assert K.conv_transpose(x, kernel, strides=2).shape == (1, 8, 8, 8, 3)
    with pytest.raises(ValueError, match="`dilation_rate > 1` is not supported.*dilation_rate=2"):
        K.conv_transpose(x, kernel, dilation_rate=2)


def test_output_padding():
    for value in (2, (0, 2)):
        with pytest.raises(ValueError, match="`output_padding` argument must be less than `strides`"):
            CALLS["conv_transpose"](strides=2, output_padding=value)
    with pytest.raises(ValueError, match="output_padding=-1 is out of range"):
        CALLS["conv_transpose"](output_padding=-1)


def test_channels():
    with pytest.raises(ValueError, match="evenly divisible.*input channels=4, kernel in_channels=3"):
        K.conv(X, mx.nd.ones((3, 3, 3, 6)))
    with pytest.raises(ValueError, match="evenly divisible.*filters=5, groups=2"):
        K.conv(X, mx.nd.ones((3, 3, 2, 5)))
    with pytest.raises(ValueError, match="that of `kernel`.*input channels=4, kernel in_channels=2"):
        K.depthwise_conv(X, mx.nd.ones((3, 3, 2, 6)))
    with pytest.raises(ValueError, match="that of `kernel`.*input channels=4, kernel in_channels=6"):
        K.conv_transpose(X, KERNEL)
    with pytest.raises(ValueError, match="that of `depthwise_kernel`.*input channels=4"):
        K.separable_conv(X, mx.nd.ones((3, 3, 2, 6)), POINT)
    for wrong in ((1, 1, 12, 5), (2, 1, 24, 5)):
        with pytest.raises(ValueError, match="`pointwise_kernel` must have 24 input channels"):
            K.separable_conv(X, KERNEL, mx.nd.ones(wrong))


def test_ranks():
    with pytest.raises(ValueError, match=r"`inputs` must have 5 axes.*\(1, 8, 8, 4\)"):
        K.conv(X, mx.nd.ones((3, 3, 3, 4, 6)))
    with pytest.raises(ValueError, match=r"`kernel` must have 3, 4 or 5 axes.*\(4, 6\)"):
        K.conv(X, mx.nd.ones((4, 6)))
    with pytest.raises(ValueError, match=r"`inputs` must have 3, 4 or 5 axes.*\(8, 4\)"):
        K.max_pool(mx.nd.ones((8, 4)), 2)
    with pytest.raises(ValueError, match=r"`inputs` must have 5 axes"):
        K.max_pool(X, (2, 2, 2))


def test_kinds():
    with pytest.raises(TypeError, match="inputs is a ndarray: give an NDArray or a Symbol"):
        K.conv(np.ones((1, 8, 8, 4)), KERNEL)
    with pytest.raises(TypeError, match="kernel is a Symbol, and inputs is a NDArray: give the"):
        K.conv(X, mx.sym.var("kernel"))


def test_inputs_smaller_than_the_window():
    with pytest.raises(ValueError, match="smaller than a window"):
        K.conv(mx.nd.ones((1, 2, 2, 4)), KERNEL)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((3, 2, "causal"), "`padding` argument must be one of"),
        ((0,), "kernel=0 is out of range"),
        ((3, 0), "stride=0 is out of range"),
        ((3, 2, "same", 5), "`output_padding` argument must be less than `strides`"),
    ],
)
def test_the_padding_of_a_transposed_convolution_is_checked(arguments, words):
    with pytest.raises(ValueError, match=words):
        K.conv_transpose_padding(*arguments)
    assert K.conv_transpose_padding(3, 2, "SAME") == K.conv_transpose_padding(3, 2, "same")


def test_arrays_of_several_dtypes_are_refused():
    x, kernel = mx.nd.ones((1, 8, 8, 3)), mx.nd.ones((3, 3, 3, 4), dtype="float64")
    with pytest.raises(
        ValueError, match="`kernel` must have the dtype of `inputs`.*float64 and float32"
    ):
        K.conv(x, kernel)


@pytest.mark.parametrize("word", ["", 0, "NHWC"])
def test_an_empty_data_format_is_refused(word):
    with pytest.raises(ValueError, match="`data_format` argument must be one of"):
        K.max_pool(mx.nd.ones((1, 8, 8, 3)), 2, data_format=word)


def test_averages_of_every_size_over_three_axes_can_be_bound():
    x = mx.sym.var("x", shape=(0, 0, 0, 0, 4))
    graph = K.average_pool(x, (2, 3, 3), strides=(4, 4, 1), padding="same")
    data = mx.nd.random.normal(shape=(2, 8, 8, 8, 4))
    got = graph.bind(mx.cpu(), {"x": data}).forward()[0].asnumpy()
    want = K.average_pool(data, (2, 3, 3), strides=(4, 4, 1), padding="same").asnumpy()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
