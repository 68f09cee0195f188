"""The command ``convert`` writes files that MXNet and onnxruntime load."""

import io
import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import mxnet as mx
import numpy as np
import pytest

from gluon_same import _compat
from gluon_same.cli.main import main
from gluon_same.keras import load_model

sys.path.insert(0, str(Path(__file__).parents[1] / "keras"))

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


def test_layers_without_effect_are_noted(tmp_path, capsys):
    config = functional(image(3), layer("GaussianNoise", "noise", "image", stddev=0.1))
    text, weights = write(tmp_path, config)
    assert main(["convert", text, str(tmp_path / "out"), "--weights", weights, "--no-onnx"]) == 0
    out, err = capsys.readouterr()
    assert "\nNote: In training, these layers behave differently from Keras: noise\n" in out
    assert err == ""


def test_progress_is_shown_if_converting_takes_long(path, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("gluon_same.progress.PATIENCE", -1)
    text, weights = path
    assert main(["convert", text, str(tmp_path / "out"), "--weights", weights, "--no-onnx"]) == 0
    err = capsys.readouterr().err
    assert [line.partition(" (")[0] for line in err.splitlines()][:2] == [
        "reading the model",
        "listing its layers",
    ]
    assert "\r" not in err


def test_what_cannot_be_read_is_said_in_a_line(tmp_path, capsys):
    (tmp_path / "bad.keras").write_bytes(b"no")
    assert main(["convert", str(tmp_path / "bad.keras"), str(tmp_path / "out")]) == 1
    assert "bad.keras is neither a .keras file" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_size_with_other_axes_is_refused(path, tmp_path, capsys):
    text, weights = path
    options = ["--weights", weights, "--size", "3x3x3"]
    assert main(["convert", text, str(tmp_path / "out"), *options]) == 1
    assert "--size 3x3x3 does not fit an input with 2 open axes" in capsys.readouterr().err


def test_a_graph_can_be_read(path, tmp_path):
    text, weights = path
    main(["convert", text, str(tmp_path), "--weights", weights, "--no-onnx"])
    nodes = json.loads((tmp_path / "net-symbol.json").read_text())["nodes"]
    assert {"small_first_weight", "small_first_bias"} <= {node["name"] for node in nodes}


def golden(tmp_path, name):
    """A model file of Keras 3 with its input, and Keras' output for it."""
    with ZipFile(Path(__file__).parents[1] / "keras" / "keras3.zip") as packed:
        with packed.open(f"{name}.npz") as file:
            arrays = np.load(io.BytesIO(file.read()))
        return packed.extract(f"{name}.keras", tmp_path), arrays


def run_alone(folder, stem):
    """The outputs for ``input.npy`` of a graph in a process without gluon_same."""
    program = f"""
import runpy, sys
import numpy
runpy.run_path(sys.argv[1])  # lets MXNet run with this NumPy
import mxnet as mx
block = mx.gluon.SymbolBlock.imports("{stem}-symbol.json", ["data"], "{stem}-0000.params")
numpy.save("output.npy", block(mx.nd.array(numpy.load("input.npy"))).asnumpy())
assert not [name for name in sys.modules if name.startswith("gluon_same")]
"""
    subprocess.run([sys.executable, "-c", program, _compat.__file__], cwd=folder, check=True)
    return np.load(folder / "output.npy")


@pytest.mark.parametrize("options", [[], ["--portable"]])
def test_a_deployed_graph_gives_the_numbers_of_keras(tmp_path, capsys, options):
    path, arrays = golden(tmp_path, "sequential")
    x, want = (arrays[name] for name in arrays.files if name.startswith("run 0 "))
    np.save(tmp_path / "input.npy", x)
    options += ["--layout", "NHWC", "--deploy", "--no-tune", "--no-onnx", "--batch", str(len(x))]
    options += ["--size", "x".join(map(str, x.shape[1:3]))]
    assert main(["convert", path, str(tmp_path), *options]) == 0
    out = capsys.readouterr().out
    assert "fold normalizations" in out and "of the largest value" in out
    assert out.split()[-2:] == [
        str(tmp_path / f"net-deployed-{end}") for end in ("symbol.json", "0000.params")
    ]
    np.testing.assert_allclose(run_alone(tmp_path, "net-deployed"), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(run_alone(tmp_path, "net"), want, rtol=1e-4, atol=1e-5)
    graph = (tmp_path / "net-deployed-symbol.json").read_text()
    assert "BatchNorm" not in graph and ("_sg_mkldnn" not in graph or "--portable" not in options)


@pytest.mark.parametrize(
    "name, write, words",
    [
        ("text.npy", lambda path: path.write_text("1, 2, 3"), "text.npy is not a .npy or .npz file"),
        ("cut.npy", lambda path: path.write_bytes(b"\x93NUMPY"), "cut.npy is not a .npy or .npz file"),
        ("cut.npz", lambda path: path.write_bytes(b"PK\x03\x04"), "cut.npz is not a .npy or .npz file"),
        ("two.npz", lambda path: np.savez(path, np.zeros(1), np.ones(1)), "two.npz contains 2 arrays"),
    ],
)
def test_files_without_samples_are_refused(path, tmp_path, capsys, name, write, words):
    text, weights = path
    write(tmp_path / name)
    options = ["--size", "8", "--deploy", "--dtype", "int8", "--data", str(tmp_path / name)]
    assert main(["convert", text, str(tmp_path / "out"), "--weights", weights, *options]) == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_a_graph_is_deployed_in_int8(path, tmp_path, capsys, ending):
    text, weights = path
    data = np.random.RandomState(0).uniform(size=(4, 2, 8, 8)).astype("float32")
    file = str(tmp_path / f"samples.{ending}")
    (np.save if ending == "npy" else np.savez)(file, data)
    options = ["--weights", weights, "--size", "8", "--no-onnx", "--no-tune"]
    options += ["--deploy", "--dtype", "int8", "--data", file, "--batch", "2"]
    assert main(["convert", text, str(tmp_path / "out"), *options]) == 0
    assert "\nint8 " in capsys.readouterr().out
    assert "quantize" in (tmp_path / "out" / "net-deployed-symbol.json").read_text()


@pytest.mark.parametrize(
    "options, words",
    [
        (["--deploy"], "--deploy is for one input size, and the model accepts many: give --size HxW"),
        (["--portable"], "--portable is for a deployed graph: give --deploy, too"),
        (["--no-tune"], "--no-tune is for a deployed graph: give --deploy, too"),
        (["--deploy", "--size", "8", "--batch", "0"], "=0 is out of range"),
        (["--deploy", "--size", "8", "--dtype", "int8"], "dtype='int8' requires data"),
        (["--deploy", "--size", "8", "--data", "none.npy"], "none.npy"),
    ],
)
def test_options_of_the_deployed_graph_that_do_not_fit_are_refused(
    path, tmp_path, capsys, options, words
):
    text, weights = path
    command = ["convert", text, str(tmp_path / "out"), "--weights", weights, "--no-onnx"]
    assert main([*command, *options]) == 1
    assert words in capsys.readouterr().err


def test_a_file_of_weights_is_answered_in_words_of_the_shell(path, tmp_path, capsys):
    assert main(["convert", path[1], str(tmp_path / "my out")]) == 1
    err = capsys.readouterr().err
    assert f"convert model.json '{tmp_path}/my out' --weights {path[1]}" in err
    assert err.count("\n") == 1 and "gluon_same.keras" not in err and "config.json, " not in err


def onnx_model(folder, text, **weights):
    import onnx
    import onnx.parser

    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    for name, array in weights.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.save(model, str(folder / "model.onnx"))
    return str(folder / "model.onnx")


def test_an_onnx_model(tmp_path, capsys):
    text = "net (float[N, 2, H, W] x, float[N, T] m) => (float[N, 3, h, w] y, float[N, T] z)"
    text += "{ y = Conv<strides: ints = [2, 2]>(x, w) z = Relu(m) }"
    path = onnx_model(tmp_path, text, w=np.ones((3, 2, 3, 3), "f"))
    folder, sizes = tmp_path / "out", ["--size", "x=9x7", "--size", "m=1x5"]
    assert main(["convert", path, str(folder), *sizes, "--deploy", "--no-tune"]) == 0
    out = capsys.readouterr().out
    assert "y (Conv2D)" in out and "3x4x3" in out and f"{folder}/net.onnx" in out
    files = [str(folder / name) for name in ("net-symbol.json", "net-0000.params")]
    net = mx.gluon.SymbolBlock.imports(files[0], ["data0", "data1"], files[1])
    y, z = net(mx.nd.ones((2, 2, 11, 6)), -mx.nd.ones((2, 8)))
    np.testing.assert_array_equal(y.asnumpy(), np.full((2, 3, 5, 2), 18))
    np.testing.assert_array_equal(z.asnumpy(), np.zeros((2, 8)))


def test_an_onnx_model_that_serves_one_size(tmp_path, capsys):
    text = "net (float[N, 3, H, W] x) => (float[N, 3, h, w] y) { y = Add(x, table) }"
    path = onnx_model(tmp_path, text, table=np.ones((1, 3, 37, 41), "f"))
    assert main(["convert", path, str(tmp_path / "out")]) == 1
    assert "fix them with --size" in capsys.readouterr().err
    assert main(["convert", path, str(tmp_path / "out"), "--size", "37x41", "--no-onnx"]) == 0
    assert "The graphs serve these sizes only: {'x': (None, 3, 37, 41)}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options, words",
    [
        (["--size", "z=3"], "--size z=: the inputs are x"),
        (["--layout", "NHWC"], "--layout are for Keras models"),
        (["--size", "3x3x3"], "does not fit an input with 1 open axes"),
    ],
)
def test_options_that_do_not_fit_an_onnx_model(tmp_path, capsys, options, words):
    path = onnx_model(tmp_path, "net (float[N, T] x) => (float[N, T] y) { y = Relu(x) }")
    assert main(["convert", path, str(tmp_path / "out"), *options]) == 1
    assert words in capsys.readouterr().err
