"""Functions of the colors of images, along an axis of red, green and blue."""

from typing import Any

from .indexing import select

#: Weights of red, green and blue, or of what they become, in each color of the result.
COLOR_MATRICES = {
    "rgb_to_grayscale": [[0.2989, 0.587, 0.114]],
    "grayscale_to_rgb": [[1], [1], [1]],
    "rgb_to_yiq": [
        [0.299, 0.587, 0.114],
        [0.59590059, -0.27455667, -0.32134392],
        [0.2115, -0.52273617, 0.31119955],
    ],
    "yiq_to_rgb": [
        [1, 0.95598634, 0.6208248],
        [1, -0.27201283, -0.64720424],
        [1, -1.10674021, 1.70423049],
    ],
    "rgb_to_yuv": [
        [0.299, 0.587, 0.114],
        [-0.14714119, -0.28886916, 0.43601035],
        [0.61497538, -0.51496512, -0.10001026],
    ],
    "yuv_to_rgb": [[1, 0, 1.13988303], [1, -0.394642334, -0.58062185], [1, 2.03206185, 0]],
}


def rgb_to_hsv(F: Any, x: Any, axis: int) -> Any:
    """Return hue, saturation and value, as TensorFlow does."""
    red, green, blue = F.split(x, num_outputs=3, axis=axis)
    value = F.max(x, axis=axis, keepdims=True)
    span = value - F.min(x, axis=axis, keepdims=True)
    scale = 1 / (6 * (span + (span == 0)))
    hue = select(
        F, F.broadcast_equal(green, value), scale * (blue - red) + 1 / 3, scale * (red - green) + 2 / 3
    )
    hue = select(F, F.broadcast_equal(red, value), scale * (green - blue), hue) * (span > 0)
    saturation = span / (value + (value == 0)) * (value > 0)
    return F.concat(hue + (hue < 0), saturation, value, dim=axis)


def hsv_to_rgb(F: Any, x: Any, axis: int) -> Any:
    """Return red, green and blue of hue, saturation and value."""
    hue, saturation, value = F.split(x, num_outputs=3, axis=axis)
    far = [F.abs(hue * 6 - place) for place in (3, 2, 4)]
    shares = F.clip(far[0] - 1, 0, 1), F.clip(2 - far[1], 0, 1), F.clip(2 - far[2], 0, 1)
    return F.concat(*(((1 - saturation) + saturation * each) * value for each in shares), dim=axis)


def adjust_colors(F: Any, x: Any, axis: int, turn: float, factor: float) -> Any:
    """Add a number to the hue, which is cyclic, and multiply the saturation."""
    hue, saturation, value = F.split(rgb_to_hsv(F, x, axis), num_outputs=3, axis=axis)
    hue = hue + turn
    parts = hue - F.floor(hue), F.clip(saturation * factor, 0, 1), value
    return hsv_to_rgb(F, F.concat(*parts, dim=axis), axis)


def adjust_gamma(F: Any, x: Any, gamma: float = 1, gain: float = 1) -> Any:
    """Return ``gain * x ** gamma``."""
    return x**gamma * gain


def sobel_edges(F: Any, x: Any) -> Any:
    """Return the differences along rows and columns of channels-first images, on a new last axis."""
    x = F.Pad(x, mode="reflect", pad_width=(0,) * 4 + (1,) * 4)

    def weighted(y, axis, weights):
        ends = (0, -2), (1, -1), (2, None)
        parts = (F.slice_axis(y, axis=axis, begin=begin, end=end) for begin, end in ends)
        return F.add_n(*(part * weight for part, weight in zip(parts, weights) if weight))

    smooth, rise = (1, 2, 1), (-1, 0, 1)
    both = (weighted(weighted(x, across, smooth), along, rise) for along, across in ((2, 3), (3, 2)))
    return F.stack(*both, axis=4)
