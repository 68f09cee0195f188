"""Images and feature maps in rows, in one SVG document that contains their pixels."""

import base64
import struct
import zlib
from html import escape
from typing import Any, List, NamedTuple, Sequence, Tuple

import numpy as np

from .svg import FONT, GRAY, INK, PAPER

__all__ = ["Map", "draw", "png"]

MARGIN, GAP, LINE = 14, 12, 18  #: Around the figure, between maps, and the height of a line of text.

#: Colors of the smallest and the largest value: white, and the blue of the other figures.
LOW, HIGH = np.array([255, 255, 255]), np.array([0, 114, 178])


class Map(NamedTuple):
    """An image or a map, with a caption.

    Parameters
    ----------
    caption : str
    pixels : numpy.ndarray
        An image, (height, width, 3) of uint8; or a map, (height, width) of any numbers.
    width : int
        Width in the figure, in pixels.

    Examples
    --------
    >>> Map('13x13', np.zeros((13, 13)), width=130).caption
    '13x13'
    """

    caption: str
    pixels: Any
    width: int


def png(pixels: np.ndarray) -> bytes:
    """Encode an image.

    Parameters
    ----------
    pixels : numpy.ndarray
        Shape (height, width, 3), uint8, red first.

    Returns
    -------
    bytes
        A PNG file.

    Examples
    --------
    >>> png(np.zeros((2, 3, 3), 'uint8'))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), "uint8")  # the first byte of a row: no filter
    rows[:, 1:] = pixels.reshape(height, -1)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes())),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def draw(rows: Sequence[Tuple[str, Sequence[Map]]], title: str, desc: str) -> str:
    """Draw rows of images and maps as one SVG document.

    Parameters
    ----------
    rows : sequence of (str, sequence of Map)
        Each with a heading. Numbers are drawn from white (the row's smallest) to blue (its largest).
    title, desc : str
        The title above the figure, and a description for readers who do not see it.

    Returns
    -------
    str

    Examples
    --------
    >>> figure = draw([('Maps', [Map('2x2', np.eye(2), 40)])], 'A figure', 'An identity matrix.')
    >>> figure.splitlines()[1]
    '<title>A figure</title>'
    """
    y = MARGIN + LINE
    body: List[str] = [_text(MARGIN, y - 4, title, 15, INK, "600")]
    right = MARGIN + 8.2 * len(title)
    for heading, maps in rows:
        y += LINE + 4
        body.append(_text(MARGIN, y, heading, 13, INK))
        right = max(right, MARGIN + 7 * len(heading))
        y += 8
        x, bottom = MARGIN, y
        for part, pixels in zip(maps, _colored([part.pixels for part in maps])):
            height = round(part.width * pixels.shape[0] / pixels.shape[1])
            body.append(_image(x, y, part.width, height, pixels))
            body.append(_text(x, y + height + 14, part.caption, 12, GRAY))
            x += max(part.width, int(6.6 * len(part.caption))) + GAP
            bottom = max(bottom, y + height + LINE)
        right, y = max(right, x - GAP), bottom
    width, height = int(right) + MARGIN, int(y) + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" font-family="{FONT}">',
            f"<title>{escape(title, quote=False)}</title>",
            f"<desc>{escape(desc, quote=False)}</desc>",
            f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>',
            *body,
            "</svg>\n",
        ]
    )


def _colored(images):
    """Yield images unchanged, and maps in colors that mean the same throughout a row."""
    maps = [image for image in images if image.ndim == 2]
    low = min((float(image.min()) for image in maps), default=0.0)
    high = max((float(image.max()) for image in maps), default=1.0)
    for image in images:
        if image.ndim == 3:
            yield image
            continue
        share = (image.astype("float64") - low) / ((high - low) or 1.0)
        yield np.rint(LOW + share[..., None] * (HIGH - LOW)).astype("uint8")


def _image(x, y, width, height, pixels):
    data = base64.b64encode(png(pixels)).decode("ascii")
    return (
        f'<image x="{x}" y="{y}" width="{width}" height="{height}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
        f'<rect x="{x - 0.5}" y="{y - 0.5}" width="{width + 1}" height="{height + 1}" fill="none" '
        f'stroke="{GRAY}" stroke-opacity="0.5"/>'
    )


def _text(x, y, words, size, fill, weight="400"):
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}" font-weight="{weight}">'
        f"{escape(words, quote=False)}</text>"
    )


def _chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
