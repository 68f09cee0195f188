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
    photo = (255 * x[0, :, ::2, ::2].transpose((1, 2, 0))).astype("uint8").asnumpy()
    shown = [maps.Map(f"photograph, {_size(x)}", photo, WIDTH)]
    for layer in net:
        before, x = x, layer(x)
        if isinstance(layer, nn.MaxPool2D):
            caption = f"{x.shape[1]} channels, {_size(x)}"
            shown.append(maps.Map(caption, _stretched(_mean(x)), WIDTH))
    ways = {"padding='same'": x}  # the last layer is the pool
    ways.update((f"padding={p}", stock.MaxPool2D(2, strides=1, padding=p)(before)) for p in (0, 1))
    last = [maps.Map(f"{name}: {_size(y)}", _mean(y), CELL * y.shape[3]) for name, y in ways.items()]
    first = "The photograph, and the mean of the channels after each pool"
    rows = [
        (f"{first} (white: smallest, blue: largest)", shown),
        (f"The last pool, on a map of {_size(before)}: only SAME keeps the size", last),
    ]
    desc = "; ".join(part.caption for _, parts in rows for part in parts)
    return maps.draw(rows, "TinyDarkNet with padding='same' and random weights", desc)


def _mean(x):
    return x[0].mean(axis=0).asnumpy()


def _stretched(values):
    """Scale values to 0 to 1, so that every map uses all colors."""
    return (values - values.min()) / ((values.max() - values.min()) or 1)


def _size(x):
    return f"{x.shape[2]}x{x.shape[3]}"
