"""Feature maps in rows, in one SVG document."""

from typing import Any, List, NamedTuple, Sequence, Tuple

import numpy as np

from .svg import BLUE, GRAY, MARGIN, PAPER, TITLE_SIZE, document, label

__all__ = ["Map", "draw"]

#: Largest number of cells that are drawn along an axis, and of colors. They limit the document's size.
MOST_CELLS, COLORS = 80, 16


class Map(NamedTuple):
    """A feature map with a caption.

    Parameters
    ----------
    caption : str
    values : numpy.ndarray
        Shape (height, width), drawn from white (the smallest) to blue (the largest).
    width : int
        Width in the figure, in pixels.

    Examples
    --------
    >>> Map('13x13', np.zeros((13, 13)), width=130).caption
    '13x13'
    """

    caption: str
    values: Any
    width: int


def draw(rows: Sequence[Tuple[str, Sequence[Map]]], title: str) -> str:
    """Draw rows of maps, each with a heading, as one SVG document.

    Parameters
    ----------
    rows : sequence of (str, sequence of Map)
    title : str
        The title above the figure.

    Returns
    -------
    str

    Examples
    --------
    >>> figure = draw([('Maps', [Map('2x2', np.eye(2), 40)])], 'A figure')
    >>> figure.splitlines()[1:3]
    ['<title>A figure</title>', '<desc>Maps: 2x2</desc>']
    """
    y, right = MARGIN + 18.0, MARGIN + 10.2 * len(title)
    body = [label(MARGIN, y, title, size=TITLE_SIZE, weight="600")]
    for heading, maps in rows:
        body.append(label(MARGIN, y + 26, heading))
        x, y, bottom = float(MARGIN), y + 36, 0.0
        for part in maps:
            height = part.width * len(part.values) / len(part.values[0])
            body += [*_cells(part, x, y), label(x, y + height + 16, part.caption, fill=GRAY)]
            x, bottom = x + MARGIN + max(part.width, 8 * len(part.caption)), max(bottom, height)
        right, y = max(right, x, MARGIN + 8 * len(heading)), y + bottom + 20
    desc = "; ".join(f"{heading}: {', '.join(part.caption for part in maps)}" for heading, maps in rows)
    return document(right, y, title, desc, body)


def _cells(part, x, y) -> List[str]:
    """Draw the cells of a map: one path for each color, with one short line for each cell."""
    step = -(-max(part.values.shape) // MOST_CELLS)
    values = part.values[::step, ::step]
    span = values.max() - values.min()
    colors = np.rint(COLORS * (values - values.min()) / (span or 1)).astype(int)
    height, width = values.shape
    side = part.width / width
    paths = [f'<rect y="-0.5" width="{width}" height="{height}" fill="{PAPER}" stroke="none"/>']
    for color in range(1, COLORS + 1):
        cells = "".join(f"M{column} {row}h1" for row, column in np.argwhere(colors == color))
        paths.append(f'<path stroke-opacity="{color / COLORS:g}" d="{cells}"/>')
    place = f'transform="translate({x:g} {y + side / 2:g}) scale({side:g})"'
    return [f'<g {place} stroke="{BLUE}" shape-rendering="crispEdges">', *paths, "</g>"]
