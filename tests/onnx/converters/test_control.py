"""Branches whose condition is computed at run time, and loops of an open number of steps."""

import mxnet as mx
import numpy as np
import pytest
from imported import close, compared, numbers, reference, written

from gluon_same import deploy
from gluon_same.onnx import export_model, import_model

TEXT = """net (float[2, N] x) => (float[a, b] y, int64[c] k) {{
    s = ReduceSum<keepdims: int = 1>(x) c = Greater(s, zero)
    y, k = If(c) <then_branch = t () => (float[d, e] p, int64[f] i) {{ p = Neg(x) i = Identity(three) }},
                  else_branch = g () => (float[h, j] q, int64[l] n) {{ {} n = Identity(four) }}> }}"""
WEIGHTS = {"zero": np.zeros((1, 1), "f"), "three": np.array([3]), "four": np.array([4])}


def test_both_branches_are_computed(tmp_path):
    path = written(tmp_path / "net.onnx", TEXT.format("q = Exp(x)"), WEIGHTS)
    x = abs(numbers(2, 3))
    compared(path, x, -x, abs(numbers(2, 5)), -abs(numbers(2, 4)))


def test_branches_that_return_different_shapes(tmp_path):
    text = TEXT.format("q = Transpose<perm: ints = [1, 0]>(x)")
    with pytest.raises(ValueError, match=r"y \(If\): its condition is computed.* different shapes"):
        import_model(written(tmp_path / "net.onnx", text, WEIGHTS))


LOOP = """net (float[N, T, 3] x) => (float[N, 3] last, float[a, b, c] all) {{
    first = Constant<value: tensor = int64[1] {{0}}>() end = Constant<value: tensor = int64[1] {{2}}>()
    one = Constant<value: tensor = int64 {{1}}>() on = Constant<value: tensor = bool {{1}}>()
    shape = Shape(x) steps = Gather(shape, one) batch = Slice(shape, first, end)
    n = Gather(shape, first) size = Concat<axis: int = 0>(n, width) h = ConstantOfShape(size)
    last, all = Loop(steps, on, h) <body = step (int64 i, bool go, float[N, 3] state) => (
            bool more, float[N, 3] new, float[N, 3] kept) {{
        part = Gather<axis: int = 1>(x, i) sum = Add(part, state) new = Tanh(sum)
        kept = Mul(new, scale) {}
    }}> }}"""


@pytest.mark.parametrize("going", ["more = Identity(go)", "more = Identity(on)"])
def test_a_loop_over_an_open_axis(tmp_path, going):
    weights = {"width": np.array([3]), "scale": np.float32(2)}
    path = written(tmp_path / "net.onnx", LOOP.format(going), weights)
    net = compared(path, numbers(2, 5, 3), numbers(3, 9, 3), numbers(1, 1, 3))
    x = numbers(2, 4, 3)
    close(deploy(net, x.shape)(mx.nd.array(x)), reference(path, x))


def test_a_loop_that_reads_no_number_of_its_steps(tmp_path):
    """It reads an array whose padding waits for a convolution."""
    text = """net (float[N, 3] x) => (float[N, 3] y) {
        wide = Pad(x, pads) s = Shape(x) n = Gather(s, zero)
        y = Loop(n, on, x) <body = step (int64 i, bool go, float[N, 3] state) => (
            bool more, float[N, 3] new) {
            more = Identity(go) part = Slice(wide, one, four, one) new = Add(state, part) }> }"""
    weights = {"zero": np.array(0), "one": np.array([1]), "four": np.array([4]), "on": np.array(True)}
    path = written(tmp_path / "net.onnx", text, {**weights, "pads": np.array([0, 1, 0, 0])})
    net = compared(path, numbers(4, 3), numbers(2, 3))
    export_model(net, (2, 3), tmp_path / "again.onnx")  # which compares the numbers


def test_an_open_loop_that_its_data_end(tmp_path):
    text = LOOP.format("most = ReduceMax<keepdims: int = 0>(new) more = Less(most, scale)")
    weights = {"width": np.array([3]), "scale": np.float32(2)}
    path = written(tmp_path / "net.onnx", text, weights)
    with pytest.raises(ValueError, match=r"last \(Loop\): its condition must be known"):
        import_model(path)
