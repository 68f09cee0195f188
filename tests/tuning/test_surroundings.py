"""A layer is measured together with its neighboring operators."""

import json

import mxnet as mx

from gluon_same import nn
from gluon_same.tracing.trace import Trace, blocks_of
from gluon_same.tuning.surroundings import Graph, tagged


def around(net, shape, index=0):
    """Return the operators that a layer is measured with, in order, and the shapes at the cuts."""
    known, blocks = {"data": shape}, blocks_of(net)
    same = [block for block in blocks if getattr(block, "_padding", None)]
    with Trace(blocks, known), tagged(same) as calls:
        graph = Graph(net(mx.sym.var("data")), known)
    block, seen = calls[index]
    found = graph.around(index, block, seen)
    block._in_shape = seen
    symbol = found.with_layer(block)
    block._in_shape = None
    nodes = json.loads(symbol.tojson())["nodes"]
    outs = symbol.infer_shape(**found.shapes)[1]
    return [n["op"] for n in nodes if n["op"] != "null"], found.shapes, outs


def chain(*layers):
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(*layers)
    net.initialize()
    return net


def pool():
    return nn.MaxPool2D(2, 1, padding="same")


def test_surroundings_extend_from_convolution_to_convolution():
    net = chain(
        nn.Conv2D(4, 1),
        nn.Conv2D(8, 1),
        nn.BatchNorm(),
        nn.Activation("relu"),
        pool(),
        nn.Activation("tanh"),
        nn.Conv2D(16, 1),
        nn.Conv2D(4, 1),
    )
    operators, cuts, outs = around(net, (1, 3, 9, 9))
    between = ["BatchNorm", "Activation", "Pooling", "slice", "Activation"]
    assert operators == ["Convolution", *between, "Convolution"]
    assert list(cuts.values()) == [(1, 4, 9, 9)] and outs == [(1, 16, 9, 9)]


def test_a_single_layer_has_no_neighbors():
    operators, cuts, outs = around(pool(), (1, 3, 9, 9))
    assert operators == ["Pooling", "slice"]
    assert list(cuts.values()) == [(1, 3, 9, 9)] and outs == [(1, 3, 9, 9)]


def test_branches_are_measured_with_the_operator_that_joins_them():
    class Branched(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.a, self.b, self.pool = nn.Conv2D(8, 1), nn.Conv2D(8, 3, padding=1), pool()
                self.c = nn.Conv2D(4, 1)

        def hybrid_forward(self, F, x):
            y = self.pool(F.relu(self.a(x)))
            return self.c(F.concat(y, self.b(x), dim=1)) + self.c(F.concat(y, y, dim=1))

    net = Branched()
    net.initialize()
    operators, cuts, outs = around(net, (2, 3, 9, 9))
    assert operators[:4] == ["Convolution", "relu", "Pooling", "slice"]
    assert operators.count("Convolution") == 3 and operators.count("Concat") == 2
    # The other branch is cut off before the operator that joins the two.
    assert sorted(cuts.values()) == [(2, 3, 9, 9), (2, 8, 9, 9)]
    assert outs == [(2, 4, 9, 9)] * 2


def test_calls_of_a_shared_layer_are_distinguished():
    shared = nn.Conv2D(3, 2, padding="same", in_channels=3)
    net = chain(shared, nn.AvgPool2D(2, 2), shared)
    operators, cuts, outs = around(net, (1, 3, 16, 16), 0)
    assert operators == ["Convolution", "slice", "Pooling", "Convolution"]
    assert list(cuts.values()) == [(1, 3, 16, 16)] and outs[0][2:] == (9, 9)  # not cropped
    operators, cuts, outs = around(net, (1, 3, 16, 16), 1)
    assert operators == ["Convolution", "slice", "Pooling", "Convolution", "slice"]
    assert list(cuts.values()) == [(1, 3, 16, 16)] and outs[0][2:] == (8, 8)
