"""Losses."""

from typing import Any, List, Literal, Optional

from ...importing import functions
from ..registry import converter
from ..values import Data, Unsupported

_Reduction = Literal["none", "sum", "mean"]


@converter("NegativeLogLikelihoodLoss")
def negative_log_likelihood(
    net: Any, x: Data, target: Any, weight: Any = None, *, ignore_index: Optional[int] = None,
    reduction: _Reduction = "mean",
) -> Data:  # fmt: skip
    _check(x)
    how: Any = dict(reduction=reduction, ignore_index=ignore_index, scalar=reduction != "none")
    return net.call(functions.negative_log_likelihood, x, target, weight, **how)


@converter("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(
    net: Any, x: Data, target: Any, weight: Any = None, *, ignore_index: Optional[int] = None,
    reduction: _Reduction = "mean",
) -> List[Data]:  # fmt: skip
    _check(x)
    log_prob = net.call("log_softmax", x, axis=1)
    more: Any = {"ignore_index": ignore_index, "reduction": reduction}
    return [negative_log_likelihood(net, log_prob, target, weight, **more), log_prob]


def _check(x):
    if x.ndim < 2:
        raise Unsupported("its scores have one axis, and require samples and classes")
