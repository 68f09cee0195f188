import mxnet as mx
import numpy as np
import pytest

from gluon_same import geometry, resize
from gluon_same.arguments import Window

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12]
LAYOUTS = ["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"]


def data(layout, size):
    shape = [{"N": 2, "C": 3}.get(axis, size + i) for i, axis in enumerate(layout)]
    return mx.nd.random.normal(shape=tuple(shape))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "fill, mode, padded",
    [("zeros", "constant", False), ("zeros", "constant", True), ("edge", "edge", False)],
)
def test_extend_is_numpys_pad(layout, fill, mode, padded):
    amounts = [(0, 1), (2, 0), (1, 3)][: len(layout) - 2]
    pairs = iter(amounts)
    width = [(0, 0) if axis in "NC" else next(pairs) for axis in layout]
    for size in (1, 4):
        x = data(layout, size)
        got = resize.extend(mx.nd, x, amounts, layout, fill, padded).asnumpy()
        np.testing.assert_array_equal(got, np.pad(x.asnumpy(), width, mode=mode))


def test_extend_by_nothing_is_the_input():
    x = data("NCHW", 4)
    assert resize.extend(mx.nd, x, [(0, 0), (0, 0)], "NCHW") is x


@pytest.mark.parametrize("dtype", ["float32", None])
@pytest.mark.parametrize("mode", ["same", "same_lower"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_shift_pads_by_the_size_it_sees(layout, mode, dtype):
    axis = [i for i, a in enumerate(layout) if a not in "NC"]
    for span, stride in [(3, 2), (2, 2), (5, 3), (7, 4), (3, 4), (4, 7), (2, 3)]:
        windows = [Window(span, stride, mode), None, Window(span, stride, mode)][: len(axis)]
        symbol = resize.shift(mx.sym, mx.sym.var("x"), windows, layout, dtype=dtype)
        for size in SIZES:
            x = data(layout, size)
            got = symbol.eval(x=x)[0].asnumpy()
            want = x.asnumpy()
            for i, window in zip(axis, windows):
                n = x.shape[i]
                if window is None:
                    continue
                before, after = geometry.same_padding(n, span, stride, mode=mode)
                out = -(-n // stride)
                reach = (out - 1) * stride + span
                # as many windows as wanted, and the input where they want it
                assert (got.shape[i] - span) // stride + 1 == out
                pad = [(before, max(after, 0)) if j == i else (0, 0) for j in range(want.ndim)]
                want = np.pad(want, pad)
                want = np.take(want, range(min(reach, want.shape[i])), axis=i)
                got = np.take(got, range(want.shape[i]), axis=i)
            np.testing.assert_array_equal(got, want)


def test_one_channel_is_the_first_of_the_first_sample():
    x = data("NCHW", 4)
    np.testing.assert_array_equal(resize.one_channel(mx.nd, x, 1).asnumpy(), x.asnumpy()[:1, :1])
    assert resize.one_channel(mx.nd, data("NHWC", 4), 3).shape == (1, 5, 6, 1)
