"""Functions of the colors of images in models' files, against NumPy."""

import colorsys

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, write

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)
COLORS = RANDOM.uniform(size=(2, 4, 5, 3)).astype("float32")
COLORS[0, 0] = [[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5], [1, 0, 0.25], [0.25, 1, 0]]


def pixels(convert):
    return lambda x: np.apply_along_axis(lambda pixel: convert(*pixel), 3, x.astype("float64"))


def adjusted(turn, factor):
    def convert(*pixel):
        hue, saturation, value = colorsys.rgb_to_hsv(*pixel)
        return colorsys.hsv_to_rgb((hue + turn) % 1, min(saturation * factor, 1), value)

    return pixels(convert)


def sobel(x):
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="reflect")
    rise = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    return np.stack([correlated(wide, kernel) for kernel in (rise, rise.T)], -1)


def correlated(x, kernel):
    rows, columns = (n - k + 1 for n, k in zip(x.shape[1:], kernel.shape))
    places = np.ndindex(*kernel.shape)
    return sum(kernel[i, j] * x[:, i : i + rows, j : j + columns] for i, j in places)


def blurred(x, size, sigma):
    lines = [np.exp(-((np.arange(n) - n // 2) ** 2) / (2 * s * s)) for n, s in zip(size, sigma)]
    kernel = np.outer(lines[1] / lines[1].sum(), lines[0] / lines[0].sum())
    return correlated(np.pad(x, ((0, 0), *((n // 2, n // 2) for n in size), (0, 0))), kernel)


@pytest.mark.parametrize(
    "name, arguments, wanted",
    [
        ("image.rgb_to_hsv", {}, pixels(colorsys.rgb_to_hsv)),
        ("image.hsv_to_rgb", {}, pixels(colorsys.hsv_to_rgb)),
        ("image.adjust_hue", dict(delta=0.4), adjusted(0.4, 1)),
        ("image.adjust_saturation", dict(saturation_factor=1.7), adjusted(0, 1.7)),
        ("image.adjust_gamma", dict(gamma=0.7, gain=1.2), lambda x: 1.2 * x**0.7),
        ("image.rgb_to_grayscale", {}, lambda x: x @ np.array([[0.2989], [0.587], [0.114]])),
        ("image.rgb_to_yuv", {}, lambda x: np.linalg.solve(np.array(
            [[1, 0, 1.13988303], [1, -0.394642334, -0.58062185], [1, 2.03206185, 0]]),
            x[..., None])[..., 0]),
        ("image.sobel_edges", {}, sobel),
        ("image.gaussian_blur", dict(kernel_size=[3, 3], sigma=[0.7, 1.3]),
         lambda x: blurred(x, (3, 3), (0.7, 1.3))),
    ],
)  # fmt: skip
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_colors(tmp_path, layout, name, arguments, wanted):
    made = function(name, "image", **arguments)
    net = load_model(write(tmp_path, functional(image(None, None, 3), made)), layout=layout)
    for x in (COLORS, COLORS[:1, :, 1:]):
        first = layout == "NCHW"
        given, want = (np.moveaxis(a, -1, 1) if first else a for a in (x, np.asarray(wanted(x))))
        for _ in range(2):
            found = net(mx.nd.array(given)).asnumpy()
            np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)
            net.hybridize()


def test_gray_images_become_colored(tmp_path):
    made = function("image.grayscale_to_rgb", "image")
    net = load_model(write(tmp_path, functional(image(4, 5, 1), made)), layout="NHWC")
    x = COLORS[..., :1]
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), np.tile(x, (1, 1, 1, 3)))


def test_colors_may_be_the_second_axis(tmp_path):
    made = function("image.rgb_to_grayscale", "image", data_format="channels_first")
    net = load_model(write(tmp_path, functional(image(3, 4, 5), made)), layout="NHWC")
    x = COLORS.transpose((0, 3, 1, 2))
    wanted = np.einsum("nchw,c->nhw", x, [0.2989, 0.587, 0.114])[:, None]
    np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize(
    "name, arguments, words",
    [
        ("image.rgb_to_hsv", {}, "rgb_to_hsv of shape (None, 4, 5, 2)"),
        ("image.gaussian_blur", dict(kernel_size=[3], sigma=[1]), "gaussian_blur with kernel_size=[3]"),
        ("image.gaussian_blur", dict(kernel_size=[999, 999], sigma=[1, 1]), "are supported"),
    ],
)
def test_colors_that_are_refused(tmp_path, name, arguments, words):
    made = function(name, "image", **arguments)
    with pytest.raises(ValueError) as error:
        load_model(write(tmp_path, functional(image(4, 5, 2), made)))
    assert words in str(error.value)
