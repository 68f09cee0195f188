import mxnet as mx
import pytest

from gluon_same import arrays


def test_a_symbol_of_fixed_shape_refuses_other_shapes():
    x = arrays.fix_shape(mx.sym.var("x"), (None, 3, None, 8), "only_8")
    assert x.infer_shape(x=(2, 3, 5, 8))[1] == [(2, 3, 5, 8)]
    for wrong in ((2, 3, 5, 16), (2, 6, 5, 8), (2, 3, 5, 4)):
        with pytest.raises(mx.MXNetError, match="only_8_axis"):
            x.infer_shape(x=wrong)
