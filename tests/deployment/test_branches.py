"""Convolutions before and after a concatenation."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same.deployment import branches
from gluon_same.deployment.fuse import fuse
from graphs import graph_of, rewritten

F, X, Y = mx.sym, mx.sym.var("data0"), mx.sym.var("data1")


def convolved(x, name, count, kernel=1, groups=1, **how):
    pad = how.pop("pad", kernel // 2)
    how = dict(how, kernel=(kernel, kernel), pad=(pad, pad), num_filter=count, num_group=groups)
    return F.Convolution(x, **how, name=name)


def slices(x, *widths):
    ends = np.cumsum(widths)
    return [F.slice_axis(x, axis=1, begin=e - n, end=e) for n, e in zip(widths, ends)]


JOIN = [branches.join_convolutions]


@pytest.mark.parametrize("stride, dilate", [(1, 1), (2, 1), (1, 2)])
def test_depthwise_convolutions_of_mixed_kernels_are_one(stride, dilate):
    how = dict(stride=(stride, stride), dilate=(dilate, dilate))
    layers = [
        convolved(part, f"layer{k}", n, k, n, pad=dilate * (k // 2), **how)
        for part, n, k in zip(slices(X, 2, 3, 1), (2, 3, 1), (3, 5, 1))
    ]
    assert rewritten(F.concat(*layers, dim=1), JOIN, (2, 6, 9, 12)) == ["Convolution"]


def test_convolutions_of_equal_parts_are_groups():
    for parts in (slices(X, 4, 4), F.split(X, num_outputs=2, axis=1)):
        layers = [convolved(part, f"layer{i}", 6, 3, 2) for i, part in enumerate(parts)]
        graph = graph_of(F.concat(*layers, dim=1), (2, 8, 5, 5))
        assert graph.rewrite(*JOIN) == 1
        (layer,) = (node for node in graph.nodes() if node.op == "Convolution")
        assert layer.get("num_group") == 4
        assert rewritten(F.concat(*layers, dim=1), JOIN, (2, 8, 5, 5)) == ["Convolution"]


def test_convolutions_of_the_same_data_are_one():
    layers = [convolved(X, "one", 3, 3), convolved(X, "other", 5, 3, no_bias=True)]
    assert rewritten(F.concat(*layers, dim=1), JOIN, (2, 4, 5, 5)) == ["Convolution"]
    layers = [F.Convolution(X, kernel=(3,), num_filter=n, name=f"layer{n}") for n in (2, 3)]
    assert rewritten(F.concat(*layers, dim=1), JOIN, (2, 4, 9)) == ["Convolution"]


def test_convolutions_that_do_not_fit_stay():
    (one, other), (most, last) = slices(X, 4, 4), slices(X, 7, 1)
    depthwise, halved = convolved(one, "one", 4, 3, 4), convolved(one, "one", 4, 3, 4, stride=(2, 2))
    for layers in (
        [convolved(X, "one", 3), convolved(X, "other", 3, 3)],  # would compute more
        [convolved(most, "one", 7, 3, 7), convolved(last, "other", 1, 11)],
        [halved, convolved(other, "other", 4, 4, 4, pad=1, stride=(2, 2))],  # an even kernel
        [depthwise, convolved(other, "other", 4, 3, 4, pad=2, dilate=(2, 2))],
        [depthwise, convolved(one, "other", 4, 3, 4)],  # the same slice
        [depthwise, convolved(other, "other", 8, 3, 4)],  # two filters a group
        [convolved(other, "one", 4), convolved(one, "other", 4)],  # another order
        [convolved(X, "one", 4, 3, 2), convolved(X, "other", 4, 3, 2)],  # groups of the same channels
        [depthwise, other],
        [depthwise],
    ):
        assert graph_of(F.concat(*layers, dim=1), (1, 8, 16, 16)).rewrite(*JOIN) == 0
    different = [convolved(X, "one", 4), convolved(Y, "other", 4)]
    assert graph_of(F.concat(*different, dim=1), *[(1, 8, 4, 4)] * 2).rewrite(*JOIN) == 0
    both = F.concat(depthwise, convolved(other, "other", 4, 3, 4), dim=1)
    assert graph_of(both, (1, 8, 4, 4)).rewrite(*JOIN) == 1
    assert graph_of(F.Group([both, F.exp(depthwise)]), (1, 8, 4, 4)).rewrite(*JOIN) == 0  # used twice


SPLIT, GHOST = [branches.split_convolution], [branches.join_by_depthwise]


def test_convolutions_of_parts_are_added():
    whole = F.concat(X, F.relu(Y), X, dim=1)
    layers = [convolved(whole, "one", 2, 3), convolved(whole, "other", 3, no_bias=True)]
    found = rewritten(F.Group(layers), SPLIT, (2, 4, 5, 5), (2, 6, 5, 5))
    assert sorted(found) == [*["Convolution"] * 6, *["elemwise_add"] * 4, "relu"]


def test_convolutions_of_parts_are_added_to_a_shortcut():
    y = convolved(F.concat(X, Y, dim=1), "layer", 4)
    graph = graph_of(F.relu(y + F.relu(X)), (2, 4, 5, 5), (2, 4, 5, 5))
    graph.rewrite(*branches.MOVES)
    assert graph.operators() == 6 and fuse(graph).operators() == 4
    assert rewritten(y + F.relu(X), branches.MOVES, (2, 4, 5, 5), (2, 4, 5, 5))
    for other in (convolved(X, "other", 4), F.exp(y)):  # three convolutions; a sum that is used twice
        graph = graph_of(F.Group([y + other, F.exp(y)]), (2, 4, 5, 5), (2, 4, 5, 5))
        graph.rewrite(branches.split_convolution)
        assert graph.rewrite(branches.add_to_sum) == 0


def test_concatenations_that_others_read_or_that_are_small_stay():
    whole = F.concat(X, F.relu(X), dim=1)
    for symbol in (
        F.Group([convolved(whole, "layer", 2), whole]),
        F.Group([convolved(whole, "layer", 2), F.exp(whole)]),
        convolved(whole, "layer", 12),  # would write more than is copied
        convolved(whole, "layer", 2, groups=2),
        convolved(F.concat(X, X, dim=2), "layer", 2),
    ):
        assert graph_of(symbol, (2, 5, 4, 4)).rewrite(*SPLIT) == 0


def test_parts_are_pooled_before_they_are_concatenated():
    whole = F.concat(X, F.relu(Y), dim=1)
    for how in (
        dict(kernel=(3, 3), stride=(2, 2)),
        dict(kernel=(1, 1), global_pool=True, pool_type="avg"),
    ):
        found = rewritten(F.Pooling(whole, **how), branches.MOVES, (2, 4, 5, 5), (2, 6, 5, 5))
        assert sorted(found) == ["Concat", "Pooling", "Pooling", "relu"]
    layer = convolved(F.Pooling(whole, kernel=(2, 2), stride=(2, 2)), "layer", 3)
    found = rewritten(layer, branches.MOVES, (2, 4, 6, 6), (2, 6, 6, 6))
    assert "Concat" not in found and found.count("Convolution") == found.count("Pooling") == 2
    pooled = F.Pooling(whole, kernel=(3, 3), pad=(1, 1))  # of the same size
    for symbol in (pooled, F.Group([F.Pooling(whole, global_pool=True, kernel=(1, 1)), F.exp(whole)])):
        assert graph_of(symbol, (2, 4, 5, 5), (2, 6, 5, 5)).rewrite(*branches.MOVES) == 0


def ghost(kernel=3, activations=(True, True), groups=6, channels=6, **how):
    first = convolved(X, "layer", 6)
    first = F.Activation(first, act_type="relu") if activations[0] else first
    second = convolved(first, "depthwise", channels, kernel, groups, **how)
    second = F.Activation(second, act_type="relu") if activations[1] else second
    return first, second


@pytest.mark.parametrize("activations", [(True, True), (True, False), (False, False)])
@pytest.mark.parametrize("how", [{}, {"kernel": 5}, {"dilate": (2, 2), "pad": 2}, {"no_bias": True}])
def test_ghosts_are_computed_without_concatenation(activations, how):
    found = rewritten(F.concat(*ghost(activations=activations, **how), dim=1), GHOST, (2, 4, 9, 8))
    one, other = (["Activation"] if each else [] for each in activations)
    assert found == ["Convolution", *one, "Convolution", *other]


def test_other_ghosts_stay():
    first, second = ghost()
    for symbol in (
        F.Group([F.concat(first, second, dim=1), F.exp(first)]),  # three uses
        F.Group([F.concat(first, second, dim=1), F.exp(second)]),  # the layers would stay, too
        F.concat(second, first, dim=1),
        F.concat(first, second, first, dim=1),
        F.concat(*ghost(activations=(False, True)), dim=1),  # a ReLU of the second only
        F.concat(*ghost(groups=1), dim=1),
        F.concat(*ghost(channels=12), dim=1),
        F.concat(*ghost(groups=2), dim=1),
        F.concat(first, F.exp(X), dim=1),
        F.concat(X, convolved(X, "layer", 8, 3, 8), dim=1),
    ):
        assert graph_of(symbol, (1, 8, 5, 5)).rewrite(*GHOST) == 0
    wide = (1, branches.MOST_DOUBLED + 1, 2, 2)
    assert graph_of(F.concat(first, second, dim=1), wide).rewrite(*GHOST) == 0


def joined(shapes, axis=1):
    """Return a concatenation of the results of activations, and the shapes of their inputs."""
    data = [F.var(f"data{i}") for i in range(len(shapes))]
    parts = [F.Activation(x, act_type="relu", name=f"part{i}") for i, x in enumerate(data)]
    return F.concat(*parts, dim=axis)


@pytest.mark.parametrize(
    "counts, smallest", [((64, 32), 1), ((32, 64), 0), ((64, 32, 32), 1), ((48, 48), 0)]
)
def test_the_smallest_part_of_a_concatenation_is_copied_to_plain_memory(counts, smallest):
    shapes = [(1, count, 8, 8) for count in counts]
    rules = [branches.join_by_copies]
    found = rewritten(joined(shapes), rules, *shapes)
    assert sorted(found) == [*["Activation"] * len(counts), "Concat", "transpose"]
    graph = graph_of(joined(shapes), *shapes)
    assert graph.rewrite(*rules) == 1
    (join,) = [node for node in graph.nodes() if node.op == "Concat"]
    copies = [entry.node for entry in join.inputs if entry.node.op == "transpose"]
    assert [copy.inputs[0].node.name for copy in copies] == [f"part{smallest}"]


@pytest.mark.parametrize(
    "shape, axis",
    [
        ((2, 64, 8, 8), 1),  # oneDNN copies the channels of several samples whole
        ((1, 64, 8, 8), 2),
        ((1, 64, 64), 1),  # which oneDNN does not concatenate
        ((1, 16, 8, 8), 1),  # few numbers
    ],
)
def test_other_parts_are_not_copied(shape, axis):
    assert graph_of(joined([shape] * 2, axis), shape, shape).rewrite(branches.join_by_copies) == 0


def test_parts_in_different_layouts_are_not_copied():
    shape = (1, 64, 8, 8)
    symbol = F.concat(F.Activation(X, act_type="relu"), F.exp(Y), dim=1)
    assert graph_of(symbol, shape, shape).rewrite(branches.join_by_copies) == 0
