"""Layers that reorder axes give the same numbers for unknown sizes as for known ones."""

import threading

import numpy as np
import pytest

from gluon_same.keras_backend import mxnet_backend

DATA = np.random.RandomState(0).normal(size=(2, 6, 4, 6, 3)).astype(np.float32)


def models(layers, *shapes):
    """Return one model for each input shape, all with the weights of the first."""
    from keras.models import Sequential

    found = [Sequential(layers(shape)) for shape in shapes]
    for model in found[1:]:
        model.set_weights(found[0].get_weights())
    return found


def test_time_distributed_convolution(patched):
    from keras.layers import Conv2D, TimeDistributed

    def layers(shape):
        return [TimeDistributed(Conv2D(4, 3, strides=2, padding="same"), input_shape=shape)]

    fixed, free = models(layers, (6, 4, 6, 3), (6, None, None, 3))
    np.testing.assert_allclose(free.predict(DATA), fixed.predict(DATA), rtol=1e-5, atol=1e-6)
    assert free.output_shape == (None, 6, None, None, 4)
    shorter = DATA[:1, :, :3, :5]
    assert free.predict(shorter).shape == (1, 6, 2, 3, 4)


@pytest.mark.parametrize("shape", [(9, None), (None, None), (None, 3)])
def test_pooling_over_one_axis(patched, shape):
    from keras.layers import MaxPooling1D

    def layers(shape):
        return [MaxPooling1D(2, 2, padding="same", input_shape=shape)]

    fixed, free = models(layers, (9, 3), shape)
    x = DATA.reshape(-1, 9, 3)
    np.testing.assert_array_equal(free.predict(x), fixed.predict(x))


def test_zero_padding_over_one_axis(patched):
    from keras.layers import ZeroPadding1D

    fixed, free = models(lambda shape: [ZeroPadding1D(2, input_shape=shape)], (9, 3), (None, 3))
    x = DATA.reshape(-1, 9, 3)
    np.testing.assert_array_equal(free.predict(x), fixed.predict(x))
    assert fixed.predict(x).shape == (len(x), 13, 3)


def test_a_reshape_that_moves_unknown_sizes_is_refused(patched):
    from keras import backend as K

    x = K.placeholder((None, 6, None, 3))
    with pytest.raises(ValueError, match="`shape` argument has unknown sizes.*shape=.-1, None, 6, 3"):
        K.reshape(x, (-1, None, 6, 3))


@pytest.mark.parametrize(
    "have, shape, bound, want",
    [
        ((None, 3, 3, 1), (None, None, None, None), (5, 3, 3, 1), (5, 3, 3, 1)),
        ((None, 3, 3, 1), (None, None, 3), (5, 3, 3, 1), (5, 3, 3)),
        ((None, None, 3), (None, 2, None), (5, 2, 3), (5, 2, 3)),
        ((None, 4, None), (None, None, 2, 3), (5, 4, 6), (5, 4, 2, 3)),
    ],
)
def test_a_reshape_may_declare_known_sizes_unknown(patched, have, shape, bound, want):
    from keras import backend as K

    x = K.placeholder(have)
    data = np.random.RandomState(0).rand(*bound).astype("float32")
    (out,) = K.function([x], [K.reshape(x, shape)])([data])
    np.testing.assert_array_equal(out, data.reshape(want))


def test_contexts_of_two_threads_may_overlap(keras):
    inside, done, seen = threading.Event(), threading.Event(), []

    def first():
        with mxnet_backend.installed():
            inside.wait()
        done.set()

    thread = threading.Thread(target=first)
    thread.start()
    with mxnet_backend.installed():
        inside.set()
        done.wait()
        seen.append(mxnet_backend.is_installed())
    thread.join()
    assert seen == [True] and not mxnet_backend.is_installed()
