"""Operators of scikit-learn's pipelines, against onnxruntime."""

import numpy as np
import onnx
import pytest
from imported import compared, numbers
from onnx import TensorProto, helper, numpy_helper

from gluon_same.onnx import import_model

LINEAR = dict(coefficients=[0.5, -1.0, 2.0, 1.0, 0.0, -0.5], intercepts=[0.25, -1.0])
LABELS = dict(classlabels_ints=[7, 3])


def model(path, operator, outputs=1, initializers=(), **attributes):
    inputs = ["x", *(each.name for each in initializers)]
    kinds = [TensorProto.INT64, TensorProto.FLOAT] if outputs == 2 else [TensorProto.FLOAT]
    made = [helper.make_tensor_value_info(f"y{i}", kind, None) for i, kind in enumerate(kinds)]
    node = helper.make_node(
        operator, inputs, [each.name for each in made], domain="ai.onnx.ml", **attributes
    )
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])]
    graph = helper.make_graph([node], "net", given, made, list(initializers))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(path / "net.onnx"))
    return str(path / "net.onnx")


@pytest.mark.parametrize(
    "operator, outputs, attributes",
    [
        ("Scaler", 1, dict(offset=[1.0, 2.0, -1.0], scale=[2.0, 0.5, 3.0])),
        ("Scaler", 1, dict(offset=[1.0], scale=[2.0])),
        ("Normalizer", 1, dict(norm="L1")),
        ("Normalizer", 1, dict(norm="L2")),
        ("LinearRegressor", 1, dict(targets=2, **LINEAR)),
        ("LinearRegressor", 1, dict(coefficients=[0.5, -1.0, 2.0])),
        ("LinearClassifier", 2, dict(post_transform="SOFTMAX", multi_class=1, **LABELS, **LINEAR)),
        ("LinearClassifier", 2, dict(post_transform="LOGISTIC", **LABELS, **LINEAR)),
        ("LinearClassifier", 2, dict(**LABELS, **LINEAR)),
    ],
)
def test_operators_of_pipelines(tmp_path, operator, outputs, attributes):
    net = compared(model(tmp_path, operator, outputs, **attributes), numbers(4, 3), numbers(7, 3))
    assert net.input_sizes == ((None, 3),)


def test_features_are_extracted(tmp_path):
    places = numpy_helper.from_array(np.array([2, 0]), "places")
    compared(
        model(tmp_path, "ArrayFeatureExtractor", initializers=[places]), numbers(4, 3), numbers(2, 3)
    )


@pytest.mark.parametrize(
    "operator, outputs, attributes",
    [
        ("Normalizer", 1, dict(norm="MAX")),
        ("LinearRegressor", 1, dict(post_transform="PROBIT", **LINEAR)),
        ("LinearClassifier", 2, dict(post_transform="PROBIT", **LABELS, **LINEAR)),
        ("LinearClassifier", 2, dict(coefficients=[1.0, 2.0, 3.0], intercepts=[1.0], **LABELS)),
    ],
)
def test_other_attributes_are_refused(tmp_path, operator, outputs, attributes):
    with pytest.raises(ValueError, match="its (norm|post_transform)="):
        import_model(model(tmp_path, operator, outputs, **attributes))
