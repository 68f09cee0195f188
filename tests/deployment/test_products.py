"""Images resized by products with matrices."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same.deployment import clean, products
from gluon_same.deployment.running import outputs
from graphs import graph_of, operators, rewritten

F, X = mx.sym, mx.sym.var("data0")
PRODUCTS = ["transpose", "FullyConnected", "transpose", "FullyConnected"]


@pytest.mark.parametrize(
    "given",
    [
        dict(height=9, width=4),
        dict(height=9, width=4, align_corners=False),
        dict(height=1, width=20),
        dict(mode="odd_scale", scale_height=2, scale_width=2),
        dict(mode="to_odd_up"),
        dict(mode="size", scale_height=3, scale_width=0.5, align_corners=False),
    ],
)
@pytest.mark.parametrize("size", [(6, 7), (1, 5), (8, 8)])
def test_images_are_resized_by_products(size, given):
    y = F.contrib.BilinearResize2D(X, **given)
    assert rewritten(y, [products.resize_by_products], (2, 3, *size)) == PRODUCTS


@pytest.mark.parametrize("output_size", [2, (3, 5), (6, 1)])
def test_averages_are_products(output_size):
    y = F.contrib.AdaptiveAvgPooling2D(X, output_size=output_size)
    assert rewritten(y, [products.resize_by_products], (2, 3, 6, 7)) == PRODUCTS


def test_large_images_stay():
    y = F.contrib.BilinearResize2D(X, height=2, width=2)
    assert graph_of(y, (1, 1, 4, products.MOST + 1)).rewrite(products.resize_by_products) == 0


def test_the_size_of_another_array_stays():
    y = F.contrib.BilinearResize2D(X, F.var("data1"), mode="like")
    graph = graph_of(y, (1, 3, 4, 4), (1, 3, 8, 8))
    assert graph.rewrite(products.resize_by_products) == 0


def interpolated(x, axis, places, **how):
    """Return elements along an axis that are added with weights, those of each place in a row."""
    return F.add_n(*(tap(x, axis, place, **how) for place in places))


def tap(x, axis, place, shape=None, **how):
    """Return elements along an axis, with weights along it."""
    weight = constant(np.random.RandomState(place[0] + 1).normal(size=shape or len(place)))
    weight = F.reshape(weight, shape=shape or [-1 if i == axis else 1 for i in range(4)])
    return F.broadcast_mul(F.take(x, constant(place), axis=axis, **how), weight)


def constant(values):
    return F.concat(*(F.full((1,), float(value)) for value in np.ravel(values)), dim=0)


ROW = ["FullyConnected"]
INTERPOLATED = [clean.fold_constants, products.interpolate_by_product]


@pytest.mark.parametrize("axis, found", [(3, ROW), (2, ["transpose", *ROW, "transpose"])])
@pytest.mark.parametrize(
    "places", [[[0, 0, 1, 2], [1, 1, 2, 2]], [[0, 5], [1, 6], [2, 7], [-1, 4]], [[1] * 9, [0] * 9]]
)
def test_elements_that_are_added_with_weights_are_products(axis, found, places):
    assert rewritten(interpolated(X, axis, places), INTERPOLATED, (2, 3, 5, 5)) == found


def test_an_image_that_keeps_its_size_stays():
    taps = [F.broadcast_mul(F.take(X, constant(range(5)), axis=3), constant([n] * 5)) for n in (1, 0)]
    assert rewritten(F.relu(F.add_n(*taps)), INTERPOLATED, (2, 3, 5, 5)) == ["relu"]


@pytest.mark.parametrize(
    "symbol",
    [
        interpolated(X, 3, [[0, 1, 2], [1, 2, 5]], mode="wrap"),
        interpolated(X, 3, [[0, 1, 2], [1, 2, 3]], shape=(3, 1, 1)),
        F.add_n(F.take(X, constant([1, 2]), axis=3), F.take(X, constant([0, 1]), axis=3)),
        F.add_n(tap(X, 3, [0, 1, 2]), tap(F.relu(X), 3, [0, 1, 2])),
        F.add_n(tap(X, 3, range(5)), tap(X, 2, range(5))),
    ],
)
def test_other_sums_stay(symbol):
    assert rewritten(symbol, INTERPOLATED, (2, 3, 5, 5))[-1] == "add_n"


def test_long_axes_stay():
    y = interpolated(X, 3, [[0, 1], [1, 2]])
    for size, found in ((2 * products.MOST, ROW), (2 * products.MOST + 1, ["add_n"])):
        assert rewritten(y, INTERPOLATED, (1, 1, 2, size))[-1:] == found


REPEAT = [products.repeat_by_depthwise]


def graph_of_repeats(symbol, shape, **places):
    graph = graph_of(symbol, shape)
    graph.params.update({name: mx.nd.array(each) for name, each in places.items()})
    return graph


def taken(x, axis, count):
    return F.take(x, F.var(f"places{axis}", shape=(count,)), axis=axis)


@pytest.mark.parametrize(
    "symbol",
    [
        F.UpSampling(X, scale=2, sample_type="nearest"),
        F.UpSampling(X, scale=3, sample_type="nearest"),
        F.UpSampling(F.UpSampling(X, scale=2, sample_type="nearest"), scale=2, sample_type="nearest"),
        taken(X, 2, 6),
        taken(taken(X, 2, 6), 3, 15),
        taken(taken(X, -1, 15), -2, 6),
        F.repeat(F.repeat(X, repeats=2, axis=-1), repeats=2, axis=-2),
    ],
)
def test_pixels_are_repeated_by_one_convolution(symbol):
    places = {"places2": [0, 0, 1, 1, 2, 2], "places3": np.repeat(np.arange(5), 3)}
    places.update({"places-2": places["places2"], "places-1": places["places3"]})
    graph = graph_of_repeats(symbol, (2, 8, 3, 5), **places)
    arrays = [mx.nd.random.normal(shape=(2, 8, 3, 5))]
    want = outputs(graph, arrays)
    graph.rewrite(*REPEAT)
    assert operators(graph) == ["Deconvolution"]
    np.testing.assert_array_equal(outputs(graph, arrays)[0], want[0])


@pytest.mark.parametrize(
    "symbol, channels",
    [
        (F.UpSampling(X, scale=2, sample_type="nearest"), 6),  # oneDNN has no depthwise kernel
        (F.UpSampling(X, X, scale=2, sample_type="nearest", num_args=2), 8),
        (taken(X, 2, 6), 8),  # in another order
        (taken(X, 1, 16), 8),  # channels
        (F.repeat(X, repeats=2, axis=1), 8),
        (taken(X, 3, 7), 8),  # a size that is no multiple
    ],
)
def test_other_resizes_stay(symbol, channels):
    places = {"places2": [0, 1, 0, 1, 2, 2], "places1": np.repeat(np.arange(8), 2)}
    places["places3"] = [0, 0, 1, 2, 2, 3, 4]
    assert graph_of_repeats(symbol, (2, channels, 3, 5), **places).rewrite(*REPEAT) == 0


def test_rows_that_are_used_before_their_columns_are_repeated_apart():
    rows = taken(X, 2, 6)
    places = {"places2": [0, 0, 1, 1, 2, 2], "places3": np.repeat(np.arange(5), 3)}
    graph = graph_of_repeats(F.Group([rows, taken(rows, 3, 15)]), (1, 8, 3, 5), **places)
    arrays = [mx.nd.random.normal(shape=(1, 8, 3, 5))]
    want = outputs(graph, arrays)
    graph.rewrite(*REPEAT)
    assert operators(graph) == ["Deconvolution", "Deconvolution"]
    for one, other in zip(outputs(graph, arrays), want):
        np.testing.assert_array_equal(one, other)
