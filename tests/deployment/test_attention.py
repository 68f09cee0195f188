"""Products of matrices, and slices of a layer's result."""

import mxnet as mx
import pytest

from gluon_same.deployment import attention, clean, fold_batchnorm, moves
from graphs import graph_of, rewritten

F, X, Y = mx.sym, mx.sym.var("data0"), mx.sym.var("data1")
SLICE = [attention.slice_layer]


def dense(x, count, **how):
    return F.FullyConnected(x, num_hidden=count, flatten=False, name="layer", **how)


def parts(x, axis, *ends):
    return [F.slice_axis(x, axis=axis, begin=b, end=e) for b, e in zip((0, *ends), ends)]


def attend(x, channels=12, heads=2):
    """Return attention as PyTorch exports it, with a product that is scaled afterwards."""
    x = F.reshape(dense(x, 3 * channels), shape=(0, 0, 3, heads, -1))
    each = parts(F.transpose(x, axes=(2, 0, 3, 1, 4)), 0, 1, 2, 3)
    query, key, value = (F.reshape(F.squeeze(part, axis=0), shape=(-3, 0, 0)) for part in each)
    scores = F.batch_dot(query, F.transpose(key, axes=(0, 2, 1))) * 0.3
    return F.batch_dot(F.softmax(scores), value)


def test_attention_neither_slices_nor_scales_nor_transposes_its_keys():
    rules = (*attention.RULES, *fold_batchnorm.RULES)
    found = rewritten(attend(X), (*rules, *moves.RULES, *clean.RULES), (2, 64, 5))
    assert found.count("FullyConnected") == found.count("transpose") == 3
    assert found.count("batch_dot") == 2 and {*found} == {
        "FullyConnected", "Reshape", "transpose", "batch_dot", "softmax"
    }  # fmt: skip


@pytest.mark.parametrize(
    "split, axis",
    [
        (lambda x: x, 2),
        (lambda x: F.reshape(x, shape=(0, 0, 4, 3)), 2),  # heads, each with all its parts
        (lambda x: F.reshape(x, shape=(0, 0, 3, 4)), 3),  # parts of each head
        (lambda x: F.reshape(x, shape=(-1, 3, 4)), 2),
        (lambda x: F.transpose(F.reshape(x, shape=(0, 0, 2, 3, 2))), 1),
        (lambda x: F.expand_dims(F.relu(x), axis=1), -1),
    ],
)
def test_slices_of_channels_are_layers(split, axis):
    symbol = F.Group(parts(split(dense(X, 12)), axis, 1, 3))
    found = rewritten(symbol, SLICE, (2, 171, 5))
    assert "slice_axis" not in found and found.count("FullyConnected") == 2


def test_slices_of_a_convolutions_channels_are_convolutions():
    layer = F.Convolution(X, kernel=(1, 1), num_filter=48, no_bias=True)
    found = rewritten(F.Group(parts(F.relu(layer), 1, 16, 48)), SLICE, (2, 4, 5, 5))
    assert sorted(found) == ["Convolution", "Convolution", "relu", "relu"]


@pytest.mark.parametrize("kernel, count", [(3, 48), (1, 40), (1, 64)])
def test_slices_for_which_convolutions_are_slower_stay(kernel, count):
    layer = F.Convolution(X, kernel=(kernel,) * 2, num_filter=count, name="layer")
    symbol = F.Group(parts(layer, 1, 8 if count == 64 else 16, count))
    assert graph_of(symbol, (2, 4, 5, 5)).rewrite(*SLICE) == 0


def test_other_slices_stay():
    layer, grouped = dense(X, 6), F.Convolution(X, kernel=(1,), num_filter=6, num_group=3, name="layer")
    one, other = parts(layer, 2, 3, 6)
    for symbol in (
        F.Group([one, layer]),  # read whole
        F.Group([one, F.exp(layer)]),
        F.Group([one, F.slice_axis(layer, axis=2, begin=2, end=6)]),  # which overlap
        F.Group([one, F.slice_axis(layer, axis=1, begin=0, end=1)]),
        F.slice_axis(layer, axis=1, begin=0, end=2),  # steps, not channels
        F.slice_axis(F.reshape(layer, shape=(0, -1)), axis=1, begin=0, end=2),
        F.slice_axis(F.softmax(layer), axis=2, begin=0, end=2),
        F.slice_axis(grouped, axis=1, begin=0, end=2),
        F.slice_axis(F.transpose(layer), axis=0, begin=0, end=2),  # of few elements
        F.slice_axis(X, axis=1, begin=0, end=2),
        F.Group([one, F.slice_axis(layer, axis=-1, begin=2, end=None)]),  # which overlap, too
    ):
        assert graph_of(symbol, (2, 3, 5)).rewrite(*SLICE) == 0


def test_the_smaller_operand_is_scaled():
    rules, shapes = [attention.scale_operand], [(2, 5, 3), (2, 3, 6)]
    product = F.batch_dot(X, Y)
    for scaled in (product * 2, product / 3):
        assert rewritten(scaled, rules, *shapes) == ["_mul_scalar", "batch_dot"]
    assert graph_of(F.Group([product, product * 2]), *shapes).rewrite(*rules) == 0
    assert graph_of(product * 2, (2, 5, 9), (2, 9, 6)).rewrite(*rules) == 0


@pytest.mark.parametrize("flags", [{}, {"transpose_a": True}, {"transpose_b": True}])
def test_operands_are_read_by_columns(flags):
    one, other = (F.transpose(x, axes=(0, 2, 1)) for x in (X, Y))
    shapes = {"": [(2, 3, 5), (2, 6, 3)], "a": [(2, 5, 3), (2, 6, 3)], "b": [(2, 3, 5), (2, 3, 6)]}
    given = shapes["".join(flags)[-1:]]
    found = rewritten(F.batch_dot(one, other, **flags), [attention.transpose_operand], *given)
    assert found == ["batch_dot"]


def test_other_transposes_stay():
    swapped = F.transpose(X, axes=(1, 0, 2))
    assert graph_of(F.batch_dot(swapped, swapped), (3, 2, 3)).rewrite(attention.transpose_operand) == 0
    assert graph_of(F.transpose(X), (3, 2, 3)).rewrite(attention.transpose_operand) == 0
