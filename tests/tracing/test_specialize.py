import copy
import gc
import pickle
import weakref

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon

from gluon_same import adapt, functional, nn, specialize


def make_net(**kwargs):
    net = nn.HybridSequential(**kwargs)
    with net.name_scope():
        net.add(
            nn.Conv2D(8, 3, strides=2, padding="same"),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.MaxPool2D(3, 2, padding="same"),
            nn.Dropout(0.5),
            nn.Conv2D(4, 2, padding="same"),
            nn.MaxPool2D(2, 1, padding="same"),
        )
    net.initialize(mx.init.Xavier())
    return net


SHAPE, OTHER = (2, 3, 32, 33), (2, 3, 33, 32)


@pytest.fixture
def net():
    return make_net()


def same(a, b):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)


def test_returns_the_net_with_its_numbers(net):
    x = mx.nd.random.normal(shape=SHAPE)
    want = net(x)
    assert specialize(net, SHAPE) is net
    same(net(x), want)
    net.hybridize()
    same(net(x), want)
    same(net(x[:1]), want[:1])  # the batch stays free


def test_a_net_that_has_not_run_yet_can_be_specialized(net):
    specialize(net, SHAPE).hybridize()
    assert net(mx.nd.ones(SHAPE)).shape == (2, 4, 8, 9)


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("other", [OTHER, (2, 3, 31, 33), (2, 3, 32, 34), (2, 3, 64, 66)])
def test_another_size_is_refused(net, hybridize, other):
    specialize(net, SHAPE)
    net.hybridize(hybridize)
    net(mx.nd.ones(SHAPE))
    with pytest.raises(ValueError, match=r"specialized to .*32, 33.*specialize\(net\)"):
        net(mx.nd.ones(other))


def test_another_size_is_refused_by_a_layer_of_the_net(net):
    specialize(net, SHAPE)
    with pytest.raises(ValueError, match="specialized"):
        net[0](mx.nd.ones(OTHER))


def test_specialize_without_shapes_undoes_it(net):
    kinds = [type(block) for block in net]
    x, other = mx.nd.random.normal(shape=SHAPE), mx.nd.random.normal(shape=OTHER)
    want = net(other)
    specialize(net, SHAPE).hybridize()
    net(x)
    assert [type(block) for block in net] != kinds
    assert specialize(net) is net
    assert [type(block) for block in net] == kinds and type(net) is nn.HybridSequential
    same(net(other), want)


def test_specializing_again_takes_the_new_size(net):
    net.hybridize()
    specialize(net, SHAPE)
    net(mx.nd.ones(SHAPE))
    specialize(net, OTHER)
    assert net(mx.nd.ones(OTHER)).shape == (2, 4, 9, 8)
    with pytest.raises(ValueError, match="specialized"):
        net(mx.nd.ones(SHAPE))


def test_exported_graphs_refuse_another_size(net, tmp_path):
    specialize(net, SHAPE).hybridize()
    x = mx.nd.random.normal(shape=SHAPE)
    want = net(x)
    net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    same(block(x), want)
    for other in (OTHER, (2, 3, 32, 34), (2, 3, 16, 66)):
        with pytest.raises(mx.MXNetError, match="specialized_to_anyx3x32x33"):
            block(mx.nd.ones(other)).wait_to_read()
    same(net(x), want)  # the net's own graph does not change


def test_a_hybridized_net_around_it_refuses_another_size(net):
    outer = nn.HybridSequential()
    outer.add(specialize(net, SHAPE), nn.Flatten())
    outer.hybridize()
    assert outer(mx.nd.ones(SHAPE)).shape == (2, 288)
    with pytest.raises(mx.MXNetError, match="specialized_to_anyx3x32x33"):
        outer(mx.nd.ones(OTHER)).wait_to_read()


def test_no_training_state_changes(net):
    net(mx.nd.ones(SHAPE))
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with autograd.record():
        loss = net(mx.nd.random.normal(shape=SHAPE)).sum()
    loss.backward()
    mx.nd.waitall()
    before = {k: p.data().asnumpy().copy() for k, p in net.collect_params().items()}
    gradients = {
        k: p.grad().asnumpy().copy() for k, p in net.collect_params().items() if p.grad_req != "null"
    }
    specialize(net, SHAPE)
    for k, p in net.collect_params().items():
        np.testing.assert_array_equal(p.data().asnumpy(), before[k])
        if k in gradients:
            np.testing.assert_array_equal(p.grad().asnumpy(), gradients[k])
    trainer.step(1)
    assert any((p.data().asnumpy() != before[k]).any() for k, p in net.collect_params().items())


def test_gradients_of_a_specialized_net_are_those_of_the_net():
    # In training mode, because MXNet's max pooling has wrong gradients in prediction mode.
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(8, 3, strides=2, padding="same", in_channels=3),
        nn.BatchNorm(),
        nn.MaxPool2D(3, 2, padding="same"),
        nn.Conv2D(4, 2, padding="same"),
        nn.AvgPool2D(3, 2, padding="same"),
    )
    net.initialize(mx.init.Xavier())
    x = mx.nd.random.normal(shape=SHAPE)
    found = []
    for run in (lambda: None, net.hybridize, lambda: specialize(net, SHAPE)):
        run()
        x.attach_grad()
        with autograd.record():
            y = net(x)
        y.backward()
        found.append([x.grad.asnumpy().copy(), net[0].weight.grad().asnumpy().copy()])
    for eager, hybridized, specialized in zip(*found):
        np.testing.assert_allclose(hybridized, eager, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(specialized, eager, rtol=1e-4, atol=1e-5)


def test_a_block_called_at_two_sizes_serves_every_size():
    class Twice(nn.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.shared = nn.Conv2D(3, 3, 2, padding="same", in_channels=3)

        def hybrid_forward(self, F, x):
            return self.shared(self.shared(x))

    net = Twice()
    net.initialize()
    x = mx.nd.random.normal(shape=(1, 3, 30, 31))
    want = net(x)
    specialize(net, x.shape).hybridize()
    same(net(x), want)
    other = mx.nd.random.normal(shape=(1, 3, 9, 12))
    same(net(other), net.shared(net.shared(other)))


def test_a_net_of_plain_blocks_can_be_specialized():
    net = nn.Sequential()
    net.add(nn.Conv2D(2, 3, 2, padding="same"), nn.MaxPool2D(2, padding="same"))
    net.initialize()
    x = mx.nd.ones((1, 3, 11, 12))
    want = net(x)
    same(specialize(net, x.shape)(x), want)
    with pytest.raises(ValueError, match="specialized"):
        net(mx.nd.ones((1, 3, 12, 12)))


def test_another_size_is_refused_after_global_pooling():
    # After global pooling the input of the Dense layer does not depend on the size.
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3, 2, padding="same"), nn.GlobalAvgPool2D(), nn.Dense(2))
    net.initialize()
    specialize(net, (1, 3, 12, 12)).hybridize()
    net(mx.nd.ones((1, 3, 12, 12)))
    with pytest.raises(ValueError, match="specialized"):
        net(mx.nd.ones((1, 3, 11, 11)))


def test_maps_of_a_single_element():
    net = nn.HybridSequential()
    net.add(nn.MaxPool2D(2, padding="same"), nn.MaxPool2D(2, padding="same"))
    x = mx.nd.random.normal(shape=(1, 3, 2, 3))
    want = net(x)
    specialize(net, x.shape).hybridize()
    same(net(x), want)


def test_several_inputs():
    class Sum(nn.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.a = nn.Conv2D(2, 3, 2, padding="same")
                self.b = nn.MaxPool2D(2, 2, padding="same")

        def hybrid_forward(self, F, x, y):
            return F.broadcast_add(self.a(x), self.b(y))

    net = Sum()
    net.initialize()
    shapes = [(1, 3, 9, 8), (1, 1, 10, 7)]
    arrays = [mx.nd.random.normal(shape=s) for s in shapes]
    want = net(*arrays)
    specialize(net, *shapes).hybridize()
    same(net(*arrays), want)
    with pytest.raises(ValueError, match=r"any, 1, 10, 7"):
        net(arrays[0], mx.nd.ones((1, 1, 9, 7)))


def test_numpy_mode(numpy_mode):
    net = make_net()
    x = mx.np.random.normal(size=SHAPE)
    want = net(x)
    specialize(net, SHAPE).hybridize()
    assert isinstance(net(x), mx.np.ndarray)
    same(net(x), want)
    with pytest.raises(ValueError, match="specialized"):
        net(mx.np.ones(OTHER))


def test_functional_in_size_fixes_a_symbol():
    data, weight = mx.sym.var("data"), mx.sym.var("weight")
    fixed = functional.convolution(
        mx.sym, data, weight, kernel=3, num_filter=2, stride=2, in_size=(8, 9), layout="NCHW"
    )
    x, w = mx.nd.random.normal(shape=(1, 3, 8, 9)), mx.nd.random.normal(shape=(2, 3, 3, 3))
    same(
        fixed.eval(data=x, weight=w)[0],
        functional.convolution(mx.nd, x, w, kernel=3, num_filter=2, stride=2),
    )
    assert "Crop" not in fixed.tojson()


@pytest.mark.parametrize("outside_in", [False, True])
def test_a_layer_specialized_for_another_net_is_checked_in_this_one(outside_in):
    trunk = nn.Conv2D(2, 3, 2, padding="same", in_channels=3)
    trunk.initialize()
    net, other = nn.HybridSequential(), nn.HybridSequential()
    net.add(trunk)
    other.add(trunk, nn.GlobalAvgPool2D())
    specialize(net, (1, 3, 32, 32))
    specialize(net[0] if outside_in else other, (1, 3, 33, 33))
    net.hybridize()
    with pytest.raises((ValueError, mx.MXNetError), match="speciali"):
        net(mx.nd.ones((1, 3, 32, 32))).wait_to_read()


def test_inputs_that_were_not_specialized_are_refused():
    class Optional(nn.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.conv = nn.Conv2D(2, 3, 2, padding="same", in_channels=3)

        def hybrid_forward(self, F, x, y=None):
            return self.conv(x) if y is None else self.conv(x) + self.conv(y)

    net = Optional()
    net.initialize()
    specialize(net, (1, 3, 8, 8)).hybridize()
    with pytest.raises(TypeError, match="1 inputs and received 2"):
        net(mx.nd.ones((1, 3, 8, 8)), mx.nd.ones((1, 3, 7, 7)))


def test_a_size_that_depends_on_the_batch_is_not_fixed():
    class Folded(nn.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.conv = nn.Conv2D(2, 3, 2, padding="same", in_channels=3)

        def hybrid_forward(self, F, x):
            return self.conv(F.reshape(F.transpose(x, (1, 0, 2, 3)), shape=(1, 3, -1, 8)))

    net = Folded()
    net.initialize()
    inputs = [mx.nd.random.normal(shape=(n, 3, 5, 8)) for n in (1, 2, 3)]
    wants = [net(x) for x in inputs]
    specialize(net, (2, 3, 5, 8)).hybridize()
    for x, want in zip(inputs, wants):
        same(net(x), want)


def test_saving_the_graph_of_a_specialized_net_is_refused(net, tmp_path):
    specialize(net, SHAPE).hybridize()
    net(mx.nd.ones(SHAPE))
    with pytest.raises(ValueError, match="export"):
        net.save(str(tmp_path / "net"))


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: specialize("net", (1, 3, 8, 8)), TypeError, "net='net'"),
        (lambda: specialize(make_net(), (1, 3, 0, 8)), ValueError, "input shape=0"),
        (lambda: specialize(make_net(), (1, 3, 8.5, 8)), TypeError, "input shape=8.5"),
        (lambda: specialize(make_net(), 1, 3, 8, 8), TypeError, "input shape=1"),
        (lambda: specialize(make_net(), (1, 3, 8)), ValueError, "could not be traced"),
        (lambda: specialize(make_net(), SHAPE, SHAPE), ValueError, "could not be traced"),
    ],
)
def test_errors_name_the_argument_and_its_value(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_failed_trace_leaves_the_net_unchanged(net):
    with pytest.raises(ValueError, match="could not be traced"):
        specialize(net, (1, 3, 8))
    assert net(mx.nd.ones(SHAPE)).shape == (2, 4, 8, 9)
    assert not net._forward_pre_hooks and not net[0]._forward_pre_hooks


def test_slices_of_a_specialized_net_are_plain_and_contain_its_layers(net):
    x = mx.nd.random.normal(shape=SHAPE)
    specialize(net, SHAPE)
    head = net[:2]
    assert type(head) is nn.HybridSequential and list(head) == [net[0], net[1]]
    same(head(x), net[1](net[0](x)))


@pytest.mark.parametrize("prepare", [lambda net: specialize(net, SHAPE), adapt])
def test_a_net_can_be_pickled_and_copied(net, prepare):
    x = mx.nd.random.normal(shape=SHAPE)
    want = net(x)
    prepare(net)
    for other in (pickle.loads(pickle.dumps(net)), copy.deepcopy(net)):
        assert type(other) is type(net) and other is not net
        same(other(x), want)
    if prepare is not adapt:
        with pytest.raises(ValueError, match="speciali"):
            other(mx.nd.ones(OTHER))
    assert type(specialize(other)) is nn.HybridSequential


def test_no_class_is_kept_alive():
    def make():
        class Local(nn.HybridSequential):
            pass

        net = Local()
        net.add(nn.MaxPool2D(2, 1, padding="same"))
        return weakref.ref(Local), specialize(net, (1, 3, 8, 8)), adapt(Local())

    kept, *nets = make()
    del nets
    gc.collect()
    assert kept() is None


def test_no_class_of_a_layer_is_kept_alive():
    class Local(nn.MaxPool2D):
        pass

    kept = weakref.ref(Local)
    Local(2, 1, padding="same")(mx.nd.ones((1, 1, 4, 4))).wait_to_read()
    del Local
    gc.collect()
    assert kept() is None
