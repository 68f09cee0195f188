"""Functions of all elements along axes: reductions, extremes, norms, products."""

import math
from typing import Any, List, Optional, Sequence

import numpy as np

from ...importing import functions
from ..arguments import Unsupported, words
from ..values import NO_BATCH, Shape, Value, replaced
from .merging import combined
from .operations import axes_of, axis_of, size_of
from .registry import Lowered, Request, computes
from .signatures import Arrays, Operand

_KINDS = dict(logsumexp="log_sum_exp", euclidean_norm="l2")

#: Combinations of a list of arrays.
_ACROSS = dict(sum="add", mean="add", max="maximum", min="minimum", prod="multiply")

#: Kinds of norms, by Keras' order.
_NORMS = {None: "l2", "euclidean": "l2", "fro": "l2", 2: "l2", 1: "l1", math.inf: "max_abs"}


#: Reductions without what is not a number, by Keras' names.
_OF_NUMBERS = {f"nan{kind}": kind for kind in words("max mean min prod std sum var")}


@computes(
    "mean", "max", "min", "sum", "prod", "var", "std", "ptp", "count_nonzero", "all", "any", *_KINDS,
    *_OF_NUMBERS,
)  # fmt: skip
def _reduction(
    op: Request, x: Arrays, axis: Optional[List[int]] = None, keepdims: bool = False
) -> Lowered:
    if isinstance(x, list):
        return _across(op, x, axis, keepdims)
    whole = x.whole and op.name in ("max", "min", "sum", "prod")
    if x.whole and not whole and not op.keras3:
        raise Unsupported(f"{op.name} of whole numbers, which TensorFlow rounds")
    gives = "bool" if op.name in ("all", "any") else None
    function = functions.reduce_numbers if op.name in _OF_NUMBERS else functions.reduce
    kind = {**_KINDS, **_OF_NUMBERS}.get(op.name, op.name)
    how: Any = dict(kind=kind, takes=None if whole else "float32", gives=gives)
    return _reduced(op, x, axis, keepdims, function, **how)


def _across(op: Request, x: List[Value], axis: Any, keepdims: bool) -> Lowered:
    """Reduce a list of arrays, which TensorFlow stacks along a new first axis."""
    whole = op.name == "mean" and any(each.whole for each in x)
    if op.name not in _ACROSS or axis != [0] or keepdims or whole or len({y.shape for y in x}) > 1:
        raise Unsupported(f"{op.name} of {len(x)} arrays along axis={axis} with keepdims={keepdims}")
    return combined(op, _ACROSS[op.name], tuple(x), 1 / len(x) if op.name == "mean" else 1)


def _reduced(
    op: Request, x: Value, axis: Any, keepdims: bool, function: Any, count: int = 1, **more: Any
) -> Lowered:
    """Return the result, of so many outputs, for a function along axes after the batch."""
    axes = axes_of(op, x, axis)
    kept = x.axes if keepdims else x.axes_without(axes)
    more.update(axes=tuple(sorted(map(x.stored, axes))), keepdims=keepdims)
    return op.lowered(function, x, order=kept, more_axes=(kept,) * (count - 1), **more)


@computes("argmax", "argmin")
def _arg_extreme(op: Request, x: Value, axis: Optional[int] = None, keepdims: bool = False) -> Lowered:
    if axis is None or not x.places(axis):
        raise Unsupported(f"{op.name} along axis={axis}: give one axis after the batch")
    how = dict(kind=op.name, axis=x.stored(axis), rank=x.rank, keepdims=keepdims)
    order = x.axes if keepdims else x.axes_without(x.places(axis))
    signed = op.keras3 and x.dtype == "float32" and not x.nonnegative
    function = functions.with_negative_zeros if signed else functions.arg_reduce
    return op.lowered(function, x, order=order, gives="int64", takes=None, **how)


@computes("norm")
def _norm(
    op: Request, x: Value, order: Any = None, axis: Optional[List[int]] = None, keepdims: bool = False
) -> Lowered:
    several = axis is not None and len(axis) > 1
    if order not in _NORMS or (several and order not in (None, "euclidean", "fro")):
        raise Unsupported(f"norm with ord={order!r} along axis={axis}")
    return _reduced(op, x, axis, keepdims, functions.reduce, kind=_NORMS[order])


@computes("l2_normalize", "normalize")
def _normalize(
    op: Request, x: Value, axis: Optional[List[int]] = None, epsilon: Optional[float] = None,
    order: Any = 2,
) -> Lowered:  # fmt: skip
    keras3 = op.name == "normalize"
    places = x.places(axis)
    sums = order == 1 and keras3 and len(places) == 1
    if not places or not (order == 2 or sums) or (keras3 and not op.keras3):
        raise Unsupported(f"{op.name} with ord={order!r} along axis={axis}")
    if sums:
        least = 1e-7 if epsilon is None else epsilon
        return op.each(functions.over_sum, x, axis=x.stored(places[0]), least=least)
    default = 1e-7 if keras3 else 1e-12
    least = (default if epsilon is None else epsilon) ** (2 if keras3 else 1)
    return op.each(functions.unit_norm, x, axis=tuple(sorted(map(x.stored, places))), least=least)


@computes("layer_norm", "rms_norm")
def _normalized(
    op: Request, x: Value, scale: Operand = None, beta: Operand = None, axis: int = -1,
    epsilon: Optional[float] = None, rms_scaling: bool = False,
) -> Lowered:  # fmt: skip
    if rms_scaling or isinstance(scale, Value) or isinstance(beta, Value):
        raise Unsupported(f"{op.name} with rms_scaling={rms_scaling} or weights that are not constant")
    config: Any = dict(axis=axis, epsilon=1e-7 if epsilon is None else epsilon)
    if op.name == "rms_norm":
        scale = np.ones(size_of(op, x, axis), "float32") if scale is None else scale
        return op.layer("RMSNormalization", x, config, scale)
    config.update(scale=scale is not None, center=beta is not None)
    return op.layer("LayerNormalization", x, config, *(w for w in (scale, beta) if w is not None))


@computes("batch_norm", "fused_batch_norm")
def _batch_normalized(
    op: Request, x: Value, mean: Operand, variance: Operand, offset: Operand = None,
    scale: Operand = None, axis: int = -1, epsilon: float = 1e-3, is_training: bool = False,
) -> Lowered:  # fmt: skip
    weights = [scale, offset, mean, variance]
    if is_training or any(isinstance(each, Value) for each in weights):
        raise Unsupported(f"{op.name} by what is not constant, or in training")
    config: Any = dict(axis=axis, epsilon=epsilon, scale=scale is not None, center=offset is not None)
    given = (each for each in weights if each is not None)
    return op.replace(trainable=False).layer("BatchNormalization", x, config, *given)


@computes("clip_by_norm")
def _clipped(op: Request, x: Value, clip_norm: float, axis: Optional[List[int]] = None) -> Lowered:
    axes = tuple(sorted(map(x.stored, axes_of(op, x, axis))))
    return op.each(functions.clip_by_norm, x, axes=axes, most=clip_norm)


@computes("cumprod")
def _running_product(
    op: Request, x: Value, axis: int, exclusive: bool = False, reverse: bool = False
) -> Lowered:
    place = axis_of(op, x, axis)
    how: Any = dict(axis=x.stored(place), size=size_of(op, x, place))
    return op.each(functions.cumprod, x, exclusive=exclusive, reverse=reverse, **how)


@computes("median", "quantile", "percentile")
def _quantile(
    op: Request, x: Value, q: float = 0.5, axis: Optional[List[int]] = None, method: str = "linear",
    keepdims: bool = False,
) -> Lowered:  # fmt: skip
    places, q = x.places(axis), q / 100 if op.name == "percentile" else q
    size = math.prod(size_of(op, x, place) for place in places)
    if method != "linear" or not 0 <= q <= 1:  # Keras 3.15 computes it for every method
        raise Unsupported(f"{op.name} with q={q} and method={method!r}")

    def rule(shape: Shape) -> Shape:
        pairs = enumerate(shape)
        return tuple(1 if a in places else n for a, n in pairs if keepdims or a not in places)

    how: Any = dict(rank=x.rank, size=size, place=(size - 1) * q, rule=rule)
    return _reduced(op, x, axis, keepdims, functions.quantile, **how)


@computes("average")
def _average(
    op: Request, x: Value, axis: Optional[List[int]] = None, weights: Operand = None
) -> Lowered:
    if weights is None:
        return _reduced(op, x, axis, False, functions.reduce, kind="mean", takes="float32")
    places = x.places(axis)
    if isinstance(weights, Value):
        if weights.shape != x.shape or weights.axes[0] != x.axes[0]:
            raise Unsupported(f"{op.name} of shape {x.shape} with weights of shape {weights.shape}")
        built = _reduced(op, x, axis, False, functions.weighted_mean)
        return built._replace(inputs=(x, weights), input_axes=(x.axes, x.axes))
    if len(places) != 1 or weights.ndim != 1 or x.shape[places[0]] != len(weights):
        raise Unsupported(f"{op.name} of shape {x.shape} along axis={axis} with {weights.tolist()}")
    return _dot(op.replace(name="tensordot"), x, weights / weights.sum(), [places, [0]])


@computes("moments")
def _moments(op: Request, x: Value, axes: List[int], keepdims: bool = False) -> Lowered:
    return _reduced(op, x, axes, keepdims, functions.moments, count=2)


@computes("top_k")
def _top_k(op: Request, x: Value, k: int = 1) -> Lowered:
    if not 1 <= k <= (x.channels or k):
        raise ValueError(f"top_k of {k} elements of {x.channels}")
    fields: Any = dict(more_axes=(x.axes,), gives=(x.number, "int64"), takes=x.number)
    fields["rule"] = lambda shape: replaced(shape, x.rank - 1, k)
    return op.lowered(functions.topk, x, k=k, axis=x.stored(-1), rank=x.rank, **fields)


@computes("sort", "argsort")
def _sort(op: Request, x: Value, axis: int = -1, direction: str = "ascending") -> Lowered:
    place, ascending = axis_of(op, x, axis), direction == "ascending"
    if op.name == "sort":
        return op.each("sort", x, axis=x.stored(place), is_ascend=ascending, takes=x.number)
    how: Any = dict(k=size_of(op, x, place), axis=x.stored(place), rank=x.rank, largest=not ascending)
    return op.each(functions.order, x, gives="int64", takes=None, **how)


@computes("matmul")
def _matmul(
    op: Request, x: Operand, y: Operand, transpose_a: bool = False, transpose_b: bool = False,
    adjoint_a: bool = False, adjoint_b: bool = False,
) -> Lowered:  # fmt: skip
    flags = transpose_a or adjoint_a, transpose_b or adjoint_b
    shapes = [_turned(list(each.shape), flag) for each, flag in zip((x, y), flags)]
    inner = {shapes[0][-1], shapes[1][-2:][0]} - {None}
    if len(inner) > 1:
        raise ValueError(f"{op.name} of shapes {', '.join(map(str, shapes))}")
    labels, out = functions.matmul_labels(*shapes)
    return _product(op, [x, y], [_turned(each, flag) for each, flag in zip(labels, flags)], out)


def _turned(items: Sequence[Any], turn: bool) -> Sequence[Any]:
    return (*items[:-2], items[-1], items[-2]) if turn else items


@computes("einsum")
def _einsum(op: Request, operands: List[Operand], subscripts: str) -> Lowered:
    labels, out = functions.einsum_labels(subscripts, [each.shape for each in operands])
    return _product(op, operands, labels, out)


@computes("dot", "inner", "tensordot")
def _dot(op: Request, x: Operand, y: Operand, axes: Any = 1) -> Lowered:
    ranks = [len(each.shape) for each in (x, y)]
    if 0 in ranks:
        raise Unsupported(f"{op.name} with a number: multiply by it")
    if op.name == "inner":
        axes = [[-1], [-1]]
    elif op.name == "dot":
        axes = [[-1], [-2 if ranks[1] > 1 else 0]]
    elif isinstance(axes, int):
        axes = [[*range(ranks[0] - axes, ranks[0])], [*range(axes)]]
    pairs = [each if isinstance(each, list) else [each] for each in axes]
    names = [*range(ranks[0])], [*range(ranks[0], sum(ranks))]
    for one, other in zip(*pairs):
        names[1][other] = names[0][one]
    out = [label for label in (*names[0], *names[1]) if (*names[0], *names[1]).count(label) == 1]
    return _product(op, [x, y], names, out)


def _product(
    op: Request, operands: Sequence[Any], labels: Sequence[Sequence[Any]], out: Sequence[Any]
) -> Lowered:
    """Return the result for a sum of products, whose batch must be the first axis."""
    taken = [x.batch_first if isinstance(x, Value) else range(x.ndim) for x in operands]
    stored = [[named[axis] for axis in axes] for named, axes in zip(labels, taken)]
    sampled = [isinstance(x, Value) and x.rows != NO_BATCH for x in operands]
    batches = {named[0] for of_samples, named in zip(sampled, stored) if of_samples}
    others = {label for start, named in zip(sampled, stored) for label in named[start:]}
    if len(batches) != 1 or not batches <= {*out} or batches & others:
        raise Unsupported(
            f"{op.name} of axes {labels}: the batch must be kept, and be that of all arrays"
        )
    (batch,) = batches
    results = [batch, *(label for label in out if label != batch)]

    def rule(*shapes: Shape) -> Shape:
        given = iter(shapes)
        known: dict = {}
        for x, named in zip(operands, labels):
            for label, n in zip(named, next(given) if isinstance(x, Value) else x.shape):
                if n is not None and known.setdefault(label, n) != n:
                    raise ValueError(f"{op.name} of shapes {', '.join(str(x.shape) for x in operands)}")
        return tuple(known.get(label) for label in out)

    arrays = [x if isinstance(x, Value) else np.asarray(x, "float32") for x in operands]
    order = tuple(map(list(out).index, results))
    how: Any = dict(labels=[*map(tuple, stored)], out=tuple(results), order=order, rule=rule)
    how["input_axes"] = tuple(axes for x, axes in zip(operands, taken) if isinstance(x, Value))
    how["rows"] = operands[sampled.index(True)].rows
    return op.lowered(functions.einsum, *arrays, **how)
