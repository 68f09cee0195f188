"""Normalizations of groups of channels by rows and by products."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same.deployment import clean, fold_batchnorm, group_norms, moves
from gluon_same.deployment.running import outputs
from graphs import graph_of, operators, rewritten

F, X = mx.sym, mx.sym.var("data0")
RULES = group_norms.RULES


@pytest.mark.parametrize("most", [group_norms.MOST_IN_ROW, 0])
@pytest.mark.parametrize("offset", [0, 30])
@pytest.mark.parametrize(
    "make",
    [
        lambda x: F.GroupNorm(x, num_groups=1),
        lambda x: F.GroupNorm(x, num_groups=4, eps=1e-2),
        F.InstanceNorm,
        lambda x: F.InstanceNorm(x, eps=1e-5),
    ],
)
@pytest.mark.parametrize(
    "shape", [(1, 8, 64, 65), (3, 4, 5, 7), (2, 8, 11), (1, 4, 3, 4, 5), (1, 4, 67, 67)]
)
def test_groups_are_rows(make, shape, offset, monkeypatch, most):
    monkeypatch.setattr(group_norms, "MOST_IN_ROW", most)
    graph = graph_of(make(X), shape)
    x = mx.nd.array(np.random.RandomState(1).normal(offset, size=shape))
    (want,) = outputs(graph, [x])
    assert graph.rewrite(*RULES) == 1
    (got,) = outputs(graph, [x])
    # The numbers themselves are rounded to float32.
    assert np.abs(got - want).max() < 1e-6 * (1 + offset) * np.abs(want).max()
    found = operators(graph)
    assert found.count("BatchNorm") == found.count("LayerNorm") + found.count("batch_dot") == 1
    assert most or "batch_dot" in found


@pytest.mark.parametrize("most", [group_norms.MOST_IN_ROW, 0])
@pytest.mark.parametrize("groups", [1, 4, 8])
def test_scales_and_shifts_of_channels_are_part_of_the_normalization(groups, monkeypatch, most):
    monkeypatch.setattr(group_norms, "MOST_IN_ROW", most)
    y = F.GroupNorm(F.reshape(X, shape=(0, groups, -1)), num_groups=groups)
    y = F.reshape(y, shape=(0, 8, -1))
    gamma, beta = (F.reshape(F.var(name, shape=(8,)), shape=(1, 8, 1)) for name in ("gamma", "beta"))
    y = F.broadcast_add(F.broadcast_mul(y, gamma), beta)
    found = rewritten(y, [clean.fold_constants, *RULES, fold_batchnorm.fold_after], (1, 8, 6, 7))
    assert (
        "broadcast_mul" not in found and "broadcast_add" not in found and found.count("BatchNorm") == 1
    )


def test_normalizations_with_computed_factors_stay():
    symbol = F.InstanceNorm(X, F.relu(F.var("factors", shape=(4,))))
    assert graph_of(symbol, (1, 4, 5, 5)).rewrite(*RULES) == 0


@pytest.mark.parametrize("most", [group_norms.MOST_IN_ROW, 0])
def test_volumes_are_copied_before_they_are_reshaped(monkeypatch, most):
    monkeypatch.setattr(group_norms, "MOST_IN_ROW", most)
    how = dict(kernel=(3, 3, 3), pad=(1, 1, 1), num_filter=16)
    y = F.LeakyReLU(F.GroupNorm(F.Convolution(X, **how), num_groups=16))
    found = rewritten(F.Convolution(y, **how), [*RULES, *moves.RULES], (1, 4, 8, 8, 8))
    assert found[:3] == ["Convolution", "transpose", "Reshape"]


@pytest.mark.parametrize("most", [group_norms.MOST_IN_ROW, 0])
@pytest.mark.parametrize("shape", [(1, 4, -1), (0, 4, -1, 1)])
def test_volumes_that_files_split_into_groups_are_copied_first(monkeypatch, most, shape):
    monkeypatch.setattr(group_norms, "MOST_IN_ROW", most)
    y = F.Convolution(X, kernel=(3, 3, 3), pad=(1, 1, 1), num_filter=16)
    y = F.relu(F.InstanceNorm(F.reshape(y, shape=shape)))
    found = rewritten(y, [*RULES, *moves.RULES], (1, 4, 3, 4, 5))
    assert found[:3] == ["Convolution", "transpose", "Reshape"]


@pytest.mark.parametrize("most", [group_norms.MOST_IN_ROW, 0])
@pytest.mark.parametrize("norm", [lambda y: F.GroupNorm(y, num_groups=21), F.InstanceNorm])
def test_channels_that_a_reshape_joins_are_those_of_its_result(monkeypatch, most, norm):
    monkeypatch.setattr(group_norms, "MOST_IN_ROW", most)
    shape = (3, 5, 42, 3)
    graph = graph_of(norm(F.reshape(X, shape=(0, -3, -2))), shape)
    x = mx.nd.array(np.random.RandomState(1).normal(size=shape))
    (want,) = outputs(graph, [x])
    assert graph.rewrite(*RULES) == 1
    (scaled,) = (node for node in graph.nodes() if node.op == "BatchNorm")
    assert np.prod(graph.shape(scaled.data)) == np.prod(shape)  # otherwise MXNet writes outside
    (got,) = outputs(graph, [x])
    assert np.abs(got - want).max() < 1e-5 * np.abs(want).max()
