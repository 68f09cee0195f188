"""Models of keras-mxnet with the weights and data of golden/keras_cases.py."""

from pathlib import Path

import numpy as np

from golden import keras_cases as cases

with np.load(str(Path(__file__).parents[1] / "golden" / "keras.npz")) as file:
    GOLDEN = {name: file[name] for name in file.files}

FORMATS = ["channels_last", "channels_first"]


def built(keras, name, size, channels, data_format="channels_last"):
    """Build a model, or a layer in a model, with the seeded weights."""
    layers = cases.layers_of(name)
    weights = cases.weights(cases.model_of(keras, layers, size, channels))
    model = cases.model_of(keras, layers, size, channels, data_format)
    for layer, arrays in zip(model.layers, weights):
        layer.set_weights([in_format(layer, *numbered, data_format) for numbered in enumerate(arrays)])
    return model


def in_format(layer, number, array, data_format):
    """Return a weight in keras-mxnet's layout, which is MXNet's for channels-first data."""
    kind = type(layer).__name__
    if data_format == "channels_last" or "Conv" not in kind or array.ndim == 1:
        return array
    depthwise = kind.startswith("Depthwise") or (kind.startswith("Separable") and number == 0)
    return np.moveaxis(array, (-2, -1) if depthwise else (-1, -2), (0, 1))


def channels_first(x):
    return np.moveaxis(x, -1, 1)


def predict(model, x, data_format="channels_last"):
    """Return the channels-last output of a model for channels-last data."""
    if data_format == "channels_last":
        return model.predict(x)
    return np.moveaxis(model.predict(channels_first(x)), 1, -1)


def predict_case(keras, name, data_format="channels_last", open_sizes=False):
    """Return the model of a layer's case, and its output."""
    *size, channels = cases.shape_of(name)
    known = (None,) * len(size) if open_sizes else size
    model = built(keras, name, known, channels, data_format)
    return model, predict(model, cases.data((*size, channels)), data_format)


def right(got, want, close=1e-5):
    """Return whether an output equals that of Keras."""
    most = close * max(float(np.abs(want).max()), 1.0)
    return got.shape == want.shape and bool(np.abs(got - want).max() <= most)
