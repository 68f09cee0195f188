"""Compare zero padding and cropping with NumPy."""

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd

from gluon_same import nn

SHAPES = {1: (2, 6, 7), 2: (2, 6, 7, 8), 3: (2, 6, 6, 7, 8)}

FORMS = [
    (1, 2, [(2, 2)]),
    (1, (1, 2), [(1, 2)]),
    (1, ((0, 1),), [(0, 1)]),
    (1, [2, 0], [(2, 0)]),
    (2, 1, [(1, 1), (1, 1)]),
    (2, (0, 2), [(0, 0), (2, 2)]),
    (2, ((0, 1), (2, 3)), [(0, 1), (2, 3)]),
    (2, [[1, 0], [0, 2]], [(1, 0), (0, 2)]),
    (2, np.int64(1), [(1, 1), (1, 1)]),
    (2, 0, [(0, 0), (0, 0)]),
    (3, 1, [(1, 1)] * 3),
    (3, (1, 0, 2), [(1, 1), (0, 0), (2, 2)]),
    (3, ((0, 1), (1, 0), (2, 1)), [(0, 1), (1, 0), (2, 1)]),
]


def want_of(kind, x, pairs, layout):
    pairs = iter(pairs)
    pairs = [(0, 0) if axis in "NC" else next(pairs) for axis in layout]
    if kind == "ZeroPadding":
        return np.pad(x, pairs)
    return x[tuple(slice(before, n - after) for (before, after), n in zip(pairs, x.shape))]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("ndim, amounts, pairs", FORMS)
@pytest.mark.parametrize("kind", ["ZeroPadding", "Cropping"])
def test_every_form(kind, ndim, amounts, pairs, last, dtype):
    spatial = "DHW"[3 - ndim :]
    layout = f"N{spatial}C" if last else f"NC{spatial}"
    layer = getattr(nn, f"{kind}{ndim}D")(amounts, layout=layout)
    net = nn.HybridSequential()
    net.add(layer)
    for size in (SHAPES[ndim], tuple(n + 2 for n in SHAPES[ndim])):
        x = mx.nd.random.normal(shape=size).astype(dtype)
        want = want_of(kind, x.asnumpy(), pairs, layout)
        for each in (layer, net):
            got = each(x).asnumpy()
            assert got.dtype == np.dtype(dtype)
            np.testing.assert_array_equal(got, want)
        net.hybridize()


@pytest.mark.parametrize("kind, size", [(nn.ZeroPadding2D, (9, 13)), (nn.Cropping2D, (7, 3))])
def test_gradients(kind, size):
    layer, x = kind(((0, 1), (2, 3))), mx.nd.random.normal(shape=(1, 2, 8, 8))
    layer.hybridize()
    x.attach_grad()
    with autograd.record():
        y = layer(x)
    assert y.shape == (1, 2, *size)
    y.backward()
    want = np.zeros((8, 8)) if kind is nn.Cropping2D else np.ones((8, 8))
    if kind is nn.Cropping2D:
        want[0:7, 2:5] = 1
    np.testing.assert_array_equal(x.grad.asnumpy()[0, 0], want)


def test_the_defaults_are_those_of_keras():
    ones = {n: mx.nd.ones(SHAPES[n]) for n in SHAPES}
    assert [getattr(nn, f"ZeroPadding{n}D")()(ones[n]).shape[-1] for n in (1, 2, 3)] == [9, 10, 10]
    assert [getattr(nn, f"Cropping{n}D")()(ones[n]).shape[-1] for n in (1, 2, 3)] == [5, 8, 6]


def test_repr_shows_the_pairs():
    assert repr(nn.ZeroPadding2D((1, 2))) == "ZeroPadding2D(padding=((1, 1), (2, 2)), layout=NCHW)"
    assert repr(nn.Cropping1D((0, 2))) == "Cropping1D(cropping=((0, 2),), layout=NCW)"


def test_cropping_keeps_integers():
    x = mx.nd.arange(6).reshape((1, 1, 6)).astype("int32")
    assert nn.Cropping1D(2)(x).asnumpy().tolist() == [[[2, 3]]]


def test_numpy_mode(numpy_mode):
    x = mx.np.ones((1, 1, 4, 4))
    for layer, size in ((nn.ZeroPadding2D(1), 6), (nn.Cropping2D(1), 2)):
        out = layer(x)
        assert isinstance(out, mx.np.ndarray) and out.shape[-1] == size


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: nn.ZeroPadding1D((1, 2, 3)), ValueError, "padding=.* 3 entries: .* two"),
        (lambda: nn.ZeroPadding2D("same"), TypeError, "padding='same' is not an amount"),
        (lambda: nn.ZeroPadding2D(-1), ValueError, "padding=-1 is out of range"),
        (lambda: nn.ZeroPadding2D((1, 2, 3)), ValueError, "3 entries"),
        (lambda: nn.ZeroPadding2D(((1, 2), 3)), ValueError, "give 2 pairs"),
        (lambda: nn.ZeroPadding2D(1.0), TypeError, "padding=1.0 is not a whole number"),
        (lambda: nn.ZeroPadding3D(((1, 2), (3, 4))), ValueError, "give 3 pairs"),
        (lambda: nn.ZeroPadding2D(1, layout="NCW"), ValueError, "layout='NCW'"),
        (lambda: nn.Cropping2D(True), TypeError, "cropping=True"),
        (lambda: nn.Cropping1D(1)(mx.nd.ones((1, 1, 2))), ValueError, "removes all of data"),
        (lambda: nn.ZeroPadding2D(1)(mx.nd.ones((1, 1, 2))), ValueError, "3 axes: give 4"),
        (lambda: nn.ZeroPadding1D(1)(mx.nd.ones((1, 1, 2), dtype="int32")), TypeError, "int32"),
    ],
)
def test_invalid_arguments_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("block", [nn.Cropping2D(), nn.ZeroPadding2D(0)])
def test_a_block_that_changes_nothing_hands_gradients_on(block):
    block.hybridize()
    x = mx.nd.ones((1, 2, 3, 4))
    x.attach_grad()
    with mx.autograd.record():
        out = block(x)
    out.backward()
    assert (x.grad == 1).asnumpy().all()
