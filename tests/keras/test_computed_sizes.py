"""Functions of arrays with computed sizes and axes of any size, against NumPy."""

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, write
from test_computed_parts import computed
from test_functions import sizes_of

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)
T = ["s1", 0, 0]
WHOLE = dict(start=None, stop=None, step=None)


def part(before, start=None, stop=None, name="part"):
    spec = [WHOLE, dict(start=start, stop=stop, step=None)]
    return computed(name, before, "__operators__.getitem", slice_spec=spec)


def of_number(name, number, function_name, **arguments):
    """Return a call of a function whose first operand is a number."""
    made = computed(name, "s1", function_name)
    return {**made, "inbound_nodes": [["_CONSTANT_VALUE", -1, number, arguments]]}


IDS = computed("ids", "image", "cast", dtype="int32")
HALF_OF_STEPS = computed("share", "s1", "math.divide", y=4)
DOUBLE = computed("double", "s1", "math.multiply", y=2)

CASES = {
    "heads of attention, and a part of them": (
        [computed("split", "image", "reshape", shape=[-1, T, 3, 2]), part("split", 1)],
        lambda x: x.reshape(len(x), -1, 3, 2)[:, 1:],
    ),
    "steps of a turned array, and a part of them": (
        [computed("turned", "image", "transpose", perm=[0, 2, 1]),
         computed("steps", "turned", "reshape", shape=[-1, T, 6]), part("steps", 1)],
        lambda x: np.swapaxes(x, 1, 2).reshape(x.shape)[:, 1:],
    ),
    "steps times their number": (
        [part("image", stop=8), computed("sizes", "part", "compat.v1.shape"),
         computed("count", "sizes", "__operators__.getitem", slice_spec=1),
         computed("y", "part", "math.multiply", y=["count", 0, 0])],
        lambda x: x[:, :8] * min(x.shape[1], 8),
    ),
    "less the first step": (
        [part("image", stop=1), computed("y", "image", "math.subtract", y=["part", 0, 0])],
        lambda x: x - x[:, :1],
    ),
    "rolled steps": (
        [computed("y", "image", "roll", shift=[2, -7], axis=[1, 2])],
        lambda x: np.roll(x, (2, -7), (1, 2)),
    ),
    "some steps": (
        [computed("y", "image", "gather", indices=[0, 3, 1], axis=1)],
        lambda x: x[:, [0, 3, 1]],
    ),
    "every second step": (
        [of_number("places", 0, "range", limit=T, delta=2),
         computed("y", "image", "gather", indices=["places", 0, 0], axis=1)],
        lambda x: x[:, ::2],
    ),
    "coordinates": (
        [of_number("line", -1.0, "linspace", stop=1.0, num=T),
         computed("row", "line", "expand_dims", axis=1),
         computed("y", "image", "math.add", y=["row", 0, 0])],
        lambda x: x + np.linspace(-1, 1, x.shape[1])[:, None],
    ),
    "rows with a size of whole numbers": (
        [IDS, computed("sizes", "ids", "compat.v1.shape"),
         computed("steps", "sizes", "__operators__.getitem", slice_spec=1),
         computed("count", "steps", "math.multiply", y=6),
         computed("y", "image", "reshape", shape=[-1, ["count", 0, 0]])],
        lambda x: x.reshape(len(x), -1),
    ),
    "whole numbers and a number of steps": (
        [IDS, computed("times", "ids", "math.multiply", y=T), computed("y", "times", "math.add", y=7)],
        lambda x: x.astype(int) * x.shape[1] + 7,
    ),
    "whole numbers and a mean of sizes": (
        [IDS, HALF_OF_STEPS, computed("y", "ids", "math.multiply", y=["share", 0, 0])],
        lambda x: x.astype(int) * x.shape[1] / 4,
    ),
    "steps up to a multiple of 8": (
        [computed("rest", "s1", "math.floormod", y=8),
         of_number("more", 8, "math.subtract", y=["rest", 0, 0]),
         computed("y", "image", "pad", paddings=[[0, 0], [0, ["more", 0, 0]], [0, 0]])],
        lambda x: np.pad(x, [(0, 0), (0, 8 - x.shape[1] % 8), (0, 0)]),
    ),
    "the last half, rounded down": (
        [computed("half", "s1", "math.floordiv", y=2), computed("from", "half", "math.negative"),
         part("image", ["from", 0, 0])],
        lambda x: x[:, -(x.shape[1] // 2) :],
    ),
    "the last half, rounded up": (
        [computed("from", "s1", "math.negative"), computed("half", "from", "math.floordiv", y=2),
         part("image", ["half", 0, 0])],
        lambda x: x[:, -x.shape[1] // 2 :],
    ),
    "all but the last half": (
        [computed("half", "s1", "math.floordiv", y=2), computed("to", "half", "math.negative"),
         part("image", None, ["to", 0, 0])],
        lambda x: x[:, : -(x.shape[1] // 2)],
    ),
    "the first step of the last half": (
        [computed("half", "s1", "math.floordiv", y=2), computed("at", "half", "math.negative"),
         computed("y", "image", "__operators__.getitem", slice_spec=[WHOLE, ["at", 0, 0]])],
        lambda x: x[:, -(x.shape[1] // 2)],
    ),
    "every step twice, by counts that are floats": (
        [computed("new", "image", "expand_dims", axis=2),
         computed("tiled", "new", "tile", multiples=[1.0, 1.0, 2.0, 1.0]),
         computed("y", "tiled", "reshape", shape=[-1, ["double", 0, 0], 6])],
        lambda x: np.repeat(x, 2, 1),
    ),
    "a matrix without samples": (
        [computed("eye", "s1", "eye"), computed("y", "eye", "linalg.matmul", b=["image", 0, 0])],
        lambda x: x,
    ),
}  # fmt: skip


@pytest.mark.parametrize("layers, wanted", CASES.values(), ids=CASES)
def test_axes_of_any_size(tmp_path, layers, wanted):
    config = functional(image(None, 6), *sizes_of("image", 1), DOUBLE, *layers)
    net = load_model(write(tmp_path, config), layout="NHWC")
    for steps in (4, 9, 6):
        x = RANDOM.normal(size=(2, steps, 6)).astype("float32")
        for _ in range(2):
            np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), wanted(x), 1e-5, 1e-6)
            net.hybridize()


def test_steps_that_an_array_does_not_have(tmp_path):
    made = function("gather", "image", indices=[0, 5], axis=1)
    net = load_model(write(tmp_path, functional(image(None, 6), made)), layout="NHWC")
    with pytest.raises(mx.MXNetError, match="out of bound"):
        net(mx.nd.zeros((1, 4, 6))).asnumpy()


@pytest.mark.parametrize("index", [3, -4])
def test_rows_that_a_table_does_not_have(tmp_path, index):
    table = np.arange(6.0).reshape(3, 2)
    made = computed("rows", "ids", "gather")
    made["inbound_nodes"] = [["_CONSTANT_VALUE", -1, table.tolist(), {"indices": ["ids", 0, 0]}]]
    net = load_model(write(tmp_path, functional(image(4), IDS, made)), layout="NHWC")
    got = net(mx.nd.array([[2, 0, 1, 0]])).asnumpy()
    np.testing.assert_array_equal(got, table[[[2, 0, 1, 0]]])
    with pytest.raises(mx.MXNetError, match="out of bound"):
        net(mx.nd.array([[0, index, 0, 0]])).asnumpy()
