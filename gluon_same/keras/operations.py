"""Keras' operations on operands whose kernels are in MXNet's layout already.

MXNet convolves channels first on the CPU. So channels-last data are transposed once before an operation
and once after it, and a separable convolution stays channels first in between.
"""

from math import prod
from typing import Any, Dict, Optional, Tuple

import mxnet as mx

from .. import functional, geometry
from ..arguments import LAYOUTS
from .checks import layout
from .operands import Operand, Shape, fix

#: Channels from which it may pay to transpose channels-last data, pool, and transpose back. Measured as
#: the time of MXNet's own channels-last pooling over that: max 2x2/2 of 64 channels at 56: 1.9, 3x3/1:
#: 6.4; average 2x2/2: 0.2, 3x3/1: 0.8, 5x5/1: 1.6, and of 16 channels: 0.9, 1.6, 2.8. Of 3 channels, and
#: in 1-D, its own was quicker for both, 0.1 to 0.9.
MANY = 16

#: Windows that an element is in, from which that holds for averages.
OVERLAP = 9

How = Dict[str, Any]


def convolution(
    x: Operand, weight: Operand, data_format: str, how: How, name: Optional[str] = None
) -> Any:
    """Weight (filters, channels per group, *kernel): as many groups as fit in the channels."""
    inputs, outputs = _channels(x, data_format), weight.shape[0]
    groups = 1 if inputs is None else inputs // weight.shape[1]
    if inputs is not None and inputs % weight.shape[1]:
        raise ValueError(
            "The number of input channels must be evenly divisible by the kernel's in_channels. "
            f"Received: input channels={inputs}, kernel in_channels={weight.shape[1]}"
        )
    if outputs % groups:
        raise ValueError(
            "The number of filters must be evenly divisible by the number of groups. Received: "
            f"filters={outputs}, groups={groups}"
        )
    x = _open(x, data_format, how)
    return _close(_convolve(x, weight, how, groups, name), data_format)


def depthwise(
    x: Operand, weight: Operand, data_format: str, how: How, name: Optional[str] = None
) -> Any:
    """Weight (channels, multiplier, *kernel): each channel convolved by its own kernels."""
    _check_channels(x, weight.shape[0], "kernel", data_format)
    return _close(_depthwise(_open(x, data_format, how), weight, how, name), data_format)


def separable(
    x: Operand,
    weight: Operand,
    pointwise: Operand,
    data_format: str,
    how: How,
    name: Optional[str] = None,
) -> Any:
    """A depthwise convolution, and a pointwise one of weight (filters, channels, 1, ...)."""
    _check_channels(x, weight.shape[0], "depthwise_kernel", data_format)
    between, ones = weight.shape[0] * weight.shape[1], (1,) * (len(weight.shape) - 2)
    if pointwise.shape[1:] != (between, *ones):
        raise ValueError(
            f"`pointwise_kernel` must have {between} input channels and a spatial size of {ones}. "
            f"Received: input channels={pointwise.shape[1]}, spatial size={pointwise.shape[2:]}"
        )
    x = _depthwise(_open(x, data_format, how), weight, how, name)
    return _close(_convolve(x, pointwise, {"pad": "valid"}), data_format)


def transposed(
    x: Operand, weight: Operand, data_format: str, how: How, name: Optional[str] = None
) -> Any:
    """Weight (channels, filters, *kernel), and ``how`` from ``transposed_window``."""
    _check_channels(x, weight.shape[0], "kernel", data_format)
    x = _open(x, data_format, None, len(weight.shape) - 2)
    operate = _deconvolve if _is_leaf(weight) else _convolve_spread
    out = operate(x, weight, {"name": name, **_common(x, weight), **how})
    return _close(Operand(out, (None,) * len(weight.shape)), data_format)


def _is_leaf(weight):
    """Whether a ``Deconvolution`` by this weight can be trained, or nothing records it.

    The gradient by a weight that another operator computes fails on a CPU ("could not execute a
    primitive"), because oneDNN receives memory that is not allocated yet.
    """
    if weight.F is mx.nd:
        return not mx.autograd.is_recording()
    return weight.value.get_children() is None


def _deconvolve(x, weight, how):
    return functional.deconvolution(x.F, x.value, weight.value, num_filter=weight.shape[1], **how)


def _convolve_spread(x, weight, how):
    """The same by a convolution: the data with ``stride - 1`` zeros between, the kernel mirrored.

    It takes two to four times as long as a ``Deconvolution``.
    """
    F, (channels, filters, *kernel) = x.F, weight.shape
    spread = x.value
    if max(how["stride"]) > 1:
        one = F.ones_like(
            F.slice(
                weight.value, begin=(None,) * len(weight.shape), end=(None, *[1] * (len(kernel) + 1))
            )
        )
        spread = F.Deconvolution(
            spread,
            one,
            kernel=(1,) * len(kernel),
            stride=how["stride"],
            num_filter=channels,
            num_group=channels,
            no_bias=True,
        )
    mirrored = F.reverse(
        F.swapaxes(weight.value, dim1=0, dim2=1), axis=tuple(range(2, len(weight.shape)))
    )
    spans = map(geometry.effective_kernel, kernel, how["dilate"])
    pad = tuple(
        (k - 1 - before, k - 1 - after + more)
        for k, (before, after), more in zip(spans, how["pad"], how["adj"])
    )
    known = {key: value for key, value in how.items() if key not in ("stride", "adj")}
    return functional.convolution(F, spread, mirrored, num_filter=filters, **{**known, "pad": pad})


def pooling(
    x: Operand,
    pool_size: Tuple[int, ...],
    pool_type: str,
    data_format: str,
    how: How,
    name: Optional[str] = None,
) -> Any:
    """Max (``'max'``) or average (``'avg'``) pooling."""
    ndim = len(pool_size)
    wide = ndim > 1 and (_channels(x, data_format) or 0) >= MANY
    heavy = pool_type == "max" or prod(pool_size) >= OVERLAP * prod(how["stride"])
    transposes = wide and heavy and data_format == "channels_last"
    order = "channels_first" if transposes else data_format
    x = _open(x, data_format, how) if transposes else _settle(x, data_format, how)
    out = functional.pooling(
        x.F,
        x.value,
        kernel=pool_size,
        pool_type=pool_type,
        layout=layout(ndim, order),
        in_size=_sizes(x, order, ndim),
        name=name,
        **how,
    )
    return _close(Operand(out, (None,) * (ndim + 2)), data_format) if transposes else out


def _convolve(x, weight, how, groups=1, name=None):
    out = functional.convolution(
        x.F,
        x.value,
        weight.value,
        num_filter=weight.shape[0],
        num_group=groups,
        in_size=_sizes(x, "channels_first", len(weight.shape) - 2),
        in_channels=x.shape and x.shape[1],
        name=name,
        **_common(x, weight),
        **how,
    )
    return Operand(out, (None, weight.shape[0]) + (None,) * (len(weight.shape) - 2))


def _depthwise(x, weight, how, name):
    channels, multiplier, *kernel = weight.shape
    shape = (channels * multiplier, 1, *kernel)
    weight = Operand(weight.F.reshape(weight.value, shape=shape), shape)
    return _convolve(x, weight, how, channels, name)


def _common(x, weight):
    kernel = weight.shape[2:]
    return {"kernel": kernel, "layout": LAYOUTS[len(kernel)][0]}


def _open(x, data_format, how, ndim=None):
    """The data channels first, and their known sizes sure."""
    ndim = len(how["stride"]) if how else ndim
    if data_format == "channels_last":
        x = x.transpose((0, ndim + 1, *range(1, ndim + 1)))
    # After the transpose, for there a check costs nothing: at the inputs of a graph it is a copy.
    return _settle(x, "channels_first", how)


def _close(x, data_format):
    """The result in its own format again."""
    if data_format == "channels_first":
        return x.value
    return x.transpose((0, *range(2, len(x.shape)), 1)).value


def _settle(x, data_format, how):
    """A symbol whose known sizes are sure, where the graph is made for them.

    A variable's own shape gives way to the one that is bound, and a strided SAME window made for one
    size is wrong at another. With stride 1, or without padding, the same graph serves every size.
    """
    if x.sure or x.shape is None or how is None or how["pad"] == "valid":
        return x
    strides = iter(how["stride"])
    axes = layout(len(how["stride"]), data_format)
    expected = tuple(n if a not in "NC" and next(strides) > 1 else None for n, a in zip(x.shape, axes))
    return x._replace(value=fix(x.value, expected)) if any(expected) else x


def _sizes(x: Operand, data_format: str, ndim: int) -> Optional[Shape]:
    if x.shape is None:
        return None
    return x.shape[2:] if data_format == "channels_first" else x.shape[1:-1]


def _channels(x, data_format):
    return x.shape and x.shape[1 if data_format == "channels_first" else -1]


def _check_channels(x, channels, kernel, data_format):
    found = _channels(x, data_format)
    if found not in (None, channels):
        raise ValueError(
            f"The number of input channels must be that of `{kernel}`. Received: input "
            f"channels={found}, {kernel} in_channels={channels}"
        )
