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
import breakdown  # noqa: E402
import layers  # noqa: E402

import race  # noqa: E402


def run(script, *options):
    path = os.pathsep.join([str(BENCHMARKS.parent), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *options],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def test_layers_race(tmp_path):
    file = tmp_path / "times.json"
    names = ["limit", "every size", "specialized", "F.pad"]
    done = run(
        *("layers.py", "--filter", "max 2/1 512", "--batch", "1", "--seconds", "0.01"),
        *("--only", "specialized", "F.pad", "--json", str(file)),
    )
    assert done.returncode == 0, done.stderr
    (times,) = json.loads(file.read_text()).values()
    assert sorted(times) == sorted(names) and all(0 < t < 10 for t in times.values())
    assert all(name in done.stdout for name in ["max 2/1 512 @13x13", "geometric mean", *names])


@pytest.mark.parametrize("script", ["layers.py", "nets.py"])
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
def test_bad_options_are_named(script, options, words):
    done = run(script, *options)
    assert done.returncode == 2 and words in done.stderr


def test_a_difference_is_seen_in_every_output():
    one, other = [np.ones(3), np.ones((2, 2))], [np.ones(3), np.full((2, 2), 1.5)]
    assert race.relative_error(one, one) == 0
    assert race.relative_error(one, other) == pytest.approx(1 / 3)  # 0.5 of 1.5 everywhere
    assert not race.relative_error([np.ones(3), np.full((2, 2), np.nan)], one) < 1
    assert race.relative_error(one[:1], one) == race.relative_error([np.ones(4), one[1]], one) == np.inf


def test_a_contender_that_ends_is_an_error(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("raise SystemExit(3)")
    contender = race.Contender("it", str(script))
    with pytest.raises(RuntimeError, match="it: the process ended"):
        contender.ask(repeats=1)
    contender.stop()


def test_the_parts_of_a_run_are_read_from_onednns_log():
    log = """dnnl_verbose,info,oneDNN v2.5.0
dnnl_verbose,exec,cpu,reorder,jit:uni,undef,src dst,,,8x64x56x56,7.5
RUN start
dnnl_verbose,exec,cpu,reorder,jit:uni,undef,src dst,,,8x64x56x56,0.5
dnnl_verbose,exec,cpu,convolution,brgconv,forward,src dst,,alg,mb8,1.25
dnnl_verbose,exec,cpu,reorder,jit:uni,undef,src dst,,,8x64x56x56,0.25
RUN 2.5
RUN start
dnnl_verbose,exec,cpu,pooling_v2,jit,forward,src dst,,alg,mb8,1.0
RUN 1.5"""
    assert breakdown.parse(log) == [
        {"kernel": 1.25, "reorder": 0.75, "total": 2.5},
        {"kernel": 1.0, "reorder": 0.0, "total": 1.5},
    ]


def test_every_layer_is_of_one_family_and_means_are_of_families():
    assert {layers.family(row) for row, _ in layers.JOBS} == {*layers.FAMILIES, "chains"}
    names = ["limit", "specialized"]
    results = {
        row.named(batch): {"limit": 1.0, "specialized": 4.0 if batch == 1 else 1.0}
        for row, batch in layers.JOBS
    }
    table = layers.as_markdown(results, names).split("\n\n")[0].splitlines()
    assert table[2] == "| convolution (28) | 2.00 |" and table[-1] == f"| all ({len(results)}) | 2.00 |"
    assert len(table) == 2 + 6


def test_a_breakdown_of_a_layer():
    done = run("breakdown.py", "--filter", "max 2/1 512")
    assert done.returncode == 0, done.stderr
    cells = done.stdout.splitlines()[-1].split("|")
    total, kernel, reorder, rest = map(float, cells[2:6])
    assert 0 < kernel < total and kernel + reorder + rest == pytest.approx(total, rel=0.5)


def test_nets_race(tmp_path):
    file, table = tmp_path / "times.json", tmp_path / "table.md"
    names = ["stock", "deployed", "onnxruntime"]
    done = run(
        *("nets.py", "--net", "ConvAutoencoder", "--batch", "1", "--seconds", "0.01", "--only", *names),
        *("--json", str(file), "--markdown", str(table)),
    )
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(file.read_text()).values()
    assert sorted(found["seconds"]) == sorted(names) and found["error"]["deployed"] < 1e-5
    assert "geometric means" in done.stdout and "ConvAutoencoder x1" in table.read_text()


def test_an_unknown_net_is_named():
    done = run("nets.py", "--net", "LeNet")
    assert done.returncode == 2 and "the nets are TinyDarkNet" in done.stderr
