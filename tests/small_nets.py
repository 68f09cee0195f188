"""Nets that several tests share."""

import mxnet as mx

from gluon_same import nn


def make_net():
    """Return a net with strided and even windows, and a normalization."""
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(
            nn.Conv2D(8, 3, strides=2, padding="same"),
            nn.BatchNorm(),
            nn.MaxPool2D(3, 2, padding="same"),
            nn.Conv2D(8, 2, padding="same"),
            nn.AvgPool2D(2, 2, padding="same"),
        )
    net.initialize(mx.init.Xavier())
    return net
