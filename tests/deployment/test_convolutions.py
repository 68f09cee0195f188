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
