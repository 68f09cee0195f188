"""The README's section for Keras backends: its example runs, and its table is what is printed."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("settings", [None, '{"backend": "tensorflow"}'])
def test_the_one_line_works(keras, settings, tmp_path):
    if settings:  # of another Keras, which has been here before
        (tmp_path / "keras.json").write_text(settings)
    example = README.split("<!-- keras -->")[1].split("```python\n")[1].split("```")[0]
    code = f"""{example}
import numpy as np
for size, want in (((224, 224), (56, 56)), ((225, 13), (57, 4))):
    assert model.predict(np.ones((1, *size, 3))).shape == (1, *want, 8)
"""
    environment = {"KERAS_HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, env=environment)


def test_the_table_is_what_the_script_prints(keras):
    spec = importlib.util.spec_from_file_location(
        "keras_errors", ROOT / "benchmarks" / "keras_errors.py"
    )
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert "\n".join(script.rows(keras, script.SHOWN)) in README
    assert set(script.SHOWN) <= script.cases.WRONG
