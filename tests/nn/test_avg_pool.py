import mxnet as mx
import numpy as np
import pytest

import reference
from gluon_same import nn


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("include", [None, False, True])
def test_averages_divide_as_count_include_pad_says(stride, include, hybridize):
    x = mx.nd.random.normal(shape=(1, 2, 7, 8))
    net = nn.AvgPool2D(4, stride, "same", count_include_pad=include)
    net.hybridize(hybridize)
    pads = reference.same_pads((7, 8), (4, 4), (stride,) * 2, (1, 1))
    want = reference.pooling(x.asnumpy(), (4, 4), (stride,) * 2, pads, "avg", bool(include))
    np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-5, atol=1e-5)


def test_averages_with_pairs_divide_by_the_whole_window_by_default():
    x = mx.nd.ones((1, 1, 4, 4))
    pairs = ((1, 0), (0, 1))
    assert nn.AvgPool2D(2, 1, pairs)(x)[0, 0, 0, 0].asscalar() == 0.5
    assert nn.AvgPool2D(2, 1, pairs, count_include_pad=False)(x)[0, 0, 0, 0].asscalar() == 1


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: nn.AvgPool2D(2, padding="valid", ceil_mode=True), ValueError, "ceil_mode=True"),
        (lambda: nn.AvgPool2D(2, count_include_pad="no"), TypeError, "count_include_pad='no'"),
        (lambda: nn.AvgPool3D(2, layout="NCHW"), ValueError, "layout='NCHW'"),
    ],
)
def test_bad_arguments_are_refused_at_construction(make, error, words):
    with pytest.raises(error, match=words):
        make()
