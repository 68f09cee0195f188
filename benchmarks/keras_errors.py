"""Print the errors of stock keras-mxnet as a table in Markdown.

    python benchmarks/keras_errors.py [--all]

Each row is one layer of ``tests/golden/keras_cases.py``, computed by keras-mxnet 2.2.4.3 and compared
with TensorFlow's Keras 2.15 with the same weights. ``--all`` shows every wrong layer instead of one for
each kind of fault. After ``gluon_same.keras_backend.mxnet_backend.install()`` all results match, as
``tests/keras_backend/test_layers.py`` checks.
"""

import argparse
import os
import sys
import tempfile
import warnings
from pathlib import Path

from gluon_same.keras_backend import mxnet_backend

import numpy as np  # isort: skip  after gluon_same

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "keras_backend")]

from golden import keras_cases as cases  # noqa: E402
from helpers import GOLDEN, predict_case  # noqa: E402

SHOWN = (
    *("conv 2/1", "conv 3/2 even", "conv1d 3/2", "conv3d 2/1"),
    *("depthwise 3/2", "depthwise x2", "depthwise dilated", "separable1d 3"),
    *("transpose 3/2", "transpose valid +1", "transpose3d 3/2"),
    *("max 2/1", "max 3/2 even", "max1d 2/1"),
    *("average 2/1", "average 3/1", "average 3/2 even"),
)


def fault(keras, name):
    """Describe what keras-mxnet gives instead of Keras' output."""
    want = GOLDEN[name]
    try:
        model, got = predict_case(keras, name)
    except Exception as error:  # the error is the result
        return f"{type(error).__name__}"
    if got.shape != want.shape:
        return f"{cells(got.shape)}, but declares {cells(model.output_shape)}"
    apart = np.abs(got - want).max()
    if apart > 1e-5:
        return f"errors of up to {apart:.1f}, where values reach {np.abs(want).max():.1f}"
    if model.output_shape[1:] != got.shape[1:]:
        return f"{cells(got.shape)}, but declares {cells(model.output_shape)}"
    return "right"


def cells(shape):
    return "x".join(map(str, shape[1:]))


def call(name):
    kind, arguments = cases.layers_of(name)[0]
    told = ", ".join(f"{key}={value!r}" for key, value in arguments.items() if key != "filters")
    return f"`{kind}({told})`"


def rows(keras, names):
    yield "| layer | input | keras-mxnet 2.2.4.3 gives | Keras gives |"
    yield "| --- | --- | --- | --- |"
    for name in names:
        size = cells((None, *cases.shape_of(name)))
        yield f"| {call(name)} | {size} | {fault(keras, name)} | {cells(GOLDEN[name].shape)} |"
    layers = [("Conv2D", dict(filters=4, kernel_size=3, padding="same"))]
    try:
        model = cases.model_of(keras, layers, (None, None), 3)
        found = cells(model.output_shape)
    except Exception as error:  # the error is the result
        found = type(error).__name__
    yield f"| `Conv2D(kernel_size=3, padding='same')` | NonexNonex3 | {found} | NonexNonex4 |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every layer that is wrong")
    options = parser.parse_args()
    os.environ.setdefault("KERAS_HOME", tempfile.mkdtemp())
    with mxnet_backend.installed():
        import keras
    warnings.simplefilter("ignore")
    names = [name for name, *_ in cases.LAYERS if name in cases.WRONG] if options.all else SHOWN
    for row in rows(keras, names):
        print(row)


if __name__ == "__main__":
    main()
