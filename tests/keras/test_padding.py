"""Padding by numbers that are computed from sizes, against NumPy."""

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, write
from test_computed_parts import computed
from test_functions import sizes_of

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)
OVER = computed("over", "s1", "math.floormod", y=8)
MISSING = [OVER, computed("left", "over", "math.negative"), computed("sum", "left", "math.add", y=8),
           computed("missing", "sum", "math.floormod", y=8)]  # fmt: skip
HALF = [*MISSING, computed("half", "missing", "math.floordiv", y=2),
        computed("rest", "missing", "math.subtract", y=["half", 0, 0])]  # fmt: skip
CEIL = [computed("blocks", "s1", "math.divide", y=8), computed("ceil", "blocks", "math.ceil"),
        computed("whole", "ceil", "cast", dtype="int32"),
        computed("wanted", "whole", "math.multiply", y=8),
        computed("missing", "wanted", "math.subtract", y=["s1", 0, 0])]  # fmt: skip


def padded(pair, value=0, mode="CONSTANT"):
    return function("pad", "image", paddings=[[0, 0], pair, [0, 0]], constant_values=value, mode=mode)


@pytest.mark.parametrize(
    "numbers, pair, width",
    [
        (MISSING, [0, ["missing", 0, 0]], lambda n: (0, -n % 8)),
        (MISSING, [["missing", 0, 0], 1], lambda n: (-n % 8, 1)),
        (HALF, [["half", 0, 0], ["rest", 0, 0]], lambda n: (-n % 8 // 2, -n % 8 - -n % 8 // 2)),
        (CEIL, [2, ["missing", 0, 0]], lambda n: (2, -n % 8)),
        ([], [0, ["s1", 0, 0]], lambda n: (0, n)),
        (
            [computed("n", "s1", "math.negative"), computed("rest", "n", "math.add", y=20)],
            [1, ["rest", 0, 0]],
            lambda n: (1, 20 - n),
        ),
        ([computed("n", "s1", "math.subtract", y=6)], [["n", 0, 0], 3], lambda n: (n - 6, 3)),
        ([*MISSING, computed("half", "s1", "math.floordiv", y=2)], [["half", 0, 0], ["missing", 0, 0]],
         lambda n: (n // 2, -n % 8)),
        ([computed("most", "s1", "math.maximum", y=10),
          computed("rest", "most", "math.subtract", y=["s1", 0, 0])], [0, ["rest", 0, 0]],
         lambda n: (0, max(n, 10) - n)),
    ],
)  # fmt: skip
def test_padding_by_computed_numbers(tmp_path, numbers, pair, width):
    config = functional(image(None, 3), *sizes_of("image", 1), *numbers, padded(pair, 1.5))
    net = load_model(write(tmp_path, config), layout="NHWC")
    for n in (6, 8, 13):
        x = RANDOM.normal(size=(2, n, 3)).astype("float32")
        wanted = np.pad(x, ((0, 0), width(n), (0, 0)), constant_values=1.5)
        for _ in range(2):
            np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), wanted)
            net.hybridize()


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_modes_that_repeat_elements(tmp_path, mode):
    made = padded([["half", 0, 0], ["rest", 0, 0]], mode=mode.upper())
    net = load_model(write(tmp_path, functional(image(None, 3), *sizes_of("image", 1), *HALF, made)))
    for _ in range(2):
        for n in (6, 8, 9):
            x = RANDOM.normal(size=(2, 3, n)).astype("float32")
            wanted = np.pad(x, ((0, 0), (0, 0), (-n % 8 // 2, -n % 8 - -n % 8 // 2)), mode)
            np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), wanted)
        net.hybridize()
    with pytest.raises(mx.MXNetError):
        net(mx.nd.ones((1, 3, 1))).wait_to_read()


def test_padding_to_the_size_of_another_array(tmp_path):
    other = (
        computed("size", "other", "shape"),
        computed("o1", "size", "__operators__.getitem", slice_spec=1),
    )
    left = computed("left", "o1", "math.subtract", y=["s1", 0, 0])
    config = functional(
        image(None, 3), image(None, 1, name="other"), *sizes_of("image", 1), *other, left,
        padded([0, ["left", 0, 0]]), function("math.add", "pad", y=["other", 0, 0]),
        inputs=("image", "other"),
    )  # fmt: skip
    net = load_model(write(tmp_path, config))
    for _ in range(2):
        found = net(mx.nd.ones((1, 3, 4)), mx.nd.ones((1, 1, 6))).asnumpy()
        np.testing.assert_array_equal(found, [[[2, 2, 2, 2, 1, 1]] * 3])
        np.testing.assert_array_equal(net(mx.nd.ones((1, 3, 2)), mx.nd.ones((1, 1, 2))).asnumpy(), 2)
        with pytest.raises(mx.MXNetError):  # as in TensorFlow
            net(mx.nd.ones((1, 3, 5)), mx.nd.ones((1, 1, 3))).wait_to_read()
        net.hybridize()


def test_what_is_padded_by_computed_numbers_trains(tmp_path):
    config = functional(image(None, 3), *sizes_of("image", 1), *MISSING, padded([["missing", 0, 0], 0]))
    net, x = load_model(write(tmp_path, config), layout="NHWC"), mx.nd.ones((2, 13, 3))
    x.attach_grad()
    with mx.autograd.record():
        y = (net(x) * 2).sum()
    y.backward()  # crashed in MXNet
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full((2, 13, 3), 2))


def test_padding_that_is_refused(tmp_path):
    made = padded([0, ["missing", 0, 0]], mode="WRAP")
    with pytest.raises(ValueError, match="pad.*mode='wrap'"):
        load_model(write(tmp_path, functional(image(None, 3), *sizes_of("image", 1), *MISSING, made)))
