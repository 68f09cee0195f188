"""Reading images, with errors for truncated and damaged files."""

import os
import zlib
from contextlib import contextmanager

import mxnet as mx

#: Pixels of the largest image that is decoded. Decoding takes up to 7 bytes per pixel.
MOST_PIXELS = 10**8


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
        If it is empty, truncated, damaged or too large, or MXNet cannot decode it.
    """
    with open(path, "rb") as file:
        data = file.read()
    if not data:
        raise ValueError("the file is empty")
    if not _is_whole(data):
        raise ValueError("the image is truncated or damaged")
    pixels = _pixels(data)
    if pixels > MOST_PIXELS:
        raise ValueError(f"the image has {pixels} pixels: give one of at most {MOST_PIXELS}")
    try:
        with muted():
            image = mx.image.imdecode(data)
            image.wait_to_read()
            return image
    except mx.MXNetError:
        raise ValueError("not an image that MXNet can decode; use a JPEG or a PNG") from None


def _is_whole(data):
    # The decoder fills missing parts with gray or black, often without an error.
    if data.startswith(b"\xff\xd8"):
        at = 2  # skip the headers of a JPEG: a thumbnail in them has its own end marker
        while data[at : at + 1] == b"\xff" and data[at + 1 : at + 2] != b"\xda":
            at += 2 + _number(data[at + 2 : at + 4])
        return b"\xff\xd9" in data[at:]
    if data.startswith(b"\x89PNG"):
        at, kind = 8, b""
        while kind != b"IEND":
            kind, end = data[at + 4 : at + 8], at + 8 + _number(data[at : at + 4])
            checksum = data[end : end + 4]
            if len(checksum) < 4 or zlib.crc32(data[at + 4 : end]) != _number(checksum):
                return False
            at = end + 4
    return True


def _pixels(data):
    """Return width times height from the header of a JPEG or PNG, or 0 if it has none."""
    if data.startswith(b"\x89PNG"):
        return _number(data[16:20]) * _number(data[20:24])
    at = 2
    while data[at : at + 1] == b"\xff":
        kind = _number(data[at + 1 : at + 2])
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):  # a frame, not a table
            return _number(data[at + 5 : at + 7]) * _number(data[at + 7 : at + 9])
        at += 2 + _number(data[at + 2 : at + 4])
    return 0


def _number(data):
    return int.from_bytes(data, "big")


@contextmanager
def muted():
    """Silence the process's standard error, including what C++ libraries write to it."""
    try:
        kept = os.dup(2)
    except OSError:  # it is closed
        yield
        return
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
