"""Adapted nets give the numbers of the net at every size."""

import json

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon

from gluon_same import adapt, model_zoo, nn, specialize
from small_nets import make_net

SHAPES = [(2, 3, 32, 33), (2, 3, 33, 32), (2, 3, 21, 20)]


@pytest.fixture
def net():
    return make_net()


def data(shape, seed=0):
    return mx.nd.array(np.random.RandomState(seed).normal(size=shape))


def same(a, b):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)


def twins(net):
    return net._gluon_same_twins


def operators(graph):
    return [node["op"] for node in json.loads(graph.tojson())["nodes"]]


@pytest.mark.parametrize(
    "flags", [{}, {"static_alloc": True}, {"static_alloc": True, "static_shape": True}]
)
def test_every_size_has_the_numbers_of_the_net(net, flags):
    want = [net(data(shape)) for shape in SHAPES]
    assert adapt(net) is net
    net.hybridize(**flags)
    for _ in range(2):
        for shape, numbers in zip(SHAPES, want):
            same(net(data(shape)), numbers)
    same(net(data(SHAPES[0])[:1]), want[0][:1])  # another batch


def test_a_net_that_has_not_run_yet_is_adapted(net):
    adapt(net).hybridize()
    assert [net(data(shape)).shape[2:] for shape in SHAPES] == [(4, 5), (5, 4), (3, 3)]


def test_each_size_has_a_specialized_graph_that_is_built_once(net):
    adapt(net).hybridize()
    for shape in SHAPES * 3:
        net(data(shape))
    assert len(twins(net)) == len(SHAPES)
    twin = twins(net).get((SHAPES[0],))
    found = operators(twin._cached_graph[1])
    specialize(net, SHAPES[0])
    net(data(SHAPES[0]))
    assert found == operators(net._cached_graph[1])


def test_the_least_recently_used_graphs_are_dropped(net):
    adapt(net, graphs=2).hybridize()
    for i in (0, 1, 0, 2):
        net(data(SHAPES[i]))
    kept = [twins(net).get((shape,)) is not None for shape in SHAPES]
    assert kept == [True, False, True]


def test_training_equals_that_of_the_plain_net():
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
            net(data(SHAPES[0]))  # predict in between
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
    assert len(twins(net)) == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda net: net.hybridize(static_alloc=True),
        lambda net: net.hybridize(False),
        lambda net: net.cast("float32"),
        pytest.param(
            lambda net: net.optimize_for(data(SHAPES[0]), backend="MKLDNN"),
            marks=pytest.mark.skipif(mx.__version__ < "1.9", reason="fails in MXNet itself"),
        ),
        lambda net: net.register_op_hook(lambda name, op, array: None),
        lambda net: net.add(nn.Activation("relu")),
        lambda net: specialize(net),
    ],
)
def test_what_changes_the_net_drops_its_graphs(net, change):
    adapt(net).hybridize()
    for shape in SHAPES[:2]:
        net(data(shape))
    held = twins(net)
    change(net)
    assert len(held) == 0
    assert net(data(SHAPES[2])).shape == (2, 8, 3, 3)


def test_parts_of_a_net_that_is_not_hybrid_are_adapted():
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
    assert len(twins(outer.first)) == len(twins(outer.second)) == 3


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


class Cutting(gluon.HybridBlock):
    """A net whose code pads its input, and whose second input is optional."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.pool = nn.MaxPool2D(3, 2, padding="same")

    def forward(self, x, *args):
        if isinstance(x, mx.nd.NDArray) and x.shape[2] % 4:
            x = mx.nd.concat(x, *[x[:, :, :1]] * (-x.shape[2] % 4), dim=2)
        return super().forward(x, *args)

    def hybrid_forward(self, F, x, mask=None, extra=None):
        if mask is not None:
            x = F.slice_axis(x, axis=2, begin=0, end=7)
        return self.pool(x) if extra is None else F.concat(self.pool(x), self.pool(extra[0]), dim=1)


@pytest.mark.filterwarnings("ignore:The .-th input to HybridBlock is not used")
@pytest.mark.parametrize("args", [(), (None,), ("x",), (None, ["x", "x"]), ("x", ["x"])])
def test_the_graph_is_for_its_own_inputs_whatever_the_code_does_before(args):
    net, plain = Cutting(), Cutting()
    adapt(net).hybridize()
    for n in (9, 10, 12):
        x = data((2, 8, n, 12))
        full = mx.nd.concat(x, *[x[:, :, :1]] * (-n % 4), dim=2) if n % 4 else x
        given = [[full] * len(a) if isinstance(a, list) else a and full for a in args]
        if len(args) > 1 and args[0]:
            given[1] = [full[:, :, :7]]
        same(net(x, *given), plain(x, *given))
        same(net(x, *given), plain(x, *given))


def test_a_block_that_the_code_calls_with_arrays_is_adapted_itself():
    class Branching(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.body = make_net()

        def forward(self, x):
            return self.body(x) if autograd.is_training() else super().forward(x)

        def hybrid_forward(self, F, x):
            return self.body(x) * 2

    net = Branching()
    adapt(net).hybridize()
    for shape in SHAPES:
        x = data(shape)
        with autograd.record():
            got = net(x)
        assert got.shape[2:] == net(x).shape[2:]
    assert len(twins(net)) == len(twins(net.body)) == len(SHAPES)


def test_the_detector_of_the_zoo_trains_at_several_sizes():
    net, plain = (model_zoo.yolov3_tiny(classes=2, prefix="net_") for _ in range(2))
    plain.initialize()
    plain(data(SHAPES[0]))
    adapt(net).hybridize()
    net.initialize()
    net(data(SHAPES[0]))
    for mine, theirs in zip(net.collect_params().values(), plain.collect_params().values()):
        mine.set_data(theirs.data())
    for shape in [(1, 3, 64, 96), (1, 3, 45, 83)] * 2:
        maps = []
        for each in (net, plain):
            with autograd.record():
                maps.append(each(data(shape)))
        for got, want in zip(*maps):
            np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("batch", [4, 6, 8])
def test_a_batch_size_that_changes_other_axes(batch):
    class Clips(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.pool = nn.MaxPool3D(3, 2, padding="same")

        def hybrid_forward(self, F, x):
            x = F.reshape(x, shape=(-4, 2, -1, 0, 0, 0))
            return self.pool(F.transpose(x, axes=(0, 2, 1, 3, 4)))

    net, plain = Clips(), Clips()
    adapt(net).hybridize()
    for n in (4, batch):
        x = data((n, 8, 6, 6))
        same(net(x), plain(x))
    specialize(net, (4, 8, 6, 6)).hybridize()
    same(net(data((batch, 8, 6, 6))), plain(data((batch, 8, 6, 6))))


def test_a_net_whose_sizes_cannot_be_inferred_runs_the_graph_for_every_size():
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3, 2, "same"),
        nn.HybridLambda(lambda F, x: F.reshape(F.transpose(x, axes=(3, 0, 1, 2)), shape=(0, 0, -1))),
        gluon.rnn.LSTM(5),
    )
    net.initialize()
    want = [net(data((2, 3, 8, n))) for n in (9, 12)]
    adapt(net).hybridize()
    for n, numbers in zip((9, 12), want):
        same(net(data((2, 3, 8, n))), numbers)


def test_blocks_that_occur_twice_are_adapted_once():
    pool, net = nn.MaxPool2D(3, 2, padding="same"), gluon.nn.Sequential()
    net.add(pool, pool, gluon.nn.Sequential())
    adapt(adapt(net)).hybridize()
    assert net(data(SHAPES[0])).shape == (2, 3, 8, 9)


def test_parameters_on_several_devices():
    layer = nn.Conv2D(8, 3, 2, padding="same", in_channels=3)
    layer.initialize(ctx=[mx.cpu(1), mx.cpu(2)])
    adapt(layer).hybridize()
    for context in (mx.cpu(2), mx.cpu(1)):
        assert layer(data(SHAPES[0]).as_in_context(context)).context == context


def test_an_error_leaves_the_net_unchanged():
    layer = nn.Conv2D(8, 3, padding="same")
    layer.initialize()
    adapt(layer).hybridize()
    with pytest.raises(ValueError, match="3 axes"):
        layer(data((2, 3, 8)))
    assert layer(data((2, 3, 8, 8))).shape == (2, 8, 8, 8)


def test_hooks_receive_arrays(net):
    seen = []
    net.register_forward_hook(lambda block, given, out: seen.append(out.asnumpy().shape))
    with pytest.warns(UserWarning, match="hook"):
        adapt(net).hybridize()
    for shape in SHAPES:
        net(data(shape))
    assert [shape[2:] for shape in seen] == [(4, 5), (5, 4), (3, 3)]


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
