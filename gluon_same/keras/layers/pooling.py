"""Max and average pooling, over windows and over whole axes."""

from typing import Any

from mxnet.gluon import HybridBlock

from ... import nn
from ..values import Shape, Value, resized, window_size
from .registry import Lowered, Request, builds, spatial


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


@builds("MaxPooling{}D", "AveragePooling{}D", ndims=(1, 2, 3))
def _windowed(request: Request, x: Value, ndim: int) -> Lowered:
    arguments = request.arguments
    size = arguments.axes("pool_size", ndim, 2)
    given = arguments.get("strides", None)
    strides = size if given is None else arguments.axes("strides", ndim)
    padding = arguments.word("padding", ("valid", "same"), "valid")
    axes, order = spatial(request, x, ndim)
    kind = "Max" if request.class_name.startswith("Max") else "Avg"
    folded = x.padding if _folds(x, kind, size, padding, order) else None
    pads = folded.pairs if folded else 0 if padding == "valid" else padding
    block = getattr(nn, f"{kind}Pool{ndim}D")(size, strides, pads, prefix=request.prefix)

    def rule(shape: Shape) -> Shape:
        return resized(
            shape, axes, lambda n, k, s: window_size(n, k, s, padding, "a pool"), size, strides
        )

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
    if request.arguments.flag("keepdims", False):
        kind = "Max" if "Max" in request.class_name else "Avg"
        return Lowered(getattr(nn, f"Global{kind}Pool{ndim}D")(prefix=request.prefix), order, (order,))
    return Lowered(globals()[request.class_name](prefix=request.prefix), (0, 1), (order,))
