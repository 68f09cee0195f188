"""Reading images, with errors for truncated, damaged and huge files."""

import os
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path

import mxnet as mx

#: Pixels of the largest image that is decoded. Decoding takes up to 7 bytes per pixel.
MOST_PIXELS = 10**8

#: Two sizes in the header of a PNG, and of each frame of a JPEG. They are read here because the decoder
#: allocates any size that a file of some bytes states.
_SIZES = re.compile(
    rb"\x89PNG.{12}(.{4})(.{4})|\xff[\xc0-\xc3\xc5-\xcf]\0[\x0b\x11\x14]\x08(..)(..)", re.DOTALL
)


def read_image(path: str) -> mx.nd.NDArray:
    """Read a JPEG or PNG with MXNet's own decoder.

    Parameters
    ----------
    path : str

    Returns
    -------
    NDArray
        Shape (height, width, 3), uint8, red first.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not a regular file, is truncated, damaged or too large, or MXNet cannot decode it.
    """
    # A pipe or a device may never end, and a socket or a folder has nothing to read.
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path!r} is not a regular file: give a JPEG or a PNG")
    data = Path(path).read_bytes()
    for found in _SIZES.finditer(data):
        height, width = (int.from_bytes(size, "big") for size in found.groups() if size)
        if height * width > MOST_PIXELS:
            raise ValueError(f"{path!r} is {width}x{height}: give at most {MOST_PIXELS} pixels")
    try:
        with muted() as messages:
            image = mx.image.imdecode(data)
            image.wait_to_read()
            messages.seek(0)
            damaged = b"libpng error" in messages.read()
    except mx.MXNetError:
        raise ValueError(
            f"{path!r} is not an image that MXNet can decode: give a JPEG or a PNG"
        ) from None
    # The decoder fills missing parts with gray or black. It reports this only for a PNG, in a message,
    # but not for a JPEG without its end marker. The first half may contain the marker of a thumbnail.
    cut = data.startswith(b"\xff\xd8") and b"\xff\xd9" not in data[len(data) // 2 :]
    if cut or damaged:
        raise ValueError(f"{path!r} is truncated or damaged: give a complete image")
    return image


@contextmanager
def muted():
    """Redirect the process's standard error, including what C++ libraries write to it, to a file."""
    with tempfile.TemporaryFile() as messages:
        try:
            kept = os.dup(2)
        except OSError:  # it is closed
            yield messages
            return
        os.dup2(messages.fileno(), 2)
        try:
            yield messages
        finally:
            os.dup2(kept, 2)
            os.close(kept)
