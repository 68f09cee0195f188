"""Functions that pick elements by indices."""

from typing import Any, Optional

import numpy as np

from ...importing import functions
from ..arguments import Unsupported
from ..values import Value, replaced
from .operations import Operation, axis_of, size_of
from .registry import Lowered, computes
from .signatures import Operand


@computes("gather", "take")
def _gather(
    op: Operation, x: Operand, indices: Operand, axis: Optional[int] = None, batch_dims: int = 0
) -> Lowered:
    if isinstance(indices, Value):
        table = not isinstance(x, Value)
        if (axis if axis is not None else batch_dims, batch_dims) != ((0, 0) if table else (1, 1)):
            raise Unsupported(f"{op.name} along axis={axis} with batch_dims={batch_dims}")
        ndim = len(x.shape) + indices.rank - (1 if table else 2)
        if table:
            return op.in_keras_order(
                functions.gather, x, indices, ndim=ndim, takes=None, gives="float32"
            )
        how = dict(ranks=(indices.rank + 1, ndim), takes=None, gives=x.dtype)
        return op.in_keras_order(functions.gather_in_batch, x, indices, ndim=ndim, **how)
    place = axis_of(op, x, 0 if axis is None else axis, 1)
    size, numbers = size_of(op, x, place), indices
    if numbers.dtype.kind != "i" or numbers.ndim > 1 or np.abs(numbers + 0.5).max() > size:
        raise ValueError(f"{op.name} of {numbers.tolist()} along an axis of {size}")
    stored = x.stored(place)
    if numbers.ndim == 0:
        how = dict(index=int(numbers), axis=stored, drop=True, takes=None)
        return op.lowered(functions.element, x, order=x.axes_without([place]), **how)
    rule = lambda shape: replaced(shape, place, len(numbers))  # noqa: E731
    return op.lowered(functions.gather, x, numbers, axis=stored, takes=None, rule=rule)


@computes("take_along_axis")
def _take_along_axis(op: Operation, x: Value, indices: Value, axis: int) -> Lowered:
    axis = axis_of(op, x, axis, 1)
    if indices.rank != x.rank or replaced(x.shape, axis, 0) != replaced(indices.shape, axis, 0):
        raise Unsupported(f"take_along_axis of shapes {x.shape} and {indices.shape}")
    how: Any = dict(axis=axis, rank=x.rank, takes=None, gives=x.dtype)
    how["rule"] = lambda shape, picked: picked
    return op.in_keras_order(functions.gather_elements, x, indices, ndim=x.rank, **how)


@computes("one_hot")
def _one_hot(
    op: Operation, x: Value, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False
) -> Lowered:
    if dtype not in (None, "float32") or sparse or num_classes < 1 or axis not in (-1, x.rank):
        raise Unsupported(f"one_hot with axis={axis}, dtype={dtype!r} and sparse={sparse}")
    how = dict(mode="one_hot", depth=num_classes, rank=x.rank, takes=None, gives="float32")
    return op.in_keras_order(functions.encode, x, ndim=x.rank + 1, **how)
