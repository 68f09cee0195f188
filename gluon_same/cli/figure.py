"""The figure that ``demo`` writes: the maps of a net, and those of its last pool with other padding."""

from typing import Any

from mxnet.gluon import nn as stock

from .. import nn
from ..picture import maps

#: Pixels of a map, and of an element of the last pool's maps.
WIDTH, CELL = 150, 12


def figure(net: nn.HybridSequential, x: Any) -> str:
    """Draw the maps after each pool, and the last one with other padding, as SVG.

    Parameters
    ----------
    net : HybridSequential
        An initialized net of :func:`.demo.build_net`. Its last layer is a 2x2 pool of stride 1.
    x : NDArray
        Shape (1, 3, height, width), from 0 to 1.

    Returns
    -------
    str
    """
    shown = [_map(f"photograph, {size_of(x)}", 1 - x, WIDTH)]  # dark blue on white
    for layer in net:
        before, x = x, layer(x)
        if isinstance(layer, nn.MaxPool2D):
            shown.append(_map(f"{x.shape[1]} channels, {size_of(x)}", x, WIDTH))
    ways = {"padding='same'": x}  # the last layer is the pool
    ways.update((f"padding={p}", stock.MaxPool2D(2, strides=1, padding=p)(before)) for p in (0, 1))
    last = [_map(f"{name}: {size_of(y)}", y, CELL * y.shape[3]) for name, y in ways.items()]
    rows = [
        ("The photograph, and the mean of the channels after each pool", shown),
        (f"The last pool, on a map of {size_of(before)}: only SAME keeps the size", last),
    ]
    return maps.draw(rows, "TinyDarkNet with padding='same' and random weights")


def _map(caption, x, width):
    return maps.Map(caption, x[0].mean(axis=0).asnumpy(), width)


def size_of(x: Any) -> str:
    """Return the height and width of channels-first data as text."""
    return f"{x.shape[2]}x{x.shape[3]}"
