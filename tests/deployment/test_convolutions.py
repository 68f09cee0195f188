"""Convolutions replaced by faster equivalent operators."""

from functools import partial

import mxnet as mx
import pytest

from gluon_same.deployment import convolutions
from graphs import graph_of, rewritten

F, X, Z = mx.sym, mx.sym.var("data0"), mx.sym.var("data1")


def transposed(x=X, kernel=(2, 2), stride=None, channels=6, **kwargs):
    stride = kernel if stride is None else stride
    return F.Deconvolution(x, kernel=kernel, stride=stride, num_filter=channels, **kwargs)


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("kernel", [(2, 2), (3, 2), (1, 4)])
@pytest.mark.parametrize("no_bias", [False, True])
def test_transposed_convolutions_without_overlap_are_dense_layers(batch, kernel, no_bias):
    symbol = transposed(kernel=kernel, no_bias=no_bias)
    found = rewritten(symbol, [convolutions.transpose_by_dense], (batch, 5, 7, 4))
    assert found == ["transpose", "FullyConnected", "Reshape", "transpose", "Reshape", "transpose"]


@pytest.mark.parametrize(
    "symbol",
    [
        transposed(stride=(1, 1)),
        transposed(kernel=(3, 3), stride=(2, 2)),
        transposed(adj=(1, 1)),
        transposed(pad=(1, 1)),
        transposed(num_group=2),
        transposed(dilate=(2, 2)),
    ],
)
def test_other_transposed_convolutions_stay(symbol):
    assert rewritten(symbol, [convolutions.transpose_by_dense], (2, 4, 5, 5)) == ["Deconvolution"]


@pytest.mark.parametrize("how", [{}, dict(num_group=2), dict(adj=(1, 0)), dict(dilate=(2, 1))])
def test_biases_of_transposed_convolutions_are_added_by_depthwise_ones(how):
    symbol = transposed(kernel=(4, 4), stride=(2, 2), pad=(1, 1), channels=8, no_bias=False, **how)
    found = rewritten(symbol, [convolutions.shift_by_depthwise], (2, 4, 16, 16))
    assert found == ["Deconvolution", "Convolution"]


@pytest.mark.parametrize(
    "symbol, shape",
    [
        (transposed(channels=8, no_bias=True), (2, 4, 16, 16)),
        (transposed(channels=7, no_bias=False), (2, 4, 16, 16)),  # too few channels
        (transposed(channels=8, no_bias=False), (1, 4, 8, 8)),  # too few elements
        (transposed(channels=8, kernel=(2,), no_bias=False), (2, 4, 999)),
        (F.Deconvolution(X, F.var("w"), Z, kernel=(2, 2), num_filter=8, no_bias=False), (2, 4, 32, 32)),
    ],
)
def test_other_biases_of_transposed_convolutions_stay(symbol, shape):
    more = [(8,)] if "data1" in symbol.list_inputs() else []
    found = rewritten(symbol, [convolutions.shift_by_depthwise], shape, *more)
    assert found == ["Deconvolution"]


def grouped(filters, groups, **kwargs):
    return F.Convolution(X, kernel=(1, 1), num_filter=filters, num_group=groups, **kwargs)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    "filters, groups, channels, block", [(6, 3, 9, 8), (20, 2, 8, 8), (64, 4, 36, 16), (48, 2, 32, 16)]
)
def test_few_groups_that_fill_no_blocks_are_computed_together(filters, groups, channels, block, bias):
    symbol, shape = grouped(filters, groups, no_bias=not bias), (2, channels, 4, 5)
    rule = partial(convolutions.ungroup, block=block)
    rewritten(symbol, [rule], shape)
    graph = graph_of(symbol, shape)
    assert graph.rewrite(rule) == 1
    assert [node.get("num_group") for node in graph.nodes() if node.op != "null"] == [1]


@pytest.mark.parametrize(
    "symbol, channels, block",
    [
        (grouped(32, 2), 32, 16),  # full blocks
        (grouped(48, 2), 32, 8),
        (grouped(10, 5), 10, 8),  # many groups
        (grouped(4, 4), 4, 8),  # depthwise
        (F.Convolution(X, kernel=(3, 3), num_filter=6, num_group=2), 6, 8),
    ],
)
def test_other_groups_stay(symbol, channels, block):
    rule = partial(convolutions.ungroup, block=block)
    assert graph_of(symbol, (1, channels, 5, 5)).rewrite(rule) == 0


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    "filters, channels, groups, merged", [(32, 32, 8, 4), (16, 16, 8, 2), (16, 32, 8, 2), (24, 48, 4, 1)]
)
def test_groups_of_few_channels_are_merged_to_blocks(filters, channels, groups, merged, bias):
    how = dict(kernel=(3, 2), stride=(2, 1), num_filter=filters, num_group=groups, no_bias=not bias)
    symbol, shape = F.Convolution(X, **how), (2, channels, 6, 5)
    rewritten(symbol, [convolutions.merge_groups], shape)
    graph = graph_of(symbol, shape)
    assert graph.rewrite(convolutions.merge_groups) == 1
    assert [node.get("num_group") for node in graph.nodes() if node.op != "null"] == [merged]


@pytest.mark.parametrize(
    "filters, channels, groups",
    [
        (64, 32, 4),  # multiples of 8
        (16, 16, 16),  # depthwise
        (16, 16, 1),
        (15, 15, 3),  # not without a remainder
    ],
)
def test_other_groups_are_not_merged(filters, channels, groups):
    symbol = F.Convolution(X, kernel=(3, 3), num_filter=filters, num_group=groups)
    assert graph_of(symbol, (1, channels, 5, 5)).rewrite(convolutions.merge_groups) == 0
    how = dict(kernel=(3, 3), num_filter=8, num_group=4, no_bias=True)
    computed = F.Convolution(X, F.var("data1") * 2, **how)
    assert graph_of(computed, (1, 8, 5, 5), (8, 2, 3, 3)).rewrite(convolutions.merge_groups) == 0


def test_a_normalization_before_an_activation_is_a_depthwise_convolution():
    def normalized(after, **kwargs):
        symbol = after(F.BatchNorm(X, use_global_stats=True, **kwargs))
        return rewritten(symbol, [convolutions.normalize_by_depthwise], (2, 5, 4, 4))[0]

    def relu(y):
        return F.Activation(y, act_type="relu")

    for kwargs in ({}, {"fix_gamma": False, "eps": 1e-2}):
        assert normalized(relu, **kwargs) == "Convolution"
    assert normalized(lambda y: F.LeakyReLU(y, act_type="leaky")) == "Convolution"
    assert normalized(lambda y: F.Activation(y, act_type="tanh")) == "BatchNorm"
    assert normalized(lambda y: y + relu(y)) == "BatchNorm"
    assert normalized(lambda y: y) == "BatchNorm"


def convolution(x, kernel, count=4, **kwargs):
    return F.Convolution(x, kernel=kernel, num_filter=count, **kwargs)


@pytest.mark.parametrize("kernel, how", [
    ((1, 9), dict(pad=(0, 4))),
    ((9, 9), dict(pad=(2, 4), stride=(2, 2), no_bias=True)),
    ((3, 3), dict(pad=(4, 4), dilate=(4, 4))),
    ((3, 3, 9), dict(pad=(1, 1, 4))),
])  # fmt: skip
def test_wide_paddings_are_operators(kernel, how):
    shape = (2, 3, 10, 12, 11)[: 2 + len(kernel)]
    found = rewritten(convolution(X, kernel, **how), [convolutions.pad_first], shape)
    assert found == ["Pad", "Convolution"]


@pytest.mark.parametrize("symbol, shape", [
    (convolution(X, (9, 7), pad=(4, 3)), (1, 4, 12, 12)),
    (convolution(X, (9, 9), pad=(4, 4), num_group=4), (1, 4, 12, 12)),  # depthwise
    (convolution(X, (9,), pad=(4,)), (1, 4, 12)),  # MXNet pads 4 and 5 axes
])  # fmt: skip
def test_other_paddings_stay(symbol, shape):
    assert rewritten(symbol, [convolutions.pad_first], shape) == ["Convolution"]


def line(*values, column):
    """Return an argument of each axis of a line, or of a column of an image."""
    return (*values, 0 if values[0] == 0 else 1) if column else values


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("column", [False, True])
def test_lines_are_computed_as_rows(column, bias, computed):
    def window(kernel, stride=1, pad=0):
        found = dict(kernel=line(kernel, column=column), stride=line(stride, column=column))
        return {**found, "pad": (pad, 0) if column else (pad,)}

    one = (1,) if column else ()
    weight = {"weight": F.var("w", shape=(4, 3, 5, *one)) * 2} if computed else {}
    how = dict(window(5, 2, 3), dilate=(2, *one), num_filter=4, no_bias=not bias)
    y = F.Activation(F.Convolution(X, **how, **weight), act_type="relu")
    y = F.BatchNorm(y, fix_gamma=False, use_global_stats=True)
    y = F.Pooling(y, pool_type="max", **window(3, 2, 1))
    y = F.slice(y, begin=(None, None, 1, *(None for _ in one)), end=(None,) * (3 + len(one)))
    y = F.concat(F.clip(y, 0, 6) + y, F.Pooling(y, pool_type="avg", **window(3, 1, 1)), dim=1)
    gate = F.sigmoid(F.Pooling(y, kernel=(1, *one), global_pool=True, pool_type="avg"))
    y = F.broadcast_mul(F.broadcast_mul(y, gate), F.var("scale", shape=(1, 8, 1, *one)))
    y = F.broadcast_add(y, F.var("places", shape=(1, 8, 7, *one)))
    y = F.Convolution(y, num_filter=8, num_group=8, **window(3, 1, 1))
    found = rewritten(F.reshape(y, shape=(0, 0, -1)), convolutions.ROWS, (2, 3, 31, *one))
    assert [found[0], found[-1], found.count("Reshape")] == ["Reshape", "Reshape", 2]


@pytest.mark.parametrize("kernel, pad, shape", [
    ((3, 1), (1, 0), (1, 3, 8, 2)),
    ((3, 1), (1, 1), (1, 3, 8, 1)),  # a result of three columns
    ((1, 1), (0, 0), (1, 3, 1, 1)),
])  # fmt: skip
def test_other_maps_stay(kernel, pad, shape):
    assert rewritten(convolution(X, kernel, pad=pad), convolutions.ROWS, shape) == ["Convolution"]


@pytest.mark.parametrize("after", [
    lambda y: F.softmax(y, axis=1),
    lambda y: F.concat(y, y, dim=2),
    lambda y: F.relu(F.reshape(F.reshape(y, shape=(0, 0, 1, -1)), shape=(0, 6, -1))),
    lambda y: F.BatchNorm(y, axis=2, use_global_stats=True),
    lambda y: F.Pooling(y, kernel=(2,), layout="NWC"),
    lambda y: F.transpose(y, axes=(0, 2, 1)),
])  # fmt: skip
def test_other_operators_get_lines(after):
    found = rewritten(after(convolution(X, (3,), pad=(1,))), convolutions.ROWS, (1, 3, 15))
    assert found[:3] == ["Reshape", "Convolution", "Reshape"] and len(found) > 3


@pytest.mark.parametrize("shape", [(15,), (8, 1), (1, 15), (8, 15), (1, 8, 15)])
def test_constants_of_fewer_axes_suit_lines(shape):
    y = F.broadcast_mul(convolution(X, (3,), 8, pad=(1,)), F.var("scale", shape=shape))
    assert "Convolution" in rewritten(y, convolutions.ROWS, (2, 3, 15))


def pooled(x):
    return F.Pooling(x, kernel=(3, 3), pad=(1, 1), pool_type="avg", count_include_pad=False)


@pytest.mark.parametrize(
    "make, layers",
    [
        (lambda x: F.elemwise_sub(pooled(x), x), 1),
        (lambda x: F.elemwise_sub(pooled(x), x) * 3, 2),
        (lambda x: F.broadcast_mul(F.elemwise_sub(pooled(x), x), F.var("scale", shape=(1, 3, 1, 1))), 2),
        (lambda x: F.BatchNorm(F.elemwise_sub(pooled(x), x), use_global_stats=True), 2),
    ],
)
def test_differences_are_sums_of_depthwise_convolutions(make, layers):
    found = rewritten(make(X), [convolutions.subtract_by_depthwise], (2, 3, 4, 5))
    assert found == ["Pooling", *["Convolution"] * layers, "elemwise_add"]


@pytest.mark.parametrize(
    "make, shape",
    [
        (lambda x: F.elemwise_sub(F.relu(x), x), (2, 3, 4)),
        (lambda x: F.broadcast_sub(x, F.var("shift", shape=(1, 3, 1, 1))), (2, 3, 4, 5)),
        (lambda x: F.broadcast_mul(x, F.var("scale", shape=(1, 3, 1, 1))), (2, 3, 4, 5)),
        (lambda x: F.elemwise_add(pooled(x), x) * 3, (2, 3, 4, 5)),
    ],
)
def test_other_differences_stay(make, shape):
    assert "Convolution" not in rewritten(make(X), [convolutions.subtract_by_depthwise], shape)


def relu6(x):
    return F.clip(x, 0, 6)


@pytest.mark.parametrize(
    "make, layers",
    [
        (lambda x: relu6(pooled(x)), 1),
        (lambda x: relu6(F.BatchNorm(x, use_global_stats=True)), 1),
        (lambda x: (lambda y: F.elemwise_add(y, relu6(y)))(convolution(x, (1, 1))), 2),
        (lambda x: relu6(convolution(x, (1, 1))), 1),  # which absorbs it
        (lambda x: F.clip(pooled(x), -1, 1), 0),
        (lambda x: relu6(x), 0),
        (lambda x: relu6(F.reshape(pooled(x), (0, 0, -1))), 0),
    ],
)
def test_a_clip_after_other_operators_gets_a_layer(make, layers):
    found = rewritten(make(X), [convolutions.clip_by_depthwise], (2, 3, 4, 5))
    assert found.count("Convolution") == layers


def pooled_images(x=X):
    return F.Pooling(x, kernel=(3, 3), pad=(1, 1), pool_type="max")


def layer_of(x, *weight):
    return F.Convolution(x, *weight, kernel=(1, 1), num_filter=16, no_bias=bool(weight), name="layer")


SHAPE = (1, 16, 16, 16)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x + pooled_images(x),
        lambda x: pooled_images(x) + F.exp(x),
        lambda x: x + layer_of(x, F.ones((16, 16, 1, 1))),
    ],
)
def test_plain_terms_of_sums_are_copied_by_depthwise_convolutions(make):
    rules = [convolutions.add_by_depthwise]
    found = rewritten(make(X), rules, SHAPE)
    assert sorted(found) == sorted([*rewritten(make(X), [], SHAPE), "Convolution"])
    graph = graph_of(make(X), SHAPE)
    graph.rewrite(*rules)
    assert graph.heads[0].node.inputs[0].node.op == "Convolution"


@pytest.mark.parametrize(
    "make, shape",
    [
        (lambda x: pooled_images(x) + layer_of(x), SHAPE),  # which adds already
        (lambda x: F.exp(x) + F.sin(x), SHAPE),  # plain
        (lambda x: x + pooled_images(x), (1, 16, 4, 4)),  # few numbers
        (lambda x: x + pooled_images(x), (1, 12, 32, 32)),  # channels that do not fill blocks
    ],
)
def test_other_sums_stay(make, shape):
    assert graph_of(make(X), shape).rewrite(convolutions.add_by_depthwise) == 0
