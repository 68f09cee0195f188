"""Crops move past elementwise operators and poolings, and results do not change."""

import random

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd

from gluon_same import crops, nn, specialize
from gluon_same.graph import Graph
from graphs import graph_of, operators, rewritten
from small_nets import normal, operators_of

F, X = mx.sym, mx.sym.var("data0")
SHAPE = (2, 4, 12, 13)


def convolved(size=SHAPE[2:], kernel=2, begin=(1, 1), end=(None, None)):
    """Return a convolution with more results than wanted, and the crop after it."""
    y = F.Convolution(X, kernel=(kernel, kernel), pad=(kernel // 2,) * 2, num_filter=3, name="conv")
    return F.slice(y, begin=(None, None, *begin), end=(None, None, *end), name="crop")


def order(symbol, rules=crops.INFERENCE, shape=SHAPE):
    return rewritten(symbol, rules, shape)


CONVOLVED = ["Convolution"]


@pytest.mark.parametrize(
    "function",
    [
        F.relu,
        F.sigmoid,
        F.tanh,
        F.softsign,
        F.hard_sigmoid,
        lambda x: F.Activation(x, act_type="softrelu"),
        lambda x: F.LeakyReLU(x, act_type="leaky", slope=0.2),
        lambda x: F.LeakyReLU(x, act_type="elu"),
        lambda x: F.clip(x, 0, 6),
    ],
)
@pytest.mark.parametrize("rules", [crops.TRAINING, crops.INFERENCE])
def test_a_crop_moves_past_elementwise_operators(function, rules):
    found = order(function(convolved()), rules)
    assert found[0] == "Convolution" and found[-1] == "slice" and len(found) == 3


@pytest.mark.parametrize(
    "begin, end", [((1, 1), (None, None)), ((None, None), (-1, -1)), ((1, 0), (12, 13))]
)
def test_crops_at_both_ends_move(begin, end):
    assert order(F.relu(convolved(begin=begin, end=end))) == ["Convolution", "relu", "slice"]


def test_a_crop_moves_past_a_normalization_in_inference_only():
    y = F.relu(F.BatchNorm(convolved(), fix_gamma=False))
    assert order(y) == ["Convolution", "BatchNorm", "relu", "slice"]
    assert order(y, crops.TRAINING) == ["Convolution", "slice", "BatchNorm", "relu"]
    fixed = F.BatchNorm(convolved(), use_global_stats=True)
    assert order(fixed, crops.TRAINING) == ["Convolution", "BatchNorm", "slice"]


@pytest.mark.parametrize(
    "make",
    [
        lambda y: F.BatchNorm(y, axis=2),
        lambda y: F.BatchNorm(y, output_mean_var=True)[0],
        lambda y: F.softmax(y, axis=2),
        lambda y: F.LeakyReLU(y, F.var("gamma", shape=(3,)), act_type="prelu"),
        lambda y: F.Group([F.relu(y), y]),
        lambda y: y + F.relu(y),
        lambda y: F.mean(y, axis=(2, 3)),
    ],
)
def test_a_crop_stays_before_other_operators_and_where_it_is_used_twice(make):
    graph = graph_of(make(convolved()), SHAPE)
    before = operators(graph)
    graph.rewrite(*crops.INFERENCE)
    assert operators(graph) == before


def test_a_crop_of_channels_or_of_much_stays():
    y = F.Convolution(X, kernel=(1, 1), num_filter=3)
    for begin, end in (
        ((None, 1, 1, 1), (None,) * 4),
        ((None, None, 8, 8), (None,) * 4),
        ((1,), (None,)),
    ):
        found = order(F.relu(F.slice(y, begin=begin, end=end)))
        assert found == ["Convolution", "slice", "relu"]
    stepped = F.slice(y, begin=(None,) * 4, end=(None,) * 4, step=(1, 1, 2, 2))
    assert order(F.relu(stepped)) == ["Convolution", "slice", "relu"]


POOLINGS = {
    "max": {},
    "avg": {"count_include_pad": True},
    "avg without padding": {"pool_type": "avg", "count_include_pad": False},
    "sum": {},
}


@pytest.mark.parametrize("kind", POOLINGS)
def test_a_crop_moves_past_a_pooling(kind):
    given = {"pool_type": kind, **POOLINGS[kind]}
    pooled = F.Pooling(F.relu(convolved()), kernel=(2, 2), stride=(2, 2), **given)
    # The size of 13 leaves an element over, so that no window reaches the padding.
    assert order(pooled) == ["Convolution", "relu", "Pooling", "slice"]


@pytest.mark.parametrize(
    "given",
    [
        dict(global_pool=True, pool_type="max", kernel=(1, 1)),
        dict(kernel=(2, 2), stride=(2, 2), pool_type="lp", p_value=2),
        dict(kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max"),  # padded where the crop begins
        dict(kernel=(3, 3), stride=(2, 2), pooling_convention="full", pool_type="max"),
    ],
)
def test_a_crop_stays_before_poolings_that_reach_the_dropped_elements(given):
    found = order(F.Pooling(convolved(), **given))
    assert found == ["Convolution", "slice", "Pooling"]


def random_windows(seed):
    """Return a padded or cropped convolution with operators and a pooling after it, and its shape."""
    choose = random.Random(seed)
    ndim = choose.choice([1, 2, 2, 2, 3])
    shape = (2, 3, *(choose.randint(6, 15) for _ in range(ndim)))

    def ints(low, high):
        return tuple(choose.randint(low, high) for _ in range(ndim))

    kernel, pool, padded = ints(1, 4), ints(1, 3), ndim > 1 and choose.random() < 0.5
    width = [choose.randint(0, 2) for _ in range(2 * ndim)]
    x = F.Pad(X, mode="constant", pad_width=(0, 0, 0, 0, *width)) if padded else X
    pad = ints(0, 1) if padded else tuple(k // 2 for k in kernel)
    window = dict(kernel=kernel, num_filter=4, stride=ints(1, 2), no_bias=choose.random() < 0.5)
    y = F.Convolution(x, **window, pad=pad)
    if not padded:
        end = choose.choice([(None,) * ndim, (-1,) * ndim])
        y = F.slice(y, begin=(None, None, *ints(0, 1)), end=(None, None, *end))
    for _ in range(choose.randint(0, 2)):
        y = choose.choice([F.relu, F.tanh, lambda x: F.BatchNorm(x, fix_gamma=False)])(y)
    y = F.Pooling(
        y,
        kernel=pool,
        stride=ints(1, 3),
        pad=tuple(choose.randint(0, k - 1) // 2 for k in pool),
        pool_type=choose.choice(["max", "avg", "sum"]),
        pooling_convention=choose.choice(["valid", "full"]),
        count_include_pad=choose.random() < 0.5,
    )
    try:
        y.infer_shape(data0=shape)
    except mx.MXNetError:  # the pooling exceeds its input: draw again
        return random_windows(seed + 1000)
    return y, shape


@pytest.mark.parametrize("seed", range(120))
def test_random_windows(seed):
    for rules in (crops.INFERENCE, crops.TRAINING):
        y, shape = random_windows(seed)
        if graph_of(y, shape).rewrite(*rules):  # else MXNet's own average may be NaN
            rewritten(y, rules, shape)  # compares the results


def test_the_rules_apply_to_random_windows():
    graphs = [graph_of(*random_windows(seed)) for seed in range(120)]
    applied = [graph for graph in graphs if graph.rewrite(*crops.INFERENCE)]
    past = [graph for graph in applied if graph.heads[0].node.op == "slice"]
    assert len(applied) > 60 and len(past) > 40


def chain(name, norm=False):
    net = nn.HybridSequential()
    for channels in (16, 32, 64):
        kernel, pad = {"2x2": (2, "same"), "4x1": ((4, 1), "same")}[name]
        net.add(nn.Conv2D(channels, kernel, padding=pad))
        if norm:
            net.add(nn.BatchNorm())
        net.add(nn.Activation("relu"), nn.MaxPool2D(2))
    net.initialize(mx.init.Xavier())
    return net


@pytest.mark.parametrize("name", ["2x2", "4x1"])
@pytest.mark.parametrize("norm", [False, True])
def test_even_kernels_before_poolings_have_one_crop_at_the_end_of_each_pooling(name, norm):
    net, x = chain(name, norm), normal((2, 3, 32, 32))
    want = net(x)
    block = specialize(net, x.shape)
    found = operators_of(block._graphs[False])
    layer = ["Convolution", *["BatchNorm"] * norm, "Activation", "Pooling", "slice"]
    assert found == layer * 3
    np.testing.assert_allclose(block(x).asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)


def test_statistics_of_training_are_those_of_the_net():
    states = []
    for make in (lambda net: net, lambda net: specialize(net, (2, 3, 32, 32)), specialize):
        mx.random.seed(0)
        net = chain("2x2", norm=True)
        net(normal((2, 3, 32, 32)))
        block = make(net)
        for seed in range(3):
            with autograd.record():
                loss = (block(normal((2, 3, 32, 32), seed)) ** 2).sum()
            loss.backward()
        states.append([p.data().asnumpy() for p in net.collect_params(".*running.*").values()])
        states[-1] += [p.grad().asnumpy() for p in net.collect_params(".*(weight|gamma)").values()]
    for plain, fixed, every in zip(*states):
        scale = abs(plain).max()
        np.testing.assert_allclose(fixed, plain, rtol=1e-4, atol=1e-4 * scale)
        np.testing.assert_allclose(every, plain, rtol=1e-4, atol=1e-4 * scale)


def test_what_a_slice_drops_is_read_from_its_shapes():
    found = []

    def look(graph, node):
        found.append(crops.crop_of(graph, node))

    Graph(F.slice(X, begin=(None, None, 1, 2), end=(None, None, -2, 8)), {}, {"data0": SHAPE}).rewrite(
        look
    )
    Graph(F.slice(X, begin=(0, 0, 1), end=(2, 4, 12)), {}, {"data0": SHAPE}).rewrite(look)
    Graph(F.relu(X), {}, {"data0": SHAPE}).rewrite(look)
    Graph(F.slice(X, begin=(1, 0), end=(2, 4)), {}, {"data0": SHAPE}).rewrite(look)
    assert found == [[(1, 2), (2, 5)], [(1, 0), (0, 0)], None, None]
