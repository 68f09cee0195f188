"""Losses against plain loops."""

import numpy as np
import pytest
from running import run

from gluon_same.importing import functions

RANDOM = np.random.RandomState(0)


@pytest.mark.parametrize("ignore_index", [None, 1, -5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_negative_log_likelihood(reduction, weighted, ignore_index):
    def example(n, *sizes):
        x = RANDOM.normal(size=(n, 4, *sizes)).astype("float32")
        target = RANDOM.randint(0, 4, (n, *sizes))
        target.flat[0] = 2
        target.flat[1] = target.flat[1] if ignore_index is None else ignore_index
        weight = RANDOM.uniform(1, 2, 4).astype("float32") if weighted else np.ones(4, "float32")
        total, scale = np.zeros(target.shape), np.zeros(target.shape)
        for place in np.ndindex(*target.shape):
            label = target[place]
            if label != ignore_index:
                scale[place] = weight[label]
                total[place] = -x[(place[0], label, *place[1:])] * weight[label]
        want = {"none": total, "sum": total.sum(), "mean": total.sum() / scale.sum()}[reduction]
        return (x, target, *([weight] if weighted else [])), want

    (first, want), (then, other) = example(3, 5, 2), example(2, 3, 7)
    own = dict(reduction=reduction, ignore_index=ignore_index)
    got = run(functions.negative_log_likelihood, *first, then=then, **own)
    np.testing.assert_allclose(got[0][0], np.reshape(want, got[0][0].shape), rtol=1e-5)
    np.testing.assert_allclose(got[1][0], np.reshape(other, got[1][0].shape), rtol=1e-5)


def test_an_ignored_target_may_be_impossible():
    x = np.float32([[-1, -np.inf], [-2, -3]])
    own = dict(reduction="mean", ignore_index=1)
    (got,) = run(functions.negative_log_likelihood, x, np.array([1, 0]), **own)
    np.testing.assert_array_equal(got, [2])
