"""Blocks around one function, and the shapes that blocks return."""

import copy
import pickle

import mxnet as mx
import numpy as np
import pytest

from gluon_same import nn
from gluon_same.importing import functions
from gluon_same.importing.block import Function, output_shapes, title_of

X = mx.nd.array(np.arange(24).reshape((1, 2, 3, 4)))


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_block_calls_an_operator_by_name(hybridize):
    block = Function("transpose", "Turn", axes=(0, 2, 3, 1))
    block.hybridize(hybridize)
    np.testing.assert_array_equal(block(X).asnumpy(), X.asnumpy().transpose(0, 2, 3, 1))


def test_a_function_receives_parameters_by_name():
    gamma = dict(shape=(1, 2, 1, 1), init="ones")
    block = Function(functions.scaled, "LayerScale", "scale_", {"gamma": gamma})
    assert list(block.collect_params()) == ["scale_gamma"]
    block.initialize()
    block.gamma.set_data(2 * mx.nd.ones((1, 2, 1, 1)))
    np.testing.assert_array_equal(block(X).asnumpy(), 2 * X.asnumpy())


def test_the_title_is_shown_in_place_of_the_class():
    block = Function(functions.elu, "ELU", alpha=0.5)
    assert title_of(block) == "ELU" and title_of(nn.Dense(2)) == "Dense"
    assert repr(block) == "ELU(elu, alpha=0.5)"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda block: pickle.loads(pickle.dumps(block))])
def test_a_block_is_copied_with_its_function(copied):
    block = copied(Function(functions.repeat_elements, "UpSampling2D", times=(2, 1)))
    assert block(X).shape == (1, 2, 6, 4)


def test_sizes_that_depend_on_unknown_sizes_are_unknown():
    pool = nn.MaxPool2D(2)
    saved, free = output_shapes(pool, [(None, 3, 8, 6)], [(None, 3, None, None)])
    assert saved == [(None, 3, 4, 3)] and free == [(None, 3, None, None)]


def test_each_output_has_a_shape():
    block = Function("split", "Split", num_outputs=2, axis=1)
    assert output_shapes(block, [(None, 4, 5)]) == [[(None, 2, 5)] * 2]


def test_sizes_beyond_32_bits_are_refused():
    with pytest.raises(ValueError, match="too large for MXNet"):
        output_shapes(nn.Flatten(), [(None, 2**31)])


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(mx.MXNetError):
        output_shapes(Function("concat", "Concatenate", dim=1), [(None, 2, 3), (None, 2, 4)])
