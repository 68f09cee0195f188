"""Compare exported layers with onnxruntime."""

import os

import mxnet as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gluon_same import nn
from gluon_same.importing.embedding import Embedding
from gluon_same.onnx import export_model
from onnx_files import close, operators, reader, ready

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
        dilation = draw(1, 2)
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
    gaps = dynamic and (
        kind == "Conv" and dilation > 1 or any(k < s for k, s in zip(kernel, stride))
    )  # padded by computed amounts
    assert gaps or len(operators(path)) == 1
    run = reader(path)
    close(run(x), layer(x))
    if dynamic:
        x = inputs_of(layer, tuple(n + 1 for n in size))
        close(run(x), layer(x))


def test_an_average_with_gaps_is_refused_at_every_size(path):
    layer = nn.AvgPool2D(3, 5, padding="same")
    x = mx.nd.ones((1, 3, 12, 13))
    with pytest.raises(ValueError, match=f"{layer.name} .*depends on the size.*dynamic=False"):
        export_model(layer, x.shape, path, dynamic=True)
    assert not os.path.exists(path)
    export_model(layer, x.shape, path)
    close(reader(path)(x), layer(x))


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
    # MXNet supports it on GPUs only; the file runs on every device.
    last, first = (nn.Conv2D(4, (3, 2), 2, "same", in_channels=3, layout=v) for v in ("NHWC", "NCHW"))
    x = mx.nd.random.normal(shape=(2, 3, 8, 9))
    ready(first, x)
    last.initialize()
    last.weight.set_data(first.weight.data().transpose((0, 2, 3, 1)))
    export_model(last, (2, 8, 9, 3), path, check=False)
    close(reader(path)(x.transpose((0, 2, 3, 1))), first(x).transpose((0, 2, 3, 1)))


def test_indices_of_a_table_that_raises_an_error_for_others(tmp_path):
    """The check uses large numbers, too, as the net adds 100, and small ones for indices."""
    net = nn.HybridSequential()
    net.add(Embedding(3, 4), nn.HybridLambda(lambda F, x: F.relu(x + 100)))
    net.initialize()
    path = export_model(net, (2, 7), str(tmp_path / "net.onnx"))
    ids = mx.nd.array([[0, 2, 1, 2, 0, 1, 2]] * 2)
    close(reader(path)(ids), net(ids))
