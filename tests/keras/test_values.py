"""Layers that the golden models lack, against NumPy."""

import warnings

import mxnet as mx
import numpy as np
import pytest
from small_models import functional, image, layer, write

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)


def output(folder, shapes, made, weights=None, call=None):
    """The inputs, and the output for them, of a model of one layer on inputs of some shapes."""
    names = [f"input{i}" for i in range(len(shapes))]
    made["inbound_nodes"] = [[[name, 0, 0, call or {}] for name in names]]
    starts = [image(*shape, name=name) for name, shape in zip(names, shapes)]
    path = write(folder, functional(*starts, made, inputs=names), **(weights or {}))
    inputs = [RANDOM.normal(size=(2, *shape)).astype("float32") for shape in shapes]
    net = load_model(path, layout="NHWC")
    return inputs, net(*map(mx.nd.array, inputs)).asnumpy(), net


@pytest.mark.parametrize(
    "class_name, shape", [("Activation", (5,)), ("Dense", (5,)), ("Dense", (3, 2, 4))]
)
def test_sparsemax_is_that_of_keras(tmp_path, class_name, shape):
    made = layer(class_name, "odd", units=5, use_bias=False, activation="sparsemax")
    if class_name == "Activation":
        del made["config"]["units"], made["config"]["use_bias"]
    (x,), got, net = output(tmp_path, [shape], made, {"odd": {"kernel": (shape[-1], 5)}})
    for weight in net.collect_params().values():
        x = x @ weight.data().asnumpy().reshape((5, -1)).T
    for row, found in zip(x.reshape((-1, 5)), got.reshape((-1, 5))):
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


WHOLE = {"start": None, "stop": None, "step": None}


@pytest.mark.parametrize(
    "spec, index",
    [
        ([WHOLE, None], np.s_[:, None]),
        ([{"class_name": "__ellipsis__"}, None], np.s_[..., None]),
        ([WHOLE, 1, None, {"start": 1}, None], np.s_[:, 1, None, 1:, None]),
        ([{"class_name": "__ellipsis__"}, None, -1], np.s_[..., None, -1]),
    ],
)
def test_slices_with_new_axes(tmp_path, spec, index):
    made = layer("SlicingOpLambda", "odd", function="__operators__.getitem")
    (x,), got, _ = output(tmp_path, [(3, 4, 2)], made, call={"slice_spec": spec})
    np.testing.assert_array_equal(got, x[index])


def test_factors_of_rms_normalization_belong_to_the_last_axes(tmp_path):
    """Keras multiplies the last axis, although it normalizes another one of the same size."""
    made = layer("RMSNormalization", "odd", axis=[1], epsilon=0.1)
    (x,), got, net = output(tmp_path, [(3, 2, 3)], made, {"odd": {"scale": (3,)}})
    (factors,) = (p.data().asnumpy().ravel() for p in net.collect_params().values())
    scale = np.sqrt((x**2).mean(axis=1, keepdims=True) + 0.1)
    np.testing.assert_allclose(got, x / scale * factors, rtol=1e-5)


def test_zero_padding_of_each_step(tmp_path):
    inner = {"class_name": "ZeroPadding1D", "config": {"padding": [1, 2]}}
    (x,), got, _ = output(tmp_path, [(2, 3, 2)], layer("TimeDistributed", "odd", layer=inner))
    np.testing.assert_array_equal(got, np.pad(x, [(0, 0), (0, 0), (1, 2), (0, 0)]))


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_softmax_of_a_convolution_is_along_the_last_axis_of_keras(tmp_path, data_format):
    how = dict(filters=3, kernel_size=1, activation="softmax", data_format=data_format)
    shapes = {"kernel": (1, 1, 2, 3), "bias": (3,)}
    sizes = (4, 5, 2) if data_format == "channels_last" else (2, 4, 5)
    _, got, _ = output(tmp_path, [sizes], layer("Conv2D", "odd", **how), {"odd": shapes})
    np.testing.assert_allclose(got.sum(axis=-1), 1, rtol=1e-5)


@pytest.mark.parametrize("activation", ["tanh", "softsign"])
@pytest.mark.parametrize("hybridize", [False, True])
def test_recurrent_layers_have_gradients(tmp_path, activation, hybridize):
    shapes = {"kernel": (3, 2), "recurrent_kernel": (2, 2), "bias": (2,)}
    made = layer("SimpleRNN", "odd", units=2, activation=activation)
    (x,), _, net = output(tmp_path, [(4, 3)], made, {"odd": shapes})
    net.hybridize(hybridize)
    with mx.autograd.record():
        loss = net(mx.nd.array(x)).sum()
    loss.backward()
    grads = {name: p.grad().asnumpy() for name, p in net.collect_params(".*i2h_.*").items()}
    assert len(grads) == 2 and all(np.abs(grad).max() > 0 for grad in grads.values())


def test_gradient_of_selu(tmp_path):
    (x,), got, net = output(tmp_path, [(9,)], layer("Activation", "odd", activation="selu"))
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    np.testing.assert_allclose(got, scale * np.where(x > 0, x, alpha * np.expm1(x)), rtol=1e-5)
    data = mx.nd.array(x)
    data.attach_grad()
    with mx.autograd.record():
        loss = net(data).sum()
    loss.backward()
    want = scale * np.where(x > 0, 1, alpha * np.exp(x))
    np.testing.assert_allclose(data.grad.asnumpy(), want, rtol=1e-5)


def test_a_frozen_layer_in_a_wrapper_is_not_trained(tmp_path):
    inner = {"class_name": "Dense", "config": {"units": 2, "use_bias": False, "trainable": False}}
    made = layer("TimeDistributed", "odd", layer=inner, trainable=True)
    _, _, net = output(tmp_path, [(4, 3)], made, {"odd": {"kernel": (3, 2)}})
    assert [p.grad_req for p in net.collect_params().values()] == ["null"]


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


@pytest.mark.parametrize("padding, before", [("valid", 0), ("same", 2)])
def test_dilated_transposed_convolution_over_three_axes(tmp_path, padding, before):
    how = dict(filters=2, kernel_size=3, dilation_rate=2, padding=padding, use_bias=False)
    shapes = {"kernel": (3, 3, 3, 2, 1)}
    made = layer("Conv3DTranspose", "odd", **how)
    (x,), got, net = output(tmp_path, [(4, 5, 3, 1)], made, {"odd": shapes})
    (weight,) = (p.data().asnumpy() for p in net.collect_params().values())
    kernel = weight[:, 0, ::-1, ::-1, ::-1]  # the layer convolves with the reversed kernel
    whole = np.zeros((len(x), 8, 9, 7, 2))
    for place in np.ndindex(3, 3, 3):
        at = tuple(slice(2 * i, 2 * i + n) for i, n in zip(place, x.shape[1:]))
        whole[(slice(None), *at)] += x * kernel[(slice(None), *place)]
    end = None if padding == "valid" else -2
    want = whole[:, before:end, before:end, before:end]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("version, rounds", [("2.15.0", False), ("3.3.3", True)])
def test_keras_3_rounds_whole_numbers_that_it_resizes(tmp_path, version, rounds):
    start, made = image(2, 2, 1), layer("Resizing", "resizing", "image", height=1, width=4)
    start["config"]["dtype"] = "uint8"
    config = {**functional(start, made), "keras_version": version}
    x = np.array([[0, 9], [1, 4]], "uint8").reshape((1, 1, 2, 2))
    want = np.array([0.5, 2, 5, 6.5])  # the center of both rows, not the first one
    found = load_model(write(tmp_path, config))(mx.nd.array(x, dtype="uint8")).asnumpy().ravel()
    np.testing.assert_allclose(found, np.round(want) if rounds else want, atol=1e-5)


def test_indices_keep_their_dtype(tmp_path):
    start = image(2)
    start["config"]["dtype"] = "int64"
    shaped = layer("Reshape", "shaped", "image", target_shape=[2, 1])
    encoding = layer(
        "IntegerLookup", "ids", "shaped", vocabulary=[10**10, 10**10 + 1], num_oov_indices=1
    )
    net = load_model(write(tmp_path, functional(start, shaped, encoding)))
    x = mx.nd.array(np.array([[10**10 + 1, 10**10 + 2]]), dtype="int64")
    assert net(x).asnumpy().ravel().tolist() == [2, 0]


@pytest.mark.parametrize("name, radius", [("lanczos3", 3), ("lanczos5", 5)])
def test_upsampling_by_lanczos_kernels(tmp_path, name, radius):
    def upsampled(n, times):
        places = (np.arange(n * times)[:, None] + 0.5) / times - np.arange(n) - 0.5
        weights = np.sinc(places) * np.sinc(places / radius) * (abs(places) < radius)
        return weights / weights.sum(1, keepdims=True)

    made = layer("UpSampling2D", "odd", size=[2, 3], interpolation=name)
    (x,), got, _ = output(tmp_path, [(7, 6, 2)], made)
    want = np.einsum("pi,qj,bijc->bpqc", upsampled(7, 2), upsampled(6, 3), x)
    np.testing.assert_allclose(got, want, atol=1e-5)
