"""Branches whose condition is computed at run time."""

import numpy as np
import pytest
from imported import compared, numbers, written

from gluon_same.onnx import import_model

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
