"""Shapes that are inferred for symbols, and graphs that depend on them."""

import gluon_same  # noqa: F401  isort: skip  before mxnet

import json

import mxnet as mx
import pytest

from gluon_same import keras_backend as K
from gluon_same.keras_backend.operands import infer_shape

KERNEL = mx.sym.var("kernel", shape=(3, 3, 3, 32))


def nodes(symbol):
    return [node["op"] for node in json.loads(symbol.tojson())["nodes"]]


def transposes_of_data(symbol, kernels):
    return nodes(symbol).count("transpose") - kernels


def test_a_kernel_must_have_a_shape():
    with pytest.raises(
        ValueError, match=r"shape of `kernel` is not known.*mx.sym.var\('kernel', shape="
    ):
        K.conv(mx.sym.var("x"), mx.sym.var("kernel"))


def test_the_number_of_axes_of_a_pooling_must_be_known():
    with pytest.raises(ValueError, match="number of axes of `inputs` is not known"):
        K.max_pool(mx.sym.var("x"), 2)
    assert K.max_pool(mx.sym.var("x"), (2, 2)).infer_shape(x=(1, 8, 8, 3))[1] == [(1, 4, 4, 3)]
    x = mx.sym.var("x", shape=(0, 0, 0, 3))
    assert K.max_pool(x, 2).infer_shape(x=(1, 8, 8, 3))[1] == [(1, 4, 4, 3)]


@pytest.mark.parametrize("batch", [0, 2])
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_a_graph_of_known_size_refuses_another(data_format, batch):
    last = data_format == "channels_last"
    shape, wrong = ((batch, 8, 9, 3), (2, 9, 9, 3)) if last else ((batch, 3, 8, 9), (2, 3, 9, 9))
    x = mx.sym.var("x", shape=shape)
    pool = K.max_pool(x, 3, 2, "same", data_format)
    for out in (K.conv(x, KERNEL, 2, "same", data_format), pool):
        assert out.infer_shape(x=(2, *shape[1:]))[1][0][0] == 2
        with pytest.raises(mx.MXNetError, match="_fixed_to_any"):
            out.infer_shape(x=wrong)


def test_only_axes_that_depend_on_their_size_are_fixed():
    x = mx.sym.var("x", shape=(0, 8, 9, 3))
    for how in ({"padding": "same"}, {"strides": 2}):
        assert K.conv(x, KERNEL, **how).infer_shape(x=(2, 11, 12, 3))[1][0][0] == 2
    out = K.conv(x, KERNEL, (1, 2), "same")
    assert out.infer_shape(x=(2, 11, 9, 3))[1] == [(2, 11, 5, 32)]
    with pytest.raises(mx.MXNetError, match="fixed_to_anyxanyxanyx9"):
        out.infer_shape(x=(2, 8, 10, 3))


def test_shapes_are_inferred_through_graphs_of_unknown_size():
    x = mx.sym.var("x", shape=(0, 0, 0, 3))
    out = K.conv(x, KERNEL, 2, "same")
    for function in (K.max_pool, K.average_pool):
        out = function(out, 3, 2, "same")
    assert infer_shape(out) == (None, None, None, 32)
    label = mx.sym.var("label", shape=(0, 0, 0, 0))  # as made by Keras
    assert len(infer_shape(mx.sym.broadcast_sub(out, label))) == 4
    assert infer_shape(mx.sym.var("bare")) is None
    assert infer_shape(mx.sym.var("x", shape=(0, 4, 5)).reshape((0, -1))) == (None, 20)


def test_channels_last_data_are_transposed_once_each_way():
    x = mx.sym.var("x", shape=(0, 8, 8, 32))
    kernel = mx.sym.var("kernel", shape=(3, 3, 32, 32))
    assert transposes_of_data(K.conv(x, kernel, 1, "same"), kernels=1) == 2
    assert transposes_of_data(K.depthwise_conv(x, kernel, 1, "same"), kernels=1) == 2
    assert transposes_of_data(K.conv_transpose(x, kernel, 2, "same"), kernels=1) == 2
    point = mx.sym.var("point", shape=(1, 1, 32 * 32, 8))
    assert transposes_of_data(K.separable_conv(x, kernel, point, 1, "same"), kernels=2) == 2
    assert transposes_of_data(K.average_pool(x, 3, 2, "same"), kernels=0) == 0
    # From 16 channels on, this is faster than MXNet's pooling of channels-last data.
    assert transposes_of_data(K.average_pool(x, 3, 1, "same"), kernels=0) == 2
    assert transposes_of_data(K.max_pool(x, 3, 2, "same"), kernels=0) == 2
    few = mx.sym.var("x", shape=(0, 8, 8, 3))
    assert transposes_of_data(K.max_pool(few, 3, 1, "same"), kernels=0) == 0


def test_channels_first_data_are_not_transposed():
    x = mx.sym.var("x", shape=(0, 3, 8, 8))
    assert transposes_of_data(K.conv(x, KERNEL, 1, "same", "channels_first"), kernels=1) == 0
    assert transposes_of_data(K.max_pool(x, 3, 1, "same", "channels_first"), kernels=0) == 0


def test_depthwise_is_one_grouped_convolution():
    x = mx.sym.var("x", shape=(0, 8, 8, 3))
    kernel = mx.sym.var("kernel", shape=(3, 3, 3, 2))
    found = nodes(K.depthwise_conv(x, kernel, padding="same"))
    assert found.count("Convolution") == 1
    assert "SliceChannel" not in found and "Concat" not in found


def test_one_graph_of_unknown_size_serves_every_size():
    x = mx.sym.var("x", shape=(0, 0, 0, 3))
    kernel = mx.nd.random.normal(shape=(3, 3, 3, 4))
    out = K.conv(x, mx.sym.var("kernel", shape=kernel.shape), 2, "same")
    block = mx.gluon.SymbolBlock(out, [x, mx.sym.var("kernel")])
    block.hybridize()
    for size in ((8, 8), (9, 8), (7, 12), (8, 8)):
        data = mx.nd.random.normal(shape=(2, *size, 3))
        want = K.conv(data, kernel, 2, "same").asnumpy()
        mx.test_utils.assert_almost_equal(block(data, kernel).asnumpy(), want, rtol=1e-4, atol=1e-4)
