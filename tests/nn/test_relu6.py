import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd

from gluon_same import nn
from golden import make_block_golden as golden

with np.load(str(golden.TARGET)) as file:
    VALUES, GRADIENT = file["relu6"], file["relu6 gradient"]


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("shape", [(-1,), (1, 1, -1, 1)])
def test_relu6_equals_tensorflow_except_for_the_gradient_at_6(shape, hybridize):
    layer, x = nn.ReLU6(), mx.nd.array(golden.RELU6).reshape(shape)
    layer.hybridize(hybridize)
    x.attach_grad()
    with autograd.record():
        y = layer(x)
    y.backward()
    np.testing.assert_array_equal(y.asnumpy().ravel(), VALUES)
    want = np.where(np.array(golden.RELU6) == 6, 1, GRADIENT)
    np.testing.assert_array_equal(x.grad.asnumpy().ravel(), want)


def test_relu6_has_no_arguments_to_show():
    assert repr(nn.ReLU6()) == "ReLU6()"


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_relu6_keeps_the_dtype(dtype):
    x = mx.nd.array([-1, 0.5, 7], dtype=dtype)
    out = nn.ReLU6()(x)
    assert out.dtype == np.dtype(dtype) and out.asnumpy().tolist() == [0, 0.5, 6]


def test_relu6_in_numpy_mode(numpy_mode):
    out = nn.ReLU6()(mx.np.array([-1, 0.5, 7]))
    assert isinstance(out, mx.np.ndarray) and out.tolist() == [0, 0.5, 6]


def test_a_maximum_is_refused():
    with pytest.raises(TypeError, match="prefix=6 is not a string: the maximum is always 6"):
        nn.ReLU6(6)
