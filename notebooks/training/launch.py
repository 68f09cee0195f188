"""Start a program on several machines, with the launcher that comes in MXNet's wheel.

    python notebooks/training/launch.py --launcher ssh -n 2 -s 2 -H hosts PROGRAM [ARGUMENT ...]
    python notebooks/training/launch.py --launcher local -n 2 -s 1 PROGRAM [ARGUMENT ...]

``-n`` is the number of workers, and ``-s`` is the number of parameter servers. ``hosts`` has one
``address`` or ``address:port`` of an ssh server per line. ``DMLC_INTERFACE`` names the network
interface: ``lo`` for ``--launcher local``. MXNet's launcher fails on Python 3.9 and later; this program
makes it run there.
"""

import runpy
import sys
import threading
from pathlib import Path

import gluon_same  # noqa: F401  isort: skip  before mxnet
import mxnet

if __name__ == "__main__":
    threading.Thread.isAlive = threading.Thread.is_alive  # removed in Python 3.9
    launcher = Path(mxnet.__file__).parent / "tools" / "launch.py"
    sys.argv[0] = str(launcher)
    runpy.run_path(str(launcher), run_name="__main__")
