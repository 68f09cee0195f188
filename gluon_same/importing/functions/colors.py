"""Functions of the colors of images, along an axis of red, green and blue."""

from typing import Any

from .indexing import select


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


def adjust_gamma(F: Any, x: Any, gamma: float, gain: float) -> Any:
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
