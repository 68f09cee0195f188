"""Plain, transposed, depthwise and separable convolutions."""

from typing import Any, Dict, Optional, Tuple

import numpy as np
from mxnet.gluon import HybridBlock

from ... import nn
from ...geometry import effective_kernel
from ...keras_backend.checks import conv_transpose_padding
from ..values import Shape, Value, replaced, window_size
from .activations import activation, is_nonnegative
from .table import (
    Built,
    Request,
    Weight,
    builds,
    channel_axis,
    data_format,
    into,
    of_rank,
    spatial_axes,
    spatial_order,
)

_CONVOLUTIONS = {1: nn.Conv1D, 2: nn.Conv2D, 3: nn.Conv3D}
_DEPTHWISE = {1: nn.DepthwiseConv1D, 2: nn.DepthwiseConv2D}
_SEPARABLE = {1: nn.SeparableConv1D, 2: nn.SeparableConv2D}
_TRANSPOSED = {1: nn.Conv1DTranspose, 2: nn.Conv2DTranspose, 3: nn.Conv3DTranspose}


class _Window:
    """Arguments that all convolutions share."""

    def __init__(
        self, request: Request, x: Value, ndim: int, paddings: Tuple[str, ...] = ("valid", "same")
    ):
        arguments = request.arguments
        self.ndim = ndim
        self.format = data_format(arguments)
        self.kernel = arguments.axes("kernel_size", ndim)
        self.strides = arguments.axes("strides", ndim, 1)
        self.dilation = arguments.axes("dilation_rate", ndim, 1)
        self.padding = arguments.word("padding", paddings, "valid")
        self.use_bias = arguments.flag("use_bias", True)
        self.spans = tuple(map(effective_kernel, self.kernel, self.dilation))
        self.channel_axis = channel_axis(ndim + 2, self.format)
        self.axes = spatial_axes(ndim + 2, self.format)
        self.order = spatial_order(ndim + 2, self.format)
        self.given = arguments.get("activation", None)
        last = self.order.index(ndim + 1)  # Keras applies softmax along its last axis in every format
        self.activation = activation(self.given, request.keras3, last, f"{request.prefix}activation_")
        of_rank(x, ndim + 2)
        self.channels = x.shape[self.channel_axis]

    def known_channels(self) -> int:
        """Return the input's channels; raise a ValueError if they are unknown."""
        if not self.channels:
            raise ValueError("the channels of its input are not known")
        return self.channels

    def blocks_padding(self, x: Value) -> Any:
        """Return the padding of Gluon's block, including that of a preceding ZeroPadding layer."""
        if x.padding is None or x.order != self.order or self.padding == "same":
            return 0 if self.padding == "valid" else self.padding
        pairs = x.padding.pairs
        if self.padding == "causal":
            pairs = ((pairs[0][0] + self.spans[0] - 1, pairs[0][1]),)
        if all(before == after for before, after in pairs):
            return tuple(before for before, _ in pairs)
        return pairs

    def folds(self, x: Value) -> bool:
        """Return whether :meth:`blocks_padding` includes a ZeroPadding layer."""
        return x.padding is not None and x.order == self.order and self.padding != "same"

    def shared(self, x: Value) -> dict:
        """Return common arguments of Gluon's blocks."""
        return dict(
            kernel_size=self.kernel,
            strides=self.strides,
            dilation=self.dilation,
            padding=self.blocks_padding(x),
            in_channels=self.channels or 0,
        )

    def rule(self, channels: int):
        """Return the function that infers the output's shape."""

        def rule(shape: Shape) -> Shape:
            sizes = [
                window_size(shape[axis], span, stride, self.padding)
                for axis, span, stride in zip(self.axes, self.spans, self.strides)
            ]
            return replaced(replaced(shape, self.axes, sizes), [self.channel_axis], [channels])

        return rule

    def built(self, block: HybridBlock, x: Value, channels: int, weights: Tuple[Weight, ...]) -> Built:
        """Set the activation of the last convolution and return the builder's result."""
        last = getattr(block, "pointwise", block)
        last.act = self.activation
        if self.use_bias:
            weights = (*weights, Weight("bias", (channels,), into(last.bias)))
        return Built(
            block,
            self.rule(channels),
            self.order,
            (self.order,),
            weights,
            folds=self.folds(x),
            nonnegative=is_nonnegative(self.given),
        )


@builds("Conv1D", "Conv2D", "Conv3D")
def _convolution(request: Request, x: Value) -> Built:
    ndim = int(request.class_name[4])
    window = _Window(request, x, ndim, ("valid", "same", "causal")[: 3 if ndim == 1 else 2])
    filters, groups = request.arguments.whole("filters"), request.arguments.whole("groups", 1)
    block = _CONVOLUTIONS[ndim](
        filters, groups=groups, use_bias=window.use_bias, prefix=request.prefix, **window.shared(x)
    )
    channels = window.channels and window.channels // groups
    kernel = Weight(
        "kernel", (*window.kernel, channels, filters), into(block.weight, ndim + 1, ndim, *range(ndim))
    )
    return window.built(block, x, filters, (kernel,))


@builds("DepthwiseConv1D", "DepthwiseConv2D")
def _depthwise(request: Request, x: Value) -> Built:
    ndim = int(request.class_name[-2])
    window = _Window(request, x, ndim)
    for name in ("filters", "groups"):  # Keras writes the arguments of the base class, too
        request.arguments.ignore(name)
    multiplier = request.arguments.whole("depth_multiplier", 1)
    block = _DEPTHWISE[ndim](
        depth_multiplier=multiplier,
        use_bias=window.use_bias,
        prefix=request.prefix,
        **window.shared(x),
    )
    channels = window.known_channels() * multiplier
    return window.built(block, x, channels, (_depthwise_kernel(block, window, multiplier),))


@builds("SeparableConv1D", "SeparableConv2D")
def _separable(request: Request, x: Value) -> Built:
    ndim = int(request.class_name[-2])
    window = _Window(request, x, ndim, ("valid", "same", "causal")[: 3 if ndim == 1 else 2])
    request.arguments.only(groups=1)
    filters = request.arguments.whole("filters")
    multiplier = request.arguments.whole("depth_multiplier", 1)
    block = _SEPARABLE[ndim](
        filters,
        depth_multiplier=multiplier,
        use_bias=window.use_bias,
        prefix=request.prefix,
        **window.shared(x),
    )
    pointwise = Weight(
        "pointwise_kernel",
        (*(1,) * ndim, window.known_channels() * multiplier, filters),
        into(block.pointwise.weight, ndim + 1, ndim, *range(ndim)),
    )
    return window.built(
        block, x, filters, (_depthwise_kernel(block.depthwise, window, multiplier), pointwise)
    )


def _depthwise_kernel(block: HybridBlock, window: _Window, multiplier: int) -> Weight:
    ndim, channels = window.ndim, window.known_channels()

    def put(array: np.ndarray):
        # Reshape (*kernel, channels, multiplier) to (channels * multiplier, 1, *kernel).
        kernel = array.transpose(ndim, ndim + 1, *range(ndim))
        return [(block.weight, kernel.reshape((channels * multiplier, 1, *window.kernel)))]

    return Weight("depthwise_kernel", (*window.kernel, channels, multiplier), put)


@builds("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose")
def _transposed(request: Request, x: Value) -> Built:
    ndim = int(request.class_name[4])
    window = _Window(request, x, ndim)
    filters = request.arguments.whole("filters")
    request.arguments.only(groups=1)
    extras: Tuple[Optional[int], ...] = (None,) * ndim
    if request.arguments.get("output_padding", None) is not None:
        extras = request.arguments.axes("output_padding", ndim, least=0)
    parts = [
        conv_transpose_padding(k, s, window.padding, extra, d)
        for k, s, extra, d in zip(window.kernel, window.strides, extras, window.dilation)
    ]
    cuts, added = zip(*parts)
    common: Dict[str, Any] = dict(
        dilation=window.dilation,
        use_bias=window.use_bias,
        in_channels=window.channels or 0,
        prefix=request.prefix,
    )
    block: Any
    if ndim == 3 and max(window.dilation) > 1 == max(window.strides):
        # MXNet cannot dilate it. With stride 1, it is a convolution by the reversed kernel.
        pairs = [(k - 1 - a, k - 1 - b) for k, (a, b) in zip(window.spans, cuts)]
        block = nn.Conv3D(filters, window.kernel, padding=pairs, **common)
        put = into(block.weight, 3, 4, 0, 1, 2, reverse=(0, 1, 2))
    else:
        block = _TRANSPOSED[ndim](
            filters,
            window.kernel,
            strides=window.strides,
            padding=cuts,
            output_padding=added,
            **common,
        )
        put = into(block.weight, ndim + 1, ndim, *range(ndim))
    kernel = Weight("kernel", (*window.kernel, filters, window.channels), put)

    def rule(shape: Shape) -> Shape:
        sizes = [
            n if n is None else (n - 1) * s + span - sum(cut) + extra
            for n, s, span, (cut, extra) in zip(
                (shape[axis] for axis in window.axes), window.strides, window.spans, parts
            )
        ]
        return replaced(replaced(shape, window.axes, sizes), [window.channel_axis], [filters])

    built = window.built(block, x, filters, (kernel,))
    return built._replace(rule=rule, folds=False)
