"""Rules that replace operators by equivalent ones."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same.deployment import activations, clean, convolutions, fold_batchnorm
from gluon_same.deployment.running import error, outputs
from gluon_same.graph import Graph
from gluon_same.importing import functions
from graphs import graph_of, rewritten

F, X = mx.sym, mx.sym.var("data0")


def convolution(x, channels=8, kernel=1, **kwargs):
    return F.Convolution(x, kernel=(kernel, kernel), num_filter=channels, **kwargs)


@pytest.mark.parametrize("make", [F.relu, F.sigmoid, F.tanh, lambda x: F.maximum(x, 0)])
def test_activations_are_onednns(make):
    assert rewritten(make(X), activations.RULES, (2, 3, 4, 4)) == ["Activation"]


@pytest.mark.parametrize(
    "exponent, operator", [(2, "square"), (0.5, "sqrt"), (-0.5, "rsqrt"), (3, "_power_scalar")]
)
def test_powers_have_operators_of_their_own(exponent, operator):
    found = rewritten((F.abs(X) + 1) ** exponent, activations.RULES, (2, 3, 4, 5))
    assert found == ["abs", "_plus_scalar", operator]


def test_equal_shapes_are_not_broadcast():
    y = F.relu(X)
    assert rewritten(F.broadcast_add(X, X), activations.RULES, (2, 3)) == ["elemwise_add"]
    found = rewritten(F.broadcast_mul(y, F.sum(y, axis=1, keepdims=True)), activations.RULES, (2, 3))
    assert found[-1] == "broadcast_mul"


@pytest.mark.parametrize(
    "make, count",
    [
        (lambda x: F.mean(x, axis=(2, 3), keepdims=True), 1),
        (lambda x: F.mean(x, axis=(-1, -2)), 2),
        (lambda x: F.max(x, axis=(2, 3)), 2),
        (lambda x: F.sum(x, axis=(2, 3), keepdims=True), 2),
        (lambda x: F.sum(x, axis=(3, 2)), 3),
        (lambda x: F.contrib.AdaptiveAvgPooling2D(x, output_size=1), 1),
    ],
)
def test_reduced_planes_are_pooled(make, count):
    found = rewritten(make(X), activations.RULES, (2, 3, 5, 7))
    assert found[0] == "Pooling" and len(found) == count


@pytest.mark.parametrize(
    "make",
    [
        lambda x: F.mean(x, axis=(1, 2)),
        lambda x: F.mean(x, axis=2),
        lambda x: F.mean(x),
        lambda x: F.mean(x, axis=(0, 1), exclude=True),
        lambda x: F.contrib.AdaptiveAvgPooling2D(x, output_size=2),
    ],
)
def test_other_reductions_stay(make):
    assert "Pooling" not in rewritten(make(X), activations.RULES, (2, 3, 4, 4))


def test_a_scale_after_the_clip_of_a_layer_is_absorbed():
    rules, shape, clipped = (*activations.RULES, *fold_batchnorm.RULES), (2, 3, 4, 4), F.clip
    for scaled in (clipped(convolution(X), 0, 6) / 6, clipped(convolution(X), -1, 0.1) * 0.3):
        assert rewritten(scaled, rules, shape) == ["Convolution", "clip"]
    shared = clipped(convolution(X), 0, 6)
    for scaled, count in (
        (clipped(X, 0, 6) / 6, 2),
        (shared * -1, 3),
        (F.Group([shared, shared / 6]), 3),
    ):
        assert len(rewritten(scaled, rules, shape)) == count


def test_a_bounded_relu_after_a_layer_is_a_clip():
    rules, shape = activations.RULES, (2, 3, 4, 4)
    bounded = F.clip(F.Activation(convolution(X), act_type="relu"), 0, 6)
    assert rewritten(bounded, rules, shape) == ["Convolution", "clip"]
    assert rewritten(F.clip(F.Activation(X, act_type="relu"), 0, 6), rules, shape) == [
        "Activation",
        "clip",
    ]
    lower = F.clip(F.Activation(convolution(X), act_type="relu"), -1, 6)
    assert rewritten(lower, rules, shape) == ["Convolution", "Activation", "clip"]


def test_a_hard_sigmoid_after_a_layer_is_a_clip():
    rules = (*activations.RULES, *fold_batchnorm.RULES)
    assert rewritten(F.hard_sigmoid(convolution(X)), rules, (2, 3, 4, 4)) == ["Convolution", "clip"]
    assert rewritten(F.hard_sigmoid(X), rules, (2, 3, 4, 4)) == ["hard_sigmoid"]


@pytest.mark.parametrize(
    "make",
    [
        lambda y: F.elemwise_mul(y, F.clip(y + 3, 0, 6) / 6),
        lambda y: F.elemwise_mul(y, F.clip(y + 3, 0, 6)) / 6,
        lambda y: F.elemwise_mul(F.clip(y + 3, 0, 6) * (1 / 6), y),
        lambda y: F.elemwise_mul(y, F.clip(F.relu(y + 3), 0, 6) / 6),  # nn.ReLU6
    ],
)
def test_a_hard_swish_is_a_product_with_a_hard_sigmoid(make):
    rules = (*activations.RULES, *fold_batchnorm.RULES, clean.drop_identity)
    found = rewritten(make(convolution(X)), rules, (1, 3, 4, 4))
    assert found == ["Convolution", "hard_sigmoid", "elemwise_mul"]


def gate(x):
    return F.erf(x / 2**0.5) + 1


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x * gate(x) * 0.5,  # PyTorch
        lambda x: 0.5 * x * gate(x),  # TensorFlow
        lambda x: x * (0.5 * gate(x)),
        lambda x: F.broadcast_mul(F.erf(x * 0.5**0.5) + 1, x) * 0.5,
    ],
)
def test_gelu_is_one_operator(make):
    rules = (*activations.RULES, *fold_batchnorm.RULES, *clean.RULES)
    found = rewritten(convolution(make(convolution(X))), rules, (2, 3, 4, 4))
    assert found == ["Convolution", "LeakyReLU", "Convolution"]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x * (F.erf(x) + 1),
        lambda x: x * (F.erf(x / 2**0.5) + 2),
        lambda x: F.relu(x) * gate(x),
        lambda x: x * gate(F.relu(x)),
    ],
)
def test_other_products_with_erf_stay(make):
    assert "LeakyReLU" not in rewritten(make(X), activations.RULES, (2, 3, 4, 4))


def test_a_shift_and_a_clip_after_a_layer_stay_for_the_layer():
    rules = (*activations.RULES, *fold_batchnorm.RULES)
    assert rewritten(F.clip(convolution(X) + 3, 0, 6), rules, (2, 3, 4, 4)) == ["Convolution", "clip"]
    gate = F.clip(convolution(X) + 3, 0, 6) / 6
    assert rewritten(gate, rules, (2, 3, 4, 4)) == ["Convolution", "clip"]


@pytest.mark.parametrize("bounds", [(-1, 6), (0, 0), (1, 2)])
def test_other_clips_stay(bounds):
    assert rewritten(F.clip(F.relu(X) + 3, *bounds), activations.RULES, (2, 3))[-1] == "clip"


def test_a_scale_of_the_smaller_factor_stays():
    scales = F.mean(X, axis=(2, 3), keepdims=True) * 2
    found = rewritten(F.broadcast_mul(X, scales), activations.RULES, (2, 3, 4, 4))
    assert found == ["Pooling", "_mul_scalar", "broadcast_mul"]


def test_scales_move_past_products_into_layers():
    y = F.elemwise_mul(F.Activation(X, act_type="relu") * 2, F.Activation(X, act_type="tanh") / 5) * 3
    rules = (*activations.RULES, *fold_batchnorm.RULES)
    found = rewritten(convolution(y), rules, (2, 3, 4, 4))
    assert found == ["Activation", "Activation", "elemwise_mul", "Convolution"]


def with_slopes(y, slopes, rules, shape=(2, 3, 4, 5)):
    """Apply rules to a symbol with ``slope``, check the numbers, and return the operators."""
    graph = Graph(y, {"slope": mx.nd.array(slopes)}, {"data0": shape})
    x = [mx.nd.array(np.random.RandomState(0).normal(size=shape))]
    want = outputs(graph, x)
    graph.rewrite(*rules)
    assert error(outputs(graph, x), want) < 1e-6
    return [(node.op, node.get("act_type")) for node in graph.nodes() if node.op != "null"]


SLOPES = mx.sym.var("slope")
PRELU, LEAKY = ("LeakyReLU", "prelu"), ("LeakyReLU", "leaky")


@pytest.mark.parametrize(
    "slopes, found",
    [
        (np.array([[[0.5]], [[-0.2]], [[1.5]]]), PRELU),
        (np.array([[[[0.5]], [[-0.2]], [[1.5]]]]), PRELU),
        (np.array([0.3]), LEAKY),
        (np.full((3, 1, 1), 0.25), LEAKY),
    ],
)
def test_a_difference_of_relus_is_one_operator(slopes, found):
    y = functions.prelu(F, X, SLOPES)
    assert with_slopes(y, slopes, activations.RULES) == [found]


def test_other_differences_of_relus_stay():
    along_rows = np.array([0.5, 0.1, -0.2, 0.3, 0.4])
    assert len(with_slopes(functions.prelu(F, X, SLOPES), along_rows, activations.RULES)) > 1
    twice = F.relu(X) - F.broadcast_mul(SLOPES, F.relu(-2 * X))
    assert len(with_slopes(twice, np.array([0.5]), activations.RULES)) > 1


def test_equal_slopes_of_channels_are_one():
    y = F.LeakyReLU(X, SLOPES, act_type="prelu")
    assert with_slopes(y, [0.25, 0.25, 0.25], activations.RULES) == [LEAKY]
    assert with_slopes(y, [0.25, 0.5, 0.25], activations.RULES) == [PRELU]


def test_equal_slopes_in_a_row_are_one():
    y = F.LeakyReLU(X, mx.sym.var("slopes", shape=(1, 3)), act_type="prelu")
    graph = graph_of(y, (2, 3))
    graph.params["slopes"][:] = 0.25
    assert graph.rewrite(activations.use_leaky) == 1
    assert graph.heads[0].node.get("slope") == 0.25


def test_slopes_of_at_most_1_are_two_convolutions():
    y, rules = F.LeakyReLU(X, SLOPES, act_type="prelu"), [convolutions.prelu_by_depthwise]
    found = [op for op, _ in with_slopes(y, [0.25, 1, -3], rules)]
    assert found == ["Convolution", "Convolution", "Activation", "elemwise_add"]
    assert with_slopes(y, [0.25, 1.5, 0], rules) == [PRELU]
    assert with_slopes(y, [0.25, 1, -3], rules, (2, 3, 4)) == [PRELU]
