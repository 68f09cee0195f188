"""The benchmark of keras.applications judges errors and shows them."""

import csv
import json

import numpy as np
import pytest

import keras_check
import keras_models
from scripts import run


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
    results = {"3.15 Net": result(specialized=[1, 0]), "3.15 Other": failed, "3.15 Good": result()}
    titles, *rows = keras_models.table(results)
    assert [row[:4] for row in rows[:2]] == [
        ["3.15", "Net", ".h5", "4.2 M"],
        ["3.15", "Other", ".h5", "4.2 M"],
    ]
    assert rows[0][titles.index("specialized")] == "1.0e+00" and rows[1][titles.index("ONNX file")] == ""
    assert [row[-1] for row in rows] == ["no", "no", "yes"] and titles[-1] == "passed"
    assert list(keras_models.remarks(results)) == ["3.15 Other, ONNX file: ValueError: no such operator"]


def test_errors_after_training_are_remarks():
    (line,) = keras_models.remarks({"3.15 Net": result(training=[1e-7], stepped=[2e-7])})
    assert line == "3.15 Net: 1.0e-07 in training mode, 2.0e-07 after a step of SGD"


def test_distances_are_relative_to_the_largest_value():
    assert keras_check.distance(np.array([1.0, 4.5]), np.array([1.0, -5.0])) == pytest.approx(1.9)
    assert keras_check.distance(np.ones(3), np.ones(2)) == float("inf")


def test_results_are_kept_and_shown(tmp_path):
    file, table = tmp_path / "results.json", tmp_path / "table.csv"
    file.write_text(json.dumps({"3.15 Net": result()}))
    assert run("keras_models.py", "--json", file, "--csv", table).returncode == 0
    rows = list(csv.reader(table.read_text().splitlines()))
    assert rows == list(keras_models.table({"3.15 Net": result()}))


def test_a_python_that_does_not_exist_is_named():
    done = run("keras_models.py", "--python", "/no/such")
    assert done.returncode == 2 and "'/no/such' is not a program" in done.stderr
