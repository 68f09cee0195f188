"""Attention: averages of values, weighted by how their keys fit a query."""

from math import prod
from typing import Any, NamedTuple, Optional, Sequence, Tuple

from .elementwise import pairwise
from .indexing import indices_along
from .masks import masked, masked_softmax
from .products import Labels, einsum
from .recurrent import dense

#: Axis to insert into the mask of an array, whose steps are the rows or columns of the scores.
_AXES = {"query": 2, "value": 1, "key": 1}


class Sight(NamedTuple):
    """Which keys a query sees."""

    #: What each mask belongs to: 'query', 'value' or 'key', of shape (batch, steps); or 'scores', of
    #: shape (batch, ..., steps of queries, steps of keys).
    given: Tuple[str, ...] = ()
    causal: bool = False  # whether a query sees no later steps
    window: Optional[int] = None  # number of steps that a query sees on each side, with itself
    mask_rank: int = 0  # number of axes of the mask of the scores, which lacks those before the steps
    exact: bool = False  # whether the numbers of a single mask matter, as they do in Keras 2


class Heads(NamedTuple):
    """Shapes in an attention with several heads."""

    heads: Tuple[int, int]  # of the query, and of key and value, which are repeated
    sizes: Tuple[int, int]  # channels of each head of query and key, and of the value
    outputs: Tuple[int, ...]  # sizes of the last axes of the output
    rows: Labels  # labels of the axes of the projected query
    columns: Labels  # of the projected key
    scored: Labels  # of the scores


def visible(F: Any, scores: Any, masks: Sequence[Any], sight: Sight, rank: int, steps: int = 1) -> Any:
    """Return the masks for scores: one that broadcasts with them, or none.

    ``rank`` is the number of axes of the scores, the last of which are ``steps`` axes for the steps of
    queries, and as many for those of keys.
    """
    found = []
    for mask, name in zip(masks, sight.given):
        axes = sight.mask_rank
        if name in _AXES:
            mask, axes = F.expand_dims(mask, axis=_AXES[name]), 3
        for _ in range(axes, rank):
            mask = F.expand_dims(mask, axis=axes - 2 * steps)
        found.append(mask)
    if sight.causal or sight.window:
        ahead = F.broadcast_sub(*(indices_along(F, scores, axis, rank) for axis in (rank - 1, rank - 2)))
        found += [F.cast(ahead <= 0, dtype="float32")] * sight.causal
        found += [F.cast(F.abs(ahead) < sight.window, dtype="float32")] if sight.window else []
    product = None
    for mask in found:
        if len(found) > 1 or not sight.exact:
            mask = F.cast(mask != 0, dtype="float32")
        product = mask if product is None else F.broadcast_mul(product, mask)
    return [] if product is None else [product]


def attention(
    F: Any, *arrays: Any, sight: Sight, kind: str, dropout: float, all_outputs: bool, rank: int = 3,
    **weights: Any,
) -> Any:  # fmt: skip
    """Apply attention to query, value and key of shape (batch, ..., steps, channels), and masks.

    Parameters
    ----------
    rank : int
        Number of axes.
    kind : {'dot', 'concat', 'additive'}
        Scores are products of query and key, or sums of ``tanh(query + key)`` along the channels.
    dropout : float
        Rate for the weights.
    all_outputs : bool
        Whether to return the weights as well.
    **weights
        Factors: ``scale`` and, for 'concat', ``concat_score_weight``.
    """
    (query, value, key), named = arrays[:3], dict(zip(sight.given, arrays[3:]))
    scale, lead = weights.get("scale"), tuple(range(rank - 2))
    rows, columns, scored = (*lead, "row", "size"), (*lead, "column", "size"), (*lead, "row", "column")
    if kind == "dot":
        scores = einsum(F, query, key, labels=(rows, columns), out=scored)
        if scale is not None:
            scores = F.broadcast_mul(scores, F.reshape(scale, shape=(1,) * rank))
    else:
        both = F.broadcast_add(F.expand_dims(query, axis=rank - 1), F.expand_dims(key, axis=rank - 2))
        scale = None if scale is None else F.reshape(scale, shape=(*(1,) * rank, -1))
        both = F.broadcast_mul(both, scale) if kind == "concat" and scale is not None else both
        both = F.tanh(both)
        both = F.broadcast_mul(both, scale) if kind == "additive" and scale is not None else both
        scores = F.sum(both, axis=-1)
    if "concat_score_weight" in weights:
        factor = F.reshape(weights["concat_score_weight"], shape=(1,) * rank)
        scores = F.broadcast_mul(scores, factor)
    known = [name for name in named if name == "value"]
    own = sight._replace(given=tuple(known))
    mask = visible(F, scores, [named[name] for name in known], own, rank)
    share = masked_softmax(F, scores, *mask, axes=(rank - 1,), rank=rank)
    used = F.Dropout(share, p=dropout) if dropout else share
    y = einsum(F, used, value, labels=(scored, (*lead, "column", "size")), out=rows)
    y = masked(F, y, named["query"]) if "query" in named else y
    return [y, share] if all_outputs else y


def multi_head_attention(
    F: Any, *arrays: Any, sight: Sight, shapes: Heads, how: str, dropout: float, all_outputs: bool,
    **weights: Any,
) -> Any:  # fmt: skip
    """Project channels to several heads, apply attention in each, and project the results.

    Parameters
    ----------
    *arrays
        Query, value and key, and masks.
    how : str
        As for :func:`masked_softmax`.
    dropout : float
        Rate for the weights of attention.
    all_outputs : bool
        Whether to return the weights of attention as well.
    **weights
        For each of query, key, value, output and perhaps gate, ``..._weight`` and perhaps ``..._bias``.
    """
    query, value, key, *masks = arrays
    (heads, few), (size, own), outputs, rows, columns, scored = shapes
    lead = (0,) * (len(rows) - 2)

    def projected(x: Any, name: str, count: int, size: int) -> Any:
        weight, bias = weights[f"{name}_weight"], weights.get(f"{name}_bias")
        y = dense(F, x, weight, bias, count * size, flatten=False)
        y = F.reshape(y, shape=(*lead, -4, count, size))
        return F.repeat(y, repeats=heads // count, axis=len(lead)) if count < heads else y

    q = projected(query, "query", heads, size) * size**-0.5
    k, v = projected(key, "key", few, size), projected(value, "value", few, own)
    scores = einsum(F, q, k, labels=(rows, columns), out=scored)
    rank, steps = len(scored), len(scored) - len(rows) + 1
    mask = visible(F, scores, masks, sight, rank, steps)
    share = masked_softmax(F, scores, *mask, axes=tuple(range(rank - steps, rank)), rank=rank, how=how)
    used = F.Dropout(share, p=dropout) if dropout else share
    y = einsum(F, used, v, labels=(scored, (*columns[:-1], "value")), out=(*rows[:-1], "value"))
    if "gate_weight" in weights:
        y = pairwise(F, "multiply", y, F.sigmoid(projected(query, "gate", heads, own)), even=True)
    y = F.reshape(y, shape=(*lead, -3))
    weight, bias = weights["output_weight"], weights.get("output_bias")
    y = dense(F, y, weight, bias, prod(outputs), flatten=False)
    y = F.reshape(y, shape=(*lead, *outputs)) if len(outputs) > 1 else y
    return [y, share] if all_outputs else y


def dot_product_attention(
    F: Any, *arrays: Any, sight: Sight, scale: float, groups: int, biased: bool
) -> Any:
    """Apply attention to query, key and value of shape (batch, steps, heads, channels).

    ``groups`` queries share a head of key and value. A bias for the scores, if ``biased``, and a mask
    follow the arrays.
    """
    query, key, value, *more = arrays
    key, value = (F.repeat(x, repeats=groups, axis=2) if groups > 1 else x for x in (key, value))
    rows, columns, scored = (0, 1, 2, 3), (0, 4, 2, 3), (0, 2, 1, 4)
    scores = einsum(F, query * scale, key, labels=(rows, columns), out=scored)
    scores = F.broadcast_add(scores, more[0]) if biased else scores
    mask = visible(F, scores, more[biased:], sight, 4)
    share = masked_softmax(F, scores, *mask, axes=(3,), rank=4, how="replace")
    return einsum(F, share, value, labels=(scored, (0, 4, 2, 5)), out=(0, 1, 2, 5))


def einsum_dense(F: Any, x: Any, kernel: Any, labels: Sequence[Labels], out: Labels, **bias: Any) -> Any:
    """Return Einstein's sum of an array and weights, plus a bias that broadcasts."""
    y = einsum(F, x, kernel, labels=labels, out=out)
    return F.broadcast_add(y, bias["bias"]) if bias else y
