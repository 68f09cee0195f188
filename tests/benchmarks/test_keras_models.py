"""The benchmark of keras.applications judges errors and shows them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import keras_check  # noqa: E402
import keras_models  # noqa: E402


def result(**errors):
    errors = {"float32": [1e-6, 2e-5], **{kind: [1e-6, 1e-6] for kind in keras_models.COLUMNS}, **errors}
    return {
        "errors": errors,
        "file": ".h5",
        "floats": 4.2e6,
        "seconds": {"read": 0.1, "load": 0.2, "ONNX": 1},
        "failed": {},
    }


@pytest.mark.parametrize(
    "errors, passes",
    [
        ([1e-5, 6e-5], True),  # three times Keras' own distance
        ([1.1e-5, 1e-6], False),
        ([1e-6, 6.1e-5], False),
        ([float("nan"), 0], False),
        ([], False),
    ],
)
def test_errors_are_judged_by_keras_own(errors, passes):
    assert keras_models.passed(result(hybridized=errors)) is passes


def test_training_is_judged_where_it_was_run():
    training = {"float32 training": [0], "float32 stepped": [0], "training": [0], "stepped": [1e-4]}
    assert not keras_models.passed(result(**training))
    assert keras_models.passed(result(**{**training, "stepped": [1e-6]}))


def test_the_table_marks_what_is_wrong():
    failed = {**result(), "failed": {"ONNX file": "ValueError: no such operator"}}
    del failed["errors"]["ONNX file"]
    text = keras_models.table({"3.15 Net": result(specialized=[1, 0]), "3.15 Other": failed})
    net, other = text.splitlines()[2:4]
    assert net.startswith("| 3.15 | Net | .h5 | 4.2 M |") and "1.0e+00!" in net
    assert "failed" in other and "- 3.15 Other, ONNX file: ValueError: no such operator" in text


def test_distances_are_relative_to_the_largest_value():
    assert keras_check.distance(np.array([1.0, 4.5]), np.array([1.0, -5.0])) == pytest.approx(1.9)
    assert keras_check.distance(np.ones(3), np.ones(2)) == float("inf")


def test_results_are_kept_and_shown(tmp_path):
    file, table = tmp_path / "results.json", tmp_path / "table.md"
    file.write_text(json.dumps({"3.15 Net": result()}))
    script = str(BENCHMARKS / "keras_models.py")
    subprocess.run([sys.executable, script, "--json", str(file), "--table", str(table)], check=True)
    assert table.read_text() == keras_models.table({"3.15 Net": result()}) + "\n"


def test_a_python_that_does_not_exist_is_named():
    command = [sys.executable, str(BENCHMARKS / "keras_models.py"), "--python", "/no/such"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "'/no/such' is not a program" in done.stderr
