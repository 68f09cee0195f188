"""Inputs of graphs that are indices, lengths or regions, and random numbers that fit."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same.graph import Graph
from gluon_same.whole_inputs import random_inputs, region_inputs, whole_inputs

x, y, table = map(mx.sym.Variable, ("x", "y", "table"))

CASES = {
    "of a table": (mx.sym.take(table, x), {"x": range(2)}),
    "of an Embedding": (mx.sym.Embedding(x, table, input_dim=3, output_dim=2), {"x": range(2)}),
    "cast, cut and turned": (
        mx.sym.take(table, mx.sym.cast(mx.sym.slice(mx.sym.reverse(x, axis=0), (0,), (2,)), "int64")),
        {"x": range(2)},
    ),
    "joined": (
        mx.sym.take(table, mx.sym.concat(mx.sym.cast(x, "int32"), y, dim=0)),
        {"x": range(2), "y": range(2)},
    ),
    "lengths": (mx.sym.SequenceMask(x, y, use_sequence_length=True), {"y": range(1, 3)}),
    "lengths and indices": (
        mx.sym.SequenceMask(mx.sym.take(table, x), x, use_sequence_length=True), {"x": range(1, 2)}
    ),
    "added and chosen": (
        mx.sym.take(table, mx.sym.where(y, x + mx.sym.cast(y, "int32"), x)),
        {"x": range(2), "y": range(2)},
    ),
    "to write": (mx.sym.scatter_nd(table, x, shape=(3,)), {"x": range(1)}),
    "computed": (mx.sym.take(table, x * 3), {}),
    "none": (mx.sym.Activation(x, act_type="relu"), {}),
}  # fmt: skip


@pytest.mark.parametrize("symbol, numbers", CASES.values(), ids=CASES)
def test_indices_and_lengths(symbol, numbers):
    graph = Graph(symbol, inputs={"x": (4,), "y": (4,)})
    assert whole_inputs(graph) == numbers


def test_arrays_that_are_joined_often():
    indices = x
    for _ in range(60):  # 2**60 ways
        indices = mx.sym.slice_axis(mx.sym.concat(indices, indices, dim=0), axis=0, begin=0, end=4)
    assert whole_inputs(Graph(mx.sym.take(table, indices), inputs={"x": (4,)})) == {"x": range(2)}


def test_regions():
    symbol = mx.sym.contrib.ROIAlign(x, mx.sym.identity(y * 2), pooled_size=(2, 2), spatial_scale=1)
    assert region_inputs(Graph(symbol, inputs={"x": (2, 3, 8, 8), "y": (4, 5)})) == {"y"}
    assert region_inputs(Graph(symbol, inputs={"x": (2, 3, 8, 8)})) == set()


def test_random_numbers():
    graph = Graph(mx.sym.SequenceMask(x, y, use_sequence_length=True), inputs={"x": (9, 40), "y": (40,)})
    real, whole = random_inputs(graph, graph.inputs)
    assert real.shape == (9, 40) and len(np.unique(real)) == 360 and real.min() < -1
    assert whole.shape == (40,) and set(whole) == {1, 2}
