"""Settings for the whole suite. gluon_same comes first because it prepares NumPy for MXNet."""

import gluon_same  # noqa: F401  isort: skip

import os
import tempfile

import hypothesis
import mxnet as mx
import numpy as np
import pytest

from dtypes import bfloat16, dtype, exact_int8, exact_lower, int8, lower  # noqa: F401

collect_ignore = ["typing", "fuzz", "onnx/golden"]  # code with mistakes; scripts

# Keras writes its settings to this folder when it is imported.
_keras_home = tempfile.TemporaryDirectory()
os.environ["KERAS_HOME"] = _keras_home.name

hypothesis.settings.register_profile(
    "suite", deadline=None, derandomize=True, print_blob=True, max_examples=100
)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@pytest.fixture(autouse=True)
def seeded():
    np.random.seed(0)
    mx.random.seed(0)


@pytest.fixture(autouse=True)
def brief(monkeypatch):
    """Let ``deploy`` compare graphs in a tenth of the time."""
    monkeypatch.setattr("gluon_same.deployment.timing.SECONDS", 0.05)


@pytest.fixture
def numpy_mode():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


@pytest.fixture
def path(tmp_path):
    """Return the path of an ONNX file that does not exist yet."""
    return str(tmp_path / "net.onnx")
