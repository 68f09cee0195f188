"""Imported operators whose results have as many elements as the data select, against onnxruntime."""

import mxnet as mx
import numpy as np
import pytest
from imported import close, compared, numbers, reference, written

import gluon_same
from gluon_same.onnx import export_model, import_model

RANDOM = np.random.RandomState(0)

SUPPRESSION = """net (float[b, n, 4] boxes, float[b, c, n] scores) => (int64[m, 3] y)
    <int64[1] most = {%s}, float[1] overlap = {0.4}, float[1] least = {0.3}>
    { y = NonMaxSuppression<center_point_box = %d>(boxes, scores, most, overlap%s) }"""


def boxes(batch, count):
    """Return random boxes, whose corners come in any order."""
    corners = RANDOM.uniform(0, 10, (batch, count, 2))
    return np.concatenate([corners, corners + RANDOM.uniform(-3, 3, corners.shape)], -1).astype("f")


def scores(batch, classes, count):
    """Return random scores, many of which are equal."""
    return RANDOM.randint(0, 20, (batch, classes, count)).astype("f") / 20


@pytest.mark.parametrize("most", [1, 3, 2**63 - 1])
@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("least", ["", ", least"])
def test_non_max_suppression(most, center, least, tmp_path):
    path = written(tmp_path / "net.onnx", SUPPRESSION % (most, center, least))
    sizes = [(1, 1, 30), (2, 3, 17), (3, 5, 60)]
    compared(path, *((boxes(b, n), scores(b, c, n)) for b, c, n in sizes))


def test_scores_without_a_threshold_may_be_negative_and_infinite(tmp_path):
    path = written(tmp_path / "net.onnx", SUPPRESSION % (9, 0, ""))
    compared(path, (boxes(1, 4), np.float32([[[-1, -np.inf, 2, -1e30]]])))


def test_boxes_that_are_kept_are_found_in_other_arrays(tmp_path):
    graph = """net (float[1, 40, 4] boxes, float[40, 2] points) => (float[m, 4] y, float[m] best)
        <int64[1] most = {5}, float[1] overlap = {0.5}, float[1] least = {0.1}, int64 last = {2},
         int64[1] first = {0}, int64[1] axis = {1}, int64[2] flat = {-1, 4}>
        { turned = Transpose<perm = [1, 0]>(points)
          scores = Unsqueeze(turned, first)
          kept = NonMaxSuppression(boxes, scores, most, overlap, least)
          places = Gather<axis = 1>(kept, last)
          rows = Reshape(boxes, flat)
          y = Gather(rows, places)
          own = Gather(points, places)
          best = ReduceMax<keepdims = 0>(own, axis) }"""
    path = written(tmp_path / "net.onnx", graph, version=18)
    calls = [(boxes(1, 40), scores(1, 40, 2)[0]) for _ in range(3)]
    compared(path, *calls)
    for convert in (gluon_same.specialize, gluon_same.deploy):
        net = convert(import_model(path), (1, 40, 4), (40, 2))
        for inputs in calls:
            close(list(net(*map(mx.nd.array, inputs))), reference(path, *inputs))


def test_suppression_that_leaves_no_boxes_is_an_error(tmp_path):
    path = written(tmp_path / "net.onnx", SUPPRESSION % (9, 0, ", least"))
    net = import_model(path)
    given = mx.nd.array(boxes(1, 4)), mx.nd.array([[[0.1, 0.2, 0.9, 0.3]]])
    for active in (False, True):
        net.hybridize(active)
        with pytest.raises(ValueError, match="selects none of some elements.*without elements"):
            net(given[0], given[1] * 0)
        assert net(*given).asnumpy().tolist() == [[0, 0, 2]]  # a later call is right


@pytest.mark.parametrize("most", ["", "zero"])
def test_suppression_that_always_leaves_no_boxes_is_refused(most, tmp_path):
    graph = f"""net (float[1, 5, 4] boxes, float[1, 1, 5] scores) => (int64[m, 3] y)
        <int64[1] zero = {{0}}> {{ y = NonMaxSuppression(boxes, scores, {most}) }}"""
    path = written(tmp_path / "net.onnx", graph.replace(", )", ")"))
    with pytest.raises(ValueError, match="max_output_boxes_per_class=0 leaves no boxes"):
        import_model(path)


@pytest.mark.parametrize("shape,then", [((7,), (9,)), ((3, 4), (5, 2)), ((2, 3, 4), (1, 5, 6))])
def test_nonzero(shape, then, tmp_path):
    sizes = ", ".join("abc"[: len(shape)])
    graph = f"net (float[{sizes}] x) => (int64[r, n] y) {{ y = NonZero(x) }}"
    path = written(tmp_path / "net.onnx", graph)
    compared(path, *(RANDOM.randint(-1, 2, each).astype("f") for each in (shape, then)))


def test_results_of_one_mask_have_one_size(tmp_path):
    graph = """net (float[a, b] x, float[a, b] z) => (float[n] y)
        <float none = {0}>
        { mask = Greater(x, none)
          one = NonZero(mask)
          other = NonZero(mask)
          places = Transpose<perm = [1, 0]>(one)
          others = Transpose<perm = [1, 0]>(other)
          u = GatherND(x, places)
          v = GatherND(z, others)
          y = Add(u, v) }"""
    path = written(tmp_path / "net.onnx", graph)
    compared(path, *((numbers(*s), numbers(*s, seed=1)) for s in ((3, 4), (7, 5))))


@pytest.mark.parametrize("axis,then", [(0, (9, 4)), (1, (3, 8)), (-1, (3, 4)), (None, (5, 6))])
def test_compress_by_data(axis, then, tmp_path):
    how = "" if axis is None else f"<axis = {axis}>"
    graph = f"""net (float[a, b] x, float[c] z) => (float[{"n" if axis is None else "n, m"}] y)
        <float none = {{0}}> {{ mask = Greater(z, none)  y = Compress{how}(x, mask) }}"""
    path = written(tmp_path / "net.onnx", graph)
    for shape in ((3, 4), then):
        size = np.prod(shape) if axis is None else shape[axis]
        compared(path, (numbers(*shape), np.abs(numbers(size)) * np.float32([1, -1] * size)[:size]))


def test_compress_by_data_with_several_axes(tmp_path):
    """PaddlePaddle writes so, although ONNX defines conditions with one axis only."""
    graph = """net (float[a, b] x) => (float[n] y)
        <float none = {0}> { mask = Greater(x, none)  y = Compress(x, mask) }"""
    compared(written(tmp_path / "net.onnx", graph), numbers(3, 4), numbers(9, 5))
    graph = "net (float[a, 2] x) => (float[n] y) { y = Compress(x, mask) }"
    path = written(tmp_path / "net.onnx", graph, {"mask": np.array([[True, False], [False, True]])})
    compared(path, numbers(3, 2), numbers(2, 2))


def test_a_mask_may_be_shorter_than_the_axis(tmp_path):
    graph = """net (float[5, 4] x, float[3] z) => (float[n, 4] y)
        <float none = {0}> { mask = Greater(z, none)  y = Compress<axis = 0>(x, mask) }"""
    path = written(tmp_path / "net.onnx", graph)
    compared(path, (numbers(5, 4), np.float32([1, -1, 1])))


def test_the_best_of_what_is_selected_up_to_a_limit(tmp_path):
    graph = """net (float[1, 40, 4] boxes, float[1, 1, 40] scores) => (float[m] y, int64[m] places)
        <int64[1] most = {40}, float[1] overlap = {0.9}, int64[1] limit = {9}, int64 last = {2},
         int64[1] flat = {-1}>
        { kept = NonMaxSuppression(boxes, scores, most, overlap)
          places = Gather<axis = 1>(kept, last)
          all = Reshape(scores, flat)
          own = Gather(all, places)
          count = Shape(own)
          k = Min(count, limit)
          y, order = TopK(own, k)
          ones = ConstantOfShape<value = float[1] {1}>(k)
          z = Add(y, ones) }"""
    path = written(
        tmp_path / "net.onnx", graph.replace("y, int64[m] places", "y, int64[m] order, float[m] z")
    )
    compared(path, (boxes(1, 40), numbers(1, 1, 40)), (boxes(1, 40) / 50, numbers(1, 1, 40)))


def test_one_element_is_selected(tmp_path):
    """JAX writes updates of parts this way: of those that fit, here one, or none."""
    graph = """net (float[5, 4] x, int64[1] start) => (float[a, 20] y)
        <int64 three = {3}, int64[1] whole = {20}, int64[1] minus = {-1}>
        { fits = LessOrEqual(start, three)
          places = NonZero(fits)
          flat = Reshape(places, minus)
          count = Shape(flat)
          sizes = Concat<axis = 0>(count, whole)
          rows = Reshape(x, sizes)
          y = Gather(rows, flat) }"""
    path = written(tmp_path / "net.onnx", graph)
    compared(path, (numbers(5, 4), np.array([2])))
    with pytest.raises(ValueError, match="selects none"):
        import_model(path)(mx.nd.ones((5, 4)), mx.nd.array([4], dtype="int64"))


def test_what_is_selected_cannot_be_exported_again(tmp_path):
    graph = "net (float[3, 4] x) => (int64[r, n] y) { y = NonZero(x) }"
    net = import_model(written(tmp_path / "net.onnx", graph))
    with pytest.raises(ValueError, match="y.*cannot be exported: the size of its result follows from"):
        export_model(net, (3, 4), tmp_path / "again.onnx")


def test_some_of_a_few_rows_are_written_back(tmp_path):
    """As the regions of each level of a feature pyramid."""
    graph = """net (float[20, 3] x) => (float[20, 3] y) <float none = {0}, float[20, 3] start = {%s},
            int64[1] last = {1}>
        { sums = ReduceSum<keepdims = 0>(x, last)
          chosen = Greater(sums, none)
          found = NonZero(chosen)
          rows = Transpose<perm = [1, 0]>(found)
          some = GatherND(x, rows)
          y = ScatterND(start, rows, some) }"""
    path = written(tmp_path / "net.onnx", graph % ", ".join(["0"] * 60))
    compared(path, numbers(20, 3), np.abs(numbers(20, 3)))


def test_deployed_nets_return_as_many_elements_as_the_data_select(tmp_path):
    """As PyTorch writes ``y[y > 0] = y.abs()``."""
    graph = """net (float[b, n, 4] x) => (float[b, n, 4] y)
        <float zero = {0}, int64[1] flat = {-1}, int64[1] first = {0}, int64[1] start = {0},
         int64 second = {1}>
        { positive = Greater(x, zero)  places = NonZero(positive)  rows = Transpose(places)
          size = Abs(x)  all = Reshape(size, flat)
          shape = Shape(places)  count = Gather(shape, second)  end = Unsqueeze(count, first)
          values = Slice(all, start, end, first)  y = ScatterND(x, rows, values) }"""
    path = written(tmp_path / "net.onnx", graph)
    net = compared(path, numbers(2, 3, 4), numbers(1, 5, 4))
    deployed = gluon_same.deploy(net, (2, 3, 4), tune=False)
    net.hybridize(static_alloc=True, static_shape=True)
    for x in (numbers(2, 3, 4), numbers(2, 3, 4, seed=1)):
        close(deployed(mx.nd.array(x)), reference(path, x))
        close(net(mx.nd.array(x)), reference(path, x))


def test_no_box_of_one_is_an_error(tmp_path):
    """The number of boxes is 1 while importing, and the boxes are not read."""
    graph = """net (float[1, 1, 4] boxes, float[1, 1, 1] scores) => (float[2] y)
        <int64 most = {1}, float overlap = {0.5}, float least = {0.5}> {
        kept = NonMaxSuppression(boxes, scores, most, overlap, least)
        s = Shape(kept) k = Cast<to = 1>(s) f = Reshape(scores, one) y = Add(k, f) }"""
    path = written(tmp_path / "net.onnx", graph, {"one": np.array([1])})
    boxes = np.float32([[[0, 0, 1, 1]]])
    net = compared(path, (boxes, np.float32([[[0.9]]])))
    with pytest.raises(ValueError, match="selects none"):
        net(mx.nd.array(boxes), mx.nd.array([[[0.1]]]))


@pytest.mark.parametrize("value", [1, 0])
def test_ranges_of_old_files(tmp_path, value):
    """PyTorch's arange before operator set 11: the places of ones."""
    text = f"""net (float[N, W] x) => (float[K] y) <int64[1] one = {{1}}> {{
        s = Shape(x) n = Gather(s, one) ones = ConstantOfShape<value = int64[1] {{{value}}}>(n)
        rows = NonZero(ones) r = Transpose<perm = [1, 0]>(rows) t = Squeeze<axes = [1]>(r)
        y = Cast<to = 1>(t) }}"""
    path = written(tmp_path / "net.onnx", text, version=9)
    if value:
        compared(path, numbers(2, 5), numbers(3, 7))
    else:
        with pytest.raises(ValueError, match="without elements"):
            import_model(path)(mx.nd.zeros((2, 5))).asnumpy()


def test_numbers_placed_in_a_shape_by_old_files(tmp_path):
    text = """net (float[N, 1] x) => (float[a, b] y, float[c, d] z) {
        s = Shape(x) t = Scatter<axis = 0>(s, place, two) y = Expand(row, t)
        k = Scatter<axis = 1>(w, p, u) z = Add(k, row) }"""
    values = dict(place=np.array([1]), two=np.array([2]), row=numbers(1, 1), w=numbers(3, 2))
    values.update(p=np.array([[1], [0]]), u=numbers(2, 1))
    path = written(tmp_path / "net.onnx", text, values, 9)
    compared(path, numbers(4, 1), numbers(3, 1))


@pytest.mark.parametrize("copies", [0, 3, 40, 300, 900])
def test_boxes_of_which_the_best_ones_overlap(tmp_path, copies):
    """More and more boxes are tried, in some rows: the best ones are copies of one box."""
    same, others = np.float32([[1, 1, 4, 4]]).repeat(copies, 0), boxes(1, 1000 - copies)[0] + 20
    x = np.stack([boxes(1, 1000)[0], np.concatenate([same, others])])
    y = np.sort(RANDOM.rand(2, 2, 1000).astype("f"))[..., ::-1]
    y[0, 1] *= 0.25  # below the threshold
    y[1, 1, copies:] = y[1, 1, copies:][::-1]  # so that other boxes than those of the first class follow
    given = tuple(map(np.ascontiguousarray, (x, y)))
    for sizes in ("2, 1000, 4", "N, M, 4"):
        text = SUPPRESSION % (2, 0, ", least")
        text = text.replace("b, n, 4", sizes).replace("b, c, n", f"{sizes[0]}, 2, {sizes[3:-3]}")
        compared(written(tmp_path / "net.onnx", text), given)
