"""Imported sequences of arrays, against onnxruntime."""

import numpy as np
import pytest
from imported import compared, numbers, written

from gluon_same.onnx import import_model

BAGS = """net (float[n, 3] x, int64[3] starts) => (float[2, 3] y)
    <int64 count = {2}, int64[1] zero = {0}, int64[1] one = {1}, bool go = {1}>
    { start = SequenceEmpty()
      rows = Loop(count, go, start) <body = body (int64 i, bool on, seq(float[3]) given)
          => (bool more, seq(float[3]) rest) {
          more = Identity(on)
          from = Gather(starts, i)
          j = Add(i, one)
          to = Gather(starts, j)
          begin = Unsqueeze(from, zero)
          bag = Slice(x, begin, to, zero)
          sum = ReduceSum<keepdims = 0>(bag, zero)
          rest = SequenceInsert(given, sum) }>
      y = ConcatFromSequence<axis = 0, new_axis = 1>(rows) }"""


def test_a_loop_that_collects_sums_of_rows_between_offsets(tmp_path):
    """As exporters write PyTorch's EmbeddingBag. The offsets are read as numbers at each call."""
    path = written(tmp_path / "net.onnx", BAGS)
    compared(path, (numbers(9, 3), np.array([0, 4, 9])), (numbers(7, 3), np.array([1, 2, 7])))


@pytest.mark.parametrize(
    "nodes",
    [
        "s = SequenceConstruct(x, z) y = ConcatFromSequence<axis = 1>(s)",
        "s = SequenceConstruct(x, z) t = SequenceInsert(s, x, zero) y = ConcatFromSequence<axis = 0>(t)",
        "s = SequenceConstruct(x, z) t = SequenceInsert(s, x, last) y = ConcatFromSequence<axis = 0>(t)",
        "s = SequenceConstruct(x, z) t = SequenceErase(s, zero) y = SequenceAt(t, zero)",
        "s = SequenceConstruct(x, z, x) t = SequenceErase(s) y = SequenceAt(t, last)",
        "s = SplitToSequence<axis = 1>(x) y = ConcatFromSequence<axis = 0>(s)",
        "s = SplitToSequence<axis = 1, keepdims=0>(x) y = ConcatFromSequence<axis=1, new_axis = 1>(s)",
        "s = SplitToSequence<axis = 1>(x, three) y = SequenceAt(s, last)",
        "s = SplitToSequence<axis = 1>(x, parts) y = SequenceAt(s, zero)",
        "s = SequenceConstruct(x, z) t = SequenceConstruct(z, z) u = SequenceMap"
        "<body = g (float[2, 4] a, float[2, 4] b, float[2, 4] c) => (float[2, 4] d)"
        " { f = Mul(a, b) d = Add(f, c) }>(s, t, x) y = ConcatFromSequence<axis = 0>(u)",
        "s = SplitToSequence(x) n = SequenceLength(s) f = Cast<to = 1>(n) y = Add(z, f)",
    ],
)
def test_sequences(nodes, tmp_path):
    graph = """net (float[2, 4] x, float[2, 4] z) => (float[m, n] y)
        <int64 zero = {0}, int64 last = {-1}, int64 three = {3}, int64[2] parts = {1, 3}> { %s }"""
    path = written(tmp_path / "net.onnx", graph % nodes)
    compared(path, (numbers(2, 4), numbers(2, 4, seed=1)))


def test_positions_that_are_computed_or_do_not_fit_are_refused(tmp_path):
    graph = """net (float[2] x, float[9] z) => (float[2] y) <int64 nine = {9}> {
        s = SequenceConstruct(x, x) m = ReduceMax(z) p = Cast<to = 7>(m) y = SequenceAt(s, %s) }"""
    for place, message in (("nine", "position 9 does not fit"), ("p", "position must be known")):
        with pytest.raises(ValueError, match=message):
            import_model(written(tmp_path / "net.onnx", graph % place))
    graph = (
        "net (float[n] x) => (float[m] y) { s = SplitToSequence(x) y = ConcatFromSequence<axis = 0>(s) }"
    )
    with pytest.raises(ValueError, match="the number of its parts depends on sizes"):
        import_model(written(tmp_path / "net.onnx", graph))


@pytest.mark.parametrize(
    "nodes",
    [
        "s = SplitToSequence(sizes) t = ConcatFromSequence<axis = 0>(s)",
        "s = SplitToSequence(sizes, two) t = ConcatFromSequence<axis = 0>(s)",
        "s = SplitToSequence<keepdims=0>(sizes) t = ConcatFromSequence<axis=0, new_axis = 1>(s)",
    ],
)
def test_parts_of_known_numbers_are_known(nodes, tmp_path):
    """PaddlePaddle's exporter computes places this way, where values are set."""
    graph = f"""net (float[n, 6] x) => (float[a, b, c] y)
        <int64[3] sizes = {{0, 2, 3}}, int64 two = {{2}}> {{ {nodes} y = Reshape(x, t) }}"""
    compared(written(tmp_path / "net.onnx", graph), numbers(4, 6), numbers(1, 6))


def test_sizes_of_parts_of_known_numbers_that_do_not_fit_are_refused(tmp_path):
    graph = """net (float[n, 6] x) => (float[a, b, c] y)
        <int64[3] sizes = {0, 2, 3}, int64[2] few = {1, 1}>
        { s = SplitToSequence(sizes, few) t = ConcatFromSequence<axis = 0>(s) y = Reshape(x, t) }"""
    with pytest.raises(ValueError, match="do not fit an axis of 3 elements"):
        import_model(written(tmp_path / "net.onnx", graph))
