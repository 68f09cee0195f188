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
