"""Errors of the ONNX export, which leave the net and the file unchanged."""

import os
import sys

import mxnet as mx
import onnx
import pytest

from gluon_same import model_zoo, nn
from gluon_same.onnx import check, export_model
from gluon_same.onnx.check import compare


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


def of(function):
    return nn.HybridLambda(function, prefix="it_")


SHAPE = (1, 3, 9, 10)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda_net, r"net_odd \(HybridLambda\).*operator erfinv \(net_odd_erfinv0\)"),
        (plain_net, r"could not be traced .*\(in plain, a Plain\)"),
        (suppressing_net, r"boxes \(HybridLambda\).*box_nms.*force_suppress"),
        (
            lambda: of(
                lambda F, x: F.Pooling(x, kernel=(2, 2), pool_type="sum", pooling_convention="full")
            ),
            "Pooling .*pooling_convention='valid'",
        ),
        (
            lambda: of(lambda F, x: F.Pooling(x, kernel=(2, 2), pool_type="lp", p_value=3)),
            "Pooling .*p_value=2",
        ),
        (model_zoo.TinyDarkNet, "tinydarknet.*smaller than the stride"),
    ],
)
def test_a_block_that_cannot_be_exported_is_named_and_no_file_is_written(make, words, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(b"of before")
    net = make()
    net.initialize(mx.init.Normal(0.5))
    net(mx.nd.ones((1, 3, 32, 32)))
    with pytest.raises(ValueError, match=words):
        export_model(net, SHAPE, path)
    assert path.read_bytes() == b"of before"
    assert os.listdir(tmp_path) == ["net.onnx"]


def test_sizes_that_only_a_fixed_file_can_have(tmp_path):
    net = of(lambda F, x: F.contrib.BilinearResize2D(x, mode="to_odd_up"))
    export_model(net, SHAPE, tmp_path / "net.onnx")
    with pytest.raises(ValueError, match="mode='to_odd_up' .*dynamic=False"):
        export_model(net, SHAPE, tmp_path / "net.onnx", dynamic=True)


def test_a_file_of_a_net_that_reads_shapes_has_fixed_sizes(tmp_path):
    net = of(lambda F, x: x.reshape((x.shape[0], -1)))
    export_model(net, SHAPE, tmp_path / "net.onnx")  # which compares the numbers
    with pytest.raises(ValueError, match="its code reads shapes.*Use dynamic=False"):
        export_model(net, SHAPE, tmp_path / "net.onnx", dynamic=True)


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
        (lambda p: export_model(nn.MaxPool2D(), (1, 3, 0, 4), p), ValueError, "input_shapes=0"),
        (lambda p: export_model(nn.MaxPool2D(), [SHAPE] * 2, p), ValueError, "could not be traced"),
        (lambda p: export_model(nn.MaxPool2D(), (1, 3, 4), p), ValueError, "could not be traced"),
        (lambda p: export_model(nn.MaxPool2D(), SHAPE, p, dtype=["int8"] * 2), ValueError, "dtype="),
        (
            lambda p: export_model(nn.MaxPool2D(), SHAPE, p, dtype="single_"),
            TypeError,
            "dtype='single_'",
        ),
        (lambda p: export_model(nn.MaxPool2D(), 8, p), TypeError, "input_shapes=8"),
        (lambda p: export_model(nn.MaxPool2D(), SHAPE, p + "/no/a.onnx"), FileNotFoundError, "no"),
        (lambda p: export_model(nn.MaxPool2D(), SHAPE, ""), ValueError, "^path='' is not the name of"),
        (
            lambda p: export_model(nn.MaxPool2D(), SHAPE, os.path.dirname(p)),
            ValueError,
            "^path='.* file",
        ),
    ],
)
def test_errors_name_the_argument_and_its_value(call, error, words, path):
    with pytest.raises(error, match=words):
        call(path)
    assert not os.path.exists(path)


@pytest.mark.parametrize(
    "other, words",
    [
        (nn.AvgPool2D(2), "its output 0, which reaches .* would differ by .*check=False"),
        (nn.MaxPool2D(3), r"give outputs of shapes \[\(1, 3, 4, 5\)\] and \[\(1, 3, 3, 3\)\]"),
    ],
)
def test_the_check_refuses_a_file_with_other_numbers(other, words, path):
    export_model(nn.MaxPool2D(2), SHAPE, path)
    compare(nn.MaxPool2D(2), path, {"data": SHAPE}, ["float32"])
    with pytest.raises(ValueError, match=words):
        compare(other, path, {"data": SHAPE}, ["float32"])


def test_the_check_allows_what_the_net_makes_of_rounding(path, monkeypatch):
    def chaotic(F, x):
        x = F.softmax(x)
        for _ in range(22):
            x = 3.9 * x * (1 - x)
        return x

    export_model(of(chaotic), (4, 50), path)
    monkeypatch.setattr(check, "noises", lambda graph, pairs: [(0, 0)])
    monkeypatch.setattr(check, "error", lambda got, want: 0)
    with pytest.raises(ValueError, match="would differ by"):
        compare(of(chaotic), path, {"data": (4, 50)}, ["float32"])


def test_the_dtype_is_that_of_the_parameters(path):
    net = initialized(nn.Conv2D(2, 3, in_channels=3))
    net.cast("float64")
    with pytest.raises(ValueError, match="could not be checked.*check=False"):
        export_model(net, SHAPE, path)  # onnxruntime does not support float64 convolution
    export_model(net, SHAPE, path, check=False)
    assert onnx.load(path).graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.DOUBLE


def test_without_onnxruntime(monkeypatch, path):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match="onnxruntime.*check=False"):
        export_model(nn.MaxPool2D(), SHAPE, path)
    export_model(nn.MaxPool2D(), SHAPE, path, check=False)


def test_without_the_onnx_package(monkeypatch, path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        export_model(nn.MaxPool2D(), SHAPE, path)


def test_a_file_that_would_be_too_large_for_onnx_is_refused(tmp_path, monkeypatch):
    net = nn.Conv2D(4, 3, padding="same", in_channels=3)
    net.initialize()
    monkeypatch.setattr("gluon_same.onnx.graph._MOST", 500)
    with pytest.raises(ValueError, match=r"could not be exported: an ONNX file holds at most 500 bytes"):
        export_model(net, (1, 3, 8, 8), tmp_path / "net.onnx")
    assert not list(tmp_path.iterdir())
