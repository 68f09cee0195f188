"""Settings for examples in docstrings and pages, which are interactive sessions."""

import sys

sys.ps1 = ">>> "
