"""Losses for classes."""

from typing import Any, Optional


def negative_log_likelihood(
    F: Any, x: Any, target: Any, *weight: Any, reduction: str, ignore_index: Optional[int] = None
) -> Any:
    """Return minus the log probability, along axis 1, of each target class, times the class' weight.

    ``reduction`` is 'none', 'sum', or 'mean', which divides by the sum of the weights. Targets equal to
    ``ignore_index`` have weight 0.
    """
    loss = -F.pick(x, target, axis=1, mode="clip")
    scale = F.ones_like(loss)
    if weight:
        scale = F.reshape_like(F.take(*weight, F.reshape(target, shape=(-1,)), mode="clip"), loss)
    if ignore_index is not None:
        scale = F.where(target != ignore_index, scale, F.zeros_like(scale))
    loss = F.where(scale, loss * scale, F.zeros_like(loss))  # an ignored one may be infinite
    if reduction == "none":
        return loss
    total = F.sum(loss)
    return total / F.sum(scale) if reduction == "mean" else total
