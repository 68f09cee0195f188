"""Sizes that may follow another rule at sizes that are not tried, as those of parts of an array."""

import tracemalloc

import mxnet as mx
import numpy as np
import pytest
from imported import compared, numbers, reference, written

from gluon_same.onnx import export_model, import_model
from gluon_same.onnx.values import Known

END = np.iinfo(np.int64).max

#: The first and the last 12 elements of an axis, or fewer; and those from its middle on.
FIRST, LAST = "p = Slice(x, zero, most, one)", "p = Slice(x, least, end, one)"
HALF = "l = Shape<start: int = 1, end: int = 2>(x) h = Div(l, two) p = Slice(x, h, end, one)"
PARTS = [FIRST, LAST, HALF]

SIZES = "s = Shape(p) b = Gather(s, zero) n = Gather(s, one)"
PADS = """k = Shape(c) w = Sub(six, k) z = ConstantOfShape<value: tensor = int64[1] {0}>(w)
    e = Concat<axis: int = 0>(c, z) m = Reshape(e, rows) r = Slice(m, last, first, zero, last)
    t = Transpose<perm: ints = [1, 0]>(r) pads = Reshape(t, last)"""


def model(path, text, head="net (float[B, L, 6] x) => (float[a, b, c] y)"):
    values = dict(zero=0, one=1, two=2, six=6, seven=7, twelve=12, most=12, least=-12, last=-1)
    values.update(first=-END, end=END)
    weights = {name: np.array([n]) for name, n in values.items()}
    weights.update(i0=np.array(0), i1=np.array(1), rows=np.array([-1, 2]), column=np.array([1, -1, 1]))
    weights.update(scalar=np.zeros(0, np.int64), thrice=np.array([1, 3, 1]), places=np.array([0, 9]))
    weights.update(factors=np.array([1, 1.5, 1], "f"), table=np.ones((9, 3), "f"))
    return written(path / "net.onnx", f"{head} {{ {text} }}", weights, version=18)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    "text",
    [
        # pairs of elements; what PyTorch writes for pad, expand and interpolate
        "a = Mod(n, two) c = Concat<axis: int = 0>(zero, zero, zero, a) "
        f"{PADS} q = Pad(p, pads) t2 = Concat<axis: int = 0>(b, last, twelve) y = Reshape(q, t2)",
        "v = Reshape(n, scalar) r = Range(i0, v, i1) f = Cast<to: int = 1>(r) "
        "g = Reshape(f, column) e = Concat<axis: int = 0>(b, n, six) y = Expand(g, e)",
        "t = Concat<axis: int = 0>(b, n, six) o = Mul(t, thrice) y = Resize(p, , , o)",
        "y = Resize(p, , factors)",
        "o = Concat<axis: int = 0>(b, twelve, six) y = Resize(p, , , o)",
        "d = Mul(twelve, two) o = Concat<axis: int = 0>(b, d, six) y = Resize(p, , , o)",
        "y, i = TopK<axis: int = 1>(p, n)",
    ],
)
def test_parts_of_any_size(tmp_path, part, text):
    path = model(tmp_path, f"{part} {SIZES} {text}")
    net = compared(path, *(numbers(n % 2 + 1, n, 6) for n in (20, 8, 13, 31, 7)))
    for n in (20, 13):  # at which its sizes are known
        again, x = export_model(net, (2, n, 6), tmp_path / "again.onnx"), numbers(2, n, 6)
        np.testing.assert_allclose(reference(again, x)[0], reference(path, x)[0], 1e-5, 1e-6)


def test_only_the_axis_that_is_padded_gets_a_layer(tmp_path):
    text = f"a = Mod(n, two) c = Concat<axis: int = 0>(zero, zero, zero, a) {PADS} y = Pad(p, pads)"
    net = compared(model(tmp_path, f"{HALF} {SIZES} {text}"), numbers(2, 7, 6), numbers(3, 20, 6))
    assert repr(net).count("Pad(pad_by_numbers") == 1


def test_every_other_one_of_six_axes_is_as_long_as_a_part(tmp_path):
    text = "e = Concat<axis: int = 0>(b, two, n, six, b, two) y = ConstantOfShape(e)"
    head = "net (float[B, L, 6] x) => (float[a, b, c, d, e, f] y)"
    compared(model(tmp_path, f"{HALF} {SIZES} {text}", head), numbers(2, 7, 6), numbers(3, 20, 6))


def test_the_lesser_of_two_equal_sizes(tmp_path):
    """PyTorch's ``diagonal`` asks whether there is one."""
    text = """t = Transpose<perm: ints = [0, 2, 1]>(x) p = MatMul(x, t) s = Shape(p) n = Gather(s, one)
        m = Gather(s, two) k = Min(n, m) d = Max(k, zero) e = Equal(d, zero) c = Not(e) q = Squeeze(c)
        y = If(q) <then_branch = f () => (float[i, j, k] u) { u = Neg(p) },
        else_branch = g () => (float[l, m, n] v) { v = Relu(p) }>"""
    compared(model(tmp_path, text), numbers(2, 5, 6), numbers(1, 40, 6))


def test_a_model_whose_sizes_are_those_of_one_example_is_refused_at_others(tmp_path):
    """It has 7 steps from the middle on: of 13 and 14, which the last 7 of any other size are not."""
    path = model(tmp_path, f"{HALF} {SIZES} c = Concat<axis: int = 0>(b, seven, six) y = Reshape(p, c)")
    with pytest.raises(ValueError, match="input_shapes="):
        import_model(path)
    compared(path, numbers(2, 14, 6), input_shapes=(None, 14, 6))


def test_sizes_that_a_reshape_has_as_numbers_are_required(tmp_path):
    text = f"{FIRST} {SIZES} c = Concat<axis: int = 0>(b, twelve, six) q = Reshape(p, c) y = Neg(q)"
    net = compared(model(tmp_path, text), numbers(2, 20, 6), numbers(3, 12, 6))
    with pytest.raises(ValueError, match="cannot run on data of shape"):
        net(mx.nd.ones((2, 8, 6)))


def test_numbers_of_elements_that_an_array_does_not_have(tmp_path):
    """MXNet would take others."""
    path = model(tmp_path, "p = Gather<axis: int = 1>(x, places) y = Neg(p)")
    net = compared(path, numbers(2, 10, 6), numbers(1, 20, 6))
    with pytest.raises(mx.MXNetError, match="out of bound"):
        net(mx.nd.ones((1, 9, 6))).asnumpy()


def test_more_steps_than_a_table_has_positions(tmp_path):
    text = "l = Shape<start: int = 1, end: int = 2>(x) n = Squeeze(l) r = Range(i0, n, i1)"
    head = "net (float[B, L, 6] x) => (float[a, b] y)"
    net = compared(model(tmp_path, f"{text} p = Gather(table, r) y = Neg(p)", head), numbers(2, 9, 6))
    with pytest.raises(mx.MXNetError, match="out of bound"):
        net(mx.nd.ones((1, 10, 6))).asnumpy()


def test_many_branches_behind_a_size_that_is_required(tmp_path):
    """What makes sure of a size is kept once for each array, however many branches lead there."""
    body = "".join(f"r{i} = Relu(y{i})\n y{i + 1} = Mul(r{i}, y{i})\n" for i in range(40))
    graph = f"""net (float[N, 3, H, W] x) => (float[M, 4] z) {{
        y0 = MaxPool<kernel_shape = [8, 8], strides = [8, 8]>(x)
        {body} flat = Flatten(y40)
        z = MatMul(flat, w) }}"""
    net = import_model(written(tmp_path / "net.onnx", graph, {"w": np.ones((12, 4), "f")}))
    assert net.input_sizes == ((None, 3, None, None),)
    assert net(mx.nd.ones((2, 3, 17, 17))).shape == (2, 4)


def test_limits_take_no_memory():
    array = np.zeros((1000, 1000), "f")
    tracemalloc.start()
    known = Known([array])
    assert not known.open and known.changed(np.transpose).limit == np.inf
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < array.nbytes / 10
