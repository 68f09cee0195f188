"""Attention: averages of values, weighted by how their keys fit a query."""

from typing import Any, Optional, Sequence, Tuple

from .elementwise import pairwise
from .indexing import indices_along
from .masks import masked, masked_softmax
from .products import Labels, einsum
from .recurrent import dense

#: Where the mask of each array has its steps in the mask of the scores: along the rows or the columns.
_AXES = {"query": 2, "value": 1, "key": 1}


def visible(
    F: Any, scores: Any, masks: Sequence[Any], given: Sequence[str], rank: int, steps: int = 1,
    causal: bool = False, window: Optional[int] = None, mask_rank: int = 0,
    exact: bool = False,
) -> Any:  # fmt: skip
    """Return the product of all masks, in a shape that broadcasts with the scores, or None.

    Parameters
    ----------
    masks : sequence
    given : sequence of str
        What each is the mask of: 'query', 'value' or 'key', of shape (batch, steps); or 'scores', of
        shape (batch, ..., steps of queries, steps of keys).
    rank : int
        Number of axes of the scores.
    steps : int
        Number of axes of the steps of queries, and of those of keys.
    causal : bool
        Whether a query sees no later steps.
    window : int, optional
        Number of steps that a query sees, on each side, with itself.
    mask_rank : int
        Number of axes of the mask of the scores, which lacks those before the steps.
    exact : bool
        Whether the numbers of a single mask matter, as they do in Keras 2.
    """
    found = []
    for mask, name in zip(masks, given):
        axes = mask_rank
        if name in _AXES:
            mask, axes = F.expand_dims(mask, axis=_AXES[name]), 3
        for _ in range(axes, rank):
            mask = F.expand_dims(mask, axis=axes - 2 * steps)
        found.append(mask)
    if causal or window:
        ahead = F.broadcast_sub(*(indices_along(F, scores, axis, rank) for axis in (rank - 1, rank - 2)))
        found += [F.cast(ahead <= 0, dtype="float32")] * causal
        found += [F.cast(F.abs(ahead) < window, dtype="float32")] if window else []
    product = None
    for mask in found:
        if len(found) > 1 or not exact:
            mask = F.cast(mask != 0, dtype="float32")
        product = mask if product is None else F.broadcast_mul(product, mask)
    return product


def attention(
    F: Any, query: Any, value: Any, key: Any, *masks: Any, given: Sequence[str], kind: str,
    causal: bool, dropout: float, all_outputs: bool, **weights: Any,
) -> Any:  # fmt: skip
    """Apply attention to arrays of shape (batch, steps, channels).

    Parameters
    ----------
    *masks, given, causal
        As for :func:`visible`.
    kind : {'dot', 'concat', 'additive'}
        Scores are products of query and key, or sums of ``tanh(query + key)`` along the channels.
    dropout : float
        Rate for the weights.
    all_outputs : bool
        Whether to return the weights as well.
    **weights
        Factors: ``scale`` and, for 'concat', ``concat_score_weight``, which broadcast.
    """
    scale = weights.get("scale")
    if kind == "dot":
        scores = F.batch_dot(query, key, transpose_b=True)
        scores = scores if scale is None else F.broadcast_mul(scores, F.reshape(scale, shape=(1, 1, 1)))
    else:
        both = F.broadcast_add(F.expand_dims(query, axis=2), F.expand_dims(key, axis=1))
        scale = None if scale is None else F.reshape(scale, shape=(1, 1, 1, -1))
        both = F.broadcast_mul(both, scale) if kind == "concat" and scale is not None else both
        both = F.tanh(both)
        both = F.broadcast_mul(both, scale) if kind == "additive" and scale is not None else both
        scores = F.sum(both, axis=-1)
    if "concat_score_weight" in weights:
        scores = F.broadcast_mul(scores, F.reshape(weights["concat_score_weight"], shape=(1, 1, 1)))
    named = dict(zip(given, masks))
    columns = {name: mask for name, mask in named.items() if name == "value"}
    mask = visible(F, scores, [*columns.values()], [*columns], 3, causal=causal)
    share = masked_softmax(F, scores, *([] if mask is None else [mask]), axes=(2,), rank=3)
    y = F.batch_dot(F.Dropout(share, p=dropout) if dropout else share, value)
    y = masked(F, y, named["query"]) if "query" in named else y
    return [y, share] if all_outputs else y


def multi_head_attention(
    F: Any, query: Any, value: Any, key: Any, *masks: Any, given: Sequence[str], heads: Tuple[int, int],
    sizes: Tuple[int, int], outputs: Sequence[int], labels: Sequence[Labels], how: str,
    mask_rank: int, dropout: float, causal: bool, window: Optional[int], all_outputs: bool,
    **weights: Any,
) -> Any:  # fmt: skip
    """Project channels to several heads, apply attention in each, and project the results.

    Parameters
    ----------
    *masks, given, causal, window, mask_rank
        As for :func:`visible`.
    heads : tuple of int
        Numbers of heads of the query, and of key and value, which are repeated.
    sizes : tuple of int
        Channels of each head of query and key, and of the value.
    outputs : sequence of int
        Sizes of the last axes of the output.
    labels : sequence of tuple
        Labels of the axes of the projected query and key, and of the scores.
    how : str
        As for :func:`masked_softmax`.
    dropout : float
        Rate for the weights of attention.
    all_outputs : bool
        Whether to return the weights of attention as well.
    **weights
        For each of query, key, value, output and perhaps gate, ``..._weight`` and perhaps ``..._bias``.
    """
    rows, columns, scored = labels

    def projected(x: Any, name: str, count: int, size: int) -> Any:
        y = dense(
            F, x, weights[f"{name}_weight"], weights.get(f"{name}_bias"), count * size, flatten=False
        )
        y = F.reshape(y, shape=(*(0,) * (len(rows) - 2), -4, count, size))
        return F.repeat(y, repeats=heads[0] // count, axis=len(rows) - 2) if count < heads[0] else y

    q = projected(query, "query", heads[0], sizes[0]) * sizes[0] ** -0.5
    k, v = projected(key, "key", heads[1], sizes[0]), projected(value, "value", heads[1], sizes[1])
    scores = einsum(F, q, k, labels=(rows, columns), out=scored)
    steps = len(scored) - len(rows) + 1
    mask = visible(F, scores, masks, given, len(scored), steps, causal, window, mask_rank, how == "add")
    axes = tuple(range(len(scored)))[-steps:]
    share = masked_softmax(
        F, scores, *([] if mask is None else [mask]), axes=axes, rank=len(scored), how=how
    )
    used = F.Dropout(share, p=dropout) if dropout else share
    y = einsum(F, used, v, labels=(scored, (*columns[:-1], "value")), out=(*rows[:-1], "value"))
    if "gate_weight" in weights:
        y = pairwise(
            F, "multiply", y, F.sigmoid(projected(query, "gate", heads[0], sizes[1])), even=True
        )
    y = F.reshape(y, shape=(*(0,) * (len(rows) - 2), -3))
    count = 1
    for n in outputs:
        count *= n
    y = dense(F, y, weights["output_weight"], weights.get("output_bias"), count, flatten=False)
    y = F.reshape(y, shape=(*(0,) * (len(rows) - 2), *outputs)) if len(outputs) > 1 else y
    return [y, share] if all_outputs else y


def einsum_dense(F: Any, x: Any, kernel: Any, labels: Sequence[Labels], out: Labels, **bias: Any) -> Any:
    """Return Einstein's sum of an array and weights, plus a bias that broadcasts."""
    y = einsum(F, x, kernel, labels=labels, out=out)
    return F.broadcast_add(y, bias["bias"]) if bias else y
