"""Functions of vectors and of numbers that are not whole, against NumPy."""

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, write

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)
EVERY = dict(start=None, stop=None, step=None)


def test_conditions_and_classes_may_be_floats(tmp_path):
    x = np.array([[-1.5, -0.5, 0, 0.5, 2.7]], "float32")
    chosen = function("where", "image", x=2, y=1)
    net = load_model(write(tmp_path, functional(image(5), chosen)))
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), [[2, 2, 1, 2, 2]])
    classes = function("one_hot", "image", depth=3)
    net = load_model(write(tmp_path, functional(image(5), classes)), layout="NHWC")
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy().argmax(-1), [[0, 0, 0, 0, 2]])
    assert net(mx.nd.array(x)).sum().asscalar() == 4  # -1.5 is no class


def test_lengths_that_are_floats_are_truncated(tmp_path):
    made = function("sequence_mask", "image", maxlen=3)
    net = load_model(write(tmp_path, functional(image(3), made)), layout="NHWC")
    wanted = [[[0, 0, 0], [1, 0, 0], [1, 1, 0]]]
    np.testing.assert_array_equal(net(mx.nd.array([[0.7, 1, 2.9]])).asnumpy(), wanted)


def test_slices_may_begin_before_the_first_element(tmp_path):
    spec = [EVERY, dict(start=-7, stop=5, step=None), dict(start=-6, stop=None, step=None)]
    made = function("__operators__.getitem", "image", slice_spec=spec)
    net = load_model(write(tmp_path, functional(image(None, None, 3), made)), layout="NHWC")
    for size in ((4, 8), (9, 3)):
        x = RANDOM.normal(size=(2, *size, 3)).astype("float32")
        for _ in range(2):
            np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), x[:, -7:5, -6:])
            net.hybridize()


def test_slices_without_elements_are_errors_of_their_call(tmp_path):
    spec = [EVERY, dict(start=7, stop=None, step=None)]
    made = function("__operators__.getitem", "image", slice_spec=spec)
    net = load_model(write(tmp_path, functional(image(None, 3, 2), made)), layout="NHWC")
    x = mx.nd.random.normal(shape=(2, 9, 3, 2))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"data of shape \(2, 6, 3, 2\): it selects none .*a slice"):
            net(x[:, :6])
        mx.nd.waitall()  # MXNet has no error left
        np.testing.assert_array_equal(net(x).asnumpy(), x[:, 7:].asnumpy())
        net.hybridize()


def test_hints_of_dtypes_have_no_effect(tmp_path):
    made = function("convert_to_tensor", "image", dtype_hint="int32")
    net = load_model(write(tmp_path, functional(image(3), made)))
    np.testing.assert_array_equal(net(mx.nd.array([[1.5, -2, 3]])).asnumpy(), [[1.5, -2, 3]])


def test_cross_products(tmp_path):
    other = function("roll", "image", shift=1, axis=1)
    made = function("cross", "image", y=["roll", 0, 0])
    net = load_model(write(tmp_path, functional(image(4, 3), other, made)), layout="NHWC")
    x = RANDOM.normal(size=(2, 4, 3)).astype("float32")
    found, wanted = net(mx.nd.array(x)).asnumpy(), np.cross(x, np.roll(x, 1, 1))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="unless along a last axis of 3"):
        load_model(
            write(tmp_path, functional(image(3, 4), function("cross", "image", y=["image", 0, 0])))
        )


@pytest.mark.parametrize("name", ["array", "conjugate", "real"])
def test_functions_of_complex_numbers_keep_floats(tmp_path, name):
    net = load_model(write(tmp_path, functional(image(3), function(name, "image"))))
    np.testing.assert_array_equal(net(mx.nd.array([[1, -2, 3]])).asnumpy(), [[1, -2, 3]])


def test_a_dot_with_a_number_is_refused(tmp_path):
    with pytest.raises(ValueError, match="dot with a number: multiply by it"):
        load_model(write(tmp_path, functional(image(3), function("dot", "image", y=2.0))))


@pytest.mark.parametrize("name, number", [("zeros_like", 0), ("ones_like", 1)])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_constants_of_other_dtypes(tmp_path, name, number, dtype):
    made = function(name, "image", dtype=dtype)
    found = load_model(write(tmp_path, functional(image(3), made)))(mx.nd.array([[0.5, np.nan, 2]]))
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found.asnumpy(), [[number] * 3])
