"""Operators that pick, place and mask elements."""

from typing import Any, Callable, List, Literal, Optional

import numpy as np

from ...importing import functions
from ...importing.indices import beyond
from ..reading import dtype_of
from ..registry import converter, once_attributes
from ..values import Data, Flag, Known, Unsupported, axis_of, compute_dtype, known, nothing, numbers
from .shapes import cast_to
from .slicing import slice_

#: Most classes of a OneHot, so that a damaged file takes no memory.
_MOST_CLASSES = 2**24

#: Functions of old and new elements, and their names in MXNet.
_Reduction = Literal["none", "add", "mul", "max", "min"]
_REDUCTIONS = {"none": "none", "add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}


@converter("Gather")
def gather(net: Any, x: Any, indices: Any, *, axis: int = 0) -> Any:
    drop = indices.ndim == 0 and x.ndim > 1
    scalar = indices.ndim == 0 and x.ndim == 1
    axis = axis_of(axis, x.ndim)
    if _lacks_elements(x) and 0 in (*x.shape[:axis], *x.shape[axis + 1 :]):
        return _gathered(x, indices, lambda given, at: (*given[:axis], *at, *given[axis + 1 :]))
    _check_within(indices, x.shape[axis : axis + 1])
    if isinstance(indices, Known) and indices.ndim == 0 and not indices.open:
        index = int(known(indices, "index").item())
        return net.call(functions.element, x, index=index, axis=axis, drop=drop, scalar=scalar)
    among = x.shape[axis]
    if isinstance(indices, Known) and not indices.open:
        among = None if among is not None or _signed(indices) else 0
    return net.call(functions.gather, x, indices, axis=axis, drop=drop, among=among, scalar=scalar)


@converter("GatherElements")
def gather_elements(net: Any, x: Any, indices: Any, *, axis: int = 0) -> Data:
    _check_along(x, indices, axis)
    how = dict(axis=axis, rank=x.ndim, signed=_signed(indices))
    return net.call(functions.gather_elements, x, indices, **how)


@converter("GatherND")
def gather_nd(net: Any, x: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    count = _coordinates(indices)
    if _lacks_elements(x) and 0 in x.shape[batch_dims + count :]:
        return _gathered(x, indices, lambda given, at: (*at[:-1], *given[batch_dims + count :]))
    _check_within(indices, x.shape[batch_dims : batch_dims + count])
    left = indices.ndim - 1 + x.ndim - batch_dims - count
    return net.call(
        functions.gather_nd, x, indices, ranks=(indices.ndim, left), batch_dims=batch_dims,
        signed=count if _signed(indices) else 0, scalar=left == 0,
    )  # fmt: skip


def _lacks_elements(x):
    """Return whether an array has no elements at any size."""
    return isinstance(x, Known) and not x.first.size and not x.resized


def _gathered(x, indices, shape_of):
    """Return what is gathered from an array without elements."""
    shapes = (np.shape(each) if isinstance(indices, Known) else each for each in indices.trials)
    return nothing((shape_of(x.at(t).shape, at) for t, at in enumerate(shapes)), x.dtype)


def _signed(indices):
    """Return whether indices may be negative, which count from the end."""
    return not isinstance(indices, Known) or indices.open or bool(indices.first.min(initial=0) < 0)


def _coordinates(indices):
    """Return the number of coordinates along the last axis of indices."""
    if not indices.ndim or indices.shape[-1] is None:
        raise Unsupported(f"its indices have shape {indices.shape}")
    return indices.shape[-1]


def _check_within(indices, sizes):
    """Raise an error for known indices, one for each size along the last axis, beyond axes of sizes."""
    if isinstance(indices, Known) and not indices.open and indices.first.size:
        for size, each in zip(sizes, indices.first.reshape(-1, len(sizes)).T):
            for index in beyond(each, size):
                raise Unsupported(f"its index {index} is beyond an axis of {size}")


def _check_along(x, indices, axis):
    """Raise an error if there are no elements at indices for each element of the other axes."""
    axis = axis_of(axis, x.ndim)
    _check_within(indices, x.shape[axis : axis + 1])
    pairs = [pair for i, pair in enumerate(zip(x.shape, indices.shape)) if i != axis]
    if x.ndim != indices.ndim or any(None not in pair and pair[0] < pair[1] for pair in pairs):
        raise Unsupported(f"its indices of shape {indices.shape} do not fit data of shape {x.shape}")


@converter("Scatter")
@converter("ScatterElements")
def scatter_elements(
    net: Any, x: Any, indices: Any, updates: Any, *, axis: int = 0, reduction: _Reduction = "none"
) -> Data:
    _check_along(x, indices, axis)
    return net.call(
        functions.scatter_elements, x, indices, updates, axis=axis, rank=x.ndim,
        reduction=_REDUCTIONS[reduction],
    )  # fmt: skip


@converter("ScatterND")
def scatter_nd(net: Any, x: Any, indices: Any, updates: Any, *, reduction: _Reduction = "none") -> Data:
    if 0 in updates.shape:
        known(updates, "updates")  # which may have elements at other sizes
        return net.array(x)
    _check_within(indices, x.shape[: _coordinates(indices)])
    if not updates.ndim:  # which MXNet has with one axis
        indices = net.call("expand_dims", net.array(indices), axis=0)
    return net.call(
        functions.scatter_nd, x, indices, updates, ranks=(x.ndim, indices.ndim),
        count=_coordinates(indices), reduction=_REDUCTIONS[reduction],
    )  # fmt: skip


@converter("OneHot")
def one_hot(net: Any, indices: Data, depth: Any, values: Any, *, axis: int = -1) -> Data:
    count = int(known(depth, "depth").item())
    if not 0 < count <= _MOST_CLASSES:
        raise Unsupported(f"its depth is {count}")
    dtype, pair = compute_dtype(values.dtype), tuple(known(values, "values").tolist())
    if len(pair) != 2:
        raise Unsupported(f"it has {len(pair)} values, not one for zeros and one for ones")
    if indices.dtype.kind == "f":
        indices = cast_to(net, indices, np.int64)
    return net.call(
        functions.one_hot, indices, depth=count, axis=axis,
        rank=indices.ndim, values=pair, to=dtype.name, dtype=dtype, scalar=False,
    )  # fmt: skip


@converter("TopK", 10)
def topk(
    net: Any, x: Data, k: Any, *, axis: int = -1, largest: Flag = 1, sorted: Flag = 1
) -> List[Data]:
    axis = axis_of(axis, x.ndim)
    counts = numbers(k, "k", 0)
    pairs = x.each(lambda trial, given: (int(counts.at(trial).item()), given[axis]))
    limit, size = max(count for count, _ in pairs), x.shape[axis]
    # An open number is the size, or a limit where the axis has as many elements.
    limited = counts.bounded and size is None and any(limit < n for _, n in pairs)
    certain = limited if counts.bounded else counts.limit == np.inf
    every = certain and all(c == min(n, limit) for c, n in pairs)
    count = None if counts.open else int(counts.first.item())
    if count is not None and (count < 1 or (size is not None and count > size)):
        raise Unsupported(f"its k={count} does not fit data of shape {x.shape}")
    how = dict(k=count, axis=axis, rank=x.ndim, largest=bool(largest))
    values, order = net.call(functions.topk, x, **how, outputs=2, dtype=(x.dtype, np.int64))
    if count is None and every and limited:
        nothing = (None,) * x.ndim
        end = (*nothing[:axis], limit, *nothing[axis + 1 :])
        both = (net.call("slice", y, begin=nothing, end=end) for y in (values, order))
        values, order = (net.doubtful(y, axis) for y in both)
    elif count is None and not every:
        begin, axes = (Known([np.array([n])]) for n in (0, axis))
        values, order = (slice_(net, y, begin, counts, axes) for y in (values, order))
    return [values, order]


once_attributes("TopK", 1, topk, k="k")


@converter("EyeLike")
def eye_like(net: Any, x: Data, *, dtype: Optional[int] = None, k: int = 0) -> Data:
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return cast_to(net, net.call(functions.eye_like, x, k=k, dtype=np.int64), kind)


@converter("Trilu")
def trilu(net: Any, x: Data, k: Any = None, *, upper: Flag = 1) -> Data:
    if x.ndim < 2:
        raise Unsupported(f"its data have {x.ndim} axes, not those of a matrix")
    diagonal = int(known(k, "k").item()) if isinstance(k, Known) else 0
    how = dict(rank=x.ndim, upper=bool(upper), diagonal=diagonal)
    return net.call(functions.trilu, x, k if isinstance(k, Data) else None, **how, scalar=False)


@converter("ReverseSequence")
def reverse_sequence(
    net: Any, x: Data, lengths: Any, *, batch_axis: int = 1, time_axis: int = 0
) -> Data:
    if {batch_axis, time_axis} != {0, 1}:
        raise Unsupported(f"its batch_axis={batch_axis} and time_axis={time_axis} are not 0 and 1")
    return net.call(functions.reverse_sequence, x, lengths, time_first=time_axis == 0)


def _bitwise(kind: str) -> Callable[..., Data]:
    return lambda net, x, *others: net.call(functions.bitwise, x, *others, kind=kind)


for _kind in ("and", "or", "xor", "not"):
    converter(f"Bitwise{_kind.title()}")(_bitwise(_kind))
