"""Layers of stock Gluon that compute SAME padding by ``F.pad`` before the layer, for one input size.

This is how SAME padding is usually written by hand. The module stands in for ``mxnet.gluon.nn`` in the
builders of :mod:`architectures`. A layer keeps the padding that its first, eager call requires.
"""

import gluon_same  # noqa: F401  isort: skip  first, because it prepares NumPy for MXNet

import mxnet as mx
from mxnet.gluon import HybridBlock
from mxnet.gluon import nn as stock

#: Close to the lowest float, so that maximums ignore it.
LOWEST = -3e38


def __getattr__(name):
    return getattr(stock, name)


def same(size, kernel, stride):
    """Return SAME padding by TensorFlow's rule, independently of the library."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


class PadFirst(HybridBlock):
    """``F.pad`` and a layer without padding, or only the layer where it can pad both ends alike."""

    def __init__(self, layer, fill=0.0):
        super().__init__()
        self.layer, self._fill, self._width = layer, fill, None

    def forward(self, x):
        if self._width is None and isinstance(x, mx.nd.NDArray):
            settings = self.layer._kwargs
            pads = list(map(same, x.shape[2:], settings["kernel"], settings["stride"]))
            if all(before == after for before, after in pads):
                settings["pad"], self._width = tuple(before for before, _ in pads), ()
            elif isinstance(self.layer, stock.AvgPool2D):
                raise ValueError(f"{self.layer} would count the zeros that F.pad adds")
            else:
                self._width = (0, 0, 0, 0, *pads[0], *pads[1])
        return super().forward(x)

    def hybrid_forward(self, F, x):
        if self._width:
            x = F.pad(x, mode="constant", pad_width=self._width, constant_value=self._fill)
        return self.layer(x)


def Conv2D(channels, kernel_size, strides=1, padding=0, **others):
    if padding != "same":
        return stock.Conv2D(channels, kernel_size, strides, padding, **others)
    return PadFirst(stock.Conv2D(channels, kernel_size, strides, **others))


def MaxPool2D(pool_size=2, strides=None, padding=0, **others):
    if padding != "same":
        return stock.MaxPool2D(pool_size, strides, padding, **others)
    return PadFirst(stock.MaxPool2D(pool_size, strides, **others), LOWEST)


def AvgPool2D(pool_size=2, strides=None, padding=0, **others):
    if padding != "same":
        return stock.AvgPool2D(pool_size, strides, padding, **others)
    return PadFirst(stock.AvgPool2D(pool_size, strides, **others))


def Conv2DTranspose(channels, kernel_size, strides, padding=0, **others):
    if padding == "same" and kernel_size != strides:
        raise ValueError("only transposed convolutions whose kernel is their stride need no padding")
    return stock.Conv2DTranspose(channels, kernel_size, strides, **others)
