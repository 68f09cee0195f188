"""Slices and concatenations of each other's results."""

import mxnet as mx
import pytest

from gluon_same.deployment import joins
from graphs import graph_of, rewritten

F, X, Y = mx.sym, mx.sym.var("data0"), mx.sym.var("data1")


def test_a_decoder_of_detections_is_a_transpose():
    each = [
        F.concat(F.slice_axis(X, axis=-1, begin=i, end=i + 1), Y, dim=-1) for i in range(5)
    ]  # the score of each class, and the box
    result = F.concat(*each, dim=1)
    parts = [F.slice_axis(result, axis=2, begin=b, end=e) for b, e in ((0, 1), (1, None))]
    found = rewritten(F.Group(parts), joins.RULES, (1, 7, 5), (1, 7, 4))
    assert found == ["Reshape", "transpose", "Reshape", "Concat"]
    found = rewritten(F.exp(result), joins.RULES, (1, 7, 5), (1, 7, 4))
    assert found == ["Reshape", "transpose", "Reshape", "Concat", "Concat", "exp"]


@pytest.mark.parametrize("shape", [(2, 3, 6, 5), (6, 2, 6, 6)])
@pytest.mark.parametrize("axis, dim", [(2, 0), (2, 1), (2, 3), (0, 2), (3, 1)])
@pytest.mark.parametrize("width", [1, 2])
def test_joined_slices_are_transposes(shape, axis, dim, width):
    begins = range(0, shape[axis] - width + 1, width)
    slices = [F.slice_axis(X, axis=axis, begin=i, end=i + width) for i in begins]
    found = rewritten(F.concat(*slices, dim=dim), [joins.transpose], shape)
    if len(slices) > 1 and len(slices) * width == shape[axis]:
        assert found == ["Reshape", "transpose", "Reshape"]
    else:
        assert found == [*["slice_axis"] * len(slices), "Concat"]


@pytest.mark.parametrize(
    "slices",
    [
        [(0, 1), (2, 3), (1, 2)],  # another order
        [(0, 1), (1, 2)],  # not all
        [(0, 2), (2, 3)],  # of other sizes
    ],
)
def test_other_slices_stay(slices):
    parts = [F.slice_axis(X, axis=2, begin=b, end=e) for b, e in slices]
    axis = 2 if len({e - b for b, e in slices}) > 1 else 1
    graph = graph_of(F.concat(*parts, dim=axis), (1, 4, 3))
    assert graph.rewrite(*joins.RULES) == 0


def test_other_concatenations_stay():
    def inner(widths, dim=2):
        parts = [F.slice_axis(X, axis=2, begin=0, end=width) for width in widths]
        return F.concat(*parts, dim=dim)

    for outer in (
        F.concat(inner((1, 2)), inner((2, 1)), dim=1),  # parts of other sizes
        F.concat(inner((1, 1), 1), inner((1, 1), 1), dim=1),  # along the same axis
        F.concat(inner((2, 2), 1), inner((1, 1)), dim=1),  # one of them along the same axis
        F.concat(inner((1, 1, 1)), inner((1, 1, 1)), dim=1),  # more operators than before
        F.slice_axis(inner((2, 2)), axis=2, begin=1, end=3),  # of two parts
        F.slice_axis(inner((2, 2)), axis=1, begin=0, end=2),
        F.split(inner((2, 2)), axis=2, num_outputs=2),  # whose second result would stay
    ):
        assert graph_of(outer, (1, 4, 3)).rewrite(*joins.RULES) == 0
