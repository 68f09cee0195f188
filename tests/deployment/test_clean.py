"""Rules that drop operators without effect, and evaluate operators that read only parameters."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same.deployment import clean
from gluon_same.deployment.running import outputs
from gluon_same.graph import Graph
from gluon_same.importing import functions
from graphs import graph_of, operators, rewritten

F, X = mx.sym, mx.sym.var("data0")


@pytest.mark.parametrize(
    "make",
    [
        lambda x: F.Dropout(x, p=0.5),
        F.identity,
        F.BlockGrad,
        lambda x: x * 1,
        lambda x: x / 1 + 0,
        lambda x: F.reshape(x, shape=(0, 0, -1, 4)),
        lambda x: F.slice(x, begin=(None, 0), end=(None, None)),
        lambda x: F.slice_axis(x, axis=1, begin=0, end=None),
        lambda x: F.concat(x, dim=1),
        lambda x: F.Pad(x, mode="constant", pad_width=(0,) * 8),
    ],
)
def test_what_changes_nothing_is_dropped(make):
    assert rewritten(F.relu(make(F.relu(X))), clean.RULES, (2, 3, 4, 4)) == ["relu", "relu"]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x * 2,
        lambda x: F.reshape(x, shape=(0, -1)),
        lambda x: F.slice(x, begin=(None, None, None, None), end=(None,) * 4, step=(1, 1, -1, 1)),
        lambda x: F.slice(x, begin=(None, None, 1, None), end=(None,) * 4),
        lambda x: F.transpose(x, axes=(0, 1, 3, 2)),
    ],
)
def test_what_changes_something_stays(make):
    assert len(rewritten(F.relu(make(X)), clean.RULES, (2, 3, 4, 4))) == 2


@pytest.mark.parametrize(
    "make, operator",
    [
        (lambda x: F.broadcast_like(F.sum(x, axis=1, keepdims=True), x), "broadcast_to"),
        (lambda x: F.reshape_like(F.transpose(x, axes=(0, 1, 3, 2)), x), "Reshape"),
        (lambda x: F.slice_like(F.Pad(x, mode="edge", pad_width=(0, 0, 0, 0, 1, 1, 0, 2)), x), "slice"),
        (
            lambda x: F.slice_like(
                F.Pad(x, mode="edge", pad_width=(0, 0, 0, 0, 1, 1, 0, 2)), x, axes=(3,)
            ),
            "slice",
        ),
        *(
            (
                lambda x, aligned=aligned: F.contrib.BilinearResize2D(
                    F.slice_axis(x, axis=2, begin=0, end=3), x, mode="like", align_corners=aligned
                ),
                "_contrib_BilinearResize2D",
            )
            for aligned in (False, True)
        ),
    ],
)
def test_an_array_of_which_only_the_shape_counts_is_not_read(make, operator):
    symbol, shape = F.relu(make(F.relu(X))), (2, 3, 4, 6)
    graph = graph_of(symbol, shape)
    x = mx.nd.random.normal(shape=shape)
    (want,) = outputs(graph, [x])
    graph.rewrite(*clean.RULES)
    assert operator in operators(graph)
    assert all(len(node.inputs) == 1 for node in graph.nodes() if node.op != "null")
    np.testing.assert_array_equal(outputs(graph, [x])[0], want)


def test_what_follows_from_parameters_and_shapes_is_computed_once():
    symbol = F.broadcast_add(X, F.slice_like(F.var("offsets", shape=(1, 3, 9, 9)), X, axes=(2, 3)))
    assert rewritten(symbol, clean.RULES, (2, 3, 4, 5)) == ["broadcast_add"]


def test_parts_as_long_as_numbers_that_follow_from_shapes_are_computed_once():
    half = functions.scalar(F, F.shape_array(X), kind="divide", number=2, first=False)
    line = functions.line_of(F, half, 1)
    part = F.take(X, F.contrib.arange_like(line), axis=1)
    graph, x = Graph(part + 1, {}, {"data0": (2, 8)}), mx.nd.arange(16).reshape((2, 8))
    graph.rewrite(*clean.RULES)
    assert operators(graph) == ["take", "_plus_scalar"]
    np.testing.assert_array_equal(outputs(graph, [x])[0], x[:, :4].asnumpy() + 1)


def test_dropout_that_is_for_inference_stays():
    graph = graph_of(F.Dropout(X, p=0.5, mode="always"), (2, 3))
    assert graph.rewrite(*clean.RULES) == 0


def test_what_follows_from_parameters_is_computed_once():
    weight = F.var("weight", shape=(4, 3, 1, 1))
    norm = F.sqrt(F.sum(F.square(weight), axis=(1, 2, 3), keepdims=True))
    symbol = F.Convolution(X, F.broadcast_div(weight, norm), kernel=(1, 1), num_filter=4, no_bias=True)
    assert rewritten(symbol, clean.RULES, (2, 3, 5, 5)) == ["Convolution"]


def test_what_follows_from_several_results_is_computed_once():
    w = mx.sym.var("w", shape=(4, 6))
    upper, lower = F.split(w, num_outputs=2, axis=0)
    left, right = F.split(lower, num_outputs=2, axis=1)
    y = F.broadcast_add(X, F.concat(right, upper.slice_axis(axis=1, begin=0, end=3), left, dim=1))
    assert rewritten(y, clean.RULES, (2, 9)) == ["broadcast_add"]
    means = F.split(F.broadcast_add(X, w.slice_axis(axis=0, begin=0, end=2)), num_outputs=2, axis=1)
    assert rewritten(means[1] - 2, clean.RULES, (2, 6))[1:] == ["SliceChannel", "_minus_scalar"]


def test_numbers_that_no_input_makes_are_computed_once():
    symbol = F.broadcast_mul(X, F.ones((1, 3)) * 2)
    assert rewritten(symbol, clean.RULES, (2, 3)) == ["broadcast_mul"]


@pytest.mark.parametrize(
    "make", [F.random.normal, lambda shape: F.np.random.normal(size=shape).as_nd_ndarray()]
)
def test_random_numbers_are_not(make):
    graph = graph_of(F.broadcast_add(X, make(shape=(1, 3))), (2, 3))
    graph.rewrite(*clean.RULES)
    assert len(operators(graph)) == 2


def test_a_large_array_from_a_small_one_stays_out_of_the_file():
    wide = F.broadcast_axis(F.var("w", shape=(1, 1)), axis=(0, 1), size=(1000, 1000))
    assert rewritten(F.broadcast_mul(X, wide), clean.RULES, (1, 1000)) == [
        *("broadcast_axis", "broadcast_mul")
    ]


def test_zeros_take_the_size_that_their_consumer_implies():
    states = F.zeros((1, 0, 4)), F.zeros((1, 0, 4))
    symbol = F.RNN(X, F.var("w", shape=(4 * 4 * 9,)), *states, state_size=4, num_layers=1, mode="lstm")
    assert rewritten(symbol, clean.RULES, (5, 2, 3)) == ["RNN"]


def test_what_follows_from_shapes_is_computed_once():
    line = F.reshape(F.slice_axis(X, axis=0, begin=0, end=1), shape=(-1,))
    places = F.arange(start=0, stop=None, infer_range=True) + F.zeros_like(line)
    table = F.Embedding(places, F.var("weight", shape=(9, 1)), input_dim=9, output_dim=1)
    even = F.broadcast_div(F.contrib.arange_like(X, axis=1), F.cast(F.size_array(X), dtype="float32"))
    added = F.broadcast_add(F.reshape(table, shape=(1, -1)), F.expand_dims(even, axis=0))
    graph = graph_of(F.broadcast_add(X, added), (2, 3))
    weight = graph.params["weight"].asnumpy()
    graph.rewrite(*clean.RULES)
    assert operators(graph) == ["broadcast_add"]
    (folded,) = graph.params.values()
    want = weight[:3, 0] + np.arange(3) / 6
    np.testing.assert_allclose(folded.asnumpy(), [want], rtol=1e-6)


def test_zeros_like_whole_numbers_are_whole():
    places = F.cast(X, dtype="int32")
    symbol = F.cast(F.elemwise_add(places, F.ones_like(places)), dtype="float32")
    graph = graph_of(symbol, (2, 3))
    graph.rewrite(*clean.RULES)
    assert operators(graph) == ["Cast", "elemwise_add", "Cast"]
    (ones,) = graph.params.values()
    assert ones.dtype == np.int32


def test_large_results_of_shapes_are_not_stored():
    symbol = F.broadcast_add(X, F.ones_like(X))
    assert len(rewritten(symbol, clean.RULES, (1, 3, 512, 512))) == 2


@pytest.mark.parametrize(
    "make, found",
    [
        (lambda x, y: F.elemwise_mul(x, F.broadcast_to(y, (2, 3, 4, 4))), "broadcast_mul"),
        (lambda x, y: F.elemwise_sub(F.broadcast_to(y, (2, 3, 4, 4)), x), "broadcast_sub"),
        (lambda x, y: F.broadcast_div(x, F.broadcast_to(y, (2, 3, 1, 4))), "broadcast_div"),
    ],
)
def test_what_broadcasts_reads_small_arrays(make, found):
    assert rewritten(make(X, mx.sym.var("data1")), clean.RULES, (2, 3, 4, 4), (2, 3, 1, 1)) == [found]


def test_broadcasts_that_give_a_result_its_shape_stay():
    def after(make):
        return rewritten(make(lambda x: F.broadcast_to(x, (2, 3, 4, 4))), clean.RULES, (2, 3, 1, 1))

    assert after(lambda wide: F.relu(wide(X))) == ["broadcast_to", "relu"]
    assert after(lambda wide: wide(F.broadcast_to(X, (2, 3, 1, 4)))) == ["broadcast_to"]
    found = after(lambda wide: F.elemwise_add(wide(X), wide(F.relu(X))))
    assert found == ["broadcast_to", "relu", "broadcast_to", "elemwise_add"]


def test_the_first_of_two_broadcasts_is_dropped_with_the_sizes_that_it_gives():
    y = F.broadcast_to(F.broadcast_to(X, shape=(2, 1, 4)), shape=(0, 3, 0))
    assert rewritten(y, clean.RULES, (1, 1, 4)) == ["broadcast_to"]
