"""Imported operators that are exported again, for every size, against the imported file."""

import mxnet as mx
import numpy as np
import pytest
from imported import close, numbers, reference, written

from gluon_same import deploy
from gluon_same.onnx import export_model, import_model

TEXTS = [
    "y = Round(x)",
    "y = Erf(x)",
    "a = Greater(x, c) b = Not(a) d = Xor(a, b) y = Where(d, x, c)",
    "a = IsNaN(x) y = Where(a, c, x)",
    "y = Mod<fmod: int = 1>(x, c)",
    "y = Clip(x, c)",
    "y = Shrink(x)",
    "a = ReduceLogSumExp<axes: ints = [2], keepdims: int = 0>(x) b = Unsqueeze(a, two) y = Sub(x, b)",
    "a = ReduceL2<keepdims: int = 0>(x) y = Div(x, a)",
    "a = ArgMax<axis: int = 2>(x) b = Cast<to: int = 1>(a) y = Add(x, b)",
    "a = ArgMin<axis: int = 2, select_last_index: int = 1>(x) b = Cast<to: int = 1>(a) y = Add(x, b)",
    "a = ArgMax<axis: int = 2>(x) l = Less(a, two) d = Sub(a, two) w = Where(l, d, a) m = Mul(w, two) "
    "b = Cast<to: int = 1>(m) y = Add(x, b)",
    "y = Hardmax<axis: int = 1>(x)",
    "y = CumSum<exclusive: int = 1, reverse: int = 1>(x, two)",
    "a = Transpose<perm: ints = [0, 2, 1]>(x) b = MatMul(x, a) y = MatMul(b, x)",
    'a = Einsum<equation: string = "ncw,mcw->nm">(x, x) b = Unsqueeze(a, two) c1 = ReduceMean(b) '
    "y = Add(x, c1)",
    "a, b, d = Split<axis: int = 1>(x) y = Concat<axis: int = 1>(b, d, a)",
    'y = Pad<mode: string = "reflect">(x, p)',
    "y = Tile(x, t)",
    "y = LayerNormalization<axis: int = 1>(x, s)",
    "y = LpNormalization<axis: int = 1>(x)",
    "y = LRN<size: int = 2>(x)",
    "y = GlobalLpPool(x)",
    "y = Gelu(x)",
]
WEIGHTS = {
    "c": np.float32(0.3),
    "two": np.array([2]),
    "p": np.array([0, 0, 1, 0, 1, 2]),
    "t": np.array([2, 1, 3]),
    "s": numbers(3, 1, seed=5),
}


@pytest.mark.parametrize("text", TEXTS)
def test_numbers_stay(tmp_path, text):
    used = {name: value for name, value in WEIGHTS.items() if f"{name})" in text or f"{name}," in text}
    if "CumSum" in text:
        used["two"] = np.int64(2)
    graph = f"net (float[N, 3, W] x) => (float[a, b, c1] y) {{ {text} }}"
    path = written(tmp_path / "net.onnx", graph, used, 20 if "Gelu" in text else 17)
    net = import_model(path)
    for dynamic in (False, True):
        again = export_model(net, (2, 3, 5), str(tmp_path / "again.onnx"), dynamic=dynamic)
        for x in [numbers(2, 3, 5), numbers(1, 3, 8)][: 1 + dynamic]:
            wanted = [net(mx.nd.array(x)).asnumpy()]
            close([mx.nd.array(y) for y in reference(again, x)], wanted)


def test_masks_of_booleans(tmp_path):
    text = """net (float[2, 3] x, bool[2, 3] m) => (float[2, 3] y) <float zero = {0}> {
        n = Not(m) y = Where(n, x, zero) }"""
    path = written(tmp_path / "net.onnx", text)
    data = numbers(2, 3), np.array([[True, False, False], [False, True, True]])
    wanted, net = reference(path, *data), import_model(path)
    x, mask = (mx.nd.array(each, dtype=each.dtype) for each in data)
    assert mask.dtype == np.bool_
    close(net(x, mask), wanted)
    close(deploy(net, x.shape, mask.shape, data=[(x, mask)], tune=False)(x, mask), wanted)
    again = export_model(net, [(2, 3)] * 2, tmp_path / "again.onnx", dtype=["float32", "bool"])
    np.testing.assert_array_equal(reference(again, *data)[0], wanted[0])


def test_outputs_that_are_whole_constants(tmp_path):
    graph = """net (bool[2, 3] x) => (int64[2] y, int64[1] z)
        <int64[2] v = {4, 5}, int64[1] w = {7}> { y = Identity(v) z = Identity(w) }"""
    net = import_model(written(tmp_path / "net.onnx", graph))
    path = export_model(net, (2, 3), tmp_path / "again.onnx")
    found = reference(str(path), np.ones((2, 3), bool))
    assert [(x.tolist(), x.dtype) for x in found] == [([4, 5], "int64"), ([7], "int64")]
