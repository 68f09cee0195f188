import itertools

import mxnet as mx
import numpy as np
import pytest

from gluon_same import arrays


@pytest.mark.parametrize("layout", ["NCW", "NCHW", "NHWC"])
def test_cut_drops_and_then_reverses(layout):
    x = mx.nd.random.normal(shape=(2, 5, 6, 7)[: len(layout)])
    for lead, trail, reverse in itertools.product([0, 1, 2], [0, 1], [False, True]):
        cuts = [(lead, trail, reverse)] * (len(layout) - 2)
        want = x.asnumpy()
        for axis, kind in enumerate(layout):
            if kind not in "NC":
                want = np.take(want, range(lead, want.shape[axis] - trail), axis)
                want = np.flip(want, axis) if reverse else want
        np.testing.assert_array_equal(arrays.cut(mx.nd, x, layout, cuts).asnumpy(), want)


def test_cutting_nothing_is_free():
    x = mx.nd.ones((1, 2, 3))
    assert arrays.cut(mx.nd, x, "NCW", [(0, 0, False)]) is x


def test_a_symbol_of_fixed_shape_is_refused_any_other():
    x = arrays.fix_shape(mx.sym.var("x"), (None, 3, None, 8), "only_8")
    assert x.infer_shape(x=(2, 3, 5, 8))[1] == [(2, 3, 5, 8)]
    for wrong in ((2, 3, 5, 16), (2, 6, 5, 8), (2, 3, 5, 4)):
        with pytest.raises(mx.MXNetError, match="only_8_axis"):
            x.infer_shape(x=wrong)
