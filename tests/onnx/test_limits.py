"""Numbers that follow from open sizes: by limits that no tried size reaches, and of any dtype."""

import mxnet as mx
import numpy as np
import pytest
from imported import compared, numbers, recent_runtime, reference, written

from gluon_same.onnx import import_model, limits
from gluon_same.onnx.values import Known, Line

SIZE = "s = Shape(x) n = Gather<axis: int = 0>(s, place)"
PLACES = {"place": np.array(1), "k": np.array(512), "one": np.array(1), "zero": np.array(0)}


FLOOR = "f = Cast<to: int = 1>(n) h = Div(f, large)"
WHOLE = "c = Cast<to: int = 7>(h) m = Add(c, one)"
FLOATS, RANGE = "net (float[B, L] x) => (float[a, b] y)", "net (float[B, L] x) => (int64[a] y)"


def model(path, text, head=FLOATS, **values):
    weights = {**PLACES, "axis": np.array([0]), **values}
    used = {name: x for name, x in weights.items() if name in text.replace(",", " ").replace(")", " ")}
    return written(path / "net.onnx", f"{head} {{ {text} }}", used)


@pytest.mark.parametrize(
    "text, head",
    [
        ("m = Min(n, k) y = Range(zero, m, one)", RANGE),
        ("m = Max(n, k) y = Range(zero, m, one)", RANGE),
        pytest.param(
            "m = ArgMax<axis: int = 0>(s) y = Range(zero, m, one)", RANGE, marks=recent_runtime
        ),
        ("m = Mod(n, k) y = Range(zero, m, one)", RANGE),
        ("c = Div(k, n) m = Add(c, one) y = Range(zero, m, one)", RANGE),
        ("c = Div(n, k) m = Add(c, one) y = Range(zero, m, one)", RANGE),
        (f"{FLOOR} {WHOLE} y = Range(zero, m, one)", RANGE),
        (f"{FLOOR} g = Ceil(h) m = Cast<to: int = 7>(g) y = Range(zero, m, one)", RANGE),
        ("u = Concat<axis: int = 0>(s, pair) m = ReduceMin<keepdims: int = 0>(u) y = Range(one, m, one)",
         RANGE),
        ("m = Min(n, k) e = Unsqueeze(m, axis) y = Slice(x, axis, e)", FLOATS),
        ("m = Min(n, k) e = Unsqueeze(m, axis) y = Slice(x, axis, e, axis1)", FLOATS),
        ("m = Min(n, k) e = Unsqueeze(m, axis) p = Slice(x, axis, e, axis1) t = Shape(p)"
         " y = Reshape(p, t)", FLOATS),
        ("m = Div(n, k) e = Unsqueeze(m, axis) p = Concat<axis: int = 0>(axis, e, axis, e)"
         " y = Pad(x, p)", FLOATS),
        ("m = Div(n, k) e = Unsqueeze(m, axis) p = Concat<axis: int = 0>(axis, e, axis, axis)"
         " y = Pad<mode: string = \"edge\">(x, p)", FLOATS),
    ],
)  # fmt: skip
def test_numbers_that_no_tried_size_limits_are_computed(tmp_path, text, head):
    values = dict(pair=np.array([512, 512]), axis1=np.array([1]), large=np.float32(512))
    path = model(tmp_path, f"{SIZE} {text}", head, **values)
    compared(path, *(numbers(2, n) for n in (3, 600, 511, 1100)))


def test_quotients_of_sizes_are_not_negative(tmp_path):
    """As exporters write ``expand``, where -1 stands for the size of the data."""
    text = f"""{SIZE} b = Gather<axis: int = 0>(s, zero) p = Mul(n, b) q = Div(p, n)
        e = Equal(q, minus) m = Where(e, one, q) y = Range(zero, m, one)"""
    compared(model(tmp_path, text, RANGE, minus=np.array(-1)), numbers(3, 5), numbers(7, 2))


@pytest.mark.parametrize("limit", ["min: float = 1.0", "max: float = 512.0"])
def test_limits_of_clips_that_are_attributes_as_before_operator_set_11(tmp_path, limit):
    text = f"""{SIZE} f = Cast<to: int = 1>(n) m = Clip<{limit}>(f) e = Cast<to: int = 7>(m)
        w = Unsqueeze<axes: ints = [0]>(e) y = Slice(x, zeros, w, one1)"""
    weights = {"place": np.array(1), "zeros": np.array([0]), "one1": np.array([1])}
    path = written(tmp_path / "net.onnx", f"{FLOATS} {{ {text} }}", weights, version=10)
    compared(path, numbers(2, 3), numbers(2, 600))


def test_a_branch_that_all_tried_sizes_take_is_refused(tmp_path):
    text = f"""{SIZE} far = Greater(n, k)
        y = If(far) <then_branch = t () => (float[a, b] p) {{ p = Neg(x) }},
                     else_branch = e () => (float[a, b] q) {{ q = Abs(x) }}>"""
    path = model(tmp_path, text)
    with pytest.raises(ValueError, match="whether a limit applies to its condition"):
        import_model(path)
    for size in (600, 3):
        compared(path, numbers(2, size), input_shapes=(None, size))


@pytest.mark.parametrize("operator, limit", [("Min", -1), ("Min", 0), ("Max", 0)])
def test_a_limit_that_no_size_crosses(tmp_path, operator, limit):
    """The tokens that PyTorch's ``F.pad`` shifts by at most the length."""
    text = f"""{SIZE} m = {operator}(n, limit) minus = Min(m, last) e = Unsqueeze(minus, axis)
        r = Neg(e) pads = Concat<axis: int = 0>(axis, e, axis, r) y = Pad(x, pads)"""
    path = model(tmp_path, text, limit=np.array(limit), last=np.array(-1))
    compared(path, numbers(2, 3), numbers(1, 600))


@pytest.mark.parametrize("text", ["m = Min(n, k)", "m = Max(n, k)", "m = Mod(n, k)"])
def test_numbers_within_limits_are_computed_at_run_time(tmp_path, text):
    path = model(tmp_path, f"{SIZE} {text} f = Cast<to: int = 1>(m) y = Mul(x, f)")
    compared(path, numbers(2, 3), numbers(1, 600), numbers(2, 512))


@pytest.mark.parametrize(
    "text",
    [  # as tf2onnx writes slices without an end, and products of matrices
        "u = Unsqueeze(n, axis) e = Concat<axis: int = 0>(most, u) q = Equal(e, most)"
        " m = Where(q, s, e) g = Gather(m, second) t = Concat<axis: int = 0>(last, g, second)"
        " y = Reshape(x, t)",
        "y = Slice(x, most, least, last, least_step)",
        "c = Concat<axis: int = 0>(three, s) m = Max(c, c) g = Gather(m, second)"
        " t = Concat<axis: int = 0>(g, last, second) y = Reshape(x, t)",
    ],
)
def test_numbers_that_are_no_limits(tmp_path, text):
    values = dict(most=np.array([10**9]), least=np.array([-(10**9)]), least_step=np.array([-1]))
    values.update(three=np.array([3]), second=np.array([1]), last=np.array([-1]))
    net = compared(model(tmp_path, f"{SIZE} {text}", **values), numbers(2, 3), numbers(1, 40))
    assert "whole_shape" not in repr(net)  # which serves a limited number, too


def test_a_size_that_follows_from_one_in_doubt(tmp_path):
    """Positions that are cut to the windows of sound, and split into heads."""
    text = """r = Unsqueeze(x, one) p = AveragePool<kernel_shape = [320], strides = [320]>(r)
        s = Shape(p) n = Gather(s, two) m = ReduceMean<keepdims = 0>(x) w = Mul(table, m)
        start = Sub(middle, n) e = Slice(w, start, middle, zero) t = Shape(e)
        c = Concat<axis = 0>(t, rest, one) y = Reshape(e, c)"""
    values = {name: np.array([n]) for name, n in dict(zero=0, one=1, two=2, middle=50, rest=-1).items()}
    head = "net (float[B, L] x) => (float[a, b, c] y)"
    path = model(tmp_path, text, head, **values, table=np.arange(100, dtype="f"))
    compared(path, *(numbers(*shape) for shape in ((2, 1000), (1, 3300), (3, 330), (1, 16000))))


def test_a_size_that_follows_from_a_limited_one(tmp_path):
    text = f"{SIZE} m = Min(n, k) h = Sub(m, one) t = Concat<axis = 0>(h, rest, one) y = Reshape(x, t)"
    values = {"one": np.array([1]), "rest": np.array([-1])}
    path = model(tmp_path, text, "net (float[B, L] x) => (float[a, b, c] y)", **values)
    net = compared(path, *(numbers(*shape) for shape in ((2, 2), (4, 5), (1022, 1022), (511, 600))))
    for shape in ((2, 1), (3, 5)):  # by 0 and 4 rows
        with pytest.raises(ValueError, match="cannot run on"):
            net(mx.nd.ones(shape)).asnumpy()


def test_a_limit_that_is_the_size_of_what_is_sliced(tmp_path):
    """GPT-Neo's mask: more tokens than the model has would fail in any runtime."""
    text = f"""{SIZE} m = Min(n, k) e = Unsqueeze(m, axis) table = Slice(mask, axis, e, axis)
        y = Add(x, table)"""
    path = model(tmp_path, text, mask=numbers(512))
    compared(path, numbers(2, 3), numbers(1, 512))
    with pytest.raises(ValueError):
        import_model(path)(mx.nd.zeros((1, 600))).asnumpy()


def test_a_limit_in_a_reshape_that_keeps_the_number_of_elements(tmp_path):
    text = f"""{SIZE} b = Gather<axis: int = 0>(s, zero) m = Min(n, k) e = Unsqueeze(m, axis)
        f = Unsqueeze(b, axis) t = Concat<axis: int = 0>(f, axis1, e) y = Reshape(x, t)"""
    path = model(tmp_path, text, "net (float[B, L] x) => (float[a, b0, c] y)", axis1=np.array([1]))
    compared(path, numbers(2, 3), numbers(1, 512))


def test_the_size_of_a_range_that_all_tried_sizes_have(tmp_path):
    text = f"""{SIZE} d = Div(n, k) m = Add(d, one) r = Range(zero, m, one) t = Shape(r)
        y = Expand(one, t)"""
    compared(model(tmp_path, text, RANGE), numbers(2, 3), numbers(1, 500), numbers(2, 600))


def test_limits_of_two_sizes_in_a_reshape(tmp_path):
    path = model(tmp_path, "s = Shape(x) t = Min(s, k) y = Reshape(x, t)")
    net = compared(path, numbers(2, 64), numbers(3, 65), numbers(512, 512))
    with pytest.raises(ValueError, match="cannot run on data of shape"):
        net(mx.nd.ones((2, 600)))


SAME = """f = Cast<to: int = 1>(n) halves = Div(f, two_f) up = Ceil(halves) less = Sub(up, one_f)
    starts = Mul(less, two_f) ends = Add(starts, three_f) more = Sub(ends, f) kept = Clip(more, zero_f)
    p = Cast<to: int = 7>(kept)"""
FLOORED = (
    """m = Add(n, one) h = Div(m, two) e = Mul(two, h) d = Add(e, one) g = Sub(d, n) p = Max(g, one)"""
)


@pytest.mark.parametrize("text", [SAME, FLOORED])
def test_paddings_in_which_sizes_cancel_out_meet_no_limit(tmp_path, text):
    """The padding of TensorFlow's SAME for strides of 2, as timm computes it, is 1 or 2 at all sizes."""
    floats = {f"{name}_f": np.array(n, "float32") for name, n in (("zero", 0), ("one", 1), ("two", 2))}
    floats["three_f"] = np.array(3, "float32")
    path = model(
        tmp_path,
        f"""{SIZE} {text} b = Div(p, two) a = Sub(p, b) u = Unsqueeze(b, axis) v = Unsqueeze(a, axis)
        pads = Concat<axis: int = 0>(zeros, u, zeros, v) padded = Pad(x, pads)
        y = Conv<strides: ints = [2]>(padded, weight)""",
        "net (float[B, 1, L] x) => (float[a, 1, b] y)",
        place=np.array(2), two=np.array(2), zeros=np.zeros(2, int), weight=numbers(1, 1, 3), **floats,
    )  # fmt: skip
    compared(path, *(numbers(2, 1, size) for size in (2, 3, 8, 9, 600)))


@pytest.mark.parametrize(
    "text", ["h = Div(n, four) g = Sub(h, one)", "m = Sub(n, four) g = Sub(m, four)"]
)
def test_numbers_that_may_be_below_a_limit_at_small_sizes_meet_it(tmp_path, text):
    text = f"{SIZE} {text} m0 = Max(g, one) y = Range(zero, m0, one)"
    path = model(tmp_path, text, RANGE, four=np.array(4))
    compared(path, numbers(2, 3), numbers(2, 30))


@pytest.mark.parametrize("dtype, low", [("float32", -1), ("int64", -1), ("bool", None), ("uint8", None)])
def test_a_number_that_sizes_cancel_out_of_has_a_bound_if_its_dtype_has(dtype, low):
    number = Known([np.array(x, dtype) for x in (0, 1)])
    assert limits.least_of(Line({(3.0, 4.0): 0.0}, -1.0, 1.0), number) == low
    assert limits.least_of(Line({(3.0, 4.0): 1.0}, -1.0, 1.0), number) is None


@pytest.mark.parametrize("text", ["y = Max(n, one)", "t = Equal(n, minus) y = Where(t, one, n)"])
def test_no_size_is_less_than_one(tmp_path, text):
    head = "net (float[B, L] x) => (int64 y)"
    path = model(tmp_path, f"{SIZE} {text}", head, minus=np.array(-1))
    compared(path, numbers(2, 1), numbers(1, 600))


@pytest.mark.parametrize("kind", ["uint8", "int8", "int32", "int64", "float", "double"])
def test_sizes_of_arrays_of_any_dtype(tmp_path, kind):
    head = f"net ({kind}[N, L] x) => (int64[a] s, float h, int64 c, int64[b] y)"
    text = """s = Shape(x) n = Gather<axis: int = 0>(s, place) f = Cast<to: int = 1>(n) h = Mul(f, half)
        c = Size(x) y = Range(zero, n, one)"""
    path = model(tmp_path, text, head, half=np.float32(0.5))
    dtype = {"float": "float32", "double": "float64"}.get(kind, kind)
    compared(path, *(np.ones((2, size), dtype) for size in (5, 301)))


@pytest.mark.parametrize(
    "text",
    [
        "y = Sub(m, n)",
        "y = Add(m, one)",
        "y = Mul(m, n)",
        "z = Sub(m, one) r = Range(zero, z, one) y = ReduceSum<keepdims: int = 0>(r)",
    ],
)
def test_two_inputs_with_batches_of_their_own(tmp_path, text):
    sizes = """s = Shape(x) n = Gather<axis: int = 0>(s, zero)
        t = Shape(z0) m = Gather<axis: int = 0>(t, zero)"""
    head = "net (float[A, 2] x, float[B, 3] z0) => (int64 y)"
    path = model(tmp_path, f"{sizes} {text}", head)
    compared(path, *((numbers(a, 2), numbers(b, 3)) for a, b in ((4, 5), (2, 7), (3, 3), (9, 2))))


def test_whole_numbers_are_divided_toward_zero(tmp_path):
    """The idiom of exporters for a division that rounds up."""
    text = f"""{SIZE} minus = Neg(n) d = Div(minus, two) k0 = Neg(d) e = Unsqueeze(k0, axis)
        y = Slice(x, axis, e, last)"""
    path = model(tmp_path, text, two=np.array(2), last=np.array([1]))
    compared(path, numbers(2, 5), numbers(1, 8))


def test_a_product_that_a_subgraph_reads_gets_no_bias(tmp_path):
    text = """p = MatMul(x, w) q = Add(p, b)
        t = If(c) <then_branch = f () => (float[i, j] u) { u = Mul(p, p) },
                   else_branch = g () => (float[i, j] v) { v = Neg(p) }>
        y = Add(q, t)"""
    head = "net (float[B, 3] x) => (float[a, b0] y)"
    values = dict(w=numbers(3, 4), b=numbers(4), c=np.array(True))
    path = written(tmp_path / "net.onnx", f"{head} {{ {text} }}", values)
    compared(path, numbers(2, 3), numbers(5, 3))


GREATER = "d = Sub(n, five) far = Greater(d, zero)"
THEN = """y = If(far) <then_branch = t () => (float[a, b] p) { p = Neg(x) },
                     else_branch = e () => (float[a, b] q) { q = Abs(x) }>"""


def test_a_condition_that_is_the_same_at_all_tried_sizes_is_refused(tmp_path):
    path = model(tmp_path, f"{SIZE} {GREATER} {THEN}", five=np.array(5))
    with pytest.raises(ValueError, match="fix them with input_shapes="):
        import_model(path)


def test_a_condition_that_no_number_up_to_a_limit_meets(tmp_path):
    """torchvision asks whether there are no boxes, of which it took some of the best."""
    text = f"{SIZE} m = Min(n, k) far = Equal(m, zero) {THEN}"
    compared(model(tmp_path, text), numbers(2, 3), numbers(1, 600))
    with pytest.raises(ValueError, match="fix them with input_shapes="):
        import_model(model(tmp_path, text.replace("zero", "k")))


def test_divisions_of_sizes_in_proportion(tmp_path):
    """PyTorch's interpolation by areas divides half a size by the size."""
    text = f"{SIZE} h = Div(n, two) r = Div(h, n) m = Add(r, one) y = Range(zero, m, one)"
    compared(model(tmp_path, text, RANGE, two=np.array(2)), numbers(2, 3), numbers(1, 600))
    other = f"{SIZE} b = Gather<axis: int = 0>(s, zero) r = Div(b, n) y = Add(r, one)"
    path = model(tmp_path, other, "net (float[B, L] x) => (int64 y)")
    compared(path, numbers(2, 3), numbers(4, 2), numbers(2, 2))


def test_a_start_that_follows_from_a_size(tmp_path):
    text = f"{SIZE} d = Sub(n, three) e = Unsqueeze(d, axis) y = Slice(x, e, end, axis1)"
    values = dict(three=np.array(3), end=np.array([2**31 - 1]), axis1=np.array([1]))
    net = compared(model(tmp_path, text, **values), numbers(2, 3), numbers(1, 600))
    with pytest.raises(ValueError, match="cannot run on data of shape"):
        net(mx.nd.ones((1, 2)))  # onnxruntime reads a start of -1


def test_a_remainder_for_which_some_sizes_are_refused(tmp_path):
    """The tried sizes for which the part has elements are multiples of 64."""
    text = f"""{SIZE} r = Mod(n, many) m = Min(n, few) e = Unsqueeze(r, axis) f = Unsqueeze(m, axis)
        y = Slice(x, e, f, axis1)"""
    path = model(tmp_path, text, many=np.array(64), few=np.array(16), axis1=np.array([1]))
    net = compared(path, *(numbers(2, n) for n in (64, 65, 79, 128)))
    with pytest.raises(ValueError, match="cannot run on data of shape"):
        net(mx.nd.ones((2, 80)))


@pytest.mark.parametrize(
    "text, head",
    [
        ("d = Sub(n, five) y = Greater(d, zero)", "net (float[B, L] x) => (bool y)"),
        ("d = Sub(n, five) y = Max(d, one)", "net (float[B, L] x) => (int64 y)"),
        ("y = Div(n, k)", "net (float[B, L] x) => (int64 y)"),
        (f"{FLOOR} {WHOLE} y = Mul(m, n)", "net (float[B, L] x) => (int64 y)"),
        (f"d = Add(n, n) far = Greater(d, one) {THEN}", FLOATS),
        (f"d = Sub(n, zero) far = Cast<to: int = 9>(d) {THEN}", FLOATS),
    ],
)
def test_numbers_with_steps_are_computed_at_run_time(tmp_path, text, head):
    path = model(tmp_path, f"{SIZE} {text}", head, five=np.array(5), large=np.float32(512))
    compared(path, *(numbers(2, n) for n in (3, 5, 7, 600, 1100)))


BOUNDS = {"five": [5], "most": [512], "last": [-7], "end": [2**31 - 1], "less": [-2]}
CUTS = ["axis, most", "axis, five", "last, end", "five, end", "axis, less", "axis1, five", "last, less"]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("kind", ["float", "int64"])
def test_slices_of_more_elements_than_there_are(tmp_path, cut, kind):
    """MXNet's error for no elements would appear late, and in the next call, too."""
    values = {name: np.array(value) for name, value in BOUNDS.items()}
    text = f"p = Slice(x, {cut}, axis1) y = Neg(p)"
    path = model(
        tmp_path, text, f"net ({kind}[B, L] x) => ({kind}[a, b] y)", axis1=np.array([1]), **values
    )
    net = import_model(path)
    for size in (3, 600, 1, 7, 513, 5):
        x = numbers(2, size).astype(kind.replace("float", "f"))
        (wanted,) = reference(path, x)
        if wanted.size:
            np.testing.assert_array_equal(net(mx.nd.array(x, dtype=x.dtype)).asnumpy(), wanted)
        else:
            with pytest.raises(ValueError, match="cannot run on data of shape"):
                net(mx.nd.array(x, dtype=x.dtype))


SIZES_OF_SLICES = [
    ("n = Gather<axis: int = 0>(s, place) y = Range(zero, n, one)", RANGE),
    ("y = ConstantOfShape(s)", FLOATS),
    ("c = Concat<axis: int = 0>(s, axis1) y0 = Expand(one, c) y = Cast<to: int = 1>(y0)",
     "net (float[B, L] x) => (float[a, b, c] y)"),
]  # fmt: skip


@pytest.mark.parametrize("most", [512, 7])  # which no size that is tried fills, and all do
@pytest.mark.parametrize("text, head", SIZES_OF_SLICES)
def test_sizes_of_slices(tmp_path, text, head, most):
    text = f"p = Slice(x, axis, most, axis1) q = Relu(p) s = Shape(q) {text}"
    path = model(tmp_path, text, head, most=np.array([most]), axis1=np.array([1]))
    compared(path, *(numbers(2, size) for size in (3, 600, 7, 512)))


@pytest.mark.parametrize("sizes", [(0, 1, -1), (0, -1, 1)])
def test_reshapes_of_slices_keep_the_numbers_of_the_file(tmp_path, sizes):
    """A slice has 7 elements at all sizes that are tried, and fewer at others."""
    values = dict(most=np.array([7]), axis1=np.array([1]), sizes=np.array(sizes))
    text, head = (
        "p = Slice(x, axis, most, axis1) y = Reshape(p, sizes)",
        FLOATS.replace("a, b", "a, b, c"),
    )
    compared(model(tmp_path, text, head, **values), numbers(2, 3), numbers(1, 600))


def test_sizes_of_slices_that_cannot_be_computed_at_run_time_are_required(tmp_path):
    """Also in graphs whose outputs do not depend on the elements."""
    text = """p = Slice(x, axis, most, axis1) q = Relu(p) s = Shape(q)
        n = Gather<axis: int = 0>(s, place) v = Reshape(n, axis1) z = Cast<to: int = 7>(x)
        y = OneHot(z, v, pair)"""
    head, pair = "net (float[B, L] x) => (float[a, b, c] y)", np.array([0, 1], "f")
    path = model(tmp_path, text, head, most=np.array([7]), axis1=np.array([1]), pair=pair)
    net = compared(path, numbers(2, 7), numbers(1, 600))
    for active in (True, False):
        net.hybridize(active)
        with pytest.raises(ValueError, match="an axis in it has 3 elements, and 7 at the sizes"):
            net(mx.nd.ones((2, 3)))


@pytest.mark.parametrize("cut", ["axis1, less, axis1", "end, axis, axis1, less"])
def test_slices_of_slices(tmp_path, cut):
    """The size of the first is that of its end at all sizes that are tried."""
    values = {name: np.array(value) for name, value in BOUNDS.items()}
    text = f"p = Slice(x, axis, five, axis1) y = Slice(p, {cut})"
    compared(model(tmp_path, text, axis1=np.array([1]), **values), *(numbers(2, n) for n in (4, 9, 5)))


def test_sizes_of_slices_are_computed_at_run_time(tmp_path):
    text = """p = Slice(x, axis, most, axis1) s = Shape(p) n = Gather<axis: int = 0>(s, place)
        f = Cast<to: int = 1>(n) y = Div(p, f)"""
    path = model(tmp_path, text, most=np.array([512]), axis1=np.array([1]))
    compared(path, *(numbers(2, n) for n in (7, 511, 600)))


def test_a_slice_that_is_empty_at_the_first_sizes_tried(tmp_path):
    text = "p = Slice(x, start, end, axis1) y = Concat<axis: int = 1>(p, x)"
    values = dict(start=np.array([400]), end=np.array([2**31 - 1]), axis1=np.array([1]))
    path = model(tmp_path, text, **values)
    net = import_model(path)
    x = numbers(2, 600)
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), reference(path, x)[0])
    with pytest.raises(ValueError, match="cannot run on data of shape"):
        net(mx.nd.array(numbers(2, 100)))


def test_numbers_without_elements_at_the_first_sizes_tried(tmp_path):
    """As frames of sound: the first sizes that are tried are below 2,048."""
    text = f"""{SIZE} f = Div(n, large) r = Range(zero, f, one) p = Mul(r, large)
        y = Gather<axis: int = 1>(x, p)"""
    path = model(tmp_path, text, large=np.array(2048))
    compared(path, numbers(2, 2048), numbers(2, 7000))
    text = f"{SIZE} f = Div(n, large) r = Range(zero, f, one) y = Gather<axis: int = 1>(x, r)"
    path = model(tmp_path, text, large=np.array(2**20))
    with pytest.raises(ValueError, match=r"has no elements(.|\n)*input_shapes="):
        import_model(path)


def test_arrays_without_elements_have_no_limits(tmp_path):
    text = """s = Shape(x) n = Slice(s, start, end) shape = Concat<axis: int = 0>(n, start)
        e = ConstantOfShape(shape) c = Clip(e, low, high) y = Concat<axis: int = 1>(c, x)"""
    values = dict(start=np.array([0]), end=np.array([1]), low=np.float32(-1), high=np.float32(1))
    compared(model(tmp_path, text, **values), numbers(2, 4), numbers(3, 9))


def test_a_tile_by_zero_is_refused(tmp_path):
    path = model(tmp_path, "y = Tile(x, by)", by=np.array([1, 0]))
    with pytest.raises(ValueError, match="has no elements"):
        import_model(path)


@pytest.mark.parametrize(
    "text",
    [
        "d = Div(n, k) m = Add(d, one)",
        "q = Min(n, k) d = Div(q, most) m = Add(d, one)",
        "d = Sub(n, most) m = Max(d, five)",
    ],
)
def test_a_topk_of_a_number_that_is_no_bound(tmp_path, text):
    """At the sizes that are tried, it looks like the bound of a size."""
    text = f"{SIZE} {text} e = Unsqueeze(m, axis) y, i = TopK(x, e)"
    path = model(tmp_path, text, most=np.array(400), five=np.array(5))
    compared(path, *(numbers(2, n) for n in (7, 390, 900)))


def test_a_topk_of_at_most_a_number(tmp_path):
    text = f"{SIZE} m = Min(n, five) c = Max(m, one) e = Unsqueeze(c, axis) y, i = TopK(x, e)"
    compared(model(tmp_path, text, five=np.array(5)), numbers(2, 3), numbers(1, 600))
