"""Damaged and hostile files end in a ValueError that names the file and the entry."""

import io
import json
import os
import sys
from zipfile import ZIP_DEFLATED, ZipFile

import h5py
import mxnet as mx
import numpy as np
import pytest
from small_models import functional, image, layer, write

from gluon_same.keras import files, load_model

DENSE = functional(image(3), layer("Dense", "dense", "image", units=2))
SHAPES = {"dense": {"kernel": (3, 2), "bias": (2,)}}


def keras_file(path, config=DENSE, kind=ZIP_DEFLATED, **arrays):
    weights = io.BytesIO()
    with h5py.File(weights, "w") as file:
        for number, array in enumerate(arrays.values() or (np.ones((3, 2)), np.ones(2))):
            file[f"layers/dense/vars/{number}"] = array
    with ZipFile(path, "w", kind) as archive:
        archive.writestr("config.json", config if isinstance(config, str) else json.dumps(config))
        archive.writestr("model.weights.h5", weights.getvalue())
    return str(path)


def test_a_keras_file_and_a_pair_are_read(tmp_path):
    assert "dense" in load_model(keras_file(tmp_path / "model.keras")).layers
    assert "dense" in load_model(write(tmp_path, DENSE, **SHAPES)).layers


def test_what_is_no_model_is_named(tmp_path):
    path = tmp_path / "model.keras"
    path.write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"model\.keras is neither a \.keras file .* nor an \.h5 file"):
        load_model(path)


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(OSError, match=r"none\.keras"):
        load_model(tmp_path / "none.keras")


def test_a_file_of_weights_requires_a_configuration(tmp_path):
    _, weights = write(tmp_path, DENSE, **SHAPES)
    with pytest.raises(ValueError, match="contains only weights: give .config.json"):
        load_model(weights)


@pytest.mark.parametrize("entry", ["config.json", "model.weights.h5"])
def test_an_entry_that_is_missing_is_named(tmp_path, entry):
    with ZipFile(keras_file(tmp_path / "whole.keras")) as whole, ZipFile(
        tmp_path / "part.keras", "w"
    ) as part:
        for name in set(whole.namelist()) - {entry}:
            part.writestr(name, whole.read(name))
    with pytest.raises(ValueError, match=rf"part\.keras .*no {entry}"):
        load_model(tmp_path / "part.keras")


def test_an_entry_that_is_damaged_is_named(tmp_path):
    path = tmp_path / "model.keras"
    keras_file(path, kind=0)
    content = bytearray(path.read_bytes())
    content[content.index(b"Functional")] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.keras .*'config\.json' is damaged"):
        load_model(path)


def test_entries_that_would_take_too_much_memory_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_LEAST", 10**5)
    path = keras_file(tmp_path / "model.keras", zeros=np.zeros((3, 10**6)))
    with pytest.raises(ValueError, match="many times larger than the file"):
        load_model(path)


def test_an_array_of_a_shape_that_the_file_cannot_hold_is_not_read(tmp_path):
    text, weights = write(tmp_path, DENSE, **SHAPES)
    with h5py.File(weights, "r+") as file:
        del file["dense/dense/kernel:0"]
        file.create_dataset("dense/dense/kernel:0", (2**20, 2**20), "float32", chunks=(1024, 1024))
    with pytest.raises(ValueError, match=r"model\.weights\.h5: entry 'dense/dense/kernel:0' .*bytes"):
        load_model((text, weights))


@pytest.mark.parametrize("link", [h5py.ExternalLink("other.h5", "/kernel"), h5py.SoftLink("/x")])
def test_links_are_not_followed(tmp_path, link):
    text, weights = write(tmp_path, DENSE, **SHAPES)
    with h5py.File(weights, "r+") as file:
        del file["dense/dense/kernel:0"]
        file["dense/dense/kernel:0"] = link
    with pytest.raises(ValueError, match="kernel:0' cannot be read: it is a link to another place"):
        load_model((text, weights))


def test_an_array_in_another_file_is_not_read(tmp_path):
    text, weights = write(tmp_path, DENSE, **SHAPES)
    with h5py.File(weights, "r+") as file:
        del file["dense/dense/kernel:0"]
        external = [(str(tmp_path / "config.json"), 0, 24)]
        file.create_dataset("dense/dense/kernel:0", (3, 2), "float32", external=external)
    with pytest.raises(ValueError, match="refers to another file"):
        load_model((text, weights))


def test_what_is_no_array_of_numbers_is_refused(tmp_path):
    text, weights = write(tmp_path, DENSE, **SHAPES)
    with h5py.File(weights, "r+") as file:
        del file["dense/dense/kernel:0"]
        file["dense/dense/kernel:0"] = np.array([[b"a", b"b"]] * 3)
    with pytest.raises(ValueError, match="kernel:0' cannot be read: it contains"):
        load_model((text, weights))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"class_name": 3}', "[" * 100_000, '"x"', "{}"])
def test_a_text_that_is_no_configuration_is_refused(tmp_path, text):
    _, weights = write(tmp_path, DENSE, **SHAPES)
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"other\.json"):
        load_model((path, weights))


def test_three_files_are_no_model():
    with pytest.raises(ValueError, match="give one file, or"):
        load_model(("a", "b", "c"))


@pytest.mark.parametrize("path", [5, None, b"model.keras", ("config.json", 5)])
def test_what_is_no_path_is_refused(tmp_path, path):
    if isinstance(path, tuple):
        path = (write(tmp_path, DENSE, **SHAPES)[0], 5)
    with pytest.raises(TypeError, match="is not a path: give one file, or"):
        load_model(path)


@pytest.mark.parametrize(
    "given", [{"ctx": "cpu"}, {"ctx": []}, {"custom": "Scale"}, {"custom": {"Scale": 5}}]
)
def test_arguments_of_the_wrong_type_are_refused(given):
    with pytest.raises(TypeError, match=next(iter(given))):
        load_model("model.keras", **given)


def test_h5py_is_asked_for_where_it_is_missing(tmp_path, monkeypatch):
    path = keras_file(tmp_path / "model.keras")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"pip install h5py"):
        load_model(path)


def test_a_heap_that_hdf5_would_read_forever_is_refused(tmp_path):
    path = tmp_path / "model.h5"
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(DENSE)
    content = bytearray(path.read_bytes())
    first = content.index(b"GCOL") + 16
    content[first : first + 16] = bytes(16)  # an object of no index and no size
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match=r"model\.h5: entry '@model_config' .*the heap at byte \d+ is damaged"
    ):
        load_model(path)


def test_a_folder_is_no_model(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"save it with model\.save\('model\.keras'\)"):
        load_model(tmp_path)


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_may_never_end_is_refused(kind, tmp_path):
    path = tmp_path / "model.keras" if kind == "pipe" else "/dev/zero"
    if kind == "pipe":
        os.mkfifo(path)
    for given in (path, (path, path)):
        with pytest.raises(ValueError, match="is a pipe, a socket or a device"):
            load_model(given)


def test_the_vocabulary_of_an_adapted_layer_is_beside_the_configuration(tmp_path):
    lookup = layer("IntegerLookup", "lookup", "image", vocabulary=None, output_mode="multi_hot")
    config = {**functional(image(2), lookup), "keras_version": "3.15.1"}
    weights, path = io.BytesIO(), tmp_path / "model.keras"
    with h5py.File(weights, "w") as file:
        file.create_group("layers/integer_lookup/vars")
    with ZipFile(path, "w") as packed:
        packed.writestr("config.json", json.dumps(config))
        packed.writestr("metadata.json", json.dumps({"keras_version": "3.15.1"}))
        packed.writestr("model.weights.h5", weights.getvalue())
        packed.writestr("assets/layers/integer_lookup/vocabulary.txt", "-1\n9\n7")
    got = load_model(path)(mx.nd.array([[7, 5], [9, 9]]))
    np.testing.assert_array_equal(got.asnumpy(), [[1, 0, 1], [0, 1, 0]])
