"""Windows over one axis as a figure, in SVG."""

from html import escape
from typing import List, Sequence, Tuple

from .windows import ELEMENT, PADDING, SURPLUS, TAP, Windows

__all__ = ["draw"]

CELL, ROW, LEFT, TOP, MARGIN = 22, 20, 84, 30, 14
GAP = 2 * CELL  #: Width of the gap in a long axis, whose middle is not drawn.
MARK = CELL - 6  #: Side of a tap, and of a mark in the legend.
FONT_SIZE, HEADING_SIZE, TITLE_SIZE = 14, 15, 17

#: Colors of Okabe and Ito, which color-blind readers can distinguish. Dropped windows are also outlined.
BLUE, VERMILION, INK, GRAY, PAPER = "#0072B2", "#D55E00", "#24292f", "#6e7781", "#ffffff"
CELLS = {
    ELEMENT: ("#dcebf5", "#8aa9bf", ""),
    PADDING: (PAPER, GRAY, "2 2"),
    SURPLUS: ("#fbe3d3", GRAY, "2 2"),
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
        y += 18
        body.append(label(MARGIN, y, title, size=TITLE_SIZE, weight="600"))
        width = 10.2 * len(title)
        y += 8
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
    name = title or "Windows over a padded axis"
    described = desc or "; ".join(_described(heading, picture) for heading, picture in panels)
    return document(max(width, right), y, name, described, body)


def document(width: float, height: float, title: str, desc: str, body: Sequence[str]) -> str:
    """Return an SVG document of elements that are as wide and high, without margins."""
    width, height = int(width) + 2 * MARGIN, int(height) + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" font-family="{FONT}">',
            f"<title>{escape(title, quote=False)}</title>",
            f"<desc>{escape(desc, quote=False)}</desc>",
            # A background of its own, because the page may be light or dark.
            f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>',
            *body,
            "</svg>\n",
        ]
    )


def _panel(body, picture, x, top):
    left, right = picture.columns()
    at = {position: x + LEFT + i * CELL for i, position in enumerate(left)}
    start = x + LEFT + len(left) * CELL + GAP
    at.update((position, start + i * CELL) for i, position in enumerate(right))
    y = top + TOP
    edge = x + LEFT - 8
    along, across = ("output", "input") if picture.transposed else ("input", "output")
    body.append(label(edge, y + 16, along, anchor="end", fill=GRAY))
    for position in sorted({0, picture.size - 1} & set(at)):
        body.append(label(at[position] + CELL / 2, y - 7, position, anchor="middle", fill=GRAY))
    for position, cell in at.items():
        body.append(_cell(cell, y, CELL, CELL, *CELLS[picture.cell(position)]))
    if right:
        body.append(label(start - GAP / 2, y + 16, "\N{HORIZONTAL ELLIPSIS}", anchor="middle"))
    y += CELL + 8
    for row in picture.rows():
        if row is None:
            body.append(label(edge, y + 13, "\N{VERTICAL ELLIPSIS}", anchor="end", fill=GRAY))
        else:
            name = f"{across} {row.label}" if row.label == 0 else row.label
            _window(body, row, at, edge, name if row.kept else "\N{MULTIPLICATION SIGN}", y)
        y += ROW
    return max(at.values()) + CELL, y


def _window(body, row, at, edge, name, y):
    color = BLUE if row.kept else VERMILION
    body.append(label(edge, y + 13, name, anchor="end", fill=color))
    covered = [x for position, x in at.items() if row.start <= position < row.stop]
    x, end = min(covered) + CELL / 2, max(covered) + CELL / 2
    dash = "" if row.kept else ' stroke-dasharray="3 2"'
    body.append(
        f'<line x1="{x:g}" y1="{y + MARK / 2:g}" x2="{end:g}" y2="{y + MARK / 2:g}" stroke="{color}" '
        f'stroke-width="2.5"{dash}/>'
    )
    for position, x in at.items():
        if position in row.taps:
            fill = color if row.kept else PAPER
            body.append(_cell(x + 3, y, MARK, MARK, fill, color, "" if row.kept else "3 2"))


def _legend(body, pictures, y):
    items = {}
    for picture in pictures:
        cells, windows = picture.meanings()
        for mark, what in cells:
            items[what] = CELLS[mark]
        for mark, what in windows:
            kept = mark[0] == TAP
            color = BLUE if kept else VERMILION
            items[what] = (color if kept else PAPER, color, "" if kept else "3 2")
    x, right = float(MARGIN), 0.0
    for what, (fill, stroke, dash) in items.items():
        step = MARK + 8 + 7 * len(what) + 24
        if x + step > 780 and x > MARGIN:
            x, y = MARGIN, y + 24
        body.append(_cell(x, y, MARK, MARK, fill, stroke, dash))
        body.append(label(x + MARK + 8, y + 13, what))
        x += step
        right = max(right, x - 24)
    return right, y + MARK + 2


def _described(heading, picture):
    name = f"{heading}: " if heading else ""
    kind = "input elements" if picture.transposed else "windows"
    ends = "cut off" if picture.transposed else "of padding"
    described = (
        f"{name}{picture.size} elements, {picture.before} {ends} before and {picture.after} after, "
        f"{picture.out} {kind} of {picture.kernel} taps"
    )
    dropped = picture.dropped
    return described + (f", and {dropped} computed and dropped" if dropped else "")


def _cell(x, y, width, height, fill, stroke, dash):
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<rect x="{x + 0.5:g}" y="{y + 0.5:g}" width="{width - 1}" height="{height - 1}" '
        f'fill="{fill}" stroke="{stroke}"{dashed}/>'
    )


def label(x, y, words, size=FONT_SIZE, anchor="start", fill=INK, weight=""):
    """Return a line of text."""
    weight = f' font-weight="{weight}"' if weight else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{fill}"{weight}>'
        f"{escape(str(words), quote=False)}</text>"
    )
