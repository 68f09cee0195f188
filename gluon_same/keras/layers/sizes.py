"""Padding, cropping, resizing and upsampling layers."""

from typing import Any, Dict, List, Sequence

import numpy as np
from mxnet.gluon.nn import HybridSequential

from ... import nn
from ...importing import functions
from ...importing.block import Function
from ..arguments import Unsupported
from ..values import Axes, Padding, Shape, Size, Value, resized, stored_shape
from .registry import Lowered, Request, builds, spatial


@builds("Resizing")
def _resizing(request: Request, x: Value) -> Lowered:
    arguments = request.arguments
    arguments.only(crop_to_aspect_ratio=False, pad_to_aspect_ratio=False, fill_mode="constant")
    arguments.ignore("fill_value")
    size = [arguments.whole("height"), arguments.whole("width")]
    method = arguments.word("interpolation", tuple(_METHODS), "bilinear")
    built = resized_images(request, x, size, method, arguments.flag("antialias", False))
    if not (request.keras3 and x.dtype.startswith("int")):
        return built
    if method == "bicubic":
        raise Unsupported("interpolation='bicubic' of whole numbers")
    block = HybridSequential(prefix=request.prefix)  # Keras 3 returns whole numbers, too
    block.add(built.block, Function(functions.round_half_even, "Round"))
    return built._replace(block=block)


#: Keras' interpolations, as TensorFlow computes them.
_METHODS = {
    "bilinear": functions.Resize("linear"),
    "nearest": functions.Resize("nearest", "tf_half_pixel_for_nn", "floor"),
    "bicubic": functions.Resize("cubic", cubic=-0.5, exclude_outside=True, steps=1024),
}


def resized_images(
    request: Request, x: Value, size: Sequence[Any], method: str, antialias: bool = False
) -> Lowered:
    """Interpolate images to a size, which consists of whole numbers, and of sizes of arrays."""
    if method not in _METHODS:
        raise Unsupported(f"interpolation={method!r}: only {', '.join(_METHODS)} are supported")
    how = _METHODS[method]
    _, order = spatial(request, x, 2)
    if antialias and method != "nearest":
        return _by_matrices(request, x, size, how._replace(antialias=True, exclude_outside=True), order)
    if method == "bilinear" and not any(isinstance(n, Size) or n == 1 for n in size):
        return Lowered(request.function(functions.resize, size=tuple(size)), order, (order,))
    # Sizes that are numbers are given as those of constants.
    parameters: Dict[str, Any] = {}
    axes: List[int] = []
    inputs, factors = [x], []
    for place, n in enumerate(size, 1):
        if isinstance(n, Size) and n.source is not None:
            like, axis = n.source
            inputs.append(like)
            axes.append(like.stored(axis))
            factors.append(n.times)
        elif isinstance(n, Size):
            raise Unsupported("resize to a size that is computed otherwise than as a whole multiple")
        else:
            parameters[f"constant{place}"] = dict(shape=(n,), init="zeros", grad_req="null")
            axes.append(0)
            factors.append(1)
    block = request.function(
        functions.resize_images_open,
        parameters,
        places=tuple(int(name[-1]) for name in parameters),
        how=tuple(how),
        axes=tuple(axes),
        factors=tuple(factors),
    )
    constants = [
        (getattr(block, name), np.zeros(given["shape"], "float32")) for name, given in parameters.items()
    ]
    orders = (order, *(like.axes for like in inputs[1:]))
    return Lowered(block, order, orders, constants=constants, inputs=tuple(inputs))


def _by_matrices(
    request: Request, x: Value, size: Sequence[Any], how: functions.Resize, order: Axes
) -> Lowered:
    """Interpolate images of the saved size with a filter that covers all inputs of an output."""
    before: List[Any] = [stored_shape(order, x.shape)[axis] for axis in (2, 3)]
    if None in before or any(isinstance(n, Size) for n in size):
        raise Unsupported("antialias=True for images of unknown size")
    matrices = [how.matrix(n, m).astype("float32") for n, m in zip(before, size)]
    parameters = {
        f"constant{i}": dict(shape=matrix.shape, grad_req="null") for i, matrix in enumerate(matrices, 1)
    }
    block = request.function(functions.resize_images, parameters, places=(1, 2))
    constants = [(getattr(block, name), matrix) for name, matrix in zip(parameters, matrices)]
    spatial_axes = list(order[2:])

    def rule(shape: Shape) -> Shape:
        return resized(shape, spatial_axes, lambda n, m: m, size)

    return Lowered(block, order, (order,), rule, constants=constants)


@builds("ZeroPadding{}D", ndims=(1, 2, 3))
def _zero_padding(request: Request, x: Value, ndim: int) -> Lowered:
    block = getattr(nn, f"ZeroPadding{ndim}D")(request.arguments.get("padding"), prefix=request.prefix)
    pairs = block._amounts
    axes, order = spatial(request, x, ndim)

    def rule(shape: Shape) -> Shape:
        return resized(shape, axes, lambda n, pair: n + sum(pair), pairs)

    padding = Padding(request.name, block, pairs)
    return Lowered(None, order, (order,), rule, padding=padding, nonnegative=x.nonnegative)


@builds("Cropping{}D", ndims=(1, 2, 3))
def _cropping(request: Request, x: Value, ndim: int) -> Lowered:
    block = getattr(nn, f"Cropping{ndim}D")(request.arguments.get("cropping"), prefix=request.prefix)
    pairs = block._amounts
    axes, order = spatial(request, x, ndim)

    def rule(shape: Shape) -> Shape:
        cropped = resized(shape, axes, lambda n, pair: n - sum(pair), pairs)
        if any(n is not None and n < 1 for n in cropped):
            raise ValueError(f"cropping={pairs} removes all of an input of shape {shape}")
        return cropped

    return Lowered(block, order, (order,), rule, nonnegative=x.nonnegative)


@builds("UpSampling{}D", ndims=(1, 2, 3))
def _upsampling(request: Request, x: Value, ndim: int) -> Lowered:
    times = request.arguments.axes("size", ndim)
    how = request.arguments.word("interpolation", ("nearest", "bilinear", "bicubic"), "nearest")
    if how != "nearest" and ndim != 2:
        raise Unsupported(f"interpolation={how!r} is only for images")
    axes, order = spatial(request, x, ndim)
    if how == "bicubic":
        size = [Size(None, (x, axis), times[i]) for i, axis in enumerate(axes)]
        return resized_images(request, x, size, how)
    if how == "nearest":
        block = request.function(functions.repeat_elements, times=times)
    else:
        block = request.function(functions.interpolate, times=times, centers=request.version >= (2, 3))
    return Lowered(block, order, (order,))
