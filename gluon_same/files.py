"""Write files as a whole or not at all."""

import os
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
    """
    part = f"{path}.{os.getpid()}.part"
    try:
        yield part
        os.replace(part, path)
    except OSError as error:  # that of a full disk does not name a file
        raise OSError(error.errno, error.strerror, path) from error
    finally:
        with suppress(FileNotFoundError):
            os.remove(part)
