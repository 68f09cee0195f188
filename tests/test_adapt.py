"""A net that keeps a graph for each size gives the numbers of the net, at every size."""

import json

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon

from gluon_same import adapt, nn, specialize

SHAPES = [(2, 3, 32, 33), (2, 3, 33, 32), (2, 3, 21, 20)]


def make_net():
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


@pytest.fixture
def net():
    return make_net()


def data(shape, seed=0):
    return mx.nd.array(np.random.RandomState(seed).normal(size=shape))


def same(a, b):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)


def operators(graph):
    return [node["op"] for node in json.loads(graph.tojson())["nodes"]]


@pytest.mark.parametrize(
    "flags", [{}, {"static_alloc": True}, {"static_alloc": True, "static_shape": True}]
)
def test_every_size_gives_the_numbers_of_the_net(net, flags):
    want = [net(data(shape)) for shape in SHAPES]
    assert adapt(net) is net
    net.hybridize(**flags)
    for _ in range(2):
        for shape, numbers in zip(SHAPES, want):
            same(net(data(shape)), numbers)
    same(net(data((5, *SHAPES[0][1:]))[:2]), net(data((5, *SHAPES[0][1:])))[:2])  # the batch is free


def test_a_net_that_has_not_run_yet_is_adapted(net):
    adapt(net).hybridize()
    assert [net(data(shape)).shape[2:] for shape in SHAPES] == [(4, 5), (5, 4), (3, 3)]


def test_each_size_has_a_specialised_graph_that_is_made_once(net):
    adapt(net).hybridize()
    for shape in SHAPES * 3:
        net(data(shape))
    assert len(net._graphs) == len(SHAPES)
    twin = net._graphs.get((False, SHAPES[0][1:]))
    found = operators(twin._cached_graph[1])
    specialize(net, SHAPES[0])
    net(data(SHAPES[0]))
    assert found == operators(net._cached_graph[1])


def test_graphs_that_were_not_used_for_long_go(net):
    adapt(net, graphs=2).hybridize()
    for i in (0, 1, 0, 2):
        net(data(SHAPES[i]))
    kept = [net._graphs.get((False, shape[1:])) is not None for shape in SHAPES]
    assert kept == [True, False, True]


def test_training_takes_the_steps_of_the_net():
    weights = []
    for adapted in (False, True):
        mx.random.seed(0)
        net = make_net()
        net(data(SHAPES[0]))
        if adapted:
            adapt(net)
        net.hybridize(static_alloc=True)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
        for step in range(6):
            with autograd.record():
                loss = (net(data(SHAPES[step % 3], step)) ** 2).mean()
            loss.backward()
            trainer.step(1)
            net(data(SHAPES[0]))  # and predicts between
        weights.append([p.data() for p in net.collect_params().values()])
    for plain, adapted in zip(*weights):
        same(plain, adapted)


def test_parameters_are_those_of_the_net(net, tmp_path):
    adapt(net).hybridize()
    x = data(SHAPES[0])
    before = net(x)
    for p in net.collect_params().values():
        p.set_data(p.data() * 2)
    net.save_parameters(str(tmp_path / "p"))
    other = make_net()
    other.load_parameters(str(tmp_path / "p"))
    same(net(x), other(x))
    assert not np.allclose(net(x).asnumpy(), before.asnumpy())


def test_exported_graphs_serve_every_size(net, tmp_path):
    adapt(net).hybridize()
    want = [net(data(shape)) for shape in SHAPES]
    net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    for shape, numbers in zip(SHAPES, want):
        same(block(data(shape)), numbers)


def test_a_hybridized_net_around_it_serves_every_size(net):
    want = [net(data(shape)) for shape in SHAPES]
    outer = nn.HybridSequential()
    outer.add(adapt(net))
    outer.hybridize()
    for shape, numbers in zip(SHAPES, want):
        same(outer(data(shape)), numbers)
    assert len(net._graphs) == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda net: net.hybridize(static_alloc=True),
        lambda net: net.hybridize(False),
        lambda net: net.cast("float32"),
        lambda net: net.add(nn.Activation("relu")),
        lambda net: specialize(net),
    ],
)
def test_what_changes_the_net_drops_its_graphs(net, change):
    adapt(net).hybridize()
    for shape in SHAPES[:2]:
        net(data(shape))
    held = net._graphs
    change(net)
    assert len(held) == 0
    assert net(data(SHAPES[2])).shape == (2, 8, 3, 3)


def test_a_net_that_is_no_hybrid_block_has_its_parts_adapted():
    class Outer(gluon.Block):
        def __init__(self):
            super().__init__()
            self.first, self.second = make_net(), nn.MaxPool2D(2, 1, padding="same")

        def forward(self, x):
            return self.second(self.first(x))

    outer = Outer()
    want = [outer(data(shape)) for shape in SHAPES]
    adapt(outer).hybridize()
    for shape, numbers in zip(SHAPES, want):
        same(outer(data(shape)), numbers)
    assert len(outer.first._graphs) == len(outer.second._graphs) == 3


def test_several_inputs_and_a_layer_called_at_two_sizes():
    class Two(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.pool = nn.MaxPool2D(3, 2, padding="same")

        def hybrid_forward(self, F, x, y):
            return self.pool(self.pool(x)), self.pool(y)

    net = Two()
    x, y = data(SHAPES[0]), data(SHAPES[1])
    want = net(x, y)
    adapt(net).hybridize()
    for got, numbers in zip(net(x, y), want):
        same(got, numbers)


def test_numpy_mode(numpy_mode):
    net = nn.Conv2D(8, 3, strides=2, padding="same", in_channels=3)
    net.initialize()
    x = mx.np.random.normal(size=(1, 3, 10, 11))
    want = net(x)
    adapt(net).hybridize()
    got = net(x)
    assert isinstance(got, mx.np.ndarray)
    np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda net: adapt("net"), TypeError, "not a Gluon Block"),
        (lambda net: adapt(net, 0), ValueError, "graphs=0"),
        (lambda net: adapt(net, 1.5), TypeError, "graphs=1.5"),
    ],
)
def test_errors_name_the_argument_and_its_value(net, call, error, words):
    with pytest.raises(error, match=words):
        call(net)
