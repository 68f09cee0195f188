"""All ways of a window give the same numbers and gradients."""

from functools import partial

import mxnet as mx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import reference
from gluon_same import functional
from gluon_same.functional._window import windows_of
from gluon_same.geometry import Window
from gluon_same.lowering import ways_to_convolve, ways_to_pool

MODES = st.sampled_from(["same", "same_lower"])
SIZES = {1: 40, 2: 12, 3: 6}


@st.composite
def geometries(draw, least=1):
    ndim = draw(st.sampled_from([1, 2, 2, 3]))

    def each(most, least=1):
        return draw(st.tuples(*[st.integers(least, most)] * ndim))

    size = each(SIZES[ndim], least)
    return each({1: 7, 2: 5, 3: 3}[ndim]), each(4), size, draw(MODES)


def gradients(function, *arrays):
    """Return the result, and the gradients of its sum weighted by position."""
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        out = function(*arrays)
        loss = (out * mx.nd.arange(out.size).reshape(out.shape).sin()).sum()
    loss.backward()
    return [out.asnumpy(), *[array.grad.asnumpy() for array in arrays]]


def check(function, ways, arrays, want, **known):
    wants = gradients(partial(function, mx.nd, None), *arrays)
    np.testing.assert_allclose(wants[0], want, rtol=1e-4, atol=1e-4)
    for way in ways:
        for got, expected in zip(gradients(partial(function, mx.nd, way), *arrays), wants):
            np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3, err_msg=way)
        names = ["data", "weight"][: len(arrays)]
        graph = function(mx.sym, way, *map(mx.sym.var, names), **known)
        got = graph.eval(**dict(zip(names, arrays)))[0].asnumpy()
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=way)


@settings(max_examples=80)
@given(geometries(), st.sampled_from([(3, 16, 1), (8, 8, 1), (8, 8, 8), (16, 4, 2)]))
def test_convolutions(geometry, channels):
    (kernel, stride, size, mode), (inputs, filters, groups) = geometry, channels
    x = mx.nd.random.normal(shape=(2, inputs, *size))
    weight = mx.nd.random.normal(shape=(filters, inputs // groups, *kernel))
    window = dict(kernel=kernel, stride=stride, num_filter=filters, num_group=groups, pad=mode)

    def convolve(F, way, data, weight, **known):
        return functional.convolution(F, data, weight, way=way, **window, **known)

    ones = (1,) * len(size)
    pads = reference.same_pads(size, kernel, stride, ones, mode)
    want = reference.convolution(x.asnumpy(), weight.asnumpy(), stride, ones, pads, groups)
    ways = ways_to_convolve(windows_of(kernel, stride, ones, mode), size, (inputs, filters))
    check(convolve, ways, [x, weight], want, in_size=size, in_channels=inputs)


@settings(max_examples=120)
@example(((2, 3, 2), (1, 2, 1), (5, 6, 4), "same"), 8, "max", False)
@example(((3, 2, 2), (2, 1, 2), (6, 5, 4), "same_lower"), 8, "avg", True)
@given(geometries(), st.sampled_from([3, 4, 8]), st.sampled_from(["max", "avg", "sum"]), st.booleans())
def test_poolings(geometry, channels, kind, whole):
    kernel, stride, size, mode = geometry
    # The elements are distinct, so that every maximum is at one place.
    x = mx.nd.array(np.random.permutation(2 * channels * int(np.prod(size))) / 100)
    x = x.reshape((2, channels, *size)).copy()
    window = dict(kernel=kernel, stride=stride, pad=mode, pool_type=kind, count_include_pad=whole)

    def pool(F, way, data, **known):
        return functional.pooling(F, data, way=way, **window, **known)

    pads = reference.same_pads(size, kernel, stride, (1,) * len(size), mode)
    want = reference.pooling(x.asnumpy(), kernel, stride, pads, kind, whole)
    ways = ways_to_pool(windows_of(kernel, stride, (1,) * len(size), mode), size, kind, whole, channels)
    check(pool, ways, [x], want, in_size=size, in_channels=channels)


def square(span, stride, mode="same"):
    return (Window(span, stride, mode, span),) * 2


def test_the_portable_way_comes_first_and_no_plan_twice():
    for ways in (
        ways_to_convolve(square(2, 1), (56, 56), (64, 64)),
        ways_to_convolve(square(3, 2), (224, 224), (3, 32)),
        ways_to_pool(square(3, 2), (112, 112), "max", False, 64),
    ):
        assert next(iter(ways)) == "portable"
        plans = list(map(repr, ways.values()))
        assert len(plans) == len(set(plans))


@pytest.mark.parametrize(
    "ways, names",
    [
        (ways_to_convolve(square(3, 1), (56, 56), (64, 64)), ["portable"]),
        (ways_to_convolve(square(2, 1), (9, 9), (64, 64)), ["portable", "pad", "join", "move"]),
        (ways_to_convolve(square(4, 1), (9, 9), (3, 64)), ["portable", "crop", "join"]),
        (ways_to_convolve(square(2, 1)[:1], (9,), (8, 8)), ["portable", "pad", "join"]),
        (ways_to_pool(square(3, 1), (3, 3), "max", False, 3), ["portable"]),
        (
            ways_to_pool(square(2, 2), (16, 8), "max", False, 8),
            ["portable", "together", "rows 4", "bands 4"],
        ),
        (
            ways_to_pool(square(2, 1)[:1], (9,), "max", False, 8),
            ["portable", "join", "together", "rows"],
        ),
    ],
)
def test_ways(ways, names):
    assert list(ways) == names


def test_an_unknown_way_is_refused():
    x = mx.nd.ones((1, 8, 9, 9))
    with pytest.raises(ValueError, match="way='nope' is unknown for this window: .*'portable'"):
        functional.pooling(mx.nd, x, kernel=2, way="nope")
