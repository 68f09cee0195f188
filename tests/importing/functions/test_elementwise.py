"""Functions of each element, and activations, against NumPy."""

import mxnet as mx
import numpy as np
import pytest
from checks import check, check_sizes, random

from gluon_same.importing import functions
from gluon_same.importing.block import Function

X = random(2, 3, 5)
ROW = random(3, 1, seed=1)
COMPARISONS = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "lesser": np.less,
    "greater": np.greater,
    "lesser_equal": np.less_equal,
    "greater_equal": np.greater_equal,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64"])
@pytest.mark.parametrize("kind", COMPARISONS)
def test_comparisons_broadcast_and_return_float32(kind, dtype):
    x, other = random(2, 3, 5, dtype=dtype), random(3, 1, dtype=dtype, seed=1)
    check(functions.compare, COMPARISONS[kind](x, other).astype("float32"), x, other, kind=kind)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_where_broadcasts_all_three(dtype):
    condition = (random(5, seed=2) > 0).astype("float32")
    x, other = random(2, 1, 5, dtype=dtype), random(3, 1, dtype=dtype, seed=1)
    check(functions.where, np.where(condition, x, other), condition, x, other, spread=dtype)
    full = np.broadcast_to(x, (2, 3, 5)).copy()
    how = dict(spread=dtype, whole=(False, True, False))
    check(functions.where, np.where(condition, full, other), condition, full, other, **how)
    sizes = [(condition[:n], x[..., :n], other) for n in (5, 3)]
    check_sizes(functions.where, lambda c, a, b: np.where(c, a, b), *sizes, spread=dtype)


def test_where_keeps_infinity_and_equal_shapes():
    x, other = np.full((2, 3), -np.inf, "float32"), random(2, 3)
    positive = (other > 0).astype("float32")
    check(functions.where, np.where(other > 0, x, other), positive, x, other, spread="float32")
    check(functions.where, x[0], np.float32([1]), x[0], other[0], spread="float32")


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_integers_divide_toward_zero_and_by_zero(dtype):
    x, other = np.array([7, -7, 7, -7, 3], dtype), np.array([2, 2, -2, -2, 0], dtype)
    check(functions.integer_divide, np.array([3, -3, -3, 3, 3], dtype), x, other)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_integers_divide_by_the_number_that_is_or_equals_minus_one(dtype):
    """255 equals -1 for MXNet."""
    x = np.array([200, np.iinfo(dtype).min, 7], dtype)
    other = np.array([255, -1, -1], "int64").astype(dtype)
    want = [200 // 255, 0, 0] if dtype == "uint8" else [200 // 255, np.iinfo(dtype).min, -7]
    check(functions.integer_divide, np.array(want, dtype), x, other)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32"])
def test_remainders_of_both_signs(dtype):
    x, other = random(4, 6, dtype=dtype), random(6, dtype=dtype, low=1, seed=1)
    other[::2] *= -1
    check(functions.remainder, np.fmod(x, other), x, other)
    check("broadcast_mod", np.mod(x, other), x, other, rtol=1e-5)


@pytest.mark.parametrize(
    "dtypes", [("float32", "int64"), ("int32", "float32"), ("int64", "int64"), ("float64", "int32")]
)
def test_powers_have_the_dtype_of_the_base(dtypes):
    x, exponent = random(2, 3, dtype=dtypes[0], low=1), random(3, dtype=dtypes[1], low=0, high=4)
    through = "float64" if dtypes[0][0] == "i" else dtypes[0]
    want = np.power(x, exponent).astype(dtypes[0])
    check(functions.power, want, x, exponent, through=through, to=dtypes[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_halves_round_to_even(dtype):
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49, -0.51, 3, 1e9, np.inf], dtype)
    check(functions.round_half_even, np.rint(x), x)


@pytest.mark.parametrize("negative", [True, False])
@pytest.mark.parametrize("positive", [True, False])
def test_infinities_of_each_sign(negative, positive):
    x = np.array([1, np.inf, -np.inf, np.nan, 0], "float32")
    want = np.array([0, positive, negative, 0, 0], "float32")
    check(functions.is_infinite, want, x, negative=negative, positive=positive)
    check(functions.is_nan, np.isnan(x).astype("float32"), x)


@pytest.mark.parametrize("left", [True, False])
def test_bits_shift(left):
    x, count = random(3, 4, dtype="uint8", high=255), random(4, dtype="uint8", low=0, high=8)
    want = np.left_shift(x, count) if left else np.right_shift(x, count)
    check(functions.shift_bits, want, x, count, left=left, bits=8)
    count[1:] = 8, 9, 255  # all bits are gone, and MXNet would divide by 0
    want[:, 1:] = 0
    check(functions.shift_bits, want, x, count, left=left, bits=8)


def test_activations_with_arguments():
    check(functions.clipped_linear, np.clip(X * 0.3 + 0.6, 0, 1), X, scale=0.3, offset=0.6)
    want = 1.5 * np.where(X > 0, X, 2 * (np.exp(X) - 1))
    check(functions.selu, want, X, alpha=2.0, gamma=1.5)
    want = np.where(X < -0.5, X + 0.2, np.where(X > 0.5, X - 0.2, 0)).astype("float32")
    check(functions.shrink, want, X, threshold=0.5, bias=0.2)
    far = np.array([-np.inf, np.inf, 1], "f")
    check(functions.shrink, far - np.sign(far) / 2, far, threshold=0.5, bias=0.5)
    check(functions.thresholded_relu, np.maximum(far, 0), far, theta=0.5)


def test_casts():
    check(functions.cast, X.astype("int32"), X, to="int32")


def test_gradients_of_where_add_up():
    block = Function(functions.where, "Where", spread="float32")
    x, other, condition = mx.nd.array(X), mx.nd.array(ROW), mx.nd.array(X > 0)
    x.attach_grad()
    other.attach_grad()
    with mx.autograd.record():
        block(condition, x, other).sum().backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), X > 0)
    np.testing.assert_array_equal(other.grad.asnumpy(), (X <= 0).sum((0, 2))[:, None])
