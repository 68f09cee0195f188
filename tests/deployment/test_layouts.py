"""Rules about plain memory and oneDNN's blocked layout."""

import mxnet as mx
import pytest

from gluon_same.deployment import layouts
from graphs import rewritten

F, X = mx.sym, mx.sym.var("data0")


def convolution(x):
    return F.Convolution(x, kernel=(1, 1), num_filter=8)


def parts(y):
    halves = [F.slice_axis(y, axis=1, begin=i, end=i + 4) for i in (0, 4)]
    return F.elemwise_mul(*halves)


@pytest.mark.parametrize(
    "make, copies",
    [
        (parts, 1),
        (lambda y: F.elemwise_mul(y, F.hard_sigmoid(y)), 1),
        (lambda y: parts(F.elemwise_add(y, F.Activation(y, act_type="relu"))), 1),
        (lambda y: parts(y) + parts(F.Activation(y, act_type="relu")), 2),
        (lambda y: F.elemwise_mul(y, F.Activation(y, act_type="sigmoid")), 0),  # one reader
        (lambda y: F.elemwise_add(y, F.Pooling(y, kernel=(1, 1))), 0),  # oneDNN's
        (lambda y: parts(F.hard_sigmoid(y)), 0),  # in plain memory
    ],
)
def test_what_several_operators_read_in_plain_memory_is_copied_once(make, copies):
    symbol, shape = make(convolution(X)), (2, 3, 4, 4)
    before = rewritten(symbol, [], shape)
    after = rewritten(symbol, [layouts.copy_to_plain_memory], shape)
    assert after.count("transpose") == copies
    assert sorted(op for op in after if op != "transpose") == sorted(before)


def test_a_split_runs_once():
    y = convolution(X)
    halves = F.split(y, num_outputs=2)
    symbol = F.Group([F.elemwise_mul(*halves), halves[1], F.hard_sigmoid(y)])
    found = rewritten(symbol, [layouts.copy_to_plain_memory], (2, 3, 4, 4))
    assert found == ["Convolution", "transpose", "SliceChannel", "elemwise_mul", "hard_sigmoid"]


@pytest.mark.parametrize("turn", [False, True])
def test_a_swish_in_int8_is_copied_once(turn):
    y = convolution(X)
    gate = F.Activation(y, act_type="sigmoid")
    symbol = gate * y if turn else y * gate
    rules = [layouts.copy_for_activations]
    found = rewritten(symbol, rules, (1, 3, 4, 4))
    assert found == ["Convolution", "transpose", "Activation", "elemwise_mul"]


def test_a_softmax_of_joined_columns_is_of_a_copy():
    symbol = F.softmax(F.Activation(F.concat(X, X, X, dim=1), act_type="relu"))
    found = rewritten(symbol, [layouts.softmax_of_rows], (4, 1))
    assert found == ["Concat", "Activation", "transpose", "softmax"]


def test_a_softmax_of_products_stays():
    rules, shape = [layouts.softmax_of_rows], (2, 8, 5, 5)
    pooled = F.Pooling(X, kernel=(1, 1))
    rows = ["Pooling", "Reshape", "softmax", "Reshape"]
    assert rewritten(F.softmax(pooled), rules, shape) == rows
    assert rewritten(F.softmax(F.clip(pooled, 0, 1), axis=3), rules, shape)[-3:] == rows[1:]
    for stays in (
        F.softmax(F.batch_dot(F.reshape(pooled, (-3, 0, 0)), F.reshape(pooled, (-3, 0, 0)))),
        F.softmax(pooled, axis=1),
        F.softmax(X),
    ):
        assert rewritten(stays, rules, shape)[-1] == "softmax"
