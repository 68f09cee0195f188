"""Compare the functions with Keras' signatures with the reference, for arrays and symbols."""

import mxnet as mx
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import reference
from gluon_same import keras_backend as K

OPEN = ["symbol of open size", "numpy symbol of open size", "bare symbol"]
WAYS = ["array", "numpy array", "symbol of known size", *OPEN]
FORMATS = ["channels_last", "channels_first"]


@st.composite
def geometries(draw, dilated=True):
    """Return kernel, strides, dilation and size."""
    ndim = draw(st.sampled_from([1, 2, 2, 3]))

    def each(least, most):
        return tuple(draw(st.integers(least, most)) for _ in range(ndim))

    dilation = each(1, 3) if dilated and ndim < 4 else (1,) * ndim
    size = each(1, {1: 17, 2: 11, 3: 6}[ndim])
    return each(1, {1: 6, 2: 5, 3: 3}[ndim]), each(1, 4), dilation, size


ways = st.sampled_from(WAYS)
formats = st.sampled_from(FORMATS)
paddings = st.sampled_from(["valid", "same"])


def whole(*shape):
    """Return small whole numbers, whose sums are exact in float32."""
    return np.random.randint(-4, 5, shape).astype("float32")


def from_channels_first(x, data_format):
    return x if data_format == "channels_first" else np.moveaxis(x, 1, -1)


def keras_kernel(weight):
    """Transpose (b, a, *kernel) to (*kernel, a, b)."""
    return np.moveaxis(weight, (1, 0), (-2, -1))


def run(function, way, data_format, x, *kernels):
    """Return the result of ``function(x, *kernels, data_format=)`` for channels-first data."""
    arrays = [from_channels_first(x, data_format), *kernels]
    if way == "array":
        out = function(*map(mx.nd.array, arrays), data_format=data_format)
    elif way == "numpy array":
        out = function(*map(mx.np.array, arrays), data_format=data_format)
        assert isinstance(out, mx.np.ndarray)
    else:
        channels = 1 if data_format == "channels_first" else x.ndim - 1
        sizes = {"symbol of known size": [0, *arrays[0].shape[1:]], "bare symbol": None}.get(
            way, [n if a == channels else 0 for a, n in enumerate(arrays[0].shape)]
        )
        shapes = [sizes, *(k.shape for k in kernels)]
        names = ["x", "a", "b"][: len(arrays)]
        symbols = list(map(mx.sym.var, names, [None] * 3, shapes))
        if way.startswith("numpy"):
            out = function(*(s.as_np_ndarray() for s in symbols), data_format=data_format)
            assert isinstance(out, mx.sym.numpy._Symbol)
            out = out.as_nd_ndarray()
        else:
            out = function(*symbols, data_format=data_format)
        arguments = dict(zip(names, map(mx.nd.array, arrays)))
        # Before binding, sizes must be known only from the shapes of the variables.
        executor = out.simple_bind(mx.cpu(), **{n: a.shape for n, a in arguments.items()})
        (out,) = executor.forward(**arguments)
    out = out.asnumpy()
    return out if data_format == "channels_first" else np.moveaxis(out, -1, 1)


def pads_of(padding, size, kernel, strides, dilation):
    if padding == "valid":
        for n, k, d in zip(size, kernel, dilation):
            assume(n >= d * (k - 1) + 1)
        return [(0, 0)] * len(size)
    return reference.same_pads(size, kernel, strides, dilation)


@given(geometries(), paddings, formats, ways, st.sampled_from([1, 2]))
def test_conv(geometry, padding, data_format, way, groups):
    kernel, strides, dilation, size = geometry
    assume(groups == 1 or way != "bare symbol")  # its channels are not known
    x, weight = whole(2, 4, *size), whole(6, 4 // groups, *kernel)
    pads = pads_of(padding, size, kernel, strides, dilation)

    def function(x, k, data_format):
        return K.conv(x, k, strides, padding, data_format, dilation)

    got = run(function, way, data_format, x, keras_kernel(weight))
    want = reference.convolution(x, weight, strides, dilation, pads, groups)
    np.testing.assert_array_equal(got, want)


@given(geometries(), paddings, formats, ways, st.integers(1, 3))
def test_depthwise_conv(geometry, padding, data_format, way, multiplier):
    kernel, strides, dilation, size = geometry
    x, weight = whole(2, 3, *size), whole(3 * multiplier, 1, *kernel)
    pads = pads_of(padding, size, kernel, strides, dilation)

    def function(x, k, data_format):
        return K.depthwise_conv(x, k, strides, padding, data_format, dilation)

    per_channel = weight.reshape((3, multiplier, *kernel))
    got = run(function, way, data_format, x, np.moveaxis(per_channel, (0, 1), (-2, -1)))
    want = reference.convolution(x, weight, strides, dilation, pads, groups=3)
    np.testing.assert_array_equal(got, want)


@given(geometries(), paddings, formats, ways, st.integers(1, 2))
def test_separable_conv(geometry, padding, data_format, way, multiplier):
    kernel, strides, dilation, size = geometry
    ones, none = (1,) * len(size), [(0, 0)] * len(size)
    x, weight = whole(2, 3, *size), whole(3 * multiplier, 1, *kernel)
    pointwise = whole(2, 3 * multiplier, *ones)
    pads = pads_of(padding, size, kernel, strides, dilation)

    def function(x, a, b, data_format):
        return K.separable_conv(x, a, b, strides, padding, data_format, dilation)

    per_channel = np.moveaxis(weight.reshape((3, multiplier, *kernel)), (0, 1), (-2, -1))
    got = run(function, way, data_format, x, per_channel, keras_kernel(pointwise))
    between = reference.convolution(x, weight, strides, dilation, pads, groups=3)
    np.testing.assert_array_equal(got, reference.convolution(between, pointwise, ones, ones, none))


@given(geometries(), paddings, formats, ways, st.booleans())
def test_conv_transpose(geometry, padding, data_format, way, given_size):
    kernel, strides, dilation, size = geometry
    if len(size) == 3:
        dilation = (1, 1, 1)  # MXNet supports no other
    x, weight = whole(2, 3, *size), whole(3, 2, *kernel)
    extras = [np.random.randint(s) if given_size else None for s in strides]
    # Keras' output sizes, as documented.
    lengths = []
    for n, k, s, d, extra in zip(size, kernel, strides, dilation, extras):
        span = d * (k - 1) + 1
        if padding == "valid":
            lengths.append((n - 1) * s + (max(span, s) if extra is None else span + extra))
        else:
            lengths.append(n * s if extra is None else (n - 1) * s + span % 2 + extra)
    assume(min(lengths) > 0)
    # This is the gradient of a convolution that pads an axis of that length so that n windows fit.
    full = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(size, strides, dilation, kernel)]
    cuts = [(max(f - n, 0) // 2, max(f - n, 0) - max(f - n, 0) // 2) for f, n in zip(full, lengths)]
    adds = [max(n - f, 0) for f, n in zip(full, lengths)]

    def function(x, k, data_format):
        output_padding = tuple(extras) if given_size else None
        return K.conv_transpose(x, k, strides, padding, output_padding, data_format, dilation)

    got = run(function, way, data_format, x, keras_kernel(weight))
    want = reference.deconvolution(x, weight, strides, dilation, cuts, adds)
    assert want.shape[2:] == tuple(lengths)
    np.testing.assert_array_equal(got, want)


@given(geometries(), paddings, formats, ways, st.sampled_from(["max", "avg"]), st.sampled_from([2, 17]))
def test_pooling(geometry, padding, data_format, way, kind, channels):
    pool_size, strides, _, size = geometry
    if way in OPEN:  # such graphs do not support one element under an even pooling
        assume(all(n > 1 or k % 2 or s == 1 for n, k, s in zip(size, pool_size, strides)))
    pads = pads_of(padding, size, pool_size, strides, (1,) * len(size))
    x = np.random.permutation(channels * int(np.prod(size))).reshape((1, channels, *size)) - 100.0
    function = {"max": K.max_pool, "avg": K.average_pool}[kind]

    def pool(x, data_format):
        return function(x, pool_size, strides, padding, data_format)

    got = run(pool, way, data_format, x.astype("float32"))
    want = reference.pooling(x, pool_size, strides, pads, kind)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-4)
