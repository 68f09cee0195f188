"""Masked assignments, as PyTorch's exporters write them: also where the mask chooses nothing, or all."""

import mxnet as mx
import numpy as np
import pytest
from imported import close, compared, numbers, reference, written

import gluon_same
from gluon_same.onnx import export_model, import_model

#: The mask of rows whose first number is positive, and its number of rows.
ROWS = """first = Gather<axis = 2>(x, zero)  m = Greater(first, level)
    flat = Reshape(m, minus)  whole = Cast<to = 7>(flat)  count = ReduceSum(whole)"""

#: Coordinates of all elements of these rows, and the shape of the rows.
PLACES = """s = Shape(x)  u = Unsqueeze(m, minus)  wide = Expand(u, s)  n = NonZero(wide)
    p = Transpose<perm = [1, 0]>(n)  size = Slice(s, two, three)  t = Concat<axis = 0>(count, size)"""

#: The rows themselves.
CHOICE = "rows = NonZero(m)  q = Transpose<perm = [1, 0]>(rows)  c = GatherND(x, q)"

PLACED = "e = Expand(v, t)  r = Reshape(e, minus)  y = ScatterND(x, p, r)"

NUMBERS = {
    "minus": [-1], "two": [2], "three": [3], "zero": 0, "level": np.float32(0), "w": numbers(4, 4),
    "b": numbers(4, seed=1), "k": numbers(1, 4, seed=2), "half": np.float32(0.5),
}  # fmt: skip

#: Shapes with rows of both kinds, and rows of one kind only.
CALLS = [numbers(2, 5, 4), numbers(1, 3, 4), -np.abs(numbers(2, 3, 4)), np.abs(numbers(3, 2, 4))]


def model(folder, nodes, shape="N, L, 4", kind="float", **more):
    graph = f"net ({kind}[{shape}] x) => ({kind}[{shape}] y) {{ {nodes} }}"
    return written(folder / "net.onnx", graph, {**NUMBERS, **more})


@pytest.mark.parametrize(
    "value",
    [
        "v = Identity(half)",
        "v = Identity(b)",
        "v = Identity(k)",
        f"{CHOICE} v = Add(c, b)",
        f"{CHOICE} a = Abs(c) g = Sqrt(a) v = Div(g, k)",
        f"{CHOICE} d = Mul(x, x) o = GatherND(d, q) v = Sub(c, o)",
        f"{CHOICE} v = Gemm<transB = 1>(c, w, b)",
        f"{CHOICE} v = MatMul(c, w)",
    ],
)
def test_rows_of_a_mask_are_assigned(value, tmp_path):
    path = model(tmp_path, f"{ROWS} {PLACES} {value} {PLACED}")
    net = compared(path, *CALLS)
    assert not {"n", "p", "rows", "q"}.intersection(net.layers)  # nothing is chosen
    for convert in (gluon_same.specialize, gluon_same.deploy):
        close([convert(net, CALLS[0].shape)(mx.nd.array(CALLS[0]))], reference(path, CALLS[0]))
    export_model(net, CALLS[0].shape, tmp_path / "again.onnx")  # which compares the numbers


@pytest.mark.parametrize(
    "value", ["e = Expand(half, k1)", "c = GatherND(x, p) v = Exp(c) e = Expand(v, k1)"]
)
def test_elements_of_a_mask_are_assigned(value, tmp_path):
    path = model(
        tmp_path,
        f"""m = Greater(x, level) n = NonZero(m) p = Transpose(n) flat = Reshape(m, minus)
        whole = Cast<to = 7>(flat) k1 = ReduceSum(whole) {value}
        r = Reshape(e, minus) y = ScatterND(x, p, r)""",
    )
    compared(path, *CALLS, np.zeros((1, 1, 4), "f"))


@pytest.mark.parametrize(
    "value",
    [
        "Div(c, k)",
        "Softmax<axis = -1>(c)",
        "Softmax<axis = 1>(c)",
        "LayerNormalization(c, b, b)",
        "Gemm<transB = 1>(c, w, b)",
    ],
)
def test_lines_of_places_pick_rows(value, tmp_path):
    """PyTorch's newer exporter indexes by a mask with one axis in this way."""
    nodes = f"""first = Gather<axis = 1>(x, zero) m = Greater(first, level) flat = Reshape(m, minus)
        whole = Cast<to = 7>(flat) count = ReduceSum(whole) rows = NonZero(m) q = Transpose(rows)
        line = Squeeze(q, one) top = Max(line) many = Shape(top) same = Expand(line, many)
        back = Unsqueeze(same, minus) c = GatherND(x, back) v = {value}
        s = Shape(x) u = Unsqueeze(m, minus) wide = Expand(u, s) n = NonZero(wide) p = Transpose(n)
        size = Slice(s, one, two, nought) t = Concat<axis = 0>(count, size) {PLACED}"""
    path = model(tmp_path, nodes, "N, 4", one=[1], nought=[0])
    compared(path, *(x.reshape(-1, 4) for x in CALLS))


@pytest.mark.parametrize(
    "chosen", ["c = GatherND(x, q)", "line = Squeeze(rows, nought) c = Gather(x, line)"]
)
def test_whole_rows_are_placed(chosen, tmp_path):
    nodes = f"""first = Gather<axis = 1>(x, zero) m = Greater(first, level) rows = NonZero(m)
        q = Transpose(rows) {chosen} v = Sin(c) y = ScatterND(x, q, v)"""
    path = model(tmp_path, nodes, "N, 4", nought=[0])
    compared(path, *(x.reshape(-1, 4) for x in CALLS))


def test_elements_are_cut_to_their_number(tmp_path):
    """As PyTorch's older exporter writes assignments of chosen elements."""
    path = model(
        tmp_path,
        """m = Greater(x, level) n = NonZero(m) p = Transpose(n) c = GatherND(x, p) v = Exp(c)
        s = Shape(x) wide = Expand(m, s) n2 = NonZero(wide) p2 = Transpose(n2) flat = Reshape(v, minus)
        t = Shape(p2) k0 = Gather(t, zero) k1 = Unsqueeze(k0, first) r = Slice(flat, first, k1, first)
        y = ScatterND(x, p2, r)""",
        first=[0],
    )
    compared(path, *CALLS)


@pytest.mark.parametrize(
    "nodes, shape",
    [
        # Columns by a mask of rows, which has as many elements.
        (
            f"""line = ReduceMax<axes = [1], keepdims = 0>(x) m = Greater(line, level) {CHOICE}
            s = Shape(x) f = Unsqueeze(m, nought) wide = Expand(f, s) n = NonZero(wide) p = Transpose(n)
            r = Reshape(c, minus) y = ScatterND(x, p, r)""",
            "3, 3",
        ),
        # Elements that another mask chooses, which are as many.
        (
            """m = Greater(x, level) n = NonZero(m) p = Transpose(n) o = Less(x, level) n2 = NonZero(o)
            p2 = Transpose(n2) c = GatherND(x, p2) y = ScatterND(x, p, c)""",
            "2, 4",
        ),
        # The first elements of all, in their order.
        (
            """m = Greater(x, level) n = NonZero(m) p = Transpose(n) d = Mul(x, x)
            flat = Reshape(d, minus) t = Shape(p) k0 = Gather(t, nought)
            r = Slice(flat, nought, k0, nought) y = ScatterND(x, p, r)""",
            "2, 4",
        ),
    ],
)
def test_choices_in_another_order_are_refused(nodes, shape, tmp_path):
    """Their sizes, which follow from the data, do not show that as many are placed."""
    with pytest.raises(ValueError, match=r"the result of y \(ScatterND\)"):
        import_model(model(tmp_path, nodes, shape, nought=[0]))


COUNTED = "flat = Reshape(m, minus) whole = Cast<to = 7>(flat) count = ReduceSum(whole)"


@pytest.mark.parametrize(
    "nodes, shape",
    [
        # Half of the chosen places would get the first number, the others the second one.
        (
            f"""m = Greater(x, level) n = NonZero(m) p = Transpose(n) {COUNTED} h = Div(count, two)
            t = Concat<axis = 0>(two, h) e = Expand(pair, t)""",
            "2, 4",
        ),
        # Both numbers are repeated along a last axis of size 1.
        (
            f"""f = Gather<axis = 1>(x, zero) g = Squeeze(f, one) m = Greater(g, level) {COUNTED}
            u = Unsqueeze(m, ends) s = Shape(x) wide = Expand(u, s) n = NonZero(wide) p = Transpose(n)
            t = Concat<axis = 0>(two, count) e = Expand(pair, t)""",
            "N, 2, 1",
        ),
        # Each chosen number is repeated, and the first half is placed.
        (
            f"""f = Gather<axis = 1>(x, zero) m = Greater(f, level) {COUNTED} u = Unsqueeze(m, one)
            s = Shape(x) wide = Expand(u, s) n = NonZero(wide) p = Transpose(n) n2 = NonZero(m)
            q = Transpose(n2) c = GatherND(x, q) t = Concat<axis = 0>(count, two) d = Expand(c, t)
            d2 = Reshape(d, minus) e = Slice(d2, nought, count)""",
            "N, 1",
        ),
        # The numbers of a row are repeated for the chosen elements, not for the columns.
        (
            f"""m = Greater(x, level) n = NonZero(m) p = Transpose(n) {COUNTED} h = Div(count, width)
            t = Concat<axis = 0>(h, width) e = Expand(b, t)""",
            "2, 4",
        ),
        # There are more axes than in the data.
        (
            f"""m = Greater(x, level) n = NonZero(m) p = Transpose(n) {COUNTED}
            t = Concat<axis = 0>(one, one, count) e = Expand(cube, t)""",
            "N",
        ),
    ],
)
def test_elements_in_another_order_are_refused(nodes, shape, tmp_path):
    more = dict(
        pair=np.float32([[1], [2]]),
        cube=np.ones((1, 1, 1), "f"),
        one=[1],
        nought=[0],
        ends=[1, 2],
        width=[4],
    )
    path = model(tmp_path, f"{nodes} r = Reshape(e, minus) y = ScatterND(x, p, r)", shape, **more)
    with pytest.raises(ValueError, match="must be known while importing|the result of y"):
        import_model(path)


def test_a_mask_that_may_be_shorter_is_not_taken_for_one_of_all(tmp_path):
    path = model(
        tmp_path,
        """h = Slice(x, nought, limit, one) m = Greater(h, level) n = NonZero(m) p = Transpose(n)
        c = GatherND(x, p) v = Exp(c) y = ScatterND(x, p, v)""",
        "N, L",
        nought=[0],
        one=[1],
        limit=[1000],
    )
    compared(path, numbers(2, 30), numbers(2, 1200))


def test_an_expanded_mask_chooses_and_places(tmp_path):
    path = model(
        tmp_path,
        f"""f = Slice(x, nought, one, one) g = Greater(f, level) s = Shape(x) m = Expand(g, s)
        n = NonZero(m) p = Transpose(n) c = GatherND(x, p) v = Exp(c) {COUNTED} e = Expand(v, count)
        r = Reshape(e, minus) y = ScatterND(x, p, r)""",
        "N, 4",
        nought=[0],
        one=[1],
    )
    compared(path, *(x.reshape(-1, 4) for x in CALLS))


def test_what_is_not_chosen_has_no_gradient_of_its_own(tmp_path):
    nodes = """m = Greater(x, level) n = NonZero(m) p = Transpose(n) c = GatherND(x, p) v = Sqrt(c)
        y = ScatterND(x, p, v)"""
    net = import_model(model(tmp_path, nodes, "N, 4"))
    x = mx.nd.array(numbers(5, 4))
    x.attach_grad()
    with mx.autograd.record():
        y = net(x).sum()
    y.backward()
    wanted = np.where(x.asnumpy() > 0, 0.5 * np.abs(x.asnumpy()) ** -0.5, 1)
    np.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize(
    "last", ["y = Celu(c)", "y = CastLike(c, level)", "j = CastLike(n, level) y = Neg(j)"]
)
def test_operators_that_onnx_defines_by_others_take_what_is_chosen(last, tmp_path):
    nodes = f"m = Greater(x, level) n = NonZero(m) p = Transpose(n) c = GatherND(x, p) {last}"
    graph = f"net (float[N, 4] x) => (float[{'a, b' if 'Neg' in last else 'a'}] y) {{ {nodes} }}"
    compared(written(tmp_path / "net.onnx", graph, NUMBERS), numbers(5, 4))


def test_no_element_of_one_is_an_error(tmp_path):
    """A mask of one element chooses it, or none: the number is 1 while importing."""
    nodes = """m = Greater(x, level) n = NonZero(m) p = Transpose(n) c = GatherND(x, p) s = Shape(c)
        z = Cast<to = 1>(s) y = Add(x, z)"""
    net = compared(model(tmp_path, nodes, "1"), np.float32([2]))
    for active in (False, True):
        net.hybridize(active)
        with pytest.raises(ValueError, match="selects none"):
            net(mx.nd.array([-1]))


def test_whole_numbers_are_assigned(tmp_path):
    """As tokens that are moved to another range. Newer files count what is chosen."""
    path = model(
        tmp_path,
        f"""m = Greater(x, four) n = NonZero(m) p = Transpose(n) c = GatherND(x, p) v = Sub(c, four)
        {COUNTED} e = Expand(v, count) r = Reshape(e, minus) y = ScatterND(x, p, r)""",
        "N, L",
        "int64",
        four=4,
    )
    compared(path, np.array([[1, 9, 2], [4, 5, 7]]), np.array([[3, 2]]))


@pytest.mark.parametrize("operator", ["Div", "Mod"])
def test_whole_numbers_divide_where_they_are_chosen(tmp_path, operator):
    """MXNet may end the process if others, which are 0, divide."""
    path = model(
        tmp_path,
        f"""m = Greater(x, nought) n = NonZero(m) p = Transpose(n) c = GatherND(x, p)
        v = {operator}(nine, c) y = ScatterND(x, p, v)""",
        "2, 3",
        "int64",
        nought=0,
        nine=9,
    )
    compared(path, np.array([[1, 0, 2], [0, 5, 0]]))
