"""A net from steps, without a file."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same.importing.block import Function
from gluon_same.importing.net import ImportedNet, LayerOutput, Move, Plan, Run, fits


@pytest.fixture
def net():
    """Return a net that transposes its input and adds it to its second input, of 3 columns."""
    steps = Move("transpose", (0, 2, 1), (0,), (2,)), Run("sum", (2, 1), (3,))
    shapes = (None, 3, None), (None, None, 3)
    plan = Plan(
        steps, (0, 1), (3, 2), (LayerOutput("sum", 3, (0, 1, 2)),), shapes, shapes, shapes[1:] * 2
    )
    return ImportedNet({"sum": Function("elemwise_add", "Add")}, plan, prefix="net_")


@pytest.mark.parametrize("hybridize", [False, True])
def test_steps_run_in_order(net, hybridize):
    net.hybridize(hybridize)
    a, b = mx.nd.random.uniform(shape=(2, 3, 4)), mx.nd.random.uniform(shape=(2, 4, 3))
    total, turned = net(a, b)
    np.testing.assert_array_equal(turned.asnumpy(), a.asnumpy().transpose(0, 2, 1))
    np.testing.assert_allclose(total.asnumpy(), turned.asnumpy() + b.asnumpy(), rtol=1e-6)


def test_layers_have_names(net):
    assert list(net.layers) == ["sum"] and "(sum): Add(elemwise_add)" in repr(net)


def test_inputs_that_do_not_fit_are_refused(net):
    a, b = mx.nd.ones((2, 3, 4)), mx.nd.ones((2, 4, 3))
    with pytest.raises(ValueError, match="has 2 inputs, and 1 were given"):
        net(a)
    with pytest.raises(ValueError, match=r"input 1 of shape \(2, 3, 4\) does not fit net_?, which"):
        net(a, a)
    with pytest.raises(
        ValueError, match=r"on data of shape \(0, 3, 4\), .* its operators require elements"
    ):
        net(mx.nd.array(np.zeros((0, 3, 4))), b)
    with pytest.raises(ValueError, match=r"cannot run on data of shape .* not all models support"):
        net(a, b[:, :3])


@pytest.mark.parametrize(
    "shape, wanted, expected",
    [((2, 3), (None, 3), True), ((2, 4), (None, 3), False), ((2,), (None, 3), False)],
)
def test_none_fits_any_size(shape, wanted, expected):
    assert fits(shape, wanted) is expected
