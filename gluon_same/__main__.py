"""``python -m gluon_same``: see :mod:`.cli.main`."""

import sys

from .cli.main import main, run_module

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(run_module())
