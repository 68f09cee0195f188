"""Files that cannot be written leave the old file as it was."""

import errno
import os
import resource

import mxnet as mx
import pytest

from gluon_same import nn
from gluon_same.onnx import export_model
from onnx_files import ready


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(b"of before")
    yield path
    assert path.read_bytes() == b"of before"
    assert os.listdir(tmp_path) == ["net.onnx"]


def net():
    return ready(nn.Conv2D(64, 3, padding="same"), mx.nd.ones((1, 16, 8, 8)))


def test_a_full_disk(old):
    block, limits = net(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="net.onnx") as caught:
            export_model(block, (1, 16, 8, 8), old)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.errno == errno.EFBIG and caught.value.filename == str(old)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_check(error, old, monkeypatch):
    def interrupt(*args):
        raise error

    monkeypatch.setattr("gluon_same.onnx.compare", interrupt)
    with pytest.raises(error):
        export_model(net(), (1, 16, 8, 8), old)


def test_a_file_that_cannot_be_replaced(tmp_path, monkeypatch):
    def refuse(*args):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError, match="net.onnx"):
        export_model(net(), (1, 16, 8, 8), tmp_path / "net.onnx")
    assert not os.listdir(tmp_path)
