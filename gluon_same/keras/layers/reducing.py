"""Functions of all elements along axes: reductions, extremes, norms, running totals, products."""

import math
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ...importing import functions
from ..arguments import Unsupported
from ..values import Shape, Value
from .operations import Operand, Operation, axis_of, of_each, sizes_of
from .registry import Lowered, computes

_KINDS = {name: name for name in ("mean", "max", "min", "sum", "prod", "var", "std")}
_KINDS.update(all="min", any="max", logsumexp="log_sum_exp", average="mean", euclidean_norm="l2")


@computes(*_KINDS, "count_nonzero")
def _reduction(
    op: Operation, x: Value, axis: Optional[List[int]] = None, keepdims: bool = False,
    weights: Any = None,
) -> Lowered:  # fmt: skip
    whole = "int" in x.dtype and op.name in ("max", "min", "sum", "prod")
    if "int" in x.dtype and not whole and not op.request.keras3:
        raise Unsupported(f"{op.name} of whole numbers, which TensorFlow rounds")
    if weights is not None:
        raise Unsupported(f"{op.name} with weights")
    kind = _KINDS.get(op.name, op.name)
    more = dict(takes=None) if whole else dict(gives="bool" if op.name in ("all", "any") else None)
    return _reduced(op, x, axis, keepdims, functions.reduce, more, kind=kind)


def _reduced(
    op: Operation, x: Value, axis: Any, keepdims: bool, function: Any, more: Any, **how: Any
) -> Lowered:
    """Return the result for a function along axes after the batch."""
    axes = x.places(axis)
    if not axes:
        given = axis if isinstance(axis, list) else [axis]
        raise Unsupported(f"{op.name} along axis={given}: only axes after the batch are supported")
    stored = tuple(sorted(map(x.stored, axes)))
    kept = x.axes if keepdims else x.axes_without(axes)
    return op.lowered(function, x, order=kept, more=more, axes=stored, keepdims=keepdims, **how)


@computes("argmax", "argmin")
def _arg_extreme(op: Operation, x: Value, axis: Optional[int] = None, keepdims: bool = False) -> Lowered:
    default = 0 if not op.request.keras3 else None
    place = x.places(default if axis is None else axis)
    if len(place) != 1:
        raise Unsupported(f"{op.name} along axis={axis}: give one axis after the batch")
    how = dict(kind=op.name, axis=x.stored(place[0]), rank=x.rank, keepdims=keepdims)
    axes = x.axes if keepdims else x.axes_without(place)
    return op.lowered(functions.arg_reduce, x, order=axes, more={"gives": "int64"}, **how)


@computes("norm")
def _norm(
    op: Operation, x: Value, order: Any = None, axis: Optional[List[int]] = None, keepdims: bool = False
) -> Lowered:
    kinds = {None: "l2", "euclidean": "l2", "fro": "l2", 2: "l2", 1: "l1", math.inf: "max_abs"}
    several = axis is not None and len(axis) > 1
    if order not in kinds or (several and order not in (None, "euclidean", "fro")):
        raise Unsupported(f"norm with ord={order!r} along axis={axis}")
    return _reduced(op, x, axis, keepdims, functions.reduce, {}, kind=kinds[order])


@computes("l2_normalize", "normalize")
def _normalize(
    op: Operation, x: Value, axis: Optional[List[int]] = None, epsilon: Optional[float] = None,
    order: Any = 2,
) -> Lowered:  # fmt: skip
    places = x.places(-1 if axis is None and op.name == "normalize" else axis)
    if not places or order != 2 or (op.name == "normalize" and not op.request.keras3):
        raise Unsupported(f"{op.name} with ord={order!r} along axis={axis}")
    if op.name == "normalize":
        least = (1e-7 if epsilon is None else epsilon) ** 2
    else:
        least = 1e-12 if epsilon is None else epsilon
    how = dict(axis=tuple(sorted(map(x.stored, places))), least=least)
    return of_each(op, x, op.request.function(functions.unit_norm, **how))


@computes("moments")
def _moments(
    op: Operation, x: Value, axes: List[int], shift: Any = None, keepdims: bool = False
) -> Lowered:
    places = x.places(axes)
    kept = x.axes if keepdims else x.axes_without(places)
    return _reduced(op, x, axes, keepdims, functions.moments, {"more_axes": (kept,)})


@computes("cumsum")
def _cumsum(
    op: Operation, x: Value, axis: int = 0, exclusive: bool = False, reverse: bool = False,
    dtype: Any = None,
) -> Lowered:  # fmt: skip
    if dtype not in (None, x.dtype):
        raise Unsupported(f"cumsum with dtype={dtype!r}")
    how = dict(axis=x.stored(axis_of(op, x, axis, 1)), rank=x.rank)
    function = op.request.function(functions.cumsum, **how, exclusive=exclusive, reverse=reverse)
    return of_each(op, x, function)


@computes("top_k")
def _top_k(op: Operation, x: Value, k: int = 1) -> Lowered:
    size = sizes_of(x.shape, x.rank - 1, "top_k")
    if not 1 <= k <= size:
        raise ValueError(f"top_k of {k} elements of {size}")

    def rule(shape: Shape) -> Shape:
        return (*shape[:-1], k)

    more: Any = dict(more_axes=(x.axes,), gives=("float32", "int64"), rule=rule)
    how = dict(k=k, axis=x.stored(-1), rank=x.rank)
    return op.lowered(functions.topk, x, more=more, **how)


@computes("sort", "argsort")
def _sort(op: Operation, x: Value, axis: int = -1, direction: str = "ascending") -> Lowered:
    place = axis_of(op, x, axis, 1)
    ascending = direction == "ascending"
    if op.name == "sort":
        how = dict(axis=x.stored(place), is_ascend=ascending)
        return op.lowered("sort", x, **how)
    how = dict(k=sizes_of(x.shape, place, op.name), axis=x.stored(place), rank=x.rank)
    how["largest"] = not ascending
    more = dict(gives="int64", rule=lambda shape: shape)
    return op.lowered(functions.order, x, more=more, **how)


@computes("matmul")
def _matmul(
    op: Operation, x: Operand, y: Operand, transpose_a: bool = False, transpose_b: bool = False
) -> Lowered:
    shapes = [list(each.shape) for each in (x, y)]
    one, other = map(_turned, shapes, (transpose_a, transpose_b))
    if None not in (one[-1], other[-2:][0]) and one[-1] != other[-2:][0]:
        raise ValueError(f"{op.name} of shapes {', '.join(map(str, (one, other)))}")
    labels, out = functions.matmul_labels(one, other)
    pairs = zip(labels, (transpose_a, transpose_b))
    labels = [tuple(_turned(list(each), turn)) for each, turn in pairs]
    return _product(op, [x, y], labels, out)


def _turned(items: List[Any], turn: bool) -> List[Any]:
    return [*items[:-2], items[-1], items[-2]] if turn else items


@computes("einsum")
def _einsum(op: Operation, operands: List[Operand], subscripts: str) -> Lowered:
    shapes = [each.shape for each in operands]
    return _product(op, operands, *functions.einsum_labels(subscripts, shapes))


@computes("dot", "tensordot")
def _dot(op: Operation, x: Operand, y: Operand, axes: Any = 1) -> Lowered:
    ranks = [len(each.shape) for each in (x, y)]
    if op.name == "dot":
        axes = [[-1], [-2 if ranks[1] > 1 else 0]]
    elif isinstance(axes, int):
        axes = [[*range(ranks[0] - axes, ranks[0])], [*range(axes)]]
    pairs = [each if isinstance(each, list) else [each] for each in axes]
    inner = [[axis % rank for axis in part] for part, rank in zip(pairs, ranks)]
    names = [*range(ranks[0])], [*range(ranks[0], sum(ranks))]
    for one, other in zip(*inner):
        names[1][other] = names[0][one]
    summed = {names[0][axis] for axis in inner[0]}
    out = tuple(label for part in names for label in part if label not in summed)
    return _product(op, [x, y], [tuple(part) for part in names], out)


def _product(
    op: Operation, operands: Sequence[Any], labels: Sequence[Tuple[Any, ...]], out: Tuple[Any, ...]
) -> Lowered:
    """Return the result for a sum of products, whose batch must be the first axis."""
    batches = {named[0] for x, named in zip(operands, labels) if isinstance(x, Value)}
    others = {label for x, named in zip(operands, labels) for label in named[isinstance(x, Value) :]}
    if batches != {out[0] if out else None} or batches & others:
        raise Unsupported(f"{op.name} of axes {list(labels)}: the batch must stay first")
    known: dict = {}
    for x, named in zip(operands, labels):
        for label, n in zip(named, x.shape):
            if n is not None and known.setdefault(label, n) != n:
                raise ValueError(f"{op.name} of shapes {', '.join(str(x.shape) for x in operands)}")

    def rule(*shapes: Shape) -> Shape:
        given = iter(shapes)
        sizes: dict = {}
        for x, named in zip(operands, labels):
            shape = next(given) if isinstance(x, Value) else x.shape
            sizes.update((label, n) for label, n in zip(named, shape) if n is not None)
        return tuple(sizes.get(label) for label in out)

    arrays = [x if isinstance(x, Value) else np.asarray(x, "float32") for x in operands]
    how = dict(labels=[tuple(each) for each in labels], out=tuple(out), more={"rule": rule})
    return op.in_keras_order(functions.einsum, *arrays, ndim=len(out), **how)
