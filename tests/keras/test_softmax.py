"""Softmax of what oneDNN holds in memory of its own, for which oneDNN's own crashes the process."""

import mxnet as mx
import numpy as np
import pytest
from small_models import conv, function, functional, image, layer, write

import gluon_same
from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)


def softmax(x, axis):
    y = np.exp(x - x.max(axis, keepdims=True))
    return y / y.sum(axis, keepdims=True)


def compared(folder, config, shapes, x, axis, logarithm=False):
    """Compare the second output of a model with the softmax of its first, in each mode."""
    net = load_model(write(folder, config, conv=shapes), layout="NHWC")
    x = mx.nd.array(x)
    for _ in range(2):
        before, found = (y.asnumpy() for y in net(x))
        wanted = softmax(before, axis)
        wanted = np.log(wanted) if logarithm else wanted
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
        net.hybridize()
    np.testing.assert_allclose(gluon_same.deploy(net, x, tune=False)(x)[1].asnumpy(), found, atol=1e-5)


@pytest.mark.parametrize("filters", [8, 16])
def test_softmax_over_time_behind_a_convolution(tmp_path, filters):
    steps = layer("Conv1D", "conv", "image", filters=filters, kernel_size=[1])
    layers = image(30, 4), steps, layer("Softmax", "weights", "conv", axis=1)
    shapes = {"kernel": (1, 4, filters), "bias": (filters,)}
    config = functional(*layers, outputs=["conv", "weights"])
    compared(tmp_path, config, shapes, RANDOM.normal(size=(2, 30, 4)), 1)


@pytest.mark.parametrize("name, logarithm", [("nn.softmax", False), ("nn.log_softmax", True)])
def test_functions_along_the_columns_of_images(tmp_path, name, logarithm):
    made, shapes = conv("conv", "image", filters=16)
    along = function(name, "conv", axis=2)
    config = functional(image(9, 8, 2), made, along, outputs=["conv", along["name"]])
    compared(tmp_path, config, shapes, RANDOM.normal(size=(2, 9, 8, 2)), 2, logarithm)


@pytest.mark.parametrize("kind", ["softmax", "log_softmax"])
def test_activations_of_models_with_channels_first(tmp_path, kind):
    made, shapes = conv("conv", "image", filters=16, data_format="channels_first")
    along = layer("Activation", "act", "conv", activation=kind)
    config = functional(image(2, 9, 8), made, along, outputs=["conv", "act"])
    x = RANDOM.normal(size=(2, 2, 9, 8))
    compared(tmp_path, config, shapes, x, 3, kind == "log_softmax")


@pytest.mark.parametrize("kind", ["softmax", "log_softmax"])
def test_more_joined_columns_than_rows(tmp_path, kind):
    made, shapes = conv("conv", "image", 1)
    column = layer("GlobalMaxPooling2D", "column", "conv")
    joined = layer("Concatenate", "joined", *["column"] * 3)
    along = layer("Activation", "act", "joined", activation=kind)
    config = functional(image(9, 8, 2), made, column, joined, along, outputs=["joined", "act"])
    compared(tmp_path, config, shapes, RANDOM.normal(size=(2, 9, 8, 2)), 1, kind == "log_softmax")


@pytest.mark.parametrize(
    "given", [("Softmax", {"axis": -1}), ("Activation", {"activation": "softmax"})], ids=lambda x: x[0]
)
def test_layers_as_activations_of_convolutions(tmp_path, given):
    how = dict(zip(("class_name", "config"), given))
    made, shapes = conv("conv", "image", 16)
    other, _ = conv("other", "image", 16, activation=how)
    config = functional(image(9, 8, 2), made, other, outputs=["conv", "other"])
    net = load_model(write(tmp_path, config, conv=shapes, other=shapes), layout="NHWC")
    parameters = net.collect_params()
    for role in ("weight", "bias"):
        parameters[f"small_other_{role}"].set_data(parameters[f"small_conv_{role}"].data())
    before, found = (y.asnumpy() for y in net(mx.nd.array(RANDOM.normal(size=(2, 9, 8, 2)))))
    np.testing.assert_allclose(found, softmax(before, 3), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kernel, padding", [(3, "valid"), (2, "same")])
def test_activations_of_convolutions_with_channels_first(tmp_path, kernel, padding):
    how = dict(data_format="channels_first", activation="softmax", padding=padding)
    made, shapes = conv("conv", "image", 16, kernel, **how)
    net = load_model(write(tmp_path, functional(image(2, 9, 8), made), conv=shapes))
    for _ in range(2):
        y = net(mx.nd.array(RANDOM.normal(size=(2, 2, 9, 8)))).asnumpy()
        np.testing.assert_allclose(y.sum(3), np.ones(y.shape[:3]), rtol=1e-5)
        net.hybridize()
