"""The blocks of a net are found once, and named in messages."""

import pytest
from mxnet.gluon import nn as stock

from gluon_same import nn
from gluon_same.blocks import blocks_of, check_for_graphs, title


def test_each_block_is_listed_once():
    shared, net = nn.Conv2D(4, 3, padding="same"), stock.HybridSequential()
    net.add(shared, nn.Activation("relu"), shared)
    assert blocks_of(net) == [shared, net[1], net]
    with pytest.raises(TypeError, match="net=3 is not a Gluon Block"):
        blocks_of(3)


def test_a_block_without_a_name_has_that_of_its_class():
    assert (
        title(stock.Dense(2, prefix="head_")) == "head" and title(stock.Dense(2, prefix="")) == "Dense"
    )


def test_blocks_that_are_wrong_in_graphs_are_refused():
    net = stock.HybridSequential(prefix="net_")
    net.add(nn.Activation("relu"))
    check_for_graphs(net)
    net[0].eager = True
    with pytest.raises(ValueError, match="net contains a Activation, which MXNet computes right only"):
        check_for_graphs(net)
