"""Reshapes, slices, expansion, ranges and shape arithmetic at open sizes, against onnxruntime."""

import mxnet as mx
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import close, compared, numbers, written

import gluon_same
from gluon_same.onnx import export_model, import_model
from gluon_same.onnx.codes import codes_for


def constants(**values):
    arrays = {name: np.asarray(value) for name, value in values.items()}
    return {name: x if x.dtype == np.float32 else x.astype(np.int64) for name, x in arrays.items()}


def node(text, shape="N, C, H, W", out="a, b, c, d", **values):
    return f"net (float[{shape}] x) => (float[{out}] y) {{ {text} }}", constants(**values)


SIZES = "s = Shape(x) n = Gather(s, i0) c = Gather(s, i1) h = Gather(s, i2) w = Gather(s, i3)"
INDICES = {"i0": [0], "i1": [1], "i2": [2], "i3": [3]}

RESHAPES = [
    # what exporters write for flattening, for tokens of images and heads of attention, and back
    ("t = Concat<axis: int = 0>(n, minus) y = Reshape(x, t)", "a, b"),
    ("t = Concat<axis: int = 0>(n, c, minus) y = Reshape(x, t)", "a, b, c"),
    ("t = Concat<axis: int = 0>(zero, zero, minus) y = Reshape(x, t)", "a, b, c"),
    ("hw = Mul(h, w) t = Concat<axis: int = 0>(n, c, hw) y = Reshape(x, t)", "a, b, c"),
    ("nc = Mul(n, c) t = Concat<axis: int = 0>(nc, h, w) y = Reshape(x, t)", "a, b, c"),
    ("hw = Mul(h, w) t = Concat<axis: int = 0>(n, c, hw) f = Reshape(x, t) "
     "u = Concat<axis: int = 0>(n, c, h, w) y = Reshape(f, u)", "a, b, c, d"),
    ("t = Concat<axis: int = 0>(n, two, minus, h, w) y = Reshape(x, t)", "a, b, c, d, e"),
    ("k = Div(c, two) t = Concat<axis: int = 0>(n, two, k, h, w) y = Reshape(x, t)", "a, b, c, d, e"),
    ("t = Concat<axis: int = 0>(n, c, h, w, one) y = Reshape(x, t)", "a, b, c, d, e"),
    ("t = Concat<axis: int = 0>(one, n, c, h, w) y = Reshape(x, t)", "a, b, c, d, e"),
    ("t = Concat<axis: int = 0>(n, one, c, h, w) y = Reshape(x, t)", "a, b, c, d, e"),
    ("t = Concat<axis: int = 0>(n, c, minus, w) y = Reshape(x, t)", "a, b, c, d"),
    ("t = Concat<axis: int = 0>(n, c, w, h) y = Reshape(x, t)", "a, b, c, d"),
]  # fmt: skip


@pytest.mark.parametrize("text, out", RESHAPES)
def test_reshapes(tmp_path, text, out):
    more = {"minus": [-1], "zero": [0], "one": [1], "two": [2]}
    path = written(tmp_path / "net.onnx", *node(f"{SIZES} {text}", out=out, **INDICES, **more))
    net = compared(path, numbers(2, 4, 5, 6), numbers(3, 8, 7, 1), numbers(1, 2, 3, 9))
    assert net.input_sizes == ((None,) * 4,)


def test_areas_of_an_image_join_the_batch(tmp_path):
    """YOLOv12's attention within areas."""
    text = """s = Shape(x) n = Gather(s, i0) l = Gather(s, i1) m = Mul(n, four) q = Div(l, four)
        t = Concat<axis: int = 0>(m, q, three) a = Reshape(x, t) r = ReduceSum<keepdims: int = 1>(a, i1)
        b = Sub(a, r) u = Concat<axis: int = 0>(n, l, three) y = Reshape(b, u)"""
    weights = {"i0": [0], "i1": [1], "four": [4], "three": [3]}
    path = written(tmp_path / "net.onnx", *node(text, "N, L, 3", "a, b, c", **weights))
    compared(path, numbers(2, 8, 3), numbers(1, 20, 3), numbers(3, 4, 3))


def test_patches_of_images_join_the_batch(tmp_path):
    """MobileViT's attention among elements of one place in all patches of 2 by 2."""
    text = """s = Shape(x) n = Gather(s, i0) c = Gather(s, i1) h = Gather(s, i2) w = Gather(s, i3)
        g = Div(h, two) k = Div(w, two) a = Mul(n, c) b = Mul(a, g) l = Mul(g, k) m = Mul(n, four)
        t1 = Concat<axis: int = 0>(b, two, k, two) r1 = Reshape(x, t1)
        t2 = Concat<axis: int = 0>(n, c, l, four)
        p1 = Transpose<perm: ints = [0, 2, 1, 3]>(r1) r2 = Reshape(p1, t2)
        t3 = Concat<axis: int = 0>(m, l, minus)
        p2 = Transpose<perm: ints = [0, 3, 2, 1]>(r2) y = Reshape(p2, t3)"""
    weights = {"i0": [0], "i1": [1], "i2": [2], "i3": [3], "two": [2], "four": [4], "minus": [-1]}
    path = written(tmp_path / "net.onnx", *node(text, "N, 3, H, W", "a, b, c", **weights))
    net = compared(path, numbers(2, 3, 4, 6), numbers(1, 3, 10, 2))
    with pytest.raises(ValueError, match="cannot run"):
        net(mx.nd.zeros((1, 3, 5, 4))).wait_to_read()


@pytest.mark.parametrize(
    "shape, fits, fails",
    [([-1, 4], 12, 10), ([4, -1], 12, 10), ([8, -1, 3], 48, 40), ([0, 2, -1], 6, 5)],
)
def test_a_reshape_that_leaves_elements_over_raises(tmp_path, shape, fits, fails):
    """MXNet's own leaves them out, or reads memory behind the array."""
    text, axes = node("y = Reshape(x, t)", "N, M, 1", ", ".join("abcd"[: len(shape)]), t=shape)
    path = written(tmp_path / "net.onnx", text, axes)
    net = compared(path, numbers(1, fits, 1), numbers(3, fits, 1))
    for active in (False, True):
        net.hybridize(active)
        with pytest.raises(ValueError, match="do not divide"):
            net(mx.nd.zeros((1, fails, 1))).wait_to_read()


def test_a_reshape_to_the_sizes_of_another_array_leaves_no_elements_over(tmp_path):
    text = """p = MaxPool<kernel_shape: ints = [1, 3], strides: ints = [1, 3]>(x) s = Shape(p)
        r = Transpose<perm: ints = [3, 2, 0, 1]>(x) t = Slice(s, two, four)
        u = Concat<axis: int = 0>(t, three) y = Reshape(r, u)"""
    weights = {"two": [2], "three": [3], "four": [4]}
    path = written(tmp_path / "net.onnx", *node(text, "1, 1, H, W", "a, b, c", **weights))
    net = compared(path, numbers(1, 1, 4, 6), numbers(1, 1, 5, 9))
    with pytest.raises(ValueError, match="cannot run"):
        net(mx.nd.zeros((1, 1, 1, 4))).wait_to_read()


def test_windows_of_an_image(tmp_path):
    """Swin's windows: two open axes split by 4, and joined again."""
    text = f"""{SIZES}
        hs = Div(h, four) ws = Div(w, four) t = Concat<axis: int = 0>(n, hs, four, ws, four, c)
        a = Transpose<perm: ints = [0, 2, 3, 1]>(x) b = Reshape(a, t)
        d = Transpose<perm: ints = [0, 1, 3, 2, 4, 5]>(b)
        u = Concat<axis: int = 0>(minus, sixteen, c) e = Reshape(d, u) f = Relu(e)
        v = Concat<axis: int = 0>(n, hs, ws, four, four, minus) g = Reshape(f, v)
        i = Transpose<perm: ints = [0, 1, 3, 2, 4, 5]>(g)
        q = Concat<axis: int = 0>(n, h, w, minus) y = Reshape(i, q)"""
    more = {"minus": [-1], "four": [4], "sixteen": [16]}
    path = written(tmp_path / "net.onnx", *node(text, shape="N, 3, H, W", **INDICES, **more))
    compared(path, numbers(2, 3, 8, 12), numbers(1, 3, 4, 16))


def test_sizes_that_depend_on_remainders(tmp_path):
    """A crop to a multiple of 4."""
    text = f"""{SIZES} r = Mod(h, four) e = Sub(h, r) y = Slice(x, zero, e, two)"""
    path = written(tmp_path / "net.onnx", *node(text, **INDICES, zero=[0], two=[2], four=[4]))
    compared(path, *(numbers(2, 3, h, 5) for h in (7, 8, 30)))


def test_a_size_that_is_one_at_all_tried_sizes(tmp_path):
    """The sum broadcasts at tried sizes, so that they fit, and those of the file are others."""
    text = f"""{SIZES} hs = Div(h, sixteen) ws = Div(w, sixteen) hw = Mul(hs, ws)
        p = AveragePool<kernel_shape: ints = [16, 16], strides: ints = [16, 16]>(x)
        t = Concat<axis: int = 0>(n, c, hw) f = Reshape(p, t) y = Add(f, rows)"""
    values = dict(INDICES, sixteen=[16], rows=np.arange(6, dtype=np.float32).reshape(1, 1, 6))
    path = written(tmp_path / "net.onnx", *node(text, "N, 3, H, W", "a, b, c0", **values))
    compared(path, numbers(2, 3, 32, 48), numbers(1, 3, 16, 16))


def test_crops_and_padding_to_the_size_of_another_array(tmp_path):
    graph = """net (float[N, 3, H] x, float[N, 3, K] z) => (float[a, b, c] y) {
        s = Shape<start: int = 2>(z) y = CenterCropPad<axes: ints = [2]>(x, s) }"""
    path = written(tmp_path / "net.onnx", graph, version=18)
    compared(path, *((numbers(2, 3, h), numbers(2, 3, k)) for h, k in ((9, 6), (12, 20), (5, 5))))


def test_a_crop_to_the_size_of_a_smaller_array(tmp_path):
    graph = """net (float[N, 3, H, 2] x, float[N, 3, K, 2] z) => (float[a, b, c, d] y) {
        s = Shape(x) t = Shape(z) h = Gather(s, i2) k = Gather(t, i2) r = Sub(h, k) a = Div(r, two)
        b = Add(a, k) p = Slice(x, a, b, two) y = Concat<axis: int = 1>(p, z) }"""
    path = written(tmp_path / "net.onnx", graph, constants(i2=[2], two=[2]))
    compared(path, *((numbers(2, 3, h, 2), numbers(2, 3, k, 2)) for h, k in ((7, 4), (40, 9), (6, 6))))


@pytest.mark.parametrize(
    "text",
    [
        "a = Div(h, three) b = Div(h, four) e = Sub(h, b) y0 = Slice(x, a, e, two) y = Relu(y0)",
        "a = Div(h, four) b = Add(a, two) y = Slice(x, a, b, two, two)",
        "a = Sub(h, w) b = Add(a, three) y = Slice(x, a, b, two)",
        "a = Mul(h, h) b = Div(a, four) t = Concat<axis: int = 0>(b, h) v = Expand(one, t)"
        " y = Cast<to: int = 1>(v)",
    ],
)
def test_sizes_that_no_array_has(tmp_path, text):
    values = dict(INDICES, one=[1], two=[2], three=[3], four=[4])
    path = written(tmp_path / "net.onnx", *node(f"{SIZES} {text}", **values))
    compared(path, *(numbers(2, 3, h, w) for h, w in ((30, 20), (9, 5), (33, 21))))


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(
    "part",
    [
        "q2 = Neg(q) y = Slice(x, q2, big, one)",
        "y = Slice(x, q, big, one)",
        "r = Add(q, q) y = Slice(x, q, r, one)",
    ],
)
def test_axes_longer_than_numbers_of_8_bits_count(tmp_path, dtype, part):
    values = {name: np.array([n]) for name, n in dict(one=1, three=3, big=9999).items()}
    text = f"s = Shape(x) n = Gather(s, one) q = Div(n, three) {part}"
    path = written(
        tmp_path / "net.onnx", f"net ({dtype}[N, W] x) => ({dtype}[N, V] y) {{ {text} }}", values
    )
    compared(path, *(np.arange(2 * n).reshape(2, n).astype(dtype) for n in (30, 300, 1000)))


def test_the_last_elements_as_many_as_a_shorter_array_has(tmp_path):
    """At all sizes that are tried, the second array is longer."""
    values = dict(one=np.array([1]), big=np.array([9999]))
    text = """net (float[N, W] x, float[M, K] w) => (float[N, V] y, float[M, K] z) {
        s = Shape(w) k = Gather(s, one) m = Neg(k) y = Slice(x, m, big, one) z = Relu(w)
    }"""
    path = written(tmp_path / "net.onnx", text, values)
    compared(path, *((numbers(2, n), numbers(2, k)) for n, k in ((9, 5), (64, 7), (5, 9), (4, 4))))


def test_an_end_that_counts_from_the_end_only_at_large_sizes(tmp_path):
    values = dict(one=np.array([1]), zero=np.array([0]), twenty=np.array([20]))
    text = """net (float[N, W] x) => (float[N, V] y) {
        s = Shape(x) n = Gather(s, one) m = Sub(twenty, n) y = Slice(x, zero, m, one)
    }"""
    path = written(tmp_path / "net.onnx", text, values)
    compared(path, *(numbers(2, n) for n in (3, 15, 19, 40)))


def test_a_hybridized_net_runs_again_after_a_size_without_elements(tmp_path):
    values = dict(one=np.array([1]), three=np.array([3]))
    text = """net (float[N, W] x) => (float[N, A] y, float[N, A] z, float[N, B] v) {
        s = Shape(x) n = Gather(s, one) q = Div(n, three) p = Add(q, q) r = Sub(n, p)
        k = Concat<axis: int = 0>(q, q, r) y, z, v = Split<axis: int = 1>(x, k)
    }"""
    net = import_model(written(tmp_path / "net.onnx", text, values))
    net.hybridize()
    with pytest.raises(ValueError, match="cannot run on data of shape"):
        net(mx.nd.ones((2, 1)))
    assert [y.shape for y in net(mx.nd.ones((2, 6)))] == [(2, 2)] * 3


def test_a_step_backward_keeps_its_grid_at_every_size(tmp_path):
    given = dict(starts=[-1], ends=[-1000], axes=[3], steps=[-3])
    text, values = node("y = Slice(x, starts, ends, axes, steps)", "N, 3, H, W", **given)
    calls = [numbers(2, 3, 4, width) for width in range(4, 14)]
    compared(written(tmp_path / "net.onnx", text, values), *calls)


def test_a_model_of_one_size_is_not_taken_for_one_of_every_size(tmp_path):
    """A table of 192 by 256 elements fits one of the tried sizes, and a batch of 3 another one."""
    text = "net (float[N, 3, H, W] x) => (float[a, b, c, d] y) { y = Add(x, table) }"
    path = written(tmp_path / "net.onnx", text, {"table": numbers(192, 256)})
    with pytest.raises(ValueError, match="input_shapes="):
        import_model(path)
    fixed = (None, 3, 192, 256)
    assert import_model(path, input_shapes=[fixed]).input_sizes == (fixed,)
    path = written(tmp_path / "net.onnx", text, {"table": numbers(3, 1, 1, 1)})
    with pytest.warns(UserWarning, match="has a batch of 3"):
        compared(path, numbers(3, 3, 4, 5))
    fixed = (3, 3, None, None)
    assert import_model(path, input_shapes=[fixed]).input_sizes == (fixed,)


@settings(max_examples=60, deadline=None)
@given(
    data=st.lists(
        st.tuples(
            st.sampled_from([None, -1000, -3, -1, 0, 1, 2, 4, 1000]),
            st.sampled_from([-1000, -2, -1, 1, 3, 5, 1000, 2**31 - 1, 2**63 - 1, -(2**63)]),
            st.sampled_from([1, 2, 3, -1, -2]),
        ),
        min_size=1, max_size=2,
    ),
    fixed=st.booleans(),
)  # fmt: skip
def test_slices(tmp_path_factory, data, fixed):
    data = [(start or 0, end, step) for start, end, step in data]
    starts, ends, steps = zip(*data)
    axes = [3, 2][: len(data)]
    shapes = [(2, 3, 7, 8)] if fixed else [(2, 3, 7, 8), (1, 3, 6, 9), (2, 3, 12, 11)]
    empty = any(
        not range(*slice(*part).indices(shape[axis]))
        for part, axis in zip(data, axes)
        for shape in [*shapes, (2, 3, 320, 320), (2, 3, 6, 6)]
    )
    shape = "2, 3, 7, 8" if fixed else "N, 3, H, W"
    text, values = node(
        "y = Slice(x, starts, ends, axes, steps)",
        shape,
        starts=starts,
        ends=ends,
        axes=axes,
        steps=steps,
    )
    path = written(tmp_path_factory.mktemp("s") / "net.onnx", text, values)
    try:
        net = import_model(path)
    except ValueError as error:
        assert empty or "depends on sizes" in str(error)  # noqa: PT017
        return
    if not empty:
        compared(path, *(numbers(*shape) for shape in shapes))
    assert net is not None


@pytest.mark.parametrize(
    "text, values",
    [
        ("t = Concat<axis: int = 0>(n, c, h, w) y = Expand(v, t)", {}),
        ("t = Concat<axis: int = 0>(one, one, h, one) y = Expand(x, t)", {"one": [1]}),
        ("y = Expand(x, t)", {"t": [1, 1, 1, 1]}),
        ("y = Expand(x, t)", {"t": np.zeros(0, "int64")}),
        ("t = Concat<axis: int = 0>(n, one, h, w) z = ConstantOfShape(t) y = Sub(z, x)", {"one": [1]}),
        ("k = Mul(h, three) l = Sub(k, two) f = Cast<to: int = 1>(l) y = Sub(x, f)",
         {"three": [3], "two": [2]}),
        ("k = Squeeze(w) r = Range(zero, k, one) f = Cast<to: int = 1>(r) y = Add(x, f)",
         {"zero": 0, "one": 1}),
        ("k = Squeeze(h) r = Range(zero, k, two) e = Shape(r) f = Cast<to: int = 1>(e) y = Mul(x, f)",
         {"zero": 0, "two": 2}),
        ("k = Div(h, two) y = Slice(x, zero, k, two)", {"zero": [0], "two": [2]}),
        ("k = Mul(w, three) l = Sub(k, two) m = Squeeze(l) r = Range(zero, m, five) "
         "f = Cast<to: int = 1>(r) g = Unsqueeze(f, i0) y = Add(v, g)",
         {"zero": 0, "two": [2], "three": [3], "five": 5}),
        ("k = Add(w, two) l = Squeeze(k) r = Range(zero, l, one) f = Cast<to: int = 1>(r) y = Add(v, f)",
         {"zero": 0, "two": [2], "one": 1}),
        ("g = Cast<to: int = 1>(w) b = Squeeze(g) a = Mul(x, g) y = Clip(a, , b)", {}),
        ("g = Cast<to: int = 1>(w) k = Squeeze(g) r = Range(k, none, minus) y = Add(x, r)",
         {"none": np.float32(0), "minus": np.float32(-1)}),
        ("t = Concat<axis: int = 0>(w, one, two, n) y = Tile(x, t)", {"one": [1], "two": [2]}),
    ],
)  # fmt: skip
def test_sizes_from_other_arrays(tmp_path, text, values):
    path = tmp_path / "net.onnx"
    weights = {**constants(**INDICES, **values), "v": numbers(1, 3, 1, 1)}
    written(path, *node(f"{SIZES} {text}", shape="N, 3, H, W"), version=17)
    model = onnx.load(path)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in weights.items())
    onnx.save(model, str(path))
    compared(str(path), numbers(2, 3, 5, 6), numbers(1, 3, 7, 4))


def test_numbers_that_sizes_give_at_run_time(tmp_path):
    text = f"""{SIZES}
        g = Concat<axis: int = 0>(h, w) k = ReduceProd(g) m = Sub(k, i1)
        a = Cast<to: int = 1>(k) b = Cast<to: int = 1>(m) r = Div(a, b)
        f = Cast<to: int = 1>(g) q = Sqrt(f) u, v = Split<axis: int = 0>(q)
        d = Mul(x, r) e = Add(d, u) y = Sub(e, v)"""
    path = written(tmp_path / "net.onnx", *node(text, **INDICES))
    net = compared(path, numbers(2, 4, 5, 6), numbers(3, 8, 7, 2), numbers(1, 2, 3, 9))
    assert net.input_sizes == ((None,) * 4,)


def test_a_number_that_other_sizes_would_bound(tmp_path):
    text = f"{SIZES} k = Min(w, most) f = Cast<to: int = 1>(k) y = Mul(x, f)"
    path = written(tmp_path / "net.onnx", *node(text, **INDICES, most=[30_000]))
    compared(path, numbers(1, 1, 1, 30), numbers(1, 1, 1, 30_001))


def test_positions_are_cut_from_a_table(tmp_path):
    text = "net (float[N, T, 4] x) => (float[N, T, 4] y) "
    text += "{ s = Shape(x) t = Gather(s, one) p = Slice(table, zero, t, one) y = Add(x, p) }"
    weights = {"table": numbers(1, 50, 4), **constants(zero=[0], one=[1])}
    net = compared(written(tmp_path / "net.onnx", text, weights), numbers(2, 7, 4), numbers(1, 50, 4))
    assert net.collect_params()["table"].grad_req == "write"


@pytest.mark.parametrize("kind", [1, 6, 7, 9, 11, 2, 3])
@pytest.mark.parametrize("given_kind", ["float", "int64", "int32", "double"])
def test_casts(tmp_path, kind, given_kind):
    out = {1: "float", 6: "int32", 7: "int64", 9: "bool", 11: "double", 2: "uint8", 3: "int8"}[kind]
    text = f"net ({given_kind}[N] x) => ({out}[N] y) {{ y = Cast<to: int = {kind}>(x) }}"
    dtype = {"float": "f4", "double": "f8"}.get(given_kind, given_kind)
    compared(written(tmp_path / "net.onnx", text), np.array([0, 1, 2.7, 100], "f8").astype(dtype))


def test_outputs_of_all_kinds(tmp_path):
    """A constant, an input as it is, and a number without axes."""
    text = """net (float[N, 3] x) => (float[2] c, float[N, 3] same, float s, int64[2] shape) {
        c = Constant<value_floats: floats = [1.0, 2.0]>()
        same = Identity(x)
        s = ReduceMax<keepdims: int = 0>(x)
        shape = Constant<value_ints: ints = [5, 6]>()
    }"""
    compared(written(tmp_path / "net.onnx", text, version=13), numbers(2, 3), numbers(1, 3))


def test_as_many_numbers_as_an_array_has_elements(tmp_path):
    """Labels of connected components."""
    text = """s = Shape(x) n = ReduceProd<keepdims: int = 0>(s) r = Range(zero, n, one)
        f = Cast<to: int = 1>(r) t = Reshape(f, s) y = Mul(x, t)"""
    path = written(tmp_path / "net.onnx", *node(text, "N, 1, H, W", zero=0, one=1))
    compared(path, numbers(2, 1, 3, 5), numbers(1, 1, 7, 2))


@pytest.mark.parametrize(
    "part", ["d = Sub(large, h) b = Div(d, two) e = Add(b, h)", "b = Neg(h) e = Identity(end)"]
)
def test_the_center_or_end_of_a_table_as_large_as_an_image(tmp_path, part):
    """The position embedding of Stable Diffusion 3, and biases of attention (ALiBi)."""
    text = f"s = Shape(x) h = Gather(s, i1) {part} t = Slice(table, b, e, zero) y = Add(x, t)"
    weights = {"i1": [1], "two": [2], "large": [16], "zero": [0], "table": numbers(16, 3)}
    weights["end"] = [2**63 - 1]
    path = written(tmp_path / "net.onnx", *node(text, "N, H, 3", "a, b, 3", **weights))
    center = "Div" in part  # of 18 elements it is the last one of the table, which is broadcast
    net = compared(path, *(numbers(2, n, 3) for n in (6, 15, 16, *[18] * center)))
    for size in (17, 40):  # the start is negative
        with pytest.raises((mx.MXNetError, ValueError), match="out of bound|could not be broadcast"):
            net(mx.nd.zeros((1, size, 3))).asnumpy()


def test_codes_of_reshapes():
    assert codes_for([(2, 3, 4)], [(6, 4)]) == (6, 4)
    assert codes_for([(2, 3, 4), (5, 3, 4)], [(6, 4), (15, 4)]) == (-1, 4)
    assert codes_for([(2, 3, 4), (5, 3, 6)], [(2, 12), (5, 18)]) == (0, -1)
    assert codes_for([(2, 12, 4), (5, 18, 6)], [(2, 4, 3, 4), (5, 6, 3, 6)]) == (0, -4, -1, 3, 0)
    # MXNet ends the process for (0, 0, -1, 4) here, where it divides by 2 ** 32 in 32 bits.
    large = [(2**15, 2**15, 128), (2**14, 2**14, 128)]
    assert codes_for(large, [(*each[:2], 32, 4) for each in large]) == (0, 0, 32, 4)
    assert codes_for([(24, 5), (90, 7)], [(2, 3, 4, 5), (3, 5, 6, 7)]) is None


def test_channels_of_a_convolution_are_cut(tmp_path):
    """MXNet's own slice fails on the blocked memory that oneDNN's convolutions return."""
    text = "net (float[N, 32, H, W] x) => (float[N, c, H, W] y) "
    text += "{ a = Conv(x, w) y = Slice(a, start, end, axes) }"
    weights = {"w": numbers(88, 32, 1, 1), **constants(start=[0], end=[30], axes=[1])}
    compared(written(tmp_path / "net.onnx", text, weights), numbers(2, 32, 16, 16))


def test_a_size_that_is_the_same_at_most_sizes(tmp_path):
    """MXNet's reshape would read beyond an array with fewer elements than the usual ones."""
    text = "net (float[T, 3] x) => (float[a, b] y) { a = Slice(x, start, end) y = Reshape(a, t) }"
    path = written(tmp_path / "net.onnx", text, constants(start=[0], end=[6], t=[2, 9]))
    net = compared(path, numbers(8, 3), numbers(6, 3))
    for active in (False, True):
        net.hybridize(active)
        with pytest.raises((ValueError, mx.MXNetError)):
            net(mx.nd.array(numbers(4, 3))).wait_to_read()


def test_a_table_for_each_window(tmp_path):
    """Hiera's positions in windows of 8 by 8, where the image has no other part of a window."""
    text = """s = Shape(x) h = Gather(s, i2) w = Gather(s, i3) a = Div(h, eight) b = Div(w, eight)
        t = Concat<axis: int = 0>(one, one, a, b) z = Tile(table, t) y = Add(x, z)"""
    weights = {"i2": [2], "i3": [3], "one": [1], "eight": [8], "table": numbers(1, 3, 8, 8)}
    path = written(tmp_path / "net.onnx", *node(text, "N, 3, H, W", **weights))
    net = compared(path, numbers(2, 3, 16, 8), numbers(1, 3, 8, 40))
    with pytest.raises(ValueError, match="cannot run"):
        net(mx.nd.zeros((1, 3, 12, 8))).wait_to_read()


@pytest.mark.parametrize("rounding", ["Floor", "Ceil"])
@pytest.mark.parametrize("factor", [1.7, 0.7, 5 / 3])
def test_sizes_by_a_factor_that_is_not_whole(tmp_path, rounding, factor):
    """Such as PyTorch's ``interpolate(..., recompute_scale_factor=True)``."""
    text = f"""s = Shape(x) h = Gather(s, i0) f = Cast<to: int = 1>(h) p = Mul(f, factor)
        r = {rounding}(p) t = Cast<to: int = 7>(r) y = Expand(ones, t)"""
    weights = {"i0": [0], "factor": np.float32([factor]), "ones": np.ones(1, "f")}
    path = written(tmp_path / "net.onnx", *node(text, "N, 1", "a", **weights))
    compared(path, *(numbers(n, 1) for n in (3, 10, 17, 40, 100)))


def test_frames_of_open_length(tmp_path):
    """A size divided by 4 and rounded down shows at sizes below multiples of 4."""
    text = """net (float[N, T] x) => (float[N, F, 4] y) {
        length = Shape<start: int = 1>(x)
        t = Squeeze(length)
        last = Sub(t, three)
        starts = Range(zero, last, four)
        columns = Unsqueeze(starts, one)
        places = Add(columns, within)
        y = Gather<axis: int = 1>(x, places)
    }"""
    weights = constants(one=[1], within=[0, 1, 2, 3])
    weights.update(zero=np.array(0), three=np.array(3), four=np.array(4))
    path = written(tmp_path / "net.onnx", text, weights)
    compared(path, numbers(2, 16), numbers(1, 19), numbers(3, 21))


def test_parts_without_elements_are_dropped(tmp_path):
    text = "net (float[N, 4] x) => (float[N, 4] y) { "
    text += "a, b, c = Split<axis: int = 1>(x, sizes) y = Concat<axis: int = 1>(b, c, a) }"
    path = written(tmp_path / "net.onnx", text, constants(sizes=[3, 0, 1]), version=13)
    compared(path, numbers(2, 4), numbers(1, 4))
    path = written(tmp_path / "net.onnx", text, constants(sizes=[4, 0, 0]), version=13)
    compared(path, numbers(2, 4), numbers(1, 4))


def test_a_part_that_ends_at_or_behind_the_end(tmp_path):
    """An image that is halved and doubled is not larger than before."""
    text = """s = Shape(x) h = Gather(s, i2) y = Slice(d, i0, h, i2)
        p = MaxPool<kernel_shape: ints = [2, 2], strides: ints = [2, 2]>(x)
        d = Resize<mode: string = "nearest", nearest_mode: string = "floor",
            coordinate_transformation_mode: string = "asymmetric">(p, , scales)"""
    weights = {"i0": [0], "i2": [2], "scales": np.float32([1, 1, 2, 2])}
    path = written(tmp_path / "net.onnx", *node(text, **weights))
    compared(path, numbers(2, 3, 7, 8), numbers(1, 3, 12, 5))


def test_an_update_of_a_part_that_is_empty_at_every_size(tmp_path):
    """``x[-3:0] = 1`` for windows that are not shifted, as PyTorch exports torchvision's Swin."""
    text = """s = Shape(x) n = Gather(s, i0) t = Cast<to: int = 7>(n) r = Range(i0, t, i1)
        rows = Slice(r, minus, zeros, zeros, ones) a = Reshape(rows, column)
        columns = Slice(r, zeros, ones, zeros, ones) b = Mul(a, i1) c = Add(b, columns)
        places = Shape(c) e = Expand(c, places) u = Unsqueeze(e, last)
        index = Concat<axis: int = -1>(u, u)
        values = ConstantOfShape(places) z = ScatterND(x, index, values) y = Identity(z)"""
    weights = {"i0": np.array(0), "i1": np.array(1), "minus": [-3], "zeros": [0], "ones": [1]}
    weights.update(column=[-1, 1], last=[-1])
    path = written(tmp_path / "net.onnx", *node(text, "N, M", "N, M", **weights))
    compared(path, numbers(4, 4), numbers(9, 9))


def test_windows_of_several_heads(tmp_path):
    """The result of attention in windows of 4x4 elements becomes a map, by a transpose of 7 axes."""
    text = """s = Shape(x) n, c, h, w = Split(s) y0 = Div(h, four) x0 = Div(w, four)
        s6 = Concat<axis: int = 0>(n, c, y0, four, x0, four) p = Reshape(x, s6)
        q = Transpose<perm: ints = [0, 2, 4, 1, 3, 5]>(p) heads = Reshape(q, s3)
        r = Transpose<perm: ints = [0, 2, 1]>(heads) u = Concat<axis: int = 2>(r, r, r)
        s7 = Concat<axis: int = 0>(n, y0, x0, two, four, four, each) v = Reshape(u, s7)
        z = Transpose<perm: ints = [0, 3, 6, 1, 4, 2, 5]>(v)
        s4 = Concat<axis: int = 0>(n, all, h, w) y = Reshape(z, s4)"""
    weights = {"two": [2], "four": [4], "each": [24], "s3": [-1, 8, 16], "all": [48]}
    path = written(tmp_path / "net.onnx", *node(text, "N, 16, H, W", "N, 48, H, W", **weights))
    compared(path, numbers(2, 16, 12, 8), numbers(1, 16, 4, 20))


def test_tokens_of_videos(tmp_path):
    """The patches of a 3-D convolution, which MXNet cannot transpose in oneDNN's memory."""
    graph = """net (float[1, 3, 4, 8, 8] x) => (float[1, b, 96] y)
        { a = Conv(x, w)  b = Reshape(a, t)  y = Transpose<perm = [0, 2, 1]>(b) }"""
    weights = {"w": numbers(96, 3, 3, 3, 3), "t": np.array([1, 96, -1])}
    x = numbers(1, 3, 4, 8, 8)
    net = compared(written(tmp_path / "net.onnx", graph, weights), x)
    for convert in (gluon_same.specialize, gluon_same.deploy):
        close([convert(net, x.shape)(mx.nd.array(x))], [net(mx.nd.array(x)).asnumpy()])
    export_model(net, x.shape, tmp_path / "again.onnx")  # which compares the numbers


def test_flat_arrays_that_are_too_long_at_the_sizes_tried(tmp_path):
    graph = """net (float[N, 512, H, W] x) => (float[M, 2] y) <int64 zero = {0}, int64[1] minus = {-1}>
        { s = Shape(x) n = Gather(s, zero) first = Reshape(n, minus)
          sizes = Concat<axis = 0>(first, minus) flat = Reshape(x, sizes) y = MatMul(flat, w) }"""
    path = written(tmp_path / "net.onnx", graph, {"w": np.ones((512 * 49, 2), "f")})
    with pytest.raises(ValueError, match="supports none of the sizes that were tried"):
        import_model(path)
    compared(path, numbers(2, 512, 7, 7), input_shapes=[(2, 512, 7, 7)])


def test_one_sample_of_any_size(tmp_path):
    """As PyTorch exports some nets that it traces with one sample."""
    graph = """net (float[N, 4, H, W] x) => (float[M, 2, h, w] y) <int64 two = {2}, int64 three = {3}>
        { s = Shape(x) h = Gather(s, two) w = Gather(s, three) g = Unsqueeze(h, zero)
          v = Unsqueeze(w, zero) sizes = Concat<axis = 0>(front, g, v) b = Reshape(x, sizes)
          y = ReduceSum<keepdims = 0>(b, two_axes) }"""
    weights = {"zero": np.array([0]), "front": np.array([1, 2, 2]), "two_axes": np.array([2])}
    path = written(tmp_path / "net.onnx", graph, weights)
    with pytest.warns(UserWarning, match="has a batch of 1: with an open one, data of shape"):
        net = compared(path, numbers(1, 4, 5, 7), numbers(1, 4, 8, 6))
    assert net.input_sizes == ((1, 4, None, None),)
    with pytest.raises(ValueError, match=r"requires \(1, 4, any, any\)"):
        net(mx.nd.ones((2, 4, 5, 7)))


def test_a_batch_that_is_squeezed_is_one_sample(tmp_path):
    graph = "net (float[N, L, 4] x) => (float[a, b] y) { y = Squeeze(x, first) }"
    path = written(tmp_path / "net.onnx", graph, {"first": np.array([0])})
    with pytest.warns(UserWarning, match=r"of 1: with an open one, axes \(0,\) of data of shape \(2, "):
        compared(path, numbers(1, 5, 4), numbers(1, 1, 4))
    with pytest.raises(ValueError, match="cannot be squeezed"):
        import_model(path, input_shapes=(2, None, 4))


def test_other_batches_are_not_given_up(tmp_path):
    """A batch of 1 could be imported without ``input_shapes``, as any other one with it."""
    graph = """net (float[N, 3] x) => (float[N, 3, D] y)
        { n = Size(x) i = Cast<to = 7>(x) y = OneHot(i, n, w) }"""
    path = written(tmp_path / "net.onnx", graph, {"w": np.float32([0, 1])})
    with pytest.raises(ValueError, match="a size depends on sizes that the file leaves open"):
        import_model(path)
    compared(path, np.float32([[0, 5, 2], [1, 3, 4]]), input_shapes=(2, 3))


def test_gradients_do_not_pass_whole_numbers(tmp_path):
    graph = """net (float[N, 3] x) => (float[N, 3] y)
        { i = Cast<to = 7>(x) f = Cast<to = 1>(i) y = Add(x, f) }"""
    net = import_model(written(tmp_path / "net.onnx", graph))
    x = mx.nd.array([[1.5, -2.5, 3]])
    x.attach_grad()
    with mx.autograd.record():
        y = net(x)
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), [[2.5, -4.5, 6]])
    np.testing.assert_array_equal(x.grad.asnumpy(), [[1, 1, 1]])


def test_sizes_that_are_too_large_for_mxnet_are_tried(tmp_path):
    """The batches do not fit, so that all sizes are tried, also images of 2**29 elements."""
    graph = """net (float[8, 8, H, W] x, float[2, 8] t) => (float[a, b, c, d] y) {
        r = Reshape(x, form) i = InstanceNormalization(r, scale, bias) s = Shape(x) q = Reshape(i, s)
        u = Unsqueeze(t, axes) y = Add(q, u) }"""
    weights = {
        "form": np.array([0, 4, -1]), "scale": np.ones(4, "f"), "bias": np.zeros(4, "f"),
        "axes": np.array([2, 3]),
    }  # fmt: skip
    with pytest.raises(ValueError, match="the model supports none of the sizes that were tried"):
        import_model(written(tmp_path / "net.onnx", graph, weights))
