"""Poolings that only skip elements, and those of large planes."""

import mxnet as mx
import pytest

from gluon_same.deployment.pools import pool_in_blocks, stride_in_layer
from graphs import graph_of, rewritten

F, X = mx.sym, mx.sym.var("data0")


def strided(size, kernel=1, count=1, **kwargs):
    """Return the operators of a pooling of stride 2 and a convolution after the rule."""
    pooled = F.Pooling(X, kernel=(kernel, kernel), stride=(2, 2), **kwargs)
    symbol = F.Convolution(pooled, kernel=(count, count), num_filter=4)
    return rewritten(symbol, [stride_in_layer], (2, 3, size, size))


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("size", [6, 7])
def test_a_layer_skips_what_a_pooling_skipped(kind, size):
    assert strided(size, pool_type=kind) == ["Convolution"]


@pytest.mark.parametrize(
    "given", [{"kernel": 2}, {"count": 3}, {"pool_type": "sum"}, {"global_pool": True}]
)
def test_other_poolings_stay(given):
    assert strided(6, **{"pool_type": "max", "count": 1, **given})[0] == "Pooling"


def test_a_pooling_that_counts_windows_beyond_the_image_stays():
    pooled = F.Pooling(X, kernel=(1, 1), stride=(2, 2), pool_type="max", pooling_convention="full")
    graph = graph_of(F.Convolution(pooled, kernel=(1, 1), num_filter=4), (2, 3, 6, 6))
    assert graph.rewrite(stride_in_layer) == 0


def test_plain_planes_are_pooled_in_blocks():
    def pooled(x, channels=8, **how):
        symbol = F.Pooling(x, **{"kernel": (2, 2), "pool_type": "max", **how})
        return rewritten(symbol, [pool_in_blocks], (1, channels, 5, 5))

    assert pooled(X) == pooled(X, pool_type="avg") == ["Convolution", "Pooling"]
    assert pooled(F.exp(X)) == ["exp", "Convolution", "Pooling"]
    assert pooled(F.concat(X, X, dim=1)) == ["Concat", "Pooling"]  # which is in blocks
    for other in ({"channels": 6}, {"kernel": (1, 1)}, {"global_pool": True}):
        assert pooled(X, **other) == ["Pooling"]
