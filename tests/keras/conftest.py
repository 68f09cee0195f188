"""keras-mxnet for the tests that want it, and nothing of it left behind for the others."""

import gluon_same  # noqa: F401  isort: skip  before mxnet

import warnings

import pytest

from gluon_same.keras import mxnet_backend


@pytest.fixture(scope="session")
def keras():
    """The stock keras-mxnet, as it comes."""
    # Keras warns that it is old, and sets the filters so that one hears it.
    with warnings.catch_warnings(record=True), mxnet_backend.installed():
        import keras
    return keras


@pytest.fixture
def patched(keras):
    """keras-mxnet with the replacements in place."""
    with mxnet_backend.installed():
        yield keras
