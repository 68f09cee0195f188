"""TensorFlow's functions of images in models' files, against NumPy."""

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, write

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)


@pytest.fixture
def of_images(tmp_path):
    """Return a function that returns the results of a function of random images."""

    def call(name, *shape, sizes=None, **arguments):
        made = function(name, "image", **arguments)
        net = load_model(write(tmp_path, functional(image(*(sizes or shape)), made)), layout="NHWC")
        x = RANDOM.normal(size=(2, *shape)).astype("float32")
        first = net(mx.nd.array(x)).asnumpy()
        net.hybridize()
        np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), first)
        return x, first

    return call


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


@pytest.mark.parametrize(
    "name, arguments, words",
    [
        ("crop_to_bounding_box", box(3, 0, 4, 5), "crop_to_bounding_box of shape"),
        ("crop_to_bounding_box", box(-1, 0, 4, 5), "crop_to_bounding_box of shape"),
        ("crop_to_bounding_box", box(0, 0, 0, 5), "crop_to_bounding_box of shape"),
        ("pad_to_bounding_box", box(1, 0, 6, 9), "pad_to_bounding_box of shape"),
        ("pad_to_bounding_box", box(0, 0, 10**6, 10**6), "pad_to_bounding_box of"),
        ("local_response_normalization", dict(depth_radius=-1), "over -1 channels"),
    ],
)
def test_boxes_that_are_refused(of_images, name, arguments, words):
    with pytest.raises(ValueError, match=words):
        of_images(f"image.{name}", 6, 7, 3, **arguments)


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
