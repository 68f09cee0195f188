"""Compare each layer of keras-mxnet, stock and corrected, with TensorFlow's numbers."""

import pytest

from gluon_same.keras_backend.operands import infer_shape
from golden import keras_cases as cases
from helpers import FORMATS, GOLDEN, predict_case, right

NAMES = [name for name, *_ in cases.LAYERS]


@pytest.mark.parametrize("name", NAMES)
def test_stock_keras_mxnet_is_wrong_exactly_in_the_listed_layers(keras, name):
    try:
        model, got = predict_case(keras, name)
        found = right(got, GOLDEN[name]) and model.output_shape[1:] == got.shape[1:]
    except Exception:  # any error means that it does not give the numbers
        found = False
    assert found == (name not in cases.WRONG)


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("open_sizes", [False, True], ids=["known", "open"])
@pytest.mark.parametrize("name", NAMES)
def test_corrected_layer_equals_tensorflow(patched, name, open_sizes, data_format):
    model, got = predict_case(patched, name, data_format, open_sizes)
    assert right(got, GOLDEN[name])


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_inferred_shape_is_that_of_the_array(patched, name, data_format):
    model, got = predict_case(patched, name, data_format)
    shape = model.output_shape[1:]
    if data_format == "channels_first":
        shape = (*shape[1:], shape[0])
    assert shape == got.shape[1:]
    assert infer_shape(model.outputs[0].symbol) == model.output_shape


@pytest.mark.parametrize("kind", ["Conv2D", "MaxPooling2D"])
def test_stock_keras_mxnet_refuses_unknown_sizes(keras, kind):
    layers = [
        (kind, dict(padding="same", **({"filters": 4, "kernel_size": 3} if kind == "Conv2D" else {})))
    ]
    with pytest.raises(ValueError, match="Cannot automatically infer shape"):
        cases.model_of(keras, layers, (None, None), 3)
