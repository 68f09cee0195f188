import mxnet as mx
import numpy as np
import pytest

import reference
from gluon_same import functional as G


def arrays(*shapes):
    return [mx.nd.random.normal(shape=shape) for shape in shapes]


@pytest.mark.parametrize("bias", [False, True])
def test_convolution_of_arrays_and_of_symbols(bias):
    x, w, b = arrays((2, 4, 9, 8), (6, 2, 4, 3), (6,))
    known = dict(kernel=(4, 3), num_filter=6, stride=(1, 2), dilate=(2, 1), num_group=2)
    pads = reference.same_pads((9, 8), (4, 3), (1, 2), (2, 1))
    want = reference.convolution(
        x.asnumpy(), w.asnumpy(), (1, 2), (2, 1), pads, 2, b.asnumpy() if bias else None
    )
    got = G.convolution(mx.nd, x, w, b if bias else None, **known)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-4)
    data, weight, biases = map(mx.sym.var, "xwb")
    symbol = G.convolution(mx.sym, data, weight, biases if bias else None, name="conv", **known)
    assert "conv" in [node.name for node in symbol.get_internals()]
    feed = dict(x=x, w=w, b=b) if bias else dict(x=x, w=w)
    np.testing.assert_allclose(symbol.eval(**feed)[0].asnumpy(), want, rtol=1e-4, atol=1e-4)


def test_sum_pooling():
    (x,) = arrays((1, 2, 5, 6))
    pads = reference.same_pads((5, 6), (2, 3), (2, 2), (1, 1))
    want = reference.pooling(x.asnumpy(), (2, 3), (2, 2), pads, "sum")
    got = G.pooling(mx.nd, x, kernel=(2, 3), stride=2, pool_type="sum")
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-5)


def test_in_size_may_be_known_in_part():
    x, w = arrays((1, 2, 8, 9), (3, 2, 3, 3))
    known = dict(kernel=(3, 3), num_filter=3, stride=2)
    want = G.convolution(mx.nd, x, w, **known).asnumpy()
    for in_size in [None, (8, None), (None, 9), (8, 9)]:
        symbol = G.convolution(mx.sym, mx.sym.var("x"), mx.sym.var("w"), in_size=in_size, **known)
        np.testing.assert_allclose(symbol.eval(x=x, w=w)[0].asnumpy(), want, rtol=1e-4, atol=1e-5)
    half = G.convolution(mx.sym, mx.sym.var("x"), mx.sym.var("w"), in_size=(None, 9), **known)
    (other,) = arrays((1, 2, 5, 9))
    np.testing.assert_allclose(
        half.eval(x=other, w=w)[0].asnumpy(),
        G.convolution(mx.nd, other, w, **known).asnumpy(),
        rtol=1e-4,
        atol=1e-5,
    )


def test_numpy_arrays_give_numpy_arrays(numpy_mode):
    x, w = mx.np.ones((1, 3, 8, 8)), mx.np.ones((2, 3, 4, 4))
    assert isinstance(G.convolution(mx.nd, x, w, kernel=4, num_filter=2), mx.np.ndarray)
    assert isinstance(G.pooling(mx.nd, x, kernel=3, stride=2, pool_type="avg"), mx.np.ndarray)
    wt = mx.np.ones((3, 2, 4, 4))
    assert isinstance(G.deconvolution(mx.nd, x, wt, kernel=4, num_filter=2), mx.np.ndarray)
    symbol = G.pooling(mx.sym, mx.sym.var("x").as_np_ndarray(), kernel=(3, 3), stride=2)
    assert type(symbol) is type(mx.sym.var("x").as_np_ndarray())


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_an_int_applies_to_all_axes_of_an_array(rank):
    x = mx.nd.ones((1, 2) + (5,) * (rank - 2))
    assert G.pooling(mx.nd, x, kernel=2, stride=2).shape == (1, 2) + (3,) * (rank - 2)


X = mx.nd.ones((1, 3, 8, 8))
W = mx.nd.ones((2, 3, 3, 3))
V = mx.nd.ones((3, 3, 3, 3))
S = mx.sym.var("x")


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: G.convolution(mx.nd, [1], W, kernel=3, num_filter=2), TypeError, "data is a list"),
        (lambda: G.convolution(mx.nd, X, W, kernel=(3,), num_filter=2), ValueError, "layout NCW"),
        (lambda: G.convolution(mx.nd, X, W, kernel=3, num_filter=0), ValueError, "num_filter=0"),
        (lambda: G.convolution(mx.nd, X, W, kernel=0, num_filter=2), ValueError, "kernel=0"),
        (lambda: G.pooling(mx.nd, X, kernel=2, layout="HWC"), ValueError, "layout='HWC' is unknown"),
        (lambda: G.pooling(mx.sym, S, kernel=2, layout=2), ValueError, "layout=2 is unknown.*NCW, NWC"),
        (
            lambda: G.convolution(mx.nd, X, W, kernel=3, num_filter=2, stride=(1, 0)),
            ValueError,
            "stride=0",
        ),
        (lambda: G.convolution(mx.nd, X, W, kernel=3, num_filter=2, pad="causal"), ValueError, "causal"),
        (
            lambda: G.convolution(mx.nd, X, W, kernel=3, num_filter=2, layout="NCDHW"),
            ValueError,
            "NCDHW",
        ),
        (
            lambda: G.convolution(mx.sym, S, S, kernel=(3, 3), num_filter=2, in_size=(8,)),
            ValueError,
            r"in_size=\(8,\)",
        ),
        (
            lambda: G.convolution(mx.nd, X[:, :, :2], W, kernel=3, num_filter=2, pad="valid"),
            ValueError,
            "smaller than a window",
        ),
        (
            lambda: G.convolution(mx.nd, X, W, kernel=3, num_filter=2, num_group=0),
            ValueError,
            "num_group=0",
        ),
        (
            lambda: G.deconvolution(mx.nd, X, V, kernel=3, num_filter=3, pad=((9, 5), (0, 0))),
            ValueError,
            "cuts off the whole result",
        ),
        (lambda: G.pooling(mx.sym, X, kernel=2), TypeError, "mx.nd for arrays"),
        (lambda: G.pooling(mx.nd, S, kernel=2), TypeError, "mx.nd for arrays"),
        (lambda: G.pooling(mx.nd, X, kernel=2, pad={1}), TypeError, r"pad=\{1\}"),
        (lambda: G.pooling(mx.nd, X, kernel=2, pad=None), TypeError, "pad=None"),
        (lambda: G.pooling(mx.nd, X, kernel=2, pool_type="lp"), ValueError, "pool_type='lp'"),
        (lambda: G.pooling(mx.nd, X, kernel=2, pad=2), ValueError, r"pad=\(2, 2\)"),
        (lambda: G.pooling(mx.nd, X[0, 0], kernel=2), ValueError, "0 spatial axes"),
        (
            lambda: G.deconvolution(mx.nd, X, V, kernel=3, num_filter=3, stride=2, adj=1),
            ValueError,
            "adj",
        ),
        (
            lambda: G.deconvolution(mx.nd, X, V, kernel=3, num_filter=3, pad=0, adj=1),
            ValueError,
            "less than stride",
        ),
        (
            lambda: G.deconvolution(
                mx.sym, mx.sym.var("x"), mx.sym.var("w"), kernel=(2, 2, 2), num_filter=3, dilate=2
            ),
            ValueError,
            r"over 3 axes: dilate=\(2, 2, 2\)",
        ),
    ],
)
def test_errors_name_the_argument_and_its_value(call, error, words):
    with pytest.raises(error, match=words):
        call()
