"""Padding a convolution's input by another convolution, which is depthwise and moves each channel.

Its weights are zeros and a single one for each channel. It pads both ends alike, as MXNet's do, but has
taps enough to see more of one end: which tap is the one says how far the input moves. In a graph for
every size that tap is computed from the size that the graph sees.

oneDNN runs it in less time than it joins blocks to an input, and hands memory on in the order that its
convolutions and poolings like. It reads a few elements more than it wants and takes them zero
times: infinities and NaNs spread by as many.
"""

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, Optional, Sequence

import mxnet as mx
import numpy as np

from .arguments import Window


class Move(NamedTuple):
    """How one axis is moved, so that ``own`` at both ends of the result makes the window SAME."""

    window: Window
    size: Optional[int]
    own: int
    pad: int
    taps: int


def plan(window: Window, size: Optional[int]) -> Move:
    """The move with the fewest taps; a size of None is every size."""
    if window.at(size) is None:
        # SAME lengthens by span - 1 at most. More at other sizes is less than a stride, and so makes
        # no further window.
        longer = window.span - 1
        befores = [window.at(n)[0] for n in range(1, window.stride + 1)]
    else:
        longer = sum(window.at(size))
        befores = [window.at(size)[0]]
    own = min(min(befores), longer - max(befores))
    missing = longer - 2 * own
    pad = max(missing, max(befores) - own)
    return Move(window, size, own, pad, 2 * pad - missing + 1)


def move(F: Any, x: Any, moves: Sequence[Move], channels: int) -> Any:
    """Move ``x``, of float32 and channels first, along its two spatial axes.

    Parameters
    ----------
    F : mx.nd or mx.sym
    x : NDArray or Symbol
        Shape (batch, channels, height, width).
    moves : sequence of Move
        One for each spatial axis.
    channels : int

    Returns
    -------
    NDArray or Symbol
        Along each axis ``before - own`` zeros, the input, and zeros.
    """
    taps = tuple(m.taps for m in moves)
    return F.Convolution(
        x,
        _ones(F, x, moves, taps, channels),
        kernel=taps,
        pad=tuple(m.pad for m in moves),
        num_filter=channels,
        num_group=channels,
        no_bias=True,
    )


def _ones(F, x, moves, taps, channels):
    """For each channel zeros and a one, at ``pad + own - before`` along each axis."""
    place, befores = 0, {}
    for axis, m in enumerate(moves):
        scale, padding = prod(taps[axis + 1 :]), m.window.at(m.size)
        place += scale * (m.pad + m.own)
        if padding is not None:
            place -= scale * padding[0]
        else:
            befores.setdefault(m.window, [0] * (2 + len(taps)))[2 + axis] = scale
    count = prod(taps)
    if F is mx.nd:
        return _array(channels, taps, place, x.context)
    # By fills, arithmetic with numbers and small matrices, which wake no other thread: what slices or
    # spreads takes 50 us a piece. And by nothing that MXNet's int8 pass makes coarse, as it does Concat.
    row = F.reshape(F.arange(count), shape=(1, count)) - place
    if befores:
        sizes = F.cast(F.shape_array(x), dtype="float32")  # which counts to 2**24
        for window, scales in befores.items():
            before = F.dot(_numbers(F, scales), _before(F, sizes, window))
            row = row - F.dot(F.reshape(before, shape=(1, 1)), F.full((1, count), -1))
    return F.reshape(F.dot(F.ones((channels, 1)), row == 0), shape=(channels, 1, *taps))


@lru_cache(maxsize=256)  # to make one takes as long as to move a small input
def _array(channels, taps, place, context):
    ones = np.zeros((channels, prod(taps)), np.float32)
    ones[:, place] = 1
    return mx.nd.array(ones.reshape(channels, 1, *taps), ctx=context)


def _before(F, sizes, window):
    total = window.span - 1 - (sizes - 1) % window.stride
    if window.span < window.stride:
        total = F.relu(total)
    return F.floor((total + 1 if window.padding == "same_lower" else total) / 2)


def _numbers(F, numbers):
    # A shape is a vector, too.
    shape = F.shape_array(F.ones(tuple(n + 1 for n in numbers)))
    return F.reshape(F.cast(shape, dtype="float32") - 1, shape=(1, -1))
