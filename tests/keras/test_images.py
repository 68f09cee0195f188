"""TensorFlow's functions of images in models' files, against NumPy."""

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, layer, write

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)


@pytest.fixture
def of_images(tmp_path):
    """Return a function that returns the results of a function of random images."""

    def call(name, *shape, sizes=None, **arguments):
        made = function(name, "image", **arguments) if "." in name else keras3(name, **arguments)
        net = load_model(write(tmp_path, functional(image(*(sizes or shape)), made)), layout="NHWC")
        x = RANDOM.normal(size=(2, *shape)).astype("float32")
        first = net(mx.nd.array(x)).asnumpy()
        net.hybridize()
        np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), first)
        return x, first

    return call


def keras3(name, **arguments):
    """Return a call of a function of Keras 3 on images."""
    return {**layer(name, "made", "image", **arguments), "module": "keras.src.ops.image"}


def box(top, left, height, width):
    return dict(offset_height=top, offset_width=left, target_height=height, target_width=width)


@pytest.mark.parametrize("sizes", [None, (None, None, 3)])
def test_images_are_cropped_to_a_box(of_images, sizes):
    x, y = of_images("image.crop_to_bounding_box", 6, 7, 3, sizes=sizes, **box(1, 0, 4, 5))
    np.testing.assert_array_equal(y, x[:, 1:5, :5])


@pytest.mark.parametrize("sizes", [None, (None, None, 3), (5, 8, 3)])
def test_images_are_padded_to_a_box(of_images, sizes):
    x, y = of_images("image.pad_to_bounding_box", 6, 7, 3, sizes=sizes, **box(1, 0, 9, 8))
    np.testing.assert_array_equal(y, np.pad(x, [(0, 0), (1, 2), (0, 1), (0, 0)]))


@pytest.mark.parametrize("sizes", [None, (None, None, 3)])
@pytest.mark.parametrize(
    "side, other, rows, columns",
    [
        (dict(top=1, bottom=2), dict(left=0, right=1), (1, 4), (0, 6)),
        (dict(top=1), dict(right=1), (1, 5), (2, 6)),
        (dict(bottom=0), dict(left=3), (2, 6), (3, 7)),
    ],
)
def test_borders_are_cropped(of_images, sizes, side, other, rows, columns):
    given = {f"{name}_cropping": n for name, n in {**side, **other}.items()}
    given["target_height"] = None if len(side) == 2 else 4
    given["target_width"] = None if len(other) == 2 else 4
    x, y = of_images("CropImages", 6, 7, 3, sizes=sizes, **given)
    np.testing.assert_array_equal(y, x[:, slice(*rows), slice(*columns)])


@pytest.mark.parametrize("sizes", [None, (None, None, 3)])
def test_borders_are_padded(of_images, sizes):
    given = dict(top_padding=1, bottom_padding=2, left_padding=3, target_width=11)
    x, y = of_images("PadImages", 6, 7, 3, sizes=sizes, **given)
    np.testing.assert_array_equal(y, np.pad(x, [(0, 0), (1, 2), (3, 1), (0, 0)]))


@pytest.mark.parametrize(
    "name, arguments, words",
    [
        ("crop_to_bounding_box", box(3, 0, 4, 5), "crop_to_bounding_box of shape"),
        ("crop_to_bounding_box", box(-1, 0, 4, 5), "crop_to_bounding_box of shape"),
        ("crop_to_bounding_box", box(0, 0, 0, 5), "crop_to_bounding_box of shape"),
        ("pad_to_bounding_box", box(1, 0, 6, 9), "pad_to_bounding_box of shape"),
        ("pad_to_bounding_box", box(0, 0, 10**6, 10**6), "pad_to_bounding_box by"),
        ("rot90", dict(k=1, axes=[0, 1]), "rot90 along axis=0"),
        ("central_crop", dict(central_fraction=1.5), "central_crop by 1.5"),
        ("resize_with_crop_or_pad", dict(target_height=3, target_width=0), "resize_with_crop_or_pad to"),
        ("local_response_normalization", dict(depth_radius=-1), "over -1 channels"),
    ],
)
def test_boxes_that_are_refused(of_images, name, arguments, words):
    with pytest.raises(ValueError, match=words):
        of_images(f"image.{name}", 6, 7, 3, **arguments)


@pytest.mark.parametrize(
    "name, size", [("crop", (5, 9)), ("crop", (9, 5)), ("pad", (4, 6)), ("pad", (6, 4))]
)
@pytest.mark.parametrize("hybrid", [False, True])
def test_images_of_other_sizes_that_a_box_does_not_fit_are_refused(tmp_path, name, size, hybrid):
    made = function(
        f"image.{name}_to_bounding_box", "image", **box(2, 2, *(4, 4) if name == "crop" else (7, 7))
    )
    net = load_model(write(tmp_path, functional(image(None, None, 3), made)), layout="NHWC")
    net.hybridize(hybrid)
    with pytest.raises(ValueError, match="cannot run on data of shape"):
        net(mx.nd.ones((1, *size, 3))).wait_to_read()


@pytest.mark.parametrize(
    "name, arguments, words",
    [
        (
            "PadImages",
            dict(bottom_padding=1, target_height=9, left_padding=0, right_padding=0),
            "before",
        ),
        ("PadImages", dict(top_padding=1, left_padding=0, right_padding=0), "pad_images of shape"),
        (
            "PadImages",
            dict(top_padding=10**9, bottom_padding=0, left_padding=0, right_padding=0),
            "are supp",
        ),
        (
            "CropImages",
            dict(top_cropping=3, bottom_cropping=3, left_cropping=0, right_cropping=0),
            "of shape",
        ),
    ],
)
def test_borders_that_are_refused(of_images, name, arguments, words):
    with pytest.raises(ValueError, match=words):
        of_images(name, 6, 7, 3, **arguments)


@pytest.mark.parametrize("k", range(-1, 4))
def test_images_are_turned(of_images, k):
    x, y = of_images("image.rot90", 4, 5, 3, k=k)
    np.testing.assert_array_equal(y, np.rot90(x, k, (1, 2)))


@pytest.mark.parametrize("name", ["rot90", "per_image_standardization"])
@pytest.mark.parametrize("shape", [(6, 7), (2, 6, 7, 3)])
def test_functions_of_batches_of_images_refuse_others(of_images, name, shape):
    with pytest.raises(ValueError, match="axes, not 4"):
        of_images(f"image.{name}", *shape)


@pytest.mark.parametrize("axes", [(3, 1), (-2, -1)])
def test_axes_are_turned(of_images, axes):
    x, y = of_images("Rot90", 4, 5, 3, k=1, axes=list(axes))
    np.testing.assert_array_equal(y, np.rot90(x, 1, axes))


@pytest.mark.parametrize("axes", [(1, 2), (2, 1), (3, 1), (-2, -1)])
@pytest.mark.parametrize("offset", [-1, 0, 2])
def test_diagonals(of_images, axes, offset):
    how = dict(offset=offset, axis1=axes[0], axis2=axes[1])
    x, y = of_images("Diagonal", 4, 5, 3, **how)
    np.testing.assert_array_equal(y, np.diagonal(x, offset, *axes))
    x, y = of_images("Trace", 4, 5, 3, **how)
    np.testing.assert_allclose(y, np.trace(x, offset, *axes), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axes, offset", [((1, 1), 0), ((1, 2), 5), ((2, 3), -5), ((0, 1), 0)])
def test_diagonals_that_are_refused(of_images, axes, offset):
    with pytest.raises(ValueError, match="diagonal (of shape|along)"):
        of_images("Diagonal", 4, 5, 3, offset=offset, axis1=axes[0], axis2=axes[1])


@pytest.mark.parametrize("radius", [1, 5])
def test_local_response(of_images, radius):
    how = dict(depth_radius=radius, bias=1.5, alpha=0.2, beta=0.75)
    x, y = of_images("nn.local_response_normalization", 3, 4, 6, **how)
    near = np.abs(np.subtract.outer(range(6), range(6))) <= radius
    np.testing.assert_allclose(y, x / (1.5 + 0.2 * (x**2) @ near) ** 0.75, rtol=1e-5)


def test_convolutions_of_the_backend(of_images):
    kernel = RANDOM.normal(size=(1, 1, 3, 2)).round(3)
    how = dict(filter=kernel.tolist(), strides=(1, 2), padding="VALID", data_format="NHWC")
    x, y = of_images("compat.v1.nn.convolution", 4, 5, 3, **how)
    np.testing.assert_allclose(y, x[:, :, ::2] @ kernel[0, 0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("arguments, size, start", [
    (dict(), (4, 8), (2, 0)), (dict(target_height=9, target_width=4), (2, 4), (3, 0)),
    (dict(target_height=2, target_width=9), (2, 4), (0, 2)),
])  # fmt: skip
def test_images_are_resized_within_a_size(tmp_path, arguments, size, start):
    given = {"target_height": 8, "target_width": 8, **arguments}
    whole = (given["target_height"], given["target_width"])
    padded = function("image.resize_with_pad", "image", method="nearest", **given)
    kept = function("image.resize", "image", size=whole, method="nearest", preserve_aspect_ratio=True)
    config = functional(image(2, 4, 3), padded, kept, outputs=["image_resize_with_pad", "image_resize"])
    net = load_model(write(tmp_path, config), layout="NHWC")
    x = np.random.RandomState(0).normal(size=(2, 2, 4, 3)).astype("float32")
    inside = x.repeat(size[0] // 2, 1).repeat(size[1] // 4, 2)
    wanted = np.zeros((2, *whole, 3), "float32")
    wanted[:, start[0] : start[0] + size[0], start[1] : start[1] + size[1]] = inside
    for found, right in zip(net(mx.nd.array(x)), (wanted, inside)):
        np.testing.assert_array_equal(found.asnumpy(), right)
    with pytest.raises(ValueError, match="4, 4"):
        net(mx.nd.ones((1, 4, 4, 3)))


def transformed(x, numbers, outside, value):
    """Return images whose element at (row, column) is that of others where transforms move it."""
    y = np.empty_like(x)
    for n, row, column in np.ndindex(x.shape[:3]):
        a, b, c = np.reshape([*numbers[n], 1], (3, 3)) @ (column, row, 1)
        total, place = 0, np.array([b / c, a / c])
        for corner in np.ndindex(2, 2):
            at = np.floor(place).astype(int) + corner
            inside = np.clip(at, 0, np.array(x.shape[1:3]) - 1)
            known = outside == "nearest" or (at == inside).all()
            total = total + (x[(n, *inside)] if known else value) * np.prod(1 - np.abs(place - at))
        y[n, row, column] = total
    return y


@pytest.mark.parametrize("given", ["constant", "data"])
@pytest.mark.parametrize("outside, value", [("constant", 0.0), ("constant", 2.0), ("nearest", 0.0)])
def test_images_are_transformed(tmp_path, outside, value, given):
    line = np.array([1, 0.1, 0.5, -0.1, 1, 0.2, 0.01, -0.02], "float32")
    numbers = np.array([line, line + 0.03], "float32") if given == "data" else np.array([line, line])
    transform = ["numbers", 0, 0] if given == "data" else line.tolist()
    how = dict(fill_mode=outside, fill_value=value)
    made = function("affine_transform", "image", transform=transform, **how)
    inputs = [image(None, None, 3), image(8, name="numbers")][: 1 + (given == "data")]
    names = [each["name"] for each in inputs]
    net = load_model(write(tmp_path, functional(*inputs, made, inputs=names)), layout="NHWC")
    for size in ((5, 7), (6, 4)):
        x = RANDOM.normal(size=(2, *size, 3)).astype("float32")
        wanted = transformed(x, numbers, outside, value)
        for hybridized in (False, True):
            net.hybridize(hybridized)
            found = net(*map(mx.nd.array, (x, numbers)[: len(names)])).asnumpy()
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "arguments",
    [dict(interpolation="nearest"), dict(fill_mode="reflect"), dict(transform=[[1.0] * 8] * 2)],
)
def test_other_transforms_are_refused(tmp_path, arguments):
    made = keras3("affine_transform", **{"transform": [1.0] * 8, **arguments})
    with pytest.raises(ValueError, match="only 'bilinear', constant, nearest and 8 numbers are"):
        load_model(write(tmp_path, functional(image(5, 6, 3), made)))
