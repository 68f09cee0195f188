"""Reductions, and functions of all elements along axes, against NumPy."""

import numpy as np
import pytest
from checks import check, check_sizes, random

from gluon_same.importing import functions

KINDS = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "min": np.min,
    "max": np.max,
    "var": np.var,
    "std": np.std,
    "l1": lambda x, **how: np.abs(x).sum(**how),
    "l2": lambda x, **how: np.sqrt((x * x).sum(**how)),
    "sum_square": lambda x, **how: (x * x).sum(**how),
    "log_sum": lambda x, **how: np.log(x.sum(**how)),
    "log_sum_exp": lambda x, **how: np.log(np.exp(x).sum(**how)),
}
AXES = [(1,), (0, 2), (0, 1, 2)]


@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_axes_are_reduced(kind, keepdims):
    for axes in AXES:
        sizes = [(random(3, 4, n, low=0.1),) for n in (5, 8)]

        def reference(x, axes=axes):
            return np.atleast_1d(KINDS[kind](x, axis=axes, keepdims=keepdims))

        how = dict(kind=kind, axes=axes, keepdims=keepdims, rtol=1e-4)
        check(functions.reduce, reference(*sizes[0]), *sizes[0], **how)
        check_sizes(functions.reduce, reference, *sizes, **how)


@pytest.mark.parametrize("kind", ["sum", "prod", "min", "max", "l1", "sum_square"])
def test_integers_are_reduced(kind):
    x = random(3, 4, dtype="int64")
    check(functions.reduce, KINDS[kind](x, axis=(1,)), x, kind=kind, axes=(1,))


def test_log_sum_exp_of_large_and_infinite_numbers():
    x = np.array(
        [[1000, 1001], [-1000, -1001], [-np.inf, -np.inf], [-np.inf, 2], [np.inf, 1]], "float32"
    )
    want = np.array([1001.3133, -999.6867, -np.inf, 2, np.inf], "float32")
    check(functions.reduce, want, x, kind="log_sum_exp", axes=(1,))


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("kind", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_the_first_or_last_of_equal_elements_counts(kind, last, dtype):
    find = getattr(np, kind)
    for axis in range(3):
        sizes = [(random(3, 4, n, dtype="int32", high=-2).astype(dtype),) for n in (5, 9)]

        def reference(x, axis=axis):
            y = x.shape[axis] - 1 - find(np.flip(x, axis), axis) if last else find(x, axis)
            return np.expand_dims(y, axis)

        how = dict(kind=kind, axis=axis, rank=3, last=last, keepdims=True)
        check_sizes(functions.arg_reduce, reference, *sizes, **how)


@pytest.mark.parametrize("function", ["softmax", "log_softmax", "hardmax"])
@pytest.mark.parametrize("axes", [(0,), (1, 3), (1, 2, 3), (0, 1, 2, 3)])
def test_functions_along_several_axes(function, axes):
    def reference(x):
        e = np.exp(x - x.max(axes, keepdims=True))
        y = e / e.sum(axes, keepdims=True)
        if function == "hardmax":
            y = (x == x.max(axes, keepdims=True)).astype("float32")
        return np.log(y) if function == "log_softmax" else y

    sizes = [(random(2, 3, n, 5, seed=n),) for n in (4, 1)]
    how = dict(kind=function, axes=axes, rank=4, rtol=1e-4, atol=1e-5)
    check(functions.over_axes, reference(*sizes[0]), *sizes[0], **how)
    check_sizes(functions.over_axes, reference, *sizes, **how)


def test_hardmax_takes_the_first_of_equals():
    x = np.array([[1, 3, 3], [2, 2, 1]], "float32")
    check(functions.hardmax, np.array([[0, 1, 0], [1, 0, 0]], "float32"), x, axis=1, rank=2)


@pytest.mark.parametrize("reverse", [True, False])
@pytest.mark.parametrize("exclusive", [True, False])
def test_running_totals(exclusive, reverse):
    def reference(x):
        x = x[:, ::-1] if reverse else x
        y = np.cumsum(x, 1)
        y = np.concatenate([np.zeros_like(y[:, :1]), y[:, :-1]], 1) if exclusive else y
        return y[:, ::-1] if reverse else y

    sizes = [(random(2, n, 3),) for n in (5, 1)]
    how = dict(axis=1, exclusive=exclusive, reverse=reverse)
    check(functions.cumsum, reference(*sizes[0]), *sizes[0], **how)
    check_sizes(functions.cumsum, reference, *sizes, **how)
