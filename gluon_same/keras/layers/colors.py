"""Functions of images: colors, contrast, edges, blur."""

import math
from typing import Any, List

import numpy as np

from ...importing import functions
from ..arguments import Unsupported, limit
from ..values import Value, channels_first, replaced
from .images import convolved
from .operations import Operation
from .registry import Lowered, computes, of_rank

#: Weights of red, green and blue, or of what they become, in each color of the result.
_MATRICES = {
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


def _colors(op: Operation, x: Value, data_format: str, count: int = 3) -> int:
    """Return the stored axis of the colors; raise if there are not as many."""
    axis = x.rank - 1 if data_format == "channels_last" else x.rank - 3
    if x.rank < 3 or x.shape[axis] != count:
        raise ValueError(f"{op.name} of shape {x.shape} with data_format={data_format!r}")
    return x.stored(axis)


@computes(*_MATRICES)
def _mixed(op: Operation, x: Value, data_format: str = "channels_last") -> Lowered:
    weights = np.array(_MATRICES[op.name], "float32")
    count, old = weights.shape
    axis = _colors(op, x, data_format, old)
    rule = lambda shape: replaced(shape, x.axes[axis], count)  # noqa: E731
    return op.lowered(functions.resize_by_matrix, x, weights, axis=axis, rank=x.rank, rule=rule)


@computes("rgb_to_hsv", "hsv_to_rgb")
def _cylinder(op: Operation, x: Value, data_format: str = "channels_last") -> Lowered:
    return op.each(getattr(functions, op.name), x, axis=_colors(op, x, data_format))


@computes("adjust_hue", "adjust_saturation")
def _tinted(op: Operation, x: Value, delta: float = 0, saturation_factor: float = 1) -> Lowered:
    how: Any = dict(axis=_colors(op, x, "channels_last"), turn=delta, factor=saturation_factor)
    return op.each(functions.adjust_colors, x, **how)


@computes("adjust_gamma")
def _brightened(op: Operation, x: Value, gamma: float = 1, gain: float = 1) -> Lowered:
    return op.each(functions.adjust_gamma, x, gamma=gamma, gain=gain)


@computes("adjust_brightness", "adjust_contrast")
def _adjusted(op: Operation, x: Value, delta: float = 0, contrast_factor: float = 1) -> Lowered:
    if x.rank != 4:
        raise ValueError(f"{op.name} of shape {x.shape}")
    if op.name == "adjust_brightness":
        return op.each(functions.scalar, x, kind="add", number=delta, first=False)
    axes = tuple(sorted((x.stored(1), x.stored(2))))
    return op.each(functions.adjust_contrast, x, factor=contrast_factor, axes=axes)


@computes("sobel_edges")
def _edges(op: Operation, x: Value) -> Lowered:
    order = channels_first(of_rank(x, 4).rank)
    rule = lambda shape: (*shape, 2)  # noqa: E731
    return op.lowered(functions.sobel_edges, x, order=(*order, 4), input_axes=(order,), rule=rule)


@computes("gaussian_blur")
def _blurred(op: Operation, x: Value, kernel_size: List[int], sigma: List[Any]) -> Lowered:
    limit(f"{op.name} with kernel_size={kernel_size}", math.prod(kernel_size))
    if len(kernel_size) != 2 or len(sigma) != 2 or min(*sigma, *kernel_size) <= 0:
        raise Unsupported(f"{op.name} with kernel_size={kernel_size} and sigma={sigma}")
    columns, rows = (
        np.exp(-0.5 * ((np.arange(n) - (n - 1) / 2) / width) ** 2)  # of a kernel that Keras transposes
        for n, width in zip(kernel_size, sigma)
    )
    kernel = np.outer(rows / rows.sum(), columns / columns.sum()).reshape((*kernel_size, 1, 1))
    kernel = np.tile(kernel, (1, 1, x.channels or 0, 1)).astype("float32")
    return convolved(op._replace(name="depthwise_conv"), x, kernel, padding="same")
