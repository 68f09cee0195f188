"""Layers that are called with constants beside arrays, and with arrays by name."""

import mxnet as mx
import numpy as np
import pytest
from small_models import functional, image, layer, write

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(2, 4, 3)).astype("float32")
NUMBERS = RANDOM.normal(size=(1, 4, 3)).astype("float32")


def called_with(class_name, *inputs, **config):
    made = layer(class_name, "made", **config)
    entries = [
        ["image", 0, 0, {}] if each is None else ["_CONSTANT_VALUE", -1, each, {}] for each in inputs
    ]
    return functional(image(4, 3), {**made, "inbound_nodes": [entries]})


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(
    "name, wanted",
    [
        ("Add", np.add),
        ("Subtract", np.subtract),
        ("Multiply", np.multiply),
        ("Average", lambda x, y: (x + y) / 2),
        ("Maximum", np.maximum),
        ("Minimum", np.minimum),
    ],
)
def test_arrays_are_combined_with_constants(tmp_path, name, wanted, first):
    inputs = (NUMBERS.tolist(), None) if first else (None, NUMBERS.tolist())
    net = load_model(write(tmp_path, called_with(name, *inputs)), layout="NHWC")
    for _ in range(2):
        found = net(mx.nd.array(X)).asnumpy()
        np.testing.assert_allclose(found, wanted(NUMBERS, X) if first else wanted(X, NUMBERS), rtol=1e-6)
        net.hybridize()


@pytest.mark.parametrize("class_name", ["Concatenate", "Dot", "Attention"])
def test_other_layers_refuse_constants(tmp_path, class_name):
    with pytest.raises(ValueError, match="called with numbers: only outputs of layers are supported"):
        load_model(write(tmp_path, called_with(class_name, None, NUMBERS.tolist(), axes=2)))


def test_custom_layers_refuse_constants_among_arrays(tmp_path):
    path = write(tmp_path, called_with("Mine", None, NUMBERS.tolist()))
    with pytest.raises(ValueError, match="numbers among its arrays"):
        load_model(path, custom={"Mine": lambda config, arrays: mx.gluon.nn.HybridLambda("relu")})


@pytest.mark.parametrize("numbers", [[1.0, 2.0, 3.0], np.ones((2, 4, 3)).tolist()])
def test_constants_that_do_not_fit_every_sample_are_refused(tmp_path, numbers):
    with pytest.raises(ValueError, match="called with a constant of shape"):
        load_model(write(tmp_path, called_with("Add", None, numbers)))


@pytest.mark.parametrize("shape", [(4, 4), (1, 4, 4), (1, 1, 4, 4)])
def test_attention_has_a_constant_mask(tmp_path, shape):
    mask = np.tril(np.ones((4, 4), int)).reshape(shape).tolist()
    weights = {f"{name}/kernel": (3, 1, 2) for name in ("query", "key", "value")}
    weights["attention_output/kernel"] = (1, 2, 3)
    found = []
    for seen in (dict(attention_mask=mask), dict(use_causal_mask=True)):
        made = layer("MultiHeadAttention", "attention", num_heads=1, key_dim=2, use_bias=False)
        made["inbound_nodes"] = [[["image", 0, 0, {"value": ["image", 0, 0], **seen}]]]
        files = write(tmp_path, functional(image(4, 3), made), attention=weights)
        net = load_model(files, layout="NHWC")
        net.hybridize()
        found.append(net(mx.nd.array(X)).asnumpy())
    np.testing.assert_allclose(*found, rtol=1e-6)


def array(name):
    return {"class_name": "__keras_tensor__", "config": {"keras_history": [name, 0, 0]}}


def recurrent(folder, *nodes):
    """Yield the results of an LSTM that is called on a sequence and a mask in several ways."""
    weights = dict(kernel=(3, 16), recurrent_kernel=(4, 16), bias=(16,))
    mask = layer("InputLayer", "mask", batch_input_shape=[None, 4], dtype="bool")
    for node in nodes:
        made = {**layer("LSTM", "made", units=4), "inbound_nodes": [node]}
        config = functional(image(4, 3), mask, made, inputs=("image", "mask"))
        net = load_model(
            write(folder, {**config, "keras_version": "3.15.1"}, made=weights), layout="NHWC"
        )
        yield net(mx.nd.array(X), mx.nd.array([[1, 1, 0, 0], [1, 0, 1, 1]])).asnumpy()


def test_sequences_are_given_by_name(tmp_path):
    by_place, by_name = dict(args=[array("image")]), dict(args=[], kwargs={"sequences": array("image")})
    np.testing.assert_array_equal(*recurrent(tmp_path, by_place, by_name))


def test_the_third_argument_of_recurrent_layers_is_their_mask(tmp_path):
    by_place = dict(args=[array("image"), None, array("mask")])
    by_name = dict(args=[array("image")], kwargs={"mask": array("mask")})
    np.testing.assert_array_equal(*recurrent(tmp_path, by_place, by_name))


def test_a_pipeline_is_a_sequence_of_layers(tmp_path):
    layers = [layer("Rescaling", "half", scale=0.5), layer("CenterCrop", "crop", height=2, width=1)]
    made = {**layer("Pipeline", "made", "image", layers=layers)}
    made["inbound_nodes"][0][0][3]["training"] = True  # as Keras always writes
    config = {**functional(image(4, 3, 1), made), "keras_version": "3.15.1"}
    net = load_model(write(tmp_path, config), layout="NHWC")
    x = X[..., None]
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), x[:, 1:3, 1:2] / 2)
