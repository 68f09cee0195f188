"""Code that hybridized nets cannot run is traced with given shapes."""

import threading
import time
from functools import partial

import mxnet as mx
import numpy as np
import pytest
from mxnet.gluon import Block, HybridBlock
from mxnet.gluon import nn as stock

from gluon_same import deploy, nn, specialize
from gluon_same.trace import Trace
from small_nets import normal, same


class ReadingShapes(HybridBlock):
    """Doubles the image and flattens the samples, by sizes that symbols do not have."""

    def hybrid_forward(self, F, x):
        batch, _, height, width = x.shape
        y = F.contrib.BilinearResize2D(x, height=2 * height, width=2 * width)
        return y.reshape((batch, y.size // batch)) if y.ndim == 4 else y


def test_code_that_reads_shapes_is_traced():
    net = stock.HybridSequential()
    net.add(nn.Conv2D(4, 3, strides=2, padding="same"), ReadingShapes())
    trace = Trace(net, [(2, 3, 9, 8)], sized=False)
    assert trace.shapes_of(trace.outputs) == ((2, 4 * 10 * 8),)
    assert trace.uses == {"shapes"} and trace.fixed and not Trace(net, [(2, 3, 9, 8)]).free
    for name in ("shape", "ndim", "size"):
        assert not hasattr(mx.sym.var("x"), name)


@pytest.mark.parametrize("make", [specialize, partial(deploy, tune=False)])
def test_a_net_that_reads_shapes_serves_every_size(make):
    net = stock.HybridSequential()
    net.add(nn.Conv2D(4, 3, strides=2, padding="same"), ReadingShapes())
    net.initialize()
    block = make(net)
    for shape in ((2, 3, 9, 8), (1, 3, 9, 8), (2, 3, 6, 7)):
        x = normal(shape)
        same(block(x), net(x))
    with pytest.raises(ValueError, match="is (specialized|deployed) for inputs of shape"):
        make(net, (2, 3, 9, 8))(normal((1, 3, 9, 8)))


def test_a_trace_within_a_trace_leaves_its_shapes():
    inner = nn.HybridLambda(lambda F, x: x.reshape(x.shape[::-1]))

    def code(F, x):
        assert Trace(inner, [(2, 3)]).uses
        return x.reshape((x.size,))

    trace = Trace(nn.HybridLambda(code), [(4, 5)])
    assert trace.shapes_of(trace.outputs) == ((20,),)


def test_shapes_that_cannot_be_inferred_are_an_error():
    def step(x, state):
        return x, state.reshape((state.shape[0], -1))

    net = nn.HybridLambda(lambda F, x: F.contrib.foreach(step, x, x[0])[0])
    with pytest.raises(ValueError, match="a shape that cannot be inferred"):
        Trace(net, [(3, 2, 4)])


S = np.s_


@pytest.mark.parametrize(
    "key",
    [
        S[:, 0], S[:, 1:], S[:, :-1, ::2], S[..., 0], S[..., -1, :], S[:, None], S[0, 1], S[:, :, ::-1],
        S[:, -2], S[:, None, 1, ..., None], S[:, 1:4:2, None, 3], S[..., ::-2], S[0:1,], S[:, -3:],
        S[:, 2:-1, 6:1:-2], S[...,], S[None, ..., None], S[1], S[-1], S[1:], S[::-1], S[None], S[...],
    ],
)  # fmt: skip
def test_basic_slices_are_those_of_arrays(key):
    layer = nn.HybridLambda(lambda F, x: F.relu(x)[key])
    x = normal((2, 5, 9, 8))
    got = specialize(layer, x.shape)(x).asnumpy()
    np.testing.assert_array_equal(got, np.maximum(x.asnumpy(), 0)[key])


@pytest.mark.parametrize("key", [S[:, :9], S[-9:, 1:], S[..., None, -20:4], S[:, 2:20, 0, 1:9:2]])
def test_bounds_beyond_the_ends_are_those_of_arrays(key):
    layer = nn.HybridLambda(lambda F, x: F.relu(x)[key])
    x = normal((2, 5, 9, 8))
    block = specialize(layer, x.shape)
    np.testing.assert_array_equal(block(x).asnumpy(), np.maximum(x.asnumpy(), 0)[key])
    with pytest.raises(ValueError, match="is specialized for inputs of shape"):
        block(normal((3, 5, 9, 8)))  # the graph is for these shapes
    assert "shapes" not in Trace(nn.HybridLambda(lambda F, x: x[-2:, :5, :20:2]), [x.shape]).uses


def test_slices_serve_other_batches_and_have_gradients():
    net = stock.HybridSequential()
    net.add(nn.Conv2D(16, 3, padding="same"), nn.HybridLambda(lambda F, x: x[:, 3:11, ::2, 1:]))
    net.initialize()
    x, found = normal((2, 3, 6, 5)), []
    for block in (net, specialize(net, (1, 3, 6, 5))):
        with mx.autograd.record():
            loss = (block(x) ** 2).sum()
        loss.backward()
        found.append(net[0].weight.grad().copy())
    same(*found)


BROADCASTING = [
    lambda x, y: x + y,
    lambda x, y: y - x,
    lambda x, y: x * y,
    lambda x, y: y / x,
    lambda x, y: y % x,
    lambda x, y: x**y,
    lambda x, y: x == y,
    lambda x, y: x != y,
    lambda x, y: x < y,
    lambda x, y: x <= y,
    lambda x, y: x > y,
    lambda x, y: x >= y,
    lambda x, y: (1 - x) * (x * x + 2 * y),
]


@pytest.mark.parametrize("code", BROADCASTING)
def test_operators_broadcast_their_operands(code):
    net = stock.HybridSequential()
    net.add(nn.Conv2D(4, 2, padding="same"), nn.HybridLambda(lambda F, x: code(x * x, mean(x))))
    net.initialize()
    x = normal((2, 3, 5, 6))
    same(specialize(net, x.shape)(x), net(x))


def mean(x):
    return x.abs().mean(axis=1, keepdims=True)


def test_shapes_that_do_not_broadcast_are_an_error():
    with pytest.raises(ValueError, match="operands could not be broadcast together"):
        Trace(nn.HybridLambda(lambda F, x: x + x[:, 1:]), [(2, 3)])


@pytest.mark.parametrize("count", [1, 3])
def test_outputs_of_an_operator_are_picked_by_number(count):
    layer = nn.HybridLambda(lambda F, x: list(F.split(x, num_outputs=count, axis=1))[count // 2])
    trace = Trace(layer, [(2, 6, 4)])
    assert trace.shapes_of(trace.outputs) == ((2, 6 // count, 4),) and not trace.uses


def step(x, state):
    return x + state, x + state


ROWS = [
    lambda F, x: F.split(x, num_outputs=2, axis=2)[1][0],
    lambda F, x: F.split(x, num_outputs=2, axis=2)[1][-2:],
    lambda F, x: F.split_v2(x, 2, axis=2)[1][0],
    lambda F, x: F.split_v2(x, (1,), axis=2)[1][1:],
    lambda F, x: F.contrib.foreach(step, x, F.zeros_like(x[0]))[0][1],
    lambda F, x: F.contrib.foreach(lambda row, _: (2 * row, []), x, [])[0][1],
    lambda F, x: F.concat(*[2 * row for row in x], dim=0),
    lambda F, x: sum(i * row for i, row in enumerate(x)) * len(x),
    lambda F, x: F.stack(*reversed(x)),
]


@pytest.mark.parametrize("code", ROWS)
def test_rows_are_those_of_arrays(code):
    layer = nn.HybridLambda(code)
    x, gradients = normal((2, 3, 4)), []
    for block in (layer, specialize(layer, x.shape)):
        x.attach_grad()
        with mx.autograd.record(train_mode=False):
            y = block(x)
            loss = (y * y).sum()
        loss.backward()
        gradients.append((y, x.grad.copy()))
    for a, b in zip(*gradients):
        assert a.shape == b.shape
        same(a, b)


def test_one_element_of_numpy_mode_has_no_axes(numpy_mode):
    layer = nn.HybridLambda(lambda F, x: mx.np.stack([x[0, 1, 2], x[0][1][-1]]) + x[1, 1, 1])
    x = normal((2, 3, 4)).as_np_ndarray()
    got = specialize(layer, x.shape)(x)
    assert got.shape == (2,)
    np.testing.assert_allclose(got.asnumpy(), layer(x).asnumpy(), rtol=1e-6)


def test_results_in_place_are_refused():
    def code(F, x):
        y = x * 1
        mx.nd.relu(y, out=y)
        return y

    with pytest.raises(ValueError, match=r"relu\(out=\) is not supported for a Symbol"):
        Trace(nn.HybridLambda(code), [(2, 3)])


def test_traces_of_several_threads_take_turns():
    def code(F, x):
        time.sleep(0.01)
        return F.relu(x)[0] * mx.nd.ones_like(x).sum()

    def work(count):
        for _ in range(count):
            layer = nn.HybridLambda(code)
            try:
                same(specialize(layer, (2, 3))(x), layer(x))
            except Exception as error:
                failures.append(error)

    x, failures, before = normal((2, 3)), [], (vars(mx.nd)["relu"], mx.autograd.is_training)
    threads = [threading.Thread(target=work, args=(count,)) for count in (3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert before == (vars(mx.nd)["relu"], mx.autograd.is_training)
    assert not hasattr(mx.sym.var("x"), "shape")


def test_blocks_for_every_size_serve_both_modes():
    net = nn.HybridLambda(lambda F, x: 2 * x if mx.autograd.is_training() else x)
    block, x = specialize(net), normal((2, 3))
    for trained in (False, True, False, True):
        with mx.autograd.train_mode() if trained else mx.autograd.predict_mode():
            same(block(x), (1 + trained) * x)
    with mx.autograd.train_mode():
        same(deploy(net, x.shape, tune=False)(x), x)


@pytest.mark.parametrize("key", [S[:, [0, 1]], S[:, True]])
def test_other_keys_are_refused(key):
    with pytest.raises(ValueError, match="Symbol only support integer index"):
        Trace(nn.HybridLambda(lambda F, x: x[key]), [(2, 3)])


class Attention(Block):
    """Attends within a sequence up to lengths, by operators on arrays."""

    def __init__(self, heads):
        super().__init__()
        self.heads = heads
        with self.name_scope():
            self.project = stock.Dense(3 * 8, flatten=False)

    def forward(self, x, lengths):
        np_mode = mx.util.is_np_array()
        batch, length, units = x.shape
        parts = self.project(x).reshape((batch, length, 3, self.heads, -1))
        if np_mode:
            query, key, value = (parts[:, :, i].transpose((0, 2, 1, 3)) for i in range(3))
            scores = mx.np.matmul(query, mx.np.swapaxes(key, 2, 3)) / units**0.5
            mask = mx.npx.arange_like(scores, axis=3) < lengths.reshape((-1, 1, 1, 1))
            weights = mx.npx.softmax(mx.np.where(mask, scores, mx.np.full_like(scores, -1e6)))
            return mx.np.concatenate([mx.np.matmul(weights, value), value], axis=-1)
        query, key, value = (
            mx.nd.transpose(parts[:, :, i], (0, 2, 1, 3)).reshape((-1, length, units // self.heads))
            for i in range(3)
        )
        scores = mx.nd.batch_dot(query, key, transpose_b=True) / units**0.5
        scores = mx.nd.SequenceMask(
            scores.transpose((2, 0, 1)), mx.nd.repeat(lengths, self.heads), True, value=-1e6
        )
        weights = mx.nd.softmax(scores.transpose((1, 2, 0)))
        return mx.nd.concat(mx.nd.batch_dot(weights, value), value, dim=-1)


METHODS = [
    lambda x: x.T,
    lambda x: x.reshape(-1, 6),
    lambda x: x.reshape(4, 3, 2),
    lambda x: x.reshape((0, -1)),
    lambda x: x.reshape(shape=(-1,)),
    lambda x: mx.nd.add(mx.nd.subtract(x, 2), mx.nd.multiply(3, x)),
    lambda x: mx.nd.divide(mx.nd.true_divide(x, 3), mx.nd.modulo(x, 2) + 1),
    lambda x: mx.nd.greater(x, 0) + 2 * mx.nd.greater_equal(x, 1) + 4 * mx.nd.equal(x, x),
    lambda x: mx.nd.lesser(x, 0) + 2 * mx.nd.lesser_equal(x, 1) + 4 * mx.nd.not_equal(x, 2),
    lambda x: mx.nd.add(lhs=x, rhs=2) + mx.nd.multiply(lhs=x, rhs=x),
    lambda x: mx.nd.concatenate([x, 2 * x]),
    lambda x: mx.nd.concatenate([x, 2 * x], axis=2),
]


@pytest.mark.parametrize("code", METHODS)
def test_methods_and_functions_are_those_of_arrays(code):
    x = mx.nd.round(3 * normal((2, 3, 4)))
    block = specialize(BlockOf(code), x.shape)
    assert block(x).shape == code(x).shape
    same(block(x), code(x))


class BlockOf(Block):
    """Computes a function."""

    def __init__(self, code):
        super().__init__()
        self.forward = code


def test_blocks_call_operators_on_arrays():
    compare_attention(normal((2, 5, 8)), mx.nd.array([3, 5]))


def test_blocks_call_operators_of_numpy_mode(numpy_mode):
    compare_attention(normal((2, 5, 8)).as_np_ndarray(), mx.np.array([3.0, 5.0]))


def compare_attention(x, lengths):
    net = Attention(2)
    net.initialize()
    want = net(x, lengths)
    relu = vars(mx.nd)["relu"]
    for block in (specialize(net, x, lengths), deploy(net, x, lengths, data=[[x, lengths]], tune=False)):
        same(block(x, lengths), want)
        same(block(x * 2, lengths), net(x * 2, lengths))
    gradients = []
    for block in (net, specialize(net, x, lengths)):
        with mx.autograd.record():
            loss = (block(x, lengths) ** 2).sum()
        loss.backward()
        gradients.append(net.project.weight.grad().copy())
    same(*gradients)
    assert Trace(net, [x.shape, lengths.shape]).uses >= {"operators", "shapes"}
    assert vars(mx.nd)["relu"] is relu


@pytest.mark.parametrize("trained", [False, True])
def test_code_that_asks_for_the_mode_is_for_that_mode(trained):
    net = nn.HybridLambda(lambda F, x: 2 * x if mx.autograd.is_training() else x)
    x = normal((2, 3))
    with mx.autograd.train_mode() if trained else mx.autograd.predict_mode():
        block = specialize(net, x.shape)
        same(block(x), (1 + trained) * x)
    names = ("training", "inference") if trained else ("inference", "training")
    words = rf"specialized for {names[0]}, .* else in {names[1]}"
    other = mx.autograd.predict_mode() if trained else mx.autograd.train_mode()
    with other, pytest.raises(ValueError, match=words):
        block(x)
