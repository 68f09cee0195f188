"""Files that are read and written."""

import os
import stat
from contextlib import contextmanager, suppress
from typing import Iterator


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """Yield the name of a new file beside ``path``, which replaces it if no error is raised.

    After an error, including Ctrl-C and a full disk, the old file is left as it was.

    Raises
    ------
    OSError
        If the file cannot be written; it names ``path``.
    ValueError
        As :func:`check_name`.
    """
    check_name(path)
    part = f"{path}.{os.getpid()}.part"
    try:
        yield part
        os.replace(part, path)
    except OSError as error:  # that of a full disk does not name a file
        raise OSError(error.errno, error.strerror, path) from error
    finally:
        with suppress(FileNotFoundError):
            os.remove(part)


def check_name(path: str) -> None:
    """Raise a ValueError for a name that MXNet and ONNX Runtime cannot open.

    They require UTF-8, which such a name is not if Python runs with an ASCII locale.
    """
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"{path!r} is not UTF-8: set LC_ALL=C.UTF-8 or PYTHONUTF8=1, or use ASCII letters"
        ) from None


def check_regular(path: str) -> None:
    """Raise a ValueError for a pipe, a socket or a device, which may never end.

    Raises
    ------
    OSError
        If the file does not exist.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a folder has an error of its own
        raise ValueError(f"{path} is a pipe, a socket or a device: give the path of a file")
