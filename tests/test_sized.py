"""Blocks for one size and for every size behave as Gluon's own blocks do."""

import copy
import pickle

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon
from mxnet.gluon import nn as stock

import keras_nets
from gluon_same import deploy, model_zoo, nn, specialize
from small_nets import imported, make_net, normal, operators_of, same

SHAPES = [(2, 3, 32, 33), (2, 3, 33, 32), (2, 3, 21, 20)]
SHAPE, OTHER = SHAPES[:2]

#: Functions that return a block for a net: one for SHAPE, and one for every size.
MAKERS = {"sized": lambda net: specialize(net, SHAPE), "every": specialize}


@pytest.fixture
def net():
    return make_net()


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


def train(block, parameters, steps=4, shapes=(SHAPE,), between=lambda: None):
    trainer = gluon.Trainer(parameters, "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    for step in range(steps):
        with autograd.record():
            loss = (block(normal(shapes[step % len(shapes)], step)) ** 2).mean()
        loss.backward()
        trainer.step(1)
        between()


def seeded_net():
    mx.random.seed(0)
    net = make_net()
    net(normal(SHAPE))
    return net


# Parameters.


@pytest.mark.parametrize("whose", ["net", "block"])
def test_training_is_that_of_the_net(make, whose):
    plain, net = seeded_net(), seeded_net()
    block = make(net)
    block.hybridize(static_alloc=True)
    shapes = SHAPES if type(block).__name__ == "EverySize" else SHAPES[:1]
    train(plain, plain.collect_params(), 6, shapes)
    parameters = {"net": net, "block": block}[whose].collect_params()
    train(block, parameters, 6, shapes, between=lambda: block(normal(SHAPE)))  # predict in between
    for mine, theirs in zip(net.collect_params().values(), plain.collect_params().values()):
        same(mine.data(), theirs.data())  # also the running averages
    same(block(normal(SHAPE)), plain(normal(SHAPE)))


def test_parameters_are_shared_with_the_net(net, make):
    block = make(net)
    x = normal(SHAPE)
    before = block(x).asnumpy()
    assert list(block.collect_params()) == list(net.collect_params())
    assert all(p is net.collect_params()[name] for name, p in block.collect_params().items())
    for p in net.collect_params().values():
        p.set_data(p.data() * 2)
    same(block(x), net(x))
    assert not np.allclose(block(x).asnumpy(), before)


def test_files_of_parameters_load_both_ways(net, make, tmp_path):
    x, file = normal(SHAPE), str(tmp_path / "net.params")
    want = net(x)
    make(net).save_parameters(file)
    for load in (lambda other: other, make):
        other = make_net()
        load(other).load_parameters(file)
        same(other(x), want)
        same(make(other)(x), want)
    net.save_parameters(file)
    other = make_net()
    block = make(other)
    block.load_parameters(file)
    same(block(x), want)


def test_the_block_may_be_initialized_instead_of_the_net(make):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 2, padding="same"), nn.BatchNorm(), nn.MaxPool2D(2), nn.Dense(3))
    block = make(net)
    block.initialize(mx.init.Xavier())
    assert block(normal(SHAPE)).shape == (2, 3)
    assert net[0].weight.shape == (4, 3, 2, 2)
    same(block(normal(SHAPE)), net(normal(SHAPE)))
    block.initialize(mx.init.Zero(), force_reinit=True)
    assert not net(normal(SHAPE)).asnumpy().any()


def test_gradients_add_up(net, make):
    block = make(net)
    block(normal(SHAPE))
    block.collect_params(".*weight").setattr("grad_req", "add")
    found = []
    for each in (net, block):
        block.collect_params().zero_grad()
        for seed in (1, 2):
            with autograd.record():
                loss = each(normal(SHAPE, seed)).sum()
            loss.backward()
        found.append([p.grad().copy() for p in net.collect_params(".*weight").values()])
    same(*found)


def test_a_frozen_parameter_has_no_gradient(net, make):
    block = make(net)
    block(normal(SHAPE))
    net[0].weight.grad_req = "null"
    with autograd.record():
        loss = block(normal(SHAPE)).sum()
    loss.backward()
    assert net[3].weight.grad().asnumpy().any()
    with pytest.raises(RuntimeError, match="grad_req='null'"):
        net[0].weight.grad()


@pytest.mark.parametrize("whose", ["net", "block"])
def test_a_cast(make, whose):
    net = stock.HybridSequential()
    net.add(nn.MaxPool2D(2, 1, "same"), stock.Dense(3), nn.Activation("relu"))
    net.initialize()
    x = normal(SHAPE)
    want = net(x)
    block = make(net)
    same(block(x), want)
    {"net": net, "block": block}[whose].cast("float64")
    got = block(x.astype("float64"))
    assert got.dtype == np.float64 and np.dtype(net[1].weight.dtype) == np.float64
    same(got, want)


def test_several_contexts(make):
    net = make_net()
    net(normal(SHAPE))
    block = make(net)
    want = block(normal(SHAPE))
    net.collect_params().reset_ctx([mx.cpu(0), mx.cpu(1)])
    for context in (mx.cpu(1), mx.cpu(0)):
        got = block(normal(SHAPE).as_in_context(context))
        assert got.context == context
        same(got, want)
    inputs = [normal(SHAPE, n).as_in_context(mx.cpu(n)) for n in (0, 1)]
    with autograd.record():
        losses = [block(x).sum() for x in inputs]
    autograd.backward(losses)
    assert all(g.asnumpy().any() for g in net[0].weight.list_grad())


# Copies.


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("how", [copy.deepcopy, lambda block: pickle.loads(pickle.dumps(block))])
def test_copies_are_independent(net, make, how, called, hybridize):
    x = normal(SHAPE)
    want = net(x)
    block = make(net)
    if hybridize:
        block.hybridize(static_alloc=True)
    if called:
        block(x)
    other = how(block)
    assert type(other) is type(block) and other.name == block.name
    same(other(x), want)
    for p in other.collect_params().values():
        p.set_data(p.data() * 2)
    same(block(x), want)
    assert not np.allclose(other(x).asnumpy(), want.asnumpy())
    if isinstance(block, type(specialize(net, SHAPE))):
        with pytest.raises(ValueError, match="specialized for"):
            other(normal(OTHER))


def test_a_copy_of_a_larger_net_contains_a_copy_of_the_block(net):
    outer = nn.HybridSequential()
    outer.add(specialize(net, SHAPE), nn.Flatten())
    x = normal(SHAPE)
    want = outer(x)
    other = pickle.loads(pickle.dumps(outer))
    same(other(x), want)
    other[0].collect_params().initialize(mx.init.Zero(), force_reinit=True)
    same(outer(x), want)


# Exported graphs.


@pytest.mark.parametrize("called", [False, True])
def test_an_exported_graph_refuses_another_size(net, tmp_path, called):
    x = normal(SHAPE)
    want = net(x)
    block = specialize(net, SHAPE)
    if called:
        block(x)
    block.export(str(tmp_path / "net"))
    loaded = imported(tmp_path / "net")
    same(loaded(x), want)
    same(loaded(x[:1]), want[:1])
    for other in (OTHER, (2, 3, 32, 34), (2, 3, 16, 66)):
        with pytest.raises(mx.MXNetError, match="_specialized_for_anyx3x32x33_axis"):
            loaded(mx.nd.ones(other)).wait_to_read()
    same(block(x), want)  # the block's own graph does not change


def test_exported_graphs_for_every_size(net, tmp_path):
    want = [net(normal(shape)) for shape in SHAPES]
    block = specialize(net)
    with pytest.raises(RuntimeError, match="call it once before export"):
        block.export(str(tmp_path / "net"))
    block(normal(SHAPE))
    block.export(str(tmp_path / "net"), epoch=3)
    assert (tmp_path / "net-0003.params").exists()
    (tmp_path / "net-0003.params").rename(tmp_path / "net-0000.params")
    for shape, numbers in zip(SHAPES, want):
        same(imported(tmp_path / "net")(normal(shape)), numbers)


def test_a_graph_for_every_size_that_does_not_exist_is_not_exported(tmp_path):
    net = nn.HybridSequential()
    net.add(nn.MaxPool2D(99, 98, padding="same"))
    block = specialize(net)
    block(normal((1, 2, 200, 201)))
    with pytest.raises(
        ValueError, match=r"no graph for every size.*specialize\(net, \(1, 2, 200, 201\)\)"
    ):
        block.export(str(tmp_path / "net"))


def test_an_exported_graph_trains(net, tmp_path):
    x = normal(SHAPE)
    block = specialize(net, SHAPE)
    block(x)
    block.export(str(tmp_path / "net"))
    loaded = imported(tmp_path / "net")
    with autograd.record():
        got = loaded(x)
    with autograd.record():
        want = net(x)
    same(got, want)


def test_several_inputs_are_exported(tmp_path):
    net = nn.HybridLambda(lambda F, x, y: (F.broadcast_add(x, y), y))
    x, y = normal((2, 3, 4, 4)), normal((2, 3, 1, 1), 1)
    block = specialize(net, x, y)
    block.export(str(tmp_path / "net"))
    same(imported(tmp_path / "net", "data0", "data1")(x, y), list(net(x, y)))


# As a part of other nets.


def test_a_hybridized_net_around_it_refuses_another_size(net):
    outer = nn.HybridSequential()
    outer.add(specialize(net, SHAPE), nn.Flatten())
    want = outer(normal(SHAPE))
    outer.hybridize()
    same(outer(normal(SHAPE)), want)
    with pytest.raises(mx.MXNetError, match="_specialized_for_anyx3x32x33_axis2"):
        outer(mx.nd.ones(OTHER)).wait_to_read()


def test_a_hybridized_net_around_it_serves_every_size(net):
    want = [net(normal(shape)) for shape in SHAPES]
    outer = nn.HybridSequential()
    outer.add(specialize(net))
    outer.hybridize()
    for shape, numbers in zip(SHAPES, want):
        same(outer(normal(shape)), numbers)


def test_a_larger_net_trains_through_the_block(net, make):
    outer = nn.HybridSequential()
    outer.add(make(net), nn.Dense(2))
    outer[1].initialize()
    before = {
        name: p.data().copy()
        for name, p in net.collect_params().items()
        if outer(normal(SHAPE)) is not None
    }
    outer.hybridize()
    assert set(net.collect_params()) <= set(outer.collect_params())
    train(outer, outer.collect_params(), 2)
    assert all(
        abs(p.data() - before[name]).max().asscalar() > 0 for name, p in net.collect_params().items()
    )


def test_parts_of_a_net_that_is_not_hybrid(net):
    class Outer(gluon.Block):
        def __init__(self):
            super().__init__()
            self.first, self.second = specialize(net), specialize(nn.MaxPool2D(2, 1, padding="same"))

        def forward(self, x):
            return self.second(self.first(x))

    outer, plain = Outer(), nn.MaxPool2D(2, 1, padding="same")
    for shape in SHAPES:
        same(outer(normal(shape)), plain(net(normal(shape))))


def test_a_file_of_a_larger_net(net, make, tmp_path):
    outer, file = nn.HybridSequential(), str(tmp_path / "outer.params")
    outer.add(net, nn.Dense(2))
    outer[1].initialize()
    want = outer(normal(SHAPE))
    outer.save_parameters(file)
    other = nn.HybridSequential()
    other.add(make(make_net()), nn.Dense(2))
    other.load_parameters(file)
    same(other(normal(SHAPE)), want)


# Flags, hooks and methods of blocks.


@pytest.mark.parametrize(
    "flags", [{}, {"static_alloc": True}, {"static_alloc": True, "static_shape": True}]
)
def test_flags_do_not_change_the_numbers(net, flags):
    want = [net(normal(shape)) for shape in SHAPES]
    sized, every = specialize(net, SHAPE), specialize(net)
    for active in (True, False):
        sized.hybridize(active, **flags)
        every.hybridize(active, **flags)
        for _ in range(2):
            same(sized(normal(SHAPE)), want[0])
            for shape, numbers in zip(SHAPES, want):
                same(every(normal(shape)), numbers)


def test_flags_of_the_net_are_kept(net):
    net.hybridize(static_alloc=True, static_shape=True)
    flags = {"static_alloc": True, "static_shape": True}
    assert flags.items() <= dict(specialize(net, SHAPE)._flags).items()


def test_hooks_of_the_block_receive_arrays(net, make):
    block, seen = make(net), []
    handles = [
        block.register_forward_pre_hook(lambda _, given: seen.append(given[0].shape)),
        block.register_forward_hook(lambda _, given, out: seen.append(out.asnumpy().shape)),
    ]
    block(normal(SHAPE))
    for handle in handles:
        handle.detach()
    block(normal(SHAPE))
    assert seen == [SHAPE, (2, 8, 4, 5)]


def test_a_monitor_receives_the_operators(net):
    block, seen = specialize(net, SHAPE), []
    block(normal(SHAPE))
    block.register_op_hook(lambda name, op, array: seen.append(name))
    block(normal(SHAPE))
    assert any("conv0" in str(name) for name in seen)
    pickle.loads(pickle.dumps(block))(normal(SHAPE))


@pytest.mark.skipif(not hasattr(gluon.HybridBlock, "optimize_for"), reason="this MXNet is older")
def test_other_passes_are_refused(net):
    block = specialize(net, SHAPE)
    with pytest.raises(ValueError, match="is specialized: call optimize_for of the net"):
        block.optimize_for(normal(SHAPE), backend="MKLDNN")


def test_saving_the_graph_in_gluons_format_is_refused(net, tmp_path):
    with pytest.raises(ValueError, match="is specialized: use export or save_parameters"):
        specialize(net, SHAPE).save(str(tmp_path / "net"))


def test_words_for_a_block(net):
    assert repr(specialize(net, SHAPE)) == f"specialize({net.name}, (any, 3, 32, 33)) of float32"
    assert repr(specialize(net, graphs=3)) == f"EverySize({net.name}, graphs=3)"
    every = specialize(net, graphs=3)
    every(mx.nd.ones(SHAPE))
    assert repr(every).splitlines()[1:] == [f"  {specialize(net, SHAPE)!r}"]
    assert repr(specialize(nn.Flatten(), (1, 3))).endswith("(any, 3))")


@pytest.mark.parametrize("static", [False, True])
def test_results_stay_after_another_call(net, static):
    block = specialize(net, SHAPE)
    block.hybridize(static_alloc=static)
    first = block(normal(SHAPE))
    numbers = first.asnumpy()
    block(normal(SHAPE, 1)).wait_to_read()
    np.testing.assert_array_equal(first.asnumpy(), numbers)


# Every size.


def test_each_size_has_a_specialized_graph_that_is_built_once(net):
    block = specialize(net)
    want = [net(normal(shape)) for shape in SHAPES]
    for shape, numbers in [*zip(SHAPES, want)] * 3:
        same(block(normal(shape)), numbers)
    assert len(block._sized) == len(SHAPES)
    made = block._sized[(SHAPE,)]
    assert operators_of(made._graphs[False]) == operators_of(specialize(net, SHAPE)._graphs[False])


def test_the_least_recently_used_graphs_are_dropped(net):
    block = specialize(net, graphs=2)
    for i in (0, 1, 0, 2):
        block(normal(SHAPES[i]))
    assert list(block._sized) == [(SHAPES[0],), (SHAPES[2],)]


def test_an_error_leaves_the_block_usable():
    layer = nn.Conv2D(8, 3, padding="same")
    layer.initialize()
    block = specialize(layer)
    with pytest.raises(ValueError, match="3 axes|could not be traced"):
        block(normal((2, 3, 8)))
    assert block(normal((2, 3, 8, 8))).shape == (2, 8, 8, 8)


def test_a_size_that_a_net_of_the_zoo_refuses():
    with pytest.raises(ValueError, match="for each row"):
        specialize(keras_nets.keras_cnn())(normal((1, 3, 48, 48)))


def test_the_detector_of_the_zoo_trains_at_several_sizes():
    net, plain = (model_zoo.yolov3_tiny(classes=2, prefix="net_") for _ in range(2))
    plain.initialize()
    plain(normal(SHAPE))
    block = specialize(net)
    net.initialize()
    block(normal(SHAPE))
    for mine, theirs in zip(net.collect_params().values(), plain.collect_params().values()):
        mine.set_data(theirs.data())
    for shape in [(1, 3, 64, 96), (1, 3, 45, 83)] * 2:
        maps = []
        for each in (block, plain):
            with autograd.record():
                maps.append(each(normal(shape)))
        for got, want in zip(*maps):
            np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-3, atol=1e-4)


def test_several_inputs_and_a_layer_called_at_two_sizes():
    class Two(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.pool = nn.MaxPool2D(3, 2, padding="same")

        def hybrid_forward(self, F, x, y):
            return self.pool(self.pool(x)), self.pool(y)

    net, x, y = Two(), normal(SHAPE), normal(OTHER)
    same(specialize(net)(x, y), net(x, y))
    same(specialize(net)(y, x), net(y, x))


# Deployed blocks.


@pytest.fixture
def loaded(net, tmp_path):
    net.hybridize()
    net(normal(SHAPE))
    net.export(str(tmp_path / "loaded"))
    return imported(tmp_path / "loaded")


def test_an_imported_graph_is_deployed(net, loaded):
    x = normal(SHAPE)
    same(deploy(loaded, SHAPE, tune=False)(x), net(x))


def test_every_size_is_deployed(net, tmp_path):
    block = deploy(net, tune=False, graphs=2)
    for shape in SHAPES:
        same(block(normal(shape)), net(normal(shape)))
    assert len(block._sized) == 2 and all(each.report for each in block._sized.values())
    with pytest.raises(ValueError, match=r"deployed for every size.*deploy\(net, \(2, 3, 21, 20\)\)"):
        block.export(str(tmp_path / "net"))


@pytest.mark.parametrize("how", [copy.deepcopy, lambda block: pickle.loads(pickle.dumps(block))])
def test_deployed_blocks_are_copied(net, how):
    x = normal(SHAPE)
    block = deploy(net, SHAPE, tune=False)
    for _ in range(2):
        other = how(block)
        same(other(x), net(x))
        assert str(other.report) == str(block.report)
        block(x)


def test_parameters_of_a_deployed_block_are_its_own(net):
    x = normal(SHAPE)
    want = net(x)
    block = deploy(net, SHAPE, tune=False)
    net.initialize(mx.init.Zero(), force_reinit=True)
    same(block(x), want)
    with pytest.raises(ValueError, match=r"is deployed for inputs of shape \(2, 3, 32, 33\)"):
        block(normal(OTHER))
