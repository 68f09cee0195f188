"""Code that hybridized nets cannot run is traced with given shapes."""

from functools import partial

import mxnet as mx
import numpy as np
import pytest
from mxnet.gluon import HybridBlock
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


@pytest.mark.parametrize("key", [S[:, [0, 1]], S[:, True]])
def test_other_keys_are_refused(key):
    with pytest.raises(ValueError, match="Symbol only support integer index"):
        Trace(nn.HybridLambda(lambda F, x: x[key]), [(2, 3)])
