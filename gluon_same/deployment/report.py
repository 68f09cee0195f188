"""Report of the passes that deployment applied to a net."""

from dataclasses import dataclass, field
from typing import List, NamedTuple, Optional

from ..tables import aligned


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


@dataclass
class Report:
    """Table of the applied passes, with the error of the result.

    Parameters
    ----------
    rows : list of Row
    error : float
        The largest difference from the net's numbers, divided by the largest of these.

    Examples
    --------
    >>> print(Report([Row('fold normalizations', 5, 3)]))
    pass                 operators  ms
    fold normalizations  5 >    3
    error 0.0e+00 of the largest value
    """

    rows: List[Row] = field(default_factory=list)
    error: float = 0.0

    def __str__(self) -> str:
        lines = aligned([("pass", "operators", "ms", ""), *map(_cells, self.rows)], right=(1, 2))
        lines.append(f"error {self.error:.1e} of the largest value")
        return "\n".join(lines)


def _cells(row):
    times = "" if row.ms_before is None else f"{row.ms_before:.2f} >{row.ms_after:7.2f}"
    return row.name, f"{row.before} >{row.after:5}", times, row.note
