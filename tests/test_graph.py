"""Graphs come back as they were, and rules rewrite them."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same.deployment.running import outputs
from gluon_same.graph import RESULT, Graph, Node
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
    assert [node.op for node in graph.nodes()].count("FullyConnected") == 2
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


def test_a_loop_comes_back_as_it_was():
    out, _ = F.contrib.foreach(lambda step, state: (F.relu(step) * 2, state), X, [])
    graph = graph_of(F.tanh(out), (4, 2, 3))
    x = mx.nd.random.normal(shape=(4, 2, 3))
    want = outputs(graph, [x])

    def drop(graph, node):
        return node.inputs[0] if node.op == "tanh" else None

    copy = graph.copy()
    np.testing.assert_array_equal(outputs(copy, [x])[0], want[0])
    assert copy.rewrite(drop) == 1
    np.testing.assert_allclose(np.tanh(outputs(copy, [x])[0]), want[0], rtol=1e-6)


def test_casts_and_auxiliary_states_stay():
    y = F.BatchNorm(F.amp_cast(X, dtype="float32"), name="norm")
    graph = graph_of(y, (2, 3, 4, 4))
    assert "amp_cast" in operators(graph.copy())
    assert graph.symbol().list_auxiliary_states() == y.list_auxiliary_states()


def test_results_are_a_consumer():
    seen = {}

    def look(graph, node):
        seen[node.op] = graph.uses(node.out), graph.takers(node.out)

    y = F.relu(X)
    graph_of(F.Group([y, F.tanh(y)]), (3,)).rewrite(look)
    assert seen["relu"][0] == 2 and RESULT in seen["relu"][1]
    assert seen["tanh"] == (1, [RESULT])


def test_a_new_result_has_the_consumers_and_the_shape_of_the_old_one():
    seen = []

    def replace(graph, node):
        if node.op == "tanh":
            return graph.new("sigmoid", node, node.inputs)
        if node.op == "relu":
            entry = node.inputs[0]
            seen.append((entry.node.op, graph.shape(entry), graph.uses(entry)))
        return None

    graph = graph_of(F.relu(F.tanh(X)), (3, 4))
    assert graph.rewrite(replace) == 1
    assert seen[0] == ("sigmoid", (3, 4), 1)


def test_names_of_new_nodes_and_parameters_do_not_clash():
    def scale(graph, node):
        if node.op != "tanh":
            return None
        factor = graph.constant(node, "factor", np.full((1, 3), 2))
        return graph.new("broadcast_mul", node, [graph.new("relu", node, node.inputs), factor])

    y = F.tanh(F.tanh(X, name="act"), name="act_1")
    graph, x = graph_of(y, (2, 3)), mx.nd.random.normal(shape=(2, 3))
    graph.rewrite(scale)
    names = [node.name for node in graph.nodes()]
    assert len(set(names)) == len(names) == 7 and len(graph.params) == 2
    np.testing.assert_allclose(outputs(graph, [x])[0], 4 * np.maximum(x.asnumpy(), 0), rtol=1e-6)


def test_arguments_with_numbers_of_numpy_are_written_without_their_type():
    node = Node("op", "y", kernel=tuple(np.array([2, 3])), scalar=np.float32(0.1), pad=[np.int64(1)])
    assert node.attrs == {"kernel": "(2, 3)", "scalar": "0.1", "pad": "[1]"}


def test_a_copy_is_independent():
    def drop(graph, node):
        return node.inputs[0]

    graph = graph_of(F.FullyConnected(X, num_hidden=3), (2, 3))
    graph.copy().rewrite(drop)
    assert graph.operators() == 1 and len(graph.params) == 2


def test_a_copy_knows_the_shapes_that_its_graph_knew():
    def dense(graph, node):
        is_old = node.op == "relu" and graph.shape(node.out) == (2, 12)
        weight, how = np.ones((5, 12)), dict(num_hidden=5, no_bias=True)
        return graph.new("FullyConnected", node, [node.inputs[0], weight], **how) if is_old else None

    seen = []
    graph = graph_of(F.relu(F.relu(F.flatten(X))), (2, 3, 4))
    graph.infer()
    copy = graph.copy()
    assert {copy.shape(node.out) for node in copy.infer()} == {(2, 3, 4), (2, 12)}
    copy.rewrite(lambda graph, node: dense(graph, node) if node.inputs[0].node.op == "relu" else None)
    copy.rewrite(lambda graph, node: seen.append(graph.shape(node.out)))
    assert seen == [(2, 12), (2, 12), (2, 5)] and operators(graph) == ["Flatten", "relu", "relu"]


def test_a_graph_says_whether_rules_match_and_stays_as_it_was():
    def drop(graph, node):
        return node.inputs[0] if node.op == "relu" else None

    def scale(graph, node):
        return graph.new("broadcast_mul", node, [node.inputs[0], np.ones((1, 1))])

    graph = graph_of(F.negative(F.relu(X)), (2, 3))
    assert graph.matches(drop) and graph.matches(scale) and not graph.matches(lambda graph, node: None)
    assert operators(graph) == ["relu", "negative"] and not graph.params
    assert graph.rewrite(drop) and not graph.matches(drop)


def test_a_shape_that_cannot_be_inferred_is_empty():
    seen = []
    graph = Graph(F.relu(F.reshape(F.var("other"), shape=(0, -1))))
    graph.rewrite(lambda graph, node: seen.append(graph.shape(node.out)))
    assert set(seen) == {()}
