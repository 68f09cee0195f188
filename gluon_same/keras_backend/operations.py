"""Keras' operations on operands, with kernels in MXNet's layout.

On a CPU, MXNet supports only channels-first convolution. Channels-last data are therefore transposed
before and after an operation. A separable convolution stays channels first in between.
"""

from math import prod
from typing import Any, Callable, Dict, Optional, Tuple

import mxnet as mx

from .. import functional, geometry
from ..arguments import LAYOUTS, spatial
from .operands import Operand, fix

#: Minimum number of channels for which channels-last data are transposed, pooled and transposed back.
#: MXNet's channels-last pooling takes these multiples of that time at 56x56: max pooling of 64 channels,
#: 2x2/2: 1.9, 3x3/1: 6.4; average pooling of 64 channels, 2x2/2: 0.2, 3x3/1: 0.8, 5x5/1: 1.6, and of 16
#: channels: 0.9, 1.6, 2.8. With 3 channels and in 1-D, both take 0.1 to 0.9.
MANY = 16

#: Averages are transposed only if each element belongs to at least this number of windows.
OVERLAP = 9

How = Dict[str, Any]


def run(
    operation: Callable, x: Operand, data_format: str, how: How, *weights: Operand, name: Any = None
) -> Any:
    """Return the result of an operation for channels-first data on data in either format."""
    ndim = len(how["stride"])
    if data_format == "channels_last":
        x = x.transpose((0, ndim + 1, *range(1, ndim + 1)))
    # Fix the sizes after the transpose, where this takes no time. At an input of a graph it is a copy.
    out = operation(_settle(x, LAYOUTS[ndim][0], how), how, name, *weights)
    if data_format == "channels_last":
        out = x.F.transpose(out, axes=(0, *range(2, ndim + 2), 1))
    return out


def convolution(x: Operand, how: How, name: Optional[str], weight: Operand) -> Any:
    """Convolve with a weight (filters, channels per group, *kernel)."""
    inputs, (filters, channels) = x.shape and x.shape[1], weight.shape[:2]
    groups = 1 if inputs is None else inputs // channels
    if inputs is not None and inputs % channels:
        raise ValueError(
            "The number of input channels must be evenly divisible by the kernel's in_channels. "
            f"Received: input channels={inputs}, kernel in_channels={channels}"
        )
    if filters % groups:
        raise ValueError(
            "The number of filters must be evenly divisible by the number of groups. Received: "
            f"filters={filters}, groups={groups}"
        )
    return _convolve(x, how, name, weight, groups)


def depthwise(x: Operand, how: How, name: Optional[str], weight: Operand, kernel: str = "kernel") -> Any:
    """Convolve each channel with its own kernels; weight (channels, multiplier, *kernel)."""
    _check_channels(x, weight, kernel)
    channels, multiplier, *sizes = weight.shape
    shape = (channels * multiplier, 1, *sizes)
    weight = Operand(weight.F.reshape(weight.value, shape=shape), shape)
    return _convolve(x, how, name, weight, channels)


def separable(x: Operand, how: How, name: Optional[str], weight: Operand, pointwise: Operand) -> Any:
    """Compute a depthwise convolution and a pointwise one with weight (filters, channels, 1, ...)."""
    between, ones = weight.shape[0] * weight.shape[1], (1,) * (len(weight.shape) - 2)
    out = depthwise(x, how, name, weight, "depthwise_kernel")
    if pointwise.shape[1:] != (between, *ones):
        raise ValueError(
            f"`pointwise_kernel` must have {between} input channels and a spatial size of {ones}. "
            f"Received: input channels={pointwise.shape[1]}, spatial size={pointwise.shape[2:]}"
        )
    data = Operand(out, (None, between, *[None] * len(ones)))
    return _convolve(data, {"pad": "valid"}, None, pointwise)


def transposed(x: Operand, how: How, name: Optional[str], weight: Operand) -> Any:
    """Compute a transposed convolution; weight (channels, filters, *kernel).

    ``how`` is a result of :func:`.checks.transposed_window`.
    """
    _check_channels(x, weight, "kernel")
    kernel = weight.shape[2:]
    more = {"kernel": kernel, "layout": LAYOUTS[len(kernel)][0], "name": name}
    # The gradient of Deconvolution fails on a CPU ("could not execute a primitive") if another operator
    # computes the weight, because oneDNN receives memory that is not allocated yet.
    arrays = weight.F is mx.nd
    if not mx.autograd.is_recording() if arrays else weight.value.get_children() is None:
        filters = weight.shape[1]
        return functional.deconvolution(x.F, x.value, weight.value, num_filter=filters, **more, **how)
    return _convolve_spread(x, weight, how, more)


def _convolve_spread(x, weight, how, more):
    """Convolve data that are spread by ``stride - 1`` zeros with the mirrored kernel.

    Results are those of ``Deconvolution``, and it takes two to four times as long.
    """
    F, (channels, filters, *kernel) = x.F, weight.shape
    spread = x.value
    if max(how["stride"]) > 1:
        end = (None, *[1] * (len(kernel) + 1))
        one = F.ones_like(F.slice(weight.value, begin=(None,) * len(end), end=end))
        wide = {"kernel": (1,) * len(kernel), "stride": how["stride"]}
        counts = {"num_filter": channels, "num_group": channels}
        spread = F.Deconvolution(spread, one, no_bias=True, **wide, **counts)
    axes = tuple(range(2, len(weight.shape)))
    mirrored = F.reverse(F.swapaxes(weight.value, dim1=0, dim2=1), axis=axes)
    spans = map(geometry.effective_kernel, kernel, how["dilate"])
    ends = zip(spans, how["pad"], how["adj"])
    pad = tuple((k - 1 - before, k - 1 - after + extra) for k, (before, after), extra in ends)
    window = {"dilate": how["dilate"], "pad": pad, **more}
    return functional.convolution(F, spread, mirrored, num_filter=filters, **window)


def pooling(
    x: Operand, pool_size: Tuple[int, ...], pool_type: str, data_format: str, how: How, name: Any = None
) -> Any:
    """Compute max (``'max'``) or average (``'avg'``) pooling."""
    ndim, last = len(pool_size), data_format == "channels_last"

    def pool(x, how, name, order=LAYOUTS[ndim][0]):
        window = {"kernel": pool_size, "pool_type": pool_type, "layout": order}
        sizes = x.shape and spatial(x.shape, order)
        return functional.pooling(x.F, x.value, in_size=sizes, name=name, **window, **how)

    wide = ndim > 1 and x.shape is not None and (x.shape[-1] or 0) >= MANY
    heavy = pool_type == "max" or prod(pool_size) >= OVERLAP * prod(how["stride"])
    if last and not (wide and heavy):
        order = LAYOUTS[ndim][1]
        return pool(_settle(x, order, how), how, name, order)
    return run(pool, x, data_format, how, name=name)


def _convolve(x, how, name, weight, groups=1):
    filters, _, *kernel = weight.shape
    layer = {"kernel": tuple(kernel), "layout": LAYOUTS[len(kernel)][0], "name": name}
    counts = {"num_filter": filters, "num_group": groups}
    known = {"in_size": x.shape[2:], "in_channels": x.shape[1]} if x.shape else {}
    return functional.convolution(x.F, x.value, weight.value, **layer, **counts, **known, **how)


def _settle(x, order, how):
    """Return a symbol that raises an error for other sizes, if the graph depends on the size.

    MXNet ignores the shape of a variable if an array of another shape is bound to it, and a strided SAME
    window for one size is wrong at another. With stride 1 or without padding, one graph serves every
    size.
    """
    if x.sure or x.shape is None or how["pad"] not in ("same", "causal"):
        return x
    strides = iter(how["stride"])
    expected = tuple(n if a not in "NC" and next(strides) > 1 else None for n, a in zip(x.shape, order))
    return x._replace(value=fix(x.value, expected)) if any(expected) else x


def _check_channels(x, weight, kernel):
    found, channels = x.shape and x.shape[1], weight.shape[0]
    if found not in (None, channels):
        raise ValueError(
            f"The number of input channels must be that of `{kernel}`. Received: input "
            f"channels={found}, {kernel} in_channels={channels}"
        )
