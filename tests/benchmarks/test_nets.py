"""Whole nets are timed, compared with their results in float64, and compared among checkouts."""

import csv
import json
import math
import re
import sys
from pathlib import Path

import mxnet as mx
import numpy as np
import pytest
from mxnet.gluon import nn as stock

import architectures
import gluon_same
import nets
import pad_first
from scripts import ROOT, run


@pytest.mark.parametrize(
    "options, words",
    [
        (["--python", "PyTorch"], "'PyTorch' is not NAME=PATH"),
        (["--python", "Pytorch=" + sys.executable], "with a NAME among"),
        (["--python", "PyTorch=/no/such"], "is not NAME=PATH"),
        (["--seconds", "0"], "'0' is not above 0"),
        (["--json", "/no/such/file"], "is in a folder that does not exist"),
        (["--net", "LeNet"], "the nets are TinyDarkNet"),
        (["--against", "/no/such"], "'/no/such' is not a folder that contains gluon_same"),
        (["--against", ROOT, "--only", "OpenCV"], "the contenders here are stock"),
        (["--processes", "2"], "--processes requires --against"),
    ],
)
def test_bad_options_are_named(options, words):
    done = run("nets.py", *options)
    assert done.returncode == 2 and words in done.stderr


def test_a_net_in_several_contenders(tmp_path):
    file, table = tmp_path / "times.json", tmp_path / "table.csv"
    names = ["padding first", "deployed", "onnxruntime"]
    done = run(
        *("nets.py", "--net", "ConvAutoencoder", "--batch", "1", "--seconds", "0.01", "--only", *names),
        *("--json", file, "--csv", table, "--threads", "1"),
    )
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(file.read_text()).values()
    assert list(found["seconds"]) == names
    assert found["error"]["deployed"] < 1e-5 and found["error"]["padding first"] < 1e-5
    assert "geometric means" in done.stdout
    titles, row = csv.reader(table.read_text().splitlines())
    assert titles == ["net", "batch", "threads", *(f"{name}, ms" for name in names)]
    assert row[:3] == ["ConvAutoencoder", "1", "1"] and all(float(cell) > 0 for cell in row[3:])


def test_two_checkouts(tmp_path):
    """The other checkout is a copy whose convolutions are wrong, and which cannot deploy."""
    package = tmp_path / "gluon_same"
    package.mkdir()
    source = Path(gluon_same.__file__).parent
    (package / "__init__.py").write_text(f"""
__path__ = [{str(source)!r}]
exec(compile(open({str(source / "__init__.py")!r}).read(), "copy", "exec"))
def deploy(*args, **others):
    raise ValueError("not here")
def specialize(net, *shapes):
    for parameter in net.collect_params(".*bias").values():
        parameter.set_data(parameter.data() + 9)
    return net
""")
    done = run(
        *("nets.py", "--against", tmp_path, "--net", "ConvAutoencoder", "--batch", "1"),
        *("--only", "specialized", "deployed", "--seconds", "0.01", "--json", tmp_path / "times.json"),
    )
    assert done.returncode == 0, done.stderr
    assert "left out: old deployed: ValueError: not here" in done.stderr
    assert re.search(r"ConvAutoencoder x1, threads: 1 +\d\.\d\d +failed", done.stdout)
    assert "wrong: old specialized is off by" in done.stdout and "wrong: new" not in done.stdout
    (found,) = json.loads((tmp_path / "times.json").read_text()).values()
    assert set(found["seconds"]) == {"new specialized", "new deployed", "old specialized"}


def test_a_difference_is_seen_in_every_output():
    one, other = [np.ones(3), np.ones((2, 2))], [np.ones(3), np.full((2, 2), 1.5)]
    assert nets.error(one, one) == 0 and nets.error(other, one) == 0.5
    assert not nets.error([np.ones(3), np.full((2, 2), np.nan)], one) < 1
    assert nets.error(one[::-1], one) == math.inf


@pytest.mark.parametrize("name", architectures.EVEN)
def test_padding_first_gives_the_results_of_the_library(name):
    build, (channels, *_) = architectures.EVEN[name]
    same = lambda kernel: "same"  # noqa: E731
    ours, theirs = build(gluon_same.nn, same), build(pad_first, same)
    x = mx.nd.random.normal(shape=(1, channels, 17, 18))
    for net in (ours, theirs):
        net.initialize()
        net(x)
    for parameter, other in zip(ours.collect_params().values(), theirs.collect_params().values()):
        other.set_data(parameter.data())
    theirs.hybridize()
    assert np.allclose(ours(x).asnumpy(), theirs(x).asnumpy(), atol=1e-5)


def test_padding_first_is_of_stock_layers():
    pool = pad_first.MaxPool2D(2, 1, "same")
    assert isinstance(pool.layer, stock.MaxPool2D)
    assert isinstance(pad_first.Conv2D(2, 3, padding=1), stock.Conv2D)
    x = mx.nd.array([[[[-3.0, -2.0]]]])
    assert pool(x).asnumpy().tolist() == [[[[-2.0, -2.0]]]]
    with pytest.raises(ValueError, match="would count the zeros"):
        pad_first.AvgPool2D(2, 1, "same")(x)
    with pytest.raises(ValueError, match="whose kernel is their stride"):
        pad_first.Conv2DTranspose(2, 3, 2, "same")
