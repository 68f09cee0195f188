"""Max and average pooling, over windows and over whole axes."""

from typing import Any

from mxnet.gluon import HybridBlock

from ... import nn
from ..values import Shape, Value, replaced, window_size
from .table import Built, Request, builds, channel_axis, data_format, spatial

_WINDOWED = {
    "Max": {1: nn.MaxPool1D, 2: nn.MaxPool2D, 3: nn.MaxPool3D},
    "Average": {1: nn.AvgPool1D, 2: nn.AvgPool2D, 3: nn.AvgPool3D},
}
_GLOBAL = {
    "Max": {1: nn.GlobalMaxPool1D, 2: nn.GlobalMaxPool2D, 3: nn.GlobalMaxPool3D},
    "Average": {1: nn.GlobalAvgPool1D, 2: nn.GlobalAvgPool2D, 3: nn.GlobalAvgPool3D},
}


class _Flat(HybridBlock):
    """Mixin that drops the pooled axes."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.flatten(super().hybrid_forward(F, x))


class GlobalMaxPooling1D(_Flat, nn.GlobalMaxPool1D):
    """Maximum over one spatial axis, which is dropped."""


class GlobalMaxPooling2D(_Flat, nn.GlobalMaxPool2D):
    """Maximum over two spatial axes, which are dropped."""


class GlobalMaxPooling3D(_Flat, nn.GlobalMaxPool3D):
    """Maximum over three spatial axes, which are dropped."""


class GlobalAveragePooling1D(_Flat, nn.GlobalAvgPool1D):
    """Average over one spatial axis, which is dropped."""


class GlobalAveragePooling2D(_Flat, nn.GlobalAvgPool2D):
    """Average over two spatial axes, which are dropped."""


class GlobalAveragePooling3D(_Flat, nn.GlobalAvgPool3D):
    """Average over three spatial axes, which are dropped."""


@builds(*(f"{kind}Pooling{ndim}D" for kind in _WINDOWED for ndim in (1, 2, 3)))
def _windowed(request: Request, x: Value) -> Built:
    ndim, kind = int(request.class_name[-2]), request.class_name[:-9]
    arguments = request.arguments
    size = arguments.axes("pool_size", ndim, 2)
    given = arguments.get("strides", None)
    strides = size if given is None else arguments.axes("strides", ndim)
    padding = arguments.word("padding", ("valid", "same"), "valid")
    axes, order = spatial(request, x, ndim)
    folded = x.padding if _folds(x, kind, size, padding, order) else None
    pads = folded.pairs if folded else 0 if padding == "valid" else padding
    block = _WINDOWED[kind][ndim](size, strides, pads, prefix=request.prefix)

    def rule(shape: Shape) -> Shape:
        sizes = [
            window_size(shape[axis], k, s, padding, "a pool") for axis, k, s in zip(axes, size, strides)
        ]
        return replaced(shape, axes, sizes)

    return Built(block, rule, order, (order,), folds=folded is not None, nonnegative=x.nonnegative)


def _folds(x: Value, kind: str, size, padding: str, order) -> bool:
    """Return whether pooling can include the padding of a ZeroPadding layer.

    MXNet's max pooling ignores padding. For nonnegative numbers the result equals that of padding with
    zeros, provided that each window covers at least one element.
    """
    if x.padding is None or padding != "valid" or x.order != order:
        return False
    fits = all(max(pair) < k for pair, k in zip(x.padding.pairs, size))
    return fits and (kind == "Average" or x.nonnegative)


@builds(*(f"Global{kind}Pooling{ndim}D" for kind in _GLOBAL for ndim in (1, 2, 3)))
def _global(request: Request, x: Value) -> Built:
    ndim, kind = int(request.class_name[-2]), request.class_name[6:-9]
    axes, order = spatial(request, x, ndim)
    if request.arguments.flag("keepdims", False):
        block = _GLOBAL[kind][ndim](prefix=request.prefix)
        return Built(block, lambda shape: replaced(shape, axes, [1] * ndim), order, (order,))
    block = globals()[request.class_name](prefix=request.prefix)
    channels = channel_axis(ndim + 2, data_format(request.arguments))
    return Built(block, lambda shape: (shape[0], shape[channels]), (0, 1), (order,))
