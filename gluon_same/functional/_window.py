"""Helpers that convolution and pooling share: build windows from arguments, and check that they fit."""

from typing import Sequence, Tuple, Union

from .. import arguments, geometry
from ..geometry import Window

IntOrInts = Union[int, Sequence[int]]


def windows_of(kernel, stride, dilate, pad, causal=False) -> Tuple[Window, ...]:
    spans = tuple(map(geometry.effective_kernel, kernel, dilate))
    padding = arguments.normalize_padding("pad", pad, spans, causal)
    paddings = (padding,) * len(spans) if isinstance(padding, str) else padding
    return tuple(map(Window, spans, stride, paddings, kernel))


def check_fit(windows, sizes):
    for window, size in zip(windows, sizes):
        if isinstance(window.padding, str) or size is None:  # SAME fits every size
            continue
        if window.outputs(size) < 1:
            raise ValueError(
                f"data of spatial size {sizes} padded by {window.padding} is smaller than a window "
                f"of {window.span} elements: use more padding, a smaller kernel or a larger input"
            )


def choose(way, ways):
    """Return the plan with a name."""
    if way not in ways:
        raise ValueError(f"way={way!r} is unknown for this window: use None or one of {tuple(ways)}")
    return ways[way]
