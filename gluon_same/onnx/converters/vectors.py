"""Support vector machines, as scikit-learn's exporter writes them."""

from itertools import accumulate, combinations
from typing import Any, List, Literal, NamedTuple, Sequence

import numpy as np

from ...importing import functions
from ..registry import converter
from ..values import Data, Flag, Known, Unsupported
from .linear import dense
from .pipelines import label_of, linked
from .shapes import cast_to


class Kernel(NamedTuple):
    """Attributes of the function of a row and a support vector."""

    coefficients: List[float]
    rho: List[float]
    support_vectors: List[float]
    kernel_type: Literal["LINEAR", "POLY", "RBF", "SIGMOID"] = "LINEAR"
    kernel_params: Sequence[float] = (0.0, 0.0, 0.0)  #: gamma, coef0 and degree


@converter("ai.onnx.ml::SVMRegressor")
def svm_regressor(
    net: Any, x: Data, *, n_supports: int, one_class: Flag = 0,
    post_transform: Literal["NONE"] = "NONE", **own: Kernel,
) -> Data:  # fmt: skip
    kernel, coefficients = _kernel(own, n_supports)
    score = _decision(net, x, kernel, coefficients)
    if not one_class:
        return score
    inside = _positive(net, score)
    return net.call(functions.linear, inside, scale=2, offset=-1)


@converter("ai.onnx.ml::SVMClassifier")
def svm_classifier(
    net: Any, x: Data, *, classlabels_ints: List[int], vectors_per_class: List[int],
    prob_a: Sequence[float] = (), prob_b: Sequence[float] = (), post_transform: str = "NONE",
    **own: Kernel,
) -> List[Data]:  # fmt: skip
    if prob_a:
        raise Unsupported("its probabilities (prob_a) are found by iterations: write the file without")
    count = len(classlabels_ints)
    pairs = [*combinations(range(count), 2)]
    ends = [0, *accumulate(vectors_per_class)]
    if len(ends) != count + 1 or count < 2 or post_transform not in ("NONE", "LOGISTIC"):
        raise Unsupported(f"its post_transform={post_transform!r} for {count} labels is not supported")
    kernel, coefficients = _kernel(own, ends[-1])
    weights = np.zeros((len(pairs), ends[-1]))
    # Vectors of each class have coefficients against every other class.
    for row, (i, j) in zip(weights, pairs):
        row[ends[i] : ends[i + 1]] = coefficients[j - 1, ends[i] : ends[i + 1]]
        row[ends[j] : ends[j + 1]] = coefficients[i, ends[j] : ends[j + 1]]
    scores = _decision(net, x, kernel, weights)
    won = _positive(net, scores)
    # The first class of a pair has a vote if it won, and else the second one.
    votes = np.zeros((count, len(pairs)))
    for pair, (i, j) in enumerate(pairs):
        votes[i, pair], votes[j, pair] = 1, -1
    label = label_of(net, _products(net, won, votes, np.arange(count)), classlabels_ints)
    if count == 2:
        scores = net.call("concat", net.call("negative", scores), scores, dim=1)
    return [label, linked(net, scores, post_transform)]


def _kernel(own, count):
    """Return the attributes, and the coefficients of each of the vectors, of which there are so many."""
    kernel = Kernel(**own)
    return kernel, np.array(kernel.coefficients).reshape(-1, count)


def _decision(net, x, kernel, weights):
    """Return weighted sums of the kernels of each row of numbers and the vectors.

    They are computed in float64: large coefficients of opposite signs leave few digits.
    """
    count = weights.shape[1]
    vectors = np.array(kernel.support_vectors).reshape(count, -1)
    gamma, offset, degree = kernel.kernel_params
    x = cast_to(net, x, np.float64)
    if kernel.kernel_type == "LINEAR":
        y = _products(net, x, vectors, np.zeros(count))
    elif kernel.kernel_type == "RBF":
        squares = net.call("sum", net.call("square", x), axis=1, keepdims=True)
        y = _products(net, x, 2 * gamma * vectors, -gamma * (vectors**2).sum(axis=1))
        y = net.call("broadcast_sub", y, net.call(functions.linear, squares, scale=gamma, offset=0))
        y = net.call("exp", y)
    else:
        y = _products(net, x, gamma * vectors, np.full(count, offset))
        power: Any = (functions.scalar, {"kind": "power", "number": degree, "first": False})
        function, arguments = power if kernel.kernel_type == "POLY" else ("tanh", {})
        y = net.call(function, y, **arguments)
    return cast_to(net, _products(net, y, weights, kernel.rho), np.float32)


def _positive(net, x):
    return net.call(functions.scalar, x, kind="greater", number=0.0, first=False)


def _products(net, x, weight, bias):
    return dense(net, x, *(Known([np.array(each, x.dtype)]) for each in (weight, bias)))
