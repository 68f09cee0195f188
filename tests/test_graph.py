"""The graph and its walker."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same.graph import Graph
from gluon_same.deployment.running import outputs
from graphs import graph_of, operators, rewritten

F, X = mx.sym, mx.sym.var("data0")


def test_a_symbol_comes_back_as_it_was():
    two = F.split(F.FullyConnected(F.flatten(X), num_hidden=6), num_outputs=2)
    symbol = F.Group([two[1], F.relu(two[0])])
    graph = graph_of(symbol, (2, 3, 4))
    copy = graph.copy()
    assert operators(copy) == operators(graph) and copy.symbol().list_inputs() == symbol.list_inputs()
    x = mx.nd.ones((2, 3, 4))
    for got, want in zip(outputs(copy, [x]), outputs(graph, [x])):
        np.testing.assert_array_equal(got, want)


def test_rules_are_tried_again_where_one_makes_room_for_another():
    def shorten(graph, node):
        return node.inputs[0] if node.op == "negative" and node.inputs[0].node.op == "relu" else None

    assert rewritten(F.relu(F.relu(X)), [shorten], (3,)) == ["relu", "relu"]
    graph = graph_of(F.negative(F.negative(F.relu(X))), (3,))
    assert graph.rewrite(shorten) == 2 and operators(graph) == ["relu"]


def test_what_several_take_is_replaced_for_all():
    def plain(graph, node):
        return node.inputs[0] if node.op == "_copy" else None

    y = F.identity(X)
    assert rewritten(F.Group([y + F.relu(y), y * y]), [plain], (2, 2)) == [
        *("relu", "elemwise_add", "elemwise_mul")
    ]


def test_uses_and_shapes_are_known_to_rules_where_names_repeat():
    layer = mx.gluon.nn.Dense(3, in_units=3)
    layer.initialize()
    symbol = layer(layer(X))
    values = {name: p.data() for name, p in layer.collect_params().items()}
    graph, seen = Graph(symbol, values, {"data0": (2, 3)}), []

    def look(graph, node):
        seen.append((graph.shape(node.out), graph.uses(node.out), graph.uses(node.inputs[1])))

    graph.rewrite(look)
    assert seen == [((2, 3), 1, 2)] * 2


def test_parameters_that_nothing_takes_any_more_are_gone():
    def drop(graph, node):
        return node.inputs[0]

    graph = graph_of(F.FullyConnected(X, num_hidden=3), (2, 3))
    graph.rewrite(drop)
    assert graph.params == {} and graph.operators() == 0


@pytest.mark.parametrize(
    "text, value", [("True", True), ("false", False), ("(1, 2)", (1, 2)), ("avg", "avg")]
)
def test_arguments_are_read_as_python_values(text, value):
    (node,) = [n for n in graph_of(F.relu(X), (2,)).nodes() if n.op == "relu"]
    node.attrs["this"] = text
    assert node.get("this") == value and node.get("that", 7) == 7
