"""Functions of images: convolutions, poolings, resizing, colors."""

from typing import Any, Dict, List, Optional

import numpy as np

from ...importing import functions
from ..arguments import Arguments, Unsupported
from ..values import Value
from .operations import Operand, Operation, of_each
from .registry import BUILDERS, Lowered, Request, computes
from .sizes import resized_images


def _layer(op: Operation, class_name: str, x: Value, config: Dict[str, Any], *arrays: Any) -> Lowered:
    """Return the result of a layer with weights that are constants of the file."""
    arguments = Arguments(config)
    request: Request = op.request._replace(arguments=arguments, class_name=class_name)
    built = BUILDERS[class_name](request, x)
    arguments.finish(op.name)
    pairs = [pair for weight, array in zip(built.weights, arrays) for pair in weight.assign(array)]
    for parameter, _ in pairs:
        parameter.grad_req = "null"
    return built._replace(weights=(), constants=tuple(pairs), inputs=(x,))


def _window(x: Value, given: Any, what: str) -> List[int]:
    """Return one number for each spatial axis, from one for each axis of the data, or one for all."""
    ndim = x.rank - 2
    items = given if isinstance(given, list) else [given]
    if len(items) == x.rank and items[0] == items[-1] == 1:
        items = items[1:-1]
    items = items * ndim if len(items) == 1 else items
    if len(items) != ndim or not 1 <= ndim <= 3:
        raise Unsupported(f"{what}={given!r} of an array with {x.rank} axes")
    return items


def _last(op: Operation, data_format: Optional[str]) -> None:
    if data_format is not None and not data_format.endswith(("c", "channels_last")):
        raise Unsupported(f"{op.name} with data_format={data_format!r}: the channels must come last")


@computes("conv", "depthwise_conv")
def _convolution(
    op: Operation, x: Value, kernel: Operand, strides: Any = 1, padding: str = "valid",
    data_format: Optional[str] = None, dilation_rate: Any = None, rate: Any = None,
) -> Lowered:  # fmt: skip
    _last(op, data_format)
    if isinstance(kernel, Value) or kernel.ndim != x.rank or not x.channels:
        raise Unsupported(f"{op.name} by what is not a constant array with {x.rank} axes")
    dilation = dilation_rate if dilation_rate is not None else rate
    config = dict(
        kernel_size=list(kernel.shape[:-2]),
        strides=_window(x, strides, "strides"),
        padding=padding,
        dilation_rate=_window(x, 1 if dilation is None else dilation, "dilation_rate"),
        use_bias=False,
    )
    name = f"Conv{x.rank - 2}D"
    if op.name == "conv":
        groups, rest = divmod(x.channels, kernel.shape[-2])
        config.update(filters=kernel.shape[-1], groups=groups)
    else:
        rest = x.channels - kernel.shape[-2]
        config.update(depth_multiplier=kernel.shape[-1])
        name = f"Depthwise{name}"
    if rest:
        raise ValueError(f"{op.name} of shape {x.shape} by a kernel of shape {kernel.shape}")
    return _layer(op, name, x, config, kernel.astype("float32"))


@computes("max_pool", "average_pool")
def _pool(
    op: Operation, x: Value, pool_size: Any, strides: Any = None, padding: str = "valid",
    data_format: Optional[str] = None,
) -> Lowered:  # fmt: skip
    _last(op, data_format)
    size = _window(x, pool_size, "ksize")
    config = dict(
        pool_size=size,
        strides=size if strides is None else _window(x, strides, "strides"),
        padding=padding,
    )
    kind = "Max" if op.name == "max_pool" else "Average"
    return _layer(op, f"{kind}Pooling{x.rank - 2}D", x, config)


@computes("resize", "resize_images", "resize_bilinear", "resize_nearest_neighbor", "resize_bicubic")
def _resize(
    op: Operation, x: Value, size: List[int], method: str = "bilinear", antialias: bool = False,
    preserve_aspect_ratio: bool = False, crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False, fill_mode: str = "constant", fill_value: float = 0,
    data_format: Optional[str] = None, align_corners: bool = False, half_pixel_centers: bool = True,
) -> Lowered:  # fmt: skip
    _last(op, data_format)
    if op.name != "resize" or preserve_aspect_ratio or align_corners or not half_pixel_centers:
        raise Unsupported(f"{op.name}: use resize without preserve_aspect_ratio and align_corners")
    if crop_to_aspect_ratio or pad_to_aspect_ratio:
        raise Unsupported("resize that crops or pads to the aspect ratio")
    if x.rank != 4 or len(size) != 2:
        raise ValueError(f"resize to {size} of shape {x.shape}")
    request = op.request._replace(arguments=Arguments({}))
    return resized_images(request, x, size, method, antialias)


@computes("rgb_to_grayscale", "grayscale_to_rgb")
def _gray(op: Operation, x: Value, data_format: Optional[str] = None) -> Lowered:
    _last(op, data_format)
    if x.channels != (3 if op.name == "rgb_to_grayscale" else 1):
        raise ValueError(f"{op.name} of shape {x.shape}")
    if op.name == "grayscale_to_rgb":
        return op.lowered("repeat", x, repeats=3, axis=x.stored(-1))
    weights = np.array([0.2989, 0.587, 0.114], "float32").reshape((1, 3))
    how = dict(axis=x.stored(-1), rank=x.rank)
    return op.lowered(functions.resize_by_matrix, x, weights, **how)


@computes("per_image_standardization")
def _standardized(op: Operation, x: Value) -> Lowered:
    return of_each(op, x, op.request.function(functions.per_image_standardization))


@computes("adjust_brightness", "adjust_contrast")
def _adjusted(
    op: Operation, x: Value, delta: Optional[float] = None, contrast_factor: Optional[float] = None
) -> Lowered:
    if x.rank != 4:
        raise ValueError(f"{op.name} of shape {x.shape}")
    if delta is not None:
        how = dict(kind="add", number=delta, first=False)
        return of_each(op, x, op.request.function(functions.scalar, **how))
    axes = tuple(sorted((x.stored(1), x.stored(2))))
    block = op.request.function(functions.adjust_contrast, factor=contrast_factor, axes=axes)
    return of_each(op, x, block)
