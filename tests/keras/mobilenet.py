"""A small MobileNet as Keras builds it, in a file that is written without Keras.

    python tests/keras/mobilenet.py FOLDER

writes the files of notebook 5.
"""

import sys
from pathlib import Path

import h5py
import numpy as np
from small_models import functional, image, layer, write

#: Channels and strides of the blocks of MXNet's ``MobileNet`` for a multiplier of 1/32.
BLOCKS = [(2, 1), (4, 2), (4, 1), (8, 2), (8, 1), (16, 2), *[(16, 1)] * 5, (32, 2), (32, 1)]


def mobilenet(folder, classes=5, size=64, **norm):
    """Write the files of a MobileNet, and return the path for load_model.

    As in ``keras.applications``, strided depthwise convolutions follow a ZeroPadding2D, activations are
    ReLU6, the last layer is a 1x1 convolution, and a softmax ends the model.
    """
    layers, shapes, before = [image(size, size, 3)], {}, "image"

    def add(kind, name, weights=(), **config):
        nonlocal before
        layers.append(layer(kind, name, before, **config))
        if weights:
            shapes[name] = weights
        before = name

    def normalized(name, channels):
        arrays = dict.fromkeys(("gamma", "beta", "moving_mean", "moving_variance"), (channels,))
        add("BatchNormalization", f"{name}_bn", arrays, axis=[3], **norm)
        add("ReLU", f"{name}_relu", max_value=6.0)

    plain = dict(use_bias=False, kernel_size=[3, 3])
    add("Conv2D", "conv1", {"kernel": (3, 3, 3, 1)}, filters=1, strides=[2, 2], padding="same", **plain)
    normalized("conv1", 1)
    given = 1
    for number, (channels, stride) in enumerate(BLOCKS, 1):
        name, padding = f"conv_dw_{number}", "same" if stride == 1 else "valid"
        if stride == 2:
            add("ZeroPadding2D", f"conv_pad_{number}", padding=[[0, 1], [0, 1]])
        weights = {"depthwise_kernel": (3, 3, given, 1)}
        add("DepthwiseConv2D", name, weights, strides=[stride] * 2, padding=padding, **plain)
        normalized(name, given)
        weights = {"kernel": (1, 1, given, channels)}
        config = dict(filters=channels, kernel_size=[1, 1], use_bias=False, padding="same")
        add("Conv2D", f"conv_pw_{number}", weights, **config)
        normalized(f"conv_pw_{number}", channels)
        given = channels
    add("GlobalAveragePooling2D", "pool", keepdims=True)
    add("Dropout", "dropout", rate=0.001)
    weights = {"kernel": (1, 1, given, classes), "bias": (classes,)}
    add("Conv2D", "conv_preds", weights, filters=classes, kernel_size=[1, 1], padding="same")
    add("Reshape", "reshape", target_shape=[classes])
    add("Activation", "predictions", activation="softmax")
    text, path = write(folder, functional(*layers, name="mobilenet"), **shapes)
    random = np.random.RandomState(0)
    with h5py.File(path, "r+") as file:
        for name, arrays in shapes.items():
            for role, shape in arrays.items():
                file[f"{name}/{name}/{role}:0"][...] = _values(random, role, shape)
    return text, path


def _values(random, role, shape):
    """Return random values: small variances, for which epsilon matters, and results that exceed 6."""
    if role == "moving_variance":
        return random.uniform(0.002, 0.01, shape)
    if role == "gamma":
        return random.uniform(1, 4, shape)
    return random.normal(size=shape) * (0.1 if role in ("moving_mean", "bias") else 0.5)


if __name__ == "__main__":
    files = mobilenet(Path(sys.argv[1]))
    for file in map(Path, files):
        file.rename(
            file.with_name(file.name.replace("config", "mobilenet").replace("model", "mobilenet"))
        )
