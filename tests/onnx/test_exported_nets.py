"""Compare exported nets with onnxruntime."""

import os
import subprocess
import sys
from pathlib import Path

import mxnet as mx
import numpy as np
import onnx
import pytest

import keras_nets
from gluon_same import functional, model_zoo, nn, specialize
from gluon_same.onnx import export_model
from onnx_files import close, operators, reader, ready


def convolution(channels, kernel=3, strides=1):
    block = nn.HybridSequential()
    block.add(
        nn.Conv2D(channels, kernel, strides, "same", use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.1)
    )
    return block


class Detector(nn.HybridBlock):
    """A small YOLOv3-tiny: poolings of both strides, a route, upsampling and two heads."""

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
    out.backward()  # updates the running averages, so that they are not 0 and 1
    export_model(net, x.shape, path, dynamic=dynamic)
    assert not {"Slice", "Pad", "Transpose"} & set(operators(path))
    assert operators(path).count("Concat") == 1
    run = reader(path)
    for shape in [x.shape, (1, 3, 48, 32), (3, 3, 16, 80)][: 3 if dynamic else 1]:
        x = mx.nd.random.normal(shape=shape)
        close(run(x), net(x))
    graph = onnx.load(path).graph
    free = [[d.dim_param for d in v.type.tensor_type.shape.dim] for v in graph.input]
    assert free == [["batch", "", "height", "width"] if dynamic else [""] * 4]
    assert len(graph.output) == 2


@pytest.mark.parametrize(
    "make, shape, other",
    [
        (model_zoo.TinyDarkNet, (1, 3, 64, 96), (2, 3, 32, 160)),
        (lambda: model_zoo.YOLOv3Tiny(4).maps, (1, 3, 64, 96), (2, 3, 32, 160)),
        (keras_nets.KerasCNN, (2, 3, 32, 32), None),
        (keras_nets.ConvAutoencoder, (2, 1, 28, 28), None),
    ],
)
def test_nets_of_the_model_zoo(make, shape, other, path):
    net, x = make(), mx.nd.random.uniform(shape=shape)
    net.initialize(mx.init.Xavier())
    with mx.autograd.record():
        outputs = net(x)
    mx.autograd.backward(outputs)
    export_model(net, shape, path, dynamic=other is not None)
    slices = int(hasattr(net, "lateral"))  # the upsampled map is cut to the route
    assert operators(path).count("Slice") == slices and "Pad" not in operators(path)
    for each in [shape, other] if other else [shape]:
        x = mx.nd.random.uniform(shape=each)
        close(reader(path)(x), net(x))


def test_the_detector_with_its_boxes_is_refused_by_name(path):
    net = ready(model_zoo.YOLOv3Tiny(4, prefix="boxes_"), mx.nd.zeros((1, 3, 32, 32)))
    with pytest.raises(ValueError, match=r"boxes \(YOLOv3Tiny\)"):
        export_model(net, (1, 3, 32, 32), path)


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


@pytest.mark.parametrize(
    "function, count",
    [
        (lambda F, x: F.split(x, num_outputs=2, axis=1), 2),
        (lambda F, x: [x * 2, x], 2),
        (lambda F, x: [x * 2] * 2, 2),
        (lambda F, x: F.split(x, num_outputs=2, axis=1)[1], 1),
        (lambda F, x: F.topk(x, k=2, ret_typ="both"), 2),
    ],
)
def test_all_outputs_are_exported_in_order(function, count, path):
    net, x = nn.HybridLambda(function), mx.nd.random.normal(shape=(2, 4, 9, 12))
    export_model(net, x.shape, path)
    assert len(onnx.load(path).graph.output) == count
    close(reader(path)(x), net(x))


def test_global_pools(path):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, 2, "same"), nn.GlobalAvgPool2D(), nn.GlobalMaxPool2D(), nn.Dense(3))
    x = mx.nd.random.normal(shape=(2, 3, 9, 12))
    export_model(ready(net, x), x.shape, path)
    close(reader(path)(x), net(x))


def test_names_that_are_not_ascii(path):
    net, x = nn.Conv2D(4, 3, 1, "same", prefix="schicht_ü_"), mx.nd.random.normal(shape=(2, 3, 9, 12))
    export_model(ready(net, x), x.shape, path)
    close(reader(path)(x), net(x))


class Twice(nn.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.shared = nn.Conv2D(3, 3, 2, "same", in_channels=3)
            self.pool = nn.MaxPool2D(3, 2, padding="same")

    def hybrid_forward(self, F, x, y):
        return F.concat(self.shared(self.shared(y)), self.pool(self.pool(x)), dim=1)


def test_shared_blocks_and_several_inputs_that_the_graph_uses_in_another_order(path):
    net = Twice()
    x, y = mx.nd.random.normal(shape=(1, 2, 13, 8)), mx.nd.random.normal(shape=(1, 3, 14, 7))
    ready(net, x, y)
    export_model(net, [x.shape, y.shape], path)
    assert sorted(operators(path)) == ["Concat", "Conv", "Conv", "MaxPool", "MaxPool"]
    close(reader(path)(x, y), net(x, y))
    export_model(net, [x.shape, y.shape], path, dynamic=True)
    close(reader(path)(x, y), net(x, y))


def test_a_subclass_of_a_block_keeps_its_own_operators(path):
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


def test_functions_in_a_custom_block(path):
    class Mine(nn.HybridBlock):
        def hybrid_forward(self, F, x):
            x = functional.pooling(F, x, kernel=(2, 2), in_size=None if F is mx.nd else (9, 10))
            return functional.pooling(F, x, kernel=(4, 4), pool_type="avg", pad="same_lower")

    net = Mine()
    x = mx.nd.random.normal(shape=(1, 2, 9, 10))
    export_model(net, x.shape, path)
    close(reader(path)(x), net(x))


def test_the_net_does_not_change(path):
    net = ready(Detector(), mx.nd.ones((1, 3, 32, 32)))
    x = mx.nd.random.normal(shape=(1, 3, 64, 64))
    specialize(net.second, (1, 16, 8, 8))(mx.nd.ones((1, 16, 8, 8)))
    net.hybridize()
    want = net(x)
    values = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
    graph, kind, keys = net._cached_graph, type(net.second), sorted(vars(net.head))
    for shape in [x.shape, (1, 3)]:
        try:
            export_model(net, shape, path)
        except ValueError:
            assert shape == (1, 3)
        assert net._cached_graph is graph and net._active
        assert type(net.second) is kind and net.second[2]._in_shape is None
        assert sorted(vars(net.head)) == keys
        assert not net._forward_hooks and not net._forward_pre_hooks
        for name, p in net.collect_params().items():
            np.testing.assert_array_equal(p.data().asnumpy(), values[name])
    close(reader(path)(x), want)
    close([out.asnumpy() for out in net(x)], want)


def test_a_layer_that_is_called_twice_is_exported_twice(tmp_path):
    """Its operators have the same names, which MXNet's exporter treats as one node."""

    class Twice(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(3, in_units=3, activation="tanh")

        def hybrid_forward(self, F, x):
            return self.dense(self.dense(x) * 2)

    net = Twice()
    net.initialize(mx.init.Uniform(1))
    file = export_model(net, (2, 3), tmp_path / "net.onnx")
    x = mx.nd.random.uniform(shape=(2, 3))
    close(reader(file)(x), net(x))


def test_zeros_around_negative_numbers_may_be_the_maximum(tmp_path):
    """onnxruntime would merge them into a max pooling's own padding, which is never the maximum."""
    net = nn.HybridSequential()
    net.add(nn.ZeroPadding2D(1), nn.MaxPool2D(2))
    x = -mx.nd.random.uniform(1, 2, shape=(1, 2, 4, 4))
    close(reader(export_model(net, x.shape, tmp_path / "net.onnx", check=False))(x), net(x))


COUNT_THREADS = """
import os, sys, time
import gluon_same.onnx, mxnet as mx

net = mx.gluon.nn.Dense(500, in_units=500)  # more numbers than MXNet copies with one thread
net.initialize()
net(mx.nd.ones((1, 500))).wait_to_read()
before = len(os.listdir("/proc/self/task"))
gluon_same.onnx.export_model(net, (1, 500), sys.argv[1], check=False)
time.sleep(0.5)  # threads end a moment after they are joined
sys.exit(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted on Linux")
def test_an_export_leaves_no_threads_behind(tmp_path):
    command = [sys.executable, "-c", COUNT_THREADS, str(tmp_path / "net.onnx")]
    subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "2"}, check=True)
