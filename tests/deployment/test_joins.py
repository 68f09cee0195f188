"""Slices and concatenations of each other's results."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same.deployment import joins
from graphs import graph_of, rewritten

F, X, Y = mx.sym, mx.sym.var("data0"), mx.sym.var("data1")


def test_a_decoder_of_detections_is_a_transpose():
    each = [
        F.concat(F.slice_axis(X, axis=-1, begin=i, end=i + 1), Y, dim=-1) for i in range(5)
    ]  # the score of each class, and the box
    result = F.concat(*each, dim=1)
    parts = [F.slice_axis(result, axis=2, begin=b, end=e) for b, e in ((0, 1), (1, None))]
    found = rewritten(F.Group(parts), joins.RULES, (1, 7, 5), (1, 7, 4))
    assert found == ["Reshape", "transpose", "Reshape", "Concat"]
    found = rewritten(F.exp(result), joins.RULES, (1, 7, 5), (1, 7, 4))
    assert found == ["Reshape", "transpose", "Reshape", "Concat", "Concat", "exp"]


@pytest.mark.parametrize("shape", [(2, 3, 6, 5), (6, 2, 6, 6)])
@pytest.mark.parametrize("axis, dim", [(2, 0), (2, 1), (2, 3), (0, 2), (3, 1)])
@pytest.mark.parametrize("width", [1, 2])
def test_joined_slices_are_transposes(shape, axis, dim, width):
    begins = range(0, shape[axis] - width + 1, width)
    slices = [F.slice_axis(X, axis=axis, begin=i, end=i + width) for i in begins]
    found = rewritten(F.concat(*slices, dim=dim), [joins.transpose], shape)
    if len(slices) > 1 and len(slices) * width == shape[axis]:
        assert found == ["Reshape", "transpose", "Reshape"]
    else:
        assert found == [*["slice_axis"] * len(slices), "Concat"]


@pytest.mark.parametrize(
    "slices",
    [
        [(0, 1), (2, 3), (1, 2)],  # another order
        [(0, 1), (1, 2)],  # not all
        [(0, 2), (2, 3)],  # of other sizes
    ],
)
def test_other_slices_stay(slices):
    parts = [F.slice_axis(X, axis=2, begin=b, end=e) for b, e in slices]
    axis = 2 if len({e - b for b, e in slices}) > 1 else 1
    graph = graph_of(F.concat(*parts, dim=axis), (1, 4, 3))
    assert graph.rewrite(*joins.RULES) == 0


def test_other_concatenations_stay():
    def inner(widths, dim=2):
        parts = [F.slice_axis(X, axis=2, begin=0, end=width) for width in widths]
        return F.concat(*parts, dim=dim)

    for outer in (
        F.concat(inner((1, 2)), inner((2, 1)), dim=1),  # parts of other sizes
        F.concat(inner((1, 1), 1), inner((1, 1), 1), dim=1),  # along the same axis
        F.concat(inner((1, 1, 1)), inner((1, 1, 1)), dim=1),  # more operators than before
        F.slice_axis(inner((2, 2)), axis=2, begin=1, end=3),  # of two parts
        F.slice_axis(inner((2, 2)), axis=1, begin=0, end=2),
    ):
        assert graph_of(outer, (1, 4, 3)).rewrite(*joins.RULES) == 0


def convolved(x, name, count, kernel=1, groups=1, **how):
    pad = how.pop("pad", kernel // 2)
    how = dict(how, kernel=(kernel, kernel), pad=(pad, pad), num_filter=count, num_group=groups)
    return F.Convolution(x, **how, name=name)


def slices(x, *widths):
    ends = np.cumsum(widths)
    return [F.slice_axis(x, axis=1, begin=e - n, end=e) for n, e in zip(widths, ends)]


JOIN = [joins.join_convolutions]


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
