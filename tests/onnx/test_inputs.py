"""Sizes that are tried for the axes that a file leaves open."""

import pytest

from gluon_same.onnx.inputs import TRIALS, TRIES

#: Those of the first axes that a model may have; the rows of ordinary sizes.
COLUMNS = [[start + step * order for start, step in row] for row in TRIALS[:2] for order in (0, 1, 2)]


@pytest.mark.parametrize("row", TRIALS)
def test_all_axes_have_as_many_different_sizes(row):
    starts = [start for start, _ in row]
    assert (
        len(row) == TRIES
        and len({tuple(start + step * k for start, step in row) for k in range(4)}) == 4
    )
    assert len(set(starts)) == len(starts) or row is TRIALS[2]  # of short sequences, which repeat some


@pytest.mark.parametrize("sizes", COLUMNS)
@pytest.mark.parametrize("divisor", [2, 3, 4, 8])
@pytest.mark.parametrize("more", [0, 1, 2, 3])
def test_sizes_are_odd_and_even_after_strides(sizes, divisor, more):
    """Else a net whose strides are rounded down later is taken for one that keeps all elements."""
    rounded = [[(n + up) // divisor + more for n in sizes] for up in (0, divisor - 1)]
    assert all({n % 2 for n in each} == {0, 1} for each in rounded)
