"""Some of the random nets of fuzz/nets.py, which can check many more."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "fuzz" / "nets.py"


def test_every_form_of_random_nets_gives_the_same_numbers():
    command = [sys.executable, str(SCRIPT), "2016", "600", "--nets", "3"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("0 findings: {'nets': 3, ")
