"""Windows over one axis as a figure, in SVG."""

from html import escape
from typing import List, Sequence, Tuple

from .windows import ELEMENT, PADDING, SURPLUS, TAP, Windows

__all__ = ["draw"]

CELL, ROW, LEFT, TOP, MARGIN = 16, 15, 46, 26, 14
GAP = 2 * CELL  #: Width of the gap in a long axis.

#: Okabe and Ito's colors, which color-blind readers can distinguish. Dropped windows are also outlined.
BLUE, VERMILION, INK, GREY, PAPER = "#0072B2", "#D55E00", "#24292f", "#6e7781", "#ffffff"
CELLS = {
    ELEMENT: ("#dcebf5", "#8aa9bf", ""),
    PADDING: (PAPER, GREY, "2 2"),
    SURPLUS: ("#fbe3d3", GREY, "2 2"),
}
FONT = "ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif"


def draw(
    panels: Sequence[Tuple[str, Windows]], title: str = "", desc: str = "", beside: bool = False
) -> str:
    """Draw one or more pictures as an SVG document.

    Parameters
    ----------
    panels : sequence of (str, Windows)
        Each with a heading, which may be empty.
    title, desc : str
        The title above the figure, and a description for readers who do not see it.
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
        y += 16
        body.append(_text(MARGIN, y, title, size=15, weight="600"))
        width = 9.2 * len(title)
        y += 8
    x, top, bottom = 0.0, y, y
    for heading, picture in panels:
        y = top if beside else bottom
        if heading:
            y += 18
            body.append(_text(x + MARGIN, y, heading, size=13))
        right, y = _panel(body, picture, x, y)
        right = max(right, x + MARGIN + 7.4 * len(heading))
        width, bottom = max(width, right), max(bottom, y + 6)
        x = right + 2 * MARGIN if beside else 0
    right, y = _legend(body, [picture for _, picture in panels], bottom + 8)
    width, height = int(max(width, right)) + 2 * MARGIN, int(y) + MARGIN
    name = title or "Windows over a padded axis"
    described = desc or "; ".join(_described(heading, picture) for heading, picture in panels)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" '
            f'font-family="{FONT}">',
            f"<title>{escape(name, quote=False)}</title>",
            f"<desc>{escape(described, quote=False)}</desc>",
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
    for position in sorted({0, picture.size - 1} & set(at)):
        body.append(_text(at[position] + CELL / 2, y - 6, position, anchor="middle", fill=GREY))
    for position, cell in at.items():
        body.append(_cell(cell, y, CELL, CELL, *CELLS[picture.cell(position)]))
    if right:
        body.append(_text(start - GAP / 2, y + 12, "\N{HORIZONTAL ELLIPSIS}", anchor="middle"))
    y += CELL + 6
    for row in picture.rows():
        label = x + LEFT - 8
        if row is None:
            body.append(_text(label, y + 9, "\N{VERTICAL ELLIPSIS}", anchor="end", fill=GREY))
        else:
            _window(body, row, at, label, y)
        y += ROW
    return max(at.values()) + CELL, y


def _window(body, row, at, label, y):
    color = BLUE if row.kept else VERMILION
    name = row.label if row.kept else "\N{MULTIPLICATION SIGN}"
    body.append(_text(label, y + 10, name, anchor="end", fill=color))
    covered = [x for position, x in at.items() if row.start <= position < row.stop]
    x, end = min(covered) + CELL / 2, max(covered) + CELL / 2
    dash = "" if row.kept else ' stroke-dasharray="3 2"'
    body.append(
        f'<line x1="{x:g}" y1="{y + 6}" x2="{end:g}" y2="{y + 6}" stroke="{color}" '
        f'stroke-width="2"{dash}/>'
    )
    for position, x in at.items():
        if position in row.taps:
            fill = color if row.kept else PAPER
            body.append(_cell(x + 2, y, CELL - 4, 12, fill, color, "" if row.kept else "3 2"))


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
        step = 24 + 6.6 * len(what) + 14
        if x + step > 620 and x > MARGIN:
            x, y = MARGIN, y + 20
        body.append(_cell(x, y, 12, 12, fill, stroke, dash))
        body.append(_text(x + 18, y + 10, what))
        x += step
        right = max(right, x - 14)
    return right, y + 14


def _described(heading, picture):
    name = f"{heading}: " if heading else ""
    kind = "input elements" if picture.transposed else "windows"
    ends = "cut off" if picture.transposed else "of padding"
    words = (
        f"{name}{picture.size} elements, {picture.before} {ends} before and {picture.after} after, "
        f"{picture.out} {kind} of {picture.kernel} taps"
    )
    dropped = picture.dropped
    return words + (f", and {dropped} computed and dropped" if dropped else "")


def _cell(x, y, width, height, fill, stroke, dash):
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<rect x="{x + 0.5:g}" y="{y + 0.5:g}" width="{width - 1}" height="{height - 1}" '
        f'fill="{fill}" stroke="{stroke}"{dashed}/>'
    )


def _text(x, y, words, size=12, anchor="start", fill=INK, weight=""):
    weight = f' font-weight="{weight}"' if weight else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{fill}"{weight}>'
        f"{escape(str(words), quote=False)}</text>"
    )
