"""Functions of vectors and of numbers that are not whole, against NumPy."""

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, layer, write

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(2, 4, 6, 3)).astype("float32")
LINES = RANDOM.normal(size=(5, 3)).astype("float32")
PLACES = [[0, 2], [1, -1]]
EVERY = dict(start=None, stop=None, step=None)


def test_conditions_and_classes_may_be_floats(tmp_path):
    x = np.array([[-1.5, -0.5, 0, 0.5, 2.7]], "float32")
    chosen = function("where", "image", x=2, y=1)
    net = load_model(write(tmp_path, functional(image(5), chosen)))
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), [[2, 2, 1, 2, 2]])
    classes = function("one_hot", "image", depth=3)
    net = load_model(write(tmp_path, functional(image(5), classes)), layout="NHWC")
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy().argmax(-1), [[0, 0, 0, 0, 2]])
    assert net(mx.nd.array(x)).sum().asscalar() == 4  # -1.5 is no class


def test_lengths_that_are_floats_are_truncated(tmp_path):
    made = function("sequence_mask", "image", maxlen=3)
    net = load_model(write(tmp_path, functional(image(3), made)), layout="NHWC")
    wanted = [[[0, 0, 0], [1, 0, 0], [1, 1, 0]]]
    np.testing.assert_array_equal(net(mx.nd.array([[0.7, 1, 2.9]])).asnumpy(), wanted)


def test_slices_may_begin_before_the_first_element(tmp_path):
    spec = [EVERY, dict(start=-7, stop=5, step=None), dict(start=-6, stop=None, step=None)]
    made = function("__operators__.getitem", "image", slice_spec=spec)
    net = load_model(write(tmp_path, functional(image(None, None, 3), made)), layout="NHWC")
    for size in ((4, 8), (9, 3)):
        x = RANDOM.normal(size=(2, *size, 3)).astype("float32")
        for _ in range(2):
            np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), x[:, -7:5, -6:])
            net.hybridize()


def test_slices_without_elements_are_errors_of_their_call(tmp_path):
    spec = [EVERY, dict(start=7, stop=None, step=None)]
    made = function("__operators__.getitem", "image", slice_spec=spec)
    net = load_model(write(tmp_path, functional(image(None, 3, 2), made)), layout="NHWC")
    x = mx.nd.random.normal(shape=(2, 9, 3, 2))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"data of shape \(2, 6, 3, 2\): it selects none .*a slice"):
            net(x[:, :6])
        mx.nd.waitall()  # MXNet has no error left
        np.testing.assert_array_equal(net(x).asnumpy(), x[:, 7:].asnumpy())
        net.hybridize()


def test_hints_of_dtypes_have_no_effect(tmp_path):
    made = function("convert_to_tensor", "image", dtype_hint="int32")
    net = load_model(write(tmp_path, functional(image(3), made)))
    np.testing.assert_array_equal(net(mx.nd.array([[1.5, -2, 3]])).asnumpy(), [[1.5, -2, 3]])


def test_cross_products(tmp_path):
    other = function("roll", "image", shift=1, axis=1)
    made = function("cross", "image", y=["roll", 0, 0])
    net = load_model(write(tmp_path, functional(image(4, 3), other, made)), layout="NHWC")
    x = RANDOM.normal(size=(2, 4, 3)).astype("float32")
    found, wanted = net(mx.nd.array(x)).asnumpy(), np.cross(x, np.roll(x, 1, 1))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="unless along a last axis of 3"):
        load_model(
            write(tmp_path, functional(image(3, 4), function("cross", "image", y=["image", 0, 0])))
        )


@pytest.mark.parametrize("name", ["array", "conjugate", "real"])
def test_functions_of_complex_numbers_keep_floats(tmp_path, name):
    net = load_model(write(tmp_path, functional(image(3), function(name, "image"))))
    np.testing.assert_array_equal(net(mx.nd.array([[1, -2, 3]])).asnumpy(), [[1, -2, 3]])


def test_a_dot_with_a_number_is_refused(tmp_path):
    with pytest.raises(ValueError, match="dot with a number: multiply by it"):
        load_model(write(tmp_path, functional(image(3), function("dot", "image", y=2.0))))


@pytest.mark.parametrize("name, number", [("zeros_like", 0), ("ones_like", 1)])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_constants_of_other_dtypes(tmp_path, name, number, dtype):
    made = function(name, "image", dtype=dtype)
    found = load_model(write(tmp_path, functional(image(3), made)))(mx.nd.array([[0.5, np.nan, 2]]))
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found.asnumpy(), [[number] * 3])


@pytest.mark.parametrize(
    "name, arguments, wanted",
    [
        ("linspace", dict(stop=2.0, num=3, axis=2), lambda x: np.linspace(x, 2, 3, axis=2)),
        ("linspace", dict(stop=["image", 0, 0], num=1, axis=-1), lambda x: x[..., None]),
        ("logspace", dict(stop=1.0, num=4, endpoint=False, base=3.0, axis=1),
         lambda x: np.logspace(x, 1, 4, endpoint=False, base=3, axis=1)),
        ("inner", dict(y=LINES.tolist()), lambda x: x @ LINES.T),
        ("expand_dims", dict(axis=[-1, 1]), lambda x: x[:, None, ..., None]),
        ("normalize", dict(axis=1, order=1), lambda x: x / np.abs(x).sum(1, keepdims=True)),
        ("normalize", dict(axis=[2], order=1, epsilon=9.0),
         lambda x: x / np.maximum(np.abs(x).sum(2, keepdims=True), 9)),
        ("tile", dict(multiples=[2]), lambda x: np.tile(x, 2)),
        ("take", dict(indices=PLACES, axis=2), lambda x: x[:, :, PLACES]),
        ("take_along_axis", dict(indices=[[[[0], [2]]]], axis=2), lambda x: x[:, :, [0, 2]]),
    ],
)  # fmt: skip
def test_functions_of_one_array(tmp_path, name, arguments, wanted):
    model = functional(image(*X.shape[1:]), function(name, "image", **arguments))
    net = load_model(write(tmp_path, {**model, "keras_version": "3.15.0"}), layout="NHWC")
    for _ in range(2):
        np.testing.assert_allclose(net(mx.nd.array(X)).asnumpy(), wanted(X), rtol=1e-5, atol=1e-6)
        net.hybridize()


def test_parts_may_differ_in_size(tmp_path):
    made = function("array_split", "image", indices_or_sections=4, axis=2)
    model = functional(image(4, 6, 3), made)
    model["config"]["output_layers"] = [["array_split", 0, i] for i in range(4)]
    found = load_model(write(tmp_path, model), layout="NHWC")(mx.nd.array(X))
    for y, known in zip(found, np.array_split(X, 4, 2)):
        np.testing.assert_array_equal(y.asnumpy(), known)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_the_first_condition_that_holds_selects(tmp_path, dtype):
    data = layer("InputLayer", "image", batch_input_shape=[None, 6], dtype=dtype)
    above, even = function("greater", "image", y=2), function("equal", "image", y=0)
    chosen = dict(x=[["image", 0, 0], 7], default=16777217)
    made = function("select", "greater")
    made["inbound_nodes"] = [[["greater", 0, 0, chosen], ["equal", 0, 0, chosen]]]
    net = load_model(write(tmp_path, functional(data, above, even, made)))
    found = net(mx.nd.array([[0, 1, 2, 3, 4, -3]], dtype=dtype)).asnumpy()
    other = np.array(16777217).astype(dtype)
    np.testing.assert_array_equal(found, [[7, other, other, 3, 4, other]])
    assert found.dtype == dtype


def whole_numbers(folder, *calls, dtype="int32"):
    """Return the net of functions of an image of whole numbers, the last of which is its output."""
    data = layer("InputLayer", "image", batch_input_shape=[None, 5], dtype=dtype)
    return load_model(write(folder, functional(data, *calls)))


def test_bits_are_combined(tmp_path):
    x = np.array([[0, 5, -3, 2**30 + 1, 7]], "int32")
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        net = whole_numbers(tmp_path, function(f"bitwise.{name}", "image", y=6))
        found = net(mx.nd.array(x, dtype="int32")).asnumpy()
        np.testing.assert_array_equal(found, getattr(np, name)(x, 6))
    net = whole_numbers(tmp_path, function("bitwise.invert", "image"))
    np.testing.assert_array_equal(net(mx.nd.array(x, dtype="int32")).asnumpy(), ~x)
    with pytest.raises(ValueError, match="bitwise_not of uint8, which may wrap around"):
        whole_numbers(tmp_path, function("bitwise_not", "image"), dtype="uint8")
    with pytest.raises(ValueError, match="bitwise_and of float32"):
        whole_numbers(tmp_path, function("bitwise_and", "image", y=6), dtype="float32")


def test_numbers_are_found_among_others(tmp_path):
    x = np.array([[0, 1, 2, 16777217, 16777216]])
    for among, inverted in (([1, 16777216], False), ([[2], [16777217]], True), ([1.5, 2.0], False)):
        net = whole_numbers(tmp_path, function("is_in", "image", y=among, invert=inverted))
        found = net(mx.nd.array(x, dtype="int32")).asnumpy()
        np.testing.assert_array_equal(found, np.isin(x, among, invert=inverted))


def test_what_would_be_wrong_is_refused(tmp_path):
    for name, arguments, why in (
        ("linspace", dict(stop=2.0, num=3), "along axis=0"),
        ("linspace", dict(stop=2.0, num=3, axis=1, retstep=True), "linspace of 3 numbers"),
        ("inner", dict(y=["image", 0, 0]), "the batch must be kept"),
        ("expand_dims", dict(axis=[0, 1]), r"expand_dims at axis=\[0, 1\]"),
        ("select", dict(x=[["image", 0, 0]] * 2, default=1.0), "select"),
        ("take", dict(indices=[[0, 9]], axis=2), "along an axis of 6"),
    ):
        with pytest.raises(ValueError, match=why):
            load_model(write(tmp_path, functional(image(4, 6, 3), function(name, "image", **arguments))))


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16"])
def test_casts_to_few_bits(tmp_path, dtype):
    most, x = np.iinfo(dtype), np.array([[-70000.7, -3.9, 3.9, 200.5, 70000]], "float32")
    clipped = np.clip(x, most.min, most.max).astype(dtype)
    whole = x.astype("int32")
    for kind, name, given, wanted in (
        ("float32", "cast", x, clipped),
        ("float32", "saturate_cast", x, clipped),
        ("int32", "cast", whole, whole.astype(dtype)),
        ("int32", "saturate_cast", whole, np.clip(whole, most.min, most.max)),
    ):
        net = whole_numbers(tmp_path, function(name, "image", dtype=dtype), dtype=kind)
        for _ in range(2):
            found = net(mx.nd.array(given, dtype=kind)).asnumpy()
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == "int32"
            net.hybridize()


def test_numbers_of_few_bits_do_not_wrap_around_after_a_cast(tmp_path):
    few, real = function("cast", "image", dtype="uint8"), function("cast", "cast", dtype="float32")
    twice = function("math.multiply", "cast", y=2)
    with pytest.raises(ValueError, match="multiply of uint8, which may wrap around"):
        whole_numbers(tmp_path, few, twice, dtype="float32")
    real["name"] = real["config"]["name"] = "real"
    net = whole_numbers(tmp_path, few, real, function("math.multiply", "real", y=2.0), dtype="float32")
    found = net(mx.nd.array([[300, -2, 5.5, 1, 0]])).asnumpy()
    np.testing.assert_array_equal(found, [[510, 0, 10, 2, 0]])


def test_whole_numbers_that_would_lose_digits_are_refused(tmp_path):
    with pytest.raises(ValueError, match="inner of int32, .* would lose digits"):
        whole_numbers(tmp_path, function("inner", "image", y=[[1, 2, 3, 4, 5]]))
    with pytest.raises(ValueError, match="inner of uint8, which may wrap around"):
        whole_numbers(tmp_path, function("inner", "image", y=[[1, 2, 3, 4, 5]]), dtype="uint8")
    real = function("saturate_cast", "image", dtype="float32")
    net = whole_numbers(tmp_path, real, function("multiply", "saturate_cast", y=2), dtype="uint8")
    assert net(mx.nd.array([[200] * 5], dtype="int32")).asnumpy()[0, 0] == 400


def test_constants_that_a_dtype_does_not_have(tmp_path):
    net = whole_numbers(tmp_path, function("is_in", "image", y=[2**32 + 1, 3]))
    found = net(mx.nd.array([[0, 1, 2, 3, 4]], dtype="int32")).asnumpy()
    np.testing.assert_array_equal(found, [[0, 0, 0, 1, 0]])
    for made, dtype, words in (
        (function("is_in", "image", y=[2**40]), "int32", "is_in of .* none of which is of int32"),
        (function("bitwise_xor", "image", y=200), "int8", "bitwise_xor by 200, .* not of int8"),
        (function("saturate_cast", "image", dtype="float16"), "float32", "saturate_cast to 'float16'"),
        (function("take", "image", indices=[], axis=1), "int32", "take of "),
        (function("take_along_axis", "image", indices=[[5]], axis=1), "int32", "along an axis of 5"),
    ):
        with pytest.raises(ValueError, match=words):
            whole_numbers(tmp_path, made, dtype=dtype)


def test_classes_among_numbers(tmp_path):
    made = function("multi_hot", "image", num_classes=4)
    net = whole_numbers(tmp_path, made)
    found = net(mx.nd.array([[1, 3, 3, -1, 9], [0, 0, 0, 0, 0]], dtype="int32")).asnumpy()
    np.testing.assert_array_equal(found, [[0, 1, 0, 1], [1, 0, 0, 0]])


def test_images_become_real_numbers(tmp_path):
    for dtype, most in (("uint8", 255), ("int16", 32767), ("float32", 1)):
        made = function("image.convert_image_dtype", "image", dtype="float32")
        net = whole_numbers(tmp_path, made, dtype=dtype)
        kind = "float32" if dtype == "float32" else "int32"
        found = net(mx.nd.array([[0, 1, 2, 100, 255]], dtype=kind)).asnumpy()
        np.testing.assert_allclose(found, np.array([[0, 1, 2, 100, 255]]) / most, rtol=1e-6)
    with pytest.raises(ValueError, match="from float32 to 'uint8': only real numbers"):
        made = function("image.convert_image_dtype", "image", dtype="uint8")
        whole_numbers(tmp_path, made, dtype="float32")


def test_reciprocals_of_zero_are_zero(tmp_path):
    net = whole_numbers(tmp_path, function("math.reciprocal_no_nan", "image"), dtype="float32")
    found = net(mx.nd.array([[0, 1, -2, 0.5, 0]])).asnumpy()
    np.testing.assert_array_equal(found, [[0, 1, -0.5, 2, 0]])
