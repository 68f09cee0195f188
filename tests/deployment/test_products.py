"""Images resized by products with matrices."""

import mxnet as mx
import pytest

from gluon_same.deployment import products
from graphs import graph_of, rewritten

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
