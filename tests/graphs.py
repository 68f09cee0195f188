"""Graphs with random parameters, and the application of rules to them."""

import mxnet as mx
import numpy as np

from gluon_same.deployment.running import error, outputs
from gluon_same.graph import Graph


def graph_of(symbol, *shapes):
    """Return the graph of a symbol on ``data0``, ``data1`` and so on."""
    inputs = {f"data{i}": shape for i, shape in enumerate(shapes)}
    arguments, _, states = symbol.infer_shape(**inputs)
    found = dict(zip(symbol.list_arguments(), arguments))
    found.update(zip(symbol.list_auxiliary_states(), states))
    random = np.random.RandomState(0)
    params = {
        name: mx.nd.array(
            np.abs(random.normal(size=shape)) + 0.1 if "var" in name else random.normal(size=shape)
        )
        for name, shape in found.items()
        if name not in inputs
    }
    return Graph(symbol, params, inputs)


def operators(graph):
    return [node.op for node in graph.nodes() if node.op != "null"]


def rewritten(symbol, rules, *shapes):
    """Apply rules, check that they do not change the numbers, and return the operators."""
    graph = graph_of(symbol, *shapes)
    arrays = [mx.nd.array(np.random.RandomState(1).normal(size=shape)) for shape in shapes]
    want = outputs(graph, arrays)
    graph.rewrite(*rules)
    assert error(outputs(graph, arrays), want) < 1e-5
    return operators(graph)
