"""Functions of the elements of two arrays match NumPy, also at their edges."""

import numpy as np
import pytest
from checks import check, results

from gluon_same.importing import functions

X = np.array([3.5, -3.5, 0, 2, -1e30], "float32")
Y = np.array([2, 2, 0, -0.75, 3e30], "float32")


@pytest.mark.parametrize("kind", ["arctan2", "fmod", "heaviside", "hypot", "logaddexp2", "mod"])
def test_functions_of_real_numbers(kind):
    with np.errstate(invalid="ignore"):
        want = getattr(np, kind)(X, Y)
    check(functions.of_two, want, X, Y, kind=kind)


@pytest.mark.parametrize("kind", ["floor_divide", "fmod", "mod"])
def test_functions_of_whole_numbers(kind):
    x, y = np.array([[7], [-7]], "int32"), np.array([[2, -2, 3]], "int32")
    check(functions.of_two, getattr(np, kind)(x, y), x, y, kind=kind, whole=True)


def test_steps_at_zero_do_not_spread_infinities():
    x, y = np.array([2, 0, -np.inf], "float32"), np.array([np.inf, np.inf, np.nan], "float32")
    check(functions.of_two, np.heaviside(x, y), x, y, kind="heaviside")


def test_a_quotient_by_zero_may_be_zero():
    want = np.array([1.75, -1.75, 0, -2.6666667, -0.33333334], "float32")
    check(functions.of_two, want, X, Y, kind="divide_no_nan")


def test_infinities_are_close_to_themselves():
    x = np.array([np.inf, np.inf, 1], "float32")
    y = np.array([np.inf, -np.inf, 1.1], "float32")
    for got in results(functions.is_close, x, y, rtol=1e-3, atol=0.0):
        np.testing.assert_array_equal(got, [1, 0, 0])
