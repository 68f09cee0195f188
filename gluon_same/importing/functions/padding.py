"""Padding."""

from typing import Any, List, Sequence, Tuple

from .rearranging import flip

#: The elements that a border of ``n`` elements repeats, at the start and at the end of an axis.
_SOURCES = {
    "reflect": lambda n: ((1, n + 1), (-n - 1, -1)),
    "symmetric": lambda n: ((0, n), (-n, None)),
    "wrap": lambda n: ((-n, None), (0, n)),
    "edge": lambda n: ((0, 1), (-1, None)),
    "constant": lambda n: ((0, 1), (0, 1)),
}


def pad(
    F: Any, x: Any, pairs: Sequence[Tuple[int, int]], mode: str = "constant", value: float = 0,
    native: bool = False,
) -> Any:  # fmt: skip
    """Crop each axis by (before, after) elements where they are negative, and then lengthen it.

    Parameters
    ----------
    mode : str
        One of NumPy's: constant, edge, reflect, symmetric, wrap.
    value : float
        For constants.
    native : bool
        Whether ``x`` is of a floating dtype, for which MXNet's ``Pad`` can pad the axes of images.
    """
    rank = len(pairs)
    for axis, (before, after) in enumerate(pairs):
        if min(before, after) < 0:  # in oneDNN's blocks of channels, slice would end the process
            begin, end = max(-before, 0), min(after, 0) or None
            x = F.slice_axis(x, axis=axis, begin=begin, end=end)
    pairs = [(max(before, 0), max(after, 0)) for before, after in pairs]
    if not any(map(any, pairs)):
        return x
    images = rank in (4, 5) and not any(map(any, pairs[:2]))
    if native and images and mode in ("constant", "edge", "reflect"):
        width = [n for pair in pairs for n in pair]
        return F.Pad(x, mode=mode, pad_width=width, constant_value=value)
    for axis, counts in enumerate(pairs):
        borders: List[List[Any]] = [[], []]
        for side, count in enumerate(counts):
            if not count:
                continue
            # slice_axis raises an error if the axis lacks elements; slice would return fewer.
            begin, end = _SOURCES[mode](count)[side]
            part = F.slice_axis(x, axis=axis, begin=begin, end=end)
            if mode == "constant":
                part = F.zeros_like(part) + value
            if mode in ("constant", "edge"):
                part = F.repeat(part, repeats=count, axis=axis)
            elif mode != "wrap":
                part = flip(F, part, (axis,))
            borders[side].append(part)
        if any(counts):
            x = F.concat(*borders[0], x, *borders[1], dim=axis)
    return x


def places_within(F: Any, place: Any, last: Any, mode: str) -> Any:
    """Return the places in an axis, of which ``last`` is the last, whose elements places around it have.

    ``mode`` is 'wrap', 'reflect' or 'edge'.
    """
    if mode == "wrap":
        place = F.broadcast_mod(place, last + 1)
    elif mode == "reflect":
        period = F.maximum(last * 2, 1)
        place = F.broadcast_mod(place, period)
        place = F.broadcast_minimum(place, F.broadcast_sub(period, place))
    return F.broadcast_minimum(F.maximum(place, 0), last)


def crop_to(F: Any, x: Any, axes: Sequence[int], bounds: Sequence[Tuple[int, Any]]) -> Any:
    """Keep a part of some axes; raise an error if an axis has fewer elements."""
    for axis, (begin, end) in zip(axes, bounds):
        x = F.slice_axis(x, axis=axis, begin=begin, end=end)
    return x


def pad_to(F: Any, x: Any, axes: Sequence[int], sides: Sequence[Tuple[int, Any, Any]]) -> Any:
    """Pad images, of four axes, with zeros along two axes; raise an error if they are too large.

    ``sides`` are the elements before, and either those after or the size of the result.
    """
    pairs = [(0, 0)] * 4
    for axis, (before, after, _) in zip(axes, sides):
        pairs[axis] = (before, after or 0)
    x = pad(F, x, pairs)
    for axis, (_, after, size) in zip(axes, sides):
        if after is None:
            edge = F.zeros_like(F.slice_axis(x, axis=axis, begin=0, end=1))
            zeros = F.repeat(edge, repeats=size, axis=axis)
            # slice_like raises an error if the axis has more elements than the zeros.
            x = F.broadcast_add(x, F.slice_like(zeros, x, axes=(axis,)))
            x = F.slice_axis(F.concat(x, zeros, dim=axis), axis=axis, begin=0, end=size)
    return x
