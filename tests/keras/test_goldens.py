"""Nets of load_model match Keras with the same files."""

import io
import zipfile
from zipfile import ZipFile

import h5py
import mxnet as mx
import numpy as np
import pytest

from gluon_same import summary
from gluon_same.keras import compare
from goldens import ARCHIVES, TOLERANCE, call, cases, differences, first_kind, of_each_model, stateless


def other_kinds(name, endings, ending):
    return "npz" in endings and not first_kind(name, endings, ending)


def has_training(archive, name):
    with ZipFile(archive) as packed, packed.open(name + ".npz") as file:
        return "trained target" in np.load(file).files


@pytest.mark.parametrize("archive, name, ending", cases(first_kind))
def test_channels_first(golden, archive, name, ending):
    model = golden(archive, name, ending)
    net = model.load()
    for hybridized in (False, True):
        net.hybridize(hybridized)
        net.reset_states()
        for inputs, outputs in model.runs():
            expected = {key: model.first(value) for key, value in outputs.items()}
            assert differences(call(net, map(model.first, inputs)), expected) == {}


@pytest.mark.parametrize("archive, name, ending", cases(first_kind))
def test_channels_last(golden, archive, name, ending):
    model = golden(archive, name, ending)
    if not model.last:
        pytest.skip("Keras has the channels first here")
    net = model.load("NHWC")
    net.hybridize()
    for inputs, outputs in model.runs():
        assert differences(call(net, inputs), outputs) == {}


@pytest.mark.parametrize("archive, name, ending", cases(other_kinds))
def test_every_kind_of_file(golden, archive, name, ending):
    model = golden(archive, name, ending)
    net = model.load()
    inputs, outputs = next(model.runs())
    expected = {key: model.first(value) for key, value in outputs.items()}
    assert differences(call(net, map(model.first, inputs)), expected) == {}


def floats_in(path):
    """Return how many numbers the weights of a file consist of."""
    if zipfile.is_zipfile(path):
        with ZipFile(path) as packed:
            path = io.BytesIO(packed.read("model.weights.h5"))
    found = []

    def count(name, item):
        if "optimizer" not in name and getattr(item, "dtype", np.dtype(int)).kind == "f":
            found.append(item.size)

    with h5py.File(path, "r") as file:
        file.visititems(count)
    return sum(found)


#: Models whose files contain numbers that no layer requires in inference.
LARGER = ("encodings", "locally_connected", "spectral_normalization")


@pytest.mark.parametrize(
    "archive, name, ending",
    [case for case in of_each_model(cases(stateless)) if case.values[1] not in LARGER],
)
def test_summary_counts_the_numbers_in_the_file(golden, archive, name, ending):
    model = golden(archive, name, ending)
    inputs, _ = next(model.runs())
    found = summary(model.load(), *(model.first(each).shape for each in inputs))
    weights = model.path[1] if isinstance(model.path, tuple) else model.path
    assert found.total_params == floats_in(weights)


TRAINED = [
    pytest.param(*case.values, id=case.id)
    for case in cases(first_kind)
    if has_training(*case.values[:2])
]


@pytest.mark.parametrize("archive, name, ending", TRAINED)
def test_training(golden, archive, name, ending):
    """Compare losses and outputs of a few steps, also with frozen layers and inner inference."""
    model = golden(archive, name, ending)
    net = model.load()
    inputs, _ = next(model.runs())
    data, target = (
        mx.nd.array(each) for each in (model.first(inputs[0]), model.arrays["trained target"])
    )
    parameters = {key: p for key, p in net.collect_params().items() if p.grad_req != "null"}
    trainer = mx.gluon.Trainer(parameters, "sgd", dict(learning_rate=0.05))
    losses = []
    for _ in model.arrays["trained losses"]:
        with mx.autograd.record():
            loss = ((net(data) - target) ** 2).mean()
        loss.backward()
        losses.append(loss.asscalar())
        trainer.step(1)
    np.testing.assert_allclose(losses, model.arrays["trained losses"], rtol=1e-4)
    np.testing.assert_allclose(net(data).asnumpy(), model.arrays["trained output"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "archive, name, ending",
    cases(lambda name, endings, ending: "activations.npz" in endings and ending == "keras"),
)
def test_every_layer_gives_what_keras_layer_does(golden, archive, name, ending):
    model = golden(archive, name, ending)
    net = model.load()
    path = model.path.replace(".keras", ".activations.npz")
    found = compare(net, path, TOLERANCE)
    assert found.first is None
    # The layers of an inner model are compared in its first call.
    assert all("/" in name and name.endswith("#1") for name in found.not_compared)
    with np.load(path) as arrays:
        layers = [key for key in arrays.files if not key.startswith("input:")]
    assert len(found.rows) == len(layers) - len(found.not_compared)


@pytest.mark.parametrize(
    "archive",
    [each for each in ARCHIVES if each.stem in ("keras2.15", "keras3")],
    ids=lambda archive: archive.stem,
)
def test_all_that_is_refused_is_in_one_error(golden, archive):
    model = golden(archive, "refused", "h5" if "2.15" in archive.name else "keras")
    with pytest.raises(ValueError) as error:
        model.load()
    for words in ("inside", "secret", "Lambda", "resize"):
        assert words in str(error.value)
