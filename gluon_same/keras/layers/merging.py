"""Layers that combine several inputs, including Keras' operations on arrays and numbers."""

from functools import partial
from typing import Sequence, Tuple

from ...importing import functions
from ..values import Shape, Value, broadcast, joined_shape, keras_order, masks_of
from .masks import joined_mask, last_axis_free, merged_mask
from .registry import Lowered, Request, builds


@builds("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")
def _merge(request: Request, *inputs: Value) -> Lowered:
    kind = request.class_name.lower()
    count = len(inputs)
    if kind == "subtract" and count != 2 or count < 1:
        raise ValueError(f"it has {count} inputs")
    average = kind == "average"
    built = combined(request, "add" if average else kind, inputs, 1 / count if average else 1)
    if request.keras3 and masks_of(inputs) and kind in ("multiply", "maximum", "minimum"):
        masks, order = [last_axis_free(x) for x in inputs if x.mask], keras_order(inputs[0].rank)
        given = tuple(x.mask is not None for x in inputs)
        built = built._replace(
            block=request.function(functions.masked_merge, kind=kind, given=given),
            axes=order,
            input_axes=(*(order for _ in inputs), *(order[:-1] for _ in masks)),
            inputs=(*inputs, *masks),
            takes="float32",
            rule=lambda *shapes: broadcast(*shapes[:count]),
        )
    return built._replace(masks=merged_mask(request, inputs))


def combined(request: Request, kind: str, inputs: Tuple[Value, ...], scale: float = 1) -> Lowered:
    """Combine values elementwise. Shapes with fewer axes receive new ones after the batch."""
    rank = max(x.rank for x in inputs)
    axes = next(x.axes for x in inputs if x.rank == rank)
    even = len({(x.shape, x.free) for x in inputs}) == 1

    def rule(*shapes: Shape) -> Shape:
        return broadcast(*((*shape[:1], *(1,) * (rank - len(shape)), *shape[1:]) for shape in shapes))

    block = request.function(functions.merge, kind=kind, even=even, scale=scale)
    takes = common_dtype(inputs) if scale == 1 and kind in _EXACT else "float32"
    return Lowered(block, axes, tuple(axes for _ in inputs), rule, takes=takes)


#: Combinations of whole numbers that are whole.
_EXACT = ("add", "subtract", "multiply", "maximum", "minimum")


def common_dtype(inputs: Sequence[Value]) -> str:
    """Return the widest dtype of whole numbers, if all inputs are whole; else float32."""
    kinds = {x.dtype for x in inputs}
    return max(kinds) if kinds <= {"int32", "int64"} else "float32"


@builds("Concatenate")
def _concatenate(request: Request, *inputs: Value) -> Lowered:
    axis = request.arguments.whole("axis", -1, least=-9)
    built = joined(request, inputs, axis)
    return built._replace(masks=joined_mask(request, inputs, axis % inputs[0].rank))


def joined(request: Request, inputs: Tuple[Value, ...], axis: int) -> Lowered:
    """Concatenate values along one of Keras' axes."""
    rank = inputs[0].rank
    if not -rank <= axis < rank or axis % rank == inputs[0].batch or any(x.rank != rank for x in inputs):
        raise ValueError(f"axis={axis} of inputs of shapes {[x.shape for x in inputs]}")
    axis %= rank
    axes = inputs[0].axes
    takes = None if len({x.dtype for x in inputs}) == 1 else common_dtype(inputs)
    block = request.function("concat", dim=axes.index(axis))
    nonnegative = all(x.nonnegative for x in inputs)
    taken = tuple(axes for _ in inputs)
    rule = partial(joined_shape, axis)
    return Lowered(block, axes, taken, rule, nonnegative=nonnegative, takes=takes)


@builds("Dot")
def _dot(request: Request, a: Value, b: Value) -> Lowered:
    given = request.arguments.ints("axes")
    given = given * 2 if len(given) == 1 else given
    ranks = a.rank, b.rank
    fit = len(given) == 2 and min(ranks) > 1
    if not fit or any(not -r <= axis < r or axis % r == 0 for axis, r in zip(given, ranks)):
        raise ValueError(f"axes={given} of inputs with {a.rank} and {b.rank} axes")
    axes = given[0] % a.rank, given[1] % b.rank
    normalize = request.arguments.flag("normalize", False)
    block = request.function(functions.dot, axes=axes, ranks=ranks, normalize=normalize)

    def rule(one: Shape, other: Shape) -> Shape:
        broadcast((one[axes[0]],), (other[axes[1]],))
        left = [n for axis, n in enumerate(one) if axis not in (0, axes[0])]
        right = [n for axis, n in enumerate(other) if axis not in (0, axes[1])]
        return (one[0], *left, *right) if left or right else (one[0], 1)

    rank = len(rule(a.shape, b.shape))
    return Lowered(block, keras_order(rank), (keras_order(a.rank), keras_order(b.rank)), rule)


@builds("CustomScaleLayer", "Custom>CustomScaleLayer")
def _scaled_sum(request: Request, a: Value, b: Value) -> Lowered:
    block = request.function(functions.scaled_sum, scale=request.arguments.number("scale"))
    return Lowered(block, a.axes, (a.axes, a.axes), broadcast)
