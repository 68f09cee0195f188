"""Resize and Upsample of imported files, at open and at known sizes, against onnxruntime."""

import mxnet as mx
import numpy as np
import onnx
import pytest
from imported import compared, numbers, recent_runtime, reference, written

from gluon_same.onnx import export_model, import_model

CALLS = [numbers(2, 3, 5, 6), numbers(1, 3, 7, 3)]
OPEN, FIXED = "N, 3, H, W", "N, 3, 5, 6"


def model(path, attributes, weights, shape=OPEN, version=17, inputs=None, kind="float"):
    given = ", ".join(f"{name}: {_typed(value)}" for name, value in attributes.items())
    inputs = inputs or ("x, , scales" if "scales" in weights else "x, , , sizes")
    graph = f"net ({kind}[{shape}] x) => ({kind}[a, b, c, d] y) {{ y = Resize<{given}>({inputs}) }}"
    dtypes = {"scales": "f", "sizes": "i8", "roi": "f"}
    weights = {name: np.array(value, dtypes[name]) for name, value in weights.items()}
    return written(path / "net.onnx", graph, weights, version)


def _typed(value):
    kinds = {str: f'string = "{value}"', int: f"int = {value}", float: f"float = {value}"}
    return kinds.get(type(value)) or f"ints = {list(value)}"


def how(mode, positions="half_pixel", **more):
    return {"mode": mode, "coordinate_transformation_mode": positions, **more}


WHOLE = [
    how("nearest", "asymmetric", nearest_mode="floor"),
    how("nearest", nearest_mode="round_prefer_floor"),
    how("nearest", nearest_mode="round_prefer_ceil"),
    how("nearest", "asymmetric", nearest_mode="ceil"),
    how("linear"),
    how("linear", "pytorch_half_pixel"),
    how("linear", "asymmetric"),
    how("linear", "align_corners"),
    how("cubic", cubic_coeff_a=-0.75),
    how("cubic", "asymmetric", cubic_coeff_a=-0.5),
    how("cubic", "align_corners"),
]


@pytest.mark.parametrize("positions", ["half_pixel", "pytorch_half_pixel", "asymmetric"])
@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
def test_scales_of_open_sizes(tmp_path, mode, positions):
    nearest = mode == "nearest"
    attributes = how(mode, positions, **({"nearest_mode": "floor"} if nearest else {}))
    path = model(tmp_path, attributes, {"scales": [1, 1, 0.5, 0.5 if nearest else 1.5]})
    net = compared(path, *CALLS, numbers(1, 3, 9, 11))
    assert net.input_sizes == ((None, 3, None, None),)


@pytest.mark.parametrize("attributes", WHOLE)
@pytest.mark.parametrize("scales", [[1, 1, 2, 2], [1, 1, 1, 3], [1, 1, 4, 1]])
def test_whole_scales_serve_every_size(tmp_path, attributes, scales):
    net = compared(model(tmp_path, attributes, {"scales": scales}), *CALLS)
    assert net.input_sizes == ((None, 3, None, None),)


@pytest.mark.parametrize("attributes", [*WHOLE, how("cubic", exclude_outside=1)])
def test_known_sizes(tmp_path, attributes):
    for sizes in ([2, 3, 9, 4], [2, 3, 3, 11], [2, 3, 5, 12]):
        path = model(tmp_path, attributes, {"sizes": sizes}, "2, 3, 5, 6")
        compared(path, CALLS[0])


@pytest.mark.parametrize("attributes", [each for each in WHOLE if "align" not in str(each)])
def test_scales_that_are_not_whole(tmp_path, attributes):
    if attributes["mode"] == "nearest" and attributes["coordinate_transformation_mode"] == "asymmetric":
        scales = [1, 1, 0.5, 1.5]  # others depend on the rounding of float32
    else:
        scales = [1, 1, 0.7, 1.6]
    compared(model(tmp_path, attributes, {"scales": scales}, FIXED), CALLS[0])
    opened = model(tmp_path, attributes, {"scales": scales})
    exact = ("asymmetric", "half_pixel", "pytorch_half_pixel")
    if attributes["mode"] != "nearest" or attributes["coordinate_transformation_mode"] in exact:
        compared(opened, *CALLS, numbers(1, 3, 10, 7), numbers(1, 3, 31, 100))
        return
    with pytest.raises(ValueError, match="input_shapes="):
        import_model(opened)


@pytest.mark.parametrize("positions", ["asymmetric", "half_pixel"])
@pytest.mark.parametrize("scale", [0.3, 0.6, 0.7, 1.7, 1.9, 5 / 3, 3.4])
def test_the_nearest_elements_at_any_scale(tmp_path, scale, positions):
    attributes = how("nearest", positions, nearest_mode="floor")
    path = model(tmp_path, attributes, {"scales": [1, 1, scale, 1]})
    compared(path, *(numbers(1, 3, n, 1) for n in (4, 5, 7, 10, 21, 30, 60, 99, 100, 333)))


@pytest.mark.parametrize("version", [9, 10, 11])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_scales_that_are_ratios_of_sizes(tmp_path, version, mode):
    """Exporters wrote sizes so for operator sets without an input for them."""
    operator, inputs = ("Upsample", "small, s") if version == 9 else ("Resize", "small, s")
    words = f'mode: string = "{mode}"'
    if version == 11:
        inputs = "small, roi, s"
        more = how(mode, "asymmetric", nearest_mode="floor")
        words = ", ".join(f"{name}: {_typed(value)}" for name, value in more.items())
    graph = f"""net (float[N, 3, H, W] x) => (float[a, b, c, d] y) {{
        small = MaxPool<kernel_shape: ints = [3, 3], strides: ints = [2, 2]>(x)
        wanted = Shape(x) given = Shape(small) f = Cast<to: int = 1>(wanted) g = Cast<to: int = 1>(given)
        s = Div(f, g) large = {operator}<{words}>({inputs}) y = Add(large, x)
    }}"""
    path = written(tmp_path / "net.onnx", graph, {"roi": numbers(0)}, version)
    assert compared(path, *CALLS, numbers(1, 3, 20, 33)).input_sizes == ((None, 3, None, None),)


def test_nearest_elements_of_smaller_axes_are_rounded_up_before_operator_set_11(tmp_path):
    for version, shape in ((10, OPEN), (9, OPEN), (10, FIXED)):
        graph = f"""net (float[{shape}] x) => (float[a, b, c, d] y) {{
            y = {"Upsample" if version == 9 else "Resize"}(x, scales)
        }}"""
        weights = {"scales": np.array([1, 1, 0.6 if version == 10 else 1, 1.7], "f")}
        compared(written(tmp_path / "net.onnx", graph, weights, version), CALLS[0])


@recent_runtime
@pytest.mark.parametrize("positions", ["asymmetric", "half_pixel", "tf_half_pixel_for_nn"])
@pytest.mark.parametrize("nearest", ["floor", "round_prefer_floor", "round_prefer_ceil"])
@pytest.mark.parametrize(
    "size, new", [(14, 2), (14, 8), (20, 116), (29, 11), (47, 65), (14, 19), (7, 2), (20, 6), (38, 12)]
)
def test_nearest_elements_at_ratios_that_float32_rounds(tmp_path, positions, nearest, size, new):
    attributes = how("nearest", positions, nearest_mode=nearest)
    x = numbers(1, 1, size, size)
    weights = {"sizes": [1, 1, new, new]}
    for shape in (f"1, 1, {size}, {size}", "1, 1, H, W"):
        compared(model(tmp_path, attributes, weights, shape), x)


def test_a_scale_whose_products_float32_rounds_below_whole_numbers(tmp_path):
    """99 elements become 230, and 3 become 7."""
    path = model(tmp_path, how("linear"), {"scales": [1, 1, 7 / 3, 1]})
    with pytest.raises(ValueError, match="input_shapes="):
        import_model(path)
    compared(path, numbers(1, 3, 99, 1), input_shapes=(1, 3, 99, 1))


def test_crops(tmp_path):
    for mode in ("linear", "nearest"):
        attributes = how(mode, "tf_crop_and_resize", extrapolation_value=7.0)
        weights = {"roi": [0, 0, 0.3, -0.4, 1, 1, 0.9, 1.3], "sizes": [1, 3, 4, 9]}
        path = model(tmp_path, attributes, weights, "1, 3, 5, 6", inputs="x, roi, , sizes")
        compared(path, numbers(1, 3, 5, 6))
        weights = {"roi": [0.3, -0.4, 0.9, 1.3], "sizes": [4, 9]}
        attributes["axes"] = (2, 3)
        path = model(tmp_path, attributes, weights, "N, 3, 5, 6", 18, "x, roi, , sizes")
        compared(path, numbers(1, 3, 5, 6), numbers(2, 3, 5, 6))


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialiasing(tmp_path, mode):
    from onnx.reference import ReferenceEvaluator

    path = model(tmp_path, how(mode, antialias=1), {"sizes": [1, 1, 3, 9]}, "1, 1, 5, 6", 18)
    x = numbers(1, 1, 5, 6)
    got = import_model(path)(mx.nd.array(x)).asnumpy()
    np.testing.assert_allclose(
        got, ReferenceEvaluator(path).run(None, {"x": x})[0], rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_aspect_ratios_are_kept(tmp_path, policy):
    attributes = how("linear", keep_aspect_ratio_policy=policy, axes=(2, 3))
    path = model(tmp_path, attributes, {"sizes": [9, 8]}, FIXED, 18)
    compared(path, numbers(2, 3, 5, 6), numbers(1, 3, 5, 6))


def test_some_axes(tmp_path):
    attributes = how("linear", axes=(3, 2))
    compared(model(tmp_path, attributes, {"scales": [2, 3]}, version=18), *CALLS)


@pytest.mark.parametrize("attributes", WHOLE)
def test_sizes_of_other_arrays(tmp_path, attributes):
    given = ", ".join(f"{name}: {_typed(value)}" for name, value in attributes.items())
    graph = f"""net (float[N, 3, H, W] x, float[N, 2, I, J] z) => (float[a, b, c, d] y) {{
        s = Shape(x) t = Shape(z) nc = Slice(s, zero, two) hw = Slice(t, two, four)
        sizes = Concat<axis: int = 0>(nc, hw) y = Resize<{given}>(x, , , sizes) }}"""
    weights = {name: np.array([n]) for name, n in dict(zero=0, two=2, four=4).items()}
    path = written(tmp_path / "net.onnx", graph, weights)
    shapes = [((2, 3, 5, 6), (2, 2, 8, 12)), ((1, 3, 7, 4), (1, 2, 6, 4)), ((1, 3, 4, 8), (1, 2, 4, 4))]
    compared(path, *[(numbers(*a), numbers(*b)) for a, b in shapes])


def test_sizes_that_are_rounded_several_times(tmp_path):
    graph = """net (float[N, 3, H, 4] x) => (float[a, b, c, d] y)
        <int64[1] zero = {0}, int64[1] two = {2}, int64[1] three = {3}, int64[1] four = {4}> {
        s = Shape(x) nc = Slice(s, zero, two) h = Slice(s, two, three) i = Div(h, three)
        j = Div(h, four) l = Sub(h, i) m = Sub(l, j) t = Concat<axis: int = 0>(nc, m, four)
        y = Resize<mode: string = "linear">(x, , , t) }"""
    path = written(tmp_path / "net.onnx", graph)
    compared(path, *(numbers(2, 3, h, 4) for h in (9, 10, 11, 23, 64)))


def test_an_operator_of_mxnet_resizes_where_it_is_right(tmp_path):
    right = [how("linear"), how("linear", "pytorch_half_pixel"), how("linear", "align_corners")]
    wrong = [how("linear", "asymmetric"), how("cubic"), how("linear", antialias=1)]
    for attributes in (*right, *wrong):
        path = model(tmp_path, attributes, {"scales": [1, 1, 2, 2]}, FIXED, 18)
        json = import_model(path)(mx.sym.var("data")).tojson()
        assert ("BilinearResize2D" in json) == (attributes in right)
    # MXNet takes the first element, and not the center.
    path = model(tmp_path, how("linear"), {"sizes": [2, 3, 1, 9]}, "2, 3, 5, 6")
    assert "BilinearResize2D" not in compared(path, CALLS[0])(mx.sym.var("data")).tojson()


def test_the_open_size_of_another_array_may_be_1(tmp_path):
    graph = """net (float[N, 3, H, W] x, float[N, 2, I, J] z) => (float[a, b, c, d] y) {
        s = Shape(x) t = Shape(z) nc = Slice(s, zero, two) hw = Slice(t, two, four)
        sizes = Concat<axis: int = 0>(nc, hw) y = Resize<mode: string = "linear">(x, , , sizes) }"""
    weights = {name: np.array([n]) for name, n in dict(zero=0, two=2, four=4).items()}
    path = written(tmp_path / "net.onnx", graph, weights)
    compared(path, *((numbers(1, 3, 4, 4), numbers(1, 2, *size)) for size in ((1, 5), (7, 3))))


def test_older_versions(tmp_path):
    for mode in ("nearest", "linear"):
        graph = f"""net (float[N, 3, H, W] x) => (float[a, b, c, d] y) {{
            y = Upsample<mode: string = "{mode}">(x, scales) }}"""
        weights = {"scales": np.array([1, 1, 2, 3], "f")}
        compared(written(tmp_path / "net.onnx", graph, weights, 9), *CALLS)
        graph = graph.replace("Upsample", "Resize")
        compared(written(tmp_path / "net.onnx", graph, weights, 10), *CALLS)
        graph = f"""net (float[N, 3, H, W] x) => (float[a, b, c, d] y) {{
            y = Upsample<mode: string = "{mode}", scales: floats = [1.0, 1.0, 2.0, 3.0]>(x) }}"""
        compared(written(tmp_path / "net.onnx", graph, None, 7), *CALLS)


def test_integers_move_to_the_nearest(tmp_path):
    attributes = how("nearest", "asymmetric", nearest_mode="floor")
    path = model(tmp_path, attributes, {"scales": [1, 1, 2, 2]}, kind="int32")
    compared(path, np.arange(24, dtype="int32").reshape(1, 3, 2, 4))


@pytest.mark.parametrize("attributes", [WHOLE[0], WHOLE[3], WHOLE[4], WHOLE[7], WHOLE[8]])
def test_resizes_are_exported_again(tmp_path, attributes):
    net = import_model(model(tmp_path, attributes, {"scales": [1, 1, 2, 2]}))
    x = CALLS[0]
    want = net(mx.nd.array(x)).asnumpy()
    for dynamic in (False, True):
        path = export_model(net, x.shape, str(tmp_path / "again.onnx"), dynamic=dynamic)
        np.testing.assert_allclose(reference(path, x)[0], want, rtol=1e-4, atol=1e-5)
    fixed = import_model(model(tmp_path, attributes, {"sizes": [2, 3, 7, 11]}, "2, 3, 5, 6"))
    want = fixed(mx.nd.array(x)).asnumpy()
    path = export_model(fixed, x.shape, str(tmp_path / "again.onnx"))
    np.testing.assert_allclose(reference(path, x)[0], want, rtol=1e-4, atol=1e-5)


def test_what_is_not_known_is_refused(tmp_path):
    cases = [
        (how("area"), "mode='area'"),
        (how("linear", "middle"), "coordinate_transformation_mode='middle'"),
        (how("nearest", nearest_mode="up"), "nearest_mode='up'"),
        (how("linear", "align_corners"), "use sizes instead"),
        (how("linear", "tf_crop_and_resize"), "use sizes instead"),
    ]
    for attributes, words in cases:
        weights = {"scales": [1, 1, 1.3, 1.3], "roi": [0, 0, 0, 0, 1, 1, 1, 1]}
        path = model(tmp_path, attributes, weights, FIXED, inputs="x, roi, scales")
        with pytest.raises(ValueError, match=words):
            import_model(path)


@pytest.mark.parametrize("scales", [[1, 1, 0.5, 1.5], [1, 1, 2.5, 1]])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_aligned_corners_of_scales_by_pytorch(tmp_path, mode, scales):
    """PyTorch's last position is the last element, also where the size times the scale is not whole."""
    for shape, calls in ((OPEN, [*CALLS, numbers(1, 3, 9, 11)]), (FIXED, CALLS[:1])):
        path = model(tmp_path, how(mode, "align_corners"), {"scales": scales}, shape)
        file = onnx.load(path)
        file.producer_name = "pytorch"
        onnx.save(file, path)
        compared(path, *calls)


def test_nearest_positions_are_rounded_as_in_float32(tmp_path):
    """3 / 0.6 is 5, and less in float64 if 0.6 was rounded to float32."""
    attributes = how("nearest", "asymmetric", nearest_mode="floor")
    compared(model(tmp_path, attributes, {"scales": [1, 1, 0.6, 0.8]}, FIXED), CALLS[0])
    shape = "2, 3, 24, 32"
    compared(model(tmp_path, attributes, {"scales": [1, 1, 0.6, 0.7]}, shape), numbers(2, 3, 24, 32))


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_scales_that_are_whole_sizes_in_float32(tmp_path, mode):
    """13 * 19 / 13 is below 19 in float64, if 19 / 13 was rounded to float32."""
    path = model(
        tmp_path, how(mode, "align_corners"), {"scales": [1, 1, 19 / 13, 27 / 11]}, "2, 3, 13, 11"
    )
    compared(path, numbers(2, 3, 13, 11))


@pytest.mark.parametrize(
    "attributes", [how("linear"), how("cubic"), how("nearest", nearest_mode="floor")]
)
def test_a_fixed_size_of_open_images(tmp_path, attributes):
    """The size is that of no axis, but that of the batches which are tried, plus 71, in steps of 6."""
    graph = f"""net (float[N, 3, H, W] x) => (float[a, b, c, d] y) {{
        shape = Shape<start: int = 0, end: int = 2>(x)
        sizes = Concat<axis: int = 0>(shape, images)
        y = Resize<{", ".join(f"{key}: {_typed(value)}" for key, value in attributes.items())}>
            (x, , , sizes)
    }}"""
    path = written(tmp_path / "net.onnx", graph, {"images": np.array([13, 40])})
    assert compared(path, *CALLS).input_sizes == ((None, 3, None, None),)


def test_smoothing_does_not_matter_where_images_grow(tmp_path):
    attributes = how("cubic", antialias=1, exclude_outside=1)
    path = model(tmp_path, attributes, {"scales": [1, 1, 2, 2]}, version=18)
    compared(path, *CALLS)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_smoothing_at_open_sizes(tmp_path, mode):
    attributes = how(mode, antialias=1, exclude_outside=1)
    path = model(tmp_path, attributes, {"scales": [1, 1, 0.4, 1.5]}, version=18)
    compared(path, numbers(2, 3, 10, 6), numbers(1, 3, 33, 9))
    path = model(tmp_path, how(mode, antialias=1), {"scales": [1, 1, 0.4, 1]}, version=18)
    with pytest.raises(ValueError, match="input_shapes="):  # nearer elements would be repeated outside
        import_model(path)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_smoothing_of_a_table_that_is_larger_than_some_images(tmp_path, mode):
    """Positions of vision transformers: all sizes that are tried are larger than the table."""
    given = ", ".join(f"{k}: {_typed(v)}" for k, v in how(mode, antialias=1, exclude_outside=1).items())
    graph = f"""net (float[N, 2, H, W] x) => (float[N, 2, H, W] y) {{ s = Shape<start: int = 2>(x)
        sizes = Concat<axis: int = 0>(first, s) t = Resize<{given}>(table, , , sizes) y = Add(x, t) }}"""
    weights = {"first": [1, 2], "table": numbers(1, 2, 7, 7)}
    path = written(tmp_path / "net.onnx", graph, weights, 18)
    compared(path, numbers(2, 2, 3, 9), numbers(1, 2, 14, 5), numbers(1, 2, 7, 7))


def test_sizes_of_an_array_without_elements(tmp_path):
    text = """s = Shape(x) n = Slice(s, first, second) hw = Slice(s, third, end) half = Div(hw, third)
        empty = Concat<axis: int = 0>(n, first, half) z = ConstantOfShape(empty) t = Shape(z)
        u = Slice(t, third, end) c = Slice(s, first, third) v = Concat<axis: int = 0>(c, u)
        p = MaxPool<kernel_shape: ints = [4, 4], strides: ints = [4, 4]>(x)
        r = Resize<mode: string = "nearest">(p, , , v) y = Concat<axis: int = 1>(r, z)"""
    weights = {name: np.array([n]) for name, n in dict(first=0, second=1, third=2, end=9).items()}
    graph = f"net (float[N, 3, H, W] x) => (float[a, b, c, d] y) {{ {text} }}"
    compared(
        written(tmp_path / "net.onnx", graph, weights, 17), numbers(2, 3, 8, 12), numbers(1, 3, 16, 4)
    )
