"""Layers that the golden models lack, against NumPy."""

import warnings

import mxnet as mx
import numpy as np
import pytest
from small_models import functional, image, layer, write

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)


def output(folder, shapes, made, weights=None):
    """The inputs, and the output for them, of a model of one layer on inputs of some shapes."""
    names = [f"input{i}" for i in range(len(shapes))]
    made["inbound_nodes"] = [[[name, 0, 0, {}] for name in names]]
    starts = [image(*shape, name=name) for name, shape in zip(names, shapes)]
    path = write(folder, functional(*starts, made, inputs=names), **(weights or {}))
    inputs = [RANDOM.normal(size=(2, *shape)).astype("float32") for shape in shapes]
    net = load_model(path, layout="NHWC")
    return inputs, net(*map(mx.nd.array, inputs)).asnumpy(), net


def test_sparsemax_is_that_of_keras(tmp_path):
    (x,), got, _ = output(tmp_path, [(5,)], layer("Activation", "odd", activation="sparsemax"))
    for row, found in zip(x, got):
        totals = np.cumsum(np.sort(row)[::-1])
        kept = [k for k, value in enumerate(np.sort(row)[::-1]) if value > (totals[k] - 1) / (k + 1)]
        # Keras 3 adds up running totals, where the projection onto the simplex adds up elements.
        want = np.maximum(row - (totals[kept].sum() - 1) / len(kept), 0)
        np.testing.assert_allclose(found, want, atol=1e-6)


@pytest.mark.parametrize("name", ["RandomFlip", "RandomZoom", "RandomContrast", "MixUp"])
def test_augmentation_has_no_effect_and_a_warning(tmp_path, name):
    with pytest.warns(UserWarning, match="In training, these layers behave differently from Keras: odd"):
        (x,), got, net = output(tmp_path, [(4, 5, 2)], layer(name, "odd", factor=0.1, seed=1))
    np.testing.assert_array_equal(got, x)
    with mx.autograd.record():
        np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), x)


def keras3_call(class_name, **config):
    """A model of Keras 3 with one layer, whose call is written with training=True."""
    tensor = {"shape": [None, 4, 5, 2], "dtype": "float32", "keras_history": ["image", 0, 0]}
    node = {"args": [{"class_name": "__keras_tensor__", "config": tensor}], "kwargs": {"training": True}}
    made = {**layer(class_name, "odd", **config), "module": "keras.layers", "inbound_nodes": [node]}
    return {**functional(image(4, 5, 2), made), "module": "keras", "keras_version": "3.15.1"}


@pytest.mark.parametrize("name", ["Resizing", "RandomFlip"])
def test_keras_3_writes_calls_of_image_layers_with_training(tmp_path, name):
    size = dict(height=4, width=5) if name == "Resizing" else {}
    x = RANDOM.normal(size=(1, 2, 4, 5)).astype("float32")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = load_model(write(tmp_path, keras3_call(name, **size)))
    np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), x, rtol=1e-6)


def test_other_calls_with_training_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"odd \(Dropout\): it is called with training=True"):
        load_model(write(tmp_path, keras3_call("Dropout", rate=0.5)))


@pytest.mark.parametrize("rows, columns", [(8, 9), (3, 2), (5, 4)])
def test_resizing_takes_centers_of_pixels(tmp_path, rows, columns):
    made = layer("Resizing", "odd", height=rows, width=columns)
    (x,), got, _ = output(tmp_path, [(5, 4, 2)], made)
    for axis, count in ((1, rows), (2, columns)):
        size = x.shape[axis]
        at = np.clip((np.arange(count) + 0.5) * size / count - 0.5, 0, size - 1)
        low = np.floor(at).astype(int)
        part = (at - low).reshape([-1 if each == axis else 1 for each in range(4)])
        high = np.minimum(low + 1, size - 1)
        x = x.take(low, axis) * (1 - part) + x.take(high, axis) * part
    np.testing.assert_allclose(got, x, atol=1e-5)


def test_rescaling_by_channel(tmp_path):
    made = layer("Rescaling", "odd", scale=[1.0, 2.0], offset=[0.5, -1.0])
    (x,), got, _ = output(tmp_path, [(3, 3, 2)], made)
    np.testing.assert_allclose(got, x * [1, 2] + [0.5, -1], rtol=1e-6)


@pytest.mark.parametrize("name, slope", [("alpha", -0.5), ("negative_slope", 0.25)])
def test_leaky_relu(tmp_path, name, slope):
    (x,), got, _ = output(tmp_path, [(3,)], layer("LeakyReLU", "odd", **{name: slope}))
    np.testing.assert_allclose(got, np.where(x > 0, x, slope * x), rtol=1e-6)


def test_custom_scale_layer(tmp_path):
    (a, b), got, _ = output(tmp_path, [(3, 2)] * 2, layer("CustomScaleLayer", "odd", scale=0.2))
    np.testing.assert_allclose(got, a + 0.2 * b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "shapes, axes, letters",
    [([(3, 4), (4,)], [2, 1], "bij,bj->bi"), ([(4,), (3, 4)], [1, 2], "bj,bij->bi")],
)
def test_dot_of_a_matrix_and_a_vector(tmp_path, shapes, axes, letters):
    (a, b), got, _ = output(tmp_path, shapes, layer("Dot", "odd", axes=axes))
    np.testing.assert_allclose(got, np.einsum(letters, a, b), rtol=1e-5, atol=1e-6)


def test_a_gru_with_other_activations_steps_through_time(tmp_path):
    """MXNet's operator has tanh and sigmoid alone."""
    shapes = {"kernel": (3, 6), "recurrent_kernel": (2, 6), "bias": (2, 6)}
    how = dict(units=2, activation="softsign", recurrent_activation="relu", reset_after=True)
    (x,), got, net = output(tmp_path, [(4, 3)], layer("GRU", "odd", **how), {"odd": shapes})
    weights = {p.name.split("odd_")[1]: p.data().asnumpy() for p in net.collect_params().values()}
    h = np.zeros((2, 2))
    for t in range(4):
        xr, xz, xn = np.split(x[:, t] @ weights["i2h_weight"].T + weights["i2h_bias"], 3, axis=1)
        hr, hz, hn = np.split(h @ weights["h2h_weight"].T + weights["h2h_bias"], 3, axis=1)
        r, z = np.maximum(xr + hr, 0), np.maximum(xz + hz, 0)
        n = xn + r * hn
        h = z * h + (1 - z) * n / (1 + np.abs(n))
    np.testing.assert_allclose(got, h, rtol=1e-4)


@pytest.mark.parametrize("noise", [{"dropout": 0.2}, {"recurrent_dropout": 0.2}])
@pytest.mark.parametrize("more", [{}, {"dropout": 0.1, "recurrent_dropout": 0.1}])
def test_dropout_of_recurrent_layers_has_no_effect_and_a_warning(tmp_path, noise, more):
    made = layer("SimpleRNN", "odd", units=2, **{**more, **noise})
    weights = {"odd": {"kernel": (3, 2), "recurrent_kernel": (2, 2), "bias": (2,)}}
    with pytest.warns(UserWarning, match="In training, these layers behave differently from Keras: odd"):
        output(tmp_path, [(4, 3)], made, weights)


def test_a_gru_has_no_parameter_without_a_use(tmp_path):
    made = layer("GRU", "odd", units=2, reset_after=False)
    weights = {"odd": {"kernel": (3, 6), "recurrent_kernel": (2, 6), "bias": (6,)}}
    _, _, net = output(tmp_path, [(4, 3)], made, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # Gluon warns of unused parameters
        net.hybridize()
        net(mx.nd.ones((1, 4, 3)))
    assert [name.partition("odd_")[2] for name in net.collect_params()] == [
        "i2h_weight",
        "h2h_weight",
        "i2h_bias",
    ]
