"""Operators of linear pipelines, which scikit-learn's exporter writes."""

from typing import Any, List, Optional

import numpy as np

from ..registry import converter
from ..values import Data, Known, Unsupported
from .indexing import gather
from .linear import gemm
from .normalizing import lp_normalization

_LINKS = {"SOFTMAX": ("softmax", {"axis": 1}), "LOGISTIC": ("sigmoid", {})}


def _row(values: List[float]) -> Known:
    return Known([np.array(values, np.float32)])


@converter("ai.onnx.ml::Scaler")
def scaler(net: Any, x: Data, *, offset: List[float], scale: List[float]) -> Data:
    return net.call("broadcast_mul", net.call("broadcast_sub", x, _row(offset)), _row(scale))


@converter("ai.onnx.ml::Normalizer")
def normalizer(net: Any, x: Data, *, norm: str = "MAX") -> Data:
    if norm not in ("L1", "L2"):
        raise Unsupported(f"its norm={norm!r} is neither 'L1' nor 'L2'")
    return lp_normalization(net, x, p=int(norm[1]))


@converter("ai.onnx.ml::ArrayFeatureExtractor")
def array_feature_extractor(net: Any, x: Any, places: Any) -> Data:
    places = net.call("reshape", net.array(places), shape=(-1,), scalar=False)
    y = gather(net, x, places, axis=-1)
    return net.call("expand_dims", y, axis=0) if x.ndim == 1 else y


@converter("ai.onnx.ml::LinearRegressor")
def linear_regressor(
    net: Any, x: Data, *, coefficients: List[float], intercepts: Optional[List[float]] = None,
    targets: int = 1, post_transform: str = "NONE",
) -> Data:  # fmt: skip
    if post_transform != "NONE":
        raise Unsupported(f"its post_transform={post_transform!r} is not supported")
    return _linear(net, x, coefficients, intercepts or [0.0] * targets)


@converter("ai.onnx.ml::LinearClassifier")
def linear_classifier(
    net: Any, x: Data, *, coefficients: List[float], classlabels_ints: List[int],
    intercepts: Optional[List[float]] = None, multi_class: int = 0, post_transform: str = "NONE",
) -> List[Data]:  # fmt: skip
    labels = np.array(classlabels_ints)
    intercepts = intercepts or [0.0] * len(labels)
    if len(intercepts) != len(labels) or post_transform not in ("NONE", *_LINKS):
        raise Unsupported(f"its post_transform={post_transform!r} for {len(labels)} labels")
    scores = _linear(net, x, coefficients, intercepts)
    best = net.call("argmax", scores, axis=1)
    label = gather(net, Known([labels]), best)
    if post_transform in _LINKS:
        name, arguments = _LINKS[post_transform]
        scores = net.call(name, scores, **arguments)
    return [label, scores]


def _linear(net, x, coefficients, intercepts):
    weight = np.array(coefficients, np.float32).reshape(len(intercepts), -1)
    return gemm(net, x, Known([weight], trainable=True), _row(intercepts), transB=1)
