"""Functions of images: colors, contrast, edges, blur."""

import math
from typing import Any, List

import numpy as np

from ...importing import functions
from ..arguments import Unsupported, limit
from ..values import Value, channels_first, replaced
from .images import convolved
from .registry import Lowered, Request, computes, of_rank


def _colors(op: Request, x: Value, data_format: str, count: int = 3) -> int:
    """Return the stored axis of the colors; raise if there are not as many."""
    axis = x.rank - 1 if data_format == "channels_last" else x.rank - 3
    if x.rank < 3 or x.shape[axis] != count:
        raise ValueError(f"{op.name} of shape {x.shape} with data_format={data_format!r}")
    return x.stored(axis)


@computes(*functions.COLOR_MATRICES)
def _mixed(op: Request, x: Value, data_format: str = "channels_last") -> Lowered:
    weights = np.array(functions.COLOR_MATRICES[op.name], "float32")
    count, old = weights.shape
    axis = _colors(op, x, data_format, old)
    how: Any = dict(rank=x.rank, rule=lambda shape: replaced(shape, x.axes[axis], count))
    return op.lowered(functions.resize_by_matrix, x, weights, axis=axis, **how)


@computes("rgb_to_hsv", "hsv_to_rgb")
def _cylinder(op: Request, x: Value, data_format: str = "channels_last") -> Lowered:
    return op.each(getattr(functions, op.name), x, axis=_colors(op, x, data_format))


@computes("per_image_standardization")
def _standardized(op: Request, x: Value) -> Lowered:
    return op.each(functions.per_image_standardization, of_rank(x, 4))


@computes("adjust_hue", "adjust_saturation")
def _tinted(op: Request, x: Value, delta: float = 0, saturation_factor: float = 1) -> Lowered:
    how: Any = dict(axis=_colors(op, x, "channels_last"), turn=delta, factor=saturation_factor)
    return op.each(functions.adjust_colors, x, **how)


@computes("adjust_brightness", "adjust_contrast")
def _adjusted(op: Request, x: Value, delta: float = 0, contrast_factor: float = 1) -> Lowered:
    if x.rank != 4:
        raise ValueError(f"{op.name} of shape {x.shape}")
    if op.name == "adjust_brightness":
        return op.each(functions.scalar, x, kind="add", number=delta, first=False)
    axes = tuple(sorted((x.stored(1), x.stored(2))))
    return op.each(functions.adjust_contrast, x, factor=contrast_factor, axes=axes)


@computes("sobel_edges")
def _edges(op: Request, x: Value) -> Lowered:
    order = channels_first(of_rank(x, 4).rank)
    fields: Any = dict(order=(*order, 4), input_axes=(order,), rule=lambda shape: (*shape, 2))
    return op.lowered(functions.sobel_edges, x, **fields)


@computes("gaussian_blur")
def _blurred(op: Request, x: Value, kernel_size: List[int], sigma: List[Any]) -> Lowered:
    limit(f"{op.name} with kernel_size={kernel_size}", math.prod(kernel_size))
    if len(kernel_size) != 2 or len(sigma) != 2 or min(*sigma, *kernel_size) <= 0:
        raise Unsupported(f"{op.name} with kernel_size={kernel_size} and sigma={sigma}")
    columns, rows = (
        np.exp(-0.5 * ((np.arange(n) - (n - 1) / 2) / width) ** 2)  # of a kernel that Keras transposes
        for n, width in zip(kernel_size, sigma)
    )
    kernel = np.outer(rows / rows.sum(), columns / columns.sum()).reshape((*kernel_size, 1, 1))
    kernel = np.tile(kernel, (1, 1, x.channels or 0, 1)).astype("float32")
    return convolved(op.replace(name="depthwise_conv"), x, kernel, padding="same")
