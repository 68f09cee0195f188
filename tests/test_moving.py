"""An input that a depthwise convolution moves makes the windows of SAME."""

import itertools

import mxnet as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from gluon_same import functional, lowering, moving, nn, specialize
from gluon_same.arguments import Window

SPANS, STRIDES, SIZES = range(1, 9), range(1, 6), range(1, 14)
MODES = ["same", "same_lower"]


@pytest.mark.parametrize("mode", MODES)
def test_windows_of_what_is_moved_start_where_those_of_same_do(mode):
    for span, stride, size in itertools.product(SPANS, STRIDES, SIZES):
        window = Window(span, stride, mode)
        before, _ = window.at(size)
        for known in (size, None):
            move = moving.plan(window, known)
            # The one is at `place`: element i of the result is element i + place - pad of the input.
            place = move.pad + move.own - before
            assert 0 <= place < move.taps
            length = size + 2 * move.pad - move.taps + 1
            starts = range(-move.own, length + move.own - span + 1, stride)
            got = [start + place - move.pad for start in starts]
            assert got == [i * stride - before for i in range(-(-size // stride))]
            # Nothing that a window reads is lost at either end.
            reach = min(size, got[-1] + span)
            assert place <= move.pad and length + place - move.pad >= reach


def test_what_is_the_same_at_both_ends_is_not_moved():
    assert moving.plan(Window(3, 1, "same"), None).taps == 1
    assert moving.plan(Window(3, 2, "same"), 9).taps == 1
    assert moving.plan(Window(3, 2, "same"), 8).taps == 2
    assert moving.plan(Window(3, 2, "same"), None).taps == 3
    assert moving.plan(Window(5, 1, (4, 0)), None)[2:] == (0, 4, 5)


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (7, 8), (8, 7), (300, 2)])
def test_the_input_is_moved_by_zeros(size):
    windows = [Window(3, 2, "same"), Window(7, 4, "same_lower")]
    x = np.random.RandomState(0).normal(size=(2, 8, *size)).astype(np.float32)
    every = [moving.plan(window, None) for window in windows]
    this = [moving.plan(window, n) for window, n in zip(windows, size)]
    for moves in (every, this, [every[0], this[1]], [this[0], every[1]]):
        got = moving.move(mx.sym, mx.sym.var("x"), moves, 8).eval(x=mx.nd.array(x))[0]
        if moves is this:
            eager = moving.move(mx.nd, mx.nd.array(x), this, 8)
            np.testing.assert_array_equal(eager.asnumpy(), got.asnumpy())
        before = [m.window.at(n)[0] - m.own for m, n in zip(moves, size)]
        after = [2 * m.pad - m.taps + 1 - b for m, b in zip(moves, before)]
        assert min(before + after) >= 0
        want = np.pad(x, [(0, 0), (0, 0), *zip(before, after)])
        np.testing.assert_array_equal(got.asnumpy(), want)


@st.composite
def convolutions(draw):
    """Arguments of a convolution that moves its input, and the shapes of its data."""
    kernel, stride, dilate = (draw(st.tuples(*[st.integers(1, most)] * 2)) for most in (5, 4, 2))
    sizes = draw(st.lists(st.tuples(*[st.integers(1, 11)] * 2), min_size=1, max_size=3))
    groups = draw(st.sampled_from([1, 2, 8]))
    mode = draw(st.sampled_from(MODES))
    return dict(kernel=kernel, stride=stride, dilate=dilate, num_group=groups, pad=mode), sizes


@settings(max_examples=120, deadline=None)
@given(convolutions())
def test_convolutions_of_eight_channels_give_the_numbers_of_same(drawn):
    arguments, sizes = drawn
    random, groups = np.random.RandomState(0), arguments["num_group"]
    weight = random.normal(size=(16, 8 // groups, *arguments["kernel"])).astype(np.float32)
    data = mx.sym.var("data"), mx.sym.var("weight")
    known = dict(num_filter=16, in_channels=8, dtype="float32", **arguments)
    graph = functional.convolution(mx.sym, *data, **known)
    for size in sizes:
        x = random.normal(size=(2, 8, *size)).astype(np.float32)
        geometry = arguments["stride"], arguments["dilate"]
        pads = reference.same_pads(size, arguments["kernel"], *geometry, arguments["pad"])
        want = reference.convolution(x, weight, *geometry, pads, groups)
        arrays = dict(data=mx.nd.array(x), weight=mx.nd.array(weight))
        this = functional.convolution(mx.sym, *data, in_size=size, **known)
        eager = functional.convolution(mx.nd, **arrays, num_filter=16, **arguments)
        for got in (eager, this.eval(**arrays)[0], graph.eval(**arrays)[0]):
            np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernel, stride", [(3, 2), (2, 1), ((5, 2), (3, 2))])
@pytest.mark.parametrize("fixed", [False, True])
def test_gradients_are_those_of_joining_zeros_to_the_input(kernel, stride, fixed):
    # In float64, which is not moved, they are made another way.
    found = []
    for dtype in ("float32", "float64"):
        layer = nn.Conv2D(16, kernel, stride, "same", in_channels=8)
        layer.initialize(mx.init.One())
        layer.cast(dtype)
        if fixed:
            specialize(layer, (2, 8, 10, 11))
        layer.hybridize()
        x = mx.nd.array(np.random.RandomState(0).normal(size=(2, 8, 10, 11)), dtype=dtype)
        x.attach_grad()
        with mx.autograd.record():
            out = (layer(x) ** 2).sum()
        out.backward()
        found.append([x.grad, *[p.grad() for p in layer.collect_params().values()]])
    for got, want in zip(*found):
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-3, atol=1e-2)


def planned(**changes):
    arguments = dict(
        windows=(Window(3, 2, "same", 3),) * 2,
        sizes=(None, None),
        in_channels=64,
        channels=128,
        quick=True,
    )
    return lowering.plan_convolution(**{**arguments, **changes})


def test_inputs_are_moved_where_onednn_is_quick_at_it():
    assert planned().moves
    assert not planned(quick=False).moves  # not float32, or channels last
    assert not planned(in_channels=None).moves
    assert not planned(in_channels=20).moves
    for ndim in (1, 3):
        assert not planned(windows=(Window(3, 2, "same", 3),) * ndim, sizes=(None,) * ndim).moves
    assert not planned(windows=(Window(3, 1, "same", 3),) * 2).moves  # nothing to move
    far = Window(65, 1, (64, 0), 3), Window(1, 1, (0, 0), 1)
    assert not planned(windows=far).moves  # by too many taps


def test_one_sample_is_cropped_and_many_are_moved(cache_of_one_mib):
    even = dict(windows=(Window(2, 1, "same", 2),) * 2, sizes=(56, 56), channels=64)
    assert not planned(batch=1, **even).moves
    assert planned(batch=8, **even).moves and planned(**even).moves
    large = {**even, "sizes": (112, 112)}  # a crop would leave it to the slow pooling
    assert planned(batch=1, **large).moves


def test_depthwise_convolutions_are_not_cropped_where_that_slows_their_gradients(cache_of_one_mib):
    depthwise = dict(sizes=(112, 112), channels=64, groups=64, batch=1)
    assert planned(**depthwise).moves
    assert not planned(trained=False, **depthwise).moves
    five = (Window(5, 2, "same", 5),) * 2  # which have no quick gradients to lose
    assert not planned(windows=five, **depthwise).moves
