"""Files are written as a whole or not at all, and names outside ASCII work or are refused."""

import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import mxnet as mx
import pytest

from gluon_same import deploy, model_zoo, nn, specialize
from gluon_same.cli.main import main
from gluon_same.onnx import export_model, import_model
from small_nets import make_net

ROOT = Path(__file__).parents[1]
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # no UTF-8 mode of Python
WRITE = """
import sys
import gluon_same, mxnet as mx
from gluon_same import nn, onnx
from gluon_same.cli.main import main

net, folder = nn.Conv2D(2, 3, padding="same", in_channels=2), sys.argv[1]
net.initialize()
try:
    onnx.export_model(net, (1, 2, 5, 5), folder + "/net.onnx")
    block = gluon_same.deploy(net, (1, 2, 5, 5), tune=False)
    block.export(folder + "/net")
    names = [folder + "/net-symbol.json", ["data"], folder + "/net-0000.params"]
    mx.gluon.SymbolBlock.imports(*names)
except ValueError as error:
    print(ascii(str(error)))
print(main(["convert", "missing.keras", folder + "/new"]))
"""


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, ASCII], ids=["utf-8", "ascii"])
def test_a_name_outside_ascii_works_or_is_refused(locale, tmp_path):
    folder = tmp_path / "Übung"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WRITE, str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **locale},
        capture_output=True,
        text=True,
    )
    written = {path.name for path in folder.iterdir()}
    if locale is ASCII:
        assert done.stdout.count("is not UTF-8: set LC_ALL=C.UTF-8") == 1, done.stderr
        assert "is not UTF-8: set LC_ALL=C.UTF-8" in done.stderr
        assert not written
    else:
        assert done.returncode == 0 and "missing.keras" in done.stderr
        assert written == {"net.onnx", "net-symbol.json", "net-0000.params"}


SHAPE = (1, 3, 64, 64)


@contextmanager
def full_disk():
    """Let every file end after 100 bytes, where writing fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def called(block):
    block.initialize()
    block.hybridize()
    block(mx.nd.ones(SHAPE))
    return block


def layer():
    return called(nn.Conv2D(4, 3, padding="same"))


def imported(folder):
    return import_model(export_model(called(make_net()), SHAPE, str(folder / "model.onnx"), check=False))


def every_size():
    block = specialize(make_net())
    block(mx.nd.ones(SHAPE))
    return block


#: Blocks that write their files themselves.
BLOCKS = {
    "layer": lambda folder: layer(),
    "stock padding": lambda folder: called(nn.Conv2D(4, 3, padding=1)),
    "separable": lambda folder: called(nn.SeparableConv2D(4, 3, in_channels=3)),
    "border": lambda folder: called(nn.ZeroPadding2D(1)),
    "activation": lambda folder: called(nn.ReLU(6)),
    "shape": lambda folder: called(nn.Reshape((3, -1))),
    "upsampling": lambda folder: called(nn.UpSampling2D(2)),
    "zoo": lambda folder: called(model_zoo.TinyDarkNet()),
    "imported": lambda folder: called(imported(folder)),
    "specialized": lambda folder: specialize(called(make_net()), SHAPE),
    "every size": lambda folder: every_size(),
    "deployed": lambda folder: deploy(called(make_net()), SHAPE, tune=False),
}

#: What writes a file, with its name.
WRITERS = {
    "parameters": (lambda block, path: block.save_parameters(path + ".params"), ".params"),
    "parameters of a graph": (lambda block, path: block.export(path), "-0000.params"),
    "graph": (lambda block, path: block.export(path), "-symbol.json"),
    "ONNX": (lambda block, path: export_model(block, SHAPE, path + ".onnx"), ".onnx"),
}


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("what", ["parameters", "graph"])
def test_a_full_disk_leaves_the_earlier_file(kind, what, tmp_path):
    write, ending = WRITERS[what]
    block, path = BLOCKS[kind](tmp_path), str(tmp_path / "net")
    Path(path + ending).write_bytes(b"earlier")
    before = sorted(tmp_path.iterdir())
    has_no_parameters = what == "parameters" and not block.collect_params().keys()
    with full_disk():
        if has_no_parameters:  # a file of less than 100 bytes
            write(block, path)
        else:
            with pytest.raises(OSError, match="File too large") as caught:
                write(block, path)
            assert caught.value.filename.startswith(path)
    assert sorted(tmp_path.iterdir()) == before
    assert (Path(path + ending).read_bytes() == b"earlier") != has_no_parameters
    write(block, path)
    assert Path(path + ending).read_bytes() != b"earlier"


def interrupted(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize("what", WRITERS)
def test_an_interruption_leaves_the_earlier_files(what, tmp_path, monkeypatch):
    write, ending = WRITERS[what]
    block, path = layer(), str(tmp_path / "net")
    Path(path + ending).write_bytes(b"earlier")
    monkeypatch.setattr(mx.nd, "save", interrupted)
    monkeypatch.setattr("mxnet.gluon.block.ndarray.save", interrupted)
    monkeypatch.setattr("gluon_same.onnx.compare", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(block, path)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"earlier"]


def test_a_picture_that_does_not_fit_leaves_the_earlier_one(tmp_path, capsys):
    path = tmp_path / "windows.svg"
    path.write_bytes(b"earlier")
    with full_disk():
        assert main(["pad", "--size", "13", "--kernel", "3", "--svg", str(path)]) != 0
    assert f"File too large: '{path}'" in capsys.readouterr().err
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"earlier"]


@pytest.mark.parametrize("what", WRITERS)
def test_a_link_is_followed_and_a_pipe_refused(what, tmp_path):
    write, ending = WRITERS[what]
    block, path = layer(), str(tmp_path / "net")
    there = tmp_path / "there"
    there.write_bytes(b"earlier")
    os.symlink(there, path + ending)
    write(block, path)
    assert os.path.islink(path + ending) and there.read_bytes() != b"earlier"
    os.remove(path + ending)
    os.mkfifo(path + ending)
    with pytest.raises(ValueError, match="is a pipe, a socket or a device"):
        write(block, path)


def test_a_path_object_names_a_file(tmp_path):
    layer().save_parameters(tmp_path / "net.params")
    assert mx.nd.load(str(tmp_path / "net.params")).keys() == {"weight", "bias"}
    with pytest.raises(TypeError, match="os.PathLike"):
        layer().save_parameters(5)


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError):
        layer().save_parameters(str(tmp_path / "missing" / "net.params"))
