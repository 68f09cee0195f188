"""Compare exported Keras blocks and nets converted by ``to_same`` with onnxruntime."""

import mxnet as mx
import pytest
from mxnet.gluon import nn as stock

from gluon_same import nn, to_same
from gluon_same.onnx import export_model
from onnx_files import close, operators, reader, ready

LAYERS = [
    (lambda: nn.DepthwiseConv1D(3, 2, "causal", depth_multiplier=2), 1, ["Conv"]),
    (lambda: nn.DepthwiseConv2D(3, 2, "same"), 2, ["Conv"]),
    (lambda: nn.DepthwiseConv2D((4, 1), padding="same", depth_multiplier=2), 2, ["Conv"]),
    (lambda: nn.SeparableConv1D(5, 3, padding="same"), 1, ["Conv", "Conv"]),
    (lambda: nn.SeparableConv2D(5, 2, padding="same", activation="relu"), 2, ["Conv", "Conv", "Relu"]),
    (lambda: nn.ReLU6(), 2, ["Relu", "Clip"]),
    (lambda: nn.ZeroPadding1D((1, 2)), 1, ["Unsqueeze", "Pad", "Squeeze"]),
    (lambda: nn.ZeroPadding2D(((0, 1), (2, 3))), 2, ["Pad"]),
    (lambda: nn.ZeroPadding3D(1), 3, ["Pad"]),
    (lambda: nn.Cropping1D((1, 2)), 1, ["Slice"]),
    (lambda: nn.Cropping2D(((0, 1), (2, 3))), 2, ["Slice"]),
    (lambda: nn.Cropping3D((1, 0, 2)), 3, ["Slice"]),
]
SIZES = [(8, 9, 7), (7, 8, 10)]


@pytest.mark.parametrize(
    "make, ndim, expected",
    LAYERS,
    ids=[f"{type(make()).__name__} {i}" for i, (make, *_) in enumerate(LAYERS)],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_block_is_exported(make, ndim, expected, dynamic, path):
    layer = make()
    x = mx.nd.random.normal(shape=(2, 4, *SIZES[0][:ndim]))
    ready(layer, x)
    export_model(layer, x.shape, path, dynamic=dynamic)
    assert operators(path) == expected
    run = reader(path)
    for sizes in SIZES if dynamic else SIZES[:1]:
        x = mx.nd.random.normal(shape=(2, 4, *sizes[:ndim]))
        close(run(x), layer(x))


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_net_converted_to_same_is_exported(dynamic, path):
    net = stock.HybridSequential()
    net.add(stock.Conv2D(4, 7, 2, 3), stock.MaxPool2D(3, 2, 1), stock.AvgPool2D(3, 1, 1))
    x = mx.nd.random.normal(shape=(1, 3, 20, 21))
    ready(net, x)
    to_same(net)
    export_model(net, x.shape, path, dynamic=dynamic)
    assert operators(path) == ["Conv", "MaxPool", "AveragePool"]
    close(reader(path)(x), net(x))
