"""The example of the guide for Keras backends runs unchanged."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "notebooks" / "7_for_keras_backends.ipynb"


@pytest.mark.parametrize("settings", [None, '{"backend": "tensorflow"}'])
def test_the_one_line_works(keras, settings, tmp_path):
    if settings:  # modules of another Keras
        (tmp_path / "keras.json").write_text(settings)
    cells = json.loads(GUIDE.read_text(encoding="utf-8"))["cells"]
    (text,) = [
        "".join(c["source"])
        for c in cells
        if "\ngluon_same.keras_backend.install()\n" in "".join(c["source"])
    ]
    example = text.split("```python\n")[1].split("```")[0]
    code = f"""{example}
import numpy as np
for size, want in (((224, 224), (56, 56)), ((225, 13), (57, 4))):
    assert model.predict(np.ones((1, *size, 3))).shape == (1, *want, 8)
"""
    environment = {"KERAS_HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, env=environment)
