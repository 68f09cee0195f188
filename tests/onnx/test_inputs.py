"""Sizes that are tried for the axes that a file leaves open."""

import itertools

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
@pytest.mark.parametrize("first", [1, 2, 3, 4])
@pytest.mark.parametrize("second", [2, 3, 4])
@pytest.mark.parametrize("more", [0, 1, 2, 3])
def test_sizes_are_odd_and_even_after_two_strides(sizes, first, second, more):
    """Else a net that rounds down a size behind them is taken for one that keeps all elements."""
    for up, up_again in itertools.product({0, first - 1}, {0, second - 1}):
        found = [((n + up) // first + up_again) // second + more for n in sizes]
        assert {n % 2 for n in found} == {0, 1}
