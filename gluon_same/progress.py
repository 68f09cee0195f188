"""Progress display for long operations."""

import sys
import time
from typing import Any

#: Seconds after which progress is shown.
PATIENCE = 2.0


class Progress:
    """Context manager that shows the current operation in a line on stderr.

    The line appears after :data:`PATIENCE` and is cleared at the end.

    Examples
    --------
    >>> with Progress() as show:
    ...     show('tuning 1/9: conv0')
    """

    def __init__(self) -> None:
        self._start, self._shown = time.perf_counter(), False

    def __call__(self, text: str) -> None:
        if time.perf_counter() - self._start > PATIENCE and sys.stderr is not None:
            self._shown = True
            print(f"\r{text[:60]:<60}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._shown:
            print(f"\r{'':<60}\r", end="", file=sys.stderr, flush=True)
