"""Keras' operations on operands, with kernels in MXNet's layout.

On a CPU, MXNet supports only channels-first convolution. Channels-last data are therefore transposed
before and after an operation. A separable convolution stays channels first in between.
"""

from math import prod
from typing import Any, Dict, Optional, Tuple

import mxnet as mx

from .. import functional, geometry
from ..arguments import LAYOUTS
from .checks import layout
from .operands import Operand, Shape, fix

#: Minimum number of channels for which channels-last data are transposed, pooled and transposed back.
#: MXNet's channels-last pooling takes these multiples of that time at 56x56: max pooling of 64 channels,
#: 2x2/2: 1.9, 3x3/1: 6.4; average pooling of 64 channels, 2x2/2: 0.2, 3x3/1: 0.8, 5x5/1: 1.6, and of 16
#: channels: 0.9, 1.6, 2.8. With 3 channels and in 1-D, both take 0.1 to 0.9.
MANY = 16

#: Averages are transposed only if each element belongs to at least this number of windows.
OVERLAP = 9

How = Dict[str, Any]


def convolution(
    x: Operand, weight: Operand, data_format: str, how: How, name: Optional[str] = None
) -> Any:
    """Convolve with a weight (filters, channels per group, *kernel)."""
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
    """Convolve each channel with its own kernels; weight (channels, multiplier, *kernel)."""
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
    """Compute a depthwise convolution and a pointwise one with weight (filters, channels, 1, ...)."""
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
    """Compute a transposed convolution; weight (channels, filters, *kernel).

    ``how`` is a result of :func:`.checks.transposed_window`.
    """
    _check_channels(x, weight.shape[0], "kernel", data_format)
    x = _open(x, data_format, None, len(weight.shape) - 2)
    operate = _deconvolve if _is_leaf(weight) else _convolve_spread
    out = operate(x, weight, {"name": name, **_common(x, weight), **how})
    return _close(Operand(out, (None,) * len(weight.shape)), data_format)


def _is_leaf(weight):
    """Return whether ``Deconvolution`` supports this weight.

    Its gradient fails on a CPU ("could not execute a primitive") if another operator computes the
    weight, because oneDNN receives memory that is not allocated yet.
    """
    if weight.F is mx.nd:
        return not mx.autograd.is_recording()
    return weight.value.get_children() is None


def _deconvolve(x, weight, how):
    return functional.deconvolution(x.F, x.value, weight.value, num_filter=weight.shape[1], **how)


def _convolve_spread(x, weight, how):
    """Convolve data that are spread by ``stride - 1`` zeros with the mirrored kernel.

    This gives the same numbers as ``Deconvolution`` and takes two to four times as long.
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
    """Compute max (``'max'``) or average (``'avg'``) pooling."""
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
    """Return the data channels first, with their known sizes fixed."""
    ndim = len(how["stride"]) if how else ndim
    if data_format == "channels_last":
        x = x.transpose((0, ndim + 1, *range(1, ndim + 1)))
    # Fix the sizes after the transpose, where this takes no time. At an input of a graph it is a copy.
    return _settle(x, "channels_first", how)


def _close(x, data_format):
    """Return the result in its data format."""
    if data_format == "channels_first":
        return x.value
    return x.transpose((0, *range(2, len(x.shape)), 1)).value


def _settle(x, data_format, how):
    """Return a symbol that raises an error for other sizes, if the graph depends on the size.

    MXNet ignores the shape of a variable if an array of another shape is bound to it, and a strided SAME
    window for one size is wrong at another. With stride 1 or without padding, one graph serves every
    size.
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
