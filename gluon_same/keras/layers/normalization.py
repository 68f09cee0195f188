"""Normalization layers, and layers that scale and shift by constants."""

import math
from typing import Any, List, Optional, Sequence

import numpy as np
from mxnet.gluon import nn

from ..arguments import Unsupported
from ..values import Value, all_known, keras_order
from .scaling import Affine, GroupNorm, Linear, RMSNorm, Scale, TrailingLayerNorm, UnitNorm
from .table import Built, Request, Weight, builds, elementwise, into, same_shape


class SizedBatchNorm(nn.BatchNorm):
    """Batch normalization that rejects other sizes of its axis, because MXNet would read beyond them."""

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        before = (0,) * self._kwargs["axis"]
        x = F.reshape(x, shape=(*before, -4, self.in_channels, 1, -2))
        x = F.reshape(x, shape=(*before, -3, -2))
        return super().hybrid_forward(F, x, *args, **kwargs)


@builds("BatchNormalization", "BatchNormalizationV1", "SyncBatchNormalization")
def _batch_norm(request: Request, x: Value) -> Built:
    arguments = request.arguments
    axes = _axes(request, x)
    if len(axes) != 1:
        raise Unsupported(f"axis={axes}: only one axis is supported")
    arguments.only(renorm=False, virtual_batch_size=None, adjustment=None)
    arguments.ignore("renorm_clipping", "renorm_momentum")
    center, scale = arguments.flag("center", True), arguments.flag("scale", True)
    channels = x.shape[axes[0]]
    if channels is None:
        raise ValueError(f"axis={axes[0]}: an axis of unknown size is not supported")
    axis = x.stored(axes[0])
    block = (nn.BatchNorm if axis == 1 else SizedBatchNorm)(
        axis=axis,
        momentum=arguments.number("momentum", 0.99),
        epsilon=arguments.number("epsilon", 1e-3),
        center=center,
        scale=scale,
        use_global_stats=not request.trainable,  # as in Keras' frozen layers
        in_channels=channels or 0,
        prefix=request.prefix,
    )
    weights = [
        Weight("gamma", (channels,), into(block.gamma)) if scale else None,
        Weight("beta", (channels,), into(block.beta)) if center else None,
        Weight("moving_mean", (channels,), into(block.running_mean)),
        Weight("moving_variance", (channels,), into(block.running_var)),
    ]
    return Built(block, same_shape, None, (x.order,), tuple(filter(None, weights)))


@builds("LayerNormalization")
def _layer_norm(request: Request, x: Value) -> Built:
    arguments = request.arguments
    axes = sorted(_axes(request, x))
    arguments.only(rms_scaling=False)
    center, scale = arguments.flag("center", True), arguments.flag("scale", True)
    shape = tuple(x.shape[axis] for axis in axes)
    known = all_known(shape)
    size = 0 if known is None else math.prod(known)
    common = dict(
        epsilon=arguments.number("epsilon", 1e-3),
        center=center,
        scale=scale,
        in_channels=size,
        prefix=request.prefix,
    )
    if axes == [x.rank - 1] or (len(axes) == 1 and x.order == keras_order(x.rank)):
        # MXNet is much faster along the last stored axis.
        order = keras_order(x.rank)
        block = nn.LayerNorm(axis=axes[0], **common)
    elif len(axes) == 1:
        order = x.order
        block = nn.LayerNorm(axis=x.stored(axes[0]), **common)
    elif axes == list(range(axes[0], x.rank)):
        order = keras_order(x.rank)
        block = TrailingLayerNorm(axes[0], **common)
    else:
        raise Unsupported(f"axis={axes}: only one axis, or several last axes, are supported")

    def put(parameter):
        return lambda array: [(parameter, array.ravel())]

    weights = [
        Weight("gamma", shape, put(block.gamma)) if scale else None,
        Weight("beta", shape, put(block.beta)) if center else None,
    ]
    return Built(block, same_shape, order, (order,), tuple(filter(None, weights)))


@builds("GroupNormalization")
def _group_norm(request: Request, x: Value) -> Built:
    arguments = request.arguments
    axes = _axes(request, x)
    channels = x.shape[axes[0]] if len(axes) == 1 else None
    if not channels:
        raise ValueError(f"axis={axes}: only one axis of known size is supported")
    groups = arguments.whole("groups", 32, least=-1)
    groups = channels if groups == -1 else groups
    if groups < 1 or channels % groups:
        raise ValueError(f"groups={groups} does not divide {channels} channels")
    center, scale = arguments.flag("center", True), arguments.flag("scale", True)
    epsilon = arguments.number("epsilon", 1e-3)
    block = GroupNorm(channels, groups, epsilon, center, scale, request.prefix)
    weights = [
        Weight("gamma", (channels,), into(block.gamma)) if scale else None,
        Weight("beta", (channels,), into(block.beta)) if center else None,
    ]
    order = (0, axes[0], *(axis for axis in range(1, x.rank) if axis != axes[0]))
    return Built(block, same_shape, order, (order,), tuple(filter(None, weights)))


@builds("UnitNormalization")
def _unit_norm(request: Request, x: Value) -> Built:
    stored = [x.stored(axis) for axis in _axes(request, x)]
    return Built(UnitNorm(stored, request.prefix), same_shape, None, (x.order,))


@builds("RMSNormalization")
def _rms_norm(request: Request, x: Value) -> Built:
    axes = _axes(request, x)
    shape = tuple(x.shape[axis] for axis in axes)
    last = range(x.rank - len(axes), x.rank)  # Keras multiplies these axes, whichever it normalizes
    if any(n not in (1, x.shape[axis]) for n, axis in zip(shape, last)):
        raise ValueError(
            f"axis={axes}: its factors of shape {shape} do not fit the last axes of {x.shape}"
        )
    sizes = _along(x, last, np.zeros([n or 0 for n in shape])).shape
    epsilon = request.arguments.number("epsilon", 1e-6)
    block = RMSNorm(sorted(x.stored(axis) for axis in axes), sizes, epsilon, request.prefix)
    weight = Weight("scale", shape, lambda array: [(block.gamma, _along(x, last, array))])
    return Built(block, same_shape, None, (x.order,), (weight,))


@builds("Normalization")
def _normalization(request: Request, x: Value) -> Built:
    arguments = request.arguments
    kept = [] if arguments.get("axis", -1) in (None, []) else sorted(_axes(request, x))
    invert = arguments.flag("invert", False)
    shape = tuple(x.shape[axis] for axis in kept)
    sizes = _along(x, kept, np.zeros([n or 0 for n in shape])).shape
    block = Affine(sizes, not invert, request.prefix)

    def put_mean(array):
        return [(block.offset, _along(x, kept, array))]

    def put_variance(array):
        return [(block.scale, _along(x, kept, np.maximum(np.sqrt(array), 1e-7)))]

    mean, variance = (arguments.get(name, None) for name in ("mean", "variance"))
    if mean is None or variance is None:
        weights = (
            Weight("mean", shape, put_mean),
            Weight("variance", shape, put_variance),
            Weight("count", (), lambda array: []),
        )
        return Built(block, same_shape, None, (x.order,), weights)
    mean, variance = _numbers("mean", mean, shape), _numbers("variance", variance, shape)
    constants = (*put_mean(mean), *put_variance(variance))
    return Built(block, same_shape, None, (x.order,), constants=constants)


@builds("Rescaling")
def _rescaling(request: Request, x: Value) -> Built:
    scale, offset = (
        request.arguments.get(name, default) for name, default in (("scale", 1), ("offset", 0))
    )
    if not isinstance(scale, list) and not isinstance(offset, list):
        scale, offset = request.arguments.number("scale", 1), request.arguments.number("offset", 0)
        return elementwise(Linear(scale, offset, request.prefix))
    last, shape = [x.rank - 1], (x.channels,)
    scale, offset = _numbers("scale", scale, shape), _numbers("offset", offset, shape)
    block = Affine(_along(x, last, scale).shape, False, request.prefix)
    constants = ((block.scale, _along(x, last, scale)), (block.offset, _along(x, last, offset)))
    return Built(block, same_shape, None, (x.order,), constants=constants)


@builds("LayerScale")
def _layer_scale(request: Request, x: Value) -> Built:
    request.arguments.ignore("init_values")
    size = request.arguments.whole("projection_dim")
    block = Scale(_along(x, [x.rank - 1], np.zeros(size)).shape, request.prefix)
    weight = Weight("gamma", (size,), lambda array: [(block.gamma, _along(x, [x.rank - 1], array))])
    return Built(block, same_shape, None, (x.order,), (weight,))


def _axes(request: Request, x: Value) -> List[int]:
    """Return the argument ``axis`` as nonnegative axes of the input."""
    given = request.arguments.ints("axis", -1)
    axes = [axis % x.rank for axis in given if -x.rank <= axis < x.rank]
    if not axes or len(axes) != len(given) or 0 in axes or len(set(axes)) != len(axes):
        raise ValueError(f"axis={given} are not axes of an input with {x.rank} axes")
    return axes


def _along(x: Value, axes: Sequence[int], array: np.ndarray) -> np.ndarray:
    """Return an array along some of Keras' axes, reshaped to broadcast with the stored input."""
    sizes = dict(zip(axes, array.shape))
    return array.reshape([sizes.get(axis, 1) for axis in range(x.rank)]).transpose(x.order)


def _numbers(name: str, value: Any, shape: Sequence[Optional[int]]) -> np.ndarray:
    """Return numbers of a configuration, broadcast to a shape."""
    try:
        numbers = np.asarray(value, dtype=np.float32)
        while numbers.ndim > len(shape) and 1 in numbers.shape:
            numbers = numbers.squeeze(numbers.shape.index(1))
        return np.array(np.broadcast_to(numbers, [n or 1 for n in shape]))
    except (TypeError, ValueError):
        raise Unsupported(f"{name}={value!r} is not a numeric array of shape {tuple(shape)}") from None
