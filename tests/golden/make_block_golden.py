"""Make blocks.npz: TensorFlow's numbers for depthwise and separable layers and a small net.

TensorFlow requires a separate environment, because it requires another NumPy than MXNet::

    python3.11 -m venv /tmp/tf && /tmp/tf/bin/pip install tensorflow-cpu==2.15.1
    /tmp/tf/bin/python tests/golden/make_block_golden.py

Data and weights are whole numbers that depend only on their shapes, and small enough for exact sums in
float32. Data are channels last here, as in Keras.
"""

import os
from pathlib import Path
from zlib import crc32

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"  # as in make_golden.py

import numpy as np

try:
    import tensorflow as tf
except ImportError:
    if __name__ == "__main__":
        raise
    tf = None  # pytest also imports this file

TARGET = Path(__file__).with_name("blocks.npz")

#: (class, arguments by their names in Keras, shape of the data without its batch)
LAYERS = [
    ("DepthwiseConv1D", dict(kernel_size=3, padding="same"), (10, 3)),
    ("DepthwiseConv1D", dict(kernel_size=4, strides=2, padding="same", depth_multiplier=2), (11, 3)),
    ("DepthwiseConv1D", dict(kernel_size=2, strides=3, depth_multiplier=3), (10, 2)),
    ("DepthwiseConv1D", dict(kernel_size=3, padding="same", dilation_rate=2, use_bias=False), (9, 3)),
    ("DepthwiseConv2D", dict(kernel_size=3, padding="same"), (7, 8, 3)),
    ("DepthwiseConv2D", dict(kernel_size=3, strides=2, padding="same", depth_multiplier=2), (8, 9, 3)),
    ("DepthwiseConv2D", dict(kernel_size=(4, 1), strides=2, padding="same"), (7, 8, 3)),
    ("DepthwiseConv2D", dict(kernel_size=(2, 3), depth_multiplier=4, activation="relu"), (7, 8, 2)),
    ("DepthwiseConv2D", dict(kernel_size=2, padding="same", dilation_rate=3), (8, 9, 3)),
    ("DepthwiseConv2D", dict(kernel_size=3, strides=2, padding="same"), (8, 9, 1)),
    ("SeparableConv1D", dict(filters=4, kernel_size=4, strides=2, padding="same"), (11, 3)),
    ("SeparableConv1D", dict(filters=4, kernel_size=3, padding="causal", dilation_rate=2), (10, 3)),
    ("SeparableConv1D", dict(filters=2, kernel_size=3, padding="causal", strides=2), (10, 3)),
    ("SeparableConv2D", dict(filters=4, kernel_size=3, strides=2, padding="same"), (8, 9, 3)),
    (
        "SeparableConv2D",
        dict(filters=5, kernel_size=2, padding="same", depth_multiplier=2, activation="relu"),
        (8, 9, 3),
    ),
    ("SeparableConv2D", dict(filters=4, kernel_size=3, use_bias=False), (7, 8, 3)),
]

#: Layers of a net, as LAYERS without shapes. With stock layers, an author would pad them by half the
#: window.
NET = [
    ("Conv2D", dict(filters=4, kernel_size=7, strides=2, padding="same")),
    ("MaxPooling2D", dict(pool_size=3, strides=2, padding="same")),
    ("Conv2D", dict(filters=4, kernel_size=3, padding="same")),
    ("DepthwiseConv2D", dict(kernel_size=3, strides=2, padding="same")),
    ("AveragePooling2D", dict(pool_size=3, strides=1, padding="same")),
    ("Conv2DTranspose", dict(filters=3, kernel_size=3, strides=2, padding="same")),
    ("MaxPooling2D", dict(pool_size=2, strides=2)),
]
SIZES = [(40, 41), (33, 38), (37, 31)]

RELU6 = [-7.0, -1e-8, 0.0, 1e-8, 1e-3, 3.3, 5.9999995, 6.0, 6.0000005, 7.0, 1e9, np.inf, -np.inf]


def draw(shape, what="data"):
    """Return whole numbers from -3 to 3 that depend only on the shape and the word."""
    seed = crc32(f"{what} {tuple(shape)}".encode())
    return np.random.RandomState(seed).randint(-3, 4, shape).astype("float32")


def built(layers, channels):
    model = tf.keras.Sequential([tf.keras.layers.InputLayer(channels)])
    for kind, arguments in layers:
        model.add(getattr(tf.keras.layers, kind)(**arguments))
    for layer in model.layers:
        layer.set_weights([draw(w.shape, f"weight {i}") for i, w in enumerate(layer.get_weights())])
    return model


def main():
    arrays = {"tensorflow": np.array(tf.__version__)}
    for number, (kind, arguments, shape) in enumerate(LAYERS):
        model = built([(kind, arguments)], shape)
        arrays[f"layer {number}"] = model.predict(draw((2, *shape)), verbose=0)
    model = built(NET, (None, None, 3))
    for size in SIZES:
        arrays[f"net {size}"] = model.predict(draw((1, *size, 3)), verbose=0)
    x = tf.Variable(np.array(RELU6, "float32"))
    with tf.GradientTape() as tape:
        y = tf.nn.relu6(x)
    arrays["relu6"], arrays["relu6 gradient"] = y.numpy(), tape.gradient(y, x).numpy()
    np.savez_compressed(TARGET, **arrays)
    print(f"{len(arrays)} arrays: {TARGET.stat().st_size / 1024:.0f} KiB")
    print(arrays["relu6"], arrays["relu6 gradient"])


if __name__ == "__main__":
    main()
