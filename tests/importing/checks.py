"""Run functions of the room eager, hybridized, and hybridized once for several sizes."""

import mxnet as mx
import numpy as np

from gluon_same.importing.block import Function


def results(function, *inputs, **arguments):
    """Yield NumPy arrays (or lists) of the function's results, eager and hybridized."""
    for hybridize in (False, True):
        block = Function(function, "Test", **arguments)
        block.hybridize(hybridize)
        yield run(block, *inputs)


def run(block, *inputs):
    out = block(*(mx.nd.array(x, dtype=np.asarray(x).dtype) for x in inputs))
    return [y.asnumpy() for y in out] if isinstance(out, (list, tuple)) else out.asnumpy()


def check(function, want, *inputs, rtol=1e-5, atol=1e-6, **arguments):
    """Compare a function's result with the wanted one, with its shape and its dtype."""
    for got in results(function, *inputs, **arguments):
        same(got, want, rtol, atol)


def check_sizes(function, reference, *several, rtol=1e-5, atol=1e-6, **arguments):
    """Compare one hybridized block with a reference for several lists of inputs."""
    block = Function(function, "Test", **arguments)
    block.hybridize()
    for inputs in several:
        same(run(block, *inputs), reference(*inputs), rtol, atol)


def same(got, want, rtol=1e-5, atol=1e-6):
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for pair in zip(got, want):
            same(*pair, rtol, atol)
    else:
        want = np.asarray(want)
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


def random(*shape, dtype="float32", low=-5, high=6, seed=0):
    """Return random numbers; integers of integer dtypes."""
    state = np.random.RandomState(seed)
    if np.issubdtype(dtype, np.integer):
        return state.randint(max(low, np.iinfo(dtype).min), high, shape).astype(dtype)
    return state.uniform(low, high, shape).astype(dtype)
