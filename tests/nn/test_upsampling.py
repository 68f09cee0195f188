"""Upsampling repeats or interpolates elements."""

import pickle

import mxnet as mx
import numpy as np
import pytest

from gluon_same import nn, specialize
from small_nets import eager_and_hybridized

WHOLE = mx.nd.ones((1, 1, 2, 2), dtype="int32")


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("last", [False, True])
def test_nearest_upsampling_repeats_elements(ndim, last):
    x = np.random.rand(2, 3, *(4, 5, 2)[:ndim]).astype("float32")
    size = (2, 3, 1)[:ndim]
    want = x
    for axis, count in enumerate(size, 2):
        want = want.repeat(count, axis)
    if last:
        x, want = np.moveaxis(x, 1, -1), np.moveaxis(want, 1, -1)
    layout = (("NCW", "NWC"), ("NCHW", "NHWC"), ("NCDHW", "NDHWC"))[ndim - 1][last]
    block = getattr(nn, f"UpSampling{ndim}D")(size, layout=layout)
    np.testing.assert_array_equal(eager_and_hybridized(block, x), want)


def linear(x, axis, count):
    """Interpolate slowly between the centers of elements."""
    n = x.shape[axis]
    at = np.clip((np.arange(n * count) + 0.5) / count - 0.5, 0, n - 1)
    low = np.floor(at).astype(int)
    part = (at - low).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    return x.take(low, axis) * (1 - part) + x.take(np.minimum(low + 1, n - 1), axis) * part


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_bilinear_upsampling_interpolates_between_centers(ndim):
    x = want = np.random.rand(2, 3, *(4, 1, 3)[:ndim]).astype("float32")
    size = (2, 3, 4)[:ndim]
    for axis, count in enumerate(size, 2):
        want = linear(want, axis, count)
    block = getattr(nn, f"UpSampling{ndim}D")(size, interpolation="bilinear")
    np.testing.assert_allclose(eager_and_hybridized(block, x), want, rtol=1e-5)


def test_upsampling_in_a_net_serves_every_size_and_exports(tmp_path):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3, padding="same"), nn.UpSampling2D(interpolation="bilinear"), nn.ReLU(1.5))
    net.initialize()
    x = mx.nd.random.uniform(shape=(1, 3, 5, 6))
    want = net(x).asnumpy()
    np.testing.assert_allclose(specialize(net, x.shape)(x).asnumpy(), want, rtol=1e-6)
    net.hybridize()
    net(x)
    assert net(mx.nd.ones((1, 3, 7, 4))).shape == (1, 2, 14, 8)
    net.export(str(tmp_path / "net"))
    assert "UpSampling2D(size=(2, 2), interpolation='bilinear'" in repr(net)


def test_numpy_mode(numpy_mode):
    assert isinstance(nn.UpSampling1D()(mx.np.ones((1, 2, 3))), mx.np.ndarray)


def test_whole_numbers_are_repeated_where_mxnet_can():
    x = np.arange(4, dtype="int32").reshape((1, 1, 2, 2))
    found = nn.UpSampling2D((1, 2))(mx.nd.array(x, dtype="int32")).asnumpy()
    np.testing.assert_array_equal(found, x.repeat(2, 3))


def test_a_block_can_be_pickled():
    block = nn.UpSampling2D((2, 3))
    assert repr(pickle.loads(pickle.dumps(block))) == repr(block)


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: nn.UpSampling2D(0), ValueError, "size=0"),
        (lambda: nn.UpSampling2D((2, 2, 2)), ValueError, r"size=\(2, 2, 2\) has 3 entries"),
        (lambda: nn.UpSampling2D(layout="NWC"), ValueError, "layout='NWC'"),
        (lambda: nn.UpSampling2D(interpolation="cubic"), ValueError, "interpolation='cubic' is unknown"),
        (lambda: nn.UpSampling2D()(mx.nd.ones((1, 2, 3))), ValueError, "has 3 axes"),
        (lambda: nn.UpSampling2D()(WHOLE), TypeError, "data of int32 cannot be enlarged"),
        (lambda: nn.UpSampling2D((1, 2), None, "bilinear")(WHOLE), TypeError, "cannot be enlarged"),
    ],
)
def test_wrong_arguments_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()
