"""Darknet files for YOLOv3-tiny: the configuration, and weights from a seeded generator."""

import struct

import numpy as np

ANCHORS = "10,14,  23,27,  37,58,  81,82,  135,169,  344,319"
#: Filters and size of each convolution of the feature extractor, and the stride of the next pooling.
FEATURES = [(16, 3, 2), (32, 3, 2), (64, 3, 2), (128, 3, 2), (256, 3, 2), (512, 3, 1), (1024, 3, None)]


def features_cfg(size=416):
    """Return the configuration of the feature extractor."""
    sections = [f"[net]\nwidth={size}\nheight={size}\nchannels=3"]
    for filters, kernel, pool in FEATURES:
        sections.append(_convolutional(filters, kernel))
        if pool:
            sections.append(f"[maxpool]\nsize=2\nstride={pool}")
    return "\n\n".join(sections) + "\n"


def yolov3_tiny_cfg(size=416, classes=80):
    """Return the configuration of the detector."""
    raw = _convolutional(3 * (5 + classes), 1, normalized=False)
    return "\n\n".join(
        [
            features_cfg(size).strip(),
            _convolutional(256, 1),
            _convolutional(512, 3),
            raw,
            _yolo("3,4,5", classes),
            "[route]\nlayers = -4",
            _convolutional(128, 1),
            "[upsample]\nstride=2",
            "[route]\nlayers = -1, 8",
            _convolutional(256, 3),
            raw,
            _yolo("0,1,2", classes) + "\n",
        ]
    )


def _convolutional(filters, kernel, normalized=True):
    lines = ["[convolutional]"] + ["batch_normalize=1"] * normalized
    lines += [f"filters={filters}", f"size={kernel}", "stride=1", "pad=1"]
    return "\n".join([*lines, "activation=" + ("leaky" if normalized else "linear")])


def _yolo(mask, classes):
    # The threshold is low because OpenCV returns 0 for scores below it.
    return f"[yolo]\nmask = {mask}\nanchors = {ANCHORS}\nclasses={classes}\nnum=6\nthresh=1e-6"


def features_shapes():
    """Return the shape of the weights of each convolution, and whether it is normalized."""
    channels = [3] + [filters for filters, _, _ in FEATURES]
    return [((out, into, 3, 3), True) for into, out in zip(channels, channels[1:])]


def yolov3_tiny_shapes(classes=80):
    raw = 3 * (5 + classes)
    return features_shapes() + [
        ((256, 1024, 1, 1), True),
        ((512, 256, 3, 3), True),
        ((raw, 512, 1, 1), False),
        ((128, 256, 1, 1), True),
        ((256, 128 + 256, 3, 3), True),
        ((raw, 256, 1, 1), False),
    ]


def random_weights(shapes, seed=0):
    """Return the arrays of each convolution in the order of the file.

    The numbers keep activations near 1. The smallest variances are 1e-3, so that the epsilon of the
    normalization affects the results.
    """
    random = np.random.RandomState(seed)
    layers = []
    for shape, normalized in shapes:
        filters, fan_in = shape[0], np.prod(shape[1:])
        weights = random.normal(size=shape, scale=np.sqrt(2 / fan_in))
        if normalized:
            beta, mean = random.normal(size=(2, filters), scale=0.1)
            gamma = random.uniform(0.5, 1.5, size=filters)
            variance = 10 ** random.uniform(-3, 0, size=filters)
            weights *= np.sqrt(variance).reshape(-1, 1, 1, 1)
            arrays = [beta, gamma, mean * np.sqrt(variance), variance, weights]
        else:
            arrays = [random.normal(size=filters, scale=0.1), weights / 2]
        layers.append([array.astype("<f4") for array in arrays])
    return layers


def header(minor=2, seen=32013312):
    """Return the header of version 0.1 or 0.2, whose count of images has 4 or 8 bytes."""
    return struct.pack("<3i" + ("q" if minor >= 2 else "i"), 0, minor, 0, seen)


def file_of(layers, minor=2):
    """Return the bytes of a ``.weights`` file."""
    return header(minor) + b"".join(array.tobytes() for layer in layers for array in layer)
