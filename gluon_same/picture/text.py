"""Windows over one axis, drawn in text."""

from typing import List

from .windows import DROPPED_JOIN, DROPPED_TAP, JOIN, TAP, Windows

LABEL, WIDTH = 6, 80  #: Columns before the first cell (more for large numbers), and in total.


def draw(windows: Windows) -> str:
    """Draw windows in ASCII, at most 80 columns wide."""
    left, right = windows.columns()
    gap = "  ...  " if right else ""
    shown = [*left, *right]

    margin = max(LABEL, len(str(windows.out)) + 1)

    def line(label, mark, middle=""):
        # Each cell takes two columns. The second one contains the line that joins the taps of a window.
        cells = ["".join(map(mark, part)) for part in (left, right)]
        return f"{label:>{margin - 1}} {cells[0]}{middle or ' ' * len(gap)}{cells[1]}".rstrip()

    lines = [_ruler(windows, shown, margin, len(left), len(gap))]
    lines.append(line("", lambda i: windows.cell(i) + " ", gap))
    for row in windows.rows():
        if row is None:
            lines.append(f"{'...':>{margin - 1}}")
            continue
        tap, join = (TAP, JOIN) if row.kept else (DROPPED_TAP, DROPPED_JOIN)
        taps, reaches = row.taps, range(row.start, row.stop - 1)

        def mark(i, taps=taps, reaches=reaches, tap=tap, join=join):
            on = tap if i in taps else join if i in reaches else " "
            return on + (join if i in reaches else " ")

        crosses = right and left.stop - 1 in reaches and right.start in range(row.start, row.stop)
        middle = (join * len(gap)) if crosses else ""
        lines.append(line(row.label if row.kept else DROPPED_TAP, mark, middle))
    return "\n".join(lines)


def legend(windows: Windows) -> List[str]:
    """Explain the marks, in two lines."""
    parts = windows.meanings()
    return ["   ".join(f"{mark} {what}" for mark, what in part) for part in parts]


def _ruler(windows, shown, margin, in_left, gap):
    # Write the indices of the first and the last element above them.
    line = ""
    for position in sorted({0, windows.size - 1} & set(shown)):
        at = shown.index(position)
        column = margin + 2 * at + (gap if at >= in_left else 0)
        column = min(column, WIDTH - len(str(position)))
        if len(line) < column:
            line = line.ljust(column) + str(position)
    return line
