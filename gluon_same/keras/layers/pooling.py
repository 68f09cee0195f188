"""Max and average pooling, over windows and over whole axes."""

from ... import nn
from ...geometry import output_size
from ...importing import functions
from ..arguments import Unsupported
from ..values import Shape, Value, keras_order, resized
from .registry import Lowered, Request, builds, spatial


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
    keepdims = request.arguments.flag("keepdims", False)
    kind = "max" if "Max" in request.class_name else "avg"
    if x.mask is not None and kind == "avg" and ndim == 1:
        if order == keras_order(3) or x.mask.rank != 2:
            raise Unsupported("a mask with data_format='channels_first'")
        how = (keras_order(3), (0, 1))
        block = request.function(functions.masked_mean, keepdims=keepdims)
        return Lowered(block, how[not keepdims], how, inputs=(x, x.mask), masks=())
    block = request.function(functions.global_pool, kind=kind, ndim=ndim, keepdims=keepdims)
    return Lowered(block, order if keepdims else (0, 1), (order,))
