"""Sums over a few groups of channels."""

import mxnet as mx
import pytest

from gluon_same.deployment import activations, sums
from graphs import rewritten

F, X = mx.sym, mx.sym.var("data0")
SHAPE = (1, 12, 4, 5)
RULES = (activations.use_equal_shapes, sums.add_kernels)


def split(x, groups=2, channels=6):
    return F.reshape(F.expand_dims(x, axis=1), shape=(0, groups, channels, 4, 5))


def pooled(x):
    return F.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg")


@pytest.mark.parametrize("groups, channels", [(2, 6), (3, 4), (4, 3)])
def test_groups_are_summed_by_a_convolution(groups, channels):
    found = rewritten(F.sum(split(X, groups, channels), axis=1), sums.RULES, SHAPE)
    assert found == ["Convolution"]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: F.sum(split(x, 6, 2), axis=1),  # many groups
        lambda x: F.sum(split(x), axis=2),
        lambda x: F.sum(split(x), axis=(1, 2)),
        lambda x: F.sum(split(x), axis=1, keepdims=True),
        lambda x: F.sum(split(x), axis=1, exclude=True),
        lambda x: F.mean(split(x), axis=1),
        lambda x: F.sum(x, axis=1),
    ],
)
def test_other_sums_stay(make):
    found = rewritten(make(X), sums.RULES, SHAPE)
    assert found[-1] in ("sum", "mean") and "Convolution" not in found


def layer(x, size, name, **kwargs):
    kwargs = {**dict(kernel=(size, size), pad=(size // 2,) * 2, num_filter=12), **kwargs}
    return F.Convolution(x, name=name, **kwargs)


def norm(x):
    return F.BatchNorm(x, fix_gamma=False, eps=1e-3, name="norm")


@pytest.mark.parametrize(
    "make",
    [
        lambda x: layer(x, 3, "a") + layer(x, 1, "b") + norm(x),
        lambda x: norm(x) + layer(x, 3, "a", num_group=3),
        lambda x: layer(x, 1, "a", no_bias=True) + layer(x, 5, "b") + layer(x, 3, "c"),
        lambda x: (
            layer(x, 3, "a", num_group=12, stride=(2, 2)) + layer(x, 1, "b", num_group=12, stride=(2, 2))
        ),
        lambda x: layer(x, 3, "a") + layer(x, 1, "b", kernel=(3, 1), pad=(1, 0)),
        lambda x: layer(x, 1, "a") + x,
        lambda x: x + layer(x, 3, "a", num_group=3),
    ],
)
def test_convolutions_of_the_same_data_become_one(make):
    y = make(F.relu(X))
    assert rewritten(y, RULES, SHAPE) == ["relu", "Convolution"]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: layer(x, 3, "a") + layer(F.tanh(x), 1, "b"),
        lambda x: layer(x, 3, "a") + layer(x, 3, "b", num_group=3),
        lambda x: layer(x, 3, "a", dilate=(2, 2), pad=(2, 2)) + layer(x, 1, "b"),
        lambda x: (
            layer(x, 4, "a", pad=(1, 1), stride=(2, 2))
            + layer(x, 1, "b", kernel=(1, 2), pad=(0, 0), stride=(2, 2))
        ),  # not centered
        lambda x: layer(x, 3, "a") + norm(F.tanh(x)),
    ],
)
def test_other_sums_of_convolutions_stay(make):
    assert "elemwise_add" in rewritten(make(F.relu(X)), RULES, SHAPE)


def stack(*arrays, axis):
    """Concatenate along a new axis, as ONNX files do."""
    return F.concat(*(F.expand_dims(x, axis=axis) for x in arrays), dim=axis)


@pytest.mark.parametrize(
    "make, count",
    [
        (lambda a, b: F.sum(stack(a, b, axis=1), axis=1), 1),
        (lambda a, b: F.sum(stack(F.reshape(a, (12, 20)), F.reshape(b, (12, 20)), axis=2), axis=2), 1),
        (lambda a, b: F.sum(F.concat(a, b, a, dim=0), axis=(0,), keepdims=True), 2),
        (lambda a, b: F.sum(F.stack(a, b, axis=1), axis=1), 1),
        (lambda a, b: F.sum(F.stack(a, b, b, axis=-1), axis=4), 2),
        (lambda a, b: F.sum(F.stack(a, b), axis=0, keepdims=True), 1),
    ],
)
def test_parts_of_a_stack_are_added(make, count):
    found = rewritten(make(X, F.relu(X)), sums.RULES, SHAPE)
    assert not {"Concat", "stack", "sum"} & set(found) and found.count("elemwise_add") == count


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("join", [stack, F.stack])
def test_gated_parts_of_a_stack_are_added(join, order):
    gates = F.softmax(F.reshape(F.slice_axis(X, axis=2, begin=0, end=2), shape=(1, 2, 12, 5, 1)), axis=1)
    gates = F.slice_axis(gates, axis=3, begin=0, end=1)
    product = F.broadcast_mul(*[join(F.relu(X), F.tanh(X), axis=1), gates][::order])
    found = rewritten(F.sum(product, axis=1), sums.RULES, SHAPE)
    assert not {"Concat", "stack", "sum"} & set(found) and found.count("elemwise_add") == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda x: F.sum(F.concat(x, x, dim=1), axis=1),  # no stack
        lambda x: F.sum(F.concat(x, x, dim=0), axis=1),
        lambda x: F.sum(F.concat(*5 * [x], dim=0), axis=0),  # many parts
        lambda x: F.sum(F.broadcast_mul(stack(x, x, axis=1), F.ones((3, 2, 12, 4, 5))), axis=1),
    ],
)
def test_sums_of_other_concatenations_stay(make):
    assert "sum" in rewritten(make(X), sums.RULES, SHAPE)


def test_split_attention_has_no_large_sum():
    gates = F.reshape(F.softmax(F.reshape(pooled(X), shape=(0, 2, 6)), axis=1), shape=(0, 2, 6, 1, 1))
    y = F.sum(F.broadcast_mul(split(X), gates), axis=1)
    found = rewritten(y, sums.RULES, SHAPE)
    assert found == ["Pooling", "Reshape", "softmax", "Reshape", "broadcast_mul", "Convolution"]


def test_gates_of_single_elements_stay_after_the_split():
    gates = F.reshape(F.sigmoid(X), shape=(0, 2, 6, 4, 5))
    found = rewritten(F.broadcast_mul(split(X), gates), sums.RULES, SHAPE)
    assert found[-1] == "broadcast_mul"


def test_the_input_of_a_1x1_convolution_is_averaged():
    def layer(x, kernel=1, **kwargs):
        return F.Convolution(x, kernel=(kernel, kernel), num_filter=7, **kwargs)

    assert rewritten(pooled(layer(X)), sums.RULES, SHAPE) == ["Pooling", "Convolution"]
    y = layer(X)
    for other in (layer(X, 3), layer(X, 1, stride=(2, 2)), layer(X, 1, pad=(1, 1)), F.relu(layer(X))):
        assert rewritten(pooled(other), sums.RULES, SHAPE)[-1] == "Pooling"
    assert rewritten(F.broadcast_mul(y, pooled(y)), sums.RULES, SHAPE)[-2] == "Pooling"
