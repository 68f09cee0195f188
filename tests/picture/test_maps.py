"""Figures of feature maps."""

import re
from xml.etree import ElementTree

import numpy as np

from gluon_same.picture.maps import MOST_CELLS, Map, draw

SVG = "{http://www.w3.org/2000/svg}"


def colors_of(figure):
    """Return the opacity of the blue of each cell, one array for each map."""
    for group in ElementTree.fromstring(figure).iter(f"{SVG}g"):
        paper, *paths = group
        colors = np.zeros((int(paper.get("height")), int(paper.get("width"))))
        for path in paths:
            for column, row in re.findall(r"M(\d+) (\d+)h1", path.get("d")):
                colors[int(row), int(column)] = float(path.get("stroke-opacity"))
        yield colors


def test_a_map_is_drawn_from_white_to_blue():
    ramp = np.array([[0.0, 1.0], [2.0, 4.0]])
    (colors,) = colors_of(draw([("row", [Map("a", ramp, 20)])], "t"))
    np.testing.assert_array_equal(colors, ramp / 4)


def test_a_constant_map_is_white():
    (colors,) = colors_of(draw([("row", [Map("a", np.ones((2, 3)), 20)])], "t"))
    np.testing.assert_array_equal(colors, np.zeros((2, 3)))


def test_a_large_map_is_drawn_with_fewer_cells():
    ramp = np.arange(416.0)[:, None] + np.zeros(416)
    (colors,) = colors_of(draw([("row", [Map("a", ramp, 150)])], "t"))
    assert max(colors.shape) <= MOST_CELLS and (np.diff(colors[:, 0]) >= 0).all()


def test_a_figure_is_xml_that_holds_all_that_it_draws():
    maps = [Map(f"map <{i}>", np.random.rand(4, 8), 60 + 8 * i) for i in range(3)]
    root = ElementTree.fromstring(draw([("first & only", maps), ("second", maps[:1])], "title"))
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.find(f"{SVG}title").text == "title"
    assert root.find(f"{SVG}desc").text == "first & only: map <0>, map <1>, map <2>; second: map <0>"
    groups = root.findall(f"{SVG}g")
    assert len(groups) == 4
    for group in groups:
        x, y, scale = map(float, re.findall(r"[\d.]+", group.get("transform")))
        assert 0 < x < x + 8 * scale < width and 0 < y < y + 4 * scale < height
    captions = [text.text for text in root.findall(f"{SVG}text")]
    assert captions == ["title", "first & only", "map <0>", "map <1>", "map <2>", "second", "map <0>"]
