"""Inputs of graphs that are indices, lengths or regions, and random numbers that fit."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same.graph import Graph
from gluon_same.whole_inputs import random_inputs, region_inputs, whole_inputs

x, y, table = map(mx.sym.Variable, ("x", "y", "table"))

CASES = {
    "of a table": (mx.sym.take(table, x), {"x": 0}),
    "of an Embedding": (mx.sym.Embedding(x, table, input_dim=3, output_dim=2), {"x": 0}),
    "cast, cut and turned": (
        mx.sym.take(table, mx.sym.cast(mx.sym.slice(mx.sym.reverse(x, axis=0), (0,), (2,)), "int64")),
        {"x": 0},
    ),
    "joined": (mx.sym.take(table, mx.sym.concat(mx.sym.cast(x, "int32"), y, dim=0)), {"x": 0, "y": 0}),
    "lengths": (mx.sym.SequenceMask(x, y, use_sequence_length=True), {"y": 1}),
    "lengths and indices": (
        mx.sym.SequenceMask(mx.sym.take(table, x), x, use_sequence_length=True), {"x": 1}
    ),
    "computed": (mx.sym.take(table, x * 3), None),
    "none": (mx.sym.Activation(x, act_type="relu"), {}),
}  # fmt: skip


@pytest.mark.parametrize("symbol, least", CASES.values(), ids=CASES)
def test_indices_and_lengths(symbol, least):
    graph = Graph(symbol, inputs={"x": (4,), "y": (4,)})
    found = {name: n for name, n in whole_inputs(graph).items() if name in graph.inputs}
    assert found == (least or {})


def test_regions():
    symbol = mx.sym.contrib.ROIAlign(x, mx.sym.identity(y * 2), pooled_size=(2, 2), spatial_scale=1)
    assert region_inputs(Graph(symbol)) == {"y"}


def test_random_numbers():
    graph = Graph(mx.sym.SequenceMask(x, y, use_sequence_length=True), inputs={"x": (9, 40), "y": (40,)})
    real, whole = random_inputs(graph, graph.inputs)
    assert real.shape == (9, 40) and len(np.unique(real)) == 360 and real.min() < -1
    assert whole.shape == (40,) and set(whole) == {1, 2}
