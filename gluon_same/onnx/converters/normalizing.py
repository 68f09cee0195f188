"""Normalizations, and poolings by norms."""

from itertools import chain
from typing import Any, List, Literal

import numpy as np

from ... import nn
from ...importing import functions
from ..registry import converter
from ..values import Data, Flag, Ints, Known, axis_of
from .pooling import Pooled, average_pool
from .reducing import axes_of
from .shapes import cast_to
from .windows import Attributes, check_by_channel


@converter("LayerNormalization")  # onnxruntime writes it for older operator sets, too
def layer_normalization(
    net: Any, x: Data, scale: Any, offset: Any = None, *, axis: int = -1, epsilon: float = 1e-5,
    stash_type: Literal[1] = 1,
) -> Any:  # fmt: skip
    axis = axis_of(axis, x.ndim)
    weights = isinstance(scale, Known) and isinstance(offset, Known) and scale.shape == offset.shape
    if weights and net.outputs == 1 and axis == x.ndim - 1 and scale.shape == x.shape[-1:]:
        block = nn.LayerNorm(epsilon=epsilon, in_channels=scale.shape[0], prefix=net.prefix())
        return net.block(block, x, weights={"gamma": scale, "beta": offset})
    made = net.call(
        functions.layer_norm, x, scale, offset, axes=tuple(range(axis, x.ndim)), epsilon=epsilon,
        all_outputs=net.outputs > 1, outputs=3 if net.outputs > 1 else 1,
    )  # fmt: skip
    if net.outputs == 1:
        return made
    return [made[0], *(cast_to(net, each, np.float32) for each in made[1:])]


@converter("InstanceNormalization", 6)
def instance_normalization(net: Any, x: Data, scale: Any, offset: Any, *, epsilon: float = 1e-5) -> Data:
    check_by_channel(x, scale, offset)
    # MXNet's InstanceNorm is slower than GroupNorm, and adds up in float32, which loses digits.
    channels = x.shape[1]
    if isinstance(scale, Known) and isinstance(offset, Known) and channels is not None:
        block = nn.GroupNorm(channels, epsilon, prefix=net.prefix())
        return net.block(block, x, weights={"gamma": scale, "beta": offset})
    if channels is not None:
        return net.call("GroupNorm", x, scale, offset, num_groups=channels, eps=epsilon)
    return net.call("InstanceNorm", x, scale, offset, eps=epsilon)


@converter("GroupNormalization", 18)
def group_normalization_18(
    net: Any, x: Data, scale: Any, offset: Any, *, num_groups: int, epsilon: float = 1e-5
) -> Data:
    return net.call(functions.group_norm, x, scale, offset, groups=num_groups, epsilon=epsilon)


@converter("GroupNormalization", 21)
def group_normalization(
    net: Any, x: Data, scale: Any, offset: Any, *, num_groups: int, epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Data:  # fmt: skip
    ones, zeros = Known([np.ones(num_groups, "float32")]), Known([np.zeros(num_groups, "float32")])
    how = dict(groups=num_groups, epsilon=epsilon)
    return net.call(functions.group_norm, x, ones, zeros, scale, offset, **how)


@converter("MeanVarianceNormalization", 9)
def mean_variance_normalization(net: Any, x: Data, *, axes: Ints = None) -> Data:
    return net.call(functions.mean_variance, x, axes=axes_of(x, (0, 2, 3) if axes is None else axes))


@converter("LRN")
def local_response(
    net: Any, x: Data, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Data:
    if size % 2 and x.ndim == 4 and x.dtype == np.float32:
        return net.call("LRN", x, nsize=size, alpha=alpha, beta=beta, knorm=bias)
    how = dict(size=size, alpha=alpha, beta=beta, bias=bias)
    return net.call(functions.local_response, x, rank=x.ndim, **how)


@converter("LpNormalization")
def lp_normalization(net: Any, x: Data, *, axis: int = -1, p: int = 2) -> Data:
    return net.call(functions.lp_normalize, x, axis=axis_of(axis, x.ndim), p=p)


@converter("GlobalLpPool", 2)
def global_lp_pool(net: Any, x: Data, *, p: int = 2) -> Data:
    return net.call(functions.lp_norm, x, axes=tuple(range(2, x.ndim)), p=p)


@converter("LpPool", 2)
def lp_pool(
    net: Any, x: Data, *, kernel_shape: List[int], ceil_mode: Flag = 0, p: int = 2, **window: Attributes
) -> Data:
    how: Any = window
    if ceil_mode:  # zeros at the end make no difference to a sum
        pairs = Pooled(x, kernel_shape, window, ceil_mode, None).pairs()
        how.update(auto_pad="NOTSET", pads=[*chain(*zip(*pairs))])
    x = net.call(functions.absolute_power, x, exponent=p)
    mean = average_pool(net, x, kernel_shape=kernel_shape, count_include_pad=1, **how)
    return net.call(functions.root, mean, factor=int(np.prod(kernel_shape)), degree=p)
