"""Helpers that run functions on F eagerly and hybridized."""

import mxnet as mx
import numpy as np

from gluon_same.importing.block import Function


def flat(y):
    return [each.asnumpy() for each in (y if isinstance(y, (list, tuple)) else [y])]


def array(x):
    x = np.asarray(x)
    x = x.astype("float32") if x.dtype in ("bool", "float64") else x
    return mx.nd.array(x, dtype=x.dtype)


def run(function, *arrays, then=(), **arguments):
    """Return the outputs of a function, which are the same eager and hybridized.

    ``then`` are arrays of other sizes, which the same graph serves; if given, the result is the pair of
    the outputs for both.
    """
    block = Function(function, "Test", **arguments)
    eager = [flat(block(*map(array, each))) for each in (arrays, then) if each]
    block.hybridize()
    graph = [flat(block(*map(array, each))) for each in (arrays, then) if each]
    for one, other in zip(eager, graph):
        for x, y in zip(one, other):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)
    return graph if then else graph[0]
