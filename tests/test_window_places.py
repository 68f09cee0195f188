"""Operators with windows in the graphs of SymbolBlocks, and layers that a net's code pads or crops."""

import mxnet as mx
import numpy as np
import pytest
from mxnet.gluon import nn as stock

from gluon_same import nn, to_same


@pytest.mark.parametrize(
    "layer",
    [
        stock.Conv2D(4, 3, 2, 1, in_channels=3, activation="relu"),
        stock.Conv2D(4, 2, 1, 1, in_channels=3, use_bias=False),
        stock.Conv2DTranspose(4, 3, 2, 1, 1, in_channels=3),
        stock.MaxPool2D(3, 2, 1),
        stock.AvgPool2D(3, 2, 1),
    ],
)
def test_operators_in_the_graph_of_a_symbol_block_change(layer):
    layer.initialize()
    net = stock.HybridSequential()
    data = mx.sym.var("data")
    with net.name_scope():
        net.add(mx.gluon.SymbolBlock([layer(data)], [data], params=layer.collect_params()))
        net.add(stock.MaxPool2D(3, 2, 1))
    net.hybridize()
    x = mx.nd.random.normal(shape=(2, 3, 12, 9))
    assert to_same(net, lambda path, block: False).changed == []
    before = net(x).shape
    report = to_same(net)
    assert [each.after for each in report.changed] == ["same", "same"]
    assert report.changed[0].path == f"0.{layer.name}_fwd"
    to_same(layer)
    want = nn.MaxPool2D(3, 2, "same")(layer(x))
    np.testing.assert_allclose(net(x).asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)
    assert before[:2] == want.shape[:2] and to_same(net).changed == []


class Padded(stock.HybridSequential):
    """Pads and crops as SAME does, as the nets of some model zoos do."""

    def hybrid_forward(self, F, x):
        x = self[0](F.pad(x, mode="constant", pad_width=(0, 0, 0, 0, 0, 1, 0, 1)))
        x = self[1](F.pad(x, mode="constant", pad_width=(0, 0, 0, 0, 1, 0, 1, 0)))
        x = F.slice(x, begin=(0, 0, 1, 1), end=(None, None, None, None))
        return self[2](x)


def test_layers_that_the_code_pads_or_crops_are_named():
    net = Padded()
    net.add(stock.Conv2D(4, 3, 2), stock.MaxPool2D(3, 2, 1), stock.MaxPool2D(3, 2, 1))
    report = to_same(net)
    assert [layer.path for layer in report.changed] == ["2"]
    assert [layer.path for layer in report.by_code] == ["0", "1"]
    assert repr(report).splitlines()[2:] == [
        "2 layers left unchanged, because the net's code pads or crops there",
        "  0 (Conv2D)     3x3/2  0",
        "  1 (MaxPool2D)  3x3/2  1",
    ]
    assert len(to_same(net, lambda path, block: path == "1").changed) == 1


def test_our_layers_are_not_code_that_pads_or_crops():
    net = stock.HybridSequential()
    with net.name_scope():
        net.add(stock.Conv2D(4, 3, 2, 1), nn.MaxPool2D(2, 1, "same"), stock.MaxPool2D(3, 2, 1))
        net.add(nn.MaxPool2D(3, 2, ((0, 1), (1, 1))))
    report = to_same(net)
    assert [layer.path for layer in report.changed] == ["0", "2"] and not report.by_code


@pytest.mark.parametrize(
    "layer, as_same",
    [
        (stock.Conv2DTranspose(4, 4, 2, 1, in_channels=3), True),
        (stock.Conv2DTranspose(4, 3, 2, 1, in_channels=3), False),
        (stock.AvgPool2D(3, 1, 1, count_include_pad=False), True),
        (stock.AvgPool2D(3, 1, 1), False),  # the operator's default counts the padding
        (stock.GlobalAvgPool2D(), True),
    ],
)
def test_the_windows_of_a_fixed_graph(layer, as_same):
    data = mx.sym.var("data")
    block = mx.gluon.SymbolBlock([layer(data)], [data], params=layer.collect_params())
    found = to_same(block, lambda path, block: False)
    assert not found.changed and len(found.left) == (not as_same)
