"""Rules that insert and move casts to bfloat16."""

import os
import subprocess
import sys

import mxnet as mx
import numpy as np
import pytest

from gluon_same.deployment.bfloat16 import to_bfloat16
from gluon_same.deployment.running import error, outputs
from graphs import graph_of, operators

needs_bfloat16 = pytest.mark.usefixtures("bfloat16")
F, X = mx.sym, mx.sym.var("data0")


def convolution(x, **kwargs):
    return F.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=8, **kwargs)


def lowered(symbol, shape):
    graph = graph_of(symbol, shape)
    x = [mx.nd.array(np.random.RandomState(0).normal(size=shape))]
    want = outputs(graph, x)  # which leaves the weights in oneDNN's order
    found = to_bfloat16(graph)
    assert error(outputs(found, x), want) < 0.02
    return found


@needs_bfloat16
def test_layers_hand_bfloat16_on_through_what_takes_it():
    y = F.clip(convolution(X), 0, 6)
    y = F.concat(F.Activation(convolution(y), act_type="relu"), y, dim=1)
    y = F.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="max")
    found = lowered(F.FullyConnected(y, num_hidden=3), (1, 3, 8, 8))
    assert operators(found)[0] == operators(found)[-1] == "amp_cast"
    assert operators(found).count("amp_cast") == 2


@needs_bfloat16
def test_other_operators_get_float32():
    found = lowered(F.sigmoid(convolution(F.sigmoid(convolution(X)))), (1, 3, 8, 8))
    assert operators(found) == ["amp_cast", "Convolution", "amp_cast", "sigmoid"] * 2


@needs_bfloat16
def test_weights_are_cast_once_but_for_those_of_groups():
    one = lowered(convolution(X), (1, 8, 8, 8))
    assert {p.dtype.names for p in one.params.values()} == {("bfloat16",)}
    many = lowered(convolution(X, num_group=8), (1, 8, 8, 8))
    assert {np.dtype(p.dtype) for p in many.params.values()} == {np.dtype("float32")}
    assert operators(many).count("amp_cast") == 4


@needs_bfloat16
def test_weights_are_rounded_to_the_nearest():
    graph = graph_of(convolution(X), (1, 8, 8, 8))
    before, after = ({p.shape: p for p in each.params.values()} for each in (graph, to_bfloat16(graph)))
    for shape, values in before.items():
        rounded = mx.nd.amp_cast(after[shape], dtype="float32").asnumpy()
        errors = np.abs(rounded / values.asnumpy() - 1)
        assert 2**-10 < errors.max() < 2**-7.99


@needs_bfloat16
def test_a_net_without_layers_stays():
    assert operators(lowered(F.relu(X), (2, 3))) == ["relu"]


def test_numpy_need_not_know_the_dtype():
    """It does if ml_dtypes is imported, which onnx requires."""
    code = """
import sys
sys.modules["ml_dtypes"] = None
import gluon_same
import mxnet as mx
from graphs import graph_of, operators
from gluon_same.deployment.bfloat16 import to_bfloat16
y = mx.sym.FullyConnected(mx.sym.var("data0"), num_hidden=3)
print(operators(to_bfloat16(graph_of(y, (1, 8)))))
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout.strip() == "['amp_cast', 'FullyConnected', 'amp_cast']", done.stderr
