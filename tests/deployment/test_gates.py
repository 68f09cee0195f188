"""Products with gates, in oneDNN's layout."""

import os
import subprocess
import sys

import mxnet as mx
import numpy as np
import pytest
from mxnet import gluon

import gluon_same
from gluon_same.deployment import fold_batchnorm, fuse, gates
from gluon_same.deployment.running import as_numpy, caller, error
from graphs import graph_of, operators, rewritten

F, X = mx.sym, mx.sym.var("data0")

needs_onednn = pytest.mark.skipif(not fuse.available(), reason="MXNet is without oneDNN")


def convolution(x, channels=8, kernel=1, **kwargs):
    pad = (kernel // 2,) * 2
    return F.Convolution(x, kernel=(kernel, kernel), pad=pad, num_filter=channels, **kwargs)


def sigmoid(x):
    return (mx.sym if isinstance(x, mx.sym.Symbol) else mx.nd).Activation(x, act_type="sigmoid")


def swish(x):
    return x * sigmoid(x)


class Swish(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return swish(x)


def squeeze_excite(x, channels=8):
    gate = F.Pooling(x, global_pool=True, pool_type="avg", kernel=(1, 1))
    gate = swish(convolution(gate, 2))
    return F.broadcast_mul(x, sigmoid(convolution(gate, channels)))


def scaled(symbol, batch=1):
    return rewritten(symbol, [gates.scale_by_normalization], (batch, 8, 5, 6))


def test_constants_after_computed_scales_are_part_of_the_normalization():
    gamma, beta = (F.var(name, shape=(1, 8, 1, 1)) for name in ("gamma", "beta"))
    symbol = F.broadcast_add(F.broadcast_mul(gamma, squeeze_excite(X)), beta) * 2
    rules = [gates.scale_by_normalization, fold_batchnorm.fold_after]
    found = rewritten(symbol, rules, (1, 8, 5, 6))
    assert found[-1] == "BatchNorm" and not {"broadcast_mul", "broadcast_add", "_mul_scalar"} & set(
        found
    )


def test_scales_of_images_that_convolutions_read_are_depthwise_convolutions():
    rules = [gates.scale_by_normalization, fold_batchnorm.fold_after, gates.scale_by_depthwise]
    gate, image = sigmoid(F.mean(X, axis=(2, 3), keepdims=True)), (1, 8, 5, 6)
    beta = F.var("beta", shape=(1, 8, 1, 1))

    def depthwise(symbol):
        found = rewritten(symbol, rules, image)
        assert "broadcast_mul" not in found
        return "BatchNorm" not in found

    assert depthwise(squeeze_excite(convolution(X)))
    assert depthwise(convolution(F.broadcast_mul(X, gate)))
    assert depthwise(convolution(F.broadcast_add(F.broadcast_mul(X, gate), beta)))
    assert not depthwise(F.broadcast_mul(X, gate))


@pytest.mark.parametrize(
    "stays, batch, mean, changed",
    [
        (False, 1, 0, {}),
        (True, 2, 0, {}),
        (True, 1, 1, {}),
        (True, 1, 0, {"eps": 0.5}),
        (True, 1, 0, {"fix_gamma": True}),
        (True, 1, 0, {"gamma": F.var("gamma", shape=(8,))}),
    ],
)
def test_other_normalizations_stay(stays, batch, mean, changed):
    gamma = F.slice_axis(F.reshape(F.mean(X, axis=(2, 3)), shape=(-1,)), axis=0, begin=0, end=8)
    how = {"gamma": gamma, "fix_gamma": False, "use_global_stats": True, "eps": 0.25, **changed}
    graph = graph_of(convolution(F.BatchNorm(X, name="norm", **how)), (batch, 8, 5, 6))
    graph.params["norm_moving_mean"][:] = mean
    graph.params["norm_moving_var"][:] = 0.75
    x = [mx.nd.random.normal(shape=(batch, 8, 5, 6))]
    want = as_numpy(caller(graph)(x))
    graph.rewrite(gates.scale_by_depthwise)
    assert ("BatchNorm" in operators(graph)) == stays
    assert error(as_numpy(caller(graph)(x)), want) < 1e-5


def fused(symbol, batch, *rules):
    """The operators after fusion, which must not change the numbers of any call."""
    graph = graph_of(symbol, (batch, 3, 9, 8))
    graph.rewrite(gates.scale_by_normalization, *rules)
    after = fuse.fuse(graph)
    inputs = [mx.nd.random.normal(shape=(batch, 3, 9, 8)) * scale for scale in (1, -2, 30)]
    runs = caller(graph), caller(after)
    for x in inputs:
        want, got = (as_numpy(run([x])) for run in runs)
        assert error(got, want) < 1e-5
    return operators(after)


@pytest.mark.parametrize("turn", [False, True])
def test_channels_are_scaled_by_a_normalization(turn):
    gate = sigmoid(F.mean(X, axis=(2, 3), keepdims=True))
    symbol = F.broadcast_mul(*((gate, X) if turn else (X, gate)))
    assert scaled(symbol)[-1] == "BatchNorm"
    assert scaled(symbol, batch=2)[-1] == "broadcast_mul"


@pytest.mark.parametrize(
    "gate",
    [
        F.var("weight", shape=(1, 8, 1, 1)),
        F.mean(X, axis=1, keepdims=True),
        F.mean(X, axis=(1, 2, 3), keepdims=True),
    ],
)
def test_other_scales_stay(gate):
    assert scaled(F.broadcast_mul(X, gate))[-1] == "broadcast_mul"


def test_scaling_is_exact():
    x = np.random.RandomState(0).normal(size=(1, 8, 5, 6)).astype("float32")
    graph = graph_of(F.broadcast_mul(X, F.max(X, axis=(2, 3), keepdims=True)), x.shape)
    graph.rewrite(gates.scale_by_normalization)
    (found,) = as_numpy(caller(graph)([mx.nd.array(x)]))
    np.testing.assert_array_equal(found.astype("float32"), x * x.max((2, 3), keepdims=True))


@needs_onednn
@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize(
    "symbol",
    [
        convolution(swish(convolution(X))),
        swish(convolution(X)),
        convolution(swish(convolution(X))) + swish(convolution(X)),
        convolution(convolution(X) * sigmoid(convolution(X))),
        F.concat(swish(convolution(X)), convolution(X), dim=1),
        F.FullyConnected(swish(F.FullyConnected(X, num_hidden=4)), num_hidden=3),
        convolution(squeeze_excite(swish(convolution(X, kernel=3))), 4),
    ],
)
def test_products_with_a_sigmoid_are_fused(symbol, batch):
    found = fused(symbol, batch)
    assert gates.GRADIENT in found and "elemwise_mul" not in found and "_mul_scalar" not in found


@needs_onednn
@pytest.mark.parametrize("make", [swish, lambda x: x, lambda x: F.Activation(x, act_type="relu")])
def test_a_computed_scale_is_never_folded(make):
    y = make(convolution(X, kernel=3))
    gate = sigmoid(F.slice_axis(F.mean(X, axis=(2, 3), keepdims=True), axis=1, begin=0, end=1))
    gate = F.tile(gate, reps=(1, 8, 1, 1))
    symbol = F.Activation(convolution(F.broadcast_mul(y, gate), 4), act_type="relu")
    assert "BatchNorm" in fused(symbol, 1)
    assert "Convolution" in fused(symbol, 1, gates.scale_by_depthwise)


@needs_onednn
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_a_graph_with_results_of_another_dtype_is_fused_without_products(dtype):
    # Infinity does not mark them, nor does MXNet add it to them.
    y = F.Activation(convolution(swish(convolution(X))), act_type="relu")
    found = fused(F.Group([y, F.Cast(F.argmax(y, axis=1), dtype=dtype)]), 1)
    assert gates.GRADIENT not in found and any(op.startswith("_sg_mkldnn") for op in found)


@needs_onednn
def test_products_with_others_stay():
    symbol = convolution(F.Activation(convolution(X), act_type="relu") * F.tanh(convolution(X)))
    found = fused(symbol, 1)
    assert "elemwise_mul" in found and gates.GRADIENT not in found


@needs_onednn
def test_a_gated_graph_does_not_give_other_numbers_without_onednn(tmp_path):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(4, 3, in_channels=2), Swish(), gluon.nn.Conv2D(3, 1, in_channels=4))
    net.initialize()
    deployed = gluon_same.deploy(net, (1, 2, 6, 6), tune=False)
    deployed.export(str(tmp_path / "net"))
    assert gates.GRADIENT in (tmp_path / "net-symbol.json").read_text()
    program = (
        "import sys, gluon_same, mxnet as mx; path = sys.argv[1]; net = mx.gluon.SymbolBlock.imports"
    )
    program += "(path + '-symbol.json', ['data'], path + '-0000.params'); x = mx.nd.ones((1, 2, 6, 6))"
    program += "; print(float(net(x).max().asscalar()))"
    greatest = []
    for enabled in ("1", "0"):
        env = {**os.environ, "MXNET_MKLDNN_ENABLED": enabled}
        command = [sys.executable, "-c", program, str(tmp_path / "net")]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
        greatest.append(float(done.stdout.splitlines()[-1]))
    np.testing.assert_allclose(greatest[0], net(mx.nd.ones((1, 2, 6, 6))).max().asscalar(), rtol=1e-5)
    assert greatest[1] == -np.inf
