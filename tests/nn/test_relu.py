"""ReLU has Keras' arguments and results."""

import pickle

import mxnet as mx
import numpy as np
import pytest

from gluon_same import nn
from small_nets import eager_and_hybridized


@pytest.mark.parametrize(
    "given, want",
    [
        (dict(), [0, 0, 0.5, 2, 8]),
        (dict(max_value=6), [0, 0, 0.5, 2, 6]),
        (dict(max_value=0), [0, 0, 0, 0, 0]),
        (dict(negative_slope=0.5), [-1, -0.25, 0.5, 2, 8]),
        (dict(threshold=2), [0, 0, 0, 0, 8]),  # Keras compares strictly
        (dict(negative_slope=0.5, threshold=1, max_value=4), [-1.5, -0.75, -0.25, 2, 4]),
    ],
)
def test_relu_computes_what_keras_does(given, want):
    np.testing.assert_allclose(
        eager_and_hybridized(nn.ReLU(**given), [-2, -0.5, 0.5, 2, 8]), want, rtol=1e-6
    )


def test_the_repr_of_relu_shows_what_was_given():
    assert repr(nn.ReLU()) == "ReLU()"
    assert repr(nn.ReLU(0, threshold=1)) == "ReLU(max_value=0, threshold=1)"


def test_numpy_mode(numpy_mode):
    for block in (nn.ReLU(), nn.ReLU(negative_slope=0.1)):
        assert isinstance(block(mx.np.ones((1, 2, 3))), mx.np.ndarray)


def test_a_block_can_be_pickled():
    block = nn.ReLU(4, threshold=1)
    assert repr(pickle.loads(pickle.dumps(block))) == repr(block)


@pytest.mark.parametrize("given", [dict(), dict(negative_slope=0.5, threshold=1)])
def test_whole_numbers_are_refused(given):
    for hybridize in (False, True):
        block = nn.ReLU(**given)
        block.hybridize(hybridize)
        with pytest.raises(TypeError, match="data of int32 cannot be rectified"):
            block(mx.nd.array([-3, 3], dtype="int32"))
    graph = nn.ReLU(**given)(mx.sym.var("data"))
    with pytest.raises(mx.MXNetError, match="only support floating point types"):
        graph.bind(mx.cpu(), {"data": mx.nd.array([-3, 3], dtype="int32")}).forward()[0].asnumpy()


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: nn.ReLU(-1), ValueError, "max_value=-1 is out of range"),
        (lambda: nn.ReLU(negative_slope="1"), TypeError, "negative_slope='1' is not a number"),
    ],
)
def test_wrong_arguments_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()
