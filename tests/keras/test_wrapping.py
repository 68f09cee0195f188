"""Arithmetic of 8- and 16-bit integers, which wraps around in Keras."""

import mxnet as mx
import numpy as np
import pytest
from small_models import functional, image, layer, write

from gluon_same.keras import load_model


def start(dtype):
    made = image(2, 3)
    made["config"]["dtype"] = dtype
    return made


def function(name, before, **arguments):
    made = layer("TFOpLambda", f"{name}_of_{before}", function=name)
    made["inbound_nodes"] = [[[before, 0, 0, arguments]]]
    return made


def sum_of(*names):
    made = layer("Add", "sum")
    made["inbound_nodes"] = [[[name, 0, 0, {}] for name in names]]
    return made


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32"])
@pytest.mark.parametrize(
    "name, arguments",
    [
        ("math.add", {"y": 1}),
        ("math.multiply", {"y": 3}),
        ("math.square", {}),
        ("reduce_sum", {"axis": 1}),
    ],
)
def test_arithmetic_that_wraps_around_is_refused(tmp_path, dtype, name, arguments):
    path = write(tmp_path, functional(start(dtype), function(name, "image", **arguments)))
    with pytest.raises(ValueError, match=f"of {dtype}, which may wrap around in Keras: cast its input"):
        load_model(path)


@pytest.mark.parametrize(
    "between",
    [layer("UpSampling1D", "moved", "image", size=2), layer("Concatenate", "moved", axis=-1)],
    ids=["UpSampling1D", "Concatenate"],
)
def test_layers_that_move_elements_hand_the_dtype_on(tmp_path, between):
    between["inbound_nodes"] = [[["image", 0, 0, {}]]]
    path = write(tmp_path, functional(start("uint8"), between, sum_of("moved", "moved")))
    with pytest.raises(ValueError, match="Add of uint8, which may wrap around"):
        load_model(path)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_what_was_converted_can_be_added(tmp_path, dtype):
    cast = function("cast", "image", dtype=dtype)
    double = function("math.add", cast["name"], y=[cast["name"], 0, 0])
    net = load_model(write(tmp_path, functional(start("uint8"), cast, double)))
    x = np.arange(200, 206).reshape((1, 2, 3))
    got = net(mx.nd.array(x.transpose((0, 2, 1)), dtype="int32")).asnumpy()
    np.testing.assert_array_equal(got, 2 * x.transpose((0, 2, 1)))


def test_rescaled_images_can_be_added(tmp_path):
    scaled = layer("Rescaling", "scaled", "image", scale=0.5, offset=0.0)
    net = load_model(write(tmp_path, functional(start("uint8"), scaled, sum_of("scaled", "scaled"))))
    x = mx.nd.array([[[250, 1], [7, 3], [0, 9]]], dtype="int32")
    np.testing.assert_array_equal(net(x).asnumpy(), x.asnumpy())
