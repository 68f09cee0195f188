"""Make keras.npz: the numbers of TensorFlow's Keras for the layers and models of keras_cases.py.

It requires a separate environment, as make_golden.py does::

    python3.11 -m venv /tmp/tf && /tmp/tf/bin/pip install tensorflow-cpu==2.15.1
    /tmp/tf/bin/python tests/golden/make_keras_golden.py
"""

import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"  # as in make_golden.py

import numpy as np

try:
    import keras_cases as cases
    import tensorflow as tf
except ImportError:
    if __name__ == "__main__":
        raise
    tf = None  # pytest also imports this file

TARGET = Path(__file__).with_name("keras.npz")


def built(name, size, channels):
    model = cases.model_of(tf.keras, cases.layers_of(name), size, channels)
    for layer, weights in zip(model.layers, cases.weights(model)):
        layer.set_weights(weights)
    return model


def outputs(name):
    """Return the outputs of a model at each of its sizes, and after training at the first."""
    channels = cases.CHANNELS[name]
    model = built(name, (None,) * len(cases.SIZES[name][0]), channels)
    for size in cases.SIZES[name]:
        x = cases.data((*size, channels))
        yield f"{name} {size}", model.predict(x, verbose=0)
    size = cases.SIZES[name][0]
    x = cases.data((*size, channels))
    y = cases.data(model.predict(x, verbose=0).shape[1:], "labels")
    model.compile(tf.keras.optimizers.SGD(cases.RATE), "mse")
    losses = [model.train_on_batch(x, y) for _ in range(cases.STEPS)]
    yield f"{name} losses", np.array(losses, "float32")
    yield f"{name} trained", model.predict(x, verbose=0)


def gradients(name, shape):
    """Return the gradients of a layer with respect to its input and its kernels, flattened."""
    (layer,) = built(name, shape[:-1], shape[-1]).layers[1:]
    x = tf.constant(cases.distinct(shape))
    with tf.GradientTape() as tape:
        tape.watch(x)
        out = layer(x)
    inputs = [x, *(v for v in layer.trainable_variables if "kernel" in v.name)]
    slopes = tf.constant(cases.whole(out.shape, "slopes"))
    return [g.numpy() for g in tape.gradient(out, inputs, output_gradients=slopes)]


def main():
    arrays = {"tensorflow": np.array(tf.__version__)}
    for name, _, _, shape in cases.LAYERS:
        model = built(name, shape[:-1], shape[-1])
        arrays[name] = model.predict(cases.data(shape), verbose=0)
        for number, gradient in enumerate(gradients(name, shape)):
            arrays[f"{name} gradient {number}"] = gradient
    for name in cases.MODELS:
        arrays.update(outputs(name))
    np.savez_compressed(TARGET, **arrays)
    print(f"{len(arrays)} arrays: {TARGET.stat().st_size / 1024:.0f} KiB")
    for name in cases.MODELS:
        print(name, arrays[f"{name} losses"], np.ptp(arrays[f"{name} trained"]))


if __name__ == "__main__":
    main()
