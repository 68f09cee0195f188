"""Compare corrected models of keras-mxnet with TensorFlow's Keras."""

import json

import mxnet as mx
import numpy as np
import pytest

from gluon_same.keras_backend import mxnet_backend
from golden import keras_cases as cases
from helpers import FORMATS, GOLDEN, built, channels_first, predict, right

NAMES = list(cases.MODELS)


def open_model(keras, name, data_format):
    return built(keras, name, (None,) * len(cases.SIZES[name][0]), cases.CHANNELS[name], data_format)


def data_of(name, size):
    return cases.data((*size, cases.CHANNELS[name]))


def train(keras, model, name, data_format):
    """Return the losses of a few steps at the first size."""
    size = cases.SIZES[name][0]
    x, y = data_of(name, size), cases.data(GOLDEN[f"{name} {size}"].shape[1:], "labels")
    if data_format == "channels_first":
        x, y = channels_first(x), channels_first(y) if y.ndim > 2 else y
    model.compile(keras.optimizers.SGD(cases.RATE), "mse")
    return [model.train_on_batch(x, y) for _ in range(cases.STEPS)]


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_one_model_of_unknown_size_serves_odd_and_even_sizes(patched, name, data_format):
    model = open_model(patched, name, data_format)
    for size in (*cases.SIZES[name], cases.SIZES[name][0]):
        got = predict(model, data_of(name, size), data_format)
        assert right(got, GOLDEN[f"{name} {size}"]), size


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_models_of_known_size(patched, name, data_format):
    for size in cases.SIZES[name]:
        model = built(patched, name, size, cases.CHANNELS[name], data_format)
        got = predict(model, data_of(name, size), data_format)
        assert right(got, GOLDEN[f"{name} {size}"]), size
        assert (
            model.output_shape[1:]
            == model.predict(np.zeros((1, *model.input_shape[1:]), "float32")).shape[1:]
        )


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("known", [False, True], ids=["open", "known"])
@pytest.mark.parametrize("name", NAMES)
def test_training_follows_tensorflow(patched, name, known, data_format):
    size = cases.SIZES[name][0]
    if known:
        model = built(patched, name, size, cases.CHANNELS[name], data_format)
    else:
        model = open_model(patched, name, data_format)
    losses = train(patched, model, name, data_format)
    np.testing.assert_allclose(losses, GOLDEN[f"{name} losses"], rtol=1e-4)
    assert right(predict(model, data_of(name, size), data_format), GOLDEN[f"{name} trained"], 1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_one_model_of_unknown_size_learns_from_all_sizes(patched, name):
    model = open_model(patched, name, "channels_last")
    model.compile(patched.optimizers.SGD(0.001), "mse")
    for size in (*cases.SIZES[name], cases.SIZES[name][0]):
        x = data_of(name, size)
        out = model.predict(x)
        y = cases.data(out.shape[1:], "labels")
        want = np.mean((out - y) ** 2)
        np.testing.assert_allclose(model.test_on_batch(x, y), want, rtol=1e-4)
        np.testing.assert_allclose(model.train_on_batch(x, y), want, rtol=1e-4)
        assert model.test_on_batch(x, y) < want


@pytest.mark.parametrize("name", NAMES)
def test_stock_keras_mxnet_gets_the_models_wrong_or_refuses_them(keras, name):
    found = []
    for size in cases.SIZES[name]:
        try:
            model = built(keras, name, size, cases.CHANNELS[name])
            found.append(right(predict(model, data_of(name, size)), GOLDEN[f"{name} {size}"]))
        except Exception:  # any error means that it does not give the numbers
            found.append(False)
    assert not all(found)


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_model_saved_and_loaded(patched, name, data_format):
    # Keras serializes to a dict here, because its .h5 files require h5py 2 and so Python 3.8.
    model = open_model(patched, name, data_format)
    train(patched, model, name, data_format)
    size = cases.SIZES[name][1]
    want = predict(model, data_of(name, size), data_format)
    saving = patched.engine.saving
    loaded = saving.unpickle_model(saving.pickle_model(model))
    np.testing.assert_array_equal(predict(loaded, data_of(name, size), data_format), want)
    from_json = patched.models.model_from_json(model.to_json())
    from_json.set_weights(model.get_weights())
    np.testing.assert_array_equal(predict(from_json, data_of(name, size), data_format), want)


def exported(model, folder):
    """Return the graph and parameters that plain MXNet loads from ``save_mxnet_model``."""
    from keras.models import save_mxnet_model

    names, _ = save_mxnet_model(model, str(folder / "net"))
    symbol, arguments, states = mx.model.load_checkpoint(str(folder / "net"), 0)
    (name,) = names
    return mx.gluon.SymbolBlock(symbol[0], [mx.sym.var(name)]), {**arguments, **states}


def plain(block, parameters, x):
    for key, parameter in block.collect_params().items():
        parameter._load_init(parameters[key], mx.cpu())
    return block(mx.nd.array(x)).asnumpy()


@pytest.mark.parametrize("name", NAMES)
def test_exported_model_gives_the_same_numbers_in_plain_mxnet_at_every_size(patched, name, tmp_path):
    model = open_model(patched, name, "channels_last")
    model.compile("sgd", "mse")
    model.predict(data_of(name, cases.SIZES[name][0]))
    block, parameters = exported(model, tmp_path)
    for size in cases.SIZES[name]:
        got = plain(block, parameters, data_of(name, size))
        assert right(got, GOLDEN[f"{name} {size}"]), size
    nodes = json.loads((tmp_path / "net-symbol.json").read_text())["nodes"]
    assert not [n for n in nodes if "keras" in n["op"].lower()]


def test_exported_model_of_known_size_refuses_another(patched, tmp_path):
    size = cases.SIZES["convnet"][0]
    model = built(patched, "convnet", size, cases.CHANNELS["convnet"])
    model.compile("sgd", "mse")
    model.predict(data_of("convnet", size))
    block, parameters = exported(model, tmp_path)
    assert right(plain(block, parameters, data_of("convnet", size)), GOLDEN[f"convnet {size}"])
    with pytest.raises(mx.MXNetError, match="fixed_to_anyx16x12x3"):
        plain(block, parameters, data_of("convnet", (15, 13)))


@pytest.mark.parametrize("before", [False, True], ids=["after", "before"])
def test_function_of_known_size_refuses_another(keras, before):
    # Keras does not check the inputs of its functions. Inputs made before ``install()`` are checked,
    # too.
    from keras import backend as K

    def image():
        return keras.layers.Input((8, 8, 3))

    x = image() if before else None
    with mxnet_backend.installed():
        x = x if before else image()
        function = K.function([x], [keras.layers.Conv2D(4, 3, strides=2, padding="same")(x)])
        assert function([np.ones((2, 8, 8, 3))])[0].shape == (2, 4, 4, 4)
        with pytest.raises(RuntimeError, match="fixed_to_any"):
            function([np.ones((2, 9, 9, 3))])


def test_slice_of_an_unknown_size_is_not_taken_as_known(patched):
    from keras import backend as K

    x = patched.layers.Input((None, 8, 3))
    layer = patched.layers.Conv2D(4, 3, strides=2, padding="same")
    layer.build((None, 6, 8, 3))
    function = K.function([x], [layer.call(x[:, 0:6])])
    assert function([np.ones((2, 9, 8, 3))])[0].shape == (2, 3, 4, 4)
    with pytest.raises(RuntimeError, match="fixed_to_any"):
        function([np.ones((2, 5, 8, 3))])  # the slice keeps 5 rows


def test_recurrent_convolution(patched):
    # The shape of its first state has a wrong number of channels.
    layers = [("ConvLSTM2D", dict(filters=4, kernel_size=2, padding="same"))]
    model = cases.model_of(patched, layers, (3, 5, 6), 2)
    assert model.predict(cases.data((3, 5, 6, 2))).shape == (2, 5, 6, 4)


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize(
    "kind, ndim",
    [
        *(("Conv1D", 1), ("Conv2D", 2), ("Conv3D", 3), ("SeparableConv1D", 1), ("SeparableConv2D", 2)),
        *(("Conv2DTranspose", 2), ("Conv3DTranspose", 3)),
    ],
)
def test_weights_may_be_set_after_inference(patched, kind, ndim, data_format):
    # oneDNN changes the memory layout of kernels with many channels in place.
    arguments = dict(filters=32, kernel_size=3, use_bias=False)
    model = cases.model_of(patched, [(kind, arguments)], (6,) * ndim, 32, data_format)
    x = cases.data((6,) * ndim + (32,))
    before, weights = predict(model, x, data_format), model.get_weights()
    model.set_weights([2 * weights[0], *weights[1:]])
    after = predict(model, x, data_format)
    np.testing.assert_allclose(after, 2 * before, rtol=1e-3, atol=1e-3)
