"""Whole numbers above 2**24, such as identifiers, which float32 rounds."""

import mxnet as mx
import numpy as np
import pytest
from small_models import functional, image, layer, write

from gluon_same.keras import load_model

X = np.array([[2**24 + 1, 2**26 + 3, 5], [2**25 + 1, 7, 2**24 + 3]], "int32")
SELF = ["image", 0, 0]
LARGE = 2**24 + 2


def start():
    made = image(3)
    made["config"]["dtype"] = "int32"
    return made


def outputs(folder, made):
    net = load_model(write(folder, functional(start(), made)))
    for hybridize in (False, True):
        net.hybridize(hybridize)
        out = net(mx.nd.array(X, dtype="int32"))
        yield (out[0] if isinstance(out, list) else out).asnumpy()


@pytest.mark.parametrize(
    "name, first, arguments, want",
    [
        ("stack", [SELF, SELF], {"axis": 1}, np.stack([X, X], 1).transpose((0, 2, 1))),
        ("where", SELF, {"x": SELF, "y": 2**26 + 1}, np.where(X, X, 2**26 + 1)),
        ("clip_by_value", SELF, {"clip_value_min": 6, "clip_value_max": LARGE}, X.clip(6, LARGE)),
        ("sort", SELF, {"axis": -1}, np.sort(X)),
        ("math.top_k", SELF, {"k": 2}, -np.sort(-X)[:, :2]),
        ("math.cumsum", SELF, {"axis": 1}, np.cumsum(X, 1, "int32")),
        ("math.square", SELF, {}, X * X),
        ("math.pow", SELF, {"y": 3}, X * X * X),
        ("pad", SELF, {"paddings": [[0, 0], [1, 0]]}, np.pad(X, [(0, 0), (1, 0)])),
    ],
)
def test_functions_keep_every_digit(tmp_path, name, first, arguments, want):
    made = layer("TFOpLambda", "out", function=name)
    calls = first if isinstance(first[0], list) else [first]
    made["inbound_nodes"] = [[[*each, arguments] for each in calls]]
    for got in outputs(tmp_path, made):
        assert got.dtype == want.dtype and got.tolist() == want.tolist()


@pytest.mark.parametrize(
    "kind, want",
    [("Add", X + X), ("Subtract", X - X), ("Multiply", X * X), ("Maximum", X), ("Minimum", X)],
)
def test_layers_keep_every_digit(tmp_path, kind, want):
    made = layer(kind, "out")
    made["inbound_nodes"] = [[[*SELF, {}], [*SELF, {}]]]
    for got in outputs(tmp_path, made):
        assert got.dtype == want.dtype and got.tolist() == want.tolist()


def test_powers_that_are_not_products_are_refused(tmp_path):
    made = layer("TFOpLambda", "out", function="math.pow")
    made["inbound_nodes"] = [[[*SELF, {"y": SELF}]]]
    with pytest.raises(ValueError, match="power of whole numbers, unless by a number from 1 to 63"):
        load_model(write(tmp_path, functional(start(), made)))
