"""The rules by which large planes are pooled."""

import pytest

from gluon_same import planes
from gluon_same.arguments import Window


@pytest.fixture(autouse=True)
def cache_of_one_mib(monkeypatch):
    monkeypatch.setattr(planes, "QUICK", 16384)


def square(span, stride):
    return (Window(span, stride, "same", span),) * 2


def test_the_size_of_the_cache_is_plausible():
    assert 2**18 <= planes._cache_size() <= 2**26


def test_a_plane_is_slow_that_does_not_fit_with_its_result():
    assert not planes.is_slow(square(2, 1), (90, 90)) and planes.is_slow(square(2, 1), (91, 91))
    assert not planes.is_slow(square(2, 2), (112, 112)) and planes.is_slow(square(2, 2), (116, 116))
    assert planes.is_slow(square(2, 1)[:1], (4,))


@pytest.mark.parametrize(
    "window, size, channels, plain, way",
    [
        ((2, 2), 224, 64, True, "rows"),
        ((2, 2), 224, 3, True, "rows"),
        ((2, 2), 225, 64, True, "bands"),  # whose last window is cut
        ((3, 2), 224, 64, True, "bands"),
        ((2, 1), 224, 64, True, "bands"),
        ((3, 1), 224, 64, True, "together"),
        ((3, 1), 224, 12, True, "bands"),
        ((3, 1), 224, 3, True, None),
        ((3, 2), 4000, 12, True, None),
        ((3, 2), 4000, 16, True, "together"),
        ((2, 2), 224, 64, False, "together"),  # as its channels may be
        ((2, 2), 224, 12, False, "rows"),
    ],
)
def test_ways(window, size, channels, plain, way):
    assert planes.way_to_pool(square(*window), (size, size), channels, plain) == way


@pytest.mark.parametrize("rows", [224, 226, 1000, 999])
@pytest.mark.parametrize("span, stride", [(2, 2), (1, 2), (3, 3), (2, 3)])
def test_fewer_rows_hold_whole_windows_and_fit(span, stride, rows):
    windows = Window(span, stride, "same", span), Window(3, 1, "same", 3)
    parts = planes.folds(windows, (rows, 100), 4)
    if rows % stride:
        assert parts == 0
    else:
        assert rows % parts == 0 and rows // parts % stride == 0
        assert not planes.is_slow(windows, (rows // parts, 100))


def test_rows_of_windows_that_overlap_or_are_padded_stay():
    assert planes.folds(square(3, 2), (224, 224), 64) == 0
    assert planes.folds((Window(2, 2, (1, 1), 2),) * 2, (224, 224), 64) == 0
    assert planes.folds(square(2, 2), (2, 20000), 64) == 0  # one row of windows is too large


def test_no_plane_is_left_with_one_row_or_too_few_channels():
    alone = Window(1, 1, (0, 0), 1)
    assert planes.folds((alone, Window(2, 1, "same", 2)), (2, 8000), 64) == 0
    assert planes.folds((alone, Window(2, 1, "same", 2)), (6, 4000), 64) == 3
    assert planes.folds(square(2, 2), (116, 116), 1) == 29
    assert planes.folds(square(2, 2), (116, 116), 2) == 2


def test_a_band_fits():
    windows, sizes = (Window(5, 2, "same", 5), Window(3, 1, (0, 0), 3)), (300, 200)
    assert planes.is_slow(windows, sizes)
    bands = planes.bands(windows, sizes, 0)
    rows = -(-150 // bands)
    assert ((rows - 1) * 2 + 5) * 200 + rows * 198 <= planes.QUICK
