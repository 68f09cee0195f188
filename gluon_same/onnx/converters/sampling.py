"""Operators that sample images, or put patches together."""

from typing import Any, List, Literal

import numpy as np

from ...importing import functions
from ..registry import converter
from ..reshaping import axis_of_size
from ..values import Data, Flag, Ints, Unsupported, known, numbers
from .windows import Attributes, Placed, per_axis

_MODES = {"bilinear": "linear", "bicubic": "cubic"}


@converter("GridSample")
def grid_sample(
    net: Any, x: Any, grid: Any, *, align_corners: Flag = 0,
    mode: Literal["bilinear", "linear", "nearest", "bicubic", "cubic"] = "bilinear",
    padding_mode: Literal["zeros", "border", "reflection"] = "zeros",
) -> Data:  # fmt: skip
    if x.dtype == np.float64:
        raise Unsupported("its data are float64, and float32 is supported: convert them before it")
    if grid.ndim != x.ndim or grid.shape[-1] not in (None, x.ndim - 2):
        raise Unsupported(f"its grid of shape {grid.shape} does not fit data of shape {x.shape}")
    return net.call(
        functions.grid_sample, x, grid, ndim=x.ndim - 2, mode=_MODES.get(mode, mode),
        padding=padding_mode, align_corners=bool(align_corners),
    )  # fmt: skip


@converter("AffineGrid", 20)
def affine_grid(net: Any, theta: Any, size: Any, *, align_corners: Flag = 0) -> Data:
    # ONNX's own definition by other operators fails for a batch of 1.
    size = numbers(size, "size")
    if size.shape != (theta.shape[1] + 2,):
        raise Unsupported(f"its theta of shape {theta.shape} does not fit its size of {size.shape}")
    trials = zip(*([int(n) for n in sizes[2:]] for sizes in size.trials))
    made = (axis_of_size(net, each, size, place) for place, each in enumerate(trials, 2))
    arrays, axes = zip(*made)
    return net.call(
        functions.affine_grid, theta, *arrays, axes=axes, align_corners=bool(align_corners),
        dtype=theta.dtype, scalar=False,
    )  # fmt: skip


@converter("MaxRoiPool")
def max_roi_pool(
    net: Any, x: Data, rois: Data, *, pooled_shape: List[int], spatial_scale: float = 1.0
) -> Data:
    how = dict(pooled_size=tuple(pooled_shape), spatial_scale=spatial_scale)
    return net.call("ROIPooling", x, rois, **how)


@converter("RoiAlign")
def roi_align(
    net: Any, x: Data, rois: Any, batch_indices: Any, *,
    coordinate_transformation_mode: Literal["", "half_pixel", "output_half_pixel"] = "",
    mode: str = "avg", output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Data:  # fmt: skip
    if mode != "avg":
        raise Unsupported(f"its mode={mode!r}: MXNet has averages only")
    words = {"half_pixel": True, "output_half_pixel": False, "": net.opsets.get("", 0) >= 16}
    return net.call(
        functions.roi_align, x, rois, batch_indices, pooled_size=(output_height, output_width),
        spatial_scale=spatial_scale, sample_ratio=sampling_ratio or -1,
        aligned=words[coordinate_transformation_mode],
    )  # fmt: skip


@converter("Col2Im")
def col2im(
    net: Any, x: Data, image_shape: Any, block_shape: Any, *, dilations: Ints = None, pads: Ints = None,
    strides: Ints = None,
) -> Data:  # fmt: skip
    size, kernel = (tuple(map(int, known(s, "shape"))) for s in (image_shape, block_shape))
    if len(size) != 2:
        raise Unsupported(f"images with {len(size)} spatial axes: MXNet's col2im has 2")
    return net.call(
        functions.col2im, x, size=size, kernel=kernel,
        stride=per_axis("strides", strides, len(size)),
        dilate=per_axis("dilations", dilations, len(size)),
        pads=[0] * (2 * len(size)) if pads is None else pads,
    )  # fmt: skip


@converter("MaxUnpool")
def max_unpool(
    net: Any, x: Data, indices: Any, output_shape: Any = None, *, kernel_shape: List[int],
    **window: Attributes,
) -> Data:  # fmt: skip
    at = Placed(x, kernel_shape, window)
    ends = tuple(k - s - sum(pair) for k, s, pair in zip(at.kernel, at.stride, at.padding))
    beyond = (0,) * len(ends)
    if output_shape is not None:
        if None in x.shape:
            raise Unsupported("its output_shape with data of open sizes")
        own = [(n or 0) * s + e for n, s, e in zip(x.shape[2:], at.stride, ends)]
        beyond = tuple(int(n) - m for n, m in zip(known(output_shape, "shape")[2:], own))
    if min(beyond) < 0:
        raise Unsupported("its output_shape is less than what the pooling had")
    return net.call(functions.max_unpool, x, indices, strides=at.stride, ends=ends, beyond=beyond)
