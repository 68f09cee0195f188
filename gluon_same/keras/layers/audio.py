"""Spectrograms of signals."""

import math
from typing import Any, Dict, List, Optional

import numpy as np

from ...importing import functions
from ..arguments import Unsupported, limit
from ..values import Shape, Value, keras_order
from .operations import size_of
from .registry import Lowered, Request, builds, computes, of_rank, spatial
from .signatures import Arrays
from .weight import weight_of

#: Longest window, and most bands, for which the matrix is computed.
_LONGEST = 4096

#: The mean of each window, which is a cosine around it.
_WINDOWS = {"hann": 0.5, "hamming": 0.54, "None": 1.0}

#: Modes of a spectrogram that combine the real and imaginary parts.
_WITH_BOTH = ("log", "magnitude", "psd", "angle", "stft")


def _filters(length: int, size: int, window: Any) -> np.ndarray:
    """Return a transform of windows, of shape (2 * frequencies, 1, size), as Keras' on TensorFlow."""
    share = _WINDOWS.get(str(window))
    if share is None:
        raise Unsupported(f"window={window!r}: only 'hann', 'hamming' and None are supported")
    if not 1 <= length <= size <= _LONGEST or (window and length % 2):
        raise Unsupported(f"windows of {length} in {size} elements: only even ones up to {_LONGEST} are")
    shape = share - (1 - share) * np.cos(2 * np.pi / length * np.arange(length))
    before = (size - length) // 2
    waves = functions.waves(size // 2 + 1, size) * np.pad(shape, (before, size - length - before))
    return waves.reshape((-1, 1, size)).astype("float32")


def _count(n: Any, size: int, step: int, edge: int) -> Any:
    """Return the number of windows of a signal of ``n`` elements."""
    if n is not None and n <= max(edge, size - 2 * edge - 1):
        raise ValueError(f"windows of {size} elements of a signal of {n}")
    return None if n is None else (n + 2 * edge - size) // step + 1


@computes("fft", "fft2", "ifft2", "rfft")
def _fourier(op: Request, x: Arrays) -> Lowered:
    parts = x if isinstance(x, list) else [x]
    whole, axes = parts[0], [-2, -1] if op.name.endswith("2") else [-1]
    shapes = {part.shape for part in parts}
    if len(parts) != (1 if op.name == "rfft" else 2) or len(shapes) > 1 or whole.rank <= len(axes):
        raise ValueError(f"{op.name} of shapes {shapes}")
    sizes = [size_of(op, whole, axis) for axis in axes]
    limit(f"{op.name} of {sizes} elements", max(sizes), _LONGEST)
    count = sizes[-1] // 2 + 1 if op.name == "rfft" else sizes[-1]
    waves = [functions.waves(count if op.name == "rfft" else n, n) for n in sizes]
    if op.name == "ifft2":
        waves = [np.stack([real, -imaginary]) / len(real) for real, imaginary in waves]
    waves = [each.astype("float32") for each in waves]
    order = keras_order(whole.rank)
    fields: Any = dict(rule=lambda *shapes: [(*shapes[0][:-1], count)] * 2, more_axes=(order,))
    how: Any = dict(rank=whole.rank, parts=len(parts), **fields)
    return op.in_keras_order(functions.fourier, *parts, *waves, ndim=whole.rank, **how)


@computes("irfft")
def _real_inverse(op: Request, x: List[Value], fft_length: Optional[int] = None) -> Lowered:
    """Return the signals of half of their frequencies, whose other half is their conjugate."""
    real, *others = x
    given = size_of(op, real, -1)
    size = 2 * (given - 1) if fft_length is None else fft_length
    if len(others) != 1 or others[0].shape != real.shape or real.rank < 2 or not 1 <= size <= _LONGEST:
        raise ValueError(f"{op.name} of shapes {[each.shape for each in x]} to {size} elements")
    count = min(size // 2 + 1, given)
    waves = functions.waves(count, size).transpose((0, 2, 1)) / size
    twice = [1 if 2 * k in (0, size) else 2 for k in range(count)]
    waves = np.pad(waves * twice * [[[1]], [[-1]]], ((0, 0), (0, 0), (0, given - count)))
    how: Any = dict(rank=real.rank, parts=2, rule=lambda shape, _: (*shape[:-1], size))
    arrays = (*x, waves.astype("float32"))
    return op.in_keras_order(functions.real_fourier, *arrays, ndim=real.rank, **how)


@computes("stft")
def _stft(
    op: Request, x: Value, sequence_length: int, sequence_stride: int, fft_length: int, center: bool,
    window: Any = None,
) -> Lowered:  # fmt: skip
    of_rank(x, 2)
    filters = _filters(sequence_length, fft_length, window)
    how: Any = dict(size=fft_length, count=len(filters), step=sequence_stride)
    how["edge"] = fft_length // 2 if center else 0

    def rule(shape: Shape) -> Any:
        count = _count(shape[1], fft_length, sequence_stride, how["edge"])
        return [(shape[0], count, len(filters) // 2)] * 2

    fields: Any = dict(rule=rule, more_axes=(keras_order(3),))
    return op.in_keras_order(functions.stft_parts, x, filters, ndim=3, **fields, **how)


@builds("MelSpectrogram")
def _mel_spectrogram(request: Request, x: Value) -> Lowered:
    size, step = request.whole("fft_length"), request.whole("sequence_stride")
    length = request.get("sequence_length", None) or size
    filters = _filters(length, size, request.get("window", "hann"))
    rate, low = request.number("sampling_rate"), request.number("min_freq", 20)
    high, count = request.number("max_freq", rate // 2), request.whole("num_mel_bins")
    if not 0 <= low < high or rate <= 0 or count > _LONGEST:
        raise Unsupported(f"{count} bands from {low} to {high} Hz at sampling_rate={rate}")
    least, reference = request.number("min_power", 1e-10), abs(request.number("ref_power", 1.0))
    most, exponent = request.number("top_db", 80), request.number("mag_exp", 2)
    scale = least, 10 * math.log10(max(least, reference)), most
    how: Any = dict(size=size, count=len(filters), step=step, edge=size // 2, exponent=exponent)
    how["decibels"] = scale if request.flag("power_to_db", True) else None
    how["rule"] = lambda shape: (shape[0], count, _count(shape[1], size, step, size // 2))
    bands = functions.mel_bands(count, len(filters) // 2, rate, low, high)
    return request.in_keras_order(
        functions.mel_spectrogram, of_rank(x, 2), filters, bands, ndim=3, **how
    )


@builds("STFTSpectrogram")
def _spectrogram(request: Request, x: Value) -> Lowered:
    request.ignore("window", "periodic", "scaling")  # which the kernels contain
    mode = request.word("mode", (*_WITH_BOTH, "real", "imag"), "log")
    length = request.whole("frame_length", least=3)
    step = request.whole("frame_step") if request.get("frame_step", None) else length // 2
    size = request.get("fft_length", None) or 2 ** math.ceil(math.log2(length))
    padding = request.word("padding", ("valid", "same"), "valid")
    merged = not request.flag("expand_dims", False)
    ((axis,), order), count = spatial(request, x, 1), size // 2 + 1
    names = [f"{part}_kernel" for part in ("real", "imag") if mode in (part, *_WITH_BOTH)]
    parameters: Dict[str, Any] = {name: dict(shape=(count, 1, length)) for name in names}
    how = dict(mode=mode, merged=merged, size=length, count=count, step=step, padding=padding)
    block = request.function(functions.spectrogram, parameters, **how)
    axes = order if merged else (0, 3, 2, 1) if axis == 1 else (0, 1, 3, 2)
    weights = tuple(weight_of(name, getattr(block, name), 2, 1, 0) for name in names)
    return Lowered(block, axes, (order,), weights=weights)
