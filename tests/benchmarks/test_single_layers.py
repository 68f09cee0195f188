"""Single layers are timed in all their forms, which compute the same."""

import csv

import gluon_same  # noqa: F401  isort: skip  before mxnet, because it restores NumPy names

import layers
import mxnet as mx
import numpy as np
import pytest

from scripts import run


@pytest.mark.parametrize("kind", layers.KINDS)
def test_the_forms_of_a_layer_compute_the_same(kind):
    x = mx.nd.random.normal(shape=(1, layers.CHANNELS, 8, 8))
    blocks = layers.forms(kind, 3, 2, x)
    assert ("padding first" in blocks) == (kind != "avg")
    for parameters in zip(*(blocks[name].collect_params().values() for name in blocks)):
        for parameter in parameters[1:]:
            parameter.set_data(parameters[0].data())
    results = {name: block(x).asnumpy() for name, block in blocks.items()}
    want = results["eager"]
    assert np.abs(want).max() > 0 and results["stock"].shape == want.shape
    for name in set(results) - {"stock"}:
        np.testing.assert_allclose(results[name], want, rtol=1e-4, atol=1e-5)


def test_the_table_is_printed_and_written(tmp_path):
    done = run("layers.py", "--rounds", "1", "--csv", tmp_path / "layers.csv")
    assert done.returncode == 0, done.stderr
    first, *others = csv.DictReader((tmp_path / "layers.csv").read_text().splitlines())
    assert first["kind"] == "conv" and len(others) == 63 and float(first["stock, us"]) > 0
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == ["padding", "eager", "hybridized", "specialized"]
    assert done.stdout.count("64 layers") == 3 and "56 layers" in done.stdout
