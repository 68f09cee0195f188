"""Reductions, positions of extremes, softmax and its kin, and running totals."""

from typing import Any, Callable, Tuple

import numpy as np

from ...importing import functions
from ..registry import converter, once_attributes
from ..values import FIX, Data, Flag, Unsupported, axis_of, known
from .shapes import cast_to

_KINDS = ("l1", "l2", "log_sum", "log_sum_exp", "max", "mean", "min", "prod", "sum", "sum_square")

#: Reductions of single elements to themselves.
_PLAIN = ("max", "mean", "min", "prod", "sum")

#: Reductions whose results are computed in floats.
_REAL = ("l2", "log_sum", "log_sum_exp")


def axes_of(x: Data, axes: Any) -> Tuple[int, ...]:
    """Return axes in ascending order, counted from the first one."""
    return tuple(sorted({axis_of(axis, x.ndim) for axis in axes}))


def _reduction(kind: str) -> Callable[..., Data]:
    def reduce(
        net: Any, x: Data, axes: Any = None, *, keepdims: Flag = 1, noop_with_empty_axes: int = 0
    ) -> Data:
        dtype = x.dtype
        if dtype.kind != "f" and kind in _REAL:
            x = cast_to(net, x, np.float64)
        if dtype.kind != "f" and kind == "l1":
            x = net.call(functions.whole_abs, x)
        given = [] if axes is None else known(axes, "axes").ravel().tolist()
        if noop_with_empty_axes and not given and x.ndim:  # each element is reduced alone
            if kind in _PLAIN:
                return x
            x, given, keepdims = net.call("expand_dims", x, axis=x.ndim), [-1], 0
        places = axes_of(x, given) if given else tuple(range(x.ndim))
        scalar = not x.ndim or (len(places) == x.ndim and not keepdims)
        how = dict(kind=kind, axes=places or (0,), keepdims=bool(keepdims) or scalar)
        y = cast_to(net, net.call(functions.reduce, x, scalar=x.scalar, **how), dtype)
        # ONNX, to which the net may be exported, tells a scalar from an axis of one element.
        return net.call("reshape", y, shape=(1,), scalar=True) if scalar and not x.scalar else y

    return reduce


for _kind in _KINDS:
    _name, _convert = f"Reduce{_kind.title().replace('_', '')}", _reduction(_kind)
    converter(_name, 13 if _kind == "sum" else 18)(_convert)
    once_attributes(_name, 1, _convert, axes="axes")


def _arg(kind: str) -> Callable[..., Data]:
    def convert(
        net: Any, x: Data, *, axis: int = 0, keepdims: Flag = 1, select_last_index: Flag = 0
    ) -> Data:
        axis = axis_of(axis, x.ndim)
        if x.dtype.itemsize < 4:  # positions may not fit
            x = net.call(functions.cast, x, to="float32", dtype="float32")
        return net.call(
            functions.arg_reduce, x, kind=kind, axis=axis, rank=max(x.ndim, 1),
            last=bool(select_last_index), keepdims=bool(keepdims), dtype=np.int64,
            scalar=x.ndim < 2 and not keepdims,
        )  # fmt: skip

    return convert


converter("ArgMax")(_arg("argmax"))
converter("ArgMin")(_arg("argmin"))


def _along(kind: str) -> Tuple[Callable[..., Data], Callable[..., Data]]:
    """Return the converters for one axis, and for all axes from one on as before operator set 13."""

    def one(net: Any, x: Data, *, axis: int = -1) -> Data:
        axis = axis_of(axis, x.ndim)
        if kind == "hardmax":
            return net.call(functions.hardmax, x, axis=axis, rank=max(x.ndim, 1))
        if axis == x.ndim - 1 and (x.ndim > 4 or (x.ndim > 2 and (x.blocked or x.joined))):
            return net.call(functions.over_last_axis, x, kind=kind)
        return net.call(kind, x, axis=axis)

    def rest(net: Any, x: Data, *, axis: int = 1) -> Data:
        if axis == x.ndim:
            raise Unsupported(f"its axis {axis} does not fit data with {x.ndim} axes")
        axis = axis_of(axis, x.ndim)
        if axis == x.ndim - 1:
            return one(net, x, axis=axis)
        axes = tuple(range(axis, x.ndim))
        return net.call(functions.over_axes, x, kind=kind, axes=axes, rank=x.ndim)

    return rest, one


for _name, _kind in {"Softmax": "softmax", "LogSoftmax": "log_softmax", "Hardmax": "hardmax"}.items():
    _rest, _one = _along(_kind)
    converter(_name)(_rest)
    converter(_name, 13)(_one)


@converter("CumSum", 11)
def cumsum(net: Any, x: Data, axis: Any, *, exclusive: Flag = 0, reverse: Flag = 0) -> Data:
    place = axis_of(known(axis, "axis").item(), x.ndim)
    return net.call(functions.cumsum, x, axis=place, exclusive=exclusive, reverse=reverse)


@converter("CumProd", 26)
def cumprod(net: Any, x: Data, axis: Any, *, exclusive: Flag = 0, reverse: Flag = 0) -> Data:
    place = axis_of(known(axis, "axis").item(), x.ndim)
    if x.shape[place] is None:
        raise Unsupported(f"the size of its axis {place} {FIX}")
    how: Any = dict(axis=place, size=x.shape[place], exclusive=exclusive, reverse=reverse)
    return net.call(functions.cumprod, x, **how)
