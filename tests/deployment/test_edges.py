"""Nets at the edges of the rules: other dtypes, weights that are inputs, unusual attributes."""

import mxnet as mx
import numpy as np
import pytest
from mxnet.gluon import nn as stock

import gluon_same
from gluon_same.deployment.fuse import available

needs_onednn = pytest.mark.skipif(not available(), reason="requires oneDNN")

X, W = (2, 4, 6, 6), (4, 4, 3, 3)


def convolution(F, x, w, kernel=(3, 3), **kwargs):
    return F.Convolution(x, w, kernel=kernel, num_filter=4, no_bias=True, **kwargs)


def double(F, x):
    return F.cast(x, "float64")


def arrays(shapes, seed=0, scale=1.0):
    rng = np.random.RandomState(seed)
    return [mx.nd.array(scale * rng.normal(size=shape)) for shape in shapes]


def compared(function, *shapes, dtype="float32", most=1e-5):
    """Deploy a function of arrays, and compare several calls; return the notes of the report."""
    net = stock.HybridLambda(function)
    net.initialize()
    block = gluon_same.deploy(net, *shapes, dtype=dtype, tune=False)
    for seed, scale in ((1, 1.0), (2, -5.0), (3, 0.1)):
        given = arrays(shapes, seed, scale)
        got, want = block(*given), net(*given)
        got, want = (y if isinstance(y, (list, tuple)) else [y] for y in (got, want))
        assert len(got) == len(want)
        for one, other in zip(got, want):
            assert one.shape == other.shape and one.dtype == other.dtype
            scale = abs(other.asnumpy()).max() or 1
            assert abs(one.asnumpy() - other.asnumpy()).max() <= most * scale
    return [row.note for row in block.report.rows if "results" in row.note or "fails" in row.note]


@needs_onednn
@pytest.mark.parametrize("dtype, most", [("float32", 1e-5), ("bfloat16", 3e-2)], indirect=["dtype"])
@pytest.mark.parametrize(
    "function, shapes",
    [
        (lambda F, x, w: F.relu(F.FullyConnected(x, w, num_hidden=4, no_bias=True)), [(4, 5)] * 2),
        (lambda F, x, w: F.relu(convolution(F, x, w)), [X, W]),
        (lambda F, x, w: F.relu(convolution(F, x, F.identity(w))), [X, W]),
    ],
)
def test_weights_that_are_inputs_are_read_at_each_call(function, shapes, dtype, most):
    assert compared(function, *shapes, dtype=dtype, most=most) == []


@needs_onednn
@pytest.mark.parametrize("role", ["gamma", "beta"])
def test_scales_that_are_inputs_are_not_folded_twice(role):
    class Net(stock.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.conv = stock.Conv2D(4, 3, in_channels=4)
                self.one = self.params.get_constant("one", mx.nd.ones(4))

        def hybrid_forward(self, F, x, y, one):
            roles = {"gamma": one, "beta": one, role: y}
            return F.BatchNorm(self.conv(x), moving_mean=one, moving_var=one, fix_gamma=False, **roles)

    net = Net()
    net.initialize()
    block = gluon_same.deploy(net, X, (4,), tune=False)
    for seed in (1, 2):
        given = arrays([X, (4,)], seed)
        np.testing.assert_allclose(block(*given).asnumpy(), net(*given).asnumpy(), 1e-4, 1e-5)
    assert not any("different results" in row.note for row in block.report.rows)


@pytest.mark.parametrize("make", [gluon_same.deploy, gluon_same.specialize])
def test_a_symbol_of_several_outputs_keeps_them_all(make):
    net = stock.HybridLambda(lambda F, x: [x + 1, F.split(x, num_outputs=2, axis=1)])
    block = make(net, (2, 4))
    (x,) = arrays([(2, 4)])
    first, (left, right) = block(x)
    for got, want in zip((first, left, right), (x + 1, x[:, :2], x[:, 2:])):
        np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())


@pytest.mark.parametrize(
    "function",
    [
        lambda F, x: [F.relu(F.cast(8 * x, "int32")), F.relu(x + 1)],
        lambda F, x: [F.cast(8 * x, "int32") * 0.5 * 4, F.relu(x)],
        lambda F, x: F.mean(F.cast(8 * x, "int32"), axis=(2, 3)) + 0,
        lambda F, x: F.mean(F.cast(x, "float16"), axis=(2, 3)),
        lambda F, x: F.clip(F.cast(8 * x, "int32") + 3, 0, 6),
        lambda F, x: F.maximum(double(F, x) * 2, 0),
        lambda F, x: double(F, x) * F.sigmoid(double(F, x)),
    ],
)
def test_other_dtypes_cost_no_pass(function):
    assert compared(function, X) == []


@needs_onednn
def test_layers_in_float64():
    def layer(F, x, w):
        y = F.maximum(convolution(F, double(F, x), double(F, w)) * 2, 0)
        return F.cast(y, "float32")

    assert compared(layer, X, W) == []


@pytest.mark.parametrize(
    "function",
    [
        lambda F, x: F.mean(x, axis=[2, 3]),
        lambda F, x: F.contrib.AdaptiveAvgPooling2D(x, output_size=[1, 1]),
        lambda F, x: F.relu(F.slice(x, begin=[0, 1], end=[2, 3])),
    ],
)
def test_lists_are_arguments_too(function):
    assert compared(function, X) == []


def test_one_axis_has_an_int():
    def layer(F, x, w):
        y = F.Convolution(x, w, kernel=3, pad=1, stride=2, num_filter=4, no_bias=True)
        return F.Pooling(F.relu(y), kernel=2, pool_type="max")

    assert compared(layer, (2, 3, 12), (4, 3, 3)) == []


@pytest.mark.parametrize(
    "shift, high", [(1.0, 3e38), (1e-10, 1e30), (1e10, 1e-20), (3.0, 6.0), (0.0, 1e-8)]
)
def test_a_clip_with_any_bound(shift, high):
    assert compared(lambda F, x: F.clip(x + shift, 0, high), X) == []


@needs_onednn
@pytest.mark.usefixtures("bfloat16")
@pytest.mark.parametrize("how", [{"kernel": (2, 2), "pool_type": "sum"}, {"global_pool": True}])
def test_poolings_that_onednn_lacks_stay_in_float32(how):
    def pooled(F, x, w):
        return F.Pooling(convolution(F, x, w), **{"pool_type": "avg", **how})

    assert compared(pooled, X, W, dtype="bfloat16", most=3e-2) == []


def test_bfloat16_is_refused_in_numpy_mode():
    net = stock.Dense(3, in_units=4)
    net.initialize()
    with mx.util.np_array(True), pytest.raises(ValueError, match="NumPy mode has no bfloat16"):
        gluon_same.deploy(net, (1, 4), dtype="bfloat16")


@needs_onednn
@pytest.mark.parametrize("kind", ["softmax", "log_softmax"])
@pytest.mark.parametrize("size", [(6,), (6, 6)])
@pytest.mark.parametrize(
    "between",
    [
        lambda F, y: F.clip(y, 0, 6),
        lambda F, y: y + F.ones_like(y),
        lambda F, y: F.slice_axis(y, axis=1, begin=0, end=8),
        lambda F, y: F.slice_axis(F.relu(y), axis=2, begin=1, end=6),
        lambda F, y: F.squeeze(F.expand_dims(y, axis=0), axis=0),
        lambda F, y: 0.5 * y,  # ends the process in MXNet, too, hybridized with static_alloc
    ],
)
def test_the_last_axis_of_a_layer_has_a_softmax(kind, size, between):
    def function(F, x, w):
        y = F.Convolution(x, w, kernel=(1,) * len(size), num_filter=8, no_bias=True)
        return getattr(F, kind)(between(F, y), axis=-1)

    assert compared(function, (1, 3, *size), (8, 3, *(1 for _ in size))) == []
