"""Gradients of functions that are made of several operators, against differences of their results."""

import mxnet as mx
import numpy as np
import pytest
from checks import random

from gluon_same.importing import functions
from gluon_same.importing.block import Function
from gluon_same.importing.functions import Resize


def einsum(equation, *shapes):
    labels, out = functions.einsum_labels(equation, shapes)
    return functions.einsum, shapes, dict(labels=labels, out=out)


CASES = {
    "batches": einsum("bij,bjk->bik", (2, 3, 4), (2, 4, 2)),
    "heads": einsum("nqhd,nkhd->nhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
    "diagonals": einsum("bii,b->i", (2, 3, 3), (2,)),
    "broadcasts": einsum("...ij,...jk->...ik", (3, 1, 2, 4), (2, 4, 2)),
    "cumsum": (functions.cumsum, [(2, 4)], dict(axis=1, exclusive=True, reverse=True)),
    "log_sum_exp": (functions.reduce, [(2, 4)], dict(kind="log_sum_exp", axes=(1,))),
    "std": (functions.reduce, [(2, 4)], dict(kind="std", axes=(1,))),
    "softmax": (functions.over_axes, [(2, 3, 2)], dict(kind="softmax", axes=(0, 2), rank=3)),
    "layer_norm": (functions.layer_norm, [(2, 3, 2), (3, 2)], dict(axes=(1, 2), epsilon=1e-3)),
    "local_response": (
        *(functions.local_response, [(2, 4, 3)]),
        dict(size=2, alpha=0.3, beta=0.7, bias=1.0, rank=3),
    ),
    "reflect": (functions.pad, [(3, 4)], dict(pairs=[(1, 0), (2, 3)], mode="reflect")),
    "crop": (functions.pad, [(3, 4)], dict(pairs=[(-1, 0), (2, -2)], mode="edge")),
    "roll": (functions.roll, [(2, 5)], dict(shifts=[2], axes=[1])),
    "pixels": (functions.depth_to_space, [(1, 8, 2, 2)], dict(block=2, columns_first=True)),
    "phases": (
        *(functions.resize_by_phases, [(1, 2, 3, 2)]),
        dict(phases=Resize("cubic").phases(2), axis=2, rank=4),
    ),
    "open": (
        *(functions.resize_open, [(1, 2, 3), (5, 1)]),
        dict(how=tuple(Resize("cubic")), axis=(2, 0), rank=3),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_slopes(case):
    function, shapes, arguments = CASES[case]
    block = Function(function, "Test", **arguments)
    block.hybridize()
    arrays = [random(*shape, low=-1, high=1, seed=i) for i, shape in enumerate(shapes)]
    inputs = [mx.nd.array(x) for x in arrays]
    for x in inputs:
        x.attach_grad("add")
    weights = mx.nd.array(random(*block(*inputs).shape, seed=9))
    for _ in range(2):
        with mx.autograd.record():
            (block(*inputs) * weights).sum().backward()

    def total(given):
        return float((block(*map(mx.nd.array, given)) * weights).sum().asscalar())

    for i, x in enumerate(arrays):
        direction = random(*x.shape, low=-1, high=1, seed=20 + i)
        step = 1e-2
        sides = [
            [y + sign * step * direction if j == i else y for j, y in enumerate(arrays)]
            for sign in (1, -1)
        ]
        slope = (total(sides[0]) - total(sides[1])) / (2 * step)
        got = 0.5 * float((inputs[i].grad.asnumpy() * direction).sum())
        np.testing.assert_allclose(got, slope, rtol=2e-2, atol=2e-2)
