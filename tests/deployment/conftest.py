"""Dtypes that MXNet can run here."""

import mxnet as mx
import pytest

import gluon_same
from gluon_same import nn


@pytest.fixture(scope="session")
def int8():
    """Skip a test if MXNet cannot run int8 here."""
    layer = nn.Conv2D(4, 1)
    layer.initialize()
    x = mx.nd.ones((1, 4, 4, 4))
    try:
        gluon_same.deploy(layer, x.shape, dtype="int8", data=x, tune=False)
    except ValueError as error:
        # The oneDNN of MXNet 1.7 asks processors in a way that some virtual machines do not answer.
        if "x2APIC is not supported" not in str(error):
            raise
        pytest.skip(f"MXNet {mx.__version__} cannot run int8 on this machine")
    return "int8"


@pytest.fixture(params=["bfloat16", "int8"])
def lower(request):
    """A dtype of fewer bits."""
    return request.getfixturevalue("int8") if request.param == "int8" else request.param
