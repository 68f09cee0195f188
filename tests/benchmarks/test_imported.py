"""Nets that are imported from ONNX files are timed deployed and in onnxruntime."""

import csv

import gluon_same  # noqa: F401  isort: skip  before mxnet, because it restores NumPy names

import mxnet as mx
import numpy as np
import pytest

from gluon_same import nn
from gluon_same.onnx import export_model
from scripts import run


def test_the_table_is_printed_and_written(tmp_path):
    pytest.importorskip("onnxruntime")
    folder = tmp_path / "small"
    folder.mkdir()
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, padding="same", in_channels=3), nn.Activation("relu"))
    net.initialize(mx.init.Normal(1))
    export_model(net, (1, 3, 8, 8), folder / "model.onnx")
    np.save(folder / "x0.npy", np.ones((2, 3, 8, 8), "float32"))
    options = "--seconds", 0, "--no-tune", "--csv", tmp_path / "times.csv"
    done = run("imported.py", folder / "model.onnx", *options)
    assert done.returncode == 0, done.stderr
    (row,) = csv.DictReader((tmp_path / "times.csv").read_text().splitlines())
    assert row["net"] == "small" and float(row["deployed, ms"]) > 0 and float(row["error"]) < 1e-6
    assert "deployed / onnxruntime" in done.stdout
