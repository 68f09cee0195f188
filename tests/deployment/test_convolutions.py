"""Convolutions replaced by faster equivalent operators."""

import mxnet as mx
import pytest

from gluon_same.deployment import convolutions
from graphs import graph_of, rewritten

F, X, Z = mx.sym, mx.sym.var("data0"), mx.sym.var("data1")


def transposed(x=X, kernel=(2, 2), stride=None, channels=6, **kwargs):
    stride = kernel if stride is None else stride
    return F.Deconvolution(x, kernel=kernel, stride=stride, num_filter=channels, **kwargs)


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("kernel", [(2, 2), (3, 2), (1, 4)])
@pytest.mark.parametrize("no_bias", [False, True])
def test_transposed_convolutions_without_overlap_are_dense_layers(batch, kernel, no_bias):
    symbol = transposed(kernel=kernel, no_bias=no_bias)
    found = rewritten(symbol, [convolutions.transpose_by_dense], (batch, 5, 7, 4))
    assert found == ["transpose", "FullyConnected", "Reshape", "transpose", "Reshape", "transpose"]


@pytest.mark.parametrize(
    "symbol",
    [
        transposed(stride=(1, 1)),
        transposed(kernel=(3, 3), stride=(2, 2)),
        transposed(adj=(1, 1)),
        transposed(pad=(1, 1)),
        transposed(num_group=2),
        transposed(dilate=(2, 2)),
    ],
)
def test_other_transposed_convolutions_stay(symbol):
    assert rewritten(symbol, [convolutions.transpose_by_dense], (2, 4, 5, 5)) == ["Deconvolution"]


def grouped(filters, groups, **kwargs):
    return F.Convolution(X, kernel=(1, 1), num_filter=filters, num_group=groups, **kwargs)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("filters, groups, channels", [(6, 3, 9), (20, 2, 8), (64, 4, 36)])
def test_few_groups_of_odd_sizes_are_computed_together(filters, groups, channels, bias):
    symbol, shape = grouped(filters, groups, no_bias=not bias), (2, channels, 4, 5)
    rewritten(symbol, [convolutions.ungroup], shape)
    graph = graph_of(symbol, shape)
    assert graph.rewrite(convolutions.ungroup) == 1
    assert [node.get("num_group") for node in graph.nodes() if node.op != "null"] == [1]


@pytest.mark.parametrize(
    "symbol, channels",
    [
        (grouped(32, 2), 32),  # multiples of 16
        (grouped(10, 5), 10),  # many groups
        (grouped(4, 4), 4),  # depthwise
        (F.Convolution(X, kernel=(3, 3), num_filter=6, num_group=2), 6),
    ],
)
def test_other_groups_stay(symbol, channels):
    assert graph_of(symbol, (1, channels, 5, 5)).rewrite(convolutions.ungroup) == 0


def test_a_normalization_before_a_relu_is_a_depthwise_convolution():
    def normalized(after, **kwargs):
        symbol = after(F.BatchNorm(X, use_global_stats=True, **kwargs))
        return rewritten(symbol, [convolutions.normalize_by_depthwise], (2, 5, 4, 4))[0]

    def relu(y):
        return F.Activation(y, act_type="relu")

    for kwargs in ({}, {"fix_gamma": False, "eps": 1e-2}):
        assert normalized(relu, **kwargs) == "Convolution"
    assert normalized(lambda y: F.Activation(y, act_type="tanh")) == "BatchNorm"
    assert normalized(lambda y: y + relu(y)) == "BatchNorm"
    assert normalized(lambda y: y) == "BatchNorm"


def convolution(x, kernel, count=4, **kwargs):
    return F.Convolution(x, kernel=kernel, num_filter=count, **kwargs)


@pytest.mark.parametrize("kernel, how", [
    ((1, 9), dict(pad=(0, 4))),
    ((9, 9), dict(pad=(2, 4), stride=(2, 2), no_bias=True)),
    ((3, 3), dict(pad=(4, 4), dilate=(4, 4))),
    ((3, 3, 9), dict(pad=(1, 1, 4))),
])  # fmt: skip
def test_wide_paddings_are_operators(kernel, how):
    shape = (2, 3, 10, 12, 11)[: 2 + len(kernel)]
    found = rewritten(convolution(X, kernel, **how), [convolutions.pad_first], shape)
    assert found == ["Pad", "Convolution"]


@pytest.mark.parametrize("symbol, shape", [
    (convolution(X, (9, 7), pad=(4, 3)), (1, 4, 12, 12)),
    (convolution(X, (9, 9), pad=(4, 4), num_group=4), (1, 4, 12, 12)),  # depthwise
    (convolution(X, (9,), pad=(4,)), (1, 4, 12)),  # MXNet pads 4 and 5 axes
])  # fmt: skip
def test_other_paddings_stay(symbol, shape):
    assert rewritten(symbol, [convolutions.pad_first], shape) == ["Convolution"]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("computed", [False, True])
def test_columns_are_computed_as_rows(bias, computed):
    weight = {"weight": F.var("w", shape=(4, 3, 5, 1)) * 2} if computed else {}
    y = convolution(X, (5, 1), stride=(2, 1), dilate=(2, 1), pad=(3, 0), no_bias=not bias, **weight)
    y = F.Activation(y, act_type="relu")
    y = F.Pooling(y, kernel=(3, 1), stride=(2, 1), pad=(1, 0), pool_type="max")
    y = convolution(F.clip(y, 0, 6) + y, (3, 1), pad=(1, 0))
    found = rewritten(F.reshape(y, shape=(0, 0, -1)), convolutions.ROWS, (2, 3, 31, 1))
    middle = ["Activation", "Pooling", "clip", "elemwise_add"]
    assert found == ["Reshape", "Convolution", *middle, "Convolution", "Reshape"]


@pytest.mark.parametrize("kernel, pad, shape", [
    ((3, 1), (1, 0), (1, 3, 8, 2)),
    ((3, 1), (1, 1), (1, 3, 8, 1)),  # a result of three columns
    ((1, 1), (0, 0), (1, 3, 1, 1)),
])  # fmt: skip
def test_other_maps_stay(kernel, pad, shape):
    assert rewritten(convolution(X, kernel, pad=pad), convolutions.ROWS, shape) == ["Convolution"]
