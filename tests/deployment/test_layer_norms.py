"""Normalizations that files write as means, differences and roots, and averages."""

import mxnet as mx
import pytest

from gluon_same.deployment import fold_batchnorm, layer_norms, moves
from graphs import graph_of, operators, rewritten

F, X = mx.sym, mx.sym.var("data0")
EPSILON = 1e-3


def mean(x, axis):
    return F.mean(x, axis=axis, keepdims=True)


def centered(x, axis):
    return F.broadcast_sub(x, mean(x, axis))


def square(x):
    return F.elemwise_mul(x, x)


def variance(x, axis, power=square):
    return mean(power(centered(x, axis)), axis) + EPSILON


def scaled(x, axis, *gamma):
    """As ``tf.nn.batch_normalization`` computes it."""
    scale = F.rsqrt(variance(x, axis))
    for each in gamma:
        scale = F.broadcast_mul(scale, each)
    shift = F.broadcast_sub(F.var("beta", shape=(1,)), F.broadcast_mul(mean(x, axis), scale))
    return F.broadcast_add(F.broadcast_mul(x, scale), shift)


@pytest.mark.parametrize(
    "make",
    [
        lambda x, axis: F.broadcast_div(centered(x, axis), F.sqrt(variance(x, axis))),
        lambda x, axis: F.broadcast_div(centered(x, axis), F.sqrt(variance(x, axis, lambda y: y**2))),
        lambda x, axis: F.broadcast_div(centered(x, axis), variance(x, axis, F.square) ** 0.5),
        lambda x, axis: F.broadcast_mul(centered(x, axis), F.rsqrt(variance(x, axis))),
        lambda x, axis: F.broadcast_mul(F.reciprocal(F.sqrt(variance(x, axis))), centered(x, axis)),
        lambda x, axis: F.broadcast_mul(centered(x, axis), 1 / F.sqrt(variance(x, axis))),
        lambda x, axis: F.broadcast_mul(centered(x, axis), variance(x, axis) ** -0.5),
        scaled,
        lambda x, axis: scaled(x, axis, F.var("gamma", shape=(1,))),
    ],
)
@pytest.mark.parametrize(
    "axis, moves",
    [
        (-1, []),
        ((3,), []),
        ((2, 3), ["Reshape"]),
        ((1, 2, 3), ["Reshape"]),
        (1, ["transpose"]),
        ((1, 3), ["transpose", "Reshape"]),
    ],
)
def test_normalizations_are_one_operator(make, axis, moves):
    found = rewritten(make(X, axis), layer_norms.RULES, (2, 5, 4, 3))
    extra = [op for op in found if op in ("broadcast_mul", "broadcast_add")]
    assert found == [*moves, "LayerNorm", *moves[::-1], *extra]


@pytest.mark.parametrize("axis, shape", [(-1, (7,)), (1, (5, 1, 1))])
def test_scales_and_shifts_are_part_of_the_normalization(axis, shape):
    y = F.broadcast_div(centered(X, axis), F.sqrt(variance(X, axis)))
    y = F.broadcast_add(F.broadcast_mul(y, F.var("gamma", shape=shape)), F.var("beta", shape=shape))
    found = rewritten(y, [*layer_norms.RULES, fold_batchnorm.fold_after], (2, 5, 6, 7))
    assert [op for op in found if op != "transpose"] == ["LayerNorm"]


@pytest.mark.parametrize(
    "symbol",
    [
        F.broadcast_div(centered(X, 1), F.sqrt(variance(X, 2))),
        F.broadcast_div(centered(X, 1), F.sqrt(variance(X * 2, 1))),
        F.broadcast_div(centered(X, 1), F.rsqrt(variance(X, 1))),
        F.broadcast_mul(centered(X, 1), F.sqrt(variance(X, 1))),
        F.broadcast_div(centered(X, 1), F.sqrt(mean(square(X), 1) + 1)),
        F.broadcast_div(F.sqrt(variance(X, 1)), centered(X, 1)),
        F.broadcast_div(centered(X, 1), F.sqrt(variance(X, 1) * 2)),
        F.broadcast_div(centered(X, 1), F.sqrt(variance(X, 1, lambda y: F.abs(y) ** 3))),
        F.broadcast_add(
            F.broadcast_mul(X, F.rsqrt(variance(X, 1))),
            F.broadcast_mul(mean(X, 1), F.rsqrt(variance(X, 1))),
        ),
    ],
)
def test_other_quotients_stay(symbol):
    assert "LayerNorm" not in rewritten(symbol, layer_norms.RULES, (2, 4, 5))


def test_sums_with_a_scaled_mean_stay():
    average = mean(X, 1)
    scale = F.rsqrt(mean(square(F.broadcast_sub(X, average)), 1) + EPSILON)
    y = F.broadcast_add(F.broadcast_mul(X, scale), F.broadcast_mul(average, scale))
    assert "LayerNorm" not in rewritten(y, layer_norms.RULES, (2, 4, 5))


@pytest.mark.parametrize(
    "after", [lambda y: y, lambda y: y * 2, lambda y: F.reshape(y, shape=(0, -4, 4, 4, -2))]
)
@pytest.mark.parametrize("axis", [(2, 3, 4), (1, 2, 3, 4)])
def test_volumes_from_layers_are_copied_before_they_are_reshaped(after, axis):
    y = after(F.Convolution(X, kernel=(3, 3, 3), pad=(1, 1, 1), num_filter=16))
    y = F.broadcast_div(centered(y, axis), F.sqrt(variance(y, axis)))
    found = rewritten(F.relu(y), [*layer_norms.RULES, *moves.RULES], (1, 4, 3, 4, 5))
    assert found[found.index("LayerNorm") - 2 :][:2] == ["transpose", "Reshape"]


@pytest.mark.parametrize("axis", [1, (1, 2)])
def test_reshaped_volumes_from_layers_are_copied_before(axis):
    y = F.Convolution(X, kernel=(3, 3, 3), pad=(1, 1, 1), num_filter=16)
    y = F.reshape(y, shape=(1, 4, -1))
    y = F.relu(F.broadcast_div(centered(y, axis), F.sqrt(variance(y, axis))))
    found = rewritten(y, layer_norms.RULES, (1, 4, 3, 4, 5))
    assert found[:3] == ["Convolution", "transpose", "Reshape"]


def test_rows_that_are_too_long_stay(monkeypatch):
    monkeypatch.setattr(layer_norms, "MOST", 9)
    assert graph_of(scaled(X, -1), (2, 10)).rewrite(*layer_norms.RULES) == 0


@pytest.mark.parametrize("reduce", [F.mean, F.sum])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("batch", [1, 3])
def test_averages_are_layers(reduce, keepdims, batch, monkeypatch):
    monkeypatch.setattr(layer_norms, "LEAST", 2)
    rules, end = [layer_norms.average_by_layer], [] if keepdims else ["Reshape"]
    for axis in (3, -1, (-1,)):
        found = rewritten(reduce(X, axis=axis, keepdims=keepdims), rules, (batch, 5, 4, 7))
        assert found == ["FullyConnected", *end]
    found = rewritten(reduce(X, axis=1, keepdims=keepdims), rules, (batch, 5, 4, 7))
    assert found == ["Convolution", "slice_axis", *end]
    for stays in (dict(axis=2), dict(axis=(1, 2)), dict(axis=3, exclude=True), {}):
        assert len(rewritten(reduce(X, keepdims=keepdims, **stays), rules, (batch, 5, 4, 7))) == 1
    name = reduce.__name__
    assert rewritten(reduce(X, axis=1, keepdims=keepdims), rules, (batch, 5, 4)) == [name]


def test_averages_of_few_numbers_stay():
    symbol = F.mean(X, axis=-1)
    graph = graph_of(symbol, (2, 8))
    assert graph.rewrite(layer_norms.average_by_layer) == 0 and operators(graph) == ["mean"]
