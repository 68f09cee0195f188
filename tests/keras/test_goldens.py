"""Nets of load_model match Keras with the same files (README.md describes them)."""

import io
import zipfile
from pathlib import Path
from zipfile import ZipFile

import h5py
import mxnet as mx
import numpy as np
import pytest

from gluon_same import deploy, summary
from gluon_same.keras import compare, load_model
from gluon_same.onnx import export_model

ARCHIVES = sorted(Path(__file__).parent.glob("keras*.zip"))
TOLERANCE = 1e-5  # of the largest value of an output


def stems(archive):
    """Return the files of an archive by model: ``{'conv2d': ['h5', 'npz']}``."""
    found = {}
    with ZipFile(archive) as packed:
        for member in packed.namelist():
            name, ending = member.split(".", 1)
            found.setdefault(name, []).append(ending)
    return found


def cases(wanted=lambda name, endings, ending: "npz" in endings):
    """Return one parameter for each selected weights file: archive, model, ending."""
    return [
        pytest.param(archive, name, ending, id=f"{archive.stem}-{name}-{ending}")
        for archive in ARCHIVES
        for name, endings in stems(archive).items()
        for ending in endings
        if not ending.endswith(("npz", "json")) and wanted(name, endings, ending)
    ]


def first_kind(name, endings, ending):
    """Return one file of each model that has arrays."""
    return "npz" in endings and ending == min(set(endings) - {"npz", "json"}, key=len)


def other_kinds(name, endings, ending):
    return "npz" in endings and not first_kind(name, endings, ending)


def stateless(name, endings, ending):
    """Return one file of each model that computes a function of its inputs."""
    return first_kind(name, endings, ending) and name != "stateful"


def has_training(archive, name):
    with ZipFile(archive) as packed, packed.open(name + ".npz") as file:
        return "trained target" in np.load(file).files


class Scale(mx.gluon.HybridBlock):
    """The custom layer of ``custom.keras``."""

    def __init__(self, power, factor, offset):
        super().__init__()
        self.power = power
        with self.name_scope():
            for name, array in (("factor", factor), ("offset", offset)):
                parameter = self.params.get(name, shape=(1, len(array), 1, 1))
                parameter.initialize()
                parameter.set_data(mx.nd.array(array.reshape(parameter.shape)))
                setattr(self, name, parameter)

    def hybrid_forward(self, F, x, factor, offset):
        return F.broadcast_add(F.broadcast_mul(x**self.power, factor), offset)


def build_scale(config, arrays):
    return Scale(config["power"], *arrays)


class Golden:
    """A model's file, unpacked, with its arrays."""

    def __init__(self, archive, name, ending, folder):
        with ZipFile(archive) as packed:
            members = [each for each in packed.namelist() if each.split(".")[0] == name]
            packed.extractall(folder, members)
        self.last = not name.startswith("channels_first")
        self.custom = {"Scale": build_scale} if name == "custom" else None
        path = str(folder / f"{name}.{ending}")
        pair = ending in ("weights.h5", "legacy.h5")
        self.path = (str(folder / f"{name}.json"), path) if pair else path
        if (folder / f"{name}.npz").exists():
            with np.load(folder / f"{name}.npz") as arrays:
                self.arrays = dict(arrays)

    def load(self, layout="NCHW"):
        return load_model(self.path, layout=layout, custom=self.custom)

    def runs(self):
        """Yield the inputs and outputs of each run, as lists and as dicts by layer."""
        for run in range(9):
            start = f"run {run} input "
            inputs = [value for key, value in self.arrays.items() if key.startswith(start)]
            start = f"run {run} output "
            outputs = {
                key[len(start) :]: value for key, value in self.arrays.items() if key.startswith(start)
            }
            if not inputs:
                return
            yield inputs, outputs

    def first(self, array):
        """Return an array of Keras with its channels first."""
        return np.moveaxis(array, -1, 1) if self.last and array.ndim > 2 else array


@pytest.fixture
def golden(tmp_path):
    return lambda *case: Golden(*case, tmp_path)


def call(net, inputs):
    outputs = net(*(mx.nd.array(each, dtype=each.dtype) for each in inputs))
    return [each.asnumpy() for each in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]


def differences(outputs, expected):
    """Return what is wrong, by output: a shape, or an error relative to the largest value."""
    assert len(outputs) == len(expected)
    wrong = {}
    for got, (name, want) in zip(outputs, expected.items()):
        if got.shape != want.shape:
            wrong[name] = got.shape, want.shape
        elif not np.abs(got - want).max() <= TOLERANCE * np.abs(want).max():
            wrong[name] = float(np.abs(got - want).max() / np.abs(want).max())
    return wrong


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
    cases(lambda name, endings, ending: stateless(name, endings, ending) and name not in LARGER),
)
def test_summary_counts_the_numbers_in_the_file(golden, archive, name, ending):
    model = golden(archive, name, ending)
    inputs, _ = next(model.runs())
    found = summary(model.load(), *(model.first(each).shape for each in inputs))
    weights = model.path[1] if isinstance(model.path, tuple) else model.path
    assert found.total_params == floats_in(weights)


# Each model of one version of Keras, and functions of both. In `images`, sparsemax cannot be exported.
EXPORTED = {
    (
        case.values[1],
        case.values[0] if case.values[0].stem.endswith(("_functions", "_sequences")) else None,
    ): case
    for case in cases(stateless)
    if case.values[1] != "images"
}


@pytest.mark.parametrize("archive, name, ending", EXPORTED.values())
def test_exported_nets_compute_it_as_well(golden, archive, name, ending):
    """In onnxruntime, at every size."""
    import onnxruntime

    model = golden(archive, name, ending)
    net, path = model.load(), str(Path(model.path).with_suffix(".onnx"))
    first, _ = next(model.runs())
    shapes, dtypes = zip(*((model.first(each).shape, each.dtype) for each in first))
    export_model(net, shapes, path, dynamic=True, check=False, dtype=dtypes)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    for inputs, outputs in model.runs():
        arrays = [np.ascontiguousarray(model.first(each)) for each in inputs]
        expected = {key: model.first(value) for key, value in outputs.items()}
        assert differences(session.run(None, dict(zip(names, arrays))), expected) == {}


@pytest.mark.parametrize(
    "archive, name, ending",
    [case for case in cases(first_kind) if case.values[0].stem.endswith("_functions")],
)
def test_deployed_nets_compute_it_as_well(golden, archive, name, ending):
    model = golden(archive, name, ending)
    net = model.load()
    inputs, outputs = next(model.runs())
    arrays = [model.first(each) for each in inputs]
    deployed = deploy(net, *(each.shape for each in arrays), tune=False)
    expected = {key: model.first(value) for key, value in outputs.items()}
    assert differences(call(deployed, arrays), expected) == {}


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


@pytest.mark.parametrize(
    "archive, name, ending",
    cases(lambda *case: first_kind(*case) and case[0].startswith(("masked_", "attention"))),
)
def test_deployed_nets_use_masks_as_well(golden, archive, name, ending):
    model = golden(archive, name, ending)
    inputs, outputs = next(model.runs())
    inputs = [model.first(each) for each in inputs]
    net = deploy(model.load(), *(each.shape for each in inputs), data=[inputs], tune=False)
    expected = {key: model.first(value) for key, value in outputs.items()}
    assert differences(call(net, inputs), expected) == {}
