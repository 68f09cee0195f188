"""Report of the passes that deployment applied to a net."""

from typing import List, NamedTuple, Optional, Sequence


class Row(NamedTuple):
    """Effect of one pass.

    Parameters
    ----------
    name : str
    before, after : int
        Number of operators.
    ms_before, ms_after : float or None
        Milliseconds per call, the minimum of several; None if not measured.
    note : str
        Why the pass was skipped, or which form was chosen.

    Examples
    --------
    >>> Row('fold normalizations', 5, 3).after
    3
    """

    name: str
    before: int
    after: int
    ms_before: Optional[float] = None
    ms_after: Optional[float] = None
    note: str = ""


class Report:
    """Table of the applied passes, with the error of the result.

    Parameters
    ----------
    rows : sequence of Row
    error : float
        The largest difference from the net's numbers, divided by the largest of these.

    Examples
    --------
    >>> print(Report([Row('fold normalizations', 5, 3)]))
    pass                            operators             ms
    fold normalizations              5 >    3
    error                         0.0e+00 of the largest value
    """

    def __init__(self, rows: Sequence[Row] = (), error: float = 0.0):
        self.rows: List[Row] = list(rows)
        self.error = error

    def __str__(self) -> str:
        lines = [f"{'pass':<28}{'operators':>13}{'ms':>15}"]
        lines += [_line(row) for row in self.rows]
        lines.append(f"{'error':<28}{self.error:>9.1e} of the largest value")
        return "\n".join(lines)


def _line(row):
    times = ""
    if row.ms_before is not None and row.ms_after is not None:
        times = f"{row.ms_before:9.2f} >{row.ms_after:7.2f}"
    return f"{row.name:<28}{row.before:6d} >{row.after:5d}{times:>18}  {row.note}".rstrip()
