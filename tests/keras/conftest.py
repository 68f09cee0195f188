"""keras-mxnet for the tests that want it, and nothing of it left behind for the others."""

import gluon_same  # noqa: F401  isort: skip  before mxnet

import os
import tempfile
import warnings
from importlib import metadata

import pytest

from gluon_same.keras import mxnet_backend


@pytest.fixture(scope="session")
def keras():
    """The stock keras-mxnet, as it comes."""
    try:
        metadata.version("keras-mxnet")
    except metadata.PackageNotFoundError:
        pytest.skip("keras-mxnet is not installed")
    with tempfile.TemporaryDirectory() as home:
        os.environ["KERAS_HOME"] = home  # Keras writes its settings there when it is imported
        try:
            with warnings.catch_warnings(), mxnet_backend.installed():
                warnings.simplefilter("ignore")
                import keras
        finally:
            del os.environ["KERAS_HOME"]
    return keras


@pytest.fixture
def patched(keras):
    """keras-mxnet with the replacements in place."""
    with mxnet_backend.installed():
        yield keras
