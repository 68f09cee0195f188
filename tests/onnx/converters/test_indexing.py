"""Imported operators for indexing, sampling, quantizing and control flow, against onnxruntime."""

import itertools

import mxnet as mx
import numpy as np
import onnx
import onnxruntime
import pytest
from imported import written
from onnx import helper, numpy_helper

from gluon_same.onnx import export_model, import_model

RANDOM = np.random.RandomState(0)


def info(name, array, free=()):
    shape = [f"size{n}" if i in free else n for i, n in enumerate(np.shape(array))]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape)


def save(path, nodes, arrays, constants, outputs, free=None, opset=18):
    inputs = [info(name, x, (free or {}).get(name, ())) for name, x in arrays.items()]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    weights = [numpy_helper.from_array(np.asarray(x), name) for name, x in constants.items()]
    graph = helper.make_graph(nodes, "net", inputs, results, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    kinds = {"tensor(float)": 1, "tensor(uint8)": 2, "tensor(int8)": 3, "tensor(int32)": 6}
    kinds.update({"tensor(int64)": 7, "tensor(bool)": 9})
    for value, found in zip(model.graph.output, session.get_outputs()):
        value.type.tensor_type.elem_type = kinds[found.type]
    onnx.save(model, path)
    return session


def run(net, arrays):
    y = net(
        *(
            mx.nd.array(x.reshape(x.shape or (1,)), dtype="float32" if x.dtype == bool else x.dtype)
            for x in arrays
        )
    )
    return [each.asnumpy() for each in (y if isinstance(y, (list, tuple)) else [y])]


def check(
    tmp_path, operator, *given, constant=(), outputs=1, then=None, opset=18, exact=False, **attributes
):
    """Compare a node with onnxruntime, eager and hybridized.

    ``constant`` are the places of the inputs that are initializers, and ``then`` are other arrays for
    the other inputs; axes of other sizes are open in the file.
    """
    names = ["" if x is None else f"x{i}" for i, x in enumerate(given)]
    outs = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, names, outs, "node", **attributes)
    named = {f"x{i}": np.asarray(x) for i, x in enumerate(given) if x is not None}
    constants = {n: x for n, x in named.items() if int(n[1:]) in constant}
    arrays = {n: x for n, x in named.items() if n not in constants}
    other = dict(zip(arrays, map(np.asarray, then))) if then else {}
    free = {
        n: [i for i, pair in enumerate(zip(x.shape, arrays[n].shape)) if pair[0] != pair[1]]
        for n, x in other.items()
    }
    path = str(tmp_path / "net.onnx")
    session = save(path, [node], arrays, constants, outs, free, opset)
    net = import_model(path)
    for hybridized, feed in itertools.product((False, True), (arrays, other)):
        if not feed:
            continue
        if hybridized and feed is arrays:
            net.hybridize()
        want, got = session.run(None, feed), run(net, feed.values())
        assert len(want) == len(got)
        for one, each in zip(got, want):
            assert one.shape == (each.shape or (1,))
            assert one.dtype == (np.float32 if each.dtype == bool else each.dtype)
            if exact:
                np.testing.assert_array_equal(one, each.reshape(one.shape))
            else:
                np.testing.assert_allclose(one, each.reshape(one.shape), rtol=1e-4, atol=1e-5)
    return net


def normal(*shape):
    return RANDOM.normal(size=shape).astype("float32")


X, LARGER = normal(3, 4, 5), normal(5, 6, 7)


@pytest.mark.parametrize("constant", [(), (1,)])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("index", [2, -1, [0, -2], [[1, 0], [-1, -2]]])
def test_gather(axis, index, constant, tmp_path):
    index = np.array(index)
    then = [LARGER] if constant else [LARGER, index]
    check(tmp_path, "Gather", X, index, constant=constant, then=then, axis=axis)


def test_gather_from_a_constant_is_an_embedding(tmp_path):
    net = check(tmp_path, "Gather", X[0], np.array([[1, 3], [-1, 0]]), constant=(0,))
    (weight,) = net.collect_params().values()
    assert weight.grad_req == "write" and weight.shape == (4, 5)


@pytest.mark.parametrize("index", [1, -3])
def test_gather_of_one_element_has_no_axes(index, tmp_path):
    check(tmp_path, "Gather", X[0, 0], np.array(index))
    check(tmp_path, "Gather", X[0, 0], np.array(index), constant=(1,))


def test_gather_nd_of_single_elements(tmp_path):
    indices = np.array([[0, 1, 2], [-1, -1, -1]])
    check(tmp_path, "GatherND", X, indices, constant=(1,), then=[LARGER])
    check(tmp_path, "GatherND", X, indices[0])


@pytest.mark.parametrize("reduction", ["none", "add", "mul"])
def test_scatter_nd(reduction, tmp_path):
    check(
        tmp_path, "ScatterND", X, np.array([1, 2, -1]), np.float32(5), constant=(1,), reduction=reduction
    )
    indices = np.array([[0, 1], [2, -1]])
    check(tmp_path, "ScatterND", X, indices, normal(2, 5), constant=(1,), reduction=reduction)


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_more_updates_than_places(reduction, tmp_path):
    places = np.array([[1], [0], [1], [2], [0], [1]])
    given = X[:3, 0], places, normal(3, 5)[places[:, 0]]
    check(tmp_path, "ScatterND", *given, constant=(1,), reduction=reduction)


@pytest.mark.parametrize("attributes", [{}, {"largest": 0}, {"sorted": 1, "axis": 0}])
def test_top_k_with_equal_elements(attributes, tmp_path):
    x, other = (RANDOM.randint(0, 3, shape).astype("float32") for shape in ((40, 30), (50, 20)))
    net = check(
        tmp_path, "TopK", x, np.array([6]), constant=(1,), outputs=2, then=[other], exact=True,
        **attributes,
    )  # fmt: skip
    assert net


def test_where_broadcasts(tmp_path):
    condition = np.array([[True], [False], [True], [False]])
    check(tmp_path, "Where", condition, X, np.float32(-np.inf), constant=(2,))
    check(tmp_path, "Where", condition, np.float32([1, 2, 3]), np.float32(0), constant=(1, 2))


def test_one_hot_in_the_dtype_of_the_values(tmp_path):
    indices = np.array([[0, -1, 9], [3, -4, 1]])
    for values in (np.float32([2, 5]), np.array([0, 1])):
        given = indices, np.array(4), values
        check(tmp_path, "OneHot", *given, constant=(1, 2), axis=1)


def test_compress(tmp_path):
    kept = np.array([True, False, True, True])
    check(tmp_path, "Compress", X, kept, constant=(1,), axis=1, then=[LARGER])
    check(tmp_path, "Compress", X, kept, constant=(1,))


@pytest.mark.parametrize("dtype,k", [(1, 1), (7, -1), (None, 0)])
def test_eye_like(dtype, k, tmp_path):
    own = {} if dtype is None else {"dtype": dtype}
    check(tmp_path, "EyeLike", X[0], k=k, then=[LARGER[0]], **own)


@pytest.mark.parametrize("upper", [0, 1])
def test_trilu_in_a_causal_mask(upper, tmp_path):
    x = np.full((2, 6, 6), -np.inf, "float32")
    check(tmp_path, "Trilu", x, np.array(1), constant=(1,), upper=upper, then=[x[:, :3, :5]])


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [0, 1])
def test_grid_sample(mode, padding, align_corners, tmp_path):
    def example(n, c, *sizes):
        return normal(n, c, *sizes[:2]), RANDOM.uniform(-1.7, 1.7, (n, *sizes[2:], 2)).astype("float32")

    own = dict(mode=mode, padding_mode=padding, align_corners=align_corners)
    check(tmp_path, "GridSample", *example(2, 3, 5, 7, 4, 6), then=example(1, 3, 4, 3, 8, 2), **own)


@pytest.mark.parametrize("opset", [10, 16])
@pytest.mark.parametrize("samples", [0, 2])
def test_roi_align(samples, opset, tmp_path):
    corners = RANDOM.uniform(-3, 20, (6, 2, 2)).astype("float32")
    rois = np.concatenate([corners.min(1), corners.max(1)], axis=1)
    own = dict(output_height=3, output_width=4, sampling_ratio=samples, spatial_scale=0.5)
    batch = np.array([0, 1, 1, 0, 1, 0])
    check(tmp_path, "RoiAlign", normal(2, 3, 8, 9), rois, batch, opset=opset, **own)


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_maxima_of_regions(scale, tmp_path):
    corners = RANDOM.randint(-6, 60, (6, 4)) / 2
    rois = np.concatenate([RANDOM.randint(0, 2, (6, 1)), corners], axis=1).astype("float32")
    own = dict(pooled_shape=[3, 2], spatial_scale=scale)
    check(tmp_path, "MaxRoiPool", normal(2, 3, 8, 9), rois, **own)


def test_roi_align_with_maxima_is_refused(tmp_path):
    own = dict(output_height=3, output_width=4, mode="max")
    given = normal(1, 1, 5, 5), np.float32([[0, 0, 3, 3]]), np.array([0])
    with pytest.raises(ValueError, match="averages"):
        check(tmp_path, "RoiAlign", *given, **own)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("axis", [None, 1, -1])
def test_quantize_and_back(axis, dtype, tmp_path):
    x = (np.arange(-60, 60) / 2).reshape(2, 3, 4, 5).astype("float32") * 0.25
    count = 1 if axis is None else x.shape[axis]
    scale = np.float32([0.25] if count == 1 else [0.25, 0.125, 0.5, 0.05, 1][:count])
    zero = RANDOM.randint(0, 100, count).astype(dtype)
    scale, zero = (each.reshape(()) if axis is None else each for each in (scale, zero))
    own = {} if axis is None else {"axis": axis}
    check(tmp_path, "QuantizeLinear", x, scale, zero, constant=(1, 2), exact=True, opset=13, **own)
    y = RANDOM.randint(-99, 99, x.shape).astype(dtype)
    check(tmp_path, "DequantizeLinear", y, scale, zero, constant=(1, 2), opset=13, **own)


def test_halves_are_rounded_to_even_and_results_clipped(tmp_path):
    x = np.float32([0.5, 1.5, 2.5, -0.5, -1.5, 1e9, -1e9, 127.5, 126.5])
    check(tmp_path, "QuantizeLinear", x, np.float32(1), np.int8(0), exact=True, opset=13)


@pytest.mark.parametrize("low,high", [(-3, 5), (1, 5), (-5, -1), (0, 0)])
def test_dynamic_quantization(low, high, tmp_path):
    x = RANDOM.uniform(low, high, (3, 4)).astype("float32")
    check(tmp_path, "DynamicQuantizeLinear", x, outputs=3, opset=11)


@pytest.mark.parametrize("count", [258, 259, 4112, 4113])
def test_the_largest_sums_of_integers_are_exact(count, tmp_path):
    a, b = np.full((1, count), 255, "uint8"), np.full((count, 1), 255, "uint8")
    a[0, -1] = b[-1, 0] = 1
    check(tmp_path, "MatMulInteger", a, b, exact=True, opset=10)
    a[...] = b[...] = 255
    check(tmp_path, "MatMulInteger", a, b, exact=True, opset=10)
    image, weight = a.reshape(1, count, 1, 1), b.reshape(1, count, 1, 1)
    check(tmp_path, "ConvInteger", image, weight, exact=True, opset=10)


def integers(dtype, *shape):
    """Return random integers; signed ones so small that onnxruntime's sums of 16 bits hold them."""
    low, high = (-64, 64) if dtype == "int8" else (0, 256)
    return RANDOM.randint(low, high, shape).astype(dtype)


@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 700), (2, 700, 5))])
def test_matmul_of_integers_is_exact(shapes, tmp_path):
    a, b = integers("uint8", *shapes[0]), integers("int8", *shapes[1])
    check(tmp_path, "MatMulInteger", a, b, exact=True, opset=10)
    check(tmp_path, "MatMulInteger", a, b, np.uint8(7), np.int8(-5), exact=True, opset=10)
    columns = integers("int8", shapes[1][-1])
    if len(shapes[1]) == 2:
        check(tmp_path, "MatMulInteger", a, b, np.uint8(7), columns, constant=(1, 2, 3), exact=True)


@pytest.mark.parametrize("pads,group", [([0, 0, 0, 0], 1), ([1, 0, 2, 1], 2)])
def test_convolution_of_integers(pads, group, tmp_path):
    x, w = integers("uint8", 2, 4, 7, 6), integers("uint8", 6, 4 // group, 3, 2)
    given = x, w, np.uint8(100), np.uint8(30)
    check(
        tmp_path, "ConvInteger", *given, constant=(1, 2, 3), exact=True, pads=pads, group=group,
        strides=[2, 1],
    )  # fmt: skip


def test_quantized_products(tmp_path):
    a, b = integers("uint8", 2, 3, 4), integers("uint8", 2, 4, 5)
    a_pair, b_pair, y_pair = ([np.float32(s), np.uint8(z)] for s, z in ((0.1, 9), (0.02, 99), (0.7, 20)))
    check(tmp_path, "QLinearMatMul", a, *a_pair, b, *b_pair, *y_pair, opset=10)


@pytest.mark.parametrize("per_channel", [False, True])
def test_quantized_convolutions(per_channel, tmp_path):
    x, w = integers("uint8", 2, 4, 7, 6), integers("int8", 6, 4, 3, 3)
    scale, zero = (RANDOM.uniform(0.01, 0.05, 6).astype("float32"), np.zeros(6, "int8"))
    scale, zero = (scale, zero) if per_channel else (scale[0], zero[0])
    bias = RANDOM.randint(-9999, 9999, 6).astype("int32")
    given = [x, np.float32(0.1), np.uint8(120), w, scale, zero, np.float32(2), np.uint8(130), bias]
    check(
        tmp_path, "QLinearConv", *given, constant=range(1, 9), pads=[1, 1, 1, 1], opset=10,
        then=[integers("uint8", 3, 4, 5, 9)],
    )  # fmt: skip


def test_branches_and_loops_with_known_numbers(tmp_path):
    """A loop of three steps halves the data; a branch inside is taken by the number of the step."""
    one = [helper.make_node("Gather", ["table", "i"], ["factor"], axis=0)]
    one += [helper.make_node("GatherElements", ["x", "order"], ["turned"], axis=0)]
    then_graph = helper.make_graph(
        [helper.make_node("Identity", ["turned"], ["t"])], "then", [],
        [helper.make_tensor_value_info("t", 1, [4])],
    )  # fmt: skip
    else_graph = helper.make_graph(
        [helper.make_node("Where", ["flags", "turned", "x"], ["e"])], "else", [],
        [helper.make_tensor_value_info("e", 1, [4])],
    )  # fmt: skip
    one += [helper.make_node("Gather", ["choices", "i"], ["chosen"], axis=0)]
    one += [helper.make_node("If", ["chosen"], ["new"], then_branch=then_graph, else_branch=else_graph)]
    one += [
        helper.make_node("Identity", ["go"], ["on"]),
        helper.make_node("Identity", ["new"], ["kept"]),
    ]
    body = helper.make_graph(
        one, "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("go", 9, []),
         helper.make_tensor_value_info("x", 1, [4])],
        [helper.make_tensor_value_info("on", 9, []), helper.make_tensor_value_info("new", 1, [4]),
         helper.make_tensor_value_info("kept", 1, [4])],
    )  # fmt: skip
    node = helper.make_node("Loop", ["count", "", "data"], ["last", "all"], "loop", body=body)
    constants = {
        "count": np.array(3), "table": normal(3), "order": np.array([3, 0, 1, 2]),
        "choices": np.array([True, False, True]), "flags": np.array([True, False, False, True]),
    }  # fmt: skip
    path, arrays = str(tmp_path / "net.onnx"), {"data": normal(4)}
    session = save(path, [node], arrays, constants, ["last", "all"])
    net = import_model(path)
    for one, other in zip(run(net, arrays.values()), session.run(None, arrays)):
        np.testing.assert_array_equal(one, other)


def test_steps_of_a_loop_share_the_weights_in_its_body(tmp_path):
    body = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["new"]), helper.make_node("Identity", ["go"], ["on"])],
        "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("go", 9, []),
         helper.make_tensor_value_info("x", 1, [2, 4])],
        [helper.make_tensor_value_info("on", 9, []), helper.make_tensor_value_info("new", 1, [2, 4])],
        [numpy_helper.from_array(normal(4, 4), "w")],
    )  # fmt: skip
    node = helper.make_node("Loop", ["count", "", "data"], ["last"], "loop", body=body)
    path, arrays = str(tmp_path / "net.onnx"), {"data": normal(2, 4)}
    session = save(path, [node], arrays, {"count": np.array(3)}, ["last"])
    net = import_model(path)
    np.testing.assert_allclose(
        run(net, arrays.values())[0], session.run(None, arrays)[0], rtol=1e-4, atol=1e-5
    )
    assert list(net.collect_params()) == ["w"]


@pytest.mark.parametrize("directions", [[0, 0], [0, 1], [1, 0]])
def test_scans_over_a_known_length(directions, tmp_path):
    body = helper.make_graph(
        [helper.make_node("Where", ["part", "state", "more"], ["next"]),
         helper.make_node("Identity", ["next"], ["out"])],
        "body",
        [helper.make_tensor_value_info("state", 1, [4]), helper.make_tensor_value_info("part", 9, [4]),
         helper.make_tensor_value_info("more", 1, [4])],
        [helper.make_tensor_value_info("next", 1, [4]), helper.make_tensor_value_info("out", 1, [4])],
    )  # fmt: skip
    node = helper.make_node(
        "Scan", ["start", "flags", "data"], ["last", "all"], "scan", body=body, num_scan_inputs=2,
        scan_input_axes=[0, 1], scan_input_directions=directions, scan_output_axes=[1],
        scan_output_directions=[directions[1]],
    )  # fmt: skip
    arrays = {"start": normal(4), "data": normal(4, 5)}
    constants = {"flags": RANDOM.randint(0, 2, (5, 4)).astype(bool)}
    path = str(tmp_path / "net.onnx")
    session = save(path, [node], arrays, constants, ["last", "all"])
    net = import_model(path)
    for one, other in zip(run(net, arrays.values()), session.run(None, arrays)):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("reverse", [0, 1])
def test_scans_over_an_open_length(reverse, tmp_path):
    """The steps read weights and an array of the graph around them, and single elements."""
    body = helper.make_graph(
        [helper.make_node("MatMul", ["state", "w"], ["product"]),
         helper.make_node("Mul", ["product", "rate"], ["scaled"]),
         helper.make_node("Add", ["scaled", "part"], ["sum"]),
         helper.make_node("Add", ["sum", "bias"], ["next"]),
         helper.make_node("ReduceSum", ["next"], ["total"], keepdims=0)],
        "body",
        [helper.make_tensor_value_info("state", 1, [2, 4]),
         helper.make_tensor_value_info("part", 1, [2, 4]),
         helper.make_tensor_value_info("rate", 1, [])],
        [helper.make_tensor_value_info("next", 1, [2, 4]),
         helper.make_tensor_value_info("total", 1, [])],
    )  # fmt: skip
    nodes = [
        helper.make_node("Mul", ["start", "start"], ["bias"]),
        helper.make_node(
            "Scan", ["start", "data", "rates"], ["last", "all"], "scan", body=body, num_scan_inputs=2,
            scan_input_axes=[1, 0], scan_input_directions=[reverse, 0], scan_output_directions=[reverse],
        ),
    ]  # fmt: skip
    arrays = {"start": normal(2, 4), "data": normal(2, 5, 4), "rates": normal(5)}
    path = str(tmp_path / "net.onnx")
    session = save(
        path, nodes, arrays, {"w": normal(4, 4)}, ["last", "all"], {"data": (1,), "rates": (0,)}
    )
    net = import_model(path)
    for active, length in itertools.product((False, True), (5, 3)):
        net.hybridize(active)
        feed = {"start": arrays["start"], "data": arrays["data"][:, :length]}
        feed["rates"] = arrays["rates"][:length]
        for one, other in zip(run(net, feed.values()), session.run(None, feed)):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    (weight,) = net.collect_params().values()
    assert weight.name == "w" and weight.grad_req == "write"


def test_nested_loops_are_bounded(tmp_path):
    """Four loops inside each other, of 100 steps each, take no minutes."""
    go = helper.make_node("Identity", ["go"], ["on"])
    last = helper.make_node("Identity", ["x"], ["new"])
    for level in range(4):
        body = helper.make_graph(
            [last, go], f"body{level}",
            [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("go", 9, []),
             helper.make_tensor_value_info("x", 1, [4])],
            [helper.make_tensor_value_info("on", 9, []), helper.make_tensor_value_info("new", 1, [4])],
        )  # fmt: skip
        last = helper.make_node("Loop", ["count", "", "x"], ["new"], f"loop{level}", body=body)
    path = str(tmp_path / "net.onnx")
    save(path, [last], {"x": normal(4)}, {"count": np.array(100)}, ["new"])
    with pytest.raises(ValueError, match="more than 1000 steps"):
        import_model(path)


def test_a_one_hot_with_too_many_classes_is_refused(tmp_path):
    given = np.array([0]), np.array(2**40), np.float32([0, 1])
    with pytest.raises(ValueError, match="depth is 1099511627776"):
        check(tmp_path, "OneHot", *given, constant=(1, 2))


def test_regions_of_images_that_do_not_exist_read_no_foreign_memory(tmp_path):
    x, rois = normal(2, 1, 4, 4), np.float32([[0, 0, 3, 3]])
    node = helper.make_node("RoiAlign", ["x", "rois", "batch"], ["y"], output_height=2, output_width=2)
    arrays = {"x": x, "rois": rois, "batch": np.array([1])}
    path = str(tmp_path / "net.onnx")
    save(path, [node], arrays, {}, ["y"])
    net = import_model(path)
    wanted, got = (run(net, [x, rois, np.array([i])])[0] for i in (1, 10**9))
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("given", [np.array([True] * 9), np.float32([1] * 9)])
def test_a_condition_of_a_loop_may_follow_from_integers_but_not_from_many_floats(given, tmp_path):
    body = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["new"]),
         helper.make_node("Gather", ["x", "zero"], ["on"])],
        "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("go", 9, []),
         helper.make_tensor_value_info("x", 9, [9])],
        [helper.make_tensor_value_info("on", 9, []), helper.make_tensor_value_info("new", 9, [9])],
    )  # fmt: skip
    node = helper.make_node("Loop", ["count", "", "bools"], ["last"], "loop", body=body)
    cast = helper.make_node("Cast", ["data"], ["bools"], to=9)
    constants = {"count": np.array(3), "zero": np.array(0)}
    path = str(tmp_path / "net.onnx")
    session = save(path, [cast, node], {"data": given}, constants, ["last"])
    if given.dtype == bool:
        for feed in (given, ~given):
            (want,) = session.run(None, {"data": feed})
            np.testing.assert_array_equal(run(import_model(path), [feed])[0], want)
        return
    with pytest.raises(ValueError, match="loop.*condition must be known"):
        import_model(path)


def test_unique_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Unique"):
        check(tmp_path, "Unique", X)


INDICES = np.array([[0, -1, 1], [2, 1, -2]])


@pytest.mark.parametrize(
    "operator,given,constant,attributes",
    [
        ("Gather", [X, np.array(-2)], (1,), dict(axis=1)),
        ("Gather", [X, INDICES], (1,), dict(axis=-1)),
        ("GatherElements", [X[0], INDICES], (1,), dict(axis=1)),
        ("GatherND", [X, INDICES], (1,), {}),
        ("ScatterElements", [X[0], INDICES[:1], X[1, :1, :3]], (1,), dict(axis=1)),
        ("ScatterND", [X, INDICES[:, :2], X[1, :2]], (1,), {}),
        ("ScatterND", [X, INDICES[:, :1] * 0, X[:2]], (1,), dict(reduction="add")),
        ("TopK", [X, np.array([2])], (1,), dict(axis=1)),
        ("TopK", [X.round(), np.array([2])], (1,), dict(largest=0)),
        ("Where", [np.array([[True], [False], [True], [True]]), X, X[0]], (0, 2), {}),
        ("Trilu", [X], (), dict(upper=0)),
        ("OneHot", [INDICES, np.array(3), np.float32([2, 5])], (1, 2), dict(axis=1)),
        ("ReverseSequence", [X, np.array([1, 2, 3])], (1,), dict(batch_axis=0, time_axis=1)),
        ("Compress", [X, np.array([True, False, True])], (1,), dict(axis=0)),
        ("NegativeLogLikelihoodLoss", [X, np.array([[3, 2, 1, 0, 0]] * 3)], (1,), dict(ignore_index=2)),
        ("QuantizeLinear", [X, np.float32(0.1), np.uint8(9)], (1, 2), {}),
        ("GridSample", [X[None], X[None, :, :, :2]], (), dict(mode="bicubic")),
        ("GridSample", [X[None], X[None, :, :, :2]], (), dict(mode="nearest", padding_mode="border")),
    ],
)
def test_exported_again(operator, given, constant, attributes, tmp_path):
    outputs = 1 + (operator == "TopK")
    net = check(
        tmp_path, operator, *given, constant=constant, outputs=outputs, opset=17 + (operator[0] == "S"),
        **attributes,
    )  # fmt: skip
    arrays = [x for i, x in enumerate(given) if i not in constant]
    path = export_model(net, [x.shape for x in arrays], str(tmp_path / "again.onnx"))
    session = onnxruntime.InferenceSession(path)
    feed = {each.name: x for each, x in zip(session.get_inputs(), arrays)}
    for one, other in zip(run(net, arrays), session.run(None, feed)):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_images_of_float64_are_not_sampled(tmp_path):
    text = """net (double[N, 1, H, W] x, double[N, A, B, 2] g) => (double[a, b, c, d] y) {
        y = GridSample(x, g) }"""
    with pytest.raises(ValueError, match="its data are float64"):
        import_model(written(tmp_path / "net.onnx", text))
