"""Operators of scikit-learn's pipelines, against onnxruntime."""

import mxnet as mx
import numpy as np
import onnx
import pytest
from imported import compared, numbers, pipeline, reference
from onnx import TensorProto, helper, numpy_helper

from gluon_same.onnx import import_model

LINEAR = dict(coefficients=[0.5, -1.0, 2.0, 1.0, 0.0, -0.5], intercepts=[0.25, -1.0])
LABELS = dict(classlabels_ints=[7, 3])


#: Names of the outputs: of whole numbers, but for scores.
OUTPUTS = {0: ["y"], 1: ["scores"], 2: ["label", "scores"]}


def model(path, operator, outputs=1, **given):
    return pipeline(path, operator, OUTPUTS[outputs], **given)


@pytest.mark.parametrize(
    "operator, outputs, attributes",
    [
        ("Scaler", 1, dict(offset=[1.0, 2.0, -1.0], scale=[2.0, 0.5, 3.0])),
        ("Scaler", 1, dict(offset=[1.0], scale=[2.0])),
        ("Normalizer", 1, dict(norm="MAX")),
        ("Normalizer", 1, dict(norm="L1")),
        ("Normalizer", 1, dict(norm="L2")),
        ("Binarizer", 1, dict(threshold=0.3)),
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


def test_rows_whose_maximum_is_zero(tmp_path):
    x = np.array([[0, 0, 0], [0, -2, -1], [-1, -2, -4]], "f")
    compared(model(tmp_path, "Normalizer", norm="MAX"), x)


@pytest.mark.parametrize(
    "labels", [dict(classlabels_int64s=[5, 3, 9]), dict(classlabels_strings=["a", "b", "c"])]
)
def test_maps_of_labels_are_columns(tmp_path, labels):
    path = model(tmp_path, "ZipMap", **labels)
    file = onnx.load(path)
    (output,) = file.graph.output
    kind = TensorProto.INT64 if "classlabels_int64s" in labels else TensorProto.STRING
    number = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    output.type.CopyFrom(helper.make_sequence_type_proto(helper.make_map_type_proto(kind, number)))
    onnx.save(file, path)
    x = numbers(4, 3)
    wanted = reference(path, x)[0]
    got = import_model(path)(mx.nd.array(x)).asnumpy()
    (keys,) = labels.values()
    np.testing.assert_array_equal(got, [[row[key] for key in keys] for row in wanted])


@pytest.mark.parametrize("replaced", [2.0, np.nan])
@pytest.mark.parametrize("values", [[0.5], [0.5, -1.0, 3.0]])
def test_missing_numbers_are_imputed(tmp_path, replaced, values):
    x = np.array([[1, replaced, 0], [replaced, replaced, 5]], "f")
    how = dict(imputed_value_floats=values, replaced_value_float=replaced)
    compared(model(tmp_path, "Imputer", **how), x, x[:1])


KEYS = [3, -1, 2**24 + 1]


@pytest.mark.parametrize(
    "operator, outputs, attributes",
    [
        ("Imputer", 0, dict(imputed_value_int64s=[4, 5, 6], replaced_value_int64=-1)),
        ("OneHotEncoder", 1, dict(cats_int64s=KEYS)),
        ("LabelEncoder", 0, dict(keys_int64s=KEYS, values_int64s=[5, 2**24 + 3, 7])),
        ("LabelEncoder", 0, dict(keys_int64s=KEYS, values_int64s=[5, 6, 7], default_int64=9)),
        ("LabelEncoder", 1, dict(keys_int64s=KEYS, values_floats=[0.5, 6.0, -7.0], default_float=0.25)),
    ],
)
def test_whole_numbers_are_encoded(tmp_path, operator, outputs, attributes):
    x = np.array([[3, 2**24, -1], [8, 2**24 + 1, 3]])
    compared(model(tmp_path, operator, outputs, given=TensorProto.INT64, **attributes), x, x[:1])


def test_features_are_extracted(tmp_path):
    places = numpy_helper.from_array(np.array([2, 0]), "places")
    compared(
        model(tmp_path, "ArrayFeatureExtractor", initializers=[places]), numbers(4, 3), numbers(2, 3)
    )


@pytest.mark.parametrize(
    "operator, outputs, attributes",
    [
        ("Normalizer", 1, dict(norm="L0")),
        ("OneHotEncoder", 1, dict(cats_int64s=KEYS, zeros=0)),
        ("LabelEncoder", 0, dict(keys_floats=[1.0, 2.0], values_int64s=[3])),
        ("LabelEncoder", 0, dict(keys_floats=[1.0, np.nan], values_int64s=[3, 4])),
        ("Imputer", 1, dict(imputed_value_int64s=[4])),
        ("LinearRegressor", 1, dict(post_transform="PROBIT", **LINEAR)),
        ("LinearClassifier", 2, dict(post_transform="PROBIT", **LABELS, **LINEAR)),
        ("LinearClassifier", 2, dict(coefficients=[1.0, 2.0, 3.0], intercepts=[1.0], **LABELS)),
    ],
)
def test_other_attributes_are_refused(tmp_path, operator, outputs, attributes):
    words = "its (norm|post_transform)=|1 intercepts for 2|zeros=0|keys and values|another kind"
    with pytest.raises(ValueError, match=words):
        import_model(model(tmp_path, operator, outputs, **attributes))
