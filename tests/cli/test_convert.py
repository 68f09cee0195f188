"""The command ``convert`` writes files that MXNet and onnxruntime load."""

import json
import sys
from pathlib import Path

import mxnet as mx
import numpy as np
import pytest

from gluon_same.cli.main import main
from gluon_same.keras import load_model

sys.path.insert(0, str(Path(__file__).parents[1] / "keras" / "models"))

from small_models import conv, functional, image, layer, write  # noqa: E402


@pytest.fixture
def path(tmp_path):
    first, shapes = conv("first", "image", padding="same", strides=[2, 2])
    config = functional(image(None, None, 2), first, layer("ReLU", "relu", "first"))
    return write(tmp_path, config, first=shapes)


def test_it_writes_the_graph_and_the_parameters(path, tmp_path, capsys):
    text, weights = path
    folder = tmp_path / "out"
    options = ["--weights", weights, "--size", "9x7", "--no-onnx"]
    assert main(["convert", text, str(folder), *options]) == 0
    files = [str(folder / name) for name in ("net-symbol.json", "net-0000.params")]
    out = capsys.readouterr().out
    assert "first (Conv2D)" in out and "2x9x7" in out and out.split()[-2:] == files
    net = mx.gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    x = mx.nd.random.uniform(shape=(3, 2, 6, 11))
    np.testing.assert_allclose(net(x).asnumpy(), load_model(path)(x).asnumpy(), rtol=1e-5)


def test_it_writes_onnx(path, tmp_path, capsys):
    import onnxruntime

    text, weights = path
    assert main(["convert", text, str(tmp_path), "--weights", weights, "--size", "8"]) == 0
    session = onnxruntime.InferenceSession(str(tmp_path / "net.onnx"))
    x = np.ones((1, 2, 5, 4), "float32")
    want = load_model(path)(mx.nd.array(x)).asnumpy()
    np.testing.assert_allclose(session.run(None, {"data": x})[0], want, rtol=1e-5)


def test_what_cannot_be_read_is_said_in_a_line(tmp_path, capsys):
    (tmp_path / "bad.keras").write_bytes(b"no")
    assert main(["convert", str(tmp_path / "bad.keras"), str(tmp_path / "out")]) == 1
    assert "bad.keras is neither a .keras file" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_size_with_other_axes_is_refused(path, tmp_path, capsys):
    text, weights = path
    options = ["--weights", weights, "--size", "3x3x3"]
    assert main(["convert", text, str(tmp_path / "out"), *options]) == 1
    assert "--size 3x3x3 is not for an input with 2 open axes" in capsys.readouterr().err


def test_a_graph_can_be_read(path, tmp_path):
    text, weights = path
    main(["convert", text, str(tmp_path), "--weights", weights, "--no-onnx"])
    nodes = json.loads((tmp_path / "net-symbol.json").read_text())["nodes"]
    assert {"small_first_weight", "small_first_bias"} <= {node["name"] for node in nodes}
