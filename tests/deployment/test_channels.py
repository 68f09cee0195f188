"""Channels that are padded through regions of a graph."""

import mxnet as mx
import pytest

from gluon_same.deployment import channels
from gluon_same.deployment.running import error, outputs
from graphs import graph_of, operators, rewritten

F, X = mx.sym, mx.sym.var("data0")
SHAPE = (2, 3, 6, 6)


def convolution(x, count=10, kernel=1, **kwargs):
    return F.Convolution(x, kernel=(kernel, kernel), num_filter=count, pad=(kernel // 2,) * 2, **kwargs)


def padded(symbol, multiple=8, shape=SHAPE):
    """Pad channels, check the numbers, and return the operators and the numbers of channels."""
    rules = channels.padding_to(multiple)
    found = rewritten(symbol, rules, shape)
    graph = graph_of(symbol, shape)
    graph.rewrite(*rules)
    counts = [node.get("num_filter") or node.get("num_hidden") for node in graph.nodes()]
    return found, [count for count in counts if count]


CONNECTED = {
    "relu": lambda y: F.Activation(y, act_type="relu"),
    "sigmoid and scalars": lambda y: F.Activation(y * 2 + 3, act_type="sigmoid"),
    "leaky relu": lambda y: F.LeakyReLU(y, slope=0.1),
    "clip": lambda y: F.clip(y, -1, 1),
    "pooling": lambda y: F.Pooling(y, kernel=(2, 2), pool_type="max"),
    "global pooling": lambda y: F.Pooling(y, kernel=(1, 1), global_pool=True, pool_type="avg"),
    "depthwise": lambda y: convolution(y, 10, 3, num_group=10),
    "depthwise without bias": lambda y: convolution(y, 10, 3, num_group=10, no_bias=True),
    "normalization": lambda y: F.BatchNorm(y, fix_gamma=False, use_global_stats=True),
    "normalization without scale": lambda y: F.BatchNorm(y, fix_gamma=True, use_global_stats=True),
    "two layers": lambda y: convolution(convolution(y, 11), 13, 3),
    "upsampling": lambda y: F.UpSampling(y, scale=2, sample_type="nearest"),
    "adaptive pooling": lambda y: F.contrib.AdaptiveAvgPooling2D(y, output_size=(3, 2)),
    "zeros around": lambda y: F.pad(y, mode="constant", pad_width=(0, 0, 0, 0, 1, 0, 0, 2)),
    "crop": lambda y: F.slice(y, begin=(0, 0, 1, 0), end=(2, 10, 6, -1)),
    "sum": lambda y: F.elemwise_add(y, convolution(F.Activation(y, act_type="relu"))),
    "gate": lambda y: F.broadcast_mul(
        y, convolution(convolution(F.Pooling(y, kernel=(1, 1), global_pool=True, pool_type="avg"), 5))
    ),
    "dense gate": lambda y: F.broadcast_mul(
        y,
        F.Reshape(
            F.FullyConnected(
                F.Pooling(y, kernel=(1, 1), global_pool=True, pool_type="avg"), num_hidden=10
            ),
            shape=(0, 0, 1, 1),
        ),
    ),
}


@pytest.mark.parametrize("name", CONNECTED)
@pytest.mark.parametrize("last", ["convolution", "dense", "transposed"])
def test_all_connected_layers_are_padded(name, last):
    y = CONNECTED[name](convolution(X))
    if last == "convolution":
        y = convolution(y, 16, 1)
    elif last == "dense":
        y = F.FullyConnected(y, num_hidden=16)
    else:
        y = F.Deconvolution(y, kernel=(2, 2), stride=(2, 2), num_filter=16)
    found, counts = padded(y)
    assert "take" not in found and all(count % 8 == 0 for count in counts)


OTHERS = {
    "a result": lambda y: y,
    "an operator across channels": lambda y: convolution(F.softmax(y, axis=1), 16),
    "a result and a layer": lambda y: F.Group([y, convolution(y, 16)]),
    "groups": lambda y: convolution(y, 16, num_group=2),
    "a sum with an input": lambda y: convolution(
        y + F.slice_axis(F.tile(X, (1, 4, 1, 1)), axis=1, begin=0, end=10), 16
    ),
    "a map of gates": lambda y: convolution(F.broadcast_mul(y, convolution(X, 1)), 16),
    "depthwise to more channels": lambda y: convolution(convolution(y, 20, num_group=10), 16),
    "another number of channels": lambda y: F.FullyConnected(y, num_hidden=16, flatten=False),
}


@pytest.mark.parametrize("name", OTHERS)
def test_layers_stay_if_an_operator_requires_their_channels(name):
    found, counts = padded(OTHERS[name](convolution(X)))
    assert "take" not in found and 10 in counts


def test_small_results_are_sliced():
    y = F.Flatten(F.Pooling(convolution(X), kernel=(1, 1), global_pool=True, pool_type="avg"))
    found = rewritten(y, [*channels.padding_to(16), channels.slice_selection], SHAPE)
    assert found == ["Convolution", "Pooling", "Reshape", "slice_axis"]


@pytest.mark.parametrize("after", [lambda y: y, F.sigmoid, lambda y: F.broadcast_mul(y, X)])
def test_a_few_filters_of_many_elements_are_padded_and_sliced(after):
    found, counts = padded(after(convolution(X, 1, 3)))
    assert "take" in found and counts == [8]
    for kernel, multiple in ((3, 16), (1, 8)):
        assert set(padded(after(convolution(X, 1, kernel)), multiple)[1]) == {1}


def test_multiples_stay():
    assert padded(convolution(convolution(X, 8), 16))[0] == ["Convolution", "Convolution"]


def shuffled(x, groups, count):
    x = F.reshape(x, shape=(0, groups, count // groups, 6, 6))
    return F.reshape(F.SwapAxis(x, dim1=1, dim2=2), shape=(0, count, 6, 6))


def test_shuffles_and_slices_are_absorbed_by_layers():
    shape = (1, 12, 6, 6)
    y = shuffled(X, 3, 12)
    y = F.concat(F.slice_axis(y, axis=1, begin=0, end=6), convolution(y, 6))
    y = convolution(convolution(shuffled(y, 2, 12), 12, 3, num_group=12), 8)
    graph, arrays = graph_of(y, shape), [mx.nd.random.normal(shape=shape)]
    want = outputs(graph, arrays)
    graph.rewrite(*channels.padding_to(8))
    graph.rewrite(channels.slice_selection)
    assert error(outputs(graph, arrays), want) < 1e-5
    found = operators(graph)
    assert found.count("Convolution") == 3 and found.count("take") == 1
    depthwise = next(n for n in graph.nodes() if n.get("kernel") == (3, 3))
    assert depthwise.get("num_group") == 16  # the slice selects 8 channels, which are joined with 8
    assert not {"SwapAxis", "transpose", "slice_axis"} & set(found)


@pytest.mark.parametrize("multiple", channels.MULTIPLES)
@pytest.mark.parametrize("count", [5, 7, 9])
def test_the_last_channels_are_absorbed_by_layers(count, multiple):
    shape = (1, 12, 6, 6)
    y = F.slice_axis(X, axis=1, begin=12 - count, end=12)
    y = convolution(F.concat(y, convolution(y, 8, 3)), 16)
    graph, arrays = graph_of(y, shape), [mx.nd.random.normal(shape=shape)]
    want = outputs(graph, arrays)
    assert graph.rewrite(*channels.padding_to(multiple))
    assert error(outputs(graph, arrays), want) < 1e-5


@pytest.mark.parametrize("begin, end", [(0, 4), (3, 9), (-5, None)])
def test_other_slices_stay(begin, end):
    y = F.tanh(F.slice_axis(X, axis=1, begin=begin, end=end))
    found = rewritten(y, [*channels.padding_to(8), channels.slice_selection], (1, 12, 6, 6))
    assert found == ["slice_axis", "tanh"]


@pytest.mark.parametrize(
    "indices, mode, taken",
    [
        ([2, 0, 4, 1, 3, 5], "clip", False),
        ([4, 1, 9, 0], "clip", False),  # 9 and above are the last, 5
        ([2, 0, 2, 1], "clip", True),
        ([4, 1, 9, 0], "wrap", True),
    ],
)
def test_layers_absorb_distinct_channels_by_constant_indices(indices, mode, taken):
    shape, where = (1, 3, 6, 6), F.var("indices", shape=(len(indices),))
    y = F.take(convolution(X, 6), where, axis=1, mode=mode)
    graph = graph_of(convolution(F.Activation(y, act_type="relu"), 8, 3), shape)
    graph.params["indices"], arrays = mx.nd.array(indices), [mx.nd.random.normal(shape=shape)]
    want = outputs(graph, arrays)
    graph.rewrite(*channels.padding_to(8))
    assert error(outputs(graph, arrays), want) < 1e-5
    assert ("take" in operators(graph)) is taken


def test_only_channels_are_selected():
    for axis, shape in ((2, (1, 12, 6, 6)), (1, (2, 12, 6, 6)), (1, (1, 12))):
        y = F.FullyConnected(F.slice_axis(X, axis=axis, begin=0, end=4), num_hidden=16)
        assert rewritten(y, channels.padding_to(8), shape) == ["slice_axis", "FullyConnected"]


def test_padded_channels_are_concatenated():
    y = F.concat(convolution(X, 10), F.tanh(X), convolution(X, 6))
    found, counts = padded(convolution(y, 16))
    assert found.count("Concat") == 1 and "take" not in found and set(counts) == {16, 8}


@pytest.mark.parametrize("batch", [1, 2])
def test_channels_are_taken_from_each_sample(batch):
    y = F.concat(convolution(X, 5), convolution(X, 6))
    y = F.Flatten(F.Pooling(y, kernel=(1, 1), global_pool=True, pool_type="avg"))
    found = rewritten(y, [*channels.padding_to(8), channels.slice_selection], (batch, 8, 6, 6))
    assert found.count("take") == 1


@pytest.mark.parametrize("parts, counts", [("ab", {16, 32}), ("sab", {12, 32}), ("sa", {16, 32})])
def test_channels_whose_number_is_a_multiple_are_padded_all_or_none(parts, counts):
    made = dict(a=convolution(X, 12), b=convolution(X, 12), s=F.slice_axis(X, axis=1, begin=0, end=8))
    y = F.concat(*(F.tanh(made[part]) for part in parts))
    _, found = padded(convolution(y, 32), 16, (2, 16, 6, 6))
    assert set(found) == counts


@pytest.mark.parametrize("begin", [0, 3, 19])
def test_layers_that_read_a_few_channels_read_a_multiple(begin):
    shape = (1, 24, 6, 6)
    y = convolution(F.slice_axis(X, axis=1, begin=begin, end=begin + 5), 8, 3)
    assert "Convolution" in rewritten(y, [*channels.padding_to(8), channels.slice_selection], shape)
    graph = graph_of(y, shape)
    graph.rewrite(*channels.padding_to(8))
    (layer,) = (node for node in graph.nodes() if node.op == "Convolution")
    assert graph.params[layer.inputs[1].node.name].shape == (8, 8, 3, 3)
