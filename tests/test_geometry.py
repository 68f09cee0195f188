import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gluon_same import geometry as g

sizes = st.integers(1, 300)
kernels, strides, dilations = st.integers(1, 12), st.integers(1, 9), st.integers(1, 5)
modes = st.sampled_from(["same", "same_lower"])


@given(sizes, kernels, strides, dilations, modes)
def test_same_padding_is_the_formula_of_tensorflow(n, k, s, d, mode):
    k_eff = d * (k - 1) + 1
    out = (n + s - 1) // s
    total = max((out - 1) * s + k_eff - n, 0)
    before, after = g.same_padding(n, k, s, d, mode)
    assert before + after == total
    assert (after - before if mode == "same" else before - after) == total % 2
    assert g.output_size(n, k, s, d, mode) == out


@given(sizes, kernels, strides, dilations, modes)
def test_constant_padding_places_the_windows_of_same_at_every_size(n, k, s, d, mode):
    constant = g.constant_padding(k, s, d, mode)
    if constant is not None:
        assert constant[0] == g.same_padding(n, k, s, d, mode)[0]
        assert g.output_size(n, k, s, d, constant) == g.output_size(n, k, s, d, mode)


@given(kernels, strides, dilations, modes)
def test_constant_padding_is_none_only_where_the_size_matters(k, s, d, mode):
    befores = {g.same_padding(n, k, s, d, mode)[0] for n in range(1, 3 * s + 1)}
    assert (g.constant_padding(k, s, d, mode) is None) == (len(befores) > 1)


@given(sizes, kernels, strides, dilations)
def test_same_lower_is_same_mirrored(n, k, s, d):
    assert g.same_padding(n, k, s, d, "same_lower") == g.same_padding(n, k, s, d)[::-1]


@given(sizes, kernels, strides, dilations, modes)
def test_transposed_padding_gives_in_times_stride(n, k, s, d, mode):
    (before, after), extra = g.transposed_padding(k, s, d, mode)
    assert (n - 1) * s + d * (k - 1) + 1 - before - after + extra == n * s


def test_output_size_counts_windows_that_fit():
    for n, k, s, pads in itertools.product(range(4, 9), range(1, 5), range(1, 4), [(0, 0), (2, 1)]):
        starts = [i for i in range(0, n + sum(pads), s) if i + k <= n + sum(pads)]
        assert g.output_size(n, k, s, padding=pads) == len(starts)


@pytest.mark.parametrize(
    "size, kernel, stride, padding, out",
    [
        (100, 4, 1, (1, 2), 100),  # a (4, 1) kernel on 100x20
        (20, 1, 1, (0, 0), 20),
        (13, 2, 1, (0, 1), 13),  # YOLOv3-tiny's last pool
        (30, 2, 2, (0, 0), 15),
        (7, 2, 2, (0, 1), 4),  # 28 > 14 > 7 > 4
        (224, 7, 2, (2, 3), 112),
        (224, 3, 2, (0, 1), 112),
        (225, 3, 2, (1, 1), 113),
    ],
)
def test_known_values(size, kernel, stride, padding, out):
    assert g.same_padding(size, kernel, stride) == padding
    assert g.output_size(size, kernel, stride) == out


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: g.same_padding(0, 3), ValueError, "in_size=0"),
        (lambda: g.same_padding(5, 0), ValueError, "kernel=0"),
        (lambda: g.same_padding(5, 3, stride=-1), ValueError, "stride=-1"),
        (lambda: g.same_padding(5, 3, dilation=0), ValueError, "dilation=0"),
        (lambda: g.same_padding(5.0, 3), TypeError, "in_size=5.0"),
        (lambda: g.same_padding(True, 3), TypeError, "in_size=True"),
        (lambda: g.same_padding(5, 3, padding="valid"), ValueError, "'same_lower'"),
        (lambda: g.output_size(5, 3, padding="full"), ValueError, "padding='full'"),
        (lambda: g.output_size(5, 3, padding=(1, -1)), ValueError, "padding=-1"),
        (lambda: g.output_size(5, 3, padding=(1, 2, 3)), ValueError, "padding=(1, 2, 3)"),
        (lambda: g.output_size(2, 3, padding="valid"), ValueError, "kernel=3"),
    ],
)
def test_errors_name_the_argument_and_its_value(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()


def test_padding_of_numpys_integers():
    assert g.padding_of((np.int64(2), 0), 13, 3) == (2, 0)


def test_mirrored_windows():
    assert g.Window(3, 2, "same").mirrored().padding == "same_lower"
    assert g.Window(3, 2, (1, 0)).mirrored().padding == (0, 1)
