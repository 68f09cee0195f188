"""Parameters that a file's arrays are written to behave as those that Gluon initializes."""

import mxnet as mx
import numpy as np
import pytest
from mxnet.gluon import Parameter

from gluon_same.arrays import contexts
from gluon_same.importing.parameters import fill

VALUE = np.arange(3000, dtype=np.float32).reshape(30, 100)


def parameter(value, ctx=None, **kwargs):
    made = Parameter("weight", shape=value.shape, **kwargs)
    fill([(made, value)], contexts(ctx or mx.cpu()))
    return made


LARGE = np.arange(42000, dtype=np.float32).reshape(140, 300)  # more than a tile in both directions
HUGE = np.arange(1200000, dtype=np.float32).reshape(1200, 1000)  # its transpose is not copied twice


@pytest.mark.parametrize(
    "value",
    [VALUE, LARGE, LARGE.T, HUGE, HUGE.T, VALUE.reshape(5, 6, 10, 10).transpose(3, 2, 0, 1), VALUE[0]],
)
def test_values_are_copied_in_any_order(value):
    made = parameter(value)
    expected = value.copy()
    value += 1
    np.testing.assert_array_equal(made.data().asnumpy(), expected)
    value -= 1


def test_gradients_start_at_zero_and_add_up():
    made = parameter(VALUE)
    assert not made.grad().asnumpy().any()
    made.grad_req = "add"
    for _ in range(2):
        with mx.autograd.record():
            made.data().sum().backward()
    assert (made.grad().asnumpy() == 2).all()


def test_what_is_not_trained_has_no_gradient():
    made = parameter(VALUE, grad_req="null")
    assert made.grad_req == "null"
    with pytest.raises(RuntimeError, match="grad_req='null'"):
        made.grad()


def test_a_trainer_updates_each_context():
    made = parameter(VALUE, [mx.cpu(0), mx.cpu(1)])
    trainer = mx.gluon.Trainer({"weight": made}, "sgd", {"learning_rate": 1})
    with mx.autograd.record():
        losses = [made.data(ctx).sum() for ctx in made.list_ctx()]
    mx.autograd.backward(losses)
    trainer.step(1)
    for data in made.list_data():
        np.testing.assert_array_equal(data.asnumpy(), VALUE - 2)


def test_each_context_has_memory_of_its_own():
    one, other = parameter(HUGE.T, [mx.cpu(0), mx.cpu(1)]).list_data()
    one[:] = 1
    assert (one.asnumpy() == 1).all()
    np.testing.assert_array_equal(other.asnumpy(), HUGE.T)


def test_a_parameter_can_be_set_and_cast():
    made = parameter(VALUE)
    made.set_data(mx.nd.ones(VALUE.shape))
    made.cast("float64")
    assert made.data().dtype == made.grad().dtype == np.float64
    assert (made.data().asnumpy() == 1).all()
