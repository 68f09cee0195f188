"""The folder of the benchmarks, whose files the tests import and run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))


@pytest.fixture(scope="session")
def run():
    """Return a function that runs a script of the benchmarks."""

    def run(script, *options):
        path = os.pathsep.join([str(BENCHMARKS.parent), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [sys.executable, str(BENCHMARKS / script), *map(str, options)],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
        )

    return run
