"""Operators of pipelines without strings, which scikit-learn's exporter writes."""

from typing import Any, Dict, List, Literal, Optional, Sequence

import numpy as np

from ...importing import functions
from ..registry import converter
from ..values import Data, Known, Unsupported
from .elementwise import is_nan, where
from .indexing import gather
from .linear import gemm
from .normalizing import lp_normalization
from .shapes import cast_to

#: Functions by the names of transformations of scores.
_LINKS: Dict[str, Any] = {"SOFTMAX": ("softmax", {"axis": 1}), "LOGISTIC": ("sigmoid", {})}
_LINKS["NONE"] = ("identity", {})


def _row(values: List[float]) -> Known:
    return Known([np.array(values, np.float32)])


@converter("ai.onnx.ml::Scaler")
def scaler(net: Any, x: Data, *, offset: List[float], scale: List[float]) -> Data:
    shifted = net.call("broadcast_sub", cast_to(net, x, np.float32), _row(offset))
    return net.call("broadcast_mul", shifted, _row(scale))


@converter("ai.onnx.ml::Normalizer")
def normalizer(net: Any, x: Data, *, norm: Literal["MAX", "L1", "L2"] = "MAX") -> Data:
    x = cast_to(net, x, np.float32)
    if norm != "MAX":
        return lp_normalization(net, x, p=int(norm[1]))
    largest = net.call("max", x, axis=1, keepdims=True)
    divisor = where(net, _equal(net, largest, 0), Known([np.ones((1, 1), np.float32)]), largest)
    return net.call("broadcast_div", x, divisor)


@converter("ai.onnx.ml::Binarizer")
def binarizer(net: Any, x: Data, *, threshold: float = 0.0) -> Data:
    return net.call("broadcast_greater", x, _row([threshold]))


@converter("ai.onnx.ml::Imputer")
def imputer(
    net: Any, x: Data, *, imputed_value_floats: Optional[List[float]] = None,
    imputed_value_int64s: Optional[List[int]] = None, replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> Data:  # fmt: skip
    whole = x.dtype.kind == "i"
    replaced = replaced_value_int64 if whole else replaced_value_float
    values = imputed_value_int64s if whole else imputed_value_floats
    if values is None:
        raise Unsupported(f"its input is {x.dtype}, and its values are of another kind")
    missing = is_nan(net, x) if np.isnan(replaced) else _equal(net, x, replaced)
    return where(net, missing, Known([np.array([values], x.dtype)]), x)


@converter("ai.onnx.ml::OneHotEncoder")
def one_hot_encoder(net: Any, x: Data, *, cats_int64s: List[int], zeros: int = 1) -> Data:
    if not zeros:
        raise Unsupported("zeros=0 raises an error for what is no category, which a graph cannot")
    return _equal(net, net.call("expand_dims", x, axis=x.ndim), cats_int64s, np.dtype(np.float32))


@converter("ai.onnx.ml::LabelEncoder", 2)
def label_encoder(
    net: Any, x: Data, *, keys_int64s: Optional[List[int]] = None,
    keys_floats: Optional[List[float]] = None, values_int64s: Optional[List[int]] = None,
    values_floats: Optional[List[float]] = None, default_int64: int = -1, default_float: float = -0.0,
) -> Data:  # fmt: skip
    keys = keys_floats if keys_int64s is None else keys_int64s
    whole = values_floats is None
    values, default = (values_int64s, default_int64) if whole else (values_floats, default_float)
    if keys is None or values is None or len(keys) != len(values) or np.isnan(keys).any():
        raise Unsupported("its keys and values are not two lists of numbers of equal length")
    found = _equal(net, net.call("expand_dims", x, axis=x.ndim), keys, np.dtype(np.float32))
    place = net.call("argmax", found, axis=x.ndim)
    known = net.call("max", found, axis=x.ndim)
    kind = np.int64 if whole else np.float32
    value = gather(net, Known([np.array(values, kind)]), place)
    return where(net, known, value, Known([np.array([default], kind)]))


def _equal(net, x, numbers, dtype=bool):
    row = Known([np.atleast_1d(np.array(numbers, x.dtype))])
    return net.call(functions.compare, x, row, kind="equal", dtype=dtype)


@converter("ai.onnx.ml::ArrayFeatureExtractor")
def array_feature_extractor(net: Any, x: Any, places: Data) -> Data:
    places = net.call("reshape", places, shape=(-1,), scalar=False)
    y = gather(net, x, places, axis=-1)
    return net.call("expand_dims", y, axis=0) if x.ndim == 1 else y


@converter("ai.onnx.ml::ZipMap")
def zip_map(
    net: Any, x: Data, *, classlabels_int64s: Optional[List[int]] = None,
    classlabels_strings: Optional[List[str]] = None,
) -> Data:  # fmt: skip
    return x  # the maps of each row are the columns of an array


@converter("ai.onnx.ml::LinearRegressor")
def linear_regressor(
    net: Any, x: Data, *, coefficients: List[float], intercepts: Optional[List[float]] = None,
    targets: int = 1, post_transform: Literal["NONE"] = "NONE",
) -> Data:  # fmt: skip
    return _linear(net, x, coefficients, intercepts or [0.0] * targets)


@converter("ai.onnx.ml::LinearClassifier")
def linear_classifier(
    net: Any, x: Data, *, coefficients: List[float], classlabels_ints: List[int],
    intercepts: Optional[List[float]] = None, multi_class: int = 0, post_transform: str = "NONE",
) -> List[Data]:  # fmt: skip
    intercepts = intercepts or [0.0] * len(classlabels_ints)
    if len(intercepts) != len(classlabels_ints):
        raise Unsupported(f"it has {len(intercepts)} intercepts for {len(classlabels_ints)} labels")
    scores = _linear(net, x, coefficients, intercepts)
    return [label_of(net, scores, classlabels_ints), linked(net, scores, post_transform)]


def label_of(net: Any, scores: Data, labels: Sequence[int]) -> Data:
    """Return the label of the highest score."""
    return gather(net, Known([np.array(labels)]), net.call("argmax", scores, axis=1))


def linked(net: Any, scores: Data, link: str) -> Data:
    """Return the scores after a transformation."""
    if link not in _LINKS:
        raise Unsupported(f"its post_transform={link!r} is not supported")
    name, arguments = _LINKS[link]
    return net.call(name, scores, **arguments)


def _linear(net, x, coefficients, intercepts):
    matrix = np.array(coefficients, np.float32).reshape(len(intercepts), -1)
    weight = Known([matrix], trainable=True)
    return gemm(net, cast_to(net, x, np.float32), weight, _row(intercepts), transB=1)
