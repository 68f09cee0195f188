"""Steps of plans, applied to data in every layout."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same import geometry
from gluon_same.geometry import Window
from gluon_same.lowering.steps import Pad, PadBySize, Slice, one_channel

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12]
LAYOUTS = ["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"]


def data(layout, size):
    shape = [{"N": 2, "C": 3}.get(axis, size + i) for i, axis in enumerate(layout)]
    return mx.nd.random.normal(shape=tuple(shape))


def spread(layout, values, other):
    values = iter(values)
    return [other if axis in "NC" else next(values) for axis in layout]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("edge", [False, True])
def test_pad_steps_equal_numpy_pad(layout, edge):
    amounts = ((0, 1), (2, 0), (1, 3))[: len(layout) - 2]
    width = spread(layout, amounts, (0, 0))
    for size in (1, 4):
        x = data(layout, size)
        want = np.pad(x.asnumpy(), width, mode="edge" if edge else "constant")
        eager = Pad(amounts, edge).apply(mx.nd, x, layout)
        np.testing.assert_array_equal(eager.asnumpy(), want)
        graph = Pad(amounts, edge).apply(mx.sym, mx.sym.var("x"), layout)
        np.testing.assert_array_equal(graph.eval(x=x)[0].asnumpy(), want)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_slices_cut_and_reverse(layout):
    cuts = ((1, 0, False), (0, 2, True), (1, 1, True))[: len(layout) - 2]
    x = data(layout, 4)
    index = spread(layout, [slice(a, -b or None) for a, b, _ in cuts], slice(None))
    turn = spread(layout, [slice(None, None, -1 if r else 1) for *_, r in cuts], slice(None))
    got = Slice(cuts).apply(mx.nd, x, layout).asnumpy()
    np.testing.assert_array_equal(got, x.asnumpy()[tuple(index)][tuple(turn)])


@pytest.mark.parametrize("mode", ["same", "same_lower"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_padding_by_size_is_same_padding_at_every_size(layout, mode):
    axes = [i for i, a in enumerate(layout) if a not in "NC"]
    for span, stride in [(3, 2), (2, 2), (5, 3), (7, 4), (3, 4), (4, 7), (2, 3), (8, 8), (3, 9)]:
        window = Window(span, stride, mode)
        windows = (window, None, window)[: len(axes)]
        step = PadBySize(windows, ((0, 0), (2, 1), (0, 0))[: len(axes)])
        symbol = step.apply(mx.sym, mx.sym.var("x"), layout)
        for size in SIZES:
            x = data(layout, size)
            got, want = symbol.eval(x=x)[0].asnumpy(), x.asnumpy()
            for i, w in zip(axes, windows):
                n = x.shape[i]
                before, after = (
                    (2, 1) if w is None else geometry.same_padding(n, span, stride, padding=mode)
                )
                want = np.pad(want, [(before, after) if j == i else (0, 0) for j in range(want.ndim)])
                if w is None:
                    continue
                # The number of windows is that of SAME, and they read the right elements.
                out = -(-n // stride)
                assert (got.shape[i] - span) // stride + 1 == out
                reach = min((out - 1) * stride + span, want.shape[i])
                want, got = (np.take(a, range(reach), axis=i) for a in (want, got))
            np.testing.assert_array_equal(got, want)


def test_padding_by_size_passes_gradients_to_the_input_only():
    x, gradient = mx.nd.random.normal(shape=(1, 8, 6, 7)), mx.nd.zeros((1, 8, 6, 7))
    window = Window(3, 2, "same")
    symbol = PadBySize((window, window), ((0, 0), (0, 0))).apply(mx.sym, mx.sym.var("x"), "NCHW")
    bound = symbol.bind(mx.cpu(), {"x": x}, {"x": gradient})
    bound.forward(is_train=True)
    head = mx.nd.random.normal(shape=bound.outputs[0].shape)
    bound.backward(head)
    np.testing.assert_array_equal(gradient.asnumpy(), head.asnumpy()[:, :, :6, 1:8])


def test_one_channel_returns_the_first_channel_of_the_first_sample():
    x = data("NCHW", 4)
    np.testing.assert_array_equal(one_channel(mx.nd, x, 1).asnumpy(), x.asnumpy()[:1, :1])
    assert one_channel(mx.nd, data("NHWC", 4), 3).shape == (1, 5, 6, 1)
