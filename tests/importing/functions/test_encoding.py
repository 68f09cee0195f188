"""Encodings and preprocessing against NumPy."""

import numpy as np
import pytest
from checks import results

from gluon_same.importing import functions

RANDOM = np.random.RandomState(0)


def numbers(*values, dtype="int64"):
    return np.array(values, dtype)


@pytest.mark.parametrize("first", [None, 9])
def test_numbers_that_are_no_keys_share_the_last_values(first):
    keys, x = numbers(10, 12, 13), numbers(12, 5, 13, -4, 10, 2**40)
    values = numbers(2, 3, 4) if first is None else numbers(-1, 2, -1, 3, 4, -1)
    for got in results(functions.look_up, x, keys, values, first=first, start=0, count=2):
        np.testing.assert_array_equal(got, [3, 1, 4, 0, 2, 0])
    for got in results(functions.look_up, x, keys, values, first=first, start=1, count=0):
        np.testing.assert_array_equal(got, [3, -1, 4, -1, 2, -1])


def test_keys_above_32_bits_are_told_apart():
    keys = numbers(10**10, 10**10 + 1)
    for got in results(functions.look_up, keys, keys, numbers(5, 6), first=None, start=0, count=1):
        np.testing.assert_array_equal(got, [5, 6])


def test_numbers_above_53_bits_that_are_no_keys_have_their_own_values():
    x, keys = numbers(2**62 + 5, -(2**62) - 3), numbers(1, 2)
    for got in results(functions.look_up, x, keys, keys, first=None, start=0, count=3):
        np.testing.assert_array_equal(got, x % 3)


@pytest.mark.parametrize("mode", ["one_hot", "multi_hot", "count", "tf_idf"])
def test_numbers_that_are_no_classes_are_not_encoded(mode):
    x, weights = numbers(0, 2, 2, -1, 5, 1).reshape((2, 3)), numbers(1, 2, 3, dtype="float32")
    one_hot = (x[..., None] == np.arange(3)).astype("float32")
    want = {"one_hot": one_hot, "multi_hot": one_hot.max(1), "count": one_hot.sum(1)}
    want["tf_idf"] = one_hot.sum(1) * weights
    arrays = [weights] if mode == "tf_idf" else []
    for got in results(functions.encode, x, *arrays, mode=mode, depth=3, rank=2):
        np.testing.assert_array_equal(got, want[mode])


def test_bounds_belong_to_the_bin_after_them():
    x, bounds = RANDOM.normal(size=(3, 4)).astype("float32"), np.array([-0.5, 0.0, 1.0], "float32")
    x[0, :3] = bounds
    for got in results(functions.discretize, x, bounds):
        np.testing.assert_array_equal(got, np.digitize(x, bounds))


@pytest.mark.parametrize("size", [(7, 9), (8, 9), (7, 6)])
def test_the_center_of_images_of_every_size_is_cut_out(size):
    x = RANDOM.normal(size=(2, 3, *size)).astype("float32")
    top, left = ((n - m) // 2 for n, m in zip(size, (4, 5)))
    for got in results(functions.center_crop, x, size=(4, 5)):
        np.testing.assert_array_equal(got, x[:, :, top : top + 4, left : left + 5])


def test_an_image_that_is_too_small_is_refused():
    with pytest.raises(Exception, match="slice|begin|end"):
        list(results(functions.center_crop, np.zeros((1, 1, 3, 3), "float32"), size=(4, 3)))


def test_channels_of_one_value_keep_it():
    x = RANDOM.uniform(1, 9, (2, 2, 3, 3)).astype("float32")
    x[0, 1] = 4
    least, most = x.min((2, 3), keepdims=True), x.max((2, 3), keepdims=True)
    with np.errstate(invalid="ignore"):
        want = (x - least) / (most - least) * 10
    want[0, 1] = 4
    for got in results(functions.auto_contrast, x, low=0, high=10, axes=(2, 3)):
        np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("kind", ["mean", "max"])
def test_windows_of_other_sizes_are_pooled(kind):
    x = RANDOM.normal(size=(2, 3, 5, 4)).astype("float32")
    windows = [[(0, 2), (1, 4), (3, 5)], [(0, 2), (2, 4)]]
    for got in results(functions.pool_windows, x, windows=windows, kind=kind):
        for i, j in np.ndindex(3, 2):
            rows, columns = slice(*windows[0][i]), slice(*windows[1][j])
            want = getattr(x[:, :, rows, columns], kind)((2, 3))
            np.testing.assert_allclose(got[:, :, i, j], want, rtol=1e-5, atol=1e-6)
