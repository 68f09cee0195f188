"""Functions of images: convolutions, poolings, resizing, colors."""

import math
from typing import Any, List, Sequence, Tuple

import numpy as np

from ...geometry import effective_kernel
from ...importing import functions
from ..arguments import Arguments, Unsupported, limit
from ..values import Shape, Size, Value, channels_first, keras_order, product
from .operations import size_of
from .registry import Lowered, Request, computes, of_rank
from .signatures import Operand
from .sizes import resized_at_ratio, resized_images, resized_within
from .slicing import checked_pairs


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


def _check_kernels(op: Request, x: Value, *kernels: Any) -> None:
    if any(isinstance(each, Value) or each.ndim != x.rank for each in kernels) or not x.channels:
        raise Unsupported(f"{op.name} of shape {x.shape} by what is not a constant array that fits")


def _filled(op: Request, x: Value, padding: Any, value: float = 0) -> Tuple[Value, str]:
    """Return an array with the padding that a list gives for each axis, and what is left to pad."""
    if isinstance(padding, str):
        return x, padding.lower()
    pairs = [tuple(pair) for pair in checked_pairs(op, x, padding)]
    if any(isinstance(n, Size) for pair in pairs for n in pair):
        raise Unsupported(f"{op.name} with padding={padding!r}: call tf.pad before it")
    rule = lambda shape: tuple(n and n + sum(pair) for n, pair in zip(shape, pairs))  # noqa: E731
    how: Any = dict(pairs=pairs, value=value, native=True, rule=rule)
    return op.derive(functions.pad, x, **how)._replace(rows=x.rows), "valid"


def _convolved(
    op: Request, name: str, x: Value, kernels: Sequence[Any], window: Sequence[Any], **config: Any
) -> Lowered:  # fmt: skip
    """Return the result of a layer with constant kernels.

    ``window`` are the strides, the padding and the dilation.
    """
    strides, padding, dilation = window
    x, padding = _filled(op, x, padding)
    config.update(strides=_window(x, strides, "strides"), padding=padding, use_bias=False)
    config.update(dilation_rate=_window(x, 1 if dilation is None else dilation, "dilation_rate"))
    config.update(kernel_size=list(kernels[0].shape[:-2]))
    return op.layer(name.format(x.rank - 2), x, config, *(each.astype("float32") for each in kernels))


@computes("conv", "depthwise_conv")
def convolved(
    op: Request, x: Value, kernel: Operand, strides: Any = 1, padding: Any = "valid",
    dilation_rate: Any = None,
) -> Lowered:  # fmt: skip
    """Convolve an array by a constant kernel."""
    _check_kernels(op, x, kernel)
    *_, channels, last = kernel.shape
    window = strides, padding, dilation_rate
    if op.name == "depthwise_conv":
        return _convolved(op, "DepthwiseConv{}D", x, [kernel], window, depth_multiplier=last)
    groups, rest = divmod(x.channels or 0, channels)
    if rest:
        raise ValueError(f"{op.name} of shape {x.shape} by a kernel of shape {kernel.shape}")
    return _convolved(op, "Conv{}D", x, [kernel], window, filters=last, groups=groups)


@computes("separable_conv")
def _separable(
    op: Request, x: Value, kernel: Operand, pointwise_kernel: Operand, strides: Any = 1,
    padding: str = "valid", dilation_rate: Any = None,
) -> Lowered:  # fmt: skip
    kernels = [kernel, pointwise_kernel]
    _check_kernels(op, x, *kernels)
    how: Any = dict(filters=pointwise_kernel.shape[-1], depth_multiplier=kernel.shape[-1])
    return _convolved(op, "SeparableConv{}D", x, kernels, (strides, padding, dilation_rate), **how)


@computes("conv_transpose")
def _transposed(
    op: Request, x: Value, kernel: Operand, strides: Any = 1, padding: str = "valid",
    output_padding: Any = None, dilation_rate: Any = 1,
) -> Lowered:  # fmt: skip
    _check_kernels(op, x, kernel)
    how: Any = dict(filters=kernel.shape[-2], output_padding=output_padding)
    return _convolved(op, "Conv{}DTranspose", x, [kernel], (strides, padding, dilation_rate), **how)


@computes("conv2d_transpose")
def _transposed_to(
    op: Request, x: Value, kernel: Operand, output_shape: List[int], strides: Any,
    padding: str = "same", dilation_rate: Any = 1,
) -> Lowered:  # fmt: skip
    """Convolve to a size, of the several sizes that a convolution reduces to that of the input."""
    steps, rates = _window(x, strides, "strides"), _window(x, dilation_rate, "dilation_rate")
    same, usual, extras = padding == "same", [], []
    for axis, (n, k, step, rate) in enumerate(zip(output_shape[1:-1], kernel.shape, steps, rates), 1):
        span = effective_kernel(k, rate)
        if isinstance(n, Size):
            usual.append(same and (n.source, n.times) == ((x, axis), step))
        else:
            tail = n - (size_of(op, x, axis) - 1) * step
            usual.append(tail == (step if same else max(span, step)))
            extras.append(tail - (span % 2 if same else span))
    known = len(extras) == x.rank - 2 and all(0 <= n < step for n, step in zip(extras, steps))
    if len(output_shape) != x.rank or not (all(usual) or known):
        raise Unsupported(f"{op.name} to {output_shape} of shape {x.shape}")
    return _transposed(op, x, kernel, strides, padding, None if all(usual) else extras, dilation_rate)


@computes("extract_patches")
def _patches(
    op: Request, x: Value, size: List[int], strides: Any = None, padding: str = "valid",
    dilation_rate: Any = 1,
) -> Lowered:  # fmt: skip
    window = _window(of_rank(x, 4), size, "size")
    count = math.prod(window) * (x.channels or 0)
    limit(f"patches of {count} elements", count)
    kernel = np.eye(count, dtype="float32").reshape((*window, -1, count))
    how = dict(strides=window if strides is None else strides, padding=padding)
    return convolved(op.replace(name="conv"), x, kernel, dilation_rate=dilation_rate, **how)


@computes("max_pool", "average_pool")
def _pool(
    op: Request, x: Value, pool_size: Any, strides: Any = None, padding: Any = "valid",
    data_format: str = "channels_last",
) -> Lowered:  # fmt: skip
    if data_format not in ("channels_last", f"n{'dhw'[5 - x.rank :]}c"):  # TensorFlow moves other axes
        raise Unsupported(f"{op.name} of shape {x.shape} with data_format={data_format.upper()!r}")
    x, padding = _filled(op, x, padding, -math.inf)  # TensorFlow has lists only for maxima
    size = _window(x, pool_size, "ksize")
    steps = size if strides is None else _window(x, strides, "strides")
    config = dict(pool_size=size, strides=steps, padding=padding)
    kind = "Max" if op.name == "max_pool" else "Average"
    return op.layer(f"{kind}Pooling{x.rank - 2}D", x, config)


@computes("pool")
def _pool_of_type(
    op: Request, x: Value, pool_size: Any, pooling_type: str, strides: Any = 1, padding: str = "valid"
) -> Lowered:
    kind = Arguments(dict(pooling_type=pooling_type)).word("pooling_type", ("max", "avg"))
    name = "max_pool" if kind == "max" else "average_pool"
    return _pool(op.replace(name=name), x, pool_size, strides, padding)


@computes("adaptive_average_pool", "adaptive_max_pool")
def _adaptive(op: Request, x: Value, output_size: Any) -> Lowered:
    kind = "Max" if op.name == "adaptive_max_pool" else "Average"
    return op.layer(f"Adaptive{kind}Pooling{x.rank - 2}D", x, dict(output_size=output_size))


@computes("unfold", "fold")
def _unfolded(
    op: Request, x: Value, kernel_size: Any, output_size: Any = None, dilation_rate: Any = 1,
    pad_width: Any = 0, strides: Any = 1,
) -> Lowered:  # fmt: skip
    given: Any = dict(kernel=kernel_size, dilate=dilation_rate, pad=pad_width, stride=strides)
    window = {name: Arguments({name: n}).axes(name, 2, least=name != "pad") for name, n in given.items()}
    count = math.prod(window["kernel"])
    limit(f"{op.name} with windows of {count} elements", count)

    def rule(shape: Shape) -> Shape:
        places = [
            n and (n + 2 * pad - (k - 1) * step - 1) // by + 1
            for n, pad, k, step, by in zip(
                shape[2:], *(window[n] for n in ("pad", "kernel", "dilate", "stride"))
            )
        ]
        channels = shape[1] and shape[1] * count
        if any(n is not None and n < 1 for n in places):
            raise ValueError(f"{op.name} of shape {shape} with windows of {window['kernel']}")
        return (shape[0], channels, product(places))

    if op.name == "unfold":
        of_rank(x, 4)
        return op.in_keras_order("im2col", x, ndim=3, rule=rule, **window)
    size = Arguments(dict(output_size=output_size)).axes("output_size", 2)
    of_rank(x, 3)
    if x.shape[1] is None or x.shape[1] % count or rule((1, 1, *size))[2] != x.shape[2]:
        raise ValueError(f"{op.name} of shape {x.shape} to {size} by windows of {window['kernel']}")
    whole = lambda shape: (shape[0], shape[1] and shape[1] // count, *size)  # noqa: E731
    return op.in_keras_order("col2im", x, ndim=4, rule=whole, output_size=size, **window)


@computes("local_response_normalization")
def _local_response(
    op: Request, x: Value, depth_radius: int = 5, bias: float = 1, alpha: float = 1,
    beta: float = 0.5,
) -> Lowered:  # fmt: skip
    order = channels_first(of_rank(x, 4).rank)
    size = 2 * depth_radius + 1
    if size < 1:
        raise ValueError(f"{op.name} over {size} channels")
    limit(f"{op.name} over {size} channels", size)
    how: Any = dict(nsize=size, alpha=alpha * size, beta=beta, knorm=bias)
    return op.lowered("LRN", x, order=order, input_axes=(order,), rule=lambda shape: shape, **how)


def _of_version_1(method: str, align_corners: bool, half_pixel_centers: bool) -> functions.Resize:
    """Return how TensorFlow 1 resizes."""
    positions = "align_corners" if align_corners else "asymmetric"
    if half_pixel_centers:
        positions = "tf_half_pixel_for_nn" if method == "nearest" else "half_pixel"
    if method == "nearest":
        return functions.Resize("nearest", positions, "round_prefer_ceil" if align_corners else "floor")
    if method == "bicubic":
        slope, inside = (-0.5, True) if half_pixel_centers else (-0.75, False)
        return functions.Resize("cubic", positions, cubic=slope, exclude_outside=inside, steps=1024)
    return functions.Resize("linear", positions)


_METHODS = ("bilinear", "nearest", "bicubic", "area")


@computes("resize_bilinear", "resize_nearest_neighbor", "resize_bicubic", "resize_area", "resize_images")
def _resize_as_before(
    op: Request, x: Value, size: List[int], align_corners: bool = False,
    half_pixel_centers: bool = False, method: Any = 0,
) -> Lowered:  # fmt: skip
    named = op.name != "resize_images"
    method = op.name.split("_")[1] if named else dict(enumerate(_METHODS)).get(method, method)
    if of_rank(x, 4) and len(size) != 2 or (method == "area" and align_corners):
        raise Unsupported(f"{op.name} to {size} with align_corners={align_corners}")
    how = None if method == "area" else _of_version_1(method, align_corners, half_pixel_centers)
    return resized_images(op.replace(config={}), x, size, method, how=how)


@computes("resize")
def _resize(
    op: Request, x: Value, size: List[int], method: Any = "bilinear", antialias: bool = False,
    crop_to_aspect_ratio: bool = False, pad_to_aspect_ratio: bool = False, fill_value: float = 0,
    preserve_aspect_ratio: bool = False,
) -> Lowered:  # fmt: skip
    if x.rank != 4 or len(size) != 2:
        raise ValueError(f"resize to {size} of shape {x.shape}")
    op = op.replace(config={})
    if preserve_aspect_ratio:
        return resized_within(op, x, size, method, antialias)
    if crop_to_aspect_ratio or pad_to_aspect_ratio:
        fill = None if crop_to_aspect_ratio else fill_value
        return resized_at_ratio(op, x, size, fill, method, antialias)
    return resized_images(op, x, size, method, antialias)


@computes("resize_with_pad")
def _resize_with_pad(
    op: Request, x: Value, target_height: int, target_width: int, method: Any = "bilinear",
    antialias: bool = False,
) -> Lowered:  # fmt: skip
    op = op.replace(config={})
    return resized_within(op, of_rank(x, 4), [target_height, target_width], method, antialias, True)


@computes("affine_transform")
def _affine(
    op: Request, x: Value, transform: Operand, interpolation: str = "bilinear",
    fill_mode: str = "constant", fill_value: float = 0,
) -> Lowered:  # fmt: skip
    modes, constant = dict(constant="zeros", nearest="border"), not isinstance(transform, Value)
    fits = transform.size == 8 if constant else transform.channels == 8
    if interpolation != "bilinear" or fill_mode not in modes or not fits:
        given = f"interpolation={interpolation!r}, fill_mode={fill_mode!r} and transforms of shape"
        raise Unsupported(
            f"{op.name} with {given} {transform.shape}: only 'bilinear', {', '.join(modes)} and 8 "
            "numbers are supported"
        )
    order = channels_first(of_rank(x, 4).rank)
    taken = (order,) if constant else (order, keras_order(of_rank(transform, 2).rank))
    if constant:
        transform = transform.reshape((1, 8)).astype("float32")
    how: Any = dict(order=order, input_axes=taken, rule=lambda shape, *_: shape)
    how.update(padding=modes[fill_mode], value=fill_value if fill_mode == "constant" else 0)
    return op.lowered(functions.affine_transform, x, transform, **how)
