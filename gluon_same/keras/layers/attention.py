"""Builders of attention layers, and of Einstein's sums with weights."""

import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ...importing import functions
from ...importing.block import Function
from ..arguments import Unsupported
from ..values import Shape, Value, keras_order
from .activations import activation, masked_rows
from .merging import in_list
from .registry import Lowered, Request, builds, computes, followed, of_rank, within
from .weight import Weight, matrix_of, weight_of

_ROLES = ("query", "value", "key")

#: Arrays that a MultiHeadAttention is called with.
ARRAYS = (*_ROLES, "query_mask", "value_mask", "key_mask", "attention_mask")


@builds("Attention", "AdditiveAttention")
def _attention(request: Request, *inputs: Value) -> Lowered:
    call = request.kwargs
    if len(inputs) not in (2, 3):
        raise ValueError(f"it has {len(inputs)} inputs, not query, value and perhaps key")
    rank = inputs[0].rank
    query, value, key = (of_rank(x, max(rank, 3)) for x in (*inputs, inputs[1])[:3])
    additive = request.class_name == "AdditiveAttention"
    kind = "additive" if additive else request.word("score_mode", ("dot", "concat"), "dot")
    parameters = {}
    if request.flag("use_scale", additive):
        parameters["scale"] = dict(shape=(query.channels or 0 if additive else 1,), init="ones")
    if kind == "concat":
        parameters["concat_score_weight"] = dict(shape=(1,), init="ones")
    masks = {name: x.mask for name, x in zip(_ROLES, inputs[:2]) if x.mask is not None}
    if any((mask.rank, rank) != (2, 3) for mask in masks.values()):
        shapes = [mask.shape for mask in masks.values()]
        raise Unsupported(f"masks of shapes {shapes} for arrays with {rank} axes")
    scores = bool(call.pop("return_attention_scores", False))
    causal = any([call.pop("use_causal_mask", False), request.flag("causal", False)])
    how = dict(kind=kind, dropout=_rate(request), all_outputs=scores, rank=rank)
    sight = functions.Sight(tuple(masks), causal)
    block = request.function(functions.attention, parameters, sight=sight, **how)

    def rule(q: Shape, v: Shape, *_: Shape) -> Any:
        return [(*q[:-1], v[-1]), (*q[:-1], v[-2])] if scores else (*q[:-1], v[-1])

    shape = (query.channels,) if additive else ()
    weights = [weight_of(name, getattr(block, name), shape=shape) for name in parameters]
    built = _lowered(block, rule, (query, value, key), masks, weights, rank * scores)
    return built._replace(masks=(in_list(request, inputs)[0].mask,))


def _lowered(
    block: Function,
    rule: Any,
    inputs: Sequence[Value],
    masks: Dict[str, Value],
    weights: Sequence[Weight],
    scores: int,
) -> Lowered:
    """Return the result for a block that receives query, value, key, and masks.

    ``scores`` is the number of axes of the scores if they are returned, else 0.
    """
    given = (*inputs, *masks.values())
    orders = tuple(keras_order(x.rank) for x in given)
    more: Any = dict(more_axes=(keras_order(scores),) if scores else (), masks=(inputs[0].mask,))
    return Lowered(block, orders[0], orders, rule, tuple(weights), inputs=given, **more)


def _rate(request: Request) -> float:
    rate = request.number("dropout", 0)
    if not 0 <= rate < 1:
        raise Unsupported(f"dropout={rate}: only 0 to below 1 is supported")
    return rate


@builds("MultiHeadAttention", "GroupQueryAttention", "GroupedQueryAttention")
def _multi_head(request: Request, *_: Value) -> Lowered:
    call = request.kwargs
    grouped = request.class_name != "MultiHeadAttention"
    named = dict(zip(ARRAYS, request.args))
    named.update({name: call.pop(name) for name in ARRAYS if name in call})
    named = {name: x for name, x in named.items() if x is not None}
    if not {"query", "value"} <= {*named} or not all(isinstance(x, Value) for x in named.values()):
        raise Unsupported(f"it is called with {', '.join(named)}, not all of which are arrays")
    if request.version < (2, 10):  # these versions neither read nor hand on the masks of the inputs
        named = {name: x._replace(mask=None) for name, x in named.items()}
    query, value = named["query"], named["value"]
    inputs = query, value, named.get("key", value)
    rank, dims = query.rank, [*range(1, query.rank - 1)]
    axes = query.places(request.get("attention_axes", None) or dims)
    if not axes or not {*axes} <= {*dims} or any(x.rank != rank or not x.channels for x in inputs):
        raise ValueError(f"attention_axes={axes} of inputs of shapes {[x.shape for x in inputs]}")
    masks = _masks(request, named, grouped)
    scores, causal = (call.pop(f"{n}", False) for n in ("return_attention_scores", "use_causal_mask"))
    window = request.whole("sliding_window") if request.get("sliding_window", None) else None
    plain = axes == [1] and rank == 3
    if (causal or window or {*masks} - {"scores"}) and not plain:
        raise Unsupported(f"masks with attention_axes={axes} of an input with {rank} axes")

    rows = ("batch", *(f"{'query' if axis in axes else 'other'}{axis}" for axis in dims), "head", "size")
    columns = tuple(label.replace("query", "key") for label in rows)
    free = [rows[axis] for axis in axes]
    others = [each for each in rows[:-1] if each not in free]
    scored = (*others, *free, *(columns[axis] for axis in axes))
    heads, sizes = _heads(request, grouped)
    outputs: Tuple[Any, ...] = (query.channels,)
    if not grouped and request.get("output_shape", None):
        outputs = tuple(request.ints("output_shape"))
    dropout = _rate(request)
    replaced = not (dropout or scores or not plain)  # Keras calls another function since 3.7
    mask_rank = masks["scores"].rank if "scores" in masks else 0
    shapes = functions.Heads(heads, sizes, outputs, rows, columns, scored)
    sight = functions.Sight(tuple(masks), bool(causal), window, mask_rank, request.version < (3, 7))
    how = "replace" if replaced and request.version >= (3, 7) else masked_rows(request)
    block, weights = _projected(
        request, [x.channels for x in inputs], shapes, sight=sight, how=how, dropout=dropout,
        all_outputs=bool(scores),
    )  # fmt: skip

    def rule(q: Shape, v: Shape, *_: Shape) -> Any:
        found = {**dict(zip(columns, v[:-1])), **dict(zip(rows, q[:-1])), "head": heads[0]}
        y = (*q[:-1], *outputs)
        return [y, tuple(found[label] for label in scored)] if scores else y

    built = _lowered(block, rule, inputs, masks, weights, len(scored) if scores else 0)
    order = keras_order(rank - 1 + len(outputs))
    return built._replace(axes=order, clears=request.version >= (3, 8) and not grouped)


def _masks(request: Request, named: Dict[str, Value], grouped: bool) -> Dict[str, Value]:
    """Return the masks of query, value, key and scores that there are."""
    found = {name: x.mask for name, x in named.items() if name in _ROLES}
    for name in _ROLES if grouped else _ROLES[1:]:  # Keras' MultiHeadAttention ignores a query_mask
        found[name] = named.get(f"{name}_mask", found.get(name))
    found["scores"] = named.get("attention_mask")
    masks = {name: mask for name, mask in found.items() if mask is not None}
    if any(mask.rank != 2 for name, mask in masks.items() if name != "scores"):
        raise Unsupported(f"masks of shapes {[mask.shape for mask in masks.values()]}")
    return masks


def _heads(request: Request, grouped: bool) -> Tuple[Tuple[int, int], Tuple[int, int]]:
    """Return the heads of the query, and of key and value, and the sizes of query and value in each."""
    if grouped:
        size = request.whole("head_dim")
        heads = request.whole("num_query_heads"), request.whole("num_key_value_heads")
        if heads[0] % heads[1]:
            raise ValueError(f"num_query_heads={heads[0]} is not a multiple of {heads[1]}")
        return heads, (size, size)
    count, size = request.whole("num_heads"), request.whole("key_dim")
    own = request.whole("value_dim") if request.get("value_dim", None) else size
    return (count, count), (size, own)


def _projected(
    request: Request, channels: Sequence[Optional[int]], shapes: Any, **how: Any
) -> Tuple[Function, List[Weight]]:
    """Return the block of an attention with projections, and its weights."""
    (count, few), (size, own), outputs, *_ = shapes
    gated, biased = (request.flag(n, d) for n, d in (("use_gate", False), ("use_bias", True)))
    query, value, key = channels
    # Sizes of the axes of Keras' kernels; the last ones are those of the bias.
    kernels: Dict[str, Any] = {"query": ((query,), (count, size)), "key": ((key,), (few, size))}
    kernels.update({"gate": ((query,), (count, own))} if gated else {})
    kernels.update(value=((value,), (few, own)), output=((count, own), outputs))
    parameters: Dict[str, Any] = {}
    for name, (before, after) in kernels.items():
        parameters[f"{name}_weight"] = dict(shape=(math.prod(after), math.prod(before)))
        if biased:
            parameters[f"{name}_bias"] = dict(shape=(math.prod(after),), init="zeros")
    function = functions.multi_head_attention
    block = request.function(function, parameters, shapes=shapes, **how)
    weights = []
    for name, (before, after) in kernels.items():
        matrix = getattr(block, f"{name}_weight")
        weights.append(matrix_of(matrix, (*before, *after))._replace(part=f"{name}_dense"))
        if biased:
            bias = weight_of("bias", getattr(block, f"{name}_bias"), shape=after)
            weights.append(bias._replace(part=f"{name}_dense"))
    return block, weights


@computes("dot_product_attention")
def _dot_product_attention(
    op: Request, x: List[Value], bias: Optional[Value] = None, mask: Optional[Value] = None,
    scale: Optional[float] = None, is_causal: bool = False,
) -> Lowered:  # fmt: skip
    query, key, value = x
    if query.rank != 4 or not query.channels or None in (query.shape[2], key.shape[2]):
        raise ValueError(f"{op.name} of shapes {query.shape} and {key.shape}")
    masks = [x for x in (bias, mask) if x is not None]
    if any(x.rank != 4 for x in masks):
        raise Unsupported(f"{op.name} with a bias and a mask of shapes {[x.shape for x in masks]}")
    heads: Any = (query.shape[2], key.shape[2])
    how: Any = dict(biased=bias is not None, groups=heads[0] // heads[1])
    how["scale"] = query.channels**-0.5 if scale is None else scale
    how["sight"] = functions.Sight(("scores",) * (mask is not None), is_causal, mask_rank=4)
    how["rule"] = lambda q, k, v, *_: (*q[:-1], v[-1])
    inputs = (query, key, value, *masks)
    return op.in_keras_order(functions.dot_product_attention, *inputs, ndim=4, **how)


@builds("EinsumDense")
def _einsum_dense(request: Request, x: Value) -> Lowered:
    equation = str(request.get("equation"))
    sized = request.get("output_shape")
    sized = sized if isinstance(sized, list) else [sized]
    spec = equation.replace(" ", "").partition("->")[0].partition(",")[2]
    labels, out = functions.einsum_labels(equation, ([None] * x.rank, [None] * len(spec)))
    if not out or labels[0][0] != out[0] or out[0] in labels[1]:
        raise Unsupported(f"equation={equation!r}: the batch must stay first")
    sizes = dict(zip(labels[0], x.shape))
    named = [label for label in out[1:] if isinstance(label, str)]
    if len(sized) != len(named):
        raise ValueError(f"output_shape={sized} does not fit equation={equation!r}")
    sizes.update({label: n for label, n in zip(named, sized) if n is not None})
    shape = tuple(sizes.get(label) for label in labels[1])
    if not all(shape):
        raise ValueError(f"kernel of shape {shape} for an input of shape {x.shape}")
    parameters: Dict[str, Any] = {"kernel": dict(shape=shape)}
    biased = str(request.get("bias_axes", None) or "")
    rest = out[min((out.index(label) for label in biased), default=len(out)) :]
    bias = tuple(sizes[label] if str(label) in biased else 1 for label in rest)
    if biased:
        parameters["bias"] = dict(shape=bias, init="zeros")
    given = request.get("activation", None)
    block = request.function(functions.einsum_dense, parameters, labels=tuple(labels), out=out)
    whole = followed(request, block, activation(within(request, "activation"), given))

    def rule(shape: Shape) -> Shape:
        found = {**sizes, **dict(zip(labels[0], shape))}
        return tuple(found[label] for label in out)

    weights = tuple(weight_of(name, getattr(block, name)) for name in parameters)
    return Lowered(whole, keras_order(len(out)), (keras_order(x.rank),), rule, weights)
