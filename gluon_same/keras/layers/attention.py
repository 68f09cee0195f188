"""Builders of attention layers, and of Einstein's sums with weights."""

import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ...importing import functions
from ..arguments import Unsupported
from ..values import Shape, Value, keras_order
from .activations import activation
from .registry import Lowered, Request, builds, of_rank, within
from .weight import Weight, weight_of

#: Masks of inputs, by name, in the order in which blocks receive them.
_ROLES = ("query", "value", "key")


@builds("Attention", "AdditiveAttention")
def _attention(request: Request, *inputs: Value) -> Lowered:
    arguments, call = request.arguments, request.kwargs
    if len(inputs) not in (2, 3):
        raise ValueError(f"it has {len(inputs)} inputs, not query, value and perhaps key")
    query, value, key = (of_rank(x, 3) for x in (*inputs, inputs[1])[:3])
    additive = request.class_name == "AdditiveAttention"
    kind = "additive" if additive else arguments.word("score_mode", ("dot", "concat"), "dot")
    causal = bool(call.pop("use_causal_mask", False)) | arguments.flag("causal", False)
    scores = bool(call.pop("return_attention_scores", False))
    parameters: Dict[str, Any] = {}
    if arguments.flag("use_scale", additive):
        parameters["scale"] = dict(shape=(query.channels or 0 if additive else 1,), init="ones")
    if kind == "concat":
        parameters["concat_score_weight"] = dict(shape=(1,), init="ones")
    masked = {name: x for name, x in zip(_ROLES, inputs[:2]) if x.mask is not None}
    how = dict(kind=kind, causal=causal, dropout=_rate(request), all_outputs=scores)
    block = request.function(functions.attention, parameters, given=tuple(masked), **how)
    weights = [
        weight_of(name, getattr(block, name), shape=(query.channels,) if additive else ())
        for name in parameters
    ]

    def rule(q: Shape, v: Shape, *_: Shape) -> Any:
        y = (*q[:2], v[2])
        return [y, (*q[:2], v[1])] if scores else y

    return _lowered(block, rule, (query, value, key), masked, weights, scores)


def _lowered(
    block: Any,
    rule: Any,
    inputs: Sequence[Value],
    masked: Dict[str, Value],
    weights: Sequence[Weight],
    scores: int,
    **more: Any,
) -> Lowered:
    """Return the result for a block that receives query, value, key, and masks by name."""
    given = (*inputs, *(x if x.mask is None else x.mask for x in masked.values()))
    return Lowered(
        block,
        keras_order(inputs[0].rank),
        tuple(keras_order(x.rank) for x in given),
        rule,
        tuple(weights),
        more_axes=(keras_order(scores),) if scores else (),
        inputs=given,
        masks=(inputs[0].mask,),
        **more,
    )


def _rate(request: Request) -> float:
    rate = request.arguments.number("dropout", 0)
    if not 0 <= rate < 1:
        raise Unsupported(f"dropout={rate}: only 0 to below 1 is supported")
    return rate


@builds("MultiHeadAttention", "GroupQueryAttention", "GroupedQueryAttention")
def _multi_head(request: Request, *_: Value) -> Lowered:
    arguments, call = request.arguments, request.kwargs
    grouped = request.class_name != "MultiHeadAttention"
    named = dict(zip((*_ROLES, "query_mask", "value_mask", "key_mask", "attention_mask"), request.args))
    named.update({name: call.pop(name) for name in list(call) if name in _CALL})
    named = {name: x for name, x in named.items() if x is not None}
    if not all(isinstance(named.get(name), Value) for name in ("query", "value")):
        raise ValueError("it is called without a query or a value")
    query, value = named["query"], named["value"]
    key = named.get("key", value)
    if query.rank < 3 or any(x.rank != query.rank for x in (value, key)):
        raise ValueError(f"inputs of shapes {[x.shape for x in (query, value, key)]}")
    masked = _masks(request, named, grouped)
    causal, scores = (bool(call.pop(name, False)) for name in ("use_causal_mask", "return_attention_scores"))
    window = arguments.get("sliding_window", None) and arguments.whole("sliding_window")
    rank, axes = query.rank, query.places(arguments.get("attention_axes", None) or [*range(1, query.rank - 1)])
    if query.rank - 1 in axes or not axes:
        raise ValueError(f"attention_axes={axes} of an input with {rank} axes")
    if (causal or window or {*masked} - {"scores"}) and axes != [1]:
        raise Unsupported(f"masks with attention_axes={axes} of an input with {rank} axes")
    ...
