"""Convolutions replaced by faster equivalent operators."""

import mxnet as mx
import pytest

from gluon_same.deployment import convolutions
from graphs import rewritten

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


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("count", [2, 3])
def test_concatenated_channels_are_convolved_apart(batch, count):
    joined = F.concat(*[X, Z, X][:count], dim=1)
    symbol = F.Convolution(joined, kernel=(3, 3), pad=(1, 1), num_filter=4)
    found = rewritten(symbol, [convolutions.convolve_parts], (batch, 3, 6, 5), (batch, 2, 6, 5))
    assert found.count("Convolution") == count and found.count("elemwise_add") == count - 1
    assert "Concat" not in found


@pytest.mark.parametrize(
    "make",
    [
        lambda joined: F.Convolution(joined, kernel=(3, 3), num_filter=4, num_group=2),
        lambda joined: F.Convolution(F.relu(joined), kernel=(3, 3), num_filter=4),
        lambda joined: F.concat(F.Convolution(joined, kernel=(1, 1), num_filter=4), joined, dim=1),
    ],
)
def test_other_concatenations_stay(make):
    symbol = make(F.concat(X, Z, dim=1))
    found = rewritten(symbol, [convolutions.convolve_parts], (1, 2, 6, 5), (1, 2, 6, 5))
    assert "Concat" in found and found.count("Convolution") == 1


def test_concatenated_rows_stay():
    symbol = F.Convolution(F.concat(X, X, dim=2), kernel=(3, 3), num_filter=4)
    assert "Concat" in rewritten(symbol, [convolutions.convolve_parts], (1, 2, 6, 5))
