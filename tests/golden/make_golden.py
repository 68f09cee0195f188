"""Make golden.npz: TensorFlow's numbers with padding='SAME', for test_golden.py.

TensorFlow requires a separate environment, because it requires another NumPy than MXNet::

    python3.11 -m venv /tmp/tf && /tmp/tf/bin/pip install tensorflow-cpu==2.15.1
    /tmp/tf/bin/python tests/golden/make_golden.py

Inputs are whole numbers, small enough for exact sums in float32. Therefore outputs depend neither on the
order of summation nor on the machine, except for the rounding of one division in averages. The data are
distinct, so that maxima are unique, and negative, so that a zero of the padding would change the
maximum.
"""

import json
import math
import os
from itertools import product
from pathlib import Path
from zlib import crc32

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"  # see check_kernels()

import numpy as np

try:
    import tensorflow as tf
except ImportError:
    if __name__ == "__main__":
        raise
    tf = None  # pytest also imports this file

TARGET = Path(__file__).with_name("golden.npz")

KERNELS = {
    1: [(k,) for k in range(1, 8)],
    2: [(k, k) for k in range(1, 8)] + [(4, 1), (1, 4), (2, 3), (3, 2)],
    3: [(k, k, k) for k in range(1, 5)] + [(4, 1, 1), (1, 4, 2), (2, 3, 1)],
}
STRIDES = {
    1: [(s,) for s in range(1, 5)],
    2: [(s, s) for s in range(1, 5)] + [(1, 2), (2, 1), (2, 3)],
    3: [(s, s, s) for s in range(1, 5)] + [(1, 2, 2), (2, 1, 3)],
}
# Largest number of elements along an axis; smaller for kinds with a larger output.
LARGEST = {1: 13, 2: 11, 3: 6}
LARGEST_TRANSPOSED = {1: 13, 2: 8, 3: 3}
STEP = (7, 5, 4)  # steps from window to window, size to size and axis to axis; see size_of()
CHANNELS = [(3, 2), (1, 3), (2, 2)]  # channels of the data and of the output


def windows(ndim, every, start=0):
    """Return a sample of the pairs (kernel, stride), and all windows with gaps between them."""
    pairs = list(product(KERNELS[ndim], STRIDES[ndim]))[start::every]
    gaps = [((k,) * ndim, (4,) * ndim) for k in (1, 2, 3)]
    return sorted({*pairs, *gaps})


def size_of(ndim, largest, number, turn):
    """Return a size for the window with this number; all sizes from 1 to the largest occur."""
    of_window, of_turn, of_axis = STEP
    first = of_window * number + of_turn * turn
    return tuple(1 + (first + of_axis * axis) % largest for axis in range(ndim))


def cases_of(kind, ndim, pairs, sizes=None, dilations=None, channels=None, groups=1):
    """Return the cases of one kind, with two sizes for each window: ``sizes``, or a sample of all.

    A case contains the window, the channels-first shapes ``in``, ``weight`` and (from store()) ``out``,
    and whether gradients are stored.
    """
    largest = (LARGEST_TRANSPOSED if kind == "transposed" else LARGEST)[ndim]
    for (number, (kernel, stride)), turn in product(enumerate(pairs), (0, 1)):
        inputs, outputs = channels or CHANNELS[number % len(CHANNELS)]
        weight = (inputs, outputs) if kind == "transposed" else (outputs, inputs // groups)
        size = sizes[turn] if sizes else size_of(ndim, largest, number, turn)
        yield {
            "kind": kind,
            "kernel": kernel,
            "stride": stride,
            "dilation": dilations[number % len(dilations)] if dilations else (1,) * ndim,
            "groups": groups,
            "in": (1 + (number + turn) % 2, inputs, *size),
            "weight": None if kind in ("max", "avg") else (*weight, *kernel),
            "gradient": (number + 3 * turn) % 9 == 0,
        }


def all_cases():
    for ndim, every in ((1, 1), (2, 5), (3, 5)):
        yield from cases_of("convolution", ndim, windows(ndim, every))
    for ndim, every in ((1, 3), (2, 6), (3, 7)):
        yield from cases_of("transposed", ndim, windows(ndim, every))
    for ndim, every in ((1, 1), (2, 4), (3, 7)):
        yield from cases_of("max", ndim, windows(ndim, every, start=1))
    for ndim, every in ((1, 3), (2, 4), (3, 7)):
        yield from cases_of("avg", ndim, windows(ndim, every, start=2))
    for kind, ndim in product(("max", "avg"), (1, 2, 3)):
        halving = [((k,) * ndim, (2,) * ndim) for k in (2, 4)]
        yield from cases_of(kind, ndim, halving, sizes=[(1,) * ndim, (2,) * ndim])

    # TensorFlow does not support strides with dilation.
    for ndim, dilations in (
        (1, [(2,), (3,)]),
        (2, [(2, 2), (3, 1), (1, 2)]),
        (3, [(2, 2, 2), (1, 2, 3)]),
    ):
        pairs = [(kernel, (1,) * ndim) for kernel in KERNELS[ndim][1:]]
        yield from cases_of("dilated", ndim, pairs, dilations=dilations)

    # TensorFlow's depthwise kernel without oneDNN requires equal strides.
    depthwise = [pair for pair in windows(2, 8) if len(set(pair[1])) == 1]
    yield from cases_of("grouped", 2, depthwise, channels=(2, 4), groups=2)
    at_once = [(kernel, (1, 1)) for kernel in ((2, 2), (3, 3), (4, 4))]
    yield from cases_of("grouped", 2, at_once, dilations=[(2, 2)], channels=(3, 3), groups=3)
    for ndim, every in ((1, 9), (2, 17), (3, 17)):
        yield from cases_of("grouped", ndim, windows(ndim, every), channels=(4, 2), groups=2)


def whole(shape, low, high):
    """Return whole numbers from low to high that depend only on the shape."""
    generator = np.random.RandomState(crc32(repr((shape, low, high)).encode()))
    return generator.randint(low, high + 1, shape).astype("float32")


def distinct(shape):
    """Return each of -1, -2, ... once, in random order."""
    generator = np.random.RandomState(crc32(repr(shape).encode()))
    return (-1.0 - generator.permutation(math.prod(shape)).reshape(shape)).astype("float32")


def channels_last(x):
    return tf.transpose(x, (0, *range(2, len(x.shape)), 1))


def channels_first(x):
    return tf.transpose(x, (0, len(x.shape) - 1, *range(1, len(x.shape) - 1)))


def compute(case, data, weight):
    """Return TensorFlow's output; data and output are channels first."""
    out = FUNCTIONS[case["kind"]](case, channels_last(data), weight)
    return channels_first(out)


def convolution(case, data, weight):
    # (first, second, *kernel) to (*kernel, second, first), also for transposed convolutions.
    weight = tf.transpose(weight, (*range(2, len(weight.shape)), 1, 0))
    stride, dilation, groups = list(case["stride"]), list(case["dilation"]), case["groups"]
    if case["kind"] == "transposed":
        transposed = (tf.nn.conv1d_transpose, tf.nn.conv2d_transpose, tf.nn.conv3d_transpose)
        size = [n * s for n, s in zip(data.shape[1:-1], stride)]
        shape = [data.shape[0], *size, weight.shape[-2]]
        return transposed[len(stride) - 1](data, weight, shape, stride, padding="SAME")
    if len(stride) == 2 and groups == data.shape[-1] > 1:
        weight = tf.reshape(weight, (*case["kernel"], groups, -1))
        return tf.nn.depthwise_conv2d(data, weight, [1, *stride, 1], padding="SAME", dilations=dilation)
    # Compute other groups one by one, because not all CPU kernels support groups.
    pairs = zip(tf.split(data, groups, axis=-1), tf.split(weight, groups, axis=-1))
    layout = ("NWC", "NHWC", "NDHWC")[len(stride) - 1]  # required by the gradient in 3-D
    outs = [tf.nn.convolution(x, w, stride, "SAME", layout, dilation) for x, w in pairs]
    return tf.concat(outs, axis=-1)


def pooling(case, data, weight):
    function = {
        "max": (tf.nn.max_pool1d, tf.nn.max_pool2d, tf.nn.max_pool3d),
        "avg": (tf.nn.avg_pool1d, tf.nn.avg_pool2d, tf.nn.avg_pool3d),
    }[case["kind"]][len(case["kernel"]) - 1]
    return function(data, list(case["kernel"]), list(case["stride"]), "SAME")


FUNCTIONS = {
    "convolution": convolution,
    "dilated": convolution,
    "grouped": convolution,
    "transposed": convolution,
    "max": pooling,
    "avg": pooling,
}


def store(case, number, arrays):
    """Compute a case, and store its arrays and the shape of its output."""
    data = tf.constant(share(arrays, "data", case["in"], distinct))
    weight = None
    if case["weight"]:
        weight = tf.constant(share(arrays, "weight", case["weight"], lambda s: whole(s, -4, 4)))
    sources = [data] if weight is None else [data, weight]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        out = compute(case, data, weight)
    case["out"] = tuple(out.shape)
    arrays[f"out {number}"] = out.numpy()
    if case["gradient"]:
        cotangent = share(arrays, "cotangent", case["out"], lambda s: whole(s, -3, 3))
        gradients = tape.gradient(out, sources, output_gradients=tf.constant(cotangent))
        for name, gradient in zip(("data", "weight"), gradients):
            arrays[f"{name} gradient {number}"] = gradient.numpy()


def share(arrays, name, shape, make):
    """Return the array with this name and shape; make it at the first call."""
    key = f"{name} {'x'.join(map(str, shape))}"
    if key not in arrays:
        arrays[key] = make(shape)
    return arrays[key]


def worked_examples():
    """Return the output sizes of Keras' layers for examples that users of Gluon asked about."""
    for kind, kernel, stride, size, steps in (
        ("convolution", (4, 1), (1, 1), (100, 20), 1),
        ("max", (2, 2), (2, 2), (30, 30), 1),
        ("max", (2, 2), (2, 2), (28, 28), 3),
        ("avg", (2, 2), (2, 2), (28, 28), 3),
    ):
        if kind == "convolution":
            layer = tf.keras.layers.Conv2D(1, kernel, stride, padding="same")
        else:
            pool = {"max": tf.keras.layers.MaxPool2D, "avg": tf.keras.layers.AveragePooling2D}[kind]
            layer = pool(kernel, stride, padding="same")
        x = tf.zeros((1, *size, 1))
        chain = [size]
        for _ in range(steps):
            x = layer(x)
            chain.append(tuple(x.shape[1:3]))
        yield {"kind": kind, "kernel": kernel, "stride": stride, "sizes": chain}


def check_kernels():
    """Raise an error if TensorFlow's 3-D kernels do not follow its documented rule.

    CPU kernels without oneDNN do not clamp the padding at zero. If the last window ends two or more
    elements before the end of the axis, their windows start too late. The 1-D and 2-D kernels and those
    of XLA and oneDNN follow the rule.
    """
    counting = tf.reshape(tf.range(6.0), (1, 6, 1, 1, 1))
    taken = tf.nn.max_pool3d(counting, 1, (3, 1, 1), "SAME").numpy().ravel().tolist()
    if taken != [0.0, 3.0]:
        raise RuntimeError(f"one in three of 0..5 gives {taken}: use a TensorFlow that has oneDNN")


def main():
    check_kernels()
    arrays = {}
    cases = list(all_cases())
    for number, case in enumerate(cases):
        store(case, number, arrays)
    counting = tf.reshape(tf.range(25.0), (1, 5, 5, 1))
    arrays["counting max 2x2"] = tf.nn.max_pool2d(counting, 2, 1, "SAME")[0, :, :, 0].numpy()
    np.savez_compressed(
        TARGET,
        cases=np.array(json.dumps(cases)),
        worked=np.array(json.dumps(list(worked_examples()))),
        tensorflow=np.array(tf.__version__),
        **arrays,
    )
    gradients = sum(case["gradient"] for case in cases)
    print(f"{len(cases)} cases, {gradients} with gradients: {TARGET.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
