"""Transposes with fewer axes."""

import itertools

import mxnet as mx
import numpy as np
import pytest

from gluon_same.deployment import moves
from graphs import rewritten

F, X = mx.sym, mx.sym.var("data0")


@pytest.mark.parametrize(
    "shape, axes",
    [
        ((1, 7, 3, 2, 4), (2, 0, 3, 1, 4)),  # queries, keys and values of heads
        ((1, 4, 7, 4, 7, 3), (0, 1, 3, 2, 4, 5)),  # windows
        ((1, 2, 5, 3, 4), (0, 2, 1, 3, 4)),  # a shuffle of channels
        ((2, 3, 4, 5, 6), (0, 1, 2, 4, 3)),
        ((1, 2, 1, 3, 1), (3, 0, 1, 4, 2)),
    ],
)
def test_neighbors_are_merged(shape, axes):
    assert rewritten(F.transpose(X, axes=axes), moves.RULES, shape) == [
        "Reshape",
        "transpose",
        "Reshape",
    ]


@pytest.mark.parametrize("shape, found", [((1, 2, 1, 3, 1), ["Reshape"]), ((1, 1, 1, 1, 1), [])])
def test_axes_of_one_element_need_no_transpose(shape, found):
    assert rewritten(F.transpose(X, axes=(1, 0, 2, 3, 4)), moves.RULES, shape) == found


def test_all_orders_of_small_arrays():
    random = np.random.RandomState(0)
    for axes in itertools.permutations(range(5)):
        rewritten(F.transpose(X, axes=axes), moves.RULES, tuple(random.randint(1, 4, 5)))


@pytest.mark.parametrize(
    "shape, axes",
    [((2, 3, 4, 5), (0, 2, 1, 3)), ((2, 2, 2, 2, 2), (0, 2, 4, 1, 3)), ((2, 3, 2, 2, 2), ())],
)
def test_other_transposes_stay(shape, axes):
    assert rewritten(F.transpose(X, axes=axes), moves.RULES, shape) == ["transpose"]


def test_transposes_of_volumes_from_layers_stay():
    y = F.Convolution(X, kernel=(1, 1, 1), num_filter=8)
    y = F.transpose(F.transpose(y, axes=(0, 1, 3, 2, 4)), axes=(0, 1, 3, 4, 2))
    found = rewritten(y, moves.RULES, (1, 4, 2, 3, 4))
    assert found == ["Convolution", "transpose", "Reshape", "transpose", "Reshape"]


@pytest.mark.parametrize(
    "between",
    [
        lambda y: y * 2,
        lambda y: F.broadcast_add(y, F.sigmoid(X)),
        lambda y: F.LayerNorm(y),
        lambda y: F.reshape(F.relu(F.reshape(y, shape=(0, -4, 4, 2, -2))), shape=(0, -3, -2)),
    ],
)
def test_transposes_of_what_may_be_in_the_memory_of_volumes_stay(between):
    y = between(F.Convolution(X, kernel=(1, 1, 1), num_filter=8))
    rules = [moves.merge_axes]
    assert rewritten(F.transpose(y, axes=(0, 1, 3, 4, 2)), rules, (1, 8, 2, 3, 4))[-1] == "transpose"


def test_transposes_of_other_arrays_next_to_volumes_are_merged():
    y = F.Pooling(F.Convolution(X, kernel=(1, 1, 1), num_filter=8), kernel=(2, 2, 2))
    y = F.broadcast_mul(F.transpose(X, axes=(0, 1, 2, 4, 3)), F.mean(y, axis=1, keepdims=True).sum())
    y = F.transpose(y, axes=(0, 1, 3, 4, 2))
    assert rewritten(y, [moves.merge_axes], (1, 8, 2, 3, 4))[-3:] == ["Reshape", "transpose", "Reshape"]


def test_windows_of_a_residual_volume_are_merged():
    dense = F.FullyConnected(X, num_hidden=8, flatten=False)
    y = F.LayerNorm(F.Activation(F.elemwise_add(X, F.LeakyReLU(dense)), act_type="relu"))
    y = F.transpose(F.reshape(y, shape=(2, 2, 2, 2, 2, 8)), axes=(0, 2, 1, 3, 4, 5))
    found = rewritten(y, [moves.merge_axes], (1, 4, 4, 2, 8))
    assert found[-3:] == ["Reshape", "transpose", "Reshape"]
