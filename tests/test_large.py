"""Pooling of planes beyond oneDNN's quick kernel gives the numbers of the plain operator."""

import json

import mxnet as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gluon_same import functional, nn, planes, specialize

SIZES = {1: 60, 2: 16, 3: 9}


@pytest.fixture
def small_cache(monkeypatch):
    monkeypatch.setattr(planes, "QUICK", 60)


@st.composite
def poolings(draw):
    """Arguments of a pooling, and the shape of its data."""
    ndim = draw(st.integers(1, 3))
    each = [draw(st.tuples(*[st.integers(1, most)] * ndim)) for most in (5, 4, SIZES[ndim])]
    kernel, stride, size = each
    pairs = tuple((draw(st.integers(0, k - 1)), draw(st.integers(0, k - 1))) for k in kernel)
    size = tuple(max(n, k) for n, k in zip(size, kernel))  # so that 'valid' fits
    return dict(
        shape=(2, draw(st.sampled_from([3, 4, 8, 12, 16])), *size),
        kernel=kernel,
        stride=stride,
        pool_type=draw(st.sampled_from(["max", "avg", "sum"])),
        pad=draw(st.sampled_from(["same", "same_lower", "valid", pairs])),
        count_include_pad=draw(st.sampled_from([None, False, True])),
    )


def pooled(x, weight, **kwargs):
    """The result, and the gradient of its sum weighted by a function of the place."""
    x.attach_grad()
    with mx.autograd.record():
        out = functional.pooling(mx.nd, x, **kwargs)
        loss = (out * weight(out.shape)).sum()
    loss.backward()
    return out.asnumpy(), x.grad.asnumpy()


def weight(shape):
    return mx.nd.array(np.random.RandomState(0).normal(size=shape))


@settings(max_examples=150)
@given(poolings(), st.booleans())
def test_views_and_pieces_change_no_number(arguments, after_convolution):
    shape = arguments.pop("shape")
    x = mx.nd.random.normal(shape=shape)
    if after_convolution:  # oneDNN may leave the channels of a position together
        kernel = (1,) * (len(shape) - 2)
        ones = mx.nd.ones((shape[1], 1, *kernel))
        x = mx.nd.Convolution(
            x, ones, kernel=kernel, num_filter=shape[1], num_group=shape[1], no_bias=True
        )
    quick, wants = planes.QUICK, None
    try:
        for planes.QUICK in (2**40, 60):
            found = pooled(x, weight, **arguments)
            for got, want in zip(found, wants or found):
                np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
            wants = wants or found
        data = mx.sym.var("data")
        graph = functional.pooling(
            mx.sym, data, in_size=shape[2:], in_channels=shape[1], dtype="float32", **arguments
        )
        got = graph.bind(mx.cpu(), {"data": x}).forward()[0].asnumpy()
    finally:
        planes.QUICK = quick
    np.testing.assert_allclose(got, wants[0], rtol=1e-4, atol=1e-5)


def operators(graph):
    return [node["op"] for node in json.loads(graph.tojson())["nodes"] if node["op"] != "null"]


def graph_of(channels, size, kernel, **kwargs):
    data = mx.sym.var("data")
    return functional.pooling(
        mx.sym,
        data,
        kernel=kernel,
        in_size=size,
        in_channels=channels,
        dtype="float32",
        pad="valid",
        **kwargs,
    )


def test_many_channels_go_through_a_convolution_that_changes_nothing(small_cache):
    found = operators(graph_of(16, (9, 9), (2, 2)))
    assert found == ["_ones", "Convolution", "Pooling"]


@pytest.mark.parametrize("channels, through", [(16, ["Pooling"]), (12, ["slice_axis"])])
def test_what_a_convolution_leaves_together_is_left_to_the_operator(small_cache, channels, through):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(channels, 3, padding="same"), nn.BatchNorm(), nn.LeakyReLU(0.1))
    net.add(nn.MaxPool2D(2, 2, padding="same"), nn.MaxPool2D(2, 2, padding="same"))
    net.initialize()
    specialize(net, (1, 3, 40, 40))
    found = operators(net(mx.sym.var("data")))
    start = found.index("LeakyReLU") + 1
    assert found[start : start + len(through)] == through
    assert found.count("Convolution") == 1


def test_other_channels_go_in_bands(small_cache):
    found = operators(graph_of(12, (9, 9), (2, 2)))
    assert found == ["slice_axis", "Pooling"] * 3 + ["Concat"]


def test_one_axis_goes_as_rows_of_two():
    assert operators(graph_of(12, (9,), (2,))) == ["Reshape", "Pooling", "Reshape"]
    assert operators(graph_of(13, (9,), (2,))) == operators(graph_of(6, (9,), (2,))) == ["Pooling"]


def test_three_axes_go_one_after_the_other(small_cache):
    found = operators(graph_of(3, (4, 5, 6), (2, 2, 2)))
    assert "Convolution" not in found and found.count("Reshape") == 3


def test_small_planes_are_left_to_the_operator():
    assert operators(graph_of(16, (9, 9), (2, 2))) == ["Pooling"]
    assert operators(graph_of(None, (999, 999), (2, 2))) == ["Pooling"]


def test_so_are_fewer_channels_than_the_quick_kernel_takes(small_cache):
    assert operators(graph_of(3, (9, 9), (2, 2))) == ["Pooling"]


def test_windows_that_do_not_overlap_go_as_fewer_rows(small_cache):
    for channels in (3, 16):
        found = operators(graph_of(channels, (12, 6), (2, 2), stride=2))
        assert found == ["Reshape", "Pooling", "Reshape"]


@pytest.mark.parametrize("channels", [3, 12, 16])
@pytest.mark.parametrize("size", [(40,), (9, 9), (4, 5, 6)])
def test_the_last_node_has_the_name(small_cache, channels, size):
    graph = functional.pooling(
        mx.sym,
        mx.sym.var("data"),
        kernel=(2,) * len(size),
        stride=2,
        in_size=size,
        in_channels=channels,
        dtype="float32",
        name="mine",
    )
    assert graph.name == "mine"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("channels", [12, 16])
def test_a_specialised_layer_in_any_dtype(small_cache, dtype, channels):
    layer = nn.AvgPool2D(3, 2, "same")
    x = mx.nd.random.normal(shape=(2, channels, 14, 15)).astype(dtype)
    want = layer(x).asnumpy()
    layer.cast(dtype)
    specialize(layer, x.shape).hybridize()
    got = layer(x)
    assert got.dtype == np.dtype(dtype)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5)


def test_numpy_mode(numpy_mode, small_cache):
    layer = nn.MaxPool2D(2, 1, padding="same")
    x = mx.np.random.normal(size=(2, 16, 11, 9))
    want = layer(x)
    specialize(layer, x.shape).hybridize()
    assert isinstance(layer(x), mx.np.ndarray)
    np.testing.assert_array_equal(layer(x).asnumpy(), want.asnumpy())
