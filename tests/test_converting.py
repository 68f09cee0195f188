"""Compare stock nets converted by ``to_same`` with TensorFlow's numbers and our blocks."""

import copy
import pickle

import gluon_same  # isort: skip  before mxnet, because it restores NumPy names

import mxnet as mx
import numpy as np
import pytest
from mxnet.gluon import nn as stock
from mxnet.gluon.model_zoo import vision

from gluon_same import nn, specialize, to_same
from gluon_same.nn.base import windowed
from golden import make_block_golden as golden
from small_nets import every_way

with np.load(str(golden.TARGET)) as file:
    GOLDEN = {name: file[name] for name in file.files}

X = dict(rtol=1e-5, atol=1e-5)


def weights_of_keras():
    """Return the golden net's weights in the order and the layout of the stock net below."""

    def draw(i, *shape):
        return golden.draw(shape, f"weight {i}")

    return [
        *(draw(0, 7, 7, 3, 4).transpose(3, 2, 0, 1), draw(1, 4)),
        *(draw(0, 3, 3, 4, 4).transpose(3, 2, 0, 1), draw(1, 4)),
        *(draw(0, 3, 3, 4, 1).transpose(2, 3, 0, 1), draw(1, 4)),
        *(draw(0, 3, 3, 3, 4).transpose(3, 2, 0, 1), draw(1, 3)),
    ]


def stock_net():
    net = stock.HybridSequential()
    net.add(
        stock.Conv2D(4, 7, 2, 3),
        stock.MaxPool2D(3, 2, 1),
        stock.Conv2D(4, 3, padding=1),
        stock.Conv2D(4, 3, 2, 1, groups=4),
        stock.AvgPool2D(3, 1, 1),
        stock.Conv2DTranspose(3, 3, 2, 1, output_padding=1),
        stock.MaxPool2D(),
    )
    net.initialize()
    net(mx.nd.ones((1, 3, 40, 40)))
    for parameter, weight in zip(net.collect_params().values(), weights_of_keras()):
        parameter.set_data(mx.nd.array(weight))
    return net


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_stock_net_with_keras_weights_equals_keras(hybridize):
    net = stock_net()
    net.hybridize(hybridize)
    x = {size: mx.nd.array(golden.draw((1, *size, 3)).transpose(0, 3, 1, 2)) for size in golden.SIZES}
    before = [net(each).asnumpy() for each in x.values()]
    report = to_same(net)
    assert [(layer.path, layer.before, layer.after) for layer in report.changed] == [
        ("0", "3", "same"),
        ("1", "1", "same"),
        ("3", "1", "same"),
        ("4", "1, counted", "same"),
        ("5", "1 adj 1", "same"),
    ]
    assert [(layer.path, layer.before) for layer in report.left] == [("6", "0")]
    for (size, each), other in zip(x.items(), before):
        want = GOLDEN[f"net {size}"].transpose(0, 3, 1, 2)
        got = net(each).asnumpy()
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * abs(want).max())
        assert other.shape != want.shape or abs(other - want).max() > 0.1 * abs(want).max()


def test_only_the_windows_change(tmp_path):
    net = stock_net()
    blocks, names = list(net), list(net.collect_params())
    values = [p.data() for p in net.collect_params().values()]
    seen = []
    net[0].register_forward_hook(lambda block, inputs, result: seen.append(type(result)))
    net.save_parameters(str(tmp_path / "net.params"))
    to_same(net)
    assert list(net) == blocks and list(net.collect_params()) == names
    assert all(p.data() is v for p, v in zip(net.collect_params().values(), values))
    assert type(net[0]) is type(net[2]) is stock.Conv2D
    assert isinstance(windowed(net[0]), nn.Conv2D) and windowed(net[2]) is None
    assert type(net[1]) is type(net[6]) is stock.MaxPool2D
    net(mx.nd.ones((1, 3, 40, 40)))
    assert seen.count(mx.nd.NDArray) == 1
    net.load_parameters(str(tmp_path / "net.params"))
    assert to_same(net).changed == []  # nothing is left to change


class Odd(mx.gluon.HybridBlock):
    """A net with blocks in attributes, lists and dicts, one of them shared."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.first = stock.Conv2D(4, 3, 2, 1, in_channels=3)
            self.again = self.first
            self.pools = [stock.MaxPool2D(3, 2, 1), [stock.AvgPool2D(3, 2, 1)]]
            self.table = {"one": stock.MaxPool2D(3, 2, 1)}
            self.table["self"] = self.table

    def hybrid_forward(self, F, x):
        return self.table["one"](self.pools[1][0](self.pools[0](self.first(x))))


@pytest.mark.filterwarnings("ignore:.*is an unregistered container")
def test_blocks_in_attributes_and_containers_are_found():
    net = Odd()
    net.initialize()
    net.hybridize()
    x = mx.nd.ones((1, 3, 50, 50))
    assert net(x).shape == (1, 4, 4, 4)
    report = to_same(net)
    assert [layer.path for layer in report.changed] == ["first", "pools.0", "pools.1.0", "table.one"]
    mine = nn.HybridSequential()
    mine.add(nn.Conv2D(4, 3, 2, "same", params=net.first.params))
    mine.add(*(kind(3, 2, "same") for kind in (nn.MaxPool2D, nn.AvgPool2D, nn.MaxPool2D)))
    np.testing.assert_allclose(net(x).asnumpy(), mine(x).asnumpy(), **X)


class Doubled(stock.Conv2D):
    """A subclass that extends its stock class."""

    def forward(self, x, *args):
        return 2 * super().forward(x, *args)


class Tripled(stock.Conv2D):
    """A subclass whose hybrid_forward, which is replaced, would be lost."""

    def hybrid_forward(self, F, x, weight, bias=None):
        return 3 * super().hybrid_forward(F, x, weight, bias)


class Ours(nn.Conv2D):
    """A subclass of a layer of this package, whose hybrid_forward stays."""

    def hybrid_forward(self, F, x, weight, bias=None):
        return 2 * super().hybrid_forward(F, x, weight, bias)


class Alone(stock.Conv2D):
    def hybrid_forward(self, F, x, weight, bias=None):
        return F.Convolution(x, weight, bias, **self._kwargs)


@pytest.mark.parametrize("kind", [Doubled, Ours])
@pytest.mark.parametrize("how", [lambda x: x, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_subclasses_keep_their_behavior(how, kind):
    net = kind(4, 3, 2, 1, in_channels=3)
    net.initialize()
    assert to_same(net).changed[0][:3] == ("", kind.__name__, "3x3/2")
    net = how(net)
    assert type(net) is kind
    x = mx.nd.random.normal(shape=(1, 3, 8, 9))
    ours = nn.Conv2D(4, 3, 2, "same", params=net.params)
    for run in every_way(net, x.shape):
        np.testing.assert_allclose(run(x).asnumpy(), 2 * ours(x).asnumpy(), **X)


@pytest.mark.parametrize("how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_have_parameters_of_their_own(how):
    net = stock_net()
    x = mx.nd.random.normal(shape=(1, 3, 33, 38))
    to_same(net)
    want = net(x).asnumpy()
    other = how(net)
    np.testing.assert_array_equal(other(x).asnumpy(), want)
    for parameter in other.collect_params().values():
        parameter.set_data(mx.nd.zeros_like(parameter.data()))
    assert not other(x).asnumpy().any()
    np.testing.assert_array_equal(net(x).asnumpy(), want)


def test_a_converted_net_trains_casts_and_loads(tmp_path):
    net = stock_net()
    to_same(net)
    net.hybridize()
    x = mx.nd.random.normal(shape=(1, 3, 33, 38))
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    before = [p.data().asnumpy() for p in net.collect_params().values()]
    with mx.autograd.record():
        loss = (net(x) ** 2).mean()
    loss.backward()
    trainer.step(1)
    assert all((p.data().asnumpy() != b).any() for p, b in zip(net.collect_params().values(), before))
    net.save_parameters(str(tmp_path / "net.params"))
    other = stock_net()
    to_same(other)
    other.load_parameters(str(tmp_path / "net.params"))
    np.testing.assert_allclose(other(x).asnumpy(), net(x).asnumpy(), **X)
    other.cast("float64")
    np.testing.assert_allclose(other(x.astype("float64")).asnumpy(), net(x).asnumpy(), **X)


def test_numpy_mode(numpy_mode):
    net = stock.HybridSequential()
    net.add(stock.Conv2D(4, 3, 2, 1, in_channels=3), stock.MaxPool2D(3, 2, 1))
    net.initialize()
    x = mx.np.random.normal(size=(1, 3, 12, 13))
    net(x)
    to_same(net)
    ours = nn.HybridSequential()
    ours.add(nn.Conv2D(4, 3, 2, "same", params=net[0].params), nn.MaxPool2D(3, 2, "same"))
    for run in every_way(net, x.shape):
        assert isinstance(run(x), mx.np.ndarray)
        np.testing.assert_allclose(run(x).asnumpy(), ours(x).asnumpy(), **X)


@pytest.mark.parametrize("kind", [Alone, Tripled])
def test_a_layer_with_its_own_computation_is_refused_and_nothing_changes(kind):
    net = stock.HybridSequential()
    net.add(stock.MaxPool2D(3, 2, 1), kind(4, 3, 2, 1))
    words = (
        f"'1' is a {kind.__name__}, which overrides hybrid_forward of Conv2D: .* returns False for '1'"
    )
    with pytest.raises(ValueError, match=words):
        to_same(net)
    assert windowed(net[0]) is None
    assert type(net[0]) is stock.MaxPool2D
    report = to_same(net, lambda path, block: False if path == "1" else None)
    assert [layer.path for layer in report.changed] == ["0"]
    assert [layer.type for layer in report.left] == [kind.__name__]


CHANGED = [  # stock layers whose padding was meant as SAME
    ("Conv1D", dict(kernel_size=3, strides=2, padding=1)),
    ("Conv2D", dict(kernel_size=(1, 7), strides=2, padding=(0, 3))),
    ("Conv2D", dict(kernel_size=3, strides=2, padding=2, dilation=2)),
    ("Conv2D", dict(kernel_size=2, padding=1)),
    ("Conv2D", dict(kernel_size=4, strides=2, padding=2)),
    ("Conv3D", dict(kernel_size=3, strides=2, padding=1)),
    ("MaxPool2D", dict(pool_size=3, strides=2, padding=1, ceil_mode=True)),
    ("MaxPool1D", dict(pool_size=2, strides=1, padding=1)),
    ("AvgPool3D", dict(pool_size=3, strides=1, padding=1)),
    ("AvgPool2D", dict(pool_size=3, strides=2, padding=1, count_include_pad=False)),
    ("Conv2DTranspose", dict(kernel_size=3, strides=2, padding=1, output_padding=1)),
    ("Conv1DTranspose", dict(kernel_size=5, strides=2, padding=2, output_padding=1)),
]
SAME_ALREADY = [
    ("Conv2D", dict(kernel_size=3, padding=1)),
    ("Conv2D", dict(kernel_size=3, padding=2, dilation=2)),
    ("Conv2D", dict(kernel_size=1, strides=2)),
    ("MaxPool2D", dict(pool_size=2, strides=2, ceil_mode=True)),
    ("AvgPool2D", dict(pool_size=2, strides=2, ceil_mode=True)),
    ("AvgPool2D", dict(pool_size=3, strides=1, padding=1, count_include_pad=False)),
    ("MaxPool2D", dict(pool_size=3, strides=1, padding=1)),
    ("Conv2DTranspose", dict(kernel_size=4, strides=2, padding=1)),
    ("Conv2DTranspose", dict(kernel_size=2, strides=2)),
    ("Conv2DTranspose", dict(kernel_size=1, strides=2, output_padding=1)),
]
LEFT = [
    ("Conv2D", dict(kernel_size=3)),
    ("Conv2D", dict(kernel_size=11, strides=4, padding=2)),
    ("MaxPool2D", dict(pool_size=2)),
    ("MaxPool2D", dict(pool_size=3, strides=2, ceil_mode=True)),
    ("Conv2DTranspose", dict(kernel_size=3, strides=2)),
    ("Conv2DTranspose", dict(kernel_size=3, strides=2, padding=1)),
]


def layer_of(module, kind, arguments):
    channels = {"channels": 2, "in_channels": 2} if kind.startswith("Conv") else {}
    return getattr(module, kind)(**channels, **arguments)


def same_layer(kind, arguments, **more):
    gone = ("padding", "ceil_mode", "output_padding", "count_include_pad")
    kept = {k: v for k, v in arguments.items() if k not in gone}
    return layer_of(nn, kind, {**kept, "padding": "same", **more})


def data_for(kind, size):
    return mx.nd.random.normal(shape=(1, 2, *(size + i for i in range(int(kind.split("D")[0][-1])))))


@pytest.mark.parametrize("module", [stock, nn])
@pytest.mark.parametrize("kind, arguments", CHANGED)
def test_what_was_meant_as_same_becomes_same(kind, arguments, module):
    layer = layer_of(module, kind, arguments)
    layer.initialize()
    report = to_same(layer)
    assert [(x.path, x.after) for x in report.changed] == [("", "same")]
    ours = same_layer(kind, arguments, **({"params": layer.params} if layer.params else {}))
    for size in (7, 8, 9):
        x = data_for(kind, size)
        np.testing.assert_allclose(layer(x).asnumpy(), ours(x).asnumpy(), **X)
    assert repr(layer) == repr(ours)


@pytest.mark.parametrize("kind, arguments", SAME_ALREADY)
def test_layers_that_already_pad_as_same_are_not_listed(kind, arguments):
    layer = layer_of(stock, kind, arguments)
    layer.initialize()
    report = to_same(layer, lambda *_: True)
    assert not report.changed and not report.left
    ours = same_layer(kind, arguments, **({"params": layer.params} if layer.params else {}))
    for size in (7, 8, 9):
        x = data_for(kind, size)
        np.testing.assert_allclose(layer(x).asnumpy(), ours(x).asnumpy(), **X)


@pytest.mark.parametrize("kind, arguments", LEFT)
def test_other_layers_change_only_if_the_predicate_is_true(kind, arguments):
    layer = layer_of(stock, kind, arguments)
    layer.initialize()
    report = to_same(layer)
    assert len(report.left) == 1 and not report.changed
    assert type(layer).__module__.startswith("mxnet.")
    assert len(to_same(layer, lambda path, block: path == "" and block is layer).changed) == 1
    ours = same_layer(kind, arguments, **({"params": layer.params} if layer.params else {}))
    x = data_for(kind, 12)
    np.testing.assert_allclose(layer(x).asnumpy(), ours(x).asnumpy(), **X)


def test_words_and_pairs_do_not_change():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3, padding=((0, 1), (1, 1))), nn.Conv2D(2, 3, 2, "same_lower"))
    net.add(nn.Conv2D(2, 3, padding="valid"), nn.MaxPool2D(3, 2, "same"), nn.GlobalAvgPool2D())
    report = to_same(net)
    assert not report.changed
    assert [layer.before for layer in report.left] == ["(0, 1) (1, 1)", "same_lower", "valid"]
    assert len(to_same(net, lambda *_: True).changed) == 3


def test_specialized_blocks_do_not_follow_the_change():
    net, x = stock_net(), mx.nd.random.normal(shape=(1, 3, 33, 38))
    net.hybridize()
    want, block = net(x).asnumpy(), specialize(net, x.shape)
    to_same(net)
    assert net(x).shape == (1, 3, 5, 5)
    np.testing.assert_allclose(block(x).asnumpy(), want, **X)
    for make in (lambda net: specialize(net, x.shape), specialize):
        np.testing.assert_allclose(make(net)(x).asnumpy(), net(x).asnumpy(), **X)


def test_specialized_blocks_are_fixed_graphs():
    net = stock_net()
    with pytest.raises(ValueError, match="belongs to a block for fixed sizes: convert the original net"):
        to_same(specialize(net, (1, 3, 40, 40)))
    assert windowed(net[0]) is None


@pytest.mark.parametrize(
    "name, count", [("resnet18_v1", 5), ("mobilenetv2_0.25", 5), ("densenet121", 2)]
)
def test_nets_of_the_model_zoo(name, count):
    net = vision.get_model(name, classes=3)
    assert len(to_same(net).changed) == count
    net.initialize()
    net.hybridize()
    assert net(mx.nd.ones((1, 3, 225, 224))).shape == (1, 3)


def test_the_report():
    net = stock.HybridSequential()
    net.add(stock.Conv2D(4, 3, 2, 1), stock.MaxPool2D())
    lines = repr(to_same(net)).splitlines()
    assert lines == [
        "1 layer changed to SAME",
        "  0 (Conv2D)  3x3/2  1 -> same",
        "1 layer left unchanged",
        "  1 (MaxPool2D)  2x2/2  0",
    ]
    assert repr(to_same(stock.Dense(2))) == "0 layers changed to SAME"
    assert repr(to_same(stock.MaxPool2D(3, 2, 1))).endswith("(net) (MaxPool2D)  3x3/2  1 -> same")


def test_invalid_arguments_are_refused():
    with pytest.raises(TypeError, match="net=3 is not a Gluon Block"):
        to_same(3)
    with pytest.raises(TypeError, match=r"predicate\('', \.\.\.\) returned 'no'"):
        to_same(stock.MaxPool2D(3, 2, 1), lambda *_: "no")


def test_it_is_exported(tmp_path):
    net, path = stock_net(), str(tmp_path / "net")
    net.hybridize()
    x = mx.nd.random.normal(shape=(1, 3, 33, 38))
    to_same(net)
    want = net(x).asnumpy()
    net.export(path)
    imported = mx.gluon.SymbolBlock.imports(path + "-symbol.json", ["data"], path + "-0000.params")
    np.testing.assert_array_equal(imported(x).asnumpy(), want)
    assert gluon_same.summary(net, x.shape).rows[0].padding == "same"


def test_a_net_that_was_cast_is_specialized_for_its_dtype():
    net = stock_net()
    net.cast("float64")
    x = mx.nd.random.normal(shape=(1, 3, 33, 38), dtype="float64")
    to_same(net)
    want = net(x).asnumpy()
    np.testing.assert_allclose(specialize(net, x.shape)(x).asnumpy(), want, rtol=1e-10)


@pytest.mark.parametrize("make", [lambda net: specialize(net, (1, 3, 9, 8)), specialize])
def test_a_subclass_is_pickled_after_it_was_specialized(make):
    net = Doubled(4, 3, 2, 1, in_channels=3)
    net.initialize()
    to_same(net)
    x = mx.nd.ones((1, 3, 9, 8))
    want = net(x).asnumpy()
    block = make(net)
    block(x)
    for each in (net, block):
        np.testing.assert_allclose(pickle.loads(pickle.dumps(each))(x).asnumpy(), want, rtol=1e-5)


def test_a_predicate_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match="predicate=True is not a function"):
        to_same(stock.Conv2D(2, 3), True)


def test_the_default_kind_of_a_pooling_in_a_symbol():
    pooled = mx.sym.Pooling(mx.sym.var("data"), kernel=(3, 3), stride=(2, 2), pad=(1, 1))
    net = mx.gluon.SymbolBlock(pooled, mx.sym.var("data"))
    x = mx.nd.random.normal(shape=(1, 2, 6, 7))
    to_same(net)
    want = nn.MaxPool2D(3, 2, padding="same")(x)
    np.testing.assert_array_equal(net(x).asnumpy(), want.asnumpy())
