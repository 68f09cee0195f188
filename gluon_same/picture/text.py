"""Windows over one axis, drawn in text."""

from .windows import WINDOW, Windows

LABEL, WIDTH = 6, 80  #: Columns before the first cell (more for large numbers), and in total.
DOTS = "..."


def draw(windows: Windows, legend: bool) -> str:
    """Draw windows in ASCII, at most 80 columns wide, with or without what the marks mean."""
    margin = max(LABEL, len(str(windows.out)) + 1)
    # A cell takes two columns. The second one contains the line that joins the taps of a window.
    at, middle = windows.places(2, len(DOTS) + 4)
    at = {position: margin + column for position, column in at.items()}

    def line(label, marks):
        row = list(f"{label:>{margin - 1}}".ljust(WIDTH))
        for column, mark in marks:
            row[column : column + len(mark)] = mark
        return "".join(row).rstrip()

    ruler = [(at[i], str(i)) for i in sorted({0, windows.size - 1} & set(at))]
    ruler = [(min(column, WIDTH - len(index)), index) for column, index in ruler]
    if len(ruler) == 2 and sum(map(len, ruler[0][1:])) + ruler[0][0] >= ruler[1][0]:
        ruler.pop()  # no space for both
    cells = [(column, windows.cell(i)) for i, column in at.items()]
    cells += [(margin + middle - 1, DOTS)] if middle else []
    lines = [line("", ruler), line("", cells)]
    for row in windows.rows():
        if row is None:
            lines.append(line(DOTS, []))
            continue
        number, taps = row
        covered = [column for i, column in at.items() if taps.start <= i < taps.stop]
        marks = [(covered[0], WINDOW[1] * (covered[-1] - covered[0] + 1))]
        marks += [(at[i], WINDOW[0]) for i in taps if i in at]
        lines.append(line(number, marks))
    if legend:
        *first, last = (f"{mark} {what}" for mark, what in windows.meanings().items())
        lines += ["", "   ".join(first), last]
    return "\n".join(lines)
