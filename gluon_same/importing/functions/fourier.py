"""Fourier transforms of windows of signals, as convolutions by waves."""

from typing import Any, Optional, Tuple

import numpy as np

from ...functional import convolution
from .elementwise import log10
from .indexing import places_along
from .padding import pad
from .pairs import of_two
from .resizing import resize_by_matrix
from .shapes import split_like


def waves(count: int, size: int) -> np.ndarray:
    """Return the real and imaginary parts, of shape (2, count, size), of the transform's matrix."""
    angle = -2 * np.pi / size * np.outer(np.arange(count), np.arange(size))
    return np.stack([np.cos(angle), np.sin(angle)])


def transform(
    F: Any, out: Any, x: Any, axes: Tuple[int, int], parts: Tuple[int, int], inverse: bool, to: str
) -> Any:
    """Return the matrix of a transform from an axis of an array to one of another's size.

    Its shape is (parts of a number, parts of a result, results, numbers). If the results are real, the
    numbers are half of the frequencies: each but the first, and the last of an even size, counts twice.
    """
    half = parts[1] == 1
    lines = (places_along(F, each, axis, "float64") for each, axis in zip((out, x), axes))
    i, j = (F.reshape(line, shape=shape) for line, shape in zip(lines, ((-1, 1), (1, -1))))
    size = F.sum(F.ones_like(i if half else j), keepdims=True)
    angle = F.broadcast_div(F.broadcast_mod(F.broadcast_mul(i, j), size), size) * (2 * np.pi)
    real, imaginary = F.cos(angle), F.sin(angle) * (1 if inverse else -1)
    if half:
        counts = 2 - (j == 0) - F.broadcast_equal(j * 2, size)
        real, imaginary = (F.broadcast_mul(each, counts) for each in (real, imaginary))
    rows = [real, -imaginary] if half else [real, imaginary, -imaginary, real][: 2 * parts[0]]
    y = F.stack(*(F.broadcast_div(row, size) if inverse else row for row in rows))
    return F.cast(F.reshape(y, shape=(-4, *parts, 0, 0)), dtype=to)


def fourier(F: Any, x: Any, *arrays: Any, rank: int, parts: int) -> Any:
    """Return the real and imaginary parts of the transform along the last axes.

    ``arrays`` are the imaginary part, if ``parts`` is 2, and :func:`waves` for each of the axes.
    """
    real, imaginary = x, arrays[0] if parts == 2 else None
    for axis, both in enumerate(arrays[parts - 1 :], rank - len(arrays) + parts - 1):
        waves = [F.squeeze(each, axis=0) for each in F.split(both, num_outputs=2, axis=0)]
        rows = [resize_by_matrix(F, real, wave, axis=axis, rank=rank) for wave in waves]
        if imaginary is not None:
            turned = [resize_by_matrix(F, imaginary, wave, axis=axis, rank=rank) for wave in waves]
            rows = [rows[0] - turned[1], rows[1] + turned[0]]
        real, imaginary = rows
    return [real, imaginary]


def real_fourier(F: Any, *arrays: Any, rank: int, parts: int) -> Any:
    """Return the real part of :func:`fourier`."""
    return fourier(F, *arrays, rank=rank, parts=parts)[0]


def stft(F: Any, x: Any, filters: Any, size: int, count: int, step: int, padding: str = "valid") -> Any:
    """Multiply the windows of signals of shape (batch, time) by filters of shape (count, 1, size).

    The result has shape (batch, count, windows).
    """
    how: Any = dict(kernel=(size,), stride=(step,), num_filter=count, pad=padding)
    return convolution(F, F.expand_dims(x, axis=1), filters, **how)


def _reflected(F, x, edge):
    return pad(F, x, ((0, 0), (edge, edge)), mode="reflect")


def stft_parts(F: Any, x: Any, filters: Any, edge: int, **how: Any) -> Any:
    """Return the real and imaginary parts, of shape (batch, windows, frequencies).

    ``edge`` is the number of elements that are reflected at both ends first.
    """
    y = F.transpose(stft(F, _reflected(F, x, edge), filters, **how), axes=(0, 2, 1))
    return F.split(y, num_outputs=2, axis=2)


def mel_bands(count: int, frequencies: int, rate: float, low: float, high: float) -> np.ndarray:
    """Return the weights of frequencies in bands that are even on the mel scale: triangles."""

    def mel(hertz: Any) -> Any:
        return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)

    edges = np.linspace(mel(low), mel(high), count + 2)[:, None]
    lower, center, upper = edges[:-2], edges[1:-1], edges[2:]
    at = mel(np.linspace(0, rate / 2, frequencies))
    weights = np.minimum((at - lower) / (center - lower), (upper - at) / (upper - center)).clip(0)
    weights[:, 0] = 0  # Keras leaves the mean out
    return weights.astype("float32")


def mel_spectrogram(
    F: Any, x: Any, filters: Any, bands: Any, exponent: float,
    decibels: Optional[Tuple[float, float, float]], edge: int, **how: Any,
) -> Any:  # fmt: skip
    """Return the magnitude of bands of frequencies, of shape (batch, bands, windows).

    ``decibels`` are the least power, the decibels of the reference, and the most decibels below the
    largest of the whole batch. ``edge`` is as for :func:`stft_parts`.
    """
    real, imaginary = F.split(stft(F, _reflected(F, x, edge), filters, **how), num_outputs=2, axis=1)
    y = F.square(real) + F.square(imaginary)
    y = resize_by_matrix(F, y if exponent == 2 else y ** (exponent / 2), bands, axis=1, rank=3)
    if decibels is None:
        return y
    least, reference, most = decibels
    y = log10(F, F.maximum(y, least)) * 10 - reference
    return F.broadcast_maximum(y, F.max(y, axis=(0, 1, 2), keepdims=True) - most)


def spectrogram(
    F: Any, x: Any, real_kernel: Any = None, imag_kernel: Any = None, *, mode: str, merged: bool,
    **how: Any,
) -> Any:  # fmt: skip
    """Transform signals of shape (batch, channels, time), with Keras' mode of the result.

    ``merged`` merges the axes of the result, (batch, channels, frequencies, windows), in the middle.
    """
    kernels = (each for each in (real_kernel, imag_kernel) if each is not None)
    real, *rest = [stft(F, F.reshape(x, shape=(-3, -1)), each, **how) for each in kernels]
    y = real
    if mode == "angle":
        y = of_two(F, rest[0], real, kind="arctan2")
    elif mode == "stft":
        y = F.concat(real, *rest, dim=1)
    elif rest:
        y = F.square(real) + F.square(rest[0])
    if mode == "psd":
        y = y + pad(F, F.slice_axis(y, axis=1, begin=1, end=-1), ((0, 0), (1, 1), (0, 0)))
    elif mode in ("magnitude", "log"):
        y = F.sqrt(F.maximum(y, 1e-7))
        y = F.log(F.maximum(y, 1e-7)) if mode == "log" else y
    y = split_like(F, y, x, 0, 0, 2)
    return F.reshape(y, shape=(0, -3, 0)) if merged else y
