"""Time stock keras-mxnet against corrected keras-mxnet, on the same models in one run.

    python benchmarks/keras_backend.py [--format channels_first] [--filter conv] [--repeats 30]
        [--csv FILE]

Each row is one model, built with stock keras-mxnet 2.2.4.3 and again after
``gluon_same.keras_backend.mxnet_backend.install()``. The two take turns. *predict* is one forward pass
of the bound module, *train* one ``train_on_batch``. The table shows the ratios of their medians,
corrected over stock, and whether the numbers of stock keras-mxnet are right or wrong.
"""

import argparse
import csv
import os
import statistics
import sys
import tempfile
import time
import warnings
from contextlib import nullcontext

from gluon_same.keras_backend import mxnet_backend

import mxnet as mx  # isort: skip  after gluon_same, which prepares NumPy for it
import numpy as np

BATCH, STOCK = 4, {True: "right", False: "wrong"}


def conv(filters, kernel, stride=1, rank=2):
    return (f"Conv{rank}D", dict(filters=filters, kernel_size=kernel, strides=stride, padding="same"))


def pool(kind, size, stride):
    return (f"{kind}Pooling2D", dict(pool_size=size, strides=stride, padding="same"))


def depthwise(kernel, stride=1):
    return ("DepthwiseConv2D", dict(kernel_size=kernel, strides=stride, padding="same"))


def separable(filters):
    return ("SeparableConv2D", dict(filters=filters, kernel_size=3, padding="same"))


def net():
    for filters in (32, 64, 128):
        yield conv(filters, 3)
        yield ("Activation", dict(activation="relu"))
        yield pool("Max", 3, 2)


def autoencoder():
    for filters in (32, 16):
        yield from (conv(filters, 3), pool("Max", 2, 2))
    for filters in (16, 32):
        yield from (conv(filters, 3), ("UpSampling2D", dict(size=2)))
    yield conv(1, 3)


#: (name, layers, size without batch, channels last, whether stock keras-mxnet has the right numbers)
ROWS = [
    ("conv 3/1, 64>64 at 56", [conv(64, 3)], (56, 56, 64), True),
    ("conv 5/1, 32>32 at 56", [conv(32, 5)], (56, 56, 32), True),
    ("conv 3/2, 64>128 at 57", [conv(128, 3, 2)], (57, 57, 64), True),
    ("conv 7/2, 3>64 at 225", [conv(64, 7, 2)], (225, 225, 3), True),
    ("conv 1d 3/1, 64>64 at 1000", [conv(64, 3, rank=1)], (1000, 64), True),
    ("conv 3d 3/1, 16>16 at 24", [conv(16, 3, rank=3)], (24, 24, 24, 16), True),
    ("depthwise 3/1, 128 at 56", [depthwise(3)], (56, 56, 128), True),
    ("separable 3/1, 64>128 at 56", [separable(128)], (56, 56, 64), True),
    ("max 3/1, 64 at 28", [pool("Max", 3, 1)], (28, 28, 64), True),
    ("max 3/2, 64 at 57", [pool("Max", 3, 2)], (57, 57, 64), True),
    ("max 2/2, 64 at 56", [pool("Max", 2, 2)], (56, 56, 64), True),
    ("net of conv 3/1 and max 3/2, at 65", list(net()), (65, 65, 3), True),
    ("autoencoder, at 64", list(autoencoder()), (64, 64, 1), True),
    ("conv 2/1, 64>64 at 56", [conv(64, 2)], (56, 56, 64), False),
    ("conv 4/1, 64>64 at 56", [conv(64, 4)], (56, 56, 64), False),
    ("conv 3/2, 64>128 at 56", [conv(128, 3, 2)], (56, 56, 64), False),
    ("conv 7/2, 3>64 at 224", [conv(64, 7, 2)], (224, 224, 3), False),
    ("conv 1d 4/1, 64>64 at 1000", [conv(64, 4, rank=1)], (1000, 64), False),
    ("depthwise 3/2, 128 at 56", [depthwise(3, 2)], (56, 56, 128), False),
    ("average 3/1, 64 at 28", [pool("Average", 3, 1)], (28, 28, 64), False),
    ("average 3/2, 64 at 56", [pool("Average", 3, 2)], (56, 56, 64), False),
    ("max 3/2, 64 at 56", [pool("Max", 3, 2)], (56, 56, 64), False),
    ("net of conv 3/1 and max 3/2, at 64", list(net()), (64, 64, 3), False),
]


def build(keras, layers, shape, data_format):
    """Return a compiled model, and the two functions to time."""
    shape = shape if data_format == "channels_last" else (shape[-1], *shape[:-1])
    x = inputs = keras.layers.Input(shape)
    for kind, arguments in layers:
        told = {} if kind == "Activation" else {"data_format": data_format}
        x = getattr(keras.layers, kind)(**arguments, **told)(x)
    model = keras.models.Model(inputs, x)
    model.compile("sgd", "mse")
    data = np.random.RandomState(0).randn(BATCH, *shape).astype("float32")
    out = model.predict_on_batch(data)
    module = model._module._curr_module
    batch = mx.io.DataBatch([mx.nd.array(data)])

    def predict():
        module.forward(batch, is_train=False)
        module.get_outputs()[0].wait_to_read()

    def train():
        model.train_on_batch(data, out)
        mx.nd.waitall()

    return model, out, predict, train


def medians(contenders, repeats):
    """Run the contenders in turns, and return the median milliseconds of each."""
    times = [[] for _ in contenders]
    for turn in range(repeats + 3):
        for contender, found in zip(contenders, times):
            start = time.perf_counter()
            contender()
            if turn >= 3:
                found.append(1000 * (time.perf_counter() - start))
    return [statistics.median(found) for found in times]


def compare(keras, row, data_format, repeats):
    """Return the milliseconds of predict and train, each for stock and corrected keras-mxnet."""
    name, layers, shape, alike = row
    stock, before, *timed = build(keras, layers, shape, data_format)
    with mxnet_backend.installed():
        ours, _, *timed_ours = build(keras, layers, shape, data_format)
    ours.set_weights(stock.get_weights())
    data = np.random.RandomState(0).randn(BATCH, *stock.input_shape[1:]).astype("float32")
    after = ours.predict_on_batch(data)
    same = before.shape == after.shape and np.allclose(before, after, rtol=1e-3, atol=1e-3)
    if same != alike:
        raise RuntimeError(f"{name}: the numbers are {'' if same else 'not '}those of stock keras-mxnet")
    predict = medians([timed[0], timed_ours[0]], repeats)
    if before.shape[1:] != stock.output_shape[1:]:
        return predict, None
    # Train one model at a time, because Keras sends the weights to the model that was compiled last.
    return predict, medians([timed[1], timed_ours[1]], max(repeats // 3, 5))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    formats = ["channels_last", "channels_first"]
    parser.add_argument("--format", nargs="+", default=formats, choices=formats)
    parser.add_argument("--filter", default="", help="only rows whose name contains this")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--csv", metavar="FILE", help="write the table to a file")
    options = parser.parse_args()
    os.environ.setdefault("KERAS_HOME", tempfile.mkdtemp())
    with mxnet_backend.installed():
        import keras
    warnings.simplefilter("ignore")
    with open(options.csv, "w", newline="") if options.csv else nullcontext(sys.stdout) as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["format", "model", "stock", "predict", "train"])
        for data_format in options.format:
            found = {True: ([], []), False: ([], [])}
            for row in ROWS:
                if options.filter not in row[0]:
                    continue
                pairs = compare(keras, row, data_format, options.repeats)
                ratios = [pair and pair[1] / pair[0] for pair in pairs]
                for every, ratio in zip(found[row[3]], ratios):
                    every += [ratio] * (ratio is not None)
                cells = ["" if ratio is None else f"{ratio:.4f}" for ratio in ratios]
                table.writerow([data_format, row[0], STOCK[row[3]], *cells])
                file.flush()
            for right, lists in found.items():
                means = [f"{statistics.geometric_mean(every):.2f}" for every in lists if every]
                print(f"{data_format}, stock {STOCK[right]}: geometric means {', '.join(means)}")


if __name__ == "__main__":
    main()
