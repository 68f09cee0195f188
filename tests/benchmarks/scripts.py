"""Run the scripts of the benchmarks as users do."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(script, *options):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), *map(str, options)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
