"""Plain, transposed, depthwise and separable convolutions, and poolings."""

import math
from typing import Any, Dict, List

import numpy as np

from ... import nn
from ...geometry import effective_kernel, output_size
from ...importing import functions
from ...importing.block import Function
from ...keras_backend.checks import transposed_window
from ..arguments import Unsupported
from ..values import Shape, Value, keras_order, replaced, resized
from .activations import activation, is_nonnegative
from .registry import Lowered, Request, builds, data_format, followed, spatial, within
from .weight import Weight, bias_of, depthwise_kernel_of, kernel_of, separable_kernels_of, weight_of


class Window:
    """Arguments that all convolutions share."""

    def __init__(self, request: Request, x: Value, ndim: int, causal: bool = False):
        self.request = request
        self.kernel = request.axes("kernel_size", ndim)
        self.strides = request.axes("strides", ndim, 1)
        self.dilation = request.axes("dilation_rate", ndim, 1)
        paddings = ("valid", "same", "causal") if causal and ndim == 1 else ("valid", "same")
        self.padding = request.word("padding", paddings, "valid")
        self.spans = tuple(map(effective_kernel, self.kernel, self.dilation))
        self.channel_axis = 1 if data_format(request) == "channels_first" else ndim + 1
        self.axes, self.order = spatial(request, x, ndim)
        self.given = request.get("activation", None)
        last = self.order.index(ndim + 1)  # Keras applies softmax along its last axis in every format
        self.activation = activation(within(request, "activation"), self.given, last, ndim + 2)
        self.channels = x.shape[self.channel_axis]
        self.folds = x.padding is not None and x.axes == self.order and self.padding != "same"
        biased = request.flag("use_bias", True)
        self.blocks: Dict[str, Any] = dict(use_bias=biased, prefix=request.prefix)
        #: Arguments of all blocks of forward convolutions.
        window = dict(kernel_size=self.kernel, strides=self.strides, dilation=self.dilation)
        padding, channels = self._blocks_padding(x), self.channels or 0
        self.forward = dict(self.blocks, **window, padding=padding, in_channels=channels)

    def _blocks_padding(self, x: Value) -> Any:
        """Return the padding of Gluon's block, including that of a preceding ZeroPadding layer."""
        if not self.folds or x.padding is None:
            return 0 if self.padding == "valid" else self.padding
        pairs = x.padding.pairs
        if self.padding == "causal":
            pairs = ((pairs[0][0] + self.spans[0] - 1, pairs[0][1]),)
        if all(before == after for before, after in pairs):
            return tuple(before for before, _ in pairs)
        return pairs

    def size(self, n: int, kernel: int, stride: int, dilation: int) -> int:
        """Return the output's size on one spatial axis."""
        return output_size(n, kernel, stride, dilation, "valid" if self.padding == "valid" else "same")

    def lowered(self, block: Any, *weights: Weight) -> Lowered:
        """Set the activation of the last convolution and return the builder's result."""
        last = getattr(block, "pointwise", block)
        # A block may cut off elements behind its activation, which a softmax along them would add up.
        behind = self.channel_axis == 1 and isinstance(self.activation, Function)
        last.act = None if behind else self.activation
        whole = followed(self.request, block, self.activation) if behind else block
        channels = last._kwargs["num_filter"]

        def rule(shape: Shape) -> Shape:
            shape = resized(shape, self.axes, self.size, self.kernel, self.strides, self.dilation)
            return replaced(shape, self.channel_axis, channels)

        weights = (*weights, *bias_of(last))
        how: Any = dict(folds=self.folds, nonnegative=is_nonnegative(self.given))
        return Lowered(whole, self.order, (self.order,), rule, weights, **how)


@builds("Conv{}D", ndims=(1, 2, 3))
def _convolution(request: Request, x: Value, ndim: int) -> Lowered:
    window = Window(request, x, ndim, causal=True)
    filters, groups = request.whole("filters"), request.whole("groups", 1)
    block = getattr(nn, f"Conv{ndim}D")(filters, groups=groups, **window.forward)
    return window.lowered(block, kernel_of(block))


@builds("DepthwiseConv{}D", ndims=(1, 2))
def _depthwise(request: Request, x: Value, ndim: int) -> Lowered:
    window = Window(request, x, ndim)
    request.ignore("filters", "groups")  # Keras writes the arguments of the base class, too
    multiplier = _multiplier(request, window)
    block = getattr(nn, f"DepthwiseConv{ndim}D")(depth_multiplier=multiplier, **window.forward)
    return window.lowered(block, depthwise_kernel_of(block))


def _multiplier(request: Request, window: Window) -> int:
    """Return ``depth_multiplier``; raise a ValueError if the channels of the input are unknown."""
    if not window.channels:
        raise ValueError("the channels of its input are not known")
    return request.whole("depth_multiplier", 1)


@builds("SeparableConv{}D", ndims=(1, 2))
def _separable(request: Request, x: Value, ndim: int) -> Lowered:
    window = Window(request, x, ndim, causal=True)
    filters = request.whole("filters")
    multiplier = _multiplier(request, window)
    block = getattr(nn, f"SeparableConv{ndim}D")(filters, depth_multiplier=multiplier, **window.forward)
    return window.lowered(block, *separable_kernels_of(block))


@builds("Conv{}DTranspose", ndims=(1, 2, 3))
def _transposed(request: Request, x: Value, ndim: int) -> Lowered:
    window = Window(request, x, ndim)
    window.folds = False
    filters = request.whole("filters")
    extra = request.get("output_padding", None)  # what is cut off depends on spans only
    given = transposed_window(window.spans, window.strides, window.padding, 1, extra)
    cuts, added = given["pad"], given["adj"]
    tails = [span - sum(cut) + extra for span, cut, extra in zip(window.spans, cuts, added)]
    how = dict(window.blocks, dilation=window.dilation, in_channels=window.channels or 0)
    block: Any
    if ndim == 3 and max(window.dilation) > 1 == max(window.strides):
        # MXNet cannot dilate it. With stride 1, it is a convolution by the reversed kernel.
        pairs = [(k - 1 - a, k - 1 - b) for k, (a, b) in zip(window.spans, cuts)]
        block = nn.Conv3D(filters, window.kernel, padding=pairs, **how)
        plain = weight_of("kernel", block.weight, 3, 4, 0, 1, 2)
        kernel = plain._replace(assign=lambda array: plain.assign(array[::-1, ::-1, ::-1]))
    else:
        how.update(strides=window.strides, padding=cuts, output_padding=added)
        block = getattr(nn, f"Conv{ndim}DTranspose")(filters, window.kernel, **how)
        kernel = kernel_of(block)

    def rule(shape: Shape) -> Shape:
        shape = resized(shape, window.axes, lambda n, s, tail: (n - 1) * s + tail, window.strides, tails)
        return replaced(shape, window.channel_axis, filters)

    return window.lowered(block, kernel)._replace(rule=rule)


@builds("LocallyConnected{}D", ndims=(1, 2))
def _locally_connected(request: Request, x: Value, ndim: int) -> Lowered:
    window = Window(request, x, ndim)
    filters = request.whole("filters")
    form = request.whole("implementation", 1)
    size: List[Any] = [x.shape[axis] for axis in window.axes]
    if None in size or not window.channels or form > 2 or window.channel_axis == 1:
        raise Unsupported(f"implementation={form} of shape {x.shape}: only 1 and 2 are supported")
    places = [window.size(*each, 1) for each in zip(size, window.kernel, window.strides)]
    # Windows are centered at multiples of the stride, unlike those of convolutions.
    befores = [k // 2 if window.padding == "same" else 0 for k in window.kernel]
    ends = [(m - 1) * s + k for m, k, s in zip(places, window.kernel, window.strides)]
    pads = [(b, max(end - b - n, 0)) for n, b, end in zip(size, befores, ends)]
    count = math.prod(window.kernel) * window.channels
    parameters: Dict[str, Any] = {"kernel": dict(shape=(math.prod(places), count, filters))}
    if window.blocks["use_bias"]:
        parameters["offset"] = dict(shape=(filters, *places))
    given = dict(size=size, kernel=window.kernel, strides=window.strides, pads=pads, positions=places)
    block = request.function(functions.locally_connected, parameters, window=given)
    order, whole = (ndim, *range(ndim)), followed(request, block, window.activation)

    def assign(array):
        """Take the elements under each position out of a kernel of all pairs of places."""
        if form == 1:
            return [(block.kernel, array)]
        wide = np.pad(array, [*pads, *[(0, 0)] * (ndim + 2)])
        rows = []
        for place in np.ndindex(*places):
            begin = [i * s for i, s in zip(place, window.strides)]
            part = wide[tuple(slice(b, b + k) for b, k in zip(begin, window.kernel))]
            last: Any = (..., *place, slice(None))
            rows.append(part[last].reshape((count, filters)))
        return [(block.kernel, np.stack(rows))]

    shape = block.kernel.shape if form == 1 else (*size, window.channels, *places, filters)
    weights = [Weight("kernel", shape, assign)]
    if "offset" in parameters:
        weights.append(weight_of("bias", block.offset, *order))
    rule = lambda given: (given[0], *places, filters)  # noqa: E731
    return Lowered(whole, window.order, (window.order,), rule, tuple(weights))


@builds("MaxPooling{}D", "AveragePooling{}D", ndims=(1, 2, 3))
def _pooled(request: Request, x: Value, ndim: int) -> Lowered:
    size = request.axes("pool_size", ndim, 2)
    given = request.get("strides", None)
    strides = size if given is None else request.axes("strides", ndim)
    padding = request.word("padding", ("valid", "same"), "valid")
    axes, order = spatial(request, x, ndim)
    kind = "Max" if request.class_name.startswith("Max") else "Avg"
    folded = x.padding if _folds(x, kind, size, padding, order) else None
    pads = folded.pairs if folded else 0 if padding == "valid" else padding
    block = getattr(nn, f"{kind}Pool{ndim}D")(size, strides, pads, prefix=request.prefix)

    def rule(shape: Shape) -> Shape:
        return resized(shape, axes, lambda n, k, s: output_size(n, k, s, 1, padding), size, strides)

    folds = folded is not None
    return Lowered(block, order, (order,), rule, folds=folds, nonnegative=x.nonnegative)


def _folds(x: Value, kind: str, size, padding: str, order) -> bool:
    """Return whether pooling can include the padding of a ZeroPadding layer.

    MXNet's max pooling ignores padding. For nonnegative numbers the result equals that of padding with
    zeros, provided that each window covers at least one element.
    """
    if x.padding is None or padding != "valid" or x.axes != order:
        return False
    fits = all(max(pair) < k for pair, k in zip(x.padding.pairs, size))
    return fits and (kind == "Avg" or x.nonnegative)


@builds("GlobalMaxPooling{}D", "GlobalAveragePooling{}D", ndims=(1, 2, 3))
def _global(request: Request, x: Value, ndim: int) -> Lowered:
    _, order = spatial(request, x, ndim)
    keepdims = request.flag("keepdims", False)
    kind = "max" if "Max" in request.class_name else "avg"
    if x.mask is not None and kind == "avg" and ndim == 1:
        if order == keras_order(3) or x.mask.rank != 2:
            raise Unsupported("a mask with data_format='channels_first'")
        how = (keras_order(3), (0, 1))
        block = request.function(functions.masked_mean, keepdims=keepdims)
        kept = (0, 1, 2) if keepdims else (0, 2)

        def rule(shape: Shape, _: Shape) -> Shape:
            return tuple(1 if axis == 1 else shape[axis] for axis in kept)

        return Lowered(block, how[not keepdims], how, rule, inputs=(x, x.mask), masks=())
    block = request.function(functions.global_pool, kind=kind, ndim=ndim, keepdims=keepdims)
    return Lowered(block, order if keepdims else (0, 1), (order,))
