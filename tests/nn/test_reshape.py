"""Reshape keeps the batch."""

import pickle

import mxnet as mx
import numpy as np
import pytest

from gluon_same import nn
from small_nets import eager_and_hybridized


def test_reshape_keeps_the_batch():
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    np.testing.assert_array_equal(eager_and_hybridized(nn.Reshape((2, -1)), x), x.reshape(2, 2, 6))
    np.testing.assert_array_equal(eager_and_hybridized(nn.Reshape([12]), x), x.reshape(2, 12))


@pytest.mark.parametrize("target", [(5, 1), (5, -1), (4, 1), (24,)])
def test_another_number_of_elements_is_refused(target):
    block = nn.Reshape(target)
    with pytest.raises(ValueError, match=r"\(2, 3, 4\) do not fit target_shape=.*: each sample has 12"):
        block(mx.nd.ones((2, 3, 4)))
    block.hybridize()
    with pytest.raises(mx.MXNetError):  # inside of a graph, too
        graph = block(mx.sym.var("data"))
        graph.bind(mx.cpu(), {"data": mx.nd.ones((2, 3, 4))}).forward()[0].wait_to_read()


def test_numpy_mode(numpy_mode):
    assert isinstance(nn.Reshape((6,))(mx.np.ones((1, 2, 3))), mx.np.ndarray)


def test_a_block_can_be_pickled():
    block = nn.Reshape((4, -1))
    assert repr(pickle.loads(pickle.dumps(block))) == repr(block)


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: nn.Reshape(4), TypeError, "target_shape=4 is not a shape"),
        (lambda: nn.Reshape((-1, -1)), ValueError, "-1 more than once"),
        (lambda: nn.Reshape((0, 2)), ValueError, "target_shape=0"),
    ],
)
def test_wrong_arguments_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()
