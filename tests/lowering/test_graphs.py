"""Operators of the graphs, read from exported JSON."""

import json

import mxnet as mx
import pytest

import gluon_same
from gluon_same import nn


def operators(net, shape, tmp_path):
    """Return (operator, attributes) of the nodes of an exported net, without variables."""
    net.initialize()
    net.hybridize()
    net(mx.nd.ones(shape))
    net.export(str(tmp_path / "net"))
    nodes = json.loads((tmp_path / "net-symbol.json").read_text())["nodes"]
    return [(n["op"], n.get("attrs", {})) for n in nodes if n["op"] != "null"]


@pytest.mark.parametrize("kernel", [1, 3, 5, (3, 1), (7, 5)])
def test_odd_kernels_at_stride_one_have_no_extra_operator(kernel, tmp_path):
    ops = operators(nn.Conv2D(2, kernel, padding="same"), (1, 3, 9, 9), tmp_path)
    assert [op for op, _ in ops] == ["Convolution"]
    k = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    assert ops[0][1]["pad"] == str((k[0] // 2, k[1] // 2))


@pytest.mark.parametrize("kernel", [2, 4, 6])
def test_even_kernels_at_stride_one_are_padded_by_half_and_cropped_by_one_slice(kernel, tmp_path):
    ops = operators(nn.Conv2D(2, kernel, padding="same"), (1, 3, 9, 9), tmp_path)
    assert [op for op, _ in ops] == ["Convolution", "slice"]
    assert ops[0][1]["pad"] == str((kernel // 2,) * 2)
    assert ops[1][1]["begin"] == "(None, None, 1, 1)"
    assert ops[1][1]["end"] == "(None, None, None, None)"


@pytest.mark.parametrize("layer", [nn.MaxPool2D, nn.AvgPool2D])
def test_even_pooling_at_stride_one_is_padded_by_half_and_cropped_by_one_slice(layer, tmp_path):
    ops = operators(layer(2, 1, padding="same"), (1, 3, 13, 13), tmp_path)
    assert [op for op, _ in ops] == ["Pooling", "slice"]
    assert ops[0][1]["pad"] == "(1, 1)"
    assert ops[1][1]["begin"] == "(None, None, 1, 1)"


@pytest.mark.parametrize(
    "layer, shape",
    [
        (nn.Conv1D(2, 4, padding="same"), (1, 3, 9)),
        (nn.Conv3D(2, 4, padding="same"), (1, 3, 5, 6, 7)),
        (nn.MaxPool1D(2, 1, padding="same"), (1, 3, 9)),
        (nn.MaxPool3D(2, 1, padding="same"), (1, 3, 5, 6, 7)),
    ],
)
def test_one_slice_crops_all_axes(layer, shape, tmp_path):
    ops = operators(layer, shape, tmp_path)
    assert len(ops) == 2 and ops[1][0] == "slice"
    assert ops[1][1]["begin"] == str((None, None) + (1,) * (len(shape) - 2))


def test_same_lower_crops_the_end(tmp_path):
    ops = operators(nn.Conv2D(2, 2, padding="same_lower"), (1, 3, 9, 9), tmp_path)
    assert [op for op, _ in ops] == ["Convolution", "slice"]
    assert ops[1][1]["end"] == "(None, None, -1, -1)"


@pytest.mark.parametrize("layer", [nn.MaxPool2D, nn.AvgPool2D])
@pytest.mark.parametrize("pool, stride", [(2, 2), (1, 2), (4, 2)])
def test_strided_pooling_with_constant_padding_is_one_operator(layer, pool, stride, tmp_path):
    ops = operators(layer(pool, stride, padding="same"), (1, 3, 9, 9), tmp_path)
    assert [op for op, _ in ops] == ["Pooling"]


def test_strided_same_lower_of_odd_kernels_is_one_operator(tmp_path):
    ops = operators(nn.Conv2D(2, 3, 2, padding="same_lower"), (1, 3, 9, 9), tmp_path)
    assert [op for op, _ in ops] == ["Convolution"]


@pytest.mark.parametrize("size", [(224, 224), (225, 225)])
def test_specialized_pooling_is_one_operator(size, tmp_path):
    net = nn.HybridSequential()
    net.add(nn.MaxPool2D(3, 2, padding="same"))
    ops = operators(gluon_same.specialize(net, (1, 3, *size)), (1, 3, *size), tmp_path)
    assert [op for op, _ in ops if op != "Reshape"] == ["Pooling"]


def test_specialized_convolution_of_a_matching_size_has_no_extra_operator(tmp_path):
    net = gluon_same.specialize(nn.Conv2D(2, 3, 2, padding="same"), (1, 3, 225, 225))
    ops = operators(net, (1, 3, 225, 225), tmp_path)
    assert [op for op, _ in ops if op != "Reshape"] == ["Convolution"]


def test_graphs_contain_only_operators_of_mxnet(tmp_path):
    shipped = set(mx.operator.get_all_registered_operators())
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(2, 3, 2, padding="same"),
        nn.AvgPool2D(5, 3, padding="same"),
        nn.MaxPool2D(4, 3, padding="same_lower"),
        nn.Conv2D(2, 3, 4, padding="same"),
        nn.Conv2DTranspose(2, 3, 2, padding="same"),
    )
    ops = operators(net, (1, 3, 64, 64), tmp_path)
    assert {op for op, _ in ops} <= shipped
    assert not [op for op, _ in ops if op == "Custom"]
