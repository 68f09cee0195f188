"""The benchmarks run, refuse contenders that give other numbers, and report what they cannot do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import nets  # noqa: E402

import race  # noqa: E402


def run(script, *options):
    path = os.pathsep.join([str(BENCHMARKS.parent), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *options],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "options, words",
    [
        (["--python", "PyTorch"], "'PyTorch' is not NAME=PATH"),
        (["--python", "Pytorch=" + sys.executable], "with a NAME among"),
        (["--python", "PyTorch=/no/such"], "is not NAME=PATH"),
        (["--seconds", "0"], "'0' is not above 0"),
        (["--json", "/no/such/file"], "is in a folder that does not exist"),
    ],
)
def test_bad_options_are_named(options, words):
    done = run("nets.py", *options)
    assert done.returncode == 2 and words in done.stderr


def test_a_difference_is_seen_in_every_output():
    one, other = [np.ones(3), np.ones((2, 2))], [np.ones(3), np.full((2, 2), 1.5)]
    assert nets.error(one, one) == 0
    assert nets.error(one, other) == pytest.approx(1 / 3)  # 0.5 of 1.5 everywhere
    assert not nets.error([np.ones(3), np.full((2, 2), np.nan)], one) < 1
    assert nets.error(one[:1], one) == nets.error([np.ones(4), one[1]], one) == np.inf


def test_a_contender_that_ends_is_an_error(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("raise SystemExit(3)")
    contender = race.Contender("it", str(script))
    with pytest.raises(RuntimeError, match="it: the process ended"):
        contender.ask(repeats=1)
    contender.stop()


def test_nets_race(tmp_path):
    file, table = tmp_path / "times.json", tmp_path / "table.csv"
    names = ["stock", "deployed", "onnxruntime"]
    done = run(
        *("nets.py", "--net", "ConvAutoencoder", "--batch", "1", "--seconds", "0.01", "--only", *names),
        *("--json", str(file), "--csv", str(table)),
    )
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(file.read_text()).values()
    assert sorted(found["seconds"]) == sorted(names) and found["error"]["deployed"] < 1e-5
    assert "geometric means" in done.stdout and "ConvAutoencoder" in table.read_text()


def test_an_unknown_net_is_named():
    done = run("nets.py", "--net", "LeNet")
    assert done.returncode == 2 and "the nets are TinyDarkNet" in done.stderr
