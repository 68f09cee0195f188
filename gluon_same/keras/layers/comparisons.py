"""Comparisons and logic of arrays, whose results are 0 and 1, as in masks."""

from typing import Any

from ...importing import functions
from ..arguments import Unsupported
from ..values import Value, broadcast
from .operations import Operation
from .registry import Lowered, computes, elementwise

#: Endings of the names of MXNet's operators.
_KINDS = {
    **{name: name for name in ("equal", "not_equal", "greater", "greater_equal")},
    "less": "lesser",
    "less_equal": "lesser_equal",
    **{name: name for name in ("logical_and", "logical_or", "logical_xor")},
}


@computes(*_KINDS)
def _compared(operation: Operation) -> Lowered:
    operands, kind = operation.operands, _KINDS[operation.name]
    operation.take("incompatible_shape_error")
    if len(operands) != 2 or not isinstance(operands[0], Value):
        raise Unsupported(f"{operation.name} of {operands!r}")
    x, other = operands
    if isinstance(other, Value):
        if x.rank != other.rank:
            raise ValueError(f"{operation.name} of shapes {x.shape} and {other.shape}")
        block = operation.function(functions.compare, kind=kind)
        return Lowered(block, x.axes, (x.axes, x.axes), broadcast)
    if isinstance(other, bool) or not isinstance(other, (int, float)):
        raise Unsupported(f"{operation.name} with {other!r}")
    block = operation.function(functions.compared_with, kind=kind, number=float(other))
    return elementwise(block, x.axes)


@computes("logical_not", "ones_like", "zeros_like")
def _of_one(operation: Operation) -> Lowered:
    x = operation.x
    operation.take("dtype")
    if operation.name == "logical_not":
        block = operation.function(functions.compared_with, kind="equal", number=0.0)
    else:
        block = operation.function(operation.name)
    return elementwise(block, x.axes)


@computes("convert_to_tensor")
def _same(operation: Operation) -> Lowered:
    operation.take("dtype", "sparse")
    operation.take("sparse")
    operation.take("ragged")
    return elementwise(None, operation.x.axes)


@computes("any", "all")
def _reduced(operation: Operation) -> Lowered:
    x, keepdims = operation.x, bool(operation.take("keepdims", default=False))
    axes = x.places(operation.take("axis"))
    if not axes:
        raise Unsupported(f"{operation.name} along the batch")
    stored: Any = tuple(sorted(map(x.stored, axes)))
    kind = "max" if operation.name == "any" else "min"
    block = operation.function(kind, axis=stored, keepdims=keepdims)
    return Lowered(block, x.axes if keepdims else x.axes_without(axes))
