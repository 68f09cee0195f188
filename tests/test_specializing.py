"""Specialized blocks have the numbers of the net, few operators, and leave the net as it is."""

import gc
import weakref

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon
from mxnet.gluon import rnn

from gluon_same import deploy, functional, model_zoo, nn, specialize
from small_nets import blocks_of, imported, normal, operators_of, same


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


def hybrid(**layers):
    """Return a block whose ``hybrid_forward`` is the decorated function of the block, F and inputs."""

    def decorate(forward):
        class Custom(nn.HybridBlock):
            def __init__(self, **kwargs):
                super().__init__(**kwargs)
                with self.name_scope():
                    for name, make in layers.items():
                        setattr(self, name, make())

            def hybrid_forward(self, F, *args):
                return forward(self, F, *args)

        net = Custom()
        net.initialize(mx.init.Xavier())
        return net

    return decorate


def operators(block, training=False):
    graph = block._graphs.get(training, block._graphs[False])
    return operators_of(graph)


# Numbers.


def test_a_block_has_the_numbers_of_the_net(net):
    x = normal(SHAPE)
    want = net(x)
    block = specialize(net, SHAPE)
    assert block is not net
    for static in (False, True):
        same(block(x), want)
        same(block(x[:1]), want[:1])  # the batch stays free
        block.hybridize(static_alloc=static, static_shape=static)
    same(net(x), want)


def test_a_shape_may_be_given_by_an_array(net):
    x = normal(SHAPE)
    same(specialize(net, x)(x), net(x))


def test_a_net_that_has_not_run_yet_can_be_specialized(net):
    block = specialize(net, SHAPE)
    assert block(mx.nd.ones(SHAPE)).shape == (2, 4, 8, 9)
    same(block(normal(SHAPE)), net(normal(SHAPE)))


def test_dropout_and_normalizations_are_those_of_the_mode():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 2, padding="same"), nn.BatchNorm(), nn.Dropout(0.5), nn.MaxPool2D(2))
    net.initialize(mx.init.Xavier())
    x = 3 + normal((4, 3, 12, 12))
    block = specialize(net, x.shape)
    same(block(x), net(x))
    results = []
    for each in (net, block):
        mx.random.seed(1)
        with autograd.record():
            results.append(each(x))
    same(*results)
    assert abs(results[0].asnumpy() - net(x).asnumpy()).max() > 0.1
    with autograd.record(train_mode=False):
        same(block(x), net(x))


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
    x = normal(SHAPE)
    found = []
    for make in (lambda: net, lambda: net.hybridize() or net, lambda: specialize(net, SHAPE)):
        block = make()
        x.attach_grad()
        with autograd.record():
            y = block(x)
        y.backward()
        found.append([x.grad.asnumpy().copy(), net[0].weight.grad().asnumpy().copy()])
    for eager, hybridized, specialized in zip(*found):
        np.testing.assert_allclose(hybridized, eager, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(specialized, eager, rtol=1e-4, atol=1e-5)


def test_maps_of_a_single_element():
    net = nn.HybridSequential()
    net.add(nn.MaxPool2D(2, padding="same"), nn.MaxPool2D(2, padding="same"))
    x = normal((1, 3, 2, 3))
    same(specialize(net, x.shape)(x), net(x))


@pytest.mark.parametrize("make", [nn.MaxPool2D, lambda *given: nn.Conv2D(2, *given, in_channels=2)])
def test_strides_that_have_no_graph_for_every_size(make):
    net = nn.HybridSequential()
    net.add(make(99, 98, "same"), nn.Conv2D(2, 3, 2, "same", in_channels=2))
    net.initialize()
    x = normal((1, 2, 200, 201))
    same(specialize(net, x.shape)(x), net(x))
    same(specialize(net)(x), net(x))


def test_a_net_of_plain_blocks_can_be_specialized():
    net = nn.Sequential()
    net.add(nn.Conv2D(2, 3, 2, padding="same"), nn.MaxPool2D(2, padding="same"))
    net.initialize()
    x = normal((1, 3, 11, 12))
    block = specialize(net, x.shape)
    same(block(x), net(x))
    with pytest.raises(ValueError, match="is specialized for"):
        block(mx.nd.ones((1, 3, 12, 12)))


def test_a_layer_called_at_two_sizes_is_specialized_at_both():
    @hybrid(layer=lambda: nn.Conv2D(3, 3, 2, padding="same", in_channels=3))
    def net(self, F, x):
        return self.layer(self.layer(x))

    x = normal((1, 3, 30, 31))  # padded to (30, 31), then to (15, 16)
    block = specialize(net, x.shape)
    same(block(x), net(x))
    assert operators(block).count("Convolution") == 2 and "Crop" not in operators(block)
    assert operators(specialize(net, (1, 3, 29, 29))) == ["Convolution"] * 2  # 29 and 15 fit
    single = specialize(net.layer, x.shape), specialize(net.layer, (1, 3, 15, 16))
    assert len(operators(block)) == sum(len(operators(each)) for each in single)


def test_a_size_that_depends_on_the_batch_is_not_fixed():
    @hybrid(conv=lambda: nn.Conv2D(2, 3, 2, padding="same", in_channels=3))
    def net(self, F, x):
        return self.conv(F.reshape(F.transpose(x, (1, 0, 2, 3)), shape=(1, 3, -1, 8)))

    block = specialize(net, (2, 3, 5, 8))
    for n in (1, 2, 3):
        x = normal((n, 3, 5, 8))
        same(block(x), net(x))


@pytest.mark.parametrize("batch", [4, 6, 8])
def test_a_batch_size_that_changes_other_axes(batch):
    @hybrid(pool=lambda: nn.MaxPool3D(3, 2, padding="same"))
    def net(self, F, x):
        x = F.reshape(x, shape=(-4, 2, -1, 0, 0, 0))
        return self.pool(F.transpose(x, axes=(0, 2, 1, 3, 4)))

    every = specialize(net)
    for n in (4, batch):
        same(every(normal((n, 8, 6, 6))), net(normal((n, 8, 6, 6))))
    x = normal((batch, 8, 6, 6))
    same(specialize(net, (4, 8, 6, 6))(x), net(x))


def test_a_batch_size_that_the_net_fixes_is_part_of_the_shape():
    @hybrid(conv=lambda: nn.Conv2D(2, 3, 2, padding="same", in_channels=3))
    def net(self, F, x):
        return self.conv(x + F.ones((2, 3, 5, 8)))

    block = specialize(net, (2, 3, 5, 8))
    same(block(normal((2, 3, 5, 8))), net(normal((2, 3, 5, 8))))
    with pytest.raises(ValueError, match=r"of shape \(2, 3, 5, 8\) and received \(3, 3, 5, 8\)"):
        block(normal((3, 3, 5, 8)))


def test_sizes_that_cannot_be_inferred_are_served_by_the_graph_for_every_size():
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3, 2, "same"),
        nn.HybridLambda(lambda F, x: F.reshape(F.transpose(x, axes=(3, 0, 1, 2)), shape=(0, 0, -1))),
        rnn.LSTM(5),
    )
    net.initialize()
    for n in (9, 12):
        x = normal((2, 3, 8, n))
        same(specialize(net, x.shape)(x), net(x))


def test_a_layer_in_a_loop_and_outside():
    @hybrid(layer=lambda: nn.Conv1D(2, 3, 2, padding="same", in_channels=2))
    def net(self, F, x):
        steps = F.transpose(F.reshape(x, (0, 0, -4, -1, 5)), axes=(2, 0, 1, 3))
        out, _ = F.contrib.foreach(lambda step, state: (self.layer(step), state), steps, [])
        return self.layer(x), out

    x = normal((1, 2, 20))
    block = specialize(net, x.shape)
    same(block(x), net(x))
    same(specialize(net)(x), net(x))
    with autograd.record():
        y = block(x)[1]
    y.backward()
    mine = net.layer.weight.grad().asnumpy().copy()
    with autograd.record():
        y = net(x)[1]
    y.backward()
    np.testing.assert_allclose(mine, net.layer.weight.grad().asnumpy(), rtol=1e-4, atol=1e-5)


def test_several_inputs_and_nested_results():
    @hybrid(a=lambda: nn.Conv2D(2, 3, 2, padding="same"), b=lambda: nn.MaxPool2D(2, 2, padding="same"))
    def net(self, F, x, y):
        return F.broadcast_add(self.a(x), self.b(y)), [self.b(y), (x, self.a(x))]

    x, y = normal((1, 3, 9, 8)), normal((1, 1, 10, 7))
    block = specialize(net, x.shape, y)
    got, want = block(x, y), net(x, y)
    assert isinstance(got, tuple) and len(got[1]) == 2 and len(got[1][1]) == 2
    same(got, want)
    with pytest.raises(ValueError, match=r"\(any, 1, 10, 7\) and received \(1, 1, 9, 7\)"):
        block(x, mx.nd.ones((1, 1, 9, 7)))


def test_an_input_without_use():
    net = nn.HybridLambda(lambda F, x, y: F.relu(y))
    x = normal((1, 3, 5, 5))
    block = specialize(net, (2, 3), x.shape)
    same(block(mx.nd.ones((2, 3)), x), net(mx.nd.ones((2, 3)), x))


def test_a_net_that_returns_its_input():
    net = nn.HybridLambda(lambda F, x: (x, [F.relu(x), x]))
    x = normal((1, 3, 5, 5))
    same(specialize(net, x.shape)(x), net(x))


def test_numpy_mode(numpy_mode):
    net = make_net()
    x = mx.np.random.normal(size=SHAPE)
    want = net(x)
    for block in (specialize(net, SHAPE), specialize(net)):
        assert isinstance(block(x), mx.np.ndarray)
        same(block(x), want)
    with pytest.raises(ValueError, match="is specialized for"):
        specialize(net, SHAPE)(mx.np.ones(OTHER))


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_a_net_that_was_cast(dtype):
    net = nn.HybridSequential()
    net.add(
        nn.MaxPool2D(3, 2, "same"), nn.Dense(3) if dtype == "float64" else nn.MaxPool2D(2, 1, "same")
    )
    net.initialize()
    net.cast(dtype)
    x = normal((2, 3, 9, 8)).astype(dtype)
    got = specialize(net, x.shape)(x)
    assert got.dtype == np.dtype(dtype)
    np.testing.assert_allclose(got.asnumpy(), net(x).asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("make", [lambda net: specialize(net, SHAPE), specialize])
def test_an_imported_graph_is_specialized(net, tmp_path, make):
    x = normal(SHAPE)
    want = net(x)
    net.hybridize()
    net(x)
    net.export(str(tmp_path / "net"))
    loaded = imported(tmp_path / "net")
    same(make(loaded)(x), want)
    assert loaded(normal(OTHER)).shape == net(normal(OTHER)).shape


def test_a_specialized_block_is_specialized_again(net):
    x = normal(SHAPE)
    once = specialize(net, SHAPE)
    same(specialize(once, SHAPE)(x), net(x))
    same(specialize(once)(x), net(x))
    outer = nn.HybridSequential()
    outer.add(once, nn.Flatten())
    same(specialize(outer, SHAPE)(x), outer(x))
    with pytest.raises(ValueError, match="specialized_for_anyx3x32x33"):
        specialize(outer, OTHER)


def test_layers_that_are_not_called_need_no_shape():
    net = nn.HybridLambda(lambda F, x: F.relu(x))
    net.unused = nn.Conv2D(4, 3)
    net.initialize()
    x = normal((1, 3, 5, 5))
    same(specialize(net, x.shape)(x), net(x))


# Operators.


@pytest.mark.parametrize("size", [(224, 224), (225, 225)])
def test_a_pooling_is_one_operator(size):
    assert operators(specialize(nn.MaxPool2D(3, 2, padding="same"), (1, 3, *size))) == ["Pooling"]


def test_a_convolution_of_a_matching_size_is_one_operator():
    layer = nn.Conv2D(2, 3, 2, padding="same", in_channels=3)
    assert operators(specialize(layer, (1, 3, 225, 225))) == ["Convolution"]


def test_every_block_makes_the_same_operators():
    net = model_zoo.tiny_darknet()
    net.initialize()
    x = normal((1, 3, 64, 64))
    fixed, every = specialize(net, x.shape), specialize(net)
    same(every(x), fixed(x))
    ((_, block),) = every._sized.items()
    assert operators(block) == operators(fixed)


def test_functional_in_size_fixes_a_symbol():
    data, weight = mx.sym.var("data"), mx.sym.var("weight")
    fixed = functional.convolution(
        mx.sym, data, weight, kernel=3, num_filter=2, stride=2, in_size=(8, 9), layout="NCHW"
    )
    x, w = normal((1, 3, 8, 9)), normal((2, 3, 3, 3))
    same(
        fixed.eval(data=x, weight=w)[0],
        functional.convolution(mx.nd, x, w, kernel=3, num_filter=2, stride=2),
    )
    assert "Crop" not in fixed.tojson()


# Other sizes.


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("other", [OTHER, (2, 3, 31, 33), (2, 3, 32, 34), (2, 3, 64, 66), (2, 3, 33)])
def test_another_size_is_refused(net, hybridize, other):
    block = specialize(net, SHAPE)
    block.hybridize(hybridize)
    block(mx.nd.ones(SHAPE))
    words = (
        r"specialized for inputs of shape \(any, 3, 32, 33\) and received .*: call gluon_same.specialize"
    )
    with pytest.raises(ValueError, match=words):
        block(mx.nd.ones(other))


def test_another_size_is_refused_after_global_pooling():
    # After global pooling the input of the Dense layer does not depend on the size.
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3, 2, padding="same"), nn.GlobalAvgPool2D(), nn.Dense(2))
    net.initialize()
    block = specialize(net, (1, 3, 12, 12))
    block(mx.nd.ones((1, 3, 12, 12)))
    with pytest.raises(ValueError, match="specialized for"):
        block(mx.nd.ones((1, 3, 11, 11)))


@pytest.mark.parametrize("size", [(32, 33), (33, 33)])
def test_blocks_at_several_sizes_live_side_by_side(size):
    net = nn.Conv2D(2, 3, 2, padding="same", in_channels=3)
    net.initialize()
    blocks = {n: specialize(net, (1, 3, n, n)) for n in (32, 33)}
    x = normal((1, 3, *size))
    for n, block in blocks.items():
        if size == (n, n):
            same(block(x), net(x))
        else:
            with pytest.raises(ValueError, match="specialized for"):
                block(x)


def test_inputs_that_were_not_specialized_are_refused():
    @hybrid(conv=lambda: nn.Conv2D(2, 3, 2, padding="same", in_channels=3))
    def net(self, F, x, y=None):
        return self.conv(x) if y is None else self.conv(x) + self.conv(y)

    block = specialize(net, (1, 3, 8, 8))
    with pytest.raises(TypeError, match="1 inputs and received 2"):
        block(mx.nd.ones((1, 3, 8, 8)), mx.nd.ones((1, 3, 7, 7)))
    with pytest.raises(TypeError, match="takes NDArrays, and received ndarray"):
        block(np.ones((1, 3, 8, 8)))


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: specialize("net", (1, 3, 8, 8)), TypeError, "net='net' is not a Gluon Block"),
        (lambda: specialize("net"), TypeError, "net='net' is not a Gluon Block"),
        (lambda: specialize(make_net(), graphs=0), ValueError, "graphs=0"),
        (lambda: specialize(make_net(), graphs=1.5), TypeError, "graphs=1.5"),
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


# The net.


def state_of(net):
    """Return everything that specializing may not change."""
    blocks = [(type(block), dict(vars(block)), list(block._children)) for block in blocks_of(net)]
    hooks = [(list(b._forward_hooks), list(b._forward_pre_hooks)) for b in blocks_of(net)]
    return blocks, hooks, [(p, p.shape) for p in net.collect_params().values()]


@pytest.mark.parametrize("make", [lambda net: specialize(net, SHAPE), specialize])
@pytest.mark.parametrize("begin", ["new", "called", "hybridized"])
def test_the_net_does_not_change(net, make, begin):
    x, other = normal(SHAPE), normal(OTHER)
    net.register_forward_hook(lambda *_: None)
    if begin == "hybridized":
        net.hybridize(static_alloc=True)
    if begin != "new":
        want = net(other)
        graph, operator = net._cached_graph, net._cached_op
    before = state_of(net)
    block = make(net)
    assert state_of(net) == before
    if begin != "new":
        block(x)
        block.hybridize(static_alloc=True)
        block(x)
        assert state_of(net) == before
        assert net._cached_graph is graph and net._cached_op is operator
        same(net(other), want)


def test_a_failed_trace_leaves_the_net_unchanged(net):
    before = state_of(net)
    with pytest.raises(ValueError, match="could not be traced"):
        specialize(net, (1, 3, 8))
    assert state_of(net) == before
    assert net(mx.nd.ones(SHAPE)).shape == (2, 4, 8, 9)


def test_no_training_state_changes(net):
    net(mx.nd.ones(SHAPE))
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with autograd.record():
        loss = net(normal(SHAPE)).sum()
    loss.backward()
    mx.nd.waitall()
    trained = {k: p for k, p in net.collect_params().items() if p.grad_req != "null"}
    before = {k: p.data().asnumpy().copy() for k, p in net.collect_params().items()}
    gradients = {k: p.grad().asnumpy().copy() for k, p in trained.items()}
    specialize(net, SHAPE)
    for k, p in net.collect_params().items():
        np.testing.assert_array_equal(p.data().asnumpy(), before[k])
    for k, p in trained.items():
        np.testing.assert_array_equal(p.grad().asnumpy(), gradients[k])
    trainer.step(1)
    assert any((p.data().asnumpy() != before[k]).any() for k, p in net.collect_params().items())


def test_hooks_of_the_net_are_not_called(net):
    seen = []
    for block in blocks_of(net):
        block.register_forward_hook(lambda *_: seen.append(1))
        block.register_forward_pre_hook(lambda *_: seen.append(1))
    block = specialize(net, SHAPE)
    seen.clear()  # tracing calls the blocks with symbols
    block(normal(SHAPE))
    assert not seen


def test_no_class_is_kept_alive():
    def make():
        class Local(nn.HybridSequential):
            pass

        net = Local()
        net.add(nn.MaxPool2D(2, 1, padding="same"))
        every = specialize(net)
        every(mx.nd.ones((1, 3, 8, 8)))
        return weakref.ref(Local), specialize(net, (1, 3, 8, 8)), every

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


def test_half_precision_is_computed_in_that_of_the_parameters():
    """On a CPU, MXNet has no such operators for float16, and imported nets do the same."""
    layer = nn.Conv2D(4, 3, padding="same", in_channels=3)
    layer.initialize()
    x = normal((2, 3, 5, 6)).astype("float16")
    want = layer(x.astype("float32"))
    for block in (specialize(layer, x.shape), deploy(layer, x.shape, tune=False)):
        assert block(x).dtype == np.float32
        np.testing.assert_allclose(block(x).asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)


class Binarized(gluon.HybridBlock):
    """Has the gradient of its input, which the sign does not have."""

    class Sign(autograd.Function):
        def forward(self, x):
            return x.sign()

        def backward(self, dy):
            return dy

    def hybrid_forward(self, F, x):
        return self.Sign()(x * 3)


def test_gradients_that_a_graph_lacks_are_refused():
    net, x = Binarized(), normal((2, 3))
    block = specialize(net, x.shape)
    same(block(x), net(x))
    same(deploy(net, x.shape, tune=False)(x), net(x))
    outer = gluon.nn.HybridSequential()
    outer.add(block)
    for each in (
        block,
        specialize(net),
        specialize(outer, x.shape),
        outer,
    ):  # the second is traced there
        with autograd.record(), pytest.raises(ValueError, match="the gradient of an autograd.Function"):
            each(x)
    with autograd.record():  # the function itself is as before
        x.attach_grad()
        y = net(x)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full((2, 3), 3))
