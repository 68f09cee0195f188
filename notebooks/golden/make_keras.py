"""Make keras.npz: results of Keras with padding='same', with which the notebooks compare.

TensorFlow requires another NumPy than MXNet, and therefore a separate environment::

    python3.11 -m venv /tmp/tf && /tmp/tf/bin/pip install tensorflow-cpu==2.15.1
    /tmp/tf/bin/python notebooks/golden/make_keras.py

For each case in ``inputs.py``, the file contains the layer's output by name. For the Keras model, it
contains the table (JSON), the numbers of parameters, a sample of the output, and the mean of each
channel. The models are in ``keras_cnn.keras`` and ``classifier.keras``. ``classifier.npz`` contains the
output of each layer of the latter.
"""

import json
import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import inputs
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

TARGET = Path(__file__).with_name("keras.npz")


def compute(case):
    """Return the output of one layer."""
    x = tf.constant(inputs.data(case))
    if case.kind == "conv":
        layer = layers.Conv2D(1, case.kernel, case.stride, padding="same", use_bias=False)
        layer.build(x.shape)
        layer.set_weights([inputs.weight(case)])
    else:
        pool = layers.MaxPooling2D if case.kind == "max" else layers.AveragePooling2D
        layer = pool(case.kernel, case.stride, padding="same")
    return layer(x).numpy()


def keras_cnn():
    """Build the model of 38,960 parameters."""
    return tf.keras.Sequential(
        [
            layers.Input((32, 32, 3)),
            layers.Conv2D(64, 3, padding="valid", name="conv2d"),
            layers.BatchNormalization(axis=1, name="batch_normalization"),
            layers.Activation("relu", name="activation"),
            layers.Dropout(0.3, name="dropout"),
            layers.Conv2D(64, 3, padding="same", name="conv2d_1"),
            layers.BatchNormalization(axis=1, name="batch_normalization_1"),
            layers.Activation("relu", name="activation_1"),
            layers.MaxPooling2D(2, padding="same", name="max_pooling2d"),
        ]
    )


def classifier():
    """Build a small model of several kinds of layers, for every input size."""
    return tf.keras.Sequential(
        [
            layers.Input((None, None, 3)),
            layers.Conv2D(8, 3, strides=2, padding="same", activation="relu6", name="conv"),
            layers.DepthwiseConv2D(4, padding="same", depth_multiplier=2, name="depthwise"),
            layers.BatchNormalization(name="norm"),
            layers.MaxPooling2D(2, strides=1, padding="same", name="pool"),
            layers.GlobalAveragePooling2D(name="average"),
            layers.Dense(3, activation="softmax", name="dense"),
        ]
    )


def save_classifier():
    """Save the model and the output of each of its layers."""
    random = np.random.RandomState(0)
    model = classifier()
    model.set_weights(
        [random.uniform(0.1, 1, w.shape) - 0.4 * (w.ndim > 1) for w in model.get_weights()]
    )
    model.save(TARGET.with_name("classifier.keras"))
    x = random.uniform(size=(1, 16, 15, 3)).astype("float32")
    probe = tf.keras.Model(model.inputs, [layer.output for layer in model.layers])
    outputs = dict(zip([layer.name for layer in model.layers], probe.predict(x, verbose=0)))
    np.savez_compressed(TARGET.with_name("classifier.npz"), **{"input:0": x}, **outputs)


def main():
    save_classifier()
    found = {name: compute(case) for name, case in inputs.CASES.items()}
    model = keras_cnn()
    for name, weights in inputs.keras_cnn_weights().items():
        model.get_layer(name).set_weights(weights)
    model.save(TARGET.with_name("keras_cnn.keras"))
    out = model(inputs.keras_cnn_images(), training=False).numpy()
    rows = [(x.name, type(x).__name__, x.output_shape[1:], x.count_params()) for x in model.layers]
    trainable = sum(int(np.prod(w.shape)) for w in model.trainable_weights)
    found.update(
        {
            "keras_cnn rows": json.dumps(rows),
            "keras_cnn parameters": [model.count_params(), trainable],
            "keras_cnn shape": out.shape,
            "keras_cnn sample": out[:, ::2, ::2, ::8],
            "keras_cnn means": out.mean(axis=(0, 1, 2)),
            "version": tf.__version__,
        }
    )
    np.savez_compressed(TARGET, **found)


if __name__ == "__main__":
    main()
