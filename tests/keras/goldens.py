"""The files of models that Keras wrote, with its results (README.md describes them)."""

from pathlib import Path
from zipfile import ZipFile

import mxnet as mx
import numpy as np
import pytest

from gluon_same.keras import load_model

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


def stateless(name, endings, ending):
    """Return one file of each model that computes a function of its inputs."""
    return first_kind(name, endings, ending) and name != "stateful"


def of_each_model(given):
    """Return one of some cases of each model, the latest."""
    return list({case.values[1]: case for case in given}.values())


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
