import numpy as np
import pytest

from gluon_same import arguments as a


def test_numpy_integers_are_accepted():
    assert a.per_axis("kernel", np.int64(3), 2) == (3, 3)
    assert a.per_axis("kernel", [np.int32(3), 1], 2) == (3, 1)


@pytest.mark.parametrize("value", [True, 1.0, "3", None, np.float32(2), [1, 2.0]])
def test_other_types_are_refused(value):
    with pytest.raises(TypeError, match="kernel="):
        a.per_axis("kernel", value, 2)


@pytest.mark.parametrize(
    "padding, normal",
    [
        ("SAME", "same"),
        ("Same_Lower", "same_lower"),
        ("valid", ((0, 0), (0, 0))),
        (1, ((1, 1), (1, 1))),
        ((1, 2), ((1, 1), (2, 2))),
        (((1, 2), (0, 3)), ((1, 2), (0, 3))),
        ([[1, 2], [0, 3]], ((1, 2), (0, 3))),
    ],
)
def test_padding_is_normalized(padding, normal):
    assert a.normalize_padding("padding", padding, (3, 3)) == normal


def test_causal_padding_is_all_before():
    assert a.normalize_padding("padding", "causal", (5,), causal=True) == ((4, 0),)


@pytest.mark.parametrize("layout, shape", [("NCHW", (1, 2, 3)), ("NCW", (1, 2, 3, 4))])
def test_rank_is_checked_against_the_layout(layout, shape):
    with pytest.raises(ValueError, match=layout):
        a.check_rank(shape, layout)


def test_no_axis_may_be_empty():
    with pytest.raises(ValueError, match="an empty axis"):
        a.check_rank((1, 2, 0), "NCW")
