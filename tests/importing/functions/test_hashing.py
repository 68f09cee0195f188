"""Hashes of whole numbers against TensorFlow's."""

import numpy as np
import pytest
from checks import check, results

from gluon_same.importing import functions

#: Numbers of 1 to 20 characters, and their bins of tf.strings.to_hash_bucket_fast and
#: to_hash_bucket_strong with the key [133, 137], in TensorFlow 2.15.
NUMBERS = [
    7,
    -3,
    42,
    -98,
    765,
    -432,
    8765,
    -4321,
    98765,
    987654,
    9876543,
    98765432,
    987654321,
    -987654321,
    98765432109,
    987654321098,
    9876543210987,
    98765432109876,
    987654321098765,
    9876543210987654,
    98765432109876543,
    -98765432109876543,
    987654321098765432,
    9223372036854775807,
    -9223372036854775808,
]
BINS = 10**9 + 7
FAST = [
    386741321,
    132311520,
    917532362,
    443721414,
    67221769,
    658077048,
    726292946,
    557824522,
    805469137,
    753121466,
    774602216,
    633428915,
    947467111,
    122035485,
    764346040,
    76289329,
    154509397,
    205820259,
    897401781,
    810977433,
    491507457,
    415585706,
    248891910,
    734228218,
    754750623,
]
STRONG = [
    381801073,
    927563955,
    607972812,
    816194374,
    163251687,
    436713021,
    29953959,
    417037532,
    500451362,
    542656710,
    451635513,
    762634893,
    897582458,
    238956877,
    782793408,
    329130251,
    643572053,
    801089955,
    837800945,
    445079799,
    843957850,
    979178290,
    100587980,
    451890398,
    363115246,
]


def hashed(x, bins, salt=None, mask=None):
    how = dict(bins=bins, salted=salt is not None, mask=mask)
    return (functions.hash_numbers, x, *functions.hash_constants(salt)), how


@pytest.mark.parametrize(
    "salt, want", [(None, FAST), ((133, 137), STRONG), ((133 - 2**64, 137), STRONG)]
)
def test_numbers_of_every_length_have_the_bins_of_tensorflow(salt, want):
    given, how = hashed(np.array(NUMBERS, "int64"), BINS, salt)
    for got in results(*given, **how):
        assert got.tolist() == want


def test_the_axes_stay():
    given, how = hashed(np.array(NUMBERS[:6], "int32").reshape((3, 1, 2)), BINS)
    check(given[0], np.array(FAST[:6]).reshape((3, 1, 2)), *given[1:], **how)


def test_a_masked_number_has_the_first_bin_to_itself():
    x = np.arange(-20, 20)
    (whole, how), (rest, other) = hashed(x, 4, mask=3), hashed(x, 3)
    for got, plain in zip(results(*whole, **how), results(*rest, **other)):
        np.testing.assert_array_equal(got, np.where(x == 3, 0, plain + 1))


def test_all_numbers_are_in_the_only_bin():
    given, how = hashed(np.arange(5), 1, mask=3)
    check(given[0], np.zeros(5, "int64"), *given[1:], **how)
