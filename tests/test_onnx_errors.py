"""What cannot be exported, and what becomes of the net and the file then."""

import os
import sys

import mxnet as mx
import pytest

from gluon_same import functional, nn
from gluon_same.onnx import export_model
from onnx_files import ready


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
