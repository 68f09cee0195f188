"""Fixtures for dtypes of fewer bits, which skip a test if MXNet cannot run the dtype here."""

import mxnet as mx
import pytest

import gluon_same
from gluon_same import nn

#: Errors without instructions for bfloat16, and of the oneDNN of MXNet 1.7 in some virtual machines.
MISSING = {"bfloat16": "could not create a primitive", "int8": "x2APIC is not supported"}


def runs(dtype):
    """Skip a test if MXNet cannot run a dtype here."""
    layer = nn.Conv2D(4, 1)
    layer.initialize()
    x = mx.nd.ones((1, 4, 4, 4))
    try:
        gluon_same.deploy(layer, x.shape, dtype=dtype, data=x, tune=False)
    except ValueError as error:
        if "changes its results" in str(error):  # it runs, though not exactly
            return dtype
        if MISSING[dtype] not in str(error):
            raise
        pytest.skip(f"MXNet {mx.__version__} cannot run {dtype} on this machine")
    return dtype


@pytest.fixture(scope="session")
def int8():
    return runs("int8")


@pytest.fixture(scope="session")
def exact_int8(int8):
    """Skip a test on processors without VNNI, which saturate sums of two products in 16 bits."""
    layer = nn.Dense(8, in_units=64, weight_initializer="ones")
    layer.initialize()
    x = mx.nd.ones((8, 64))
    try:
        if gluon_same.deploy(layer, x.shape, dtype=int8, data=x, tune=False).report.error < 0.01:
            return int8
    except ValueError as error:
        if "changes its results" not in str(error):
            raise
    pytest.skip("this processor saturates sums of int8 products")


@pytest.fixture(scope="session")
def bfloat16():
    return runs("bfloat16")


@pytest.fixture(params=["bfloat16", "int8"])
def lower(request):
    """A dtype of fewer bits."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["bfloat16", "exact_int8"])
def exact_lower(request):
    """A dtype of fewer bits whose results are close."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def dtype(request):
    """The parameter of a test; the test is skipped if MXNet cannot run that dtype here."""
    return request.param if request.param == "float32" else request.getfixturevalue(request.param)
