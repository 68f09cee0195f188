"""Fixtures that import keras-mxnet, and restore everything for other tests."""

import gluon_same  # noqa: F401  isort: skip  before mxnet

import warnings

import pytest

from gluon_same.keras_backend import mxnet_backend


@pytest.fixture(scope="session")
def keras():
    """Return the stock keras-mxnet."""
    # Keras' import changes the warning filters and warns of its age.
    with warnings.catch_warnings(record=True), mxnet_backend.installed():
        import keras
    return keras


@pytest.fixture
def patched(keras):
    """Install the replacements in keras-mxnet."""
    with mxnet_backend.installed():
        yield keras
