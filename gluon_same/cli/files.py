"""Files that commands write."""

import os
import stat
import tempfile


def write_text(path: str, text: str) -> None:
    """Write a file completely or not at all. Write directly to a device or pipe."""
    try:
        ordinary = stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        ordinary = True
    if not ordinary:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.TemporaryDirectory(prefix=".gluon-same-", dir=folder) as scratch:
        part = os.path.join(scratch, "figure.svg")
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(part, path)
