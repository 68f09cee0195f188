"""Functions that the golden models of other rooms do not reach with these arguments, against NumPy."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same.importing import functions

X = np.random.RandomState(0).normal(size=(2, 4, 3, 5)).astype("float32")


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("kind", ["add", "subtract", "multiply", "divide", "maximum", "minimum"])
def test_a_number_or_a_constant_may_be_on_either_side(kind, first):
    function = getattr(np, kind)
    want = function(0.5, X) if first else function(X, 0.5)
    got = functions.scalar(mx.nd, mx.nd.array(X), kind, 0.5, first)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5)


@pytest.mark.parametrize("even", [True, False])
def test_merged_arrays_are_scaled(even):
    arrays = [mx.nd.array(X)] * 3
    got = functions.merge(mx.nd, *arrays, kind="add", even=even, scale=1 / 3)
    np.testing.assert_allclose(got.asnumpy(), X, rtol=1e-5)


def test_groups_are_normalized_without_factors():
    ones, zeros = mx.nd.ones(2), mx.nd.zeros(2)
    got = functions.group_norm(mx.nd, mx.nd.array(X), ones, zeros, epsilon=1e-3, groups=2)
    groups = X.reshape(2, 2, -1)
    want = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-3)
    np.testing.assert_allclose(got.asnumpy(), want.reshape(X.shape), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("times", [(2, 2), (1, 3)])
def test_elements_repeat(times):
    got = functions.repeat_elements(mx.nd, mx.nd.array(X), times)
    np.testing.assert_array_equal(got.asnumpy(), X.repeat(times[0], 2).repeat(times[1], 3))
