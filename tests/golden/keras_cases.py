"""Layers and models whose TensorFlow results are in keras.npz, for any Keras 2 to build.

This module imports only NumPy. make_keras_golden.py builds the cases with TensorFlow's Keras; the tests
and the table of keras-mxnet's errors build them with keras-mxnet. Data and weights depend only on their
shapes, so they are the same everywhere.
"""

from zlib import crc32

import numpy as np

#: (name, class, arguments, channels-last shape of the input without its batch). WRONG lists those for
#: which stock keras-mxnet 2.2.4.3 does not give Keras' numbers.
LAYERS = [
    ("conv 3/1", "Conv2D", dict(filters=4, kernel_size=3, padding="same"), (8, 9, 3)),
    ("conv 2/1", "Conv2D", dict(filters=4, kernel_size=2, padding="same"), (8, 9, 3)),
    ("conv 4x1", "Conv2D", dict(filters=4, kernel_size=(4, 1), padding="same"), (8, 9, 3)),
    ("conv 3/2 even", "Conv2D", dict(filters=4, kernel_size=3, strides=2, padding="same"), (8, 8, 3)),
    ("conv 3/2 odd", "Conv2D", dict(filters=4, kernel_size=3, strides=2, padding="same"), (9, 9, 3)),
    ("conv 1/2", "Conv2D", dict(filters=4, kernel_size=1, strides=2, padding="same"), (8, 9, 3)),
    (
        "conv 3 dilated",
        "Conv2D",
        dict(filters=4, kernel_size=3, dilation_rate=2, padding="same"),
        (8, 9, 3),
    ),
    (
        "conv 2 dilated",
        "Conv2D",
        dict(filters=4, kernel_size=2, dilation_rate=3, padding="same"),
        (8, 9, 3),
    ),
    ("conv valid", "Conv2D", dict(filters=4, kernel_size=3, strides=2), (8, 9, 3)),
    ("conv1d 3/2", "Conv1D", dict(filters=4, kernel_size=3, strides=2, padding="same"), (10, 3)),
    ("conv1d 4/1", "Conv1D", dict(filters=4, kernel_size=4, padding="same"), (11, 3)),
    (
        "conv1d causal",
        "Conv1D",
        dict(filters=4, kernel_size=3, dilation_rate=2, padding="causal"),
        (10, 3),
    ),
    ("conv1d causal/2", "Conv1D", dict(filters=4, kernel_size=3, strides=2, padding="causal"), (10, 3)),
    ("conv3d 2/1", "Conv3D", dict(filters=2, kernel_size=2, padding="same"), (4, 5, 4, 2)),
    ("conv3d 3/2", "Conv3D", dict(filters=2, kernel_size=3, strides=2, padding="same"), (4, 5, 4, 2)),
    ("depthwise 3/1", "DepthwiseConv2D", dict(kernel_size=3, padding="same"), (8, 9, 3)),
    ("depthwise 3/2", "DepthwiseConv2D", dict(kernel_size=3, strides=2, padding="same"), (8, 8, 3)),
    (
        "depthwise x2",
        "DepthwiseConv2D",
        dict(kernel_size=3, depth_multiplier=2, padding="same"),
        (8, 9, 3),
    ),
    ("depthwise dilated", "DepthwiseConv2D", dict(kernel_size=3, dilation_rate=2), (8, 9, 3)),
    (
        "separable 3/2",
        "SeparableConv2D",
        dict(filters=4, kernel_size=3, strides=2, padding="same"),
        (8, 9, 3),
    ),
    (
        "separable x2",
        "SeparableConv2D",
        dict(filters=4, kernel_size=2, depth_multiplier=2, padding="same"),
        (8, 9, 3),
    ),
    ("separable1d 3", "SeparableConv1D", dict(filters=4, kernel_size=3, padding="same"), (10, 3)),
    (
        "separable1d 4/2",
        "SeparableConv1D",
        dict(filters=4, kernel_size=4, strides=2, padding="same"),
        (11, 3),
    ),
    (
        "transpose 3/2",
        "Conv2DTranspose",
        dict(filters=4, kernel_size=3, strides=2, padding="same"),
        (4, 5, 3),
    ),
    (
        "transpose 2/2",
        "Conv2DTranspose",
        dict(filters=4, kernel_size=2, strides=2, padding="same"),
        (4, 5, 3),
    ),
    (
        "transpose 4/2",
        "Conv2DTranspose",
        dict(filters=4, kernel_size=4, strides=2, padding="same"),
        (4, 5, 3),
    ),
    ("transpose 3/1", "Conv2DTranspose", dict(filters=4, kernel_size=3, padding="same"), (4, 5, 3)),
    ("transpose valid", "Conv2DTranspose", dict(filters=4, kernel_size=3, strides=2), (4, 5, 3)),
    ("transpose 1/2 valid", "Conv2DTranspose", dict(filters=4, kernel_size=1, strides=2), (4, 5, 3)),
    (
        "transpose 3/2 +0",
        "Conv2DTranspose",
        dict(filters=4, kernel_size=3, strides=2, padding="same", output_padding=0),
        (4, 5, 3),
    ),
    (
        "transpose 5/3 +1",
        "Conv2DTranspose",
        dict(filters=4, kernel_size=5, strides=3, padding="same", output_padding=1),
        (4, 5, 3),
    ),
    (
        "transpose 4/3 +2",
        "Conv2DTranspose",
        dict(filters=4, kernel_size=4, strides=3, padding="same", output_padding=2),
        (4, 5, 3),
    ),
    (
        "transpose valid +1",
        "Conv2DTranspose",
        dict(filters=4, kernel_size=3, strides=2, output_padding=1),
        (4, 5, 3),
    ),
    (
        "transpose3d 3/2",
        "Conv3DTranspose",
        dict(filters=2, kernel_size=3, strides=2, padding="same"),
        (2, 3, 2, 2),
    ),
    ("max 2/1", "MaxPooling2D", dict(pool_size=2, strides=1, padding="same"), (8, 9, 3)),
    ("max 2/2 odd", "MaxPooling2D", dict(pool_size=2, padding="same"), (7, 9, 3)),
    ("max 3/2 even", "MaxPooling2D", dict(pool_size=3, strides=2, padding="same"), (8, 8, 3)),
    ("max 3/2, 20 channels", "MaxPooling2D", dict(pool_size=3, strides=2, padding="same"), (8, 9, 20)),
    ("max 3/1", "MaxPooling2D", dict(pool_size=3, strides=1, padding="same"), (8, 9, 3)),
    ("max valid", "MaxPooling2D", dict(pool_size=3, strides=2), (8, 9, 3)),
    ("max1d 2/1", "MaxPooling1D", dict(pool_size=2, strides=1, padding="same"), (10, 3)),
    ("max1d 3/2", "MaxPooling1D", dict(pool_size=3, strides=2, padding="same"), (10, 3)),
    ("max3d 2/1", "MaxPooling3D", dict(pool_size=2, strides=1, padding="same"), (4, 5, 4, 2)),
    ("max3d 3/2", "MaxPooling3D", dict(pool_size=3, strides=2, padding="same"), (4, 5, 4, 2)),
    ("average 2/1", "AveragePooling2D", dict(pool_size=2, strides=1, padding="same"), (8, 9, 3)),
    ("average 2/2 odd", "AveragePooling2D", dict(pool_size=2, padding="same"), (7, 9, 3)),
    ("average 3/1", "AveragePooling2D", dict(pool_size=3, strides=1, padding="same"), (8, 9, 3)),
    ("average 3/2 even", "AveragePooling2D", dict(pool_size=3, strides=2, padding="same"), (8, 8, 3)),
    ("average1d 3/2", "AveragePooling1D", dict(pool_size=3, strides=2, padding="same"), (10, 3)),
    ("average3d 2/2", "AveragePooling3D", dict(pool_size=2, padding="same"), (5, 5, 4, 2)),
]

#: Layers for which stock keras-mxnet 2.2.4.3 fails, or gives other numbers or shapes.
WRONG = {
    *("conv 2/1", "conv 4x1", "conv 3/2 even", "conv 2 dilated"),
    *("conv1d 3/2", "conv1d 4/1", "conv3d 2/1", "conv3d 3/2"),
    *("depthwise 3/2", "depthwise x2", "depthwise dilated"),
    *("separable 3/2", "separable x2", "separable1d 3", "separable1d 4/2"),
    *("transpose 3/2", "transpose 4/2", "transpose 3/1", "transpose 1/2 valid", "transpose 3/2 +0"),
    *("transpose 5/3 +1", "transpose 4/3 +2", "transpose valid +1", "transpose3d 3/2"),
    *("max 2/1", "max 2/2 odd", "max 3/2 even", "max 3/2, 20 channels"),
    *("max1d 2/1", "max1d 3/2", "max3d 2/1", "max3d 3/2"),
    *("average 2/1", "average 2/2 odd", "average 3/1", "average 3/2 even"),
    *("average1d 3/2", "average3d 2/2"),
}

BATCH = 2

#: Sizes at which each model runs. The model is trained at the first.
SIZES = {
    "convnet": [(16, 12), (15, 13), (9, 16)],
    "autoencoder": [(12, 8), (28, 28), (11, 9)],
    "separable": [(16, 12), (15, 13), (8, 11)],
    "sequence": [(16,), (13,), (10,)],
    "volume": [(6, 4, 8), (5, 7, 4)],
}
CHANNELS = {"convnet": 3, "autoencoder": 1, "separable": 3, "sequence": 3, "volume": 2}
STEPS, RATE = 3, 0.02


def convnet(layer):
    return [
        layer("Conv2D", filters=8, kernel_size=3, strides=2, padding="same", activation="relu"),
        layer("Conv2D", filters=8, kernel_size=4, padding="same"),
        layer("MaxPooling2D", pool_size=3, strides=2, padding="same"),
        # Frozen, with a gamma of 1, because keras-mxnet treats every gamma as a constant 1.
        layer("BatchNormalization", trainable=False),
        layer("Activation", activation="relu"),
        layer("Conv2D", filters=6, kernel_size=2, padding="same"),
        layer("AveragePooling2D", pool_size=2, strides=1, padding="same"),
    ]


def autoencoder(layer):
    coded = []
    for filters in (8, 4, 4):
        coded.append(layer("Conv2D", filters=filters, kernel_size=3, activation="relu", padding="same"))
        coded.append(layer("MaxPooling2D", pool_size=(2, 2), padding="same"))
    for filters in (4, 8):
        coded.append(layer("Conv2D", filters=filters, kernel_size=3, activation="relu", padding="same"))
        coded.append(layer("UpSampling2D", size=(2, 2)))
    last = layer("Conv2D", filters=1, kernel_size=3, activation="sigmoid", padding="same")
    return [*coded, last]


def separable(layer):
    return [
        layer("SeparableConv2D", filters=8, kernel_size=3, depth_multiplier=2, padding="same"),
        layer("DepthwiseConv2D", kernel_size=3, strides=2, padding="same", activation="relu"),
        layer("SeparableConv2D", filters=8, kernel_size=2, strides=2, padding="same"),
        layer("Conv2DTranspose", filters=6, kernel_size=3, strides=2, padding="same"),
        layer("GlobalAveragePooling2D"),
        layer("Dense", units=4),
    ]


def sequence(layer):
    return [
        layer("Conv1D", filters=6, kernel_size=3, dilation_rate=2, padding="causal", activation="relu"),
        layer("SeparableConv1D", filters=6, kernel_size=4, strides=2, padding="same"),
        layer("MaxPooling1D", pool_size=3, strides=2, padding="same"),
        layer("AveragePooling1D", pool_size=2, strides=1, padding="same"),
    ]


def volume(layer):
    return [
        layer("Conv3D", filters=4, kernel_size=3, strides=2, padding="same", activation="relu"),
        layer("MaxPooling3D", pool_size=2, strides=1, padding="same"),
        layer("Conv3DTranspose", filters=3, kernel_size=3, strides=2, padding="same"),
        layer("AveragePooling3D", pool_size=3, strides=2, padding="same"),
    ]


MODELS = {f.__name__: f for f in (convnet, autoencoder, separable, sequence, volume)}

#: Layers without channels, or with another argument for the channels.
FORMATLESS = {"Dense", "Activation", "BatchNormalization"}


def model_of(keras, layers, size, channels, data_format="channels_last"):
    """Build a model of layers (class, arguments) in a data format; entries of ``size`` may be None."""
    first = data_format == "channels_first"
    x = inputs = keras.layers.Input((channels, *size) if first else (*size, channels))
    for kind, arguments in layers:
        if kind == "BatchNormalization":
            arguments = dict(arguments, axis=1 if first else -1)
        elif kind not in FORMATLESS:
            arguments = dict(arguments, data_format=data_format)
        x = getattr(keras.layers, kind)(**arguments)(x)
    return keras.models.Model(inputs, x)


def layers_of(name):
    """Return the layers of a model, or the single layer of a case, as (class, arguments)."""
    if name in MODELS:
        return MODELS[name](lambda kind, **arguments: (kind, arguments))
    return [next((kind, arguments) for n, kind, arguments, _ in LAYERS if n == name)]


def shape_of(name):
    return next(shape for n, _, _, shape in LAYERS if n == name)


def whole(shape, key):
    """Return whole numbers from -4 to 4 that depend only on the shape and the key."""
    generator = np.random.RandomState(crc32(repr((tuple(shape), key)).encode()))
    return generator.randint(-4, 5, shape).astype("float32")


def data(shape, key="data"):
    return whole((BATCH, *shape), key)


def distinct(shape):
    """Return distinct whole numbers, so that every maximum is at one place."""
    count = int(np.prod((BATCH, *shape)))
    order = np.random.RandomState(crc32(repr(tuple(shape)).encode())).permutation(count)
    return (order - count // 2).reshape((BATCH, *shape)).astype("float32")


def weights(model):
    """Return weights for each layer of a channels-last model: whole numbers over a power of two."""
    drawn = [
        [weight(array.shape, number) for array in layer.get_weights()]
        for number, layer in enumerate(model.layers)
    ]
    for layer, arrays in zip(model.layers, drawn):
        if type(layer).__name__ == "BatchNormalization":
            arrays[0] = np.ones_like(arrays[0])
    return drawn


def weight(shape, number):
    """Return a weight of the layer with this number."""
    # The weights are small enough for deep nets. Positive biases and variances keep ReLUs active.
    drawn = whole(shape, f"weight {number}")
    return np.abs(drawn) / 8 + 0.125 if len(shape) == 1 else drawn / 16
