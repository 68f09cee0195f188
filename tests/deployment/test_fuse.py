"""What fusion may not change."""

import mxnet as mx
import numpy as np
import pytest

import gluon_same
from gluon_same import nn
from gluon_same.deployment import pipeline
from gluon_same.deployment.fuse import available, fuse, has_avx512, kinds, shield, unfuse
from gluon_same.deployment.running import error, outputs
from graphs import graph_of, operators
from small_nets import Body, operators_of

F, X = mx.sym, mx.sym.var("data0")


def close(got, want):
    for a, b in zip(got, want):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), atol=1e-5 * b.abs().max().asscalar())


def test_weights_that_follow_from_the_input_are_not_kept():
    class Dynamic(nn.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.layer = nn.Dense(8 * 3, activation="relu")

        def hybrid_forward(self, F, x):
            weight = F.reshape(self.layer(x), shape=(8, 3, 1, 1))
            return F.relu(F.Convolution(x, weight, kernel=(1, 1), num_filter=8, no_bias=True))

    net = Dynamic()
    net.initialize()
    x = mx.nd.random.normal(shape=(1, 3, 5, 5))
    net(x)
    block = gluon_same.deploy(net, x.shape, tune=False)
    found = operators_of(block(mx.sym.var("data")))
    assert "Convolution" in found and (not available() or "_sg_mkldnn_fully_connected" in found)
    for factor in (1, 2, -3):
        close([block(x * factor)], [net(x * factor)])
    with pytest.raises(ValueError, match="weights that are parameters"):
        gluon_same.deploy(net, x.shape, dtype="int8", data=x, tune=False)


@pytest.mark.skipif(not available(), reason="requires oneDNN")
def test_a_gate_before_a_layer_with_computed_weights_is_fused():
    how = dict(num_filter=8, kernel=(3, 3))
    y = F.Activation(F.Convolution(X, pad=(1, 1), name="layer", **how), act_type="relu")
    y = F.Activation(F.Convolution(y, pad=(1, 1), name="other", **how), act_type="relu")
    y = F.Convolution(y * F.Activation(y, act_type="sigmoid"), F.var("data1"), no_bias=True, **how)
    graph = graph_of(y, (1, 8, 8, 8), (8, 8, 3, 3))
    arrays = [mx.nd.random.normal(shape=shape) for shape in ((1, 8, 8, 8), (8, 8, 3, 3))]
    fused = fuse(graph)
    assert "_sg_mkldnn_conv" in operators(fused)
    assert error(outputs(fused, arrays), outputs(graph, arrays)) < 1e-5


FORKS = {
    "output and relu": lambda F, c, x: (lambda y: (y, F.relu(y)))(c(x)),
    "output and sigmoid": lambda F, c, x: (lambda y: (y, F.sigmoid(y)))(c(x)),
    "sum with itself": lambda F, c, x: (lambda y: y + y)(c(x)),
    "sum with its activation": lambda F, c, x: (lambda y: y + F.tanh(y))(c(x)),
    "sum that is an output and activated": lambda F, c, x: (lambda y: (y, F.relu(y)))(c(x) + x),
    "among large numbers": lambda F, c, x: (lambda y: F.concat(3000 * x, F.tanh(y) + y, dim=1))(c(x)),
}


@pytest.mark.parametrize("name", FORKS)
@pytest.mark.parametrize("tune", [False, True])
def test_a_result_that_is_used_twice_is_not_fused_away(name, tune):
    net = Body(FORKS[name])
    net.initialize(mx.init.Xavier())
    x = mx.nd.random.normal(shape=(1, 3, 8, 8))
    got, want = gluon_same.deploy(net, x.shape, tune=tune)(x), net(x)
    for a, b in zip(*(y if isinstance(y, (list, tuple)) else [y] for y in (got, want))):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-4)


def test_int8_refuses_an_output_that_the_net_uses_too():
    net = Body(FORKS["output and relu"])
    net.initialize(mx.init.Xavier())
    with pytest.raises(ValueError, match="output of the net that other operators use"):
        gluon_same.deploy(net, (1, 3, 8, 8), dtype="int8", data=mx.nd.ones((2, 3, 8, 8)), tune=False)


@pytest.mark.skipif(not available(), reason="MXNet is without oneDNN")
def test_products_that_shield_results_do_not_stay():
    y = X
    for i in range(3):  # residual sums, each of which is used twice
        z = F.Convolution(y, kernel=(3, 3), pad=(1, 1), num_filter=8, name=f"conv{i}")
        y = y + F.Convolution(F.relu(z), kernel=(1, 1), num_filter=8, name=f"linear{i}")
    graph = graph_of(y, (1, 8, 8, 8))
    assert operators(shield(graph)).count("_mul_scalar") == 2
    fused = fuse(graph)
    assert "_mul_scalar" not in operators(fused)
    assert operators(fused).count("_sg_mkldnn_conv") == 6
    arrays = [mx.nd.random.normal(shape=(1, 8, 8, 8))]
    assert error(outputs(fused, arrays), outputs(graph, arrays)) < 1e-5


def several_kinds():
    """Layers, fused with a ReLU, a sum and a sigmoid."""
    y = F.Convolution(X, kernel=(3, 3), pad=(1, 1), num_filter=8, name="first")
    y = F.Activation(y, act_type="relu")
    y = y + F.Convolution(y, kernel=(1, 1), num_filter=8, name="second")
    return F.Activation(F.FullyConnected(y, num_hidden=3, name="dense"), act_type="sigmoid")


@pytest.mark.skipif(not available(), reason="this build of MXNet is without oneDNN")
def test_each_kind_of_fused_operators_is_taken_apart():
    graph = graph_of(several_kinds(), (2, 4, 6, 6))
    fused, arrays = fuse(graph), [mx.nd.random.normal(shape=(2, 4, 6, 6))]
    want = outputs(graph, arrays)
    assert {"Convolution + relu", "FullyConnected + sigmoid"} < set(kinds(fused))
    for kind in kinds(fused):
        apart = unfuse(fused, kind)
        assert set(kinds(apart)) == set(kinds(fused)) - {kind}
        assert error(outputs(apart, arrays), want) < 1e-5


@pytest.mark.skipif(not available(), reason="this build of MXNet is without oneDNN")
def test_tuning_takes_apart_what_is_slower_fused(monkeypatch):
    def faster(graphs, arrays, rule):
        return next((name for name in graphs if "sigmoid" in name), rule), True

    monkeypatch.setattr(pipeline, "faster", faster)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.Conv2D(1, 3, activation="sigmoid"))
    net.initialize()
    x = mx.nd.random.normal(shape=(1, 3, 8, 8))
    block = gluon_same.deploy(net, x.shape)
    close([block(x)], [net(x)])
    assert block.report.rows[-1].note == "except Convolution + sigmoid: slower"
    assert '"Convolution"' in block._cached_graph[1].tojson()


@pytest.mark.skipif(not available(), reason="requires oneDNN")
@pytest.mark.skipif(not available(), reason="requires oneDNN")
@pytest.mark.parametrize("axis", [-1, 2, 3])
def test_a_normalization_of_another_axis_is_not_fused(axis):
    """MXNet folds it into the channels of the convolution, and writes beyond the arrays."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, padding=1, in_channels=3), nn.BatchNorm(axis=axis, in_channels=16))
    net.initialize(mx.init.Normal(0.3))
    for parameter in net.collect_params().values():
        parameter.set_data(mx.nd.random.uniform(0.5, 2, shape=parameter.shape))
    x = mx.nd.random.normal(shape=(2, 3, 16, 16))
    y = net(mx.sym.var("data0"))
    assert operators(shield(graph_of(y, x.shape))) == ["Convolution", "_mul_scalar", "BatchNorm"]
    block = gluon_same.deploy(net, x.shape, tune=False)
    assert error([block(x).asnumpy()], [net(x).asnumpy()]) < 1e-5


def test_a_dense_layer_after_an_image_of_one_pixel_is_fused():
    net = nn.HybridSequential()
    net.add(nn.GlobalAvgPool2D(), nn.Conv2D(32, 1), nn.Activation("relu"), nn.Dense(10))
    net.initialize()
    x = mx.nd.random.normal(shape=(1, 16, 8, 8))
    want = net(x)
    block = gluon_same.deploy(net, x.shape, tune=False)
    assert block.report.rows[-1].note == ""
    for _ in range(3):  # MXNet failed in the second call
        close([block(x)], [want])


@pytest.mark.parametrize("limit", [None, "", "ALL", "AVX512_CORE_VNNI", "avx2", "AVX", "SSE41"])
def test_a_limit_of_onednn_turns_avx512_off(limit, monkeypatch):
    monkeypatch.setattr("gluon_same.deployment.fuse.processor_features", lambda: {"avx2", "avx512bw"})
    monkeypatch.delenv("DNNL_MAX_CPU_ISA", raising=False)
    if limit is not None:
        monkeypatch.setenv("DNNL_MAX_CPU_ISA", limit)
    assert has_avx512() == (limit not in ("avx2", "AVX", "SSE41"))
    monkeypatch.setattr("gluon_same.deployment.fuse.processor_features", lambda: {"avx2"})
    assert not has_avx512()


def test_dense_layers_alone_are_fused():
    y = F.tanh(F.FullyConnected(F.tanh(F.FullyConnected(X, num_hidden=8)), num_hidden=8))
    fused = fuse(graph_of(y, (2, 4)))
    assert operators(fused).count("_sg_mkldnn_fully_connected") == 2
    assert fuse(graph_of(F.tanh(X), (2, 4))) is None
