"""Files that are read and written."""

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import Iterator, Union


@contextmanager
def replacing(path: Union[str, "os.PathLike[str]"]) -> Iterator[str]:
    """Yield the name of a new file beside ``path``, which replaces it if no error is raised.

    After an error, including Ctrl-C and a full disk, the old file is left as it was.

    Raises
    ------
    OSError
        If the file cannot be written; it names ``path``.
    ValueError
        As :func:`check_name` and :func:`check_regular`.
    """
    path = os.fspath(path)
    check_name(path)
    if os.path.exists(path):
        check_regular(path)
    target = os.path.realpath(path)  # a link stays
    part = f"{target}.{os.getpid()}.part"
    try:
        yield part
        os.replace(part, target)
    except Exception as error:
        if "local_filesys" in str(error):  # MXNet's error for every failure to write
            error = cause(part)
        # The error of a full disk names no file.
        if not isinstance(error, OSError) or error.filename not in (None, part):
            raise
        raise OSError(error.errno, error.strerror, path) from error
    finally:
        with suppress(FileNotFoundError):
            os.remove(part)


def cause(path: str) -> OSError:
    """Return the error that writing on raises for a file, because MXNet does not report it."""
    try:
        with open(path, "ab") as file:
            file.write(bytes(2**20))
    except OSError as error:
        return error
    return OSError(errno.EIO, os.strerror(errno.EIO))


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
