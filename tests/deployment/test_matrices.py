"""Products of stacked matrices, one by one."""

import mxnet as mx
import numpy as np
import pytest

import gluon_same
from gluon_same.deployment import matrices
from gluon_same.deployment.fuse import available, fuse
from gluon_same.deployment.running import error, outputs
from graphs import graph_of, operators, rewritten
from small_nets import Body

F, X, Y = mx.sym, mx.sym.var("data0"), mx.sym.var("data1")
RULES = [matrices.multiply_one_by_one]


@pytest.fixture
def small(monkeypatch):
    """Apply the rule to matrices of any size."""
    monkeypatch.setattr(matrices, "LEAST", 1)


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("first", [(1,), (3,), (2, 3)])
def test_each_product_is_a_dense_layer(first, transpose_a, transpose_b, small):
    shapes = [(*first, 4, 5), (*first, 5, 6)]
    for i, transposed in enumerate((transpose_a, transpose_b)):
        if transposed:
            shapes[i] = (*first, *shapes[i][:-3:-1])
    symbol = F.batch_dot(X, Y, transpose_a=transpose_a, transpose_b=transpose_b)
    found = rewritten(symbol, RULES, *shapes)
    assert found.count("FullyConnected") == np.prod(first) and "batch_dot" not in found


def test_products_of_small_matrices_stay():
    shapes = (3, 255, 8), (3, 256, 8)
    symbol = F.batch_dot(X, Y, transpose_b=True)
    assert graph_of(symbol, *shapes).rewrite(*RULES) == 0
    assert graph_of(symbol, *[(3, 256, 8)] * 2).rewrite(*RULES) == 1
    assert graph_of(symbol, *[(matrices.MOST + 1, 256, 8)] * 2).rewrite(*RULES) == 0


def attend(scores, value):
    """Return a product with rows of scores, as after their softmax."""
    return F.batch_dot(F.softmax(scores), value)


BETWEEN = {
    "nothing": lambda x: x,
    "scale": lambda x: x * 0.3,
    "a mask of keys": lambda x: _four(x, lambda y: F.broadcast_add(y, _table(2, 1, 1, 5))),
    "a bias of heads": lambda x: _four(x, lambda y: F.broadcast_add(_table(1, 3, 4, 5), y)),
    "a bias of all": lambda x: _four(x, lambda y: F.elemwise_add(y, _table(2, 3, 4, 5))),
    "a bias of two axes": lambda x: F.reshape(
        F.broadcast_mul(F.reshape(x, shape=(2, 3, 4, 5)), F.reshape(_table(4, 5), shape=(1, 1, 4, 5))),
        shape=(6, 4, 5),
    ),
    "a condition": lambda x: F.where(_table(6, 4, 5) > 0, x, F.var("least", shape=(6, 4, 5))),
}


def _table(*shape):
    return F.var("table", shape=shape)


def _four(x, apply):
    return F.reshape(apply(F.reshape(x, shape=(-4, 2, 3, 0, 0))), shape=(-3, 0, 0))


@pytest.mark.parametrize("name", BETWEEN)
def test_what_is_between_two_products_is_computed_for_each(name, small):
    scores = F.batch_dot(X, Y, transpose_b=True)
    found = rewritten(attend(BETWEEN[name](scores), Y), RULES, (6, 4, 7), (6, 5, 7))
    assert found.count("FullyConnected") == 12
    # The scores are neither stacked nor split.
    assert found.count("softmax") == 6 and found.count("stack") == 1


@pytest.mark.parametrize("axis", [0, 1])
def test_what_concerns_several_matrices_is_computed_on_the_stack(axis, small):
    scores = F.softmax(F.batch_dot(X, Y, transpose_b=True), axis=axis)
    found = rewritten(F.batch_dot(scores, Y), RULES, (3, 4, 7), (3, 5, 7))
    assert found.count("FullyConnected") == 6
    assert found.count("softmax") == 1 and found.count("stack") == 2


@pytest.mark.parametrize(
    "between",
    [
        lambda x: F.LeakyReLU(x, _table(4), act_type="prelu"),  # of the second axis
        lambda x: F.where(F.reshape(_table(3), shape=(3,)) > 0, x, F.var("other", shape=(3, 4, 4))),
    ],
)
def test_what_is_no_function_of_a_matrix_is_computed_on_the_stack(between, small):
    scores = F.batch_dot(X, Y, transpose_b=True)
    found = rewritten(F.batch_dot(between(scores), Y), RULES, (3, 4, 7), (3, 4, 7))
    assert found.count("FullyConnected") == 6 and found.count("stack") == 2


def test_stacks_of_other_arrays_are_split(small):
    scores = F.reshape(F.stack(*[_table(2, 4, 2)] * 3, axis=0), shape=(3, 4, 4))
    found = rewritten(F.batch_dot(scores, X), RULES, (3, 4, 7))
    assert found.count("FullyConnected") == 3 and found.count("SliceChannel") == 2


def test_scores_that_are_returned_too_are_stacked(small):
    scores = F.softmax(F.batch_dot(X, Y, transpose_b=True))
    found = rewritten(F.Group([F.batch_dot(scores, Y), scores]), RULES, (3, 4, 7), (3, 5, 7))
    assert found.count("softmax") == 1 and found.count("stack") == 2


@pytest.mark.skipif(not available(), reason="requires oneDNN")
def test_other_layers_are_fused(small):
    layer = F.relu(F.FullyConnected(X, num_hidden=7, flatten=False, name="layer"))
    graph = graph_of(F.batch_dot(layer, layer, transpose_b=True), (2, 4, 3))
    arrays = [mx.nd.random.normal(shape=(2, 4, 3))]
    want = outputs(graph, arrays)
    graph.rewrite(*RULES)
    fused = fuse(graph)
    assert operators(fused).count("FullyConnected") == 2
    assert any(op.startswith("_sg_mkldnn_fully_connected") for op in operators(fused))
    assert error(outputs(fused, arrays), want) < 1e-5


@pytest.mark.skipif(not available(), reason="requires oneDNN")
@pytest.mark.parametrize("batch", [1, 2])
def test_attention_is_right_for_each_input(batch):
    def attention(F, layer, x):
        x = F.reshape(layer(x), shape=(0, 0, -1))  # 8 channels of 256 steps
        heads = F.reshape(F.transpose(x, axes=(0, 2, 1)), shape=(0, 0, 2, 4))
        heads = F.reshape(F.transpose(heads, axes=(0, 2, 1, 3)), shape=(-3, 0, 0))
        scores = F.softmax(F.batch_dot(heads, heads, transpose_b=True) * 0.5)
        return F.batch_dot(scores, heads)

    net = Body(attention, 8)
    net.initialize(mx.init.Xavier())
    x = mx.nd.random.normal(shape=(batch, 3, 16, 16))
    net(x)
    block = gluon_same.deploy(net, x.shape, tune=False)
    row = next(row for row in block.report.rows if row.name == "multiply one by one")
    assert row.after > row.before
    for _ in range(5):  # weights that were kept from the first call would be wrong
        x = mx.nd.random.normal(shape=x.shape)
        np.testing.assert_allclose(block(x).asnumpy(), net(x).asnumpy(), rtol=1e-4, atol=1e-5)
