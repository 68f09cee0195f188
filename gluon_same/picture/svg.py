"""Windows over one axis as a figure, in SVG."""

from html import escape
from typing import List, Sequence, Tuple

from .windows import ELEMENT, PADDING, WINDOW, Windows

__all__ = ["draw"]

CELL, ROW, LEFT, TOP, MARGIN = 22, 20, 84, 30, 14
GAP = 2 * CELL  #: Width of the gap in a long axis, whose middle is not drawn.
MARK = CELL - 6  #: Side of a tap, and of a mark in the legend.
FONT_SIZE, HEADING_SIZE, TITLE_SIZE = 14, 15, 17

BLUE, INK, GRAY, PAPER = "#0072B2", "#24292f", "#6e7781", "#ffffff"
#: Fill and outline of each kind of cell, and of a window's taps.
STYLES = {
    ELEMENT: 'fill="#dcebf5" stroke="#8aa9bf"',
    PADDING: f'fill="{PAPER}" stroke="{GRAY}" stroke-dasharray="2 2"',
    WINDOW: f'fill="{BLUE}" stroke="{BLUE}"',
}
FONT = "ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif"


def draw(
    panels: Sequence[Tuple[str, Windows]], title: str = "", desc: str = "", beside: bool = False
) -> str:
    """Draw one or more pictures as one SVG document.

    Parameters
    ----------
    panels : sequence of (str, Windows)
        Each with a heading, which may be empty.
    title, desc : str
        For readers who cannot see the figure; the title is also drawn above it.
    beside : bool
        Whether to draw the pictures side by side instead of one below the other.

    Returns
    -------
    str

    Examples
    --------
    >>> from gluon_same.picture.explain import explain
    >>> figure = draw([('height', explain(13, 2))], 'A window that SAME pads at the end')
    >>> figure.splitlines()[0][:38]
    '<svg xmlns="http://www.w3.org/2000/svg'
    """
    body: List[str] = []
    width, y = 0.0, MARGIN
    if title:
        body.append(label(MARGIN, y + 18, title, size=TITLE_SIZE, weight="600"))
        width, y = 10.2 * len(title), y + 26
    x, top, bottom = 0.0, y, y
    for heading, picture in panels:
        y = top if beside else bottom
        if heading:
            y += 22
            body.append(label(x + MARGIN, y, heading, size=HEADING_SIZE))
        right, y = _panel(body, picture, x, y)
        right = max(right, x + MARGIN + 8 * len(heading))
        width, bottom = max(width, right), max(bottom, y + 6)
        x = right + 2 * MARGIN if beside else 0
    right, y = _legend(body, [picture for _, picture in panels], bottom + 10)
    described = desc or "; ".join(_described(heading, picture) for heading, picture in panels)
    width, height = int(max(width, right)) + 2 * MARGIN, int(y) + MARGIN
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="{FONT}">',
        f"<title>{escape(title or 'Windows over a padded axis', quote=False)}</title>",
        f"<desc>{escape(described, quote=False)}</desc>",
        # A background of its own, because the page may be light or dark.
        f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>',
    ]
    return "\n".join([*head, *body, "</svg>\n"])


def _panel(body, picture, x, top):
    places, middle = picture.places(CELL, GAP)
    at = {position: x + LEFT + place for position, place in places.items()}
    y, edge = top + TOP, x + LEFT - 8
    along, across = ("output", "input") if picture.transposed else ("input", "output")
    body.append(label(edge, y + 16, along, anchor="end", fill=GRAY))
    for position in sorted({0, picture.size - 1} & set(at)):
        body.append(label(at[position] + CELL / 2, y - 7, position, anchor="middle", fill=GRAY))
    for position, cell in at.items():
        body.append(_cell(cell, y, CELL, picture.cell(position)))
    if middle:
        body.append(label(x + LEFT + middle, y + 16, "\N{HORIZONTAL ELLIPSIS}", anchor="middle"))
    y += CELL + 8
    for row in picture.rows():
        if row is None:
            body.append(label(edge, y + 13, "\N{VERTICAL ELLIPSIS}", anchor="end", fill=GRAY))
        else:
            _window(body, row, at, edge, across, y)
        y += ROW
    return max(at.values()) + CELL, y


def _window(body, row, at, edge, across, y):
    number, taps = row
    body.append(label(edge, y + 13, number or f"{across} 0", anchor="end", fill=BLUE))
    covered = [x + CELL / 2 for position, x in at.items() if taps.start <= position < taps.stop]
    middle = f"{y + MARK / 2:g}"
    body.append(
        f'<line x1="{covered[0]:g}" y1="{middle}" x2="{covered[-1]:g}" y2="{middle}" stroke="{BLUE}" '
        'stroke-width="2.5"/>'
    )
    body += [_cell(x + 3, y, MARK, WINDOW) for position, x in at.items() if position in taps]


def _legend(body, pictures, y):
    marks = {what: mark for picture in pictures for mark, what in picture.meanings().items()}
    x = float(MARGIN)
    for what, mark in marks.items():
        body += [_cell(x, y, MARK, mark), label(x + MARK + 8, y + 13, what)]
        x += MARK + 8 + 7 * len(what) + 24
    return x - 24, y + MARK + 2


def _described(heading, picture):
    name, kind = f"{heading}: " if heading else "", "input elements" if picture.transposed else "windows"
    windows = f"{picture.out} {kind} of {picture.kernel} taps"
    return f"{name}{picture.size} elements, {picture.ends}, {windows}"


def _cell(x, y, side, mark):
    return (
        f'<rect x="{x + 0.5:g}" y="{y + 0.5:g}" width="{side - 1}" height="{side - 1}" {STYLES[mark]}/>'
    )


def label(x, y, words, size=FONT_SIZE, anchor="start", fill=INK, weight=""):
    """Return a line of text."""
    weight = f' font-weight="{weight}"' if weight else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{fill}"{weight}>'
        f"{escape(str(words), quote=False)}</text>"
    )
