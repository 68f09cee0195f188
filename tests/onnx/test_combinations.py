"""Operators that are right alone, together: at sizes that the sizes which are tried do not show."""

from types import SimpleNamespace

import mxnet as mx
import numpy as np
import onnx
import pytest
from imported import compared, numbers, recent_runtime, written

from gluon_same.onnx import import_model, reshaping
from gluon_same.onnx.values import Unsupported

N = np.array

#: Takes the first elements of the last axis, up to a limit, of which there may be fewer.
CAPPED = "t = Slice(x, begin, end, last)"
LIMITS = {"begin": N([0]), "end": N([300]), "last": N([3])}
FEW = {**LIMITS, "end": N([20]), "one": N([1])}

#: Takes as many rows of a table as an axis has elements.
ROWS = "s = Shape(x) n = Gather(s, one) t = Slice(table, zero, n, zero)"
TABLE = {"table": numbers(16, 4), "zero": N([0]), "one": N([1])}

#: Repeats a step as often as another array has rows.
LOOP = """a = Slice(x, zero, end, one) s = Shape(k) n = Gather(s, first)
    y = Loop<body = body (int64 i, bool go, float[c, d] v) => (bool again, float[c, d] w) {{
        {} again = Identity(go) }}>(n, , a)"""
STEPS = {"zero": N([0]), "one": N([1]), "first": N(0), "end": N([100])}

#: How many elements an axis lacks of a number, if it does.
LACKING = "s = Shape(x) n = Slice(s, axis, after) d = Sub(most, n) k = Max(d, zero)"


def lacking(axis, most):
    return {"axis": N([axis]), "after": N([axis + 1]), "most": N([most]), "zero": N([0])}


#: Chooses rows by a mask.
CHOSEN = """none = Slice(x, four, end, one) c = Gather<axis = 1>(x, first) m = Less(c, many)
    nz = NonZero(m)"""
COLUMNS = {
    "four": N([4]),
    "end": N([9]),
    "one": N([1]),
    "first": N(0),
    "many": N(9, "f"),
    "zero": N([0]),
}

#: (nodes, weights, shapes of the data)
CASES = {
    "rows of a table, multiplied": (f"{ROWS} q = Transpose(t) y = MatMul(x, q)", TABLE, ["N, L, 4"]),
    "rows of a table, added up": (f"{ROWS} q = ReduceSum(t, zero) y = Add(x, q)", TABLE, ["N, L, 4"]),
    "rows of a table, dense": (f"{ROWS} q = Reshape(x, form) y = Gemm<transB = 1>(q, t)",
                               {**TABLE, "form": N([-1, 4])}, ["N, L, 4"]),
    "the last rows flat": (f"{CAPPED} y = Flatten<axis = 3>(t)", LIMITS, ["N, 4, H, W"]),
    "the first axis flat": (f"{CAPPED} y = Flatten<axis = 0>(t)", LIMITS, ["N, 4, H, W"]),
    "all axes flat": (f"{CAPPED} y = Flatten<axis = 4>(t)", LIMITS, ["N, 4, H, W"]),
    "a part repeated by a size": (
        f"""{CAPPED} s = Shape(x) n = Slice(s, begin, one) c = Concat<axis = 0>(n, one, one, one)
        y = Tile(t, c)""",
        {**LIMITS, "one": N([1])}, ["N, 4, H, W"],
    ),
    "a part in groups": (
        f"{CAPPED} q = Reshape(t, form) s = Shape(t) y = Reshape(q, s)",
        {**LIMITS, "form": N([0, 2, -1])}, ["N, 4, H, W"],
    ),
    "a few flat": (f"{CAPPED} y = Flatten<axis = 3>(t)", FEW, ["N, 4, H, W"]),
    "a few repeated by a size": (
        f"""{CAPPED} s = Shape(x) n = Slice(s, begin, one) c = Concat<axis = 0>(n, one, one, one)
        y = Tile(t, c)""",
        FEW, ["N, 4, 6, W"],
    ),
    "a few along a new axis": (
        f"{CAPPED} y = Expand(t, form)", {**FEW, "form": N([3, 1, 1, 1, 1])}, ["N, 4, H, W"],
    ),
    "the number of rows of a table": (
        f"{ROWS} q = Shape(t) m = Gather(q, zero) f = Cast<to = 1>(m) y = Add(x, f)", TABLE, ["N, L, 4"],
    ),
    "a remainder of a size": (
        f"{CAPPED} s = Shape(t) n = Gather(s, last) m = Mod(n, two) f = Cast<to = 1>(m) y = Add(x, f)",
        {**LIMITS, "two": N([2])}, ["N, 4, H, W"],
    ),
    "half of a size": (
        f"{CAPPED} y = Resize<mode = 'nearest'>(t, , scales)".replace("'", '"'),
        {**LIMITS, "scales": N([1, 1, 1, 0.5], "f")}, ["N, 4, H, W"],
    ),
    "a size in a loop": (
        LOOP.format("q = Shape(v) m = Gather(q, one) f = Cast<to = 1>(m) w = Add(v, f)"), STEPS,
        ["N, L", "M"],
    ),
    "a loop over a part": (LOOP.format("w = Add(v, v)"), STEPS, ["N, L", "M"]),
    "a loop with a part around it": (LOOP.format("w = Add(v, a)"), STEPS, ["N, L", "M"]),
    "a loop over as many steps as a part": (
        LOOP.format("q = Shape(v) m = Gather(q, first) r = Range(first, m, second) f = Cast<to = 1>(r)"
                    " g = Unsqueeze(f, one) w = Add(v, g)").replace("y = Loop", "z = Loop")
        + " y = Neg(z)", {**STEPS, "second": N(1)}, ["N, L", "M"],
    ),
    "a scan of a part": (
        """a = Slice(x, zero, end, one) start = ReduceSum<keepdims = 0>(a, one)
        last, y = Scan<num_scan_inputs = 1, scan_input_axes = [1], body = body (float[c] h, float[c] v)
            => (float[c] g, float[c] w) { g = Add(h, v) w = Mul(g, v) }>(start, a)""",
        STEPS, ["N, L"],
    ),
    "the comparison of a loop's result": (
        LOOP.format("w = Add(v, v)").replace("y = Loop", "l = Loop") + " z = Greater(l, a) y = Not(z)",
        STEPS, ["N, L", "M"],
    ),
    "as many of the largest as there are": (
        """s = Shape(x) n = Gather(s, one) k = Min(n, most) v, i = TopK<axis = 1>(x, k) q = Shape(v)
        m = Gather(q, one) f = Cast<to = 1>(m) y = Mul(v, f)""",
        {"one": N([1]), "most": N([20])}, ["N, L"],
    ),
    "as many of the largest as there are samples": (
        "s = Shape(x) n = Gather(s, zero) k = Min(n, two) v, y = TopK<axis = 1>(x, k)",
        {"zero": N([0]), "two": N([2])}, ["N, 6"],
    ),
    "a softmax of joined parts": (
        "a = Slice(x, zero, one, two) t = Concat<axis = 2>(a, x) y = Softmax<axis = -1>(t)",
        {"zero": N([0]), "one": N([1]), "two": N([2])}, ["N, 3, H, W"],
    ),
    "triangles of six axes": ("y = Trilu(x)", {}, ["N, 2, 2, 2, H, W"]),
    "reflection to a multiple": (
        """s = Shape(x) n = Gather(s, one) r = Mod(n, most) d = Sub(most, r) m = Mod(d, most)
        pads = Concat<axis = 0>(zero, zero, zero, m) y = Pad<mode = "reflect">(x, pads)""",
        {"one": N([1]), "zero": N([0]), "most": N([8])}, ["N, L"],
    ),
    "known classes that are real numbers": (
        "o = OneHot<axis = -1>(places, depth, values) f = Cast<to = 1>(o) y = Add(x, f)",
        {"places": N([-1.25, 2.75], "f"), "depth": N([4]), "values": N([0, 1])}, ["2, 4"],
    ),
    "classes that are real numbers": (
        "q = Mul(x, half) y = OneHot<axis = -1>(q, depth, values)",
        {"half": N(0.5, "f"), "depth": N([4]), "values": N([0, 1])}, ["N, L"],
    ),
    "backward by two from the third last": (
        "y = Slice(x, start, end, zero, step)",
        {"start": N([-3]), "end": N([-100]), "zero": N([1]), "step": N([-2])}, ["N, L"],
    ),
    "places of which the file does not tell the number": (
        "g = Slice(k, zero, two, three) y = GridSample(x, g)",
        {"zero": N([0]), "two": N([2]), "three": N([3])}, ["N, 3, H, L", "N, M, 3, P"],
    ),
    "backward from before the first": (
        "a = Slice(x, start, end, zero, step) y = Concat<axis = 0>(x, a)",
        {"start": N([-9]), "end": N([-100]), "zero": N([0]), "step": N([-1])}, ["1, 4"],
    ),
    "filled up to a batch": (
        f"""{LACKING} c = Concat<axis = 0>(k, four) z = ConstantOfShape<value = float[1] {{3}}>(c)
        y = Concat<axis = 0>(x, z)""",
        {**lacking(0, 2), "four": N([4])}, ["N, 4"],
    ),
    "filled up in front": (
        f"{LACKING} c = Concat<axis = 0>(k, four) z = Expand(number, c) y = Concat<axis = 0>(z, x, z)",
        {**lacking(0, 2), "four": N([4]), "number": N(0.5, "f")}, ["N, 4"],
    ),
    "filled up to an even size, between others": (
        """s = Shape(x) n = Slice(s, one, two) k = Mod(n, two) c = Concat<axis = 0>(two, k)
        z = Expand(number, c) y = Concat<axis = -1>(x, z, x)""",
        {"one": N([1]), "two": N([2]), "number": N([[0.5]], "f")}, ["2, L"],
    ),
    "filled up to several sizes": (
        """s = Shape(x) n = Slice(s, zero, axis) d = Sub(most, n) k = Max(d, zero) e = Sub(three, n)
        l = Max(e, zero) c = Concat<axis = 0>(k, two) f = Concat<axis = 0>(l, two)
        u = ConstantOfShape(c) v = ConstantOfShape(f) y = Concat<axis = 0>(x, v, u, v)""",
        {**lacking(0, 100), "axis": N([1]), "three": N([3]), "two": N([2])}, ["N, 2"],
    ),
    "filled up to a multiple": (
        """s = Shape(x) n = Slice(s, one, two) r = Mod(n, eight) d = Sub(eight, r) k = Mod(d, eight)
        c = Concat<axis = 0>(two, k) z = ConstantOfShape<value = float[1] {3}>(c)
        y = Concat<axis = 1>(x, x, z)""",
        {"one": N([1]), "two": N([2]), "eight": N([8])}, ["2, L"],
    ),
    "as many rows of one number as there are": (
        f"""{LACKING} m = Min(n, most) c = Concat<axis = 0>(m, two)
        z = ConstantOfShape<value = float[1] {{3}}>(c) y = Concat<axis = 0>(z, z)""",
        {**lacking(1, 10**6), "two": N([2])}, ["4, L"],
    ),
    "repeated as often as there are columns": (
        f"""{LACKING} m = Min(n, most) c = Concat<axis = 0>(two, m) u = Slice(x, zero, axis, axis)
        y = Tile(u, c)""",
        {**lacking(1, 10**6), "two": N([2])}, ["4, L"],
    ),
    "a part repeated as often as there are columns": (
        f"""{LACKING} m = Min(n, most) c = Concat<axis = 0>(axis, m) u = Slice(x, zero, two, axis)
        y = Tile(u, c)""",
        {**lacking(1, 10**6), "two": N([2])}, ["4, L"],
    ),
    "the largest of numbers that may be none": (
        f"""{LACKING} c = Concat<axis = 0>(one, k) z = ConstantOfShape<value = float[1] {{1}}>(c)
        q = Concat<axis = 1>(half, z) r = ReduceMax<keepdims = 0>(q) y = Add(x, r)""",
        {**lacking(1, 8), "one": N([1]), "half": N([[0.5]], "f")}, ["2, L"],
    ),
    "a sum of numbers that may be none": (
        f"""{LACKING} q = Squeeze(k) r = Range(first, q, second) f = Cast<to = 1>(r)
        w = ReduceSum<keepdims = 0>(f) y = Add(x, w)""",
        {**lacking(1, 64), "first": N(0), "second": N(1)}, ["2, L"],
    ),
    "numbers behind others, if there are any": (
        f"""{LACKING} q = Squeeze(k) r = Range(first, q, second) f = Cast<to = 1>(r)
        g = Unsqueeze(f, zero) h = Concat<axis = 0>(g, g) y = Concat<axis = 1>(x, h)""",
        {**lacking(1, 64), "first": N(0), "second": N(1)}, ["2, L"],
    ),
    "rows with a part without columns": (
        f"""{CHOSEN} i = Transpose(nz) u = GatherND(x, i) v = GatherND(none, i)
        y = Concat<axis = 1>(u, v)""",
        COLUMNS, ["N, 4"],
    ),
    "numbered rows with a part without columns": (
        f"""{CHOSEN} i = Squeeze(nz, zero) u = Gather(x, i) v = Gather(none, i)
        y = Concat<axis = 1>(u, v)""",
        COLUMNS, ["N, 4"],
    ),
}  # fmt: skip

#: The same, where MXNet would need arrays without elements.
REFUSED = {
    "a sum": """z = ConstantOfShape<value = float[1] {1}>(c) w = ReduceSum<keepdims = 1>(z, after)
        y = Mul(x, w)""",
    "their number": "z = ConstantOfShape(c) w = Size(z) f = Cast<to = 1>(w) y = Add(x, f)",
    "columns behind a million": """m = Min(n, far) t = Slice(x, m, far, axis)
        w = ReduceSum<keepdims = 0>(t) y = Add(x, w)""",
    "a product of columns behind a million": """m = Min(n, far) t = Slice(x, m, far, axis)
        o = Slice(x, zero, axis, axis) p = Mul(t, o) w = ReduceSum<keepdims = 0>(p) y = Add(x, w)""",
    "rows of columns behind a million": """m = Min(n, far) t = Slice(x, m, far, axis)
        o = Slice(x, zero, axis, axis) i = Cast<to = 7>(o) j = Squeeze(i, axis) u = Gather(t, j)
        w = ReduceSum<keepdims = 0>(u) y = Add(x, w)""",
    "columns to join": """o = Slice(x, zero, axis, axis) w = Expand(o, c)
        y = Concat<axis = 1>(x, w)""",
    "rows to write": """z = ConstantOfShape<value = int64[1] {0}>(c) i = Transpose(z)
        e = ConstantOfShape(k) y = ScatterND(x, i, e)""",
}

SIZES = [
    dict(N=2, L=6, H=9, W=5, M=3, P=2),
    dict(N=1, L=21, H=2, W=11, M=1, P=3),
    dict(N=3, L=5, H=4, W=302, M=2, P=2),
]


def marked():
    for name, case in CASES.items():
        yield pytest.param(*case, id=name, marks=recent_runtime if "real numbers" in name else ())


@pytest.mark.parametrize("nodes, weights, shapes", marked())
def test_sizes_that_are_not_tried(tmp_path, nodes, weights, shapes):
    given = ", ".join(f"float[{shape}] {name}" for shape, name in zip(shapes, "xk"))
    path = written(tmp_path / "net.onnx", f"net ({given}) => (float[a] y) {{ {nodes} }}", weights)
    model = onnx.load(path)
    model.graph.output[0].ClearField("type")
    onnx.save(model, path)
    calls = [
        tuple(numbers(*(int(sizes.get(n, n)) for n in shape.split(", "))) for shape in shapes)
        for sizes in SIZES
    ]
    compared(path, *calls)


@pytest.mark.parametrize("nodes", REFUSED.values(), ids=REFUSED)
def test_arrays_that_may_have_elements_at_other_sizes(tmp_path, nodes):
    """At all sizes that are tried, the array has none."""
    graph = f"""net (float[2, L] x) => (float[2, L] y) {{
        {LACKING} c = Concat<axis = 0>(two, k) {nodes} }}"""
    weights = {**lacking(1, 4), "two": N([2]), "far": N([10**6])}
    path = written(tmp_path / "net.onnx", graph, weights)
    with pytest.raises(ValueError, match="input_shapes="):
        import_model(path)


def test_a_part_that_has_no_elements_at_some_sizes(tmp_path):
    graph = """net (float[2, L] x) => (float[2, M] y) {
        t = Slice(x, four, far, one) y = Concat<axis = 1>(x, t) }"""
    weights = {"four": N([4]), "far": N([2**62]), "one": N([1])}
    net = compared(written(tmp_path / "net.onnx", graph, weights), numbers(2, 5))
    for active in (False, True):
        net.hybridize(active)
        with pytest.raises(ValueError, match="selects none of some elements"):
            net(mx.nd.zeros((2, 3)))


def test_sizes_in_doubt_that_codes_contain_are_made_sure():
    called = []
    x = SimpleNamespace(trials=[(2, 20), (3, 20)], doubts={1: [lambda: called.append(1)]})
    net = SimpleNamespace(call=lambda name, x, **arguments: x)
    assert reshaping._by_steps(net, x, [(-1, 4), (-1,)]) is x and not called
    assert reshaping._by_steps(net, x, [(-1, 40)]) is x and called
    x.doubts[1] = []
    with pytest.raises(Unsupported, match="input_shapes="):
        reshaping._by_steps(net, x, [(-1, 20)])
