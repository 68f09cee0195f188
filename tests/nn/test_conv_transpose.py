import mxnet as mx
import numpy as np
import pytest

import reference
from gluon_same import nn


@pytest.mark.parametrize("kind, ndim", [(nn.Conv1DTranspose, 1), (nn.Conv2DTranspose, 2)])
def test_transposed_pairs_cut_the_full_result(kind, ndim):
    pairs = ((2, 0), (0, 1))[:ndim]
    net = kind(2, 4, 2, pairs, output_padding=1, use_bias=False)
    net.initialize(mx.init.Normal(1.0))
    x = mx.nd.random.normal(shape=(1, 3, 5, 6)[: ndim + 2])
    got = net(x).asnumpy()
    weight, ones = net.weight.data().asnumpy(), (1,) * ndim
    want = reference.deconvolution(x.asnumpy(), weight, (2,) * ndim, ones, pairs, ones)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: nn.Conv1DTranspose(8, 3, padding="causal"), ValueError, "1-D convolution only"),
        (lambda: nn.Conv2DTranspose(8, 3, 2, "same", output_padding=1), ValueError, "output_padding"),
        (lambda: nn.Conv2DTranspose(4, 3, output_padding=3), ValueError, "output_padding"),
        (lambda: nn.Conv3DTranspose(4, 3, padding="same", dilation=2), ValueError, "dilation"),
    ],
)
def test_bad_arguments_are_refused_at_construction(make, error, words):
    with pytest.raises(error, match=words):
        make()
