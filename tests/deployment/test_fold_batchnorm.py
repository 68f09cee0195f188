"""Rules that fold scales and shifts into layers."""

import mxnet as mx
import pytest

from gluon_same.deployment import fold_batchnorm
from graphs import graph_of, rewritten

F, X = mx.sym, mx.sym.var("data0")
RULES = fold_batchnorm.RULES


def convolution(x, **kwargs):
    return F.Convolution(x, **{**dict(kernel=(3, 3), num_filter=4, name="c"), **kwargs})


def norm(x, **kwargs):
    return F.BatchNorm(x, **{**dict(fix_gamma=False, eps=1e-3, name="n"), **kwargs})


@pytest.mark.parametrize("fix_gamma", [False, True])
@pytest.mark.parametrize(
    "layer",
    [
        convolution,
        lambda x: convolution(x, no_bias=True, stride=(2, 2), pad=(1, 1)),
        lambda x: convolution(x, num_group=2, dilate=(2, 2)),
        lambda x: F.Deconvolution(x, kernel=(2, 2), stride=(2, 2), num_filter=6, num_group=2, name="d"),
        lambda x: F.Deconvolution(x, kernel=(3, 3), num_filter=5, no_bias=False, name="d"),
        lambda x: F.FullyConnected(x, num_hidden=5, name="f"),
        lambda x: F.FullyConnected(x, num_hidden=5, no_bias=True, name="f"),
    ],
)
def test_a_normalization_after_a_layer_is_folded(layer, fix_gamma):
    assert len(rewritten(norm(layer(X), fix_gamma=fix_gamma), RULES, (2, 4, 6, 6))) == 1


def test_a_dense_layer_on_the_last_axis():
    symbol = F.FullyConnected(X, num_hidden=5, flatten=False, name="f")
    assert rewritten(norm(symbol, axis=-1), RULES, (2, 3, 4)) == ["FullyConnected"]
    assert len(rewritten(norm(symbol, axis=1), RULES, (2, 3, 4))) == 2


@pytest.mark.parametrize(
    "move, axis",
    [
        (lambda x: F.transpose(x, axes=(0, 2, 3, 1)), -1),
        (F.transpose, 2),
        (lambda x: F.reshape(x, shape=(0, 0, -1)), 1),
        (lambda x: F.reshape(F.reshape(x, shape=(-1,)), shape=(2, 4, -1)), 1),
        (
            lambda x: F.reshape(F.expand_dims(F.transpose(x, axes=(0, 2, 3, 1)), axis=0), shape=(-1, 4)),
            1,
        ),
        (lambda x: F.concat(x, convolution(X, num_filter=6, name="d"), dim=1), 1),
        (lambda x: F.concat(x, convolution(X, name="d"), dim=2), 1),
    ],
)
def test_what_follows_moved_results_of_layers_is_folded(move, axis):
    found = rewritten(norm(move(convolution(X)), axis=axis), RULES, (2, 4, 6, 6))
    assert "BatchNorm" not in found
    assert "_mul_scalar" not in rewritten(move(convolution(X)) * 3, RULES, (2, 4, 6, 6))


@pytest.mark.parametrize(
    "move, axis",
    [
        (lambda x: F.transpose(x, axes=(0, 2, 3, 1)), 1),  # rows of the image
        (lambda x: F.reshape(x, shape=(0, -1, 2, 4)), 1),
        (lambda x: F.concat(x, F.relu(convolution(X, name="d")), dim=1), 1),
        (lambda x: F.concat(x, x, dim=1), 1),  # each with other scales
        (lambda x: F.slice_axis(x, axis=1, begin=0, end=2), 1),
    ],
)
def test_what_follows_other_results_stays(move, axis):
    assert "BatchNorm" in rewritten(norm(move(convolution(X)), axis=axis), RULES, (2, 4, 6, 6))


@pytest.mark.parametrize(
    "layer",
    [
        convolution,
        lambda x: convolution(x, num_group=2, no_bias=True),
        lambda x: F.FullyConnected(x, num_hidden=5, name="f"),
        lambda x: F.FullyConnected(x, num_hidden=5, no_bias=True, name="f"),
    ],
)
def test_a_normalization_before_a_layer_is_folded(layer):
    assert len(rewritten(layer(norm(X)), RULES, (2, 4, 6, 6))) == 1


def test_a_shift_before_padding_stays_and_a_scale_is_folded():
    assert len(rewritten(convolution(norm(X), pad=(1, 1)), RULES, (2, 4, 6, 6))) == 2
    assert len(rewritten(convolution(X * 3, pad=(1, 1)), RULES, (2, 4, 6, 6))) == 1


def test_what_others_take_too_stays():
    y = convolution(X)
    assert len(rewritten(F.Group([y, norm(y)]), RULES, (2, 4, 6, 6))) == 2
    z = norm(X)
    assert len(rewritten(F.Group([z, convolution(z)]), RULES, (2, 4, 6, 6))) == 2


def test_a_normalization_along_another_axis_stays():
    assert len(rewritten(norm(convolution(X), axis=2), RULES, (2, 4, 6, 6))) == 2


def test_a_layer_that_is_called_twice_gets_weights_for_each():
    weight = F.var("w", shape=(4, 4, 1, 1))
    one = F.Convolution(X, weight, kernel=(1, 1), num_filter=4, no_bias=True)
    two = F.Convolution(F.relu(norm(one, name="a")), weight, kernel=(1, 1), num_filter=4, no_bias=True)
    found = rewritten(norm(two, name="b"), RULES, (2, 4, 6, 6))
    assert found == ["Convolution", "relu", "Convolution"]


@pytest.mark.parametrize(
    "change",
    [
        lambda y: y * 2 + 1,
        lambda y: (y - 3) / 4,
        lambda y: F.broadcast_mul(y, F.var("s", shape=(1, 4, 1, 1))),
        lambda y: F.broadcast_sub(
            F.broadcast_add(F.var("s", shape=(4, 1, 1)), y), F.var("t", shape=(1,))
        ),
    ],
)
def test_scales_and_shifts_by_other_operators(change):
    assert rewritten(change(convolution(X)), RULES, (2, 4, 6, 6)) == ["Convolution"]


def test_scales_of_positions_stay():
    change = F.broadcast_mul(convolution(X), F.var("s", shape=(1, 1, 4, 1)))
    assert len(rewritten(change, RULES, (2, 4, 6, 6))) == 2


def test_an_operator_after_a_crop_moves_before_it():
    cut = F.slice(convolution(X, pad=(2, 2)), begin=(None, None, 1, 1), end=(None,) * 4)
    symbol = F.clip(norm(cut), a_min=0, a_max=6)
    assert rewritten(symbol, RULES, (2, 4, 9, 9)) == ["Convolution", "clip", "slice"]


def test_a_crop_that_leaves_little_stays_first():
    cut = F.slice(convolution(X), begin=(None, None, 5, None), end=(None,) * 4)
    assert rewritten(F.relu(cut), RULES, (2, 4, 9, 9)) == ["Convolution", "slice", "relu"]


def test_a_learned_slope_stays_after_a_slice_of_channels():
    cut = F.slice_axis(convolution(X), axis=1, begin=0, end=3)
    symbol = F.LeakyReLU(cut, F.var("slope", shape=(3,)), act_type="prelu")
    assert rewritten(symbol, RULES, (2, 4, 6, 6)) == ["Convolution", "slice_axis", "LeakyReLU"]


def test_scales_stay_after_a_slice_that_reverses_the_channels():
    cut = F.slice(convolution(X), begin=(None,) * 4, end=(None,) * 4, step=(None, -1, None, None))
    assert rewritten(norm(cut), RULES, (2, 4, 6, 6)) == ["Convolution", "slice", "BatchNorm"]
    assert rewritten(F.relu(cut), RULES, (2, 4, 6, 6)) == ["Convolution", "slice", "relu"]


def test_a_division_by_zero_stays():
    graph = graph_of(convolution(X) / 0, (2, 4, 6, 6))
    assert graph.rewrite(*RULES) == 0


def test_the_sign_of_a_layer_is_folded():
    def layer(x):
        return convolution(x, pad=(1, 1))

    y = F.elemwise_sub(F.relu(X), layer(F.relu(X)))
    assert rewritten(y, RULES, (2, 4, 6, 6)) == ["relu", "relu", "Convolution", "elemwise_add"]
    y = F.elemwise_sub(layer(X), F.relu(X))
    assert rewritten(y, RULES, (2, 4, 6, 6)) == ["Convolution", "relu", "elemwise_sub"]


def test_scales_after_a_normalization_that_returns_its_statistics_stay():
    y = F.LayerNorm(X, output_mean_var=True)
    assert rewritten(F.Group([y[0] * 2, y[1]]), RULES, (3, 5)) == ["LayerNorm", "_mul_scalar"]
