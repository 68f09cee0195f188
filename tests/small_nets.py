"""Nets and helpers that several tests share."""

import json

import mxnet as mx
import numpy as np
from mxnet import gluon

from gluon_same import nn, specialize


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


class Body(nn.HybridBlock):
    """A function of a convolution and its input of three channels."""

    def __init__(self, body, channels=3):
        super().__init__()
        self.body = body
        with self.name_scope():
            self.layer = nn.Conv2D(channels, 3, padding="same", in_channels=3)

    def hybrid_forward(self, F, x):
        return self.body(F, self.layer, x)


def blocks_of(net):
    """List a net's blocks."""
    found = []
    net.apply(found.append)
    return found


def operators_of(symbol):
    """List the operators of a symbol or an exported file."""
    text = symbol if isinstance(symbol, str) else symbol.tojson()
    return [node["op"] for node in json.loads(text)["nodes"] if node["op"] != "null"]


def imported(path, *inputs):
    """Return the block that ``export`` wrote."""
    return gluon.SymbolBlock.imports(
        f"{path}-symbol.json", list(inputs or ["data"]), f"{path}-0000.params"
    )


def normal(shape, seed=0, dtype="float32"):
    """Return random numbers that depend on the seed only."""
    return mx.nd.array(np.random.RandomState(seed).normal(size=shape), dtype=dtype)


def same(a, b):
    """Compare two results, or two tuples of results."""
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, other in zip(a, b):
            same(one, other)
    else:
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)


def has_right_gradients(make, x):
    """Compare gradients in float32 with those in float64, which MXNet computes without oneDNN."""
    found = []
    for dtype, hybridized in (("float64", False), ("float32", False), ("float32", True)):
        net = make()
        net.cast(dtype)
        net.hybridize(hybridized)
        data = mx.nd.array(x, dtype=dtype)
        data.attach_grad()
        with mx.autograd.record():
            loss = mx.nd.square(net(data)).sum()
        loss.backward()
        found.append(data.grad.asnumpy())
    assert np.abs(found[0]).max() > 0
    for got in found[1:]:
        np.testing.assert_allclose(got, found[0], rtol=1e-3, atol=1e-4 * np.abs(found[0]).max())


def every_way(net, *shapes):
    """Yield the net eager and hybridized, and its specialized block."""
    yield net
    net.hybridize()
    yield net
    yield specialize(net, *shapes)


def eager_and_hybridized(block, x):
    """Return the results of a block, eager and hybridized, which must be equal."""
    eager = block(mx.nd.array(x)).asnumpy()
    block.hybridize()
    np.testing.assert_array_equal(block(mx.nd.array(x)).asnumpy(), eager)
    return eager
