"""Normalization layers, and layers that scale and shift by constants."""

import math
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
from mxnet.gluon import nn

from ...importing import functions
from ...nn.batch_norm import BatchNorm
from ..arguments import MOST_ELEMENTS, Unsupported, limit
from ..values import Shape, Value, product
from .registry import Lowered, Request, builds, elementwise
from .weight import Weight, weight_of


class SizedBatchNorm(BatchNorm):
    """Batch normalization that rejects other sizes of its axis, because MXNet would read beyond them."""

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        x = functions.exactly(F, x, self._kwargs["axis"], self.in_channels)
        return super().hybrid_forward(F, x, *args, **kwargs)


class TrailingLayerNorm(nn.LayerNorm):
    """Layer normalization over several trailing axes.

    Parameters
    ----------
    axis : int
        The first of them.
    **kwargs
        As for :class:`mxnet.gluon.nn.LayerNorm`.
    """

    def __init__(self, axis: int, **kwargs: Any):
        super().__init__(**kwargs)
        self._leading = axis

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        merged = F.reshape(x, shape=(*(0,) * self._leading, -1))
        return F.reshape_like(super().hybrid_forward(F, merged, gamma, beta), x)


@builds("BatchNormalization", "BatchNormalizationV1", "SyncBatchNormalization")
def _batch_norm(request: Request, x: Value) -> Lowered:
    axes = _axes(request, x)
    if len(axes) != 1:
        raise Unsupported(f"axis={axes}: only one axis is supported")
    channels = x.shape[axes[0]]
    if channels is None:
        raise ValueError(f"axis={axes[0]}: an axis of unknown size is not supported")
    axis, scales = x.stored(axes[0]), _scales(request)
    momentum, epsilon = request.number("momentum", 0.99), request.number("epsilon", 1e-3)
    frozen = not request.trainable  # for which Keras takes the moving statistics, too
    layer = BatchNorm if axis == 1 else SizedBatchNorm
    block = layer(
        axis=axis, momentum=momentum, epsilon=epsilon, use_global_stats=frozen, in_channels=channels,
        prefix=request.prefix, **scales,
    )  # fmt: skip
    mean = weight_of("moving_mean", block.running_mean)
    variance = weight_of("moving_variance", block.running_var)
    weights = (*_scale_weights(block, scales, (channels,)), mean, variance)
    # In training, Keras takes statistics over those elements only that count.
    return elementwise(block, weights=weights, inference_only=x.mask is not None)


@builds("LayerNormalization")
def _layer_norm(request: Request, x: Value) -> Lowered:
    axes = sorted(_axes(request, x, truncated=True))
    shape = tuple(x.shape[axis] for axis in axes)
    # The axes are the last ones, because MXNet is much faster along the last stored axis.
    scales, order = _scales(request), (*(a for a in range(x.rank) if a not in axes), *axes)
    if len(axes) == 1 and axes[0] != x.rank - 1:
        order = x.axes
    layer, place = TrailingLayerNorm, order.index(axes[0])
    if len(axes) == 1:
        layer = nn.LayerNorm
        place = -1 if place == x.rank - 1 else place  # inputs with any number of axes may share -1
    how = dict(epsilon=request.number("epsilon", 1e-3), in_channels=product(shape) or 0)
    block = layer(axis=place, prefix=request.prefix, **how, **scales)
    return elementwise(block, order, weights=_scale_weights(block, scales, shape))


@builds("GroupNormalization")
def _group_norm(request: Request, x: Value) -> Lowered:
    axes = _axes(request, x, truncated=True)
    if x.mask is not None and not request.keras3:
        raise Unsupported("a mask of its input")
    channels = x.shape[axes[0]] if len(axes) == 1 else None
    if not channels:
        raise ValueError(f"axis={axes}: only one axis of known size is supported")
    groups = request.whole("groups", 32, least=-1)
    groups = channels if groups == -1 else groups
    if groups < 1 or channels % groups:
        raise ValueError(f"groups={groups} does not divide {channels} channels")
    scales = _scales(request)
    parameters = {name: dict(shape=(groups,), init=name, grad_req="null") for name in ("ones", "zeros")}
    parameters.update({name: dict(shape=(channels,)) for name in _used(scales)})
    epsilon = request.number("epsilon", 1e-3)
    block = request.function(functions.group_norm, parameters, groups=groups, epsilon=epsilon)
    order = (0, axes[0], *(axis for axis in range(1, x.rank) if axis != axes[0]))
    return elementwise(block, order, weights=_scale_weights(block, scales, (channels,)))


@builds("UnitNormalization")
def _unit_norm(request: Request, x: Value) -> Lowered:
    stored = tuple(x.stored(axis) for axis in _axes(request, x))
    return elementwise(request.function(functions.unit_norm, axis=stored))


@builds("RMSNormalization")
def _rms_norm(request: Request, x: Value) -> Lowered:
    axes = _axes(request, x, truncated=True)
    request.get("axis")  # missing from other classes of this name, which add 1 to their factors
    shape = tuple(x.shape[axis] for axis in axes)
    last = range(x.rank - len(axes), x.rank)  # Keras multiplies these axes, whichever it normalizes
    if any(n not in (1, x.shape[axis]) for n, axis in zip(shape, last)):
        raise ValueError(
            f"axis={axes}: its factors of shape {shape} do not fit the last axes of {x.shape}"
        )
    parameters = {"gamma": dict(shape=_sizes(x, last, shape), init="ones")}
    stored, epsilon = tuple(sorted(map(x.stored, axes))), request.number("epsilon", 1e-6)
    block = request.function(functions.rms_norm, parameters, axis=stored, epsilon=epsilon)
    weight = Weight("scale", shape, lambda array: [(block.gamma, x.along(last, array))])
    return elementwise(block, weights=(weight,))


@builds("Normalization")
def _normalization(request: Request, x: Value) -> Lowered:
    kept = [] if request.get("axis", -1) in (None, []) else sorted(_axes(request, x))
    shape = tuple(x.shape[axis] for axis in kept)
    block = _affine(request, _sizes(x, kept, shape), standardize=not request.flag("invert", False))

    def assign_mean(array):
        return [(block.offset, x.along(kept, array))]

    def assign_variance(array):
        return [(block.scale, x.along(kept, np.maximum(np.sqrt(array), 1e-7)))]

    mean, variance = (request.get(name, None) for name in ("mean", "variance"))
    if mean is None or variance is None:
        count = Weight("count", (), lambda array: [])
        own = Weight("mean", shape, assign_mean), Weight("variance", shape, assign_variance)
        return elementwise(block, weights=(*own, count))
    mean, variance = _numbers("mean", mean, shape), _numbers("variance", variance, shape)
    return elementwise(block, constants=(*assign_mean(mean), *assign_variance(variance)))


@builds("Rescaling")
def _rescaling(request: Request, x: Value) -> Lowered:
    defaults = {"scale": 1, "offset": 0}
    given = {name: request.get(name, default) for name, default in defaults.items()}
    if not any(isinstance(value, list) for value in given.values()):
        scale, offset = (request.number(name, default) for name, default in defaults.items())
        return elementwise(request.function(functions.linear, scale=scale, offset=offset))
    last, shape = [x.rank - 1], (x.channels,)
    block = _affine(request, _sizes(x, last, shape), standardize=False)
    arrays = {name: x.along(last, _numbers(name, value, shape)) for name, value in given.items()}
    constants = [(getattr(block, name), array) for name, array in arrays.items()]
    return elementwise(block, constants=constants)


@builds("LayerScale")
def _layer_scale(request: Request, x: Value) -> Lowered:
    size, last = request.whole("projection_dim"), [x.rank - 1]
    block = request.function(functions.scaled, {"gamma": dict(shape=_sizes(x, last, (size,)))})
    weight = Weight("gamma", (size,), lambda array: [(block.gamma, x.along(last, array))])
    return elementwise(block, weights=(weight,))


def _axes(request: Request, x: Value, truncated: bool = False) -> List[int]:
    """Return the argument ``axis`` as nonnegative axes of the input.

    ``truncated`` is whether the layer returns the dtype of whole numbers and booleans in Keras 3.
    """
    if truncated and (x.whole or x.dtype == "bool") and request.keras3:
        raise Unsupported(f"an input of {x.narrow or x.dtype}: cast it to float32 in the model")
    given = request.ints("axis", -1)
    axes = x.places(given)
    if not axes or len(set(axes)) != len(axes):
        raise ValueError(f"axis={given} are not axes of an input with {x.rank} axes")
    return axes


def _scales(request: Request) -> dict:
    """Return which of factors and offsets a normalization has."""
    return {name: request.flag(name, True) for name in ("scale", "center")}


def _used(scales: dict) -> List[str]:
    """Return the names of their parameters."""
    return [name for name, used in zip(("gamma", "beta"), scales.values()) if used]


def _scale_weights(block: Any, scales: dict, shape: Shape) -> Tuple[Weight, ...]:
    """Return the weights for the factors and offsets of a normalization."""

    return tuple(weight_of(name, getattr(block, name), shape=shape) for name in _used(scales))


def _affine(request: Request, sizes: Tuple[int, ...], standardize: bool) -> Any:
    parameters = {name: dict(shape=sizes, grad_req="null") for name in ("scale", "offset")}
    return request.function(functions.affine, parameters, standardize=standardize)


def _sizes(x: Value, axes: Sequence[int], shape: Shape) -> Tuple[int, ...]:
    """Return the shape of :meth:`.Value.along` for an array of a shape, with 0 for unknown sizes."""
    return x.along(axes, np.zeros([n or 0 for n in shape])).shape


def _numbers(name: str, value: Any, shape: Sequence[Optional[int]]) -> np.ndarray:
    """Return numbers of a configuration, broadcast to a shape."""
    limit(f"{name} of shape {tuple(shape)}", math.prod(n or 1 for n in shape), MOST_ELEMENTS)
    try:
        numbers = np.asarray(value, dtype=np.float32)
        while numbers.ndim > len(shape) and 1 in numbers.shape:
            numbers = numbers.squeeze(numbers.shape.index(1))
        return np.array(np.broadcast_to(numbers, [n or 1 for n in shape]))
    except (TypeError, ValueError):
        raise Unsupported(f"{name}={value!r} is not a numeric array of shape {tuple(shape)}") from None
