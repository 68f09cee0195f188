"""Exported files against onnxruntime, which computes them by its own code."""

import os
import sys

import mxnet as mx
import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gluon_same import functional, nn, specialize
from gluon_same.onnx import export_model


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "net.onnx")


def operators(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def reader(path):
    """The file as a function of arrays, after the checks that anyone can make."""
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def run(*arrays):
        names = [value.name for value in session.get_inputs()]
        return session.run(None, {n: a.asnumpy() for n, a in zip(names, arrays)})[0]

    return run


def close(got, want):
    assert got.shape == want.shape
    want = want.asnumpy()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * max(1, abs(want).max()))


def ready(net, *arrays):
    net.initialize(mx.init.Normal(0.5))
    net(*arrays)
    return net


LAYERS = [
    (lambda: nn.Conv1D(4, 3, 2, "same"), "Conv"),
    (lambda: nn.Conv1D(4, 3, 1, "causal", dilation=2), "Conv"),
    (lambda: nn.Conv1D(4, 2, 1, ((0, 3),)), "Conv"),
    (lambda: nn.Conv2D(4, 3, 2, "same"), "Conv"),
    (lambda: nn.Conv2D(4, (4, 1), padding="same_lower", use_bias=False), "Conv"),
    (lambda: nn.Conv2D(4, 3, 2, "valid"), "Conv"),
    (lambda: nn.Conv2D(4, 3, (1, 2), ((0, 1), (5, 2))), "Conv"),
    (lambda: nn.Conv2D(4, (3, 2), 1, "same", dilation=(2, 1), groups=2), "Conv"),
    (lambda: nn.Conv2D(4, 1, 3, "same", groups=4), "Conv"),
    (lambda: nn.Conv2D(4, 2, (3, 1), "same"), "Conv"),
    (lambda: nn.Conv3D(4, (3, 2, 1), (1, 2, 3), "same"), "Conv"),
    (lambda: nn.Conv1DTranspose(4, 3, 2, "same"), "ConvTranspose"),
    (lambda: nn.Conv2DTranspose(4, 3, 2, "same"), "ConvTranspose"),
    (
        lambda: nn.Conv2DTranspose(4, (2, 1), (3, 2), "same_lower", groups=2, in_channels=4),
        "ConvTranspose",
    ),
    (lambda: nn.Conv2DTranspose(4, 3, 2, ((0, 1), (2, 0)), output_padding=1), "ConvTranspose"),
    (lambda: nn.Conv2DTranspose(4, 3, 1, "same", dilation=2), "ConvTranspose"),
    (lambda: nn.Conv3DTranspose(4, 2, 1, "same"), "ConvTranspose"),
    (lambda: nn.MaxPool1D(2, 1, padding="same"), "MaxPool"),
    (lambda: nn.MaxPool2D(2, 1, padding="same"), "MaxPool"),
    (lambda: nn.MaxPool2D((3, 2), 2, padding="same"), "MaxPool"),
    (lambda: nn.MaxPool2D(3, 3, padding=((1, 0), (0, 2))), "MaxPool"),
    (lambda: nn.MaxPool3D(3, 2, padding="same_lower"), "MaxPool"),
    (lambda: nn.AvgPool1D(4, 3, padding="same"), "AveragePool"),
    (lambda: nn.AvgPool2D(3, 2, padding="same"), "AveragePool"),
    (lambda: nn.AvgPool2D(3, 1, padding="same_lower", count_include_pad=True), "AveragePool"),
    (lambda: nn.AvgPool3D(2, 1, padding="same"), "AveragePool"),
]
SIZES = [(8, 9, 7), (7, 8, 10), (11, 6, 6)]


def inputs_of(layer, sizes):
    ndim = len(layer._kwargs["kernel"])
    return mx.nd.random.normal(shape=(2, 4, *sizes[:ndim]))


@pytest.mark.parametrize("make, operator", LAYERS, ids=[repr(make()) for make, _ in LAYERS])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_layer_becomes_one_operator(make, operator, dynamic, path):
    layer = make()
    x = inputs_of(layer, SIZES[0])
    ready(layer, x)
    assert export_model(layer, x.shape, path, dynamic=dynamic) == path
    assert operators(path) == [operator]
    run = reader(path)
    for sizes in SIZES if dynamic else SIZES[:1]:
        x = inputs_of(layer, sizes)
        close(run(x), layer(x))


@settings(max_examples=100)
@given(data=st.data())
def test_any_window(data, tmp_path_factory):
    def draw(*values):
        return data.draw(st.sampled_from(values))

    ndim = draw(1, 2, 3)
    kernel, stride, size = (
        tuple(draw(*r) for _ in range(ndim)) for r in [(1, 2, 3, 4, 5), (1, 2, 3)] + [range(5, 11)]
    )
    word, kind, dynamic = draw("same", "same_lower"), draw("Conv", "MaxPool", "AvgPool"), draw(0, 1)
    cls = getattr(nn, f"{kind}{ndim}D")
    if kind == "Conv":
        dilation = 1 if dynamic else draw(1, 2)
        layer = cls(3, kernel, stride, word, dilation=dilation)
    else:
        layer = cls(kernel, stride, padding=word)
    x = inputs_of(layer, size)
    ready(layer, x)
    path = str(tmp_path_factory.mktemp("onnx") / "net.onnx")
    try:
        export_model(layer, x.shape, path, dynamic=bool(dynamic))
    except ValueError as error:
        assert dynamic and "gaps between" in str(error)
        return
    assert len(operators(path)) == 1
    run = reader(path)
    close(run(x), layer(x))
    if dynamic:
        x = inputs_of(layer, tuple(n + 1 for n in size))
        close(run(x), layer(x))


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2D(3, 3, 2, "same", dilation=2),
        nn.Conv2D(3, 3, 4, "same"),
        nn.MaxPool2D(3, 5, padding="same"),
    ],
    ids=["dilated", "convolution with gaps", "pooling with gaps"],
)
def test_layers_that_have_no_form_for_every_size_are_refused(layer, path):
    x = mx.nd.ones((1, 3, 12, 13))
    ready(layer, x)
    with pytest.raises(ValueError, match=f"{layer.name} .*depends on the size.*dynamic=False"):
        export_model(layer, x.shape, path, dynamic=True)
    assert not os.path.exists(path)
    export_model(layer, x.shape, path)
    close(reader(path)(x), layer(x))


def convolution(channels, kernel=3, strides=1):
    block = nn.HybridSequential()
    block.add(
        nn.Conv2D(channels, kernel, strides, "same", use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.1)
    )
    return block


class Detector(nn.HybridBlock):
    """YOLOv3-tiny in small: pools of both kinds, a route, upsampling, two heads."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.first, self.second = nn.HybridSequential(), nn.HybridSequential()
            for channels in (8, 16):
                self.first.add(convolution(channels), nn.MaxPool2D(2, 2, padding="same"))
            self.first.add(convolution(16, 3, 2))
            self.second.add(nn.MaxPool2D(2, 2), convolution(24), nn.MaxPool2D(2, 1, padding="same"))
            self.lateral, self.head = nn.Conv2D(8, 1), nn.Conv2D(6, 4, padding="same")

    def hybrid_forward(self, F, x):
        route = self.first(x)
        deep = self.second(route)
        up = F.UpSampling(self.lateral(deep), scale=2, sample_type="nearest")
        return self.head(F.concat(up, route, dim=1)), deep


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_detector(dynamic, path):
    net = Detector()
    x = mx.nd.random.normal(shape=(2, 3, 64, 96))
    ready(net, x)
    with mx.autograd.record():
        out = net(x)[0]
    out.backward()  # running averages that are not 0 and 1
    export_model(net, x.shape, path, dynamic=dynamic)
    assert not {"Slice", "Pad", "Transpose"} & set(operators(path))
    assert operators(path).count("Concat") == 1
    run = reader(path)
    for shape in [x.shape, (1, 3, 48, 32), (3, 3, 16, 80)][: 3 if dynamic else 1]:
        x = mx.nd.random.normal(shape=shape)
        close(run(x), net(x)[0])
    graph = onnx.load(path).graph
    free = [[d.dim_param for d in v.type.tensor_type.shape.dim] for v in graph.input]
    assert free == [["batch", "", "height", "width"] if dynamic else [""] * 4]
    assert len(graph.output) == 2


def test_a_classifier_with_stock_layers(path):
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(6, 3, 2, "same", activation="relu"),
        nn.BatchNorm(scale=False),
        nn.AvgPool2D(3, 2, padding=1),
        nn.MaxPool2D(2, 2, ceil_mode=True),
        nn.Dropout(0.5),
        nn.HybridLambda(lambda F, x: F.mean(x, axis=(2, 3)) + F.max(x, axis=(2, 3))),
        nn.Dense(5),
    )
    x = mx.nd.random.normal(shape=(2, 3, 16, 16))
    ready(net, x)
    export_model(net, x.shape, path)
    close(reader(path)(x), net(x))


def test_stock_layers_over_one_axis(path):
    net = nn.HybridSequential()
    net.add(nn.Conv1D(4, 3, padding=1), nn.MaxPool1D(2), nn.Conv1DTranspose(3, 2, 2))
    x = mx.nd.random.normal(shape=(2, 3, 16))
    export_model(ready(net, x), x.shape, path)
    close(reader(path)(x), net(x))


def test_channels_last(path):
    net = nn.HybridSequential()
    net.add(nn.MaxPool2D(3, 2, padding="same", layout="NHWC"), nn.AvgPool2D(2, 1, "same", layout="NHWC"))
    x = mx.nd.random.normal(shape=(2, 8, 9, 3))
    export_model(net, x.shape, path)
    close(reader(path)(x), net(x))


def test_convolution_of_channels_last_data(path):
    # MXNet has it for GPUs alone; the file runs anywhere.
    last, first = (nn.Conv2D(4, (3, 2), 2, "same", in_channels=3, layout=v) for v in ("NHWC", "NCHW"))
    x = mx.nd.random.normal(shape=(2, 3, 8, 9))
    ready(first, x)
    last.initialize()
    last.weight.set_data(first.weight.data().transpose((0, 2, 3, 1)))
    export_model(last, (2, 8, 9, 3), path)
    close(reader(path)(x.transpose((0, 2, 3, 1))), first(x).transpose((0, 2, 3, 1)))


class Twice(nn.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.shared = nn.Conv2D(3, 3, 2, "same", in_channels=3)
            self.pool = nn.MaxPool2D(3, 2, padding="same")

    def hybrid_forward(self, F, x, y):
        return F.concat(self.shared(self.shared(y)), self.pool(self.pool(x)), dim=1)


def test_shared_blocks_and_several_inputs_that_the_graph_meets_in_another_order(path):
    net = Twice()
    x, y = mx.nd.random.normal(shape=(1, 2, 13, 8)), mx.nd.random.normal(shape=(1, 3, 14, 7))
    ready(net, x, y)
    export_model(net, [x.shape, y.shape], path)
    assert sorted(operators(path)) == ["Concat", "Conv", "Conv", "MaxPool", "MaxPool"]
    close(reader(path)(x, y), net(x, y))
    export_model(net, [x.shape, y.shape], path, dynamic=True)
    close(reader(path)(x, y), net(x, y))


def test_a_subclass_of_a_block_keeps_what_it_adds(path):
    class Doubled(nn.Conv2D):
        def hybrid_forward(self, F, x, weight, bias=None):
            return 2 * super().hybrid_forward(F, x, weight, bias)

    class Negated(nn.MaxPool2D):
        def hybrid_forward(self, F, x):
            return -super().hybrid_forward(F, -x)

    net = nn.HybridSequential()
    net.add(Doubled(3, 3, 2, "same"), Negated(2, 1, padding="same"))
    x = mx.nd.random.normal(shape=(1, 2, 9, 10))
    export_model(ready(net, x), x.shape, path)
    close(reader(path)(x), net(x))


def test_numpy_mode(numpy_mode, path):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, 2, "same"), nn.AvgPool2D(3, 2, "same"))
    x = mx.np.random.normal(size=(1, 3, 10, 11))
    export_model(ready(net, x), x.shape, path)
    assert operators(path) == ["Conv", "AveragePool"]
    close(reader(path)(x), net(x))


def test_functions_in_a_users_own_block(path):
    class Mine(nn.HybridBlock):
        def hybrid_forward(self, F, x):
            x = functional.pooling(F, x, kernel=(2, 2), in_size=None if F is mx.nd else (9, 10))
            return functional.pooling(F, x, kernel=(4, 4), pool_type="avg", pad="same_lower")

    net = Mine()
    x = mx.nd.random.normal(shape=(1, 2, 9, 10))
    export_model(net, x.shape, path)
    close(reader(path)(x), net(x))


def test_the_net_is_left_as_it_was(path):
    net = ready(Detector(), mx.nd.ones((1, 3, 32, 32)))
    x = mx.nd.random.normal(shape=(1, 3, 64, 64))
    specialize(net.second, (1, 16, 8, 8))
    net.hybridize()
    want = net(x)[0]
    values = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
    graph, kind, keys = net._cached_graph, type(net.second), sorted(vars(net.head))
    for shape in [x.shape, (1, 3)]:
        try:
            export_model(net, shape, path)
        except ValueError:
            assert shape == (1, 3)
        assert net._cached_graph is graph and net._active
        assert type(net.second) is kind and net.second[2]._in_shape == (1, 24, 4, 4)
        assert sorted(vars(net.head)) == keys
        assert not net._forward_hooks and not net._forward_pre_hooks
        for name, p in net.collect_params().items():
            np.testing.assert_array_equal(p.data().asnumpy(), values[name])
    close(reader(path)(x), want)
    close(net(x)[0].asnumpy(), want)


def lambda_net():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(2, 3, 1, "same"), nn.HybridLambda(lambda F, x: F.erfinv(x), prefix="odd_"))
    return net


def plain_net():
    class Plain(nn.Block):
        def forward(self, x):
            return mx.nd.array(x.asnumpy() * 2)

    net = nn.Sequential()
    net.add(nn.Conv2D(2, 3, 1, "same"), Plain(prefix="plain_"))
    return net


def suppressing_net():
    return nn.HybridLambda(lambda F, x: F.contrib.box_nms(x, id_index=0), prefix="boxes_")


class Strided(nn.HybridBlock):
    def hybrid_forward(self, F, x):
        return functional.pooling(F, x, kernel=(3, 2), stride=2, pool_type="avg")


SHAPE = (1, 3, 9, 10)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda_net, r"net_odd \(HybridLambda\).*operator erfinv \(net_odd_erfinv0\)"),
        (plain_net, r"plain \(Plain\) could not be traced"),
        (lambda: Strided(prefix="mine_"), r"mine \(Strided\).*functional"),
        (suppressing_net, r"boxes \(HybridLambda\).*box_nms.*force_suppress"),
        (lambda: nn.AvgPool2D(3, 2, 1, ceil_mode=True), r"\(AvgPool2D\).*count_include_pad=False"),
    ],
)
def test_what_cannot_be_exported_is_named_and_no_file_is_touched(make, words, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(b"of before")
    net = ready(make(), mx.nd.ones(SHAPE))
    with pytest.raises(ValueError, match=words):
        export_model(net, SHAPE, path)
    assert path.read_bytes() == b"of before"
    assert os.listdir(tmp_path) == ["net.onnx"]


def initialized(layer):
    layer.initialize()
    return layer


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda p: export_model("net", SHAPE, p), TypeError, "net='net'"),
        (lambda p: export_model(nn.Conv2D(2, 3), SHAPE, p), ValueError, "without values .*_weight"),
        (lambda p: export_model(initialized(nn.Conv2D(2, 3)), SHAPE, p), ValueError, "run the net once"),
        (lambda p: export_model(nn.MaxPool2D(), [], p), ValueError, "input_shapes="),
        (lambda p: export_model(nn.MaxPool2D(), (1, 3, 0, 4), p), ValueError, "input shape=0"),
        (lambda p: export_model(nn.MaxPool2D(), [SHAPE] * 2, p), ValueError, "could not be traced"),
        (lambda p: export_model(nn.MaxPool2D(), (1, 3, 4), p), ValueError, "could not be traced"),
        (lambda p: export_model(nn.MaxPool2D(), SHAPE, p, dtype=["int8"] * 2), ValueError, "dtype="),
        (lambda p: export_model(nn.MaxPool2D(), SHAPE, p + "/no/a.onnx"), FileNotFoundError, "no"),
    ],
)
def test_errors_name_the_argument_and_its_value(call, error, words, path):
    with pytest.raises(error, match=words):
        call(path)
    assert not os.path.exists(path)


def test_without_the_onnx_package(monkeypatch, path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'gluon-same\[onnx\]'"):
        export_model(nn.MaxPool2D(), SHAPE, path)
