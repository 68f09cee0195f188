"""Figures of images and maps."""

import base64
import re
from xml.etree import ElementTree

import mxnet as mx
import numpy as np
import pytest

from gluon_same.picture.maps import Map, draw, png

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (40, 7)])
def test_a_png_decodes_to_its_pixels(shape):
    pixels = np.random.randint(0, 256, (*shape, 3)).astype("uint8")
    np.testing.assert_array_equal(mx.image.imdecode(png(pixels)).asnumpy(), pixels)


def pixels_of(figure):
    for data in re.findall(r'base64,([^"]+)"', figure):
        yield mx.image.imdecode(base64.b64decode(data)).asnumpy()


def test_a_row_has_one_scale_from_white_to_blue():
    ramp = np.array([[0.0, 1.0], [2.0, 4.0]])
    figure = draw([("row", [Map("a", ramp, 20), Map("b", ramp - 4, 20)])], "t", "d")
    first, second = pixels_of(figure)
    assert second[0, 0].tolist() == [255, 255, 255]  # the smallest of the row
    assert first[1, 1].tolist() == [0, 114, 178]  # the largest
    np.testing.assert_array_equal(first[0, 0], second[1, 1])  # both are 0


def test_a_constant_map_is_white_and_an_image_keeps_its_colors():
    image = np.arange(12, dtype="uint8").reshape(2, 2, 3)
    white, same = pixels_of(
        draw([("row", [Map("a", np.ones((2, 2)), 20), Map("b", image, 20)])], "t", "d")
    )
    assert (white == 255).all()
    np.testing.assert_array_equal(same, image)


def test_a_figure_is_xml_that_holds_all_that_it_draws():
    maps = [Map(f"map <{i}>", np.random.rand(4, 8), 60 + i) for i in range(3)]
    figure = draw([("first & only", maps), ("second", maps[:1])], "title", "described")
    root = ElementTree.fromstring(figure)
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.find(f"{SVG}title").text == "title" and root.find(f"{SVG}desc").text == "described"
    images = root.findall(f"{SVG}image")
    assert [image.get("height") for image in images] == ["30", "30", "31", "30"]
    for image in images:
        at = {name: float(image.get(name)) for name in ("x", "y", "width", "height")}
        assert at["x"] + at["width"] < width and at["y"] + at["height"] < height
    captions = [text.text for text in root.findall(f"{SVG}text")]
    assert captions == ["title", "first & only", "map <0>", "map <1>", "map <2>", "second", "map <0>"]
