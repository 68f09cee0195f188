"""Losses."""

from typing import Any, List, Optional

from ...importing import functions
from ..registry import converter
from ..values import Data, Unsupported


@converter("NegativeLogLikelihoodLoss")
def negative_log_likelihood(
    net: Any, x: Data, target: Any, weight: Any = None, *, ignore_index: Optional[int] = None,
    reduction: str = "mean",
) -> Data:  # fmt: skip
    if reduction not in ("none", "sum", "mean"):
        raise Unsupported(f"its reduction={reduction!r} is not known")
    given = (x, target) if weight is None else (x, target, weight)
    return net.call(
        functions.negative_log_likelihood, *given, reduction=reduction, ignore_index=ignore_index,
        scalar=reduction != "none",
    )  # fmt: skip


@converter("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(
    net: Any, x: Data, target: Any, weight: Any = None, *, ignore_index: Optional[int] = None,
    reduction: str = "mean",
) -> List[Data]:  # fmt: skip
    log_prob = net.call("log_softmax", x, axis=1)
    more = {"ignore_index": ignore_index, "reduction": reduction}
    return [negative_log_likelihood(net, log_prob, target, weight, **more), log_prob]
