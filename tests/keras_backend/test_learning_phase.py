"""Dropout and BatchNormalization of keras-mxnet in all ways to set the learning phase."""

import numpy as np
import pytest

from gluon_same.keras_backend import mxnet_backend

SIZES = {"row": (32,), "steps": (8, 4), "image": (4, 4, 2)}

#: Whether dropout is active, for each value of the phase.
PHASES = [(0, False), (1, True), (False, False), (np.bool_(True), True), (np.array(1), True)]


@pytest.fixture
def K(patched):
    """Return the backend, and restore its learning phase after the test."""
    from keras import backend

    found = backend.learning_phase()
    yield backend
    backend.set_learning_phase(found)


def inputs_and_dropout(keras, size, after, **call):
    """Return a tensor, the input itself or an identity of it, and its dropout of one half."""
    x = keras.layers.Input(SIZES[size])
    layers = {
        "input": lambda x: x,
        "activation": keras.layers.Activation("relu"),
        "model": keras.models.Model(x, keras.layers.Activation("relu")(x)),
        "pooling": keras.layers.MaxPooling2D(1, padding="same"),
    }
    return x, keras.layers.Dropout(0.5)(layers[after](x), **call)


def data(size):
    return np.ones((16, *SIZES[size]), "float32")


def is_dropped(out):
    """Return whether half of the ones are dropped and the others doubled; check that else none is."""
    assert set(np.unique(out)) in ({1.0}, {0.0, 2.0})
    return 0 in out


AFTER = [
    *(("row", "input"), ("row", "activation"), ("row", "model"), ("steps", "input")),
    *(("image", "input"), ("image", "pooling"), ("image", "model")),
]


@pytest.mark.parametrize("size, after", AFTER)
def test_function_uses_the_phase_it_receives(K, patched, size, after):
    x, y = inputs_and_dropout(patched, size, after)
    function = K.function([x, K.learning_phase()], [y])
    for phase, want in PHASES:
        assert is_dropped(function([data(size), phase])[0]) == want, phase


@pytest.mark.parametrize("size, after", AFTER)
def test_function_without_a_phase_uses_the_one_that_was_set(K, patched, size, after):
    x, y = inputs_and_dropout(patched, size, after)
    for phase in (0, 1):
        K.set_learning_phase(phase)
        function = K.function([x], [y])
        K.set_learning_phase(1 - phase)
        assert is_dropped(function([data(size)])[0]) == phase
        assert is_dropped(function([data(size), 1 - phase])[0]) != phase
        assert is_dropped(function([data(size)])[0]) == phase


def test_function_respects_the_phase_after_uninstall(keras):
    from keras import backend as K

    with mxnet_backend.installed():
        x, y = inputs_and_dropout(keras, "image", "input")
        function = K.function([x, K.learning_phase()], [y])
    assert [is_dropped(function([data("image"), phase])[0]) for phase in (0, 1)] == [False, True]


def test_function_of_several_outputs(K, patched):
    a, b = patched.layers.Input((32,)), patched.layers.Input((32,))
    outputs = [patched.layers.Dense(16)(a), patched.layers.Dropout(0.5)(b)]
    function = K.function([a, b, K.learning_phase()], outputs)
    x = np.random.RandomState(0).rand(10, 32)
    predicted, trained = function([x, x, 0]), function([x, x, 1])
    np.testing.assert_array_equal(predicted[0], trained[0])
    np.testing.assert_allclose(predicted[1], x, rtol=1e-6)
    assert is_dropped(trained[1] / predicted[1])


@pytest.mark.parametrize("size, after", AFTER)
def test_models_train_and_predict_in_the_right_phase(K, patched, size, after):
    x, y = inputs_and_dropout(patched, size, after)
    y = patched.layers.Dense(1, kernel_initializer="ones")(patched.layers.Reshape((32,))(y))
    model = patched.models.Model(x, y)
    ones, zeros = data(size), np.zeros((16, 1))
    whole = float(ones[0].size)
    np.testing.assert_array_equal(model.predict(ones), whole)
    model.compile(patched.optimizers.SGD(0.0), "mse")
    for phase in (0, 1):  # Keras' models set the phase themselves
        K.set_learning_phase(phase)
        np.testing.assert_array_equal(model.predict(ones), whole)
        assert model.test_on_batch(ones, zeros) == model.evaluate(ones, zeros, verbose=0) == whole**2
        assert model.train_on_batch(ones, zeros) != whole**2
        assert model.fit(ones, zeros, batch_size=16, verbose=0).history["loss"][0] != whole**2


def test_batch_normalization_uses_the_current_phase_and_weights(K, patched):
    x = patched.layers.Input((5,))
    y = patched.layers.BatchNormalization(epsilon=1e-5)(patched.layers.Dense(3)(x))
    model = patched.models.Model(x, y)
    model.compile("sgd", "mse")
    function = K.function([x, K.learning_phase()], [y])
    batch = np.random.RandomState(0).rand(16, 5)
    for _ in range(3):
        np.testing.assert_allclose(function([batch, 0])[0], model.predict(batch), rtol=1e-4, atol=1e-5)
        kernel, bias, _, beta = model.get_weights()[:4]  # keras-mxnet treats gamma as 1
        out = batch @ kernel + bias
        want = (out - out.mean(0)) / np.sqrt(out.var(0) + 1e-5) + beta
        np.testing.assert_allclose(function([batch, 1])[0], want, rtol=1e-3, atol=1e-3)
        model.train_on_batch(batch, np.ones((16, 3)))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("size, after", AFTER)
def test_training_argument_of_a_layer_applies_in_both_phases(K, patched, size, after, training):
    x, y = inputs_and_dropout(patched, size, after, training=training)
    function = K.function([x, K.learning_phase()], [y])
    for phase in (0, 1):
        assert is_dropped(function([data(size), phase])[0]) == training
    model = patched.models.Model(x, y)
    assert is_dropped(model.predict(data(size))) == training
    model.compile("sgd", "mse")
    assert is_dropped(model.predict(data(size))) == training
    for loss in (model.test_on_batch, model.train_on_batch):
        assert (loss(data(size), data(size)) > 0) == training
    outer = patched.layers.Input(SIZES[size])
    assert is_dropped(patched.models.Model(outer, model(outer)).predict(data(size))) == training


def test_training_argument_of_one_layer_does_not_affect_the_next(K, patched):
    x, y = inputs_and_dropout(patched, "row", "input", training=True)
    model = patched.models.Model(x, [y, patched.layers.Dropout(0.5)(x)])
    assert [is_dropped(out) for out in model.predict(data("row"))] == [True, False]


@pytest.mark.parametrize("size, after", AFTER)
def test_layers_built_in_the_inference_phase_do_not_drop(K, patched, size, after):
    K.set_learning_phase(0)
    x, y = inputs_and_dropout(patched, size, after)
    K.set_learning_phase(1)
    for phase in (0, 1):
        assert not is_dropped(K.function([x, K.learning_phase()], [y])([data(size), phase])[0])


def test_identity_keeps_tensors_of_unknown_size(K, patched):
    x = K.placeholder((None, None, 3))
    y = K.identity(x)
    assert K.ndim(y) == 3
    np.testing.assert_array_equal(K.function([x], [y])([np.ones((2, 5, 3))])[0], np.ones((2, 5, 3)))
    variable = K.variable(np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(K.eval(K.identity(variable)), K.eval(variable))


def test_a_level_that_is_no_probability_is_refused(K, patched):
    with pytest.raises(ValueError, match="`level` argument must be between 0 and 1.*level=2"):
        K.dropout(K.ones((2, 3)), 2)
