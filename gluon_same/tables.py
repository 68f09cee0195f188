"""Tables as text and as HTML, and sizes as text."""

from html import escape
from typing import Any, Collection, Iterable, List, Sequence


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> List[str]:
    """Return one line for each row, with all columns aligned at the left except those in ``right``."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = zip(row, widths)
        texts = [t.rjust(w) if at in right else t.ljust(w) for at, (t, w) in enumerate(cells)]
        lines.append("  ".join(texts).rstrip())
    return lines


def html(rows: Sequence[Sequence[str]], right: Collection[int] = (), above: str = "", below: str = ""):
    """Return a table, whose first row has the titles, and the text around it for a notebook."""

    def line(row, tag):
        sides = ("right" if at in right else "left" for at in range(len(row)))
        cells = (f'<{tag} style="text-align:{side}">{escape(t)}' for t, side in zip(row, sides))
        return f"<tr>{''.join(f'{cell}</{tag}>' for cell in cells)}</tr>"

    lines = [line(rows[0], "th"), *(line(row, "td") for row in rows[1:])]
    style = "white-space:pre-wrap"
    texts = [text and f'<div style="{style}">{escape(text)}</div>' for text in (above, below)]
    return "\n".join(filter(None, [texts[0], "<table>", *lines, "</table>", texts[1]]))


def by_axis(values: Iterable[Any]) -> str:
    """Return one number for each axis as text: 3x3."""
    return "x".join(map(str, values))
