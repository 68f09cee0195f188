"""Files: damaged ones, and weights in other files."""

import os
from pathlib import Path

import mxnet as mx
import numpy as np
import onnx
import onnx.external_data_helper
import pytest
from imported import close, compared, numbers, reference, written

from gluon_same.onnx import import_model

TEXT = "net (float[N, 3] x) => (float[N, 4] y) { y = MatMul(x, w) }"


def external(folder, location="weights.bin", **entries):
    """Write a model whose weight is in another file."""
    path = written(folder / "net.onnx", TEXT, {"w": numbers(3, 4)})
    model = onnx.load(path)
    (weight,) = model.graph.initializer
    with open(folder / "weights.bin", "wb") as file:
        file.write(b"\0" * 16 + weight.raw_data)
    onnx.external_data_helper.set_external_data(
        weight, location, **{"offset": 16, "length": 48, **entries}
    )
    weight.ClearField("raw_data")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    return path


def test_weights_beside_the_model(tmp_path):
    compared(external(tmp_path), numbers(2, 3))


@pytest.mark.parametrize("make", [lambda path: path.read_bytes(), lambda path: onnx.load(path), Path])
def test_models_in_memory(tmp_path, make):
    path = tmp_path / "net.onnx"
    x = numbers(2, 3)
    written(path, TEXT, {"w": numbers(3, 4)})
    net = import_model(make(path))
    close(net(mx.nd.array(x)), reference(str(path), x))


def test_a_model_in_memory_has_no_folder(tmp_path, monkeypatch):
    model = onnx.load(external(tmp_path), load_external_data=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="the weights of 'w' are in a file: give the model's path"):
        import_model(model)
    with pytest.raises(ValueError, match="the model is not an ONNX file"):
        import_model(b"no model")


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/passwd", "a/../../b", ""])
def test_weights_elsewhere_are_refused(tmp_path, location):
    with pytest.raises(ValueError, match="not in the folder of the model"):
        import_model(external(tmp_path, location))


def test_links_out_of_the_folder_are_refused(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    path = external(inner)
    os.replace(inner / "weights.bin", tmp_path / "weights.bin")
    os.symlink(tmp_path / "weights.bin", inner / "weights.bin")
    with pytest.raises(ValueError, match="not in the folder of the model"):
        import_model(path)


@pytest.mark.parametrize("entries", [{"offset": 20}, {"length": 20}, {"offset": -4}])
def test_wrong_places_are_refused(tmp_path, entries):
    with pytest.raises(ValueError, match="need 48 bytes from"):
        import_model(external(tmp_path, **entries))


def test_a_missing_file_is_named(tmp_path):
    path = external(tmp_path)
    os.remove(tmp_path / "weights.bin")
    with pytest.raises(FileNotFoundError, match="weights.bin"):
        import_model(path)


@pytest.mark.parametrize("content", [b"", b"no model", b"\x08\x07", b"PK\x03\x04" * 50])
def test_other_files(tmp_path, content):
    (tmp_path / "net.onnx").write_bytes(content)
    with pytest.raises(ValueError, match="is not an ONNX file"):
        import_model(tmp_path / "net.onnx")


def test_pipes_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a pipe"):
        import_model(tmp_path / "pipe")


def test_a_later_operator_set(tmp_path):
    path = written(tmp_path / "net.onnx", TEXT, {"w": numbers(3, 4)})
    model = onnx.load(path)
    model.opset_import[0].version = 99
    onnx.save(model, path)
    with pytest.raises(ValueError, match="operator set 99, and those up to 28"):
        import_model(path)


def test_known_numbers_may_have_types_that_mxnet_lacks(tmp_path):
    text = """net (float[N, 4] x) => (float[N, a, b] y) {
        c = Cast<to: int = 7>(shape) z = Reshape(x, c) f = Cast<to: int = 1>(k) y = Mul(z, f)
    }"""
    weights = {"shape": np.array([0, 2, 2], np.uint32), "k": np.array([3, 65535], np.uint16)}
    compared(written(tmp_path / "net.onnx", text, weights), numbers(2, 4))


def test_types_that_mxnet_lacks(tmp_path):
    text = "net (uint32[2] x) => (uint32[2] y) { y = Identity(x) }"
    with pytest.raises(ValueError, match="MXNet has no arrays of type UINT32"):
        import_model(written(tmp_path / "net.onnx", text))
    path = written(tmp_path / "net.onnx", TEXT, {"w": np.ones((3, 4), np.uint32)})
    with pytest.raises(ValueError, match=r"y \(MatMul\): MXNet has no arrays of type uint32"):
        import_model(path)


@pytest.mark.parametrize("operator, kind", [("Cos", "int64"), ("MatMul", "uint8"), ("Add", "bool")])
def test_types_that_an_operator_does_not_take(tmp_path, operator, kind):
    both = "x" if operator == "Cos" else "x, x"
    text = f"net ({kind}[2, 2] x) => ({kind}[2, 2] y) {{ y = {operator}({both}) }}"
    with pytest.raises(ValueError, match=rf"input number 0 is of {kind}, but ONNX has it only for \["):
        import_model(written(tmp_path / "net.onnx", text))


def test_types_of_earlier_versions_are_taken(tmp_path):
    text = "net (int32[3] x) => (int32[3] y) { y = Erf(x) }"  # whole numbers only before version 13
    got = import_model(written(tmp_path / "net.onnx", text, version=9))(
        mx.nd.array([-9, 0, 9], dtype="int32")
    )
    np.testing.assert_array_equal(got.asnumpy(), [-1, 0, 1])


def test_constants_of_any_size_are_not_made(tmp_path):
    text = "net (float[2] x) => (float[a] y) { b = ConstantOfShape(n) c = ReduceSum(b) y = Add(x, c) }"
    path = written(tmp_path / "net.onnx", text, {"n": np.array([10**6, 10**6])})
    with pytest.raises(ValueError, match="more than 268435456 elements"):
        import_model(path)


def test_names_that_are_no_text(tmp_path):
    text = "graph_name (float[2] x) => (float[2] y) { node_name = Relu(x) y = Identity(node_name) }"
    path = tmp_path / "net.onnx"
    written(path, text)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"graph_name", b"graph\xff\xfeame").replace(b"node_", b"node\xff"))
    assert import_model(path)(mx.nd.array([-1, 2])).asnumpy().tolist() == [0, 2]
