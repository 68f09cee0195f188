"""Parts and repetitions by numbers that are computed from sizes, against NumPy."""

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, layer, write
from test_functions import sizes_of
from test_moved_batch import named

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)
STEPS = ["s1", 0, 0]


def computed(name, before, function_name, **arguments):
    return named(name, function(function_name, before, **arguments))


HALF = computed("half", "s1", "math.floordiv", y=2)
THIRD = computed("third", "s1", "math.floordiv", y=3)
LESS = computed("less", "s1", "math.subtract", y=2)
AFTER = computed("after", "half", "math.add", y=2)
REAL = [computed("real", "s1", "math.divide", y=2), computed("half", "real", "cast", dtype="int32")]


@pytest.mark.parametrize(
    "numbers, part, wanted",
    [
        ([HALF], dict(start=None, stop=["half", 0, 0]), lambda x, n: x[:, : n // 2]),
        (REAL, dict(start=None, stop=["half", 0, 0]), lambda x, n: x[:, : n // 2]),
        ([HALF], dict(start=["half", 0, 0], stop=None), lambda x, n: x[:, n // 2 :]),
        ([HALF, AFTER], dict(start=["half", 0, 0], stop=["after", 0, 0]),
         lambda x, n: x[:, n // 2 : n // 2 + 2]),
        ([HALF], ["half", 0, 0], lambda x, n: x[:, n // 2]),
        ([THIRD], dict(start=None, stop=["third", 0, 0]), lambda x, n: x[:, : n // 3]),
        ([THIRD], dict(start=["third", 0, 0], stop=None), lambda x, n: x[:, n // 3 :]),
        ([computed("least", "s1", "math.minimum", y=8)], dict(start=None, stop=["least", 0, 0]),
         lambda x, n: x[:, :8]),
        ([LESS], dict(start=1, stop=["less", 0, 0]), lambda x, n: x[:, 1:-2]),
        ([LESS], dict(start=["less", 0, 0], stop=None), lambda x, n: x[:, -2:]),
        ([], dict(start=1, stop=STEPS), lambda x, n: x[:, 1:]),
    ],
)  # fmt: skip
def test_slices_by_computed_numbers(tmp_path, numbers, part, wanted):
    whole = dict(start=None, stop=None)
    spec = [whole, {**part, "step": None} if isinstance(part, dict) else part]
    made = function("__operators__.getitem", "image", slice_spec=spec)
    config = functional(image(None, 3), *sizes_of("image", 1), *numbers, made)
    net = load_model(write(tmp_path, config), layout="NHWC")
    for n in (6, 9, 13):
        x = RANDOM.normal(size=(2, n, 3)).astype("float32")
        for _ in range(2):
            np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), wanted(x, n))
            net.hybridize()


def crop(*inputs):
    """Return the layers that cut the center out of images to the size of other images."""
    whole, part = (computed(n, before, "compat.v1.shape") for n, before in zip("wp", inputs))
    numbers = []
    for axis in (1, 2):
        names = [f"{name}{axis}" for name in "wp"]
        item = dict(slice_spec=axis)
        numbers += [computed(n, n[0], "__operators__.getitem", **item) for n in names]
        numbers.append(computed(f"d{axis}", names[0], "math.subtract", y=[names[1], 0, 0]))
        numbers.append(computed(f"b{axis}", f"d{axis}", "math.floordiv", y=2))
    begin, size = [0, ["b1", 0, 0], ["b2", 0, 0], 0], [-1, ["p1", 0, 0], ["p2", 0, 0], -1]
    return [whole, part, *numbers, function("slice", inputs[0], begin=begin, size=size)]


def test_images_are_cropped_to_the_size_of_others(tmp_path):
    """As in RetinaFace."""
    inputs = image(None, None, 3), image(None, None, 2, name="other")
    config = functional(*inputs, *crop("image", "other"), inputs=("image", "other"))
    net = load_model(write(tmp_path, config))
    for large, small in (((7, 9), (4, 9)), ((8, 6), (5, 3)), ((5, 5), (5, 5))):
        x, y = (RANDOM.normal(size=(2, c, *size)) for c, size in ((3, large), (2, small)))
        begin = [(n - m) // 2 for n, m in zip(large, small)]
        ends = [b + m for b, m in zip(begin, small)]
        for _ in range(2):
            found = net(mx.nd.array(x), mx.nd.array(y)).asnumpy()
            np.testing.assert_allclose(found, x[:, :, begin[0] : ends[0], begin[1] : ends[1]], rtol=1e-6)
            net.hybridize()
    with pytest.raises(mx.MXNetError, match="out of bound"):
        net(mx.nd.zeros((1, 3, 4, 4)), mx.nd.zeros((1, 2, 5, 5))).asnumpy()


def test_images_are_resized_to_half_of_their_size(tmp_path):
    halves = [computed(f"h{axis}", f"s{axis}", "math.floordiv", y=2) for axis in (1, 2)]
    made = function("image.resize", "image", size=[["h1", 0, 0], ["h2", 0, 0]], method="nearest")
    config = functional(image(None, None, 2), *sizes_of("image", 1, 2), *halves, made)
    net = load_model(write(tmp_path, config))
    for size in ((4, 6), (8, 10)):
        x = RANDOM.normal(size=(2, 2, *size)).astype("float32")
        np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), x[:, :, 1::2, 1::2])


def test_parts_that_cannot_be_computed_are_refused(tmp_path):
    part = {"start": None, "stop": ["half", 0, 0], "step": 2}
    stepped = function("__operators__.getitem", "image", slice_spec=[{}, part])
    config = functional(image(None, 3), *sizes_of("image", 1), HALF, stepped)
    with pytest.raises(ValueError, match="a slice by numbers that are computed, with a step"):
        load_model(write(tmp_path, config))


def switch():
    """Return the layers of ``keras.backend.switch`` between another array and 0.5, by ``image > 0``."""
    above = computed("above", "image", "math.greater", y=0)
    own, whole = (computed(n, of, "compat.v1.shape") for n, of in (("own", "above"), ("whole", "other")))
    target = computed("target", "own", "concat", axis=0)
    target["inbound_nodes"] = [[["own", 0, 0, {"axis": 0}], ["_CONSTANT_VALUE", -1, [], {}]]]
    rest = computed("rest", "whole", "math.subtract", y=["target", 0, 0])
    more, ones = computed("more", "rest", "math.greater", y=0), computed("ones", "whole", "ones_like")
    shaped = computed("shaped", "above", "reshape", shape=["target", 0, 0])
    times = computed("times", "more", "where", x=["whole", 0, 0], y=["ones", 0, 0])
    tiled = computed("tiled", "shaped", "tile", multiples=["times", 0, 0])
    chosen = computed("chosen", "tiled", "where", x=["other", 0, 0], y=0.5)
    return [above, own, target, whole, rest, more, ones, shaped, times, tiled, chosen]


@pytest.mark.parametrize("given, other", [((None, 3), (None, 3)), ((None, 1), (None, 3))])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_switches_between_arrays(tmp_path, given, other, dtype):
    start = layer("InputLayer", "other", batch_input_shape=[None, *other], dtype=dtype)
    layers = image(*given), start, *switch()
    net = load_model(write(tmp_path, functional(*layers, inputs=("image", "other"))), layout="NHWC")
    for steps in (4, 1):
        x, y = (RANDOM.normal(size=(2, steps, shape[1])).astype("float32") for shape in (given, other))
        for _ in range(2):
            found = net(mx.nd.array(x), mx.nd.array(y, dtype=dtype)).asnumpy()
            np.testing.assert_array_equal(found, np.where(x > 0, y.astype(dtype), 0.5))
            net.hybridize()


@pytest.mark.parametrize("size", [2, 3])
def test_windows_of_images_of_any_size(tmp_path, size):
    counts = [computed(f"c{axis}", f"s{axis}", "math.floordiv", y=size) for axis in (1, 2)]
    c1, c2 = (["c1", 0, 0], ["c2", 0, 0])
    cut = function("reshape", "image", shape=[-1, c1, size, c2, size, 2])
    windows = computed("turned", "reshape", "transpose", perm=[0, 1, 3, 2, 4, 5])
    flat = computed("flat", "turned", "reshape", shape=[-1, size * size, 2])
    twice = computed("twice", "flat", "math.multiply", y=2.0)
    back = computed("back", "twice", "reshape", shape=[-1, c1, c2, size, size, 2])
    image_again = computed("again", "back", "transpose", perm=[0, 1, 3, 2, 4, 5])
    whole = computed("whole", "again", "reshape", shape=[-1, ["s1", 0, 0], ["s2", 0, 0], 2])
    layers = cut, windows, flat, twice, back, image_again, whole
    config = functional(image(None, None, 2), *sizes_of("image", 1, 2), *counts, *layers)
    net = load_model(write(tmp_path, config), layout="NHWC")
    for _ in range(2):
        for rows, columns in ((2, 1), (1, 3)):
            x = RANDOM.normal(size=(2, rows * size, columns * size, 2)).astype("float32")
            np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), 2 * x)
        with pytest.raises(ValueError, match="cannot run on data"):
            net(mx.nd.ones((1, size + 1, size, 2)))
        net.hybridize()


def of_frames(batch, last):
    """Return a net that doubles the frames of videos, as images, and what it computes."""
    s2, s3 = ["s2", 0, 0], ["s3", 0, 0]
    count = [computed("count", "s0", "math.multiply", y=["s1", 0, 0])] if batch else []
    frames = function("reshape", "image", shape=[["count", 0, 0] if batch else -1, s2, s3, 3])
    twice = computed("twice", "reshape", "math.multiply", y=2.0)
    area = computed("area", "s2", "math.multiply", y=s3)
    back = computed("back", "twice", "reshape", shape=[-1, ["s1", 0, 0], *last])
    return functional(image(None, None, None, 3), *sizes_of("image", 0, 1, 2, 3), *count, frames, twice,
                      area, back)  # fmt: skip


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("last", [[["s2", 0, 0], ["s3", 0, 0], 3], [["area", 0, 0], 3]])
def test_frames_of_videos_are_images(tmp_path, batch, last):
    net = load_model(write(tmp_path, of_frames(batch, last)), layout="NHWC")
    for _ in range(2):
        for size in ((2, 3, 5, 4), (1, 2, 4, 4)):
            x = RANDOM.normal(size=(*size, 3)).astype("float32")
            found = net(mx.nd.array(x)).asnumpy()
            np.testing.assert_array_equal(found, 2 * x.reshape(found.shape))
            assert found.shape[:2] == size[:2]
        net.hybridize()


def test_merged_axes_keep_the_sizes_that_are_given(tmp_path):
    made = function("reshape", "image", shape=[-1, ["s1", 0, 0], 3])
    net = load_model(write(tmp_path, functional(image(None, None, 3), *sizes_of("image", 1), made)))
    assert net(mx.nd.ones((2, 3, 4, 4))).shape == (8, 3, 4)  # each row, of as many columns
    with pytest.raises(ValueError, match="cannot run on data"):
        net(mx.nd.ones((2, 3, 4, 5)))
