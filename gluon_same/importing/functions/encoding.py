"""Encodings of whole numbers, and other preprocessing."""

import itertools
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from .indexing import one_hot, places_along
from .padding import pad
from .pairs import of_two
from .rearranging import exactly


def encode(
    F: Any, x: Any, *arrays: Any, numbers: Optional[Callable] = None, mode: str, depth: int, rank: int,
    alone: bool = False, **arguments: Any,
) -> Any:  # fmt: skip
    """Encode whole numbers as 'one_hot' along a new axis, or rows as 'multi_hot', 'count' or 'tf_idf'.

    Parameters
    ----------
    *arrays
        Arguments of ``numbers``, and the factors of 'tf_idf'.
    numbers : callable, optional
        Returns the numbers from ``x``.
    mode : str
        One of those above, or 'int' for the numbers themselves.
    depth : int
        Number of classes.
    rank : int
        Number of axes.
    alone : bool
        Whether the last axis has size 1 and goes before 'one_hot'.
    """
    given = arrays[:-1] if mode == "tf_idf" else arrays
    x = x if numbers is None else numbers(F, x, *given, **arguments)
    if mode == "int":
        return F.cast(x, dtype="int64")
    x = F.squeeze(x, axis=-1) if alone else x
    y = classes(F, x, depth, rank - alone)
    if mode != "one_hot":
        y = F.max(y, axis=1) if mode == "multi_hot" else F.sum(y, axis=1)
    return F.broadcast_mul(y, arrays[-1]) if mode == "tf_idf" else y


def classes(
    F: Any, x: Any, depth: int, rank: int, values: Tuple[float, float] = (0, 1), to: str = "float32"
) -> Any:
    """Return the second value at each number along a new last axis, and the first elsewhere.

    Negative numbers are no classes, and others are truncated to whole ones.
    """
    x = x * (x >= 0) + depth * (x <= -1)
    y = one_hot(F, x, depth, -1, rank, values, "float32")
    return y if to == "float32" else F.cast(y, dtype=to)  # onnxruntime has no OneHot of int32


def multi_hot(F: Any, x: Any, depth: int, rank: int) -> Any:
    """Return 1 at each of the numbers along the second axis, along a new last axis, and 0 elsewhere."""
    return F.max(classes(F, x, depth, rank), axis=1)


def discretize(F: Any, x: Any, bounds: Any) -> Any:
    """Return how many of some bounds are at most ``x``."""
    return F.sum(F.broadcast_greater_equal(F.expand_dims(x, axis=-1), bounds), axis=-1)


def look_up(F: Any, x: Any, keys: Any, values: Any, first: Optional[int], start: int, count: int) -> Any:
    """Return the value of each key; for other numbers ``start + x % count``, or -1 if ``count`` is 0.

    If ``first`` is a number, ``values`` belong to it and the numbers after it instead of to keys, with a
    value of -1 where there is no key, and at both ends.
    """
    x = F.cast(x, dtype="int64")
    if first is None:
        found = F.broadcast_equal(F.expand_dims(x, axis=-1), keys)
        y = F.sum(F.broadcast_mul(found, values + 1), axis=-1) - 1
    else:
        y = F.take(values, F.clip(x - first, -1e18, 1e18), mode="clip")
    other = x * 0 + start if count == 1 else of_two(F, x, x * 0 + count, "mod", whole=True) + start
    return y + (y == -1) * (other + 1) if count else y


def auto_contrast(F: Any, x: Any, low: float, high: float, axes: Tuple[int, ...]) -> Any:
    """Stretch the numbers of each channel over the range from ``low`` to ``high``."""
    least, most = (getattr(F, kind)(x, axis=axes, keepdims=True) for kind in ("min", "max"))
    span = F.broadcast_sub(most, least)
    flat = span == 0
    y = F.broadcast_div(F.broadcast_sub(x, least), span + flat) * (high - low) + low
    return F.broadcast_add(F.broadcast_mul(F.clip(y, low, high), 1 - flat), F.broadcast_mul(x, flat))


def center_crop(F: Any, x: Any, size: Tuple[int, int]) -> Any:
    """Cut the center out of channels-first images, of which the end may lose one element more."""
    for axis, n in enumerate(size, 2):
        # slice_axis raises an error if the axis lacks elements.
        kept = places_along(F, F.slice_axis(x, axis=axis, begin=0, end=n), axis, "float32")
        whole = F.sum(F.ones_like(places_along(F, x, axis, "float32")))
        x = F.take(x, F.broadcast_add(kept, F.floor((whole - n) / 2)), axis=axis, mode="clip")
    return x


def add_borders(
    F: Any, x: Any, before: Sequence[int], borders: Sequence[Tuple[int, int]], value: float
) -> Any:
    """Pad channels-first images of a known size with a value, or crop them by negative numbers."""
    for axis, n in enumerate(before, 2):
        x = exactly(F, x, axis, n)
    return pad(F, x, [(0, 0), (0, 0), *borders], value=value, native=True)


def pool_windows(F: Any, x: Any, windows: Sequence[Sequence[Tuple[int, int]]], kind: str) -> Any:
    """Pool channels-first data of a known size over windows (begin, end) along each axis."""
    for axis, each in enumerate(windows, 2):
        x = exactly(F, x, axis, each[-1][1])
        parts = (F.slice_axis(x, axis=axis, begin=begin, end=end) for begin, end in each)
        pooled = [getattr(F, kind)(part, axis=axis, keepdims=True) for part in parts]
        x = F.concat(*pooled, dim=axis) if len(pooled) > 1 else pooled[0]
    return x


def locally_connected(F: Any, x: Any, kernel: Any, offset: Any = None, *, window: Dict[str, Any]) -> Any:
    """Return a convolution of channels-first data of a known size, with another kernel at each position.

    ``kernel`` has the shape (positions, elements and channels, filters), and ``offset`` (filters,
    *positions). ``window`` has one entry for each axis in the lists size, kernel, strides, pads and
    positions.
    """
    positions, strides = window["positions"], window["strides"]
    for axis, n in enumerate(window["size"], 2):
        x = exactly(F, x, axis, n)
    x = pad(F, x, [(0, 0), (0, 0), *window["pads"]], native=True)
    parts = []
    for place in itertools.product(*map(range, window["kernel"])):
        ends = [i + (n - 1) * s + 1 for i, n, s in zip(place, positions, strides)]
        bounds = dict(begin=(None, None, *place), end=(None, None, *ends), step=(None, None, *strides))
        parts.append(F.reshape(F.slice(x, **bounds), shape=(0, 0, -1)))
    patches = F.reshape(F.stack(*parts, axis=1), shape=(0, -3, 0))
    y = F.batch_dot(F.transpose(patches, axes=(2, 0, 1)), kernel)
    y = F.reshape(F.transpose(y, axes=(1, 2, 0)), shape=(0, 0, *positions))
    return y if offset is None else F.broadcast_add(y, F.expand_dims(offset, axis=0))
