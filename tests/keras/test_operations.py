"""More functions of arrays in models' files, against NumPy."""

import math

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, layer, write

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(2, 6, 5, 3)).astype("float32")
KERNEL = RANDOM.normal(size=(3, 3, 3, 2)).astype("float32")
POINTWISE = RANDOM.normal(size=(1, 1, 6, 4)).astype("float32")
TRANSPOSED = RANDOM.normal(size=(2, 2, 4, 3)).astype("float32")
LINE = RANDOM.uniform(0.5, 1.5, size=3).astype("float32")


def products(x, exclusive=False, reverse=False):
    x = x[:, ::-1] if reverse else x
    x = np.concatenate([np.ones_like(x[:, :1]), x[:, :-1]], 1) if exclusive else x
    return x.cumprod(1)[:, ::-1] if reverse else x.cumprod(1)


def depthwise(x, step=1):
    """Return a valid convolution of each channel by the kernel, with a dilation."""
    rows, columns = (n - 2 * step for n in x.shape[1:3])
    parts = [
        x[:, i * step : i * step + rows, j * step : j * step + columns, :, None] * KERNEL[i, j]
        for i, j in np.ndindex(3, 3)
    ]
    return sum(parts).reshape((len(x), rows, columns, 6))


def patches(x, kernel, stride, dilation, padding):
    """Return the patches of channels-first images."""
    x = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    places = [range(0, n - span + 1, stride) for n, span in zip(x.shape[2:], spans)]
    found = [
        x[:, :, i : i + spans[0] : dilation[0], j : j + spans[1] : dilation[1]].reshape((len(x), -1))
        for i in places[0]
        for j in places[1]
    ]
    return np.stack(found, -1)


def clipped(x):
    return x / np.maximum(np.sqrt((x * x).sum(1, keepdims=True)) / 1.3, 1)


def pooled(x, reduce):
    rows, columns = ((0, 2), (1, 3), (3, 5), (4, 6)), ((0, 3), (2, 5))
    return np.stack([[reduce(x[:, a:b, c:d], (1, 2)) for c, d in columns] for a, b in rows]).transpose(
        (2, 0, 1, 3)
    )


@pytest.mark.parametrize(
    "name, arguments, wanted",
    [
        ("math.argmax", dict(axis=2, output_type="int64"), lambda x: x.argmax(2)),
        ("math.cumprod", dict(axis=1), products),
        ("math.cumprod", dict(axis=1, exclusive=True), lambda x: products(x, exclusive=True)),
        ("math.cumprod", dict(axis=1, exclusive=True, reverse=True), lambda x: products(x, True, True)),
        ("separable_conv", dict(depthwise_kernel=KERNEL.tolist(), pointwise_kernel=POINTWISE.tolist()),
         lambda x: depthwise(x) @ POINTWISE[0, 0]),
        ("compat.v1.nn.separable_conv2d",
         dict(depthwise_filter=KERNEL.tolist(), pointwise_filter=POINTWISE.tolist(), padding="VALID",
              strides=[1, 1, 1, 1], rate=[2, 2]), lambda x: depthwise(x, 2) @ POINTWISE[0, 0]),
        ("compat.v1.nn.depthwise_conv2d", dict(filter=KERNEL.tolist(), strides=[1] * 4,
                                                padding=[[0, 0], [1, 0], [0, 2], [0, 0]]),
         lambda x: depthwise(np.pad(x, ((0, 0), (1, 0), (0, 2), (0, 0))))),
        ("nn.max_pool2d", dict(ksize=2, strides=2, padding=[[0, 0], [1, 1], [1, 0], [0, 0]]),
         lambda x: np.pad(x, ((0, 0), (1, 1), (1, 0), (0, 0)), constant_values=-np.inf).reshape(
             (2, 4, 2, 3, 2, 3)).max((2, 4))),
        ("conv_transpose", dict(kernel=TRANSPOSED.tolist(), strides=2),
         lambda x: np.einsum("nijc,abdc->niajbd", x, TRANSPOSED).reshape((2, 12, 10, 4))),
        ("batch_norm", dict(mean=LINE.tolist(), variance=LINE.tolist(), axis=-1, epsilon=0.1),
         lambda x: (x - LINE) / np.sqrt(LINE + 0.1)),
        ("compat.v1.nn.fused_batch_norm",
         dict(scale=[2.0, 1.0, 3.0], offset=[1.0, 0.0, 2.0], mean=LINE.tolist(), variance=LINE.tolist(),
              epsilon=0.1, data_format="NHWC", is_training=False),
         lambda x: (x - LINE) / np.sqrt(LINE + 0.1) * [2, 1, 3] + [1, 0, 2]),
        ("adaptive_average_pool", dict(output_size=[4, 2]), lambda x: pooled(x, np.mean)),
        ("adaptive_max_pool", dict(output_size=[4, 2]), lambda x: pooled(x, np.max)),
        ("average", dict(axis=-1, weights=LINE.tolist()), lambda x: np.average(x, -1, LINE)),
        ("average", dict(axis=1, weights=["image", 0, 0]), lambda x: (x * x).sum(1) / x.sum(1)),
        ("median", dict(axis=1), lambda x: np.median(x, 1)),
        ("median", dict(axis=[1, 2], keepdims=True), lambda x: np.median(x, (1, 2), keepdims=True)),
        ("quantile", dict(q=0.3, axis=[2]), lambda x: np.quantile(x, 0.3, 2)),
        ("quantile", dict(q=0.5, axis=2), lambda x: np.quantile(x, 0.5, 2)),
        ("percentile", dict(q=30, axis=[2]), lambda x: np.quantile(x, 0.3, 2)),
        ("fmax", dict(x2=0.1), lambda x: np.fmax(x, 0.1)),
        ("fmin", dict(x2=["image", 0, 0]), lambda x: x),
        ("math.xlogy", dict(y=3.0), lambda x: x * np.log(3)),
        ("math.xdivy", dict(y=3.0), lambda x: x / 3),
        ("math.multiply_no_nan", dict(y=0.0), lambda x: 0 * x),
        ("math.lgamma", {}, np.vectorize(math.lgamma)),
        ("nn.crelu", {}, lambda x: np.maximum(np.concatenate([x, -x], -1), 0)),
        ("nn.silu", dict(beta=1.7), lambda x: x / (1 + np.exp(-1.7 * x))),
        ("clip_by_norm", dict(clip_norm=1.3, axes=[1]), clipped),
        ("digitize", dict(bins=[-1.0, 0.0, 0.5]), lambda x: np.digitize(x, [-1, 0, 0.5])),
        ("compat.v1.boolean_mask", dict(mask=[True, False, False, True, True], axis=2),
         lambda x: x[:, :, [0, 3, 4]]),
        ("repeat", dict(repeats=[1, 0, 2, 0, 3], axis=2), lambda x: x[:, :, [0, 2, 2, 4, 4, 4]]),
        ("image.central_crop", dict(central_fraction=0.5), lambda x: x[:, 1:-1, 1:-1]),
        ("unfold", dict(kernel_size=3, padding=1), lambda x: patches(x, (3, 3), 1, (1, 1), 1)),
        ("unfold", dict(kernel_size=[2, 3], dilation=[2, 1], stride=2),
         lambda x: patches(x, (2, 3), 2, (2, 1), 0)),
    ],
)  # fmt: skip
def test_functions_of_one_array(tmp_path, name, arguments, wanted):
    made, shape = function(name, "image", **arguments), X.shape[1:]
    x = np.abs(X) if name in ("math.lgamma", "average") else X
    if name == "unfold":
        x, shape = X.transpose((0, 3, 1, 2)), (3, *shape[:2])
    net = load_model(write(tmp_path, functional(image(*shape), made)), layout="NHWC")
    for _ in range(2):
        found = net(mx.nd.array(x)).asnumpy()
        np.testing.assert_allclose(found, wanted(x), rtol=2e-5, atol=2e-5)
        net.hybridize()


@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_numbers_come_before_what_is_none(tmp_path, name):
    made = function(name, "image", x2=["other", 0, 0])
    layers = image(4), image(4, name="other"), made
    net = load_model(write(tmp_path, functional(*layers, inputs=("image", "other"))))
    x, y = np.array([[np.nan, 1, np.nan, 2]], "float32"), np.array([[3, np.nan, np.nan, 1]], "float32")
    found = net(mx.nd.array(x), mx.nd.array(y)).asnumpy()
    np.testing.assert_array_equal(found, getattr(np, name)(x, y))


def test_products_with_zero_are_zero(tmp_path):
    for name, other in (("xlogy", 0.0), ("xdivy", 0.0)):
        made = function(f"math.{name}", "image", y=["other", 0, 0])
        layers = image(2), image(2, name="other"), made
        net = load_model(write(tmp_path, functional(*layers, inputs=("image", "other"))))
        found = net(mx.nd.zeros((1, 2)), mx.nd.array([[other, 2]])).asnumpy()
        np.testing.assert_array_equal(found, [[0, 0]])


def test_a_quantile_of_what_is_not_a_number_is_none(tmp_path):
    net = load_model(write(tmp_path, functional(image(3), function("median", "image", axis=1))))
    found = net(mx.nd.array([[1, np.nan, 2], [1, 5, 2], [1, np.inf, np.inf]])).asnumpy()
    np.testing.assert_array_equal(found, [np.nan, 2, np.inf])


@pytest.mark.parametrize("start, shape", [((0, 1, 2), (3, 2)), ((0, 0, 1), (5, 3)), ((0, 2, 0), (1, 4))])
def test_parts_are_replaced(tmp_path, start, shape):
    made = function("slice_update", "image", start_indices=list(start), updates=["other", 0, 0])
    layers = image(5, 4), image(*shape, name="other"), made
    net = load_model(write(tmp_path, functional(*layers, inputs=("image", "other"))), layout="NHWC")
    x, y = (RANDOM.normal(size=(2, *size)).astype("float32") for size in ((5, 4), shape))
    want = x.copy()
    want[:, start[1] : start[1] + shape[0], start[2] : start[2] + shape[1]] = y
    for _ in range(2):
        np.testing.assert_array_equal(net(mx.nd.array(x), mx.nd.array(y)).asnumpy(), want)
        net.hybridize()


def test_patches_are_added_up(tmp_path):
    whole = function("unfold", "image", kernel_size=2, stride=2)
    back = function("fold", "unfold", output_size=[4, 6], kernel_size=2, stride=2)
    net = load_model(write(tmp_path, functional(image(3, 4, 6), whole, back)), layout="NHWC")
    x = RANDOM.normal(size=(2, 3, 4, 6)).astype("float32")
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), x)


@pytest.mark.parametrize("name", ["rfft", "fft", "fft2", "ifft2"])
def test_fourier_transforms(tmp_path, name):
    square = function("math.square", "image")
    made = function(name, "image")
    if name != "rfft":
        made["inbound_nodes"] = [[["image", 0, 0, {}], ["math_square", 0, 0, {}]]]
    outputs = [[name, 0, 0], [name, 0, 1]]
    config = functional(image(4, 6), square, made)
    config["config"]["output_layers"] = outputs
    net = load_model(write(tmp_path, config), layout="NHWC")
    x = RANDOM.normal(size=(2, 4, 6)).astype("float32")
    want = getattr(np.fft, name)(x if name == "rfft" else x + 1j * x**2)
    for _ in range(2):
        real, imaginary = net(mx.nd.array(x))
        np.testing.assert_allclose(real.asnumpy() + 1j * imaginary.asnumpy(), want, rtol=1e-5, atol=1e-4)
        net.hybridize()


@pytest.mark.parametrize("size", [None, 6, 7, 11, 16])
def test_signals_from_half_of_their_frequencies(tmp_path, size):
    made = function("irfft", "image", fft_length=size)
    made["inbound_nodes"] = [[[name, 0, 0, {"fft_length": size}] for name in ("image", "other")]]
    config = functional(image(3, 6), image(3, 6, name="other"), made, inputs=["image", "other"])
    net = load_model(write(tmp_path, config), layout="NHWC")
    x = RANDOM.normal(size=(2, 2, 3, 6)).astype("float32")
    for _ in range(2):
        found = net(*map(mx.nd.array, x)).asnumpy()
        np.testing.assert_allclose(found, np.fft.irfft(x[0] + 1j * x[1], size), rtol=1e-5, atol=1e-6)
        net.hybridize()


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom", "ignore:All-NaN")
@pytest.mark.parametrize("how", [dict(axis=[1]), dict(axis=[1, 2], keepdims=True)])
@pytest.mark.parametrize("kind", ["max", "mean", "min", "prod", "std", "sum", "var"])
def test_what_is_not_a_number_does_not_count(tmp_path, kind, how):
    x = X[..., 0].copy()
    x[0, 1, 2] = x[0, :, 3] = x[1] = np.nan
    made = function(f"nan{kind}", "image", **how)
    net = load_model(write(tmp_path, functional(image(6, 5), made)), layout="NHWC")
    want = getattr(np, f"nan{kind}")(x, **{**how, "axis": tuple(how["axis"])})
    for _ in range(2):
        np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), want, rtol=1e-5)
        net.hybridize()


def test_rows_are_looked_up_by_identifiers(tmp_path):
    made = function("compat.v1.nn.embedding_lookup", "image")
    arguments = dict(ids=["image", 0, 0], partition_strategy="div", name=None, max_norm=None)
    made["inbound_nodes"] = [["_CONSTANT_VALUE", -1, X[0, :, :, 0].tolist(), arguments]]
    ids = layer("InputLayer", "image", batch_input_shape=[None, 2], dtype="int32")
    net = load_model(write(tmp_path, functional(ids, made)), layout="NHWC")
    found = net(mx.nd.array([[0, 5], [3, 3]], dtype="int32")).asnumpy()
    np.testing.assert_array_equal(found, X[0, :, :, 0][[[0, 5], [3, 3]]])


def nearest(n, m, aligned):
    places = np.arange(m) * ((n - 1) / (m - 1) if aligned else n / m)
    return (np.floor(places + 0.5) if aligned else np.floor(places)).astype(int)


def linear(x, m, axis, aligned):
    n = x.shape[axis]
    places = np.arange(m) * ((n - 1) / (m - 1) if aligned else n / m)
    below = np.floor(places).astype(int)
    share = (places - below).reshape([-1 if i == axis else 1 for i in range(4)])
    return x.take(below, axis) * (1 - share) + x.take(np.minimum(below + 1, n - 1), axis) * share


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize(
    "name, arguments",
    [("bilinear", {}), ("nearest_neighbor", {}), ("images", {}), ("images", dict(method=1))],
)
def test_images_are_resized_as_in_version_1(tmp_path, name, arguments, aligned):
    given = dict(size=[9, 13], align_corners=aligned, **arguments)
    made = function(f"compat.v1.image.resize_{name}", "image", **given)
    net = load_model(write(tmp_path, functional(image(None, None, 3), made)), layout="NHWC")
    for x in (X, X[:, :4]):
        if "nearest" in name or arguments:
            rows, columns = (nearest(n, m, aligned) for n, m in zip(x.shape[1:3], (9, 13)))
            want = x[:, rows][:, :, columns]
        else:
            want = linear(linear(x, 9, 1, aligned), 13, 2, aligned)
        for _ in range(2):
            np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), want, rtol=1e-4, atol=1e-5)
            net.hybridize()


def test_masks_of_lengths(tmp_path):
    lengths = layer("InputLayer", "image", batch_input_shape=[None, 1], dtype="int32")
    made = function("sequence_mask", "image", maxlen=4, dtype="float32")
    net = load_model(write(tmp_path, functional(lengths, made)), layout="NHWC")
    found = net(mx.nd.array([[0], [3], [9]], dtype="int32")).asnumpy()
    np.testing.assert_array_equal(found, [[[0, 0, 0, 0]], [[1, 1, 1, 0]], [[1, 1, 1, 1]]])


@pytest.mark.parametrize(
    "name, arguments, words",
    [
        ("quantile", dict(q=0.5, axis=1, method="nearest"), "quantile with q=0.5 and method='nearest'"),
        ("median", dict(axis=None), "only axes after the batch are supported"),
        ("average", dict(axis=1, weights=LINE.tolist()), "average of shape (None, 6, 5, 3)"),
        ("clip_by_norm", dict(clip_norm=1.0), "only axes after the batch are supported"),
        ("boolean_mask", dict(mask=[True, False], axis=2), "boolean_mask of shape"),
        ("boolean_mask", dict(mask=[True, False], axis=0), "boolean_mask along axis=0"),
        ("repeat", dict(repeats=[1, 2], axis=2), "repeat of shape"),
        ("batch_norm", dict(mean=["image", 0, 0], variance=[1.0]), "by what is not constant"),
        ("separable_conv", dict(depthwise_kernel=KERNEL.tolist(), pointwise_kernel=[1.0]),
         "by what is not a constant array that fits"),
        ("separable_conv", dict(depthwise_kernel=KERNEL.tolist(), pointwise_kernel=[[[[1.0]] * 5]]),
         "by a pointwise_kernel of shape (1, 1, 5, 1), not (1, 1, 6, 1)"),
        ("compat.v1.nn.depthwise_conv2d", dict(filter=KERNEL[:, :, :2].tolist(), strides=[1] * 4),
         "by a depthwise_kernel of shape (3, 3, 2, 2), not (3, 3, 3, 2)"),
        ("conv_transpose", dict(kernel=KERNEL.tolist()), "by a kernel of shape (3, 3, 3, 2), not"),
        ("nn.conv2d", dict(filters=KERNEL[:, :, :2].tolist(), strides=1, padding="VALID"),
         "conv of shape (None, 6, 5, 3) by a kernel of shape (3, 3, 2, 2)"),
        ("batch_norm", dict(mean=[0.0], variance=LINE.tolist(), axis=-1), "a moving_mean of shape (1,)"),
        ("slice_update", dict(start_indices=[0, 2, 0, 0], updates=["image", 0, 0]), "slice_update of"),
        ("slice_update", dict(start_indices=[1, 0, 0, 0], updates=["image", 0, 0]), "slice_update of"),
        ("sequence_mask", dict(maxlen=10**10), "are supported"),
        ("image.central_crop", dict(central_fraction=2.0), "central_crop by 2.0"),
        ("unfold", dict(kernel_size=9), "unfold of shape"),
        ("fft", {}, "fft of shapes"),
        ("image.resize_area", dict(size=[2, 2], align_corners=True), "with align_corners=True"),
    ],
)  # fmt: skip
def test_functions_that_are_refused(tmp_path, name, arguments, words):
    made = function(name, "image", **arguments)
    with pytest.raises(ValueError) as error:
        load_model(write(tmp_path, functional(image(*X.shape[1:]), made)))
    assert words in str(error.value)


@pytest.mark.parametrize("name, wanted", [
    ("inv", np.linalg.inv), ("det", np.linalg.det), ("cholesky", np.linalg.cholesky),
])  # fmt: skip
def test_functions_of_matrices(tmp_path, name, wanted):
    config = functional(image(3, 3), function(f"linalg.{name}", "image"))
    net = load_model(write(tmp_path, config), layout="NHWC")
    x = RANDOM.normal(size=(2, 3, 3)).astype("float32")
    x = x @ x.transpose((0, 2, 1)) + np.eye(3, dtype="float32")
    for _ in range(2):
        np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), wanted(x), rtol=1e-4, atol=1e-5)
        net.hybridize()
