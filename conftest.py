"""Settings for examples, which are interactive sessions, and for tests in several processes."""

import os
import sys

sys.ps1 = ">>> "

if "PYTEST_XDIST_WORKER" in os.environ:  # processes share the cores; MXNet reads this when imported
    os.environ.setdefault("OMP_NUM_THREADS", "1")
