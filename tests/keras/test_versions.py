"""Results that depend on the version of Keras 3 that wrote the file."""

import mxnet as mx
import numpy as np
import pytest
from small_models import functional, image, layer, write

from gluon_same.keras import load_model

IDS = np.array([[1, 0, 2], [3, 4, 0]])
WORDS = [layer("Embedding", name, "image", input_dim=5, output_dim=3, mask_zero=True) for name in "ab"]


def loaded(tmp_path, version, *layers, shape=(3,), **weights):
    config = {**functional(image(*shape), *layers), "keras_version": version}
    return load_model(write(tmp_path, config, **weights), layout="NHWC")


@pytest.mark.parametrize(
    "version, counts", [("3.0.5", False), ("3.3.3", False), ("3.4.1", True), ("3.15.1", True)]
)
@pytest.mark.parametrize("name", ["Add", "Multiply", "Concatenate", "Attention"])
def test_masks_of_lists_of_inputs_count_since_3_4(tmp_path, version, counts, name):
    both = layer(name, "both", trainable=True)  # else it is a function
    both["inbound_nodes"] = [[["a", 0, 0, {}], ["b", 0, 0, {}]]]
    tables = {key: {"embeddings": (5, 3)} for key in "ab"}
    layers = [*WORDS, both, layer("GlobalAveragePooling1D", "mean", "both")]
    net = loaded(tmp_path, version, *layers, **tables)
    a, b = (net.layers[key].weight.data().asnumpy()[IDS] for key in "ab")
    mask = IDS[..., None] > 0
    if name == "Attention":
        scores = np.exp(a @ b.transpose((0, 2, 1))) * (IDS > 0)[:, None]
        y = scores / scores.sum(-1, keepdims=True) @ b * mask  # as Keras does with those of queries
    else:
        y = {"Add": a + b, "Multiply": a * b, "Concatenate": np.concatenate([a, b], -1)}[name]
    wanted = (y * mask).sum(1) / mask.sum(1) if counts else y.mean(1)
    np.testing.assert_allclose(net(mx.nd.array(IDS)).asnumpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("version, counts", [("3.10.0", False), ("3.11.3", True)])
def test_masks_that_a_call_names_are_handed_on_since_3_11(tmp_path, version, counts):
    steps = layer("SimpleRNN", "steps", units=3, return_sequences=True, activation="linear")
    steps["inbound_nodes"] = [[["image", 0, 0, {"mask": ["mask", 0, 0]}]]]
    mask = layer("InputLayer", "mask", batch_input_shape=[None, 3], dtype="bool")
    mean = layer("GlobalAveragePooling1D", "mean", "steps")
    config = functional(
        image(3, 3), mask, steps, mean, outputs=["steps", "mean"], inputs=["image", "mask"]
    )
    shapes = {"kernel": (3, 3), "recurrent_kernel": (3, 3), "bias": (3,)}
    path = write(tmp_path, {**config, "keras_version": version}, steps=shapes)
    y, found = load_model(path, layout="NHWC")(mx.nd.ones((2, 3, 3)), mx.nd.array(IDS > 0))
    kept = (IDS > 0)[..., None] if counts else np.ones((2, 3, 1))
    wanted = (y.asnumpy() * kept).sum(1) / kept.sum(1)
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("version, wanted", [("3.9.2", 1 / 3), ("3.10.0", 0)])
def test_a_softmax_of_what_does_not_count_is_zero_since_3_10(tmp_path, version, wanted):
    softmax = layer("Softmax", "softmax", axis=-1, trainable=True)
    softmax["inbound_nodes"] = [[["image", 0, 0, {"mask": ["mask", 0, 0]}]]]
    mask = layer("InputLayer", "mask", batch_input_shape=[None, 3], dtype="bool")
    config = functional(image(3), mask, softmax, inputs=["image", "mask"])
    net = load_model(write(tmp_path, {**config, "keras_version": version}))
    found = net(mx.nd.array([[0.1, 0.2, 0.3]]), mx.nd.zeros((1, 3))).asnumpy()
    np.testing.assert_allclose(found, [[wanted] * 3], rtol=1e-6)


@pytest.mark.parametrize("version, counts", [("3.7.0", True), ("3.8.0", False)])
def test_attention_with_heads_takes_the_masks_off_its_inputs_since_3_8(tmp_path, version, counts):
    heads = layer("MultiHeadAttention", "heads", num_heads=1, key_dim=2, use_bias=False)
    heads["inbound_nodes"] = [[["a", 0, 0, {"value": ["a", 0, 0]}]]]
    both = layer("Add", "both", trainable=True)
    both["inbound_nodes"] = [[["a", 0, 0, {}], ["heads", 0, 0, {}]]]
    layers = [WORDS[0], heads, both, layer("GlobalAveragePooling1D", "mean", "both")]
    config = functional(image(3), *layers, outputs=["both", "mean"])
    shapes = {f"{part}/kernel": (3, 1, 2) for part in ("query", "key", "value")}
    shapes["attention_output/kernel"] = (1, 2, 3)
    path = write(tmp_path, {**config, "keras_version": version}, a={"embeddings": (5, 3)}, heads=shapes)
    y, found = load_model(path, layout="NHWC")(mx.nd.array(IDS))
    kept = (IDS > 0)[..., None] if counts else np.ones((2, 3, 1))
    wanted = (y.asnumpy() * kept).sum(1) / kept.sum(1)
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("version, crops", [("3.5.0", True), ("3.6.0", False)])
def test_random_crops_resize_before_3_6(tmp_path, version, crops):
    crop = layer("RandomCrop", "crop", "image", height=2, width=2)
    with pytest.warns(UserWarning, match="behave differently"):
        net = loaded(tmp_path, version, crop, shape=(4, 4, 1))
    x = np.arange(16).reshape((1, 4, 4, 1))
    wanted = x.reshape((1, 2, 2, 2, 2, 1)).mean((2, 4)) if crops else x
    np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), wanted)


@pytest.mark.parametrize("version, wanted", [("3.5.0", [0, 0, 1, 2]), ("3.6.0", [0, 0, 2, 2])])
def test_resized_whole_numbers_are_truncated_before_3_6(tmp_path, version, wanted):
    start = layer("InputLayer", "image", batch_input_shape=[None, 2, 1, 1], dtype="int32")
    resize = layer("Resizing", "resize", "image", height=4, width=1, dtype="int32")
    config = {**functional(start, resize), "keras_version": version}
    net = load_model(write(tmp_path, config), layout="NHWC")
    found = net(mx.nd.array([0, 2], dtype="int32").reshape((1, 2, 1, 1))).asnumpy()
    np.testing.assert_array_equal(found.ravel(), wanted)  # of 0, 0.5, 1.5 and 2


def test_bins_of_one_number_before_3_4_are_refused(tmp_path):
    bins = layer("Discretization", "bins", "image", bin_boundaries=[0.0], output_mode="one_hot")
    with pytest.raises(ValueError, match="which Keras before 3.4 computes otherwise"):
        loaded(tmp_path, "3.3.3", bins, shape=(1,))
    assert loaded(tmp_path, "3.4.1", bins, shape=(1,))(mx.nd.ones((2, 1))).shape == (2, 2)
