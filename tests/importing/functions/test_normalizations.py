"""Normalizations against NumPy."""

import numpy as np
import pytest
from checks import check, check_sizes, random

from gluon_same.importing import functions


@pytest.mark.parametrize("axes", [(1,), (2,), (1, 2), (0, 1, 2)])
def test_layers_are_normalized_over_any_axes(axes):
    gamma, beta = random(4, 3, seed=1), random(3, seed=2)

    def reference(x):
        mean, inverse = x.mean(axes, keepdims=True), 1 / np.sqrt(x.var(axes, keepdims=True) + 1e-3)
        return [(x - mean) * inverse * gamma + beta, mean, inverse]

    sizes = [(random(n, 4, 3), gamma, beta) for n in (2, 5)]
    how = dict(axes=axes, epsilon=1e-3, rtol=1e-4, atol=1e-5)
    check_sizes(functions.layer_norm, lambda x, *_: reference(x), *sizes, all_outputs=True, **how)
    check(functions.layer_norm, reference(sizes[0][0])[0], *sizes[0], **how)
    check(functions.layer_norm, reference(sizes[0][0])[0] - beta, *sizes[0][:2], **how)


def test_mean_and_variance():
    sizes = [(random(2, 3, n, 5),) for n in (4, 7)]

    def reference(x):
        return (x - x.mean((0, 2, 3), keepdims=True)) / (x.std((0, 2, 3), keepdims=True) + 1e-9)

    check_sizes(functions.mean_variance, reference, *sizes, axes=(0, 2, 3), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("rank", [3, 4])
def test_local_responses(size, rank):
    def reference(x):
        total = np.zeros_like(x)
        for c in range(x.shape[1]):
            first, last = max(c - (size - 1) // 2, 0), min(c + size // 2, x.shape[1] - 1)
            total[:, c] = (x[:, first : last + 1] ** 2).sum(1)
        return x / (1.5 + 0.3 / size * total) ** 0.75

    sizes = [(random(2, 6, *(n,) * (rank - 2)),) for n in (3, 5)]
    how = dict(size=size, alpha=0.3, beta=0.75, bias=1.5, rank=rank)
    check(functions.local_response, reference(*sizes[0]), *sizes[0], **how)
    check_sizes(functions.local_response, reference, *sizes, **how)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_norms_of_any_order(p):
    sizes = [(random(2, n, 3),) for n in (4, 5)]
    norm = lambda x, axes: (np.abs(x) ** p).sum(axes, keepdims=True) ** (1 / p)  # noqa: E731
    check_sizes(functions.lp_norm, lambda x: norm(x, (1, 2)), *sizes, axes=(1, 2), p=p)
    check_sizes(functions.lp_normalize, lambda x: x / norm(x, 1), *sizes, axis=1, p=p)
    check(functions.lp_normalize, np.zeros((2, 3), "float32"), np.zeros((2, 3), "float32"), axis=1, p=p)


def test_vectors_whose_squares_are_infinite_become_zeros():
    x = np.array([[1e30, 1], [3, 4]], "float32")
    check(functions.unit_norm, np.array([[0, 0], [0.6, 0.8]], "float32"), x, axis=1)
