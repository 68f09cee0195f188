"""Masks: arrays of 1 for the steps of a sequence that count, and 0 for the others."""

from typing import Any, Sequence

from .elementwise import pairwise
from .indexing import select
from .reductions import along_axis, over_axes, weighted_mean


def differs(F: Any, x: Any, number: float, last: bool) -> Any:
    """Return 1 where elements differ from a number; ``last`` reduces to any along the last axis."""
    y = F.cast(x != number, dtype="float32")
    return F.max(y, axis=-1) if last else y


def masked(F: Any, x: Any, mask: Any) -> Any:
    """Return zeros for the steps that do not count. The mask lacks the last axis."""
    return F.broadcast_mul(x, F.expand_dims(mask, axis=-1))


def every_step(F: Any, x: Any) -> Any:
    """Return the mask by which all steps count."""
    return F.squeeze(F.ones_like(F.slice_axis(x, axis=-1, begin=0, end=1)), axis=-1)


def masked_merge(F: Any, *arrays: Any, kind: str, given: Sequence[bool]) -> Any:
    """Combine those elements of arrays that count: 'multiply', 'maximum' or 'minimum'.

    The masks of the arrays that have one, by ``given``, follow the arrays. Where only the elements of
    one array count, they are the result. A product is 0 where none count.
    """
    rest = iter(arrays[len(given) :])
    masks = [F.expand_dims(next(rest), axis=-1) if each else None for each in given]
    y, total = arrays[0], masks[0]
    if kind == "multiply":
        y = y if total is None else select(F, total, y, F.ones_like(y))
    for x, mask in zip(arrays[1:], masks[1:]):
        if mask is not None:
            x = select(F, mask, x, F.ones_like(x) if kind == "multiply" else y)
        if total is not None and kind != "multiply":
            y = select(F, total, y, x)
        total = None if total is None or mask is None else F.broadcast_maximum(total, mask)
        y = pairwise(F, kind, y, x)
    return F.broadcast_mul(y, total) if kind == "multiply" and total is not None else y


def masked_mean(F: Any, x: Any, mask: Any, keepdims: bool) -> Any:
    """Return the mean over the second of three axes of the steps that count."""
    return weighted_mean(F, x, F.expand_dims(mask, axis=-1), (1,), keepdims)


def masked_softmax(F: Any, x: Any, *mask: Any, axes: Any, rank: int, how: str = "add") -> Any:
    """Apply a softmax along axes, to those elements whose mask is 1.

    ``how`` says what elements of a row without any become: 'add' subtracts 1e9 from the elements, which
    rounds them; 'replace' gives all of them the same weight, and 'zero' no weight.
    """
    for each in mask:
        x = x if how == "add" else F.broadcast_mul(x, each)
        x = F.broadcast_add(x, (each - 1) * 1e9)
    if len(axes) == 1:
        y = along_axis(F, x, "softmax", axes[0], rank)
    else:
        y = over_axes(F, x, "softmax", axes, rank)
    for each in mask:
        y = F.broadcast_mul(y, each) if how == "zero" else y
    return y
