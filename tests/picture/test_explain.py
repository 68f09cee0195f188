"""Pictures of windows: what they show, in text and as figures."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gluon_same import geometry
from gluon_same.picture.explain import Picture, explain
from gluon_same.picture.svg import draw
from gluon_same.picture.text import WIDTH

SVG = "{http://www.w3.org/2000/svg}"
sizes, ends = st.integers(1, 90), st.integers(0, 6)
windows = st.tuples(st.integers(1, 7), st.integers(1, 5), st.integers(1, 4))
modes = st.sampled_from(["same", "same_lower"])


def drawn(picture):
    return [row for row in picture.rows() if row is not None]


def test_the_pool_that_keeps_its_size_is_drawn_with_its_padding():
    assert explain(4, 2).text().splitlines() == [
        "      0     3",
        "      o o o o .",
        "    0 #=#",
        "    1   #=#",
        "    2     #=#",
        "    3       #=#",
        "",
        "o element   . padding",
        "#=# window",
    ]


def test_taps_of_a_dilated_window_stand_under_their_elements():
    assert explain(5, 3, dilation=2).text(legend=False).splitlines()[1:3] == [
        "      . . o o o o o . .",
        "    0 #===#===#",
    ]


def test_the_middle_of_a_long_axis_is_left_out():
    lines = explain(224, 7, stride=2).text().splitlines()
    assert lines[0].split() == ["0", "223"]
    assert lines[1].split() == [*"..", *14 * ["o"], "...", *13 * ["o"], *"..."]
    assert [line.split()[0] for line in lines[2:11]] == [*"0123", "...", *("108", "109", "110", "111")]
    assert lines[1].index("o") == lines[0].index("0")
    assert lines[10].rstrip().endswith("#") and len(lines[10]) == len(lines[1])


def test_a_transposed_convolution_is_drawn_over_its_output():
    picture = explain(2, 3, stride=2, transposed=True)
    assert (picture.size, picture.before, picture.after) == (4, 0, 1)
    assert picture.text(legend=False).splitlines()[1:] == [
        "      o o o o .",
        "    0 #=#=#",
        "    1     #=#=#",
    ]


@given(sizes, windows, modes)
def test_windows_kept_are_those_of_the_formula(n, window, mode):
    k, s, d = window
    picture = explain(n, k, s, d, mode)
    before, _ = geometry.same_padding(n, k, s, d, mode)
    assert picture.out == -(-n // s)
    for number, taps in drawn(picture):
        assert list(taps) == [number * s - before + i * d for i in range(k)]


@given(st.integers(1, 10**6), windows, ends, ends)
def test_every_picture_fits_80_columns(n, window, front, tail):
    k, s, d = window
    padding = (front, tail + d * (k - 1))
    assert max(map(len, Picture(n, k, s, d, padding).text().splitlines())) <= WIDTH == 80


@given(sizes, windows)
def test_windows_of_a_transposed_convolution_cover_what_is_cut_off(n, window):
    k, s, d = window
    picture = explain(n, k, s, d, transposed=True)
    assert picture.size == n * s
    span = d * (k - 1) + 1
    assert drawn(picture)[0][1].start == -picture.before
    assert (n - 1) * s - picture.before + span <= picture.size + picture.after


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: explain(0, 3), ValueError, "in_size=0"),
        (lambda: explain(0, 3, transposed=True), ValueError, "in_size=0"),
        (lambda: explain(5, 3.0), TypeError, "kernel=3.0"),
        (lambda: explain(5, 3, padding="full"), ValueError, "padding='full'"),
        (lambda: explain(2, 3, padding="valid"), ValueError, "spans more"),
    ],
)
def test_errors_are_those_of_geometry(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_repr_is_the_text_and_a_notebook_shows_the_figure():
    picture = explain(13, 2)
    assert repr(picture) == str(picture) == picture.text()
    assert picture._repr_svg_() == draw([("", picture)])


def test_a_figure_is_xml_with_a_title_a_description_and_each_window():
    picture = explain(13, 2)
    root = ElementTree.fromstring(draw([("height & width", picture)], "2 < 3"))
    assert root.get("role") == "img"
    assert root.find(SVG + "title").text == "2 < 3"
    told = root.find(SVG + "desc").text
    assert told == "height & width: 13 elements, 0 of padding before, 1 after, 13 windows of 2 taps"
    texts = [text.text for text in root.iter(SVG + "text")]
    assert {"2 < 3", "height & width", "0", "12", "output 0", "window"} <= set(texts)
    assert len(root.findall(SVG + "line")) == len(drawn(picture)) == 8


@given(sizes, windows, modes)
def test_nothing_is_drawn_outside_a_figure(n, window, mode):
    k, s, d = window
    root = ElementTree.fromstring(draw([("axis", explain(n, k, s, d, mode))]))
    width, height = int(root.get("width")), int(root.get("height"))
    for rect in root.iter(SVG + "rect"):
        x, y = float(rect.get("x", 0)), float(rect.get("y", 0))
        assert x >= 0 and x + float(rect.get("width")) <= width
        assert y >= 0 and y + float(rect.get("height")) <= height


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        (dict(padding=5), ValueError, "padding=5 is unknown"),
        (dict(padding=(0.5, 1)), TypeError, "padding=0.5 is not a whole number"),
        (dict(padding=("a", "b")), TypeError, "padding='a' is not a whole number"),
        (dict(padding=(9, 9), transposed=True), ValueError, "cuts off the whole output"),
    ],
)
def test_explain_refuses_what_cannot_be_drawn(arguments, error, words):
    with pytest.raises(error, match=words):
        explain(5, 3, **arguments)
