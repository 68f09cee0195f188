"""Text in columns, and sizes as text."""

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


def by_axis(values: Iterable[Any]) -> str:
    """Return one number for each axis as text: 3x3."""
    return "x".join(map(str, values))
