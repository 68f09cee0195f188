"""``python -m gluon_same``: see :mod:`.cli.main`."""

import sys

from .cli.main import run_module

if __name__ == "__main__":
    sys.exit(run_module())
