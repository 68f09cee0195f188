"""Keras' layers without windows in Gluon's form, and names of other frameworks."""

import pickle

import mxnet as mx
import numpy as np
import pytest

from gluon_same import nn, specialize


def both(block, x):
    """Return the results of a block, eager and hybridized, which must be equal."""
    eager = block(mx.nd.array(x)).asnumpy()
    block.hybridize()
    np.testing.assert_array_equal(block(mx.nd.array(x)).asnumpy(), eager)
    return eager


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
    np.testing.assert_array_equal(both(block, x), want)


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
    np.testing.assert_allclose(both(block, x), want, rtol=1e-5)


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


@pytest.mark.parametrize(
    "given, want",
    [
        (dict(), [0, 0, 0.5, 2, 8]),
        (dict(max_value=6), [0, 0, 0.5, 2, 6]),
        (dict(max_value=0), [0, 0, 0, 0, 0]),
        (dict(negative_slope=0.5), [-1, -0.25, 0.5, 2, 8]),
        (dict(threshold=2), [0, 0, 0, 0, 8]),  # Keras compares strictly
        (dict(negative_slope=0.5, threshold=1, max_value=4), [-1.5, -0.75, -0.25, 2, 4]),
    ],
)
def test_relu_computes_what_keras_does(given, want):
    np.testing.assert_allclose(both(nn.ReLU(**given), [-2, -0.5, 0.5, 2, 8]), want, rtol=1e-6)


def test_the_repr_of_relu_shows_what_was_given():
    assert repr(nn.ReLU()) == "ReLU()"
    assert repr(nn.ReLU(0, threshold=1)) == "ReLU(max_value=0, threshold=1)"


def test_reshape_keeps_the_batch():
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    np.testing.assert_array_equal(both(nn.Reshape((2, -1)), x), x.reshape(2, 2, 6))
    np.testing.assert_array_equal(both(nn.Reshape([12]), x), x.reshape(2, 12))
    with pytest.raises(mx.MXNetError):
        nn.Reshape((5, 1))(mx.nd.array(x)).wait_to_read()


def test_numpy_mode(numpy_mode):
    x = mx.np.ones((1, 2, 3))
    for block in (nn.UpSampling1D(), nn.ReLU(), nn.ReLU(negative_slope=0.1), nn.Reshape((6,))):
        assert isinstance(block(x), mx.np.ndarray)


@pytest.mark.parametrize("make", [nn.UpSampling2D, nn.ReLU, lambda: nn.Reshape((4,))])
def test_a_block_can_be_pickled(make):
    block = pickle.loads(pickle.dumps(make()))
    assert repr(block) == repr(make())


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: nn.UpSampling2D(0), ValueError, "size=0"),
        (lambda: nn.UpSampling2D((2, 2, 2)), ValueError, r"size=\(2, 2, 2\) has 3 entries"),
        (lambda: nn.UpSampling2D(layout="NWC"), ValueError, "layout='NWC'"),
        (lambda: nn.UpSampling2D(interpolation="cubic"), ValueError, "interpolation='cubic' is unknown"),
        (lambda: nn.UpSampling2D()(mx.nd.ones((1, 2, 3))), ValueError, "has 3 axes"),
        (lambda: nn.ReLU(-1), ValueError, "max_value=-1 is out of range"),
        (lambda: nn.ReLU(negative_slope="1"), TypeError, "negative_slope='1' is not a number"),
        (lambda: nn.Reshape(4), TypeError, "target_shape=4 is not a shape"),
        (lambda: nn.Reshape((-1, -1)), ValueError, "-1 more than once"),
        (lambda: nn.Reshape((0, 2)), ValueError, "target_shape=0"),
    ],
)
def test_wrong_arguments_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    "name, meant",
    [
        ("Conv2d", "Conv2D"),
        ("Convolution2D", "Conv2D"),
        ("MaxPooling2D", "MaxPool2D"),
        ("AveragePooling1D", "AvgPool1D"),
        ("GlobalAveragePooling2D", "GlobalAvgPool2D"),
        ("AdaptiveAvgPool2d", "GlobalAvgPool2D"),
        ("BatchNormalization", "BatchNorm"),
        ("BatchNorm2d", "BatchNorm"),
        ("ConvTranspose2d", "Conv2DTranspose"),
        ("Upsample", "UpSampling2D"),
        ("UpSampling2d", "UpSampling2D"),
        ("Linear", "Dense"),
        ("Relu", "ReLU"),
    ],
)
def test_a_name_of_another_framework_is_answered_with_the_right_one(name, meant):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': use '{meant}'"):
        getattr(nn, name)


def test_an_unknown_name_is_answered_with_the_list():
    with pytest.raises(AttributeError, match=r"'Xyzzy': dir\(gluon_same.nn\) lists the names"):
        nn.Xyzzy  # noqa: B018


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: nn.Conv2D(filters=8), "Conv2D has no argument 'filters': use 'channels'"),
        (lambda: nn.Conv2D(8, kernel=3), "Conv2D has no argument 'kernel': use 'kernel_size'"),
        (lambda: nn.SeparableConv2D(filters=8), "no argument 'filters': use 'channels'"),
        (lambda: nn.DepthwiseConv2D(pool_size=3), "no argument 'pool_size': use 'kernel_size'"),
        (lambda: nn.Conv2DTranspose(filters=8), "no argument 'filters': use 'channels'"),
        (lambda: nn.MaxPool2D(stride=2), "no argument 'stride': use 'strides'"),
    ],
)
def test_an_argument_of_another_framework_is_answered_before_missing_ones(make, words):
    with pytest.raises(TypeError, match=words):
        make()
