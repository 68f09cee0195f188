"""Progress display for long operations."""

import sys
import threading
import time
from typing import Any

#: Seconds after which progress is shown, and between two updates of the elapsed time.
PATIENCE, PERIOD = 2.0, 1.0


class Progress:
    """Context manager that shows the current operation on stderr, with the elapsed seconds.

    On a terminal, one line changes until it is cleared at the end. Otherwise, as in a log, each
    operation has a line of its own. Nothing appears before :data:`PATIENCE`.

    Examples
    --------
    >>> with Progress() as show:
    ...     show('tuning 1/9: conv0')
    """

    def __init__(self) -> None:
        self._start, self._text, self._shown = time.perf_counter(), "", ""
        self._over, self._lock = threading.Event(), threading.Lock()

    def __call__(self, text: str) -> None:
        self._text = text
        self._show()

    def __enter__(self) -> "Progress":
        self._over.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._over.set()
        self._thread.join()
        if self._shown and sys.stderr.isatty():
            print(f"\r{'':<70}\r", end="", file=sys.stderr, flush=True)

    def _run(self) -> None:
        while not self._over.wait(PERIOD):
            self._show()

    def _show(self) -> None:
        """Show the operation and the elapsed time, if there is something new."""
        elapsed = time.perf_counter() - self._start
        with self._lock:
            if elapsed < PATIENCE or not self._text or sys.stderr is None:
                return
            line = f"{self._text[:60]} ({elapsed:.0f} s)"
            if sys.stderr.isatty():
                print(f"\r{line:<70}", end="", file=sys.stderr, flush=True)
            elif self._text != self._shown:
                print(line, file=sys.stderr, flush=True)
            self._shown = self._text
