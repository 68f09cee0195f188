"""``python -m gluon_same``: see :mod:`.cli.main`."""

import sys

from .cli.main import PROGRAM, main, run_script

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(run_script(PROGRAM))
