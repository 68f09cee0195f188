"""Functions of arrays in models' files, against NumPy."""

import math

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, layer, write

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)
EVERY = dict(start=None, stop=None)


def test_functions_in_h5_files_of_keras_3_have_no_module(tmp_path):
    def call(class_name, before, *more, **config):
        tensor = {"shape": [None, 3], "dtype": "float32", "keras_history": [before, 0, 0]}
        node = {"args": [{"class_name": "__keras_tensor__", "config": tensor}, *more], "kwargs": {}}
        name = class_name.lower()
        return {**layer(class_name, name, **config), "inbound_nodes": [node]}

    every = {"class_name": "__slice__", "config": {"start": None, "stop": None, "step": None}}
    calls = [call("Square", "image"), call("Reshape", "square", newshape=[-1, 3, 1])]
    calls += [call("GetItem", "reshape", [every, 1, 0]), call("Add", "getitem", 2.0)]
    config = {**functional(image(3), *calls), "keras_version": "3.15.1"}
    net = load_model(write(tmp_path, config))
    np.testing.assert_array_equal(net(mx.nd.array([[1, 2, 3]])).asnumpy(), [6])


def test_several_axes_are_rolled(tmp_path):
    rolled = function("roll", "image", shift=[-2, 1], axis=[1, 2])
    net, x = (
        load_model(write(tmp_path, functional(image(4, 3, 2), rolled))),
        RANDOM.normal(size=(2, 2, 4, 3)).astype("float32"),
    )
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), np.roll(x, (-2, 1), (2, 3)))


def test_a_reshape_that_splits_the_channels_of_images_of_any_size_keeps_the_batch(tmp_path):
    sizes = function("shape", "image")
    parts = [function("__operators__.getitem", "shape", slice_spec=axis) for axis in (1, 2)]
    for part, name in zip(parts, "ab"):
        part["name"] = part["config"]["name"] = name
    target = [-1, ["a", 0, 0], ["b", 0, 0], 2, 3]
    config = functional(image(None, None, 6), sizes, *parts, function("reshape", "image", shape=target))
    net = load_model(write(tmp_path, config), layout="NHWC")
    for size in (4, 5):
        x = RANDOM.normal(size=(2, size, 3, 6)).astype("float32")
        np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), x.reshape((2, size, 3, 2, 3)))


@pytest.mark.parametrize("name, instead", [("eq", "equal"), ("ne", "not_equal")])
def test_operands_of_comparisons_that_keras_does_not_save_are_missed(tmp_path, name, instead):
    path = write(tmp_path, functional(image(3), function(f"__operators__.{name}", "image")))
    with pytest.raises(ValueError, match=f"operands of tf.{name}: use tf.{instead}"):
        load_model(path)


def test_operands_of_einsum_that_keras_does_not_save_are_missed(tmp_path):
    made = layer("TFOpLambda", "odd", function="einsum")
    made["inbound_nodes"] = [["_CONSTANT_VALUE", -1, "bij,bjk->bik", {}]]
    with pytest.raises(ValueError, match="Keras 2 does not save the operands of tf.einsum"):
        load_model(write(tmp_path, functional(image(3, 3), made)))


def test_operands_of_meshgrid_that_keras_does_not_save_are_missed(tmp_path):
    path = write(tmp_path, functional(image(3), function("meshgrid", "image")))
    with pytest.raises(ValueError, match=r"operands of tf.meshgrid: add tf.range\(width\)"):
        load_model(path)


def test_parts_and_largest_elements_of_axes_of_any_size(tmp_path):
    halves = function("split", "image", num_or_size_splits=2, axis=1)
    largest = function("math.top_k", "image", k=2)
    config = functional(image(None, None), halves, largest)
    config["config"]["output_layers"] = [["split", 0, 1], ["math_top_k", 0, 0]]
    net = load_model(write(tmp_path, config), layout="NHWC")
    for _ in range(2):
        for size in ((2, 3), (4, 2)):
            x = RANDOM.normal(size=(2, *size)).astype("float32")
            half, top = (y.asnumpy() for y in net(mx.nd.array(x)))
            np.testing.assert_array_equal(half, x[:, size[0] // 2 :])
            np.testing.assert_array_equal(top, -np.sort(-x)[..., :2])
        for size in ((3, 2), (2, 1)):  # not divisible, and too small
            with pytest.raises(ValueError, match="cannot run on data"):
                net(mx.nd.ones((1, *size)))
        net.hybridize()


def test_a_split_into_parts_of_given_sizes(tmp_path):
    x = RANDOM.normal(size=(1, 2, 4)).astype("float32")
    for sizes, width in (([4], 4), ([1, -1], 1), (2, 2)):
        made = function("split", "image", num_or_size_splits=sizes, axis=2)
        y = load_model(write(tmp_path, functional(image(2, 4), made)), layout="NHWC")(mx.nd.array(x))
        np.testing.assert_array_equal(y.asnumpy(), x[:, :, :width])  # the model's output is the first


def sizes_of(before, *axes):
    """Return the layers that compute sizes of an array."""
    item = "__operators__.getitem"
    made = [{**function(item, "shape", slice_spec=axis), "name": f"s{axis}"} for axis in axes]
    for each in made:
        each["config"]["name"] = each["name"]
    return [function("shape", before), *made]


def test_sizes_of_an_array_are_not_those_of_its_transpose(tmp_path):
    turned = function("transpose", "image", perm=[0, 2, 1])
    made = function("reshape", "transpose", shape=[["s0", 0, 0], ["s1", 0, 0], -1])
    config = functional(image(None, None), *sizes_of("image", 0, 1), turned, made)
    with pytest.raises(ValueError, match="reshape to"):
        load_model(write(tmp_path, config), layout="NHWC")


@pytest.mark.parametrize("batch", [-1, ["s0", 0, 0]])
def test_a_reshape_splits_the_channels_of_arrays_with_the_steps_of_others(tmp_path, batch):
    twice = layer("Dense", "twice", "image", units=6, use_bias=False)
    made = function("reshape", "twice", shape=[batch, ["s1", 0, 0], 3, 2])
    config = functional(image(None, 4), *sizes_of("image", 0, 1), twice, made)
    net = load_model(write(tmp_path, config, twice={"kernel": (4, 6)}), layout="NHWC")
    kernel = net.layers["twice"].weight.data().asnumpy()
    kernel = kernel.reshape((6, 4)).T
    for steps in (5, 2):
        x = RANDOM.normal(size=(2, steps, 4)).astype("float32")
        for _ in range(2):
            found = net(mx.nd.array(x)).asnumpy()
            np.testing.assert_allclose(found, (x @ kernel).reshape((2, steps, 3, 2)), rtol=1e-4)
            net.hybridize()


def test_a_reshape_with_numbers_refuses_other_counts(tmp_path):
    made = function("reshape", "image", shape=[["s0", 0, 0], ["s1", 0, 0], 24])
    config = functional(image(None, 6, 4), *sizes_of("image", 0, 1), made)
    net = load_model(write(tmp_path, config), layout="NHWC")
    x = mx.nd.array(RANDOM.normal(size=(1, 2, 6, 4)))
    np.testing.assert_array_equal(net(x).asnumpy(), x.asnumpy().reshape(1, 2, 24))
    with pytest.raises(ValueError):
        net(mx.nd.zeros((1, 2, 12, 4))).asnumpy()


@pytest.mark.parametrize("expand", [False, True])
def test_spectrograms_with_channels_first(tmp_path, expand):
    how = dict(frame_length=4, frame_step=2, expand_dims=expand, mode="stft")
    shapes = {"odd": dict.fromkeys(("real_kernel", "imag_kernel"), (4, 1, 3))}
    outputs = {}
    for layout, shape in (("channels_last", (10, 2)), ("channels_first", (2, 10))):
        made = layer("STFTSpectrogram", "odd", "image", data_format=layout, **how)
        (tmp_path / layout).mkdir()
        path = write(tmp_path / layout, functional(image(*shape), made), **shapes)
        x = np.arange(20, dtype="float32").reshape((1, 10, 2))
        x = x if layout == "channels_last" else x.transpose((0, 2, 1))
        outputs[layout] = load_model(path, layout="NHWC")(mx.nd.array(x)).asnumpy()
    axes = (0, 3, 1, 2) if expand else (0, 2, 1)
    want = outputs["channels_last"].transpose(axes)
    assert want.shape == ((1, 2, 4, 6) if expand else (1, 12, 4))
    np.testing.assert_array_equal(outputs["channels_first"], want)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"fft_length": 2**20}, "windows of 1048576 in 1048576 elements: only even ones up to 4096 are"),
        ({"sequence_length": 33}, "windows of 33 in 64 elements"),
        ({"window": "kaiser"}, "window='kaiser': only 'hann', 'hamming' and None are supported"),
        ({"window": [0.5, 1.0]}, "window=[0.5, 1.0]: only 'hann', 'hamming' and None are supported"),
        ({"num_mel_bins": 2**20}, "1048576 bands from 20.0 to 4000.0 Hz"),
        ({"sequence_stride": 0}, "sequence_stride"),
        ({"fft_length": 1024}, "windows of 1024 elements of a signal of 400"),
    ],
)
def test_spectrograms_that_are_refused(tmp_path, arguments, words):
    known = dict(fft_length=64, sequence_stride=8, sampling_rate=8000, num_mel_bins=4, max_freq=4000)
    made = layer("MelSpectrogram", "odd", "image", **{**known, **arguments})
    with pytest.raises(ValueError) as error:
        load_model(write(tmp_path, functional(image(400), made)))
    assert words in str(error.value)


def test_a_batch_is_repeated(tmp_path):
    twice = function("repeat", "image", repeats=2, axis=0)
    net = load_model(
        write(tmp_path, functional(image(3), twice, function("reshape", "repeat", shape=[-1, 6])))
    )
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), np.tile(x, (1, 2)))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
def test_a_list_of_arrays_is_reduced(tmp_path, name):
    square, both = function("math.square", "image"), function(f"math.reduce_{name}", "image")
    both["inbound_nodes"] = [[[each, 0, 0, {"axis": 0}] for each in ("image", "math_square")]]
    net = load_model(write(tmp_path, functional(image(2), square, both)))
    x = np.array([[1, -2], [0.5, 3]], "float32")
    np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), getattr(np, name)([x, x * x], axis=0))
    both["inbound_nodes"][0][0][3]["axis"] = both["inbound_nodes"][0][1][3]["axis"] = 1
    with pytest.raises(ValueError, match=f"{name} of 2 arrays along axis=.1. with keepdims=False"):
        load_model(write(tmp_path, functional(image(2), square, both)))


def called(name, *args, **kwargs):
    """Return a call of a function on constants."""
    made = layer("TFOpLambda", name, function=name)
    return {**made, "inbound_nodes": [["_CONSTANT_VALUE", -1, *args, kwargs]]}


def sized(name, *shape, **kwargs):
    """Return a call of a function whose first argument is a shape."""
    entries = [n if isinstance(n, list) else ["_CONSTANT_VALUE", -1, n] for n in shape]
    node = [[[*each, kwargs] for each in entries]]
    return {**layer("TFOpLambda", name, function=name), "inbound_nodes": node}


TOKEN = [[[1.0, 2.0, 3.0]]]
BATCH, STEPS = ["s0", 0, 0], ["s1", 0, 0]


@pytest.mark.parametrize(
    "made, wanted",
    [
        (called("broadcast_to", TOKEN, shape=[BATCH, 2, 3]), TOKEN[0] * 2),
        (called("broadcast_to", TOKEN[0], shape=[BATCH, STEPS, 3]), TOKEN[0] * 4),
        (called("tile", TOKEN, multiples=[BATCH, 2, 1]), TOKEN[0] * 2),
        (sized("zeros", BATCH, STEPS, 3), np.zeros((4, 3))),
        (sized("ones", BATCH, 2, 3, dtype="float32"), np.ones((2, 3))),
        (sized("fill", BATCH, 1, 3, value=0.5), [[0.5] * 3]),
    ],
)
def test_constants_for_each_sample(tmp_path, made, wanted):
    joined = function("concat", made["name"], axis=1)
    joined["inbound_nodes"] = [[[made["name"], 0, 0, {"axis": 1}], ["image", 0, 0, {}]]]
    config = functional(image(None, 3), *sizes_of("image", 0, 1), made, joined)
    net, x = load_model(write(tmp_path, config), layout="NHWC"), RANDOM.normal(size=(2, 4, 3))
    for _ in range(2):
        given = [np.concatenate([wanted, each]) for each in x]
        np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), given, rtol=1e-6)
        net.hybridize()


@pytest.mark.parametrize(
    "made, wanted",
    [
        (sized("fill", BATCH, 2, value=7), 7),
        (sized("zeros", BATCH, 2, dtype="int32"), 0),
        (called("tile", [[7, 7]], multiples=[BATCH, 1]), 7),
    ],
)
def test_constants_that_are_whole_numbers_stay_whole(tmp_path, made, wanted):
    config = functional(image(None, 3), *sizes_of("image", 0, 1), made)
    found = load_model(write(tmp_path, config))(mx.nd.zeros((4, 3, 5)))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found.asnumpy(), np.full((4, 2), wanted))


@pytest.mark.parametrize(
    "made, words",
    [
        (sized("zeros", 2, BATCH, 3), "a size that is that of a batch must be the first"),
        (called("tile", TOKEN * 2, multiples=[BATCH, 1, 1]), r"tile to \[a size, 1, 1\] of shape \(2, "),
        (sized("ones", BATCH, 3, dtype="bool"), "ones with {'dtype': 'bool'}"),
        (sized("zeros", BATCH, 10**9), "are supported"),
        (sized("zeros", BATCH, -3), "its sizes are not whole numbers, one for each axis"),
        (called("tile", TOKEN, multiples=[BATCH]), "its sizes are not whole numbers"),
        (called("zeros", BATCH), "its sizes are not whole numbers"),
        (sized("fill", BATCH, 1, value=0.5, layout="odd"), "fill with {.layout.: .odd.}"),
    ],
)
def test_constants_that_are_refused(tmp_path, made, words):
    config = functional(image(None, 3), *sizes_of("image", 0, 1), made)
    with pytest.raises(ValueError, match=words):
        load_model(write(tmp_path, config))


def test_numbers_that_are_computed_from_sizes_follow_the_size(tmp_path):
    area = function("math.multiply", "s1", y=["s2", 0, 0])
    root = function("math.sqrt", "math_multiply")
    scaled = function("math.multiply", "image", y=["math_sqrt", 0, 0])
    less = function("math.subtract", "scaled", y=["less", 0, 0])
    half = function("math.divide", "s2", y=2)
    for each, name in ((scaled, "scaled"), (half, "less"), (less, "last")):
        each["name"] = each["config"]["name"] = name
    config = functional(image(None, None, 3), *sizes_of("image", 1, 2), area, root, scaled, half, less)
    net = load_model(write(tmp_path, config), layout="NHWC")
    for height, width in ((4, 6), (5, 3)):
        x = RANDOM.normal(size=(2, height, width, 3)).astype("float32")
        wanted = x * (height * width) ** 0.5 - width / 2
        np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), wanted, rtol=1e-5)
        net.hybridize()


def test_numbers_that_are_computed_from_channels_are_rounded(tmp_path):
    parts = [function("math.divide", "s2", y=2), function("cast", "math_divide", dtype="int32")]
    times = function("math.multiply", "image", y=["cast", 0, 0])
    config = functional(image(None, 3), *sizes_of("image", 2), *parts, times)
    net = load_model(write(tmp_path, config), layout="NHWC")
    assert net(mx.nd.ones((1, 1, 3))).asnumpy().tolist() == [[[1, 1, 1]]]


def test_remainders_of_large_products_of_sizes_are_exact(tmp_path):
    names = "abcd"
    parts = [function("math.multiply", "s1", y=4099), function("math.multiply", "a", y=["s2", 0, 0])]
    parts += [function("math.floormod", "b", y=10), function("math.multiply", "image", y=["c", 0, 0])]
    for part, name in zip(parts, names):
        part["name"] = part["config"]["name"] = name
    net = load_model(write(tmp_path, functional(image(None, None, 1), *sizes_of("image", 1, 2), *parts)))
    assert net(mx.nd.ones((1, 1, 4099, 1))).asnumpy()[0, 0, 0, 0] == 1  # 16801801 % 10
    parts[2]["inbound_nodes"][0][3]["y"] = 0.1
    with pytest.raises(ValueError, match="computed from sizes by many steps, or rounded"):
        load_model(write(tmp_path, functional(image(None, None, 1), *sizes_of("image", 1, 2), *parts)))


def test_numbers_that_are_rounded_are_refused(tmp_path):
    half = function("math.divide", "s1", y=1.5)
    cast = function("cast", "math_divide", dtype="int32")
    times = function("math.multiply", "image", y=["cast", 0, 0])
    config = functional(image(None, 3), *sizes_of("image", 1), half, cast, times)
    with pytest.raises(ValueError, match="computed from sizes by many steps, or rounded"):
        load_model(write(tmp_path, config))


@pytest.mark.parametrize("begin, end, step", [(0, 3, 1), (3, 6, 1), (-3, None, 1), (1, None, 2)])
def test_some_channels_of_a_convolution_are_sliced(tmp_path, begin, end, step):
    """MXNet's slice of oneDNN's blocks of channels would end the process."""
    made = layer("Conv2D", "conv", "image", filters=24, kernel_size=[3, 3], padding="same")
    spec = [{"start": None, "stop": None, "step": None}] * 3
    spec = [*spec, {"start": begin, "stop": end, "step": step}]
    part = function("__operators__.getitem", "conv", slice_spec=spec)
    shapes = {"kernel": (3, 3, 8, 24), "bias": (24,)}
    whole = load_model(write(tmp_path, functional(image(12, 12, 8), made), conv=shapes))
    net = load_model(write(tmp_path, functional(image(12, 12, 8), made, part), conv=shapes))
    x = mx.nd.array(RANDOM.normal(size=(2, 8, 12, 12)))
    for _ in range(2):
        np.testing.assert_allclose(net(x).asnumpy(), whole(x).asnumpy()[:, begin:end:step], rtol=1e-5)
        net.hybridize()


@pytest.mark.parametrize("steps, lengths", [(5, [5]), (None, [3, 5, 9])])
@pytest.mark.parametrize("begin, end", [(None, 7), (1, 7), (-2, None), (0, -1)])
def test_slices_may_end_behind_an_axis(tmp_path, steps, lengths, begin, end):
    spec = [{"start": b, "stop": e, "step": None} for b, e in ((None, None), (begin, end))]
    part = function("__operators__.getitem", "image", slice_spec=spec)
    net = load_model(write(tmp_path, functional(image(steps, 3), part)), layout="NHWC")
    for length in lengths:
        x = RANDOM.normal(size=(2, length, 3)).astype("float32")
        np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), x[:, begin:end])
        net.hybridize()


def test_whole_rows_are_taken_along_an_axis(tmp_path):
    places = layer("InputLayer", "places", batch_input_shape=[None, 2, 1], dtype="int32")
    taken = function("take_along_axis", "image", indices=["places", 0, 0], axis=1)
    config = functional(image(5, 3), places, taken, inputs=["image", "places"])
    net = load_model(write(tmp_path, config), layout="NHWC")
    x, rows = RANDOM.normal(size=(2, 5, 3)).astype("float32"), np.array([[[4], [0]], [[1], [1]]])
    found = net(mx.nd.array(x), mx.nd.array(rows, dtype="int32")).asnumpy()
    np.testing.assert_array_equal(found, np.take_along_axis(x, rows, 1))


def test_arrays_may_be_chosen_from_infinity(tmp_path):
    above = function("where", "image", x=["image", 0, 0], y=-np.inf)
    net = load_model(write(tmp_path, functional(image(3), above)))
    np.testing.assert_array_equal(net(mx.nd.array([[0, 2, 3]])).asnumpy(), [[-np.inf, 2, 3]])


@pytest.mark.parametrize("shape", [(5, 4, 3), (5, 3)])
def test_padding_may_be_infinite(tmp_path, shape):
    pairs = [[0, 0], [1, 2], *[[0, 0]] * (len(shape) - 1)]
    padded = function("pad", "image", paddings=pairs, constant_values=-np.inf)
    net = load_model(write(tmp_path, functional(image(*shape), padded)), layout="NHWC")
    x = RANDOM.normal(size=(2, *shape)).astype("float32")
    np.testing.assert_array_equal(
        net(mx.nd.array(x)).asnumpy(), np.pad(x, pairs, constant_values=-np.inf)
    )


@pytest.mark.parametrize("below, above", [(0, 1), (2, 0), (-1, 1), (1, -1), (1, 1)])
def test_bands_of_matrices(tmp_path, below, above):
    made = function("linalg.band_part", "image", num_lower=below, num_upper=above)
    net, x = (
        load_model(write(tmp_path, functional(image(4, 5), made)), layout="NHWC"),
        np.ones((2, 4, 5)),
    )
    wanted = np.tril(x, above) if above >= 0 else x
    wanted = np.triu(wanted, -below) if below >= 0 else wanted
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), wanted)


@pytest.mark.parametrize(
    "name, arguments, wanted",
    [
        ("compat.v1.nn.crelu", dict(axis=1), lambda x: np.maximum(np.concatenate([x, -x], 1), 0)),
        ("math.rint", {}, np.round),
        ("math.erfc", {}, lambda x: 1 - np.vectorize(math.erf)(x)),
        ("ensure_shape", dict(shape=[None, 2, 3]), lambda x: x),
        ("debugging.check_numerics", dict(message="odd"), lambda x: x),
    ],
)
def test_functions_of_elements(tmp_path, name, arguments, wanted):
    made = function(name, "image", **arguments)
    net = load_model(write(tmp_path, functional(image(2, 3), made)), layout="NHWC")
    x = np.array([[[-2.5, 0.5, 1.5], [3, -0.2, 0.7]]], "float32")
    np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), wanted(x), rtol=1e-6, atol=1e-6)


def test_products_with_adjoint_matrices(tmp_path):
    made = function("linalg.matmul", "image", b=["image", 0, 0], adjoint_b=True)
    net = load_model(write(tmp_path, functional(image(2, 3), made)), layout="NHWC")
    x = RANDOM.normal(size=(2, 2, 3)).astype("float32")
    np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), x @ x.transpose((0, 2, 1)), rtol=1e-5)


def test_sizes_are_unstacked_and_axes_counted(tmp_path):
    sizes, parts = function("shape", "image"), function("unstack", "shape")
    target = [["unstack", 0, 0], ["unstack", 0, 2], ["unstack", 0, 1]]
    turned = function("reshape", "image", shape=target)
    rank = function("rank", "image")
    scaled = function("math.multiply", "reshape", y=["rank", 0, 0])
    config = functional(image(2, 3), sizes, parts, turned, rank, scaled)
    net, x = load_model(write(tmp_path, config), layout="NHWC"), RANDOM.normal(size=(2, 2, 3))
    found = net(mx.nd.array(x)).asnumpy()
    np.testing.assert_allclose(found, 3 * x.reshape((2, 3, 2)), rtol=1e-6)


def broadcast_first(steps):
    """Return a model that broadcasts the first step of its input to all steps."""
    first = function("__operators__.getitem", "image", slice_spec=[EVERY, dict(start=0, stop=1)])
    first["name"] = first["config"]["name"] = "first"
    whole = function("broadcast_to", "first", shape=[BATCH, STEPS, 1, 3])
    return functional(image(steps, 1, 3), *sizes_of("image", 0, 1), first, whole)


@pytest.mark.parametrize("saved", [4, None])
def test_arrays_are_broadcast_to_the_sizes_of_others(tmp_path, saved):
    net = load_model(write(tmp_path, broadcast_first(saved)), layout="NHWC")
    for steps in (4, 1, 6):
        x = RANDOM.normal(size=(2, steps, 1, 3)).astype("float32")
        for _ in range(2):
            wanted = np.broadcast_to(x[:, :1], x.shape)
            np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), wanted)
            net.hybridize()


def test_arrays_keep_their_own_sizes_when_they_are_broadcast(tmp_path):
    made = function("broadcast_to", "image", shape=[BATCH, STEPS, 2])
    config = functional(image(None, 1), *sizes_of("image", 0, 1), made)
    net, x = load_model(write(tmp_path, config), layout="NHWC"), RANDOM.normal(size=(2, 4, 1))
    np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), np.repeat(x, 2, 2), rtol=1e-6)


def test_arrays_that_cannot_be_broadcast_to_sizes(tmp_path):
    made = function("broadcast_to", "image", shape=[BATCH, STEPS, 2])
    inputs = image(1, 1), image(4, 3, name="other")
    config = functional(*inputs, *sizes_of("other", 0, 1), made, inputs=("image", "other"))
    with pytest.raises(ValueError, match="broadcast_to of shape"):
        load_model(write(tmp_path, config))


@pytest.mark.parametrize("given", [{}, dict(nan=1.5, posinf=2.0, neginf=-3.0)])
def test_what_is_not_a_number_is_replaced(tmp_path, given):
    made = {**layer("NanToNum", "numbers", "image", **given), "module": "keras.src.ops.numpy"}
    net = load_model(write(tmp_path, functional(image(5), made)))
    x = np.array([[np.nan, np.inf, -np.inf, 0.5, -2]], "float32")
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), np.nan_to_num(x, **given))


def test_functions_that_call_a_function_are_named_by_class(tmp_path):
    inner = {"class_name": "__lambda__", "config": {"value": ["code", None, None]}}
    made = {**layer("VectorizedMap", "odd", "image", function=inner), "module": "keras.src.ops.core"}
    path = write(tmp_path, functional(image(3), made))
    with pytest.raises(ValueError, match="give custom={'VectorizedMap': builder}"):
        load_model(path)
    net = load_model(path, custom={"VectorizedMap": lambda *_, **__: mx.gluon.nn.Activation("relu")})
    np.testing.assert_array_equal(net(mx.nd.array([[1, -2, 3]])).asnumpy(), [[1, 0, 3]])
