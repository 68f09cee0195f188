"""Resizes against ONNX's reference, and one graph for several sizes against matrices."""

import itertools

import mxnet as mx
import numpy as np
import pytest
from checks import check, check_sizes, random

from gluon_same.importing import functions
from gluon_same.importing.functions import Resize

POSITIONS = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
PAIRS = [(5, 10), (5, 7), (7, 5), (9, 3), (1, 3), (4, 1), (6, 6)]


def reference(x, sizes, kind="linear", **attributes):
    """Resize one line by ONNX's reference implementation."""
    op_resize = pytest.importorskip("onnx.reference.ops.op_resize")
    rules = {"linear": op_resize._linear_coeffs, "cubic": op_resize._cubic_coeffs}
    if attributes.pop("antialias", False):
        rules = {
            "linear": op_resize._linear_coeffs_antialias,
            "cubic": op_resize._cubic_coeffs_antialias,
        }
    rounding = attributes.pop("nearest_mode", None)
    rules["nearest"] = lambda ratio, scale: op_resize._nearest_coeffs(ratio, rounding)
    return op_resize._interpolate_nd(x, rules[kind], output_size=list(sizes), **attributes)


@pytest.mark.parametrize("size,new", PAIRS)
@pytest.mark.parametrize("positions", POSITIONS)
def test_weights_are_those_of_onnx(positions, size, new):
    x = random(size, dtype="float64")
    cases = [("linear", {}), ("cubic", {}), ("cubic", {"exclude_outside": True})]
    cases += [("linear", {"antialias": True}), ("cubic", {"antialias": True})]
    cases += [("nearest", {"nearest_mode": mode}) for mode in ROUNDINGS]
    for kind, how in cases:
        if positions == "pytorch_half_pixel" and new == 1:
            continue  # the reference differs from the specification
        want = reference(x, (new,), kind, coordinate_transformation_mode=positions, **how)
        names = {"nearest_mode": "nearest"}
        ours = Resize(kind, positions, **{names.get(name, name): value for name, value in how.items()})
        got = ours.matrix(size, new) @ x
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6, err_msg=f"{kind} {how}")


@pytest.mark.parametrize("kind", ["linear", "nearest"])
@pytest.mark.parametrize("roi", [(0, 1), (0.2, 0.7), (-0.3, 1.4), (0.9, 0.1)])
def test_crops_are_extrapolated(kind, roi):
    x = random(6, dtype="float64")
    how = Resize(kind, "tf_crop_and_resize", nearest="floor")
    for new in (4, 9, 2):
        got = how.matrix(6, new, roi=roi) @ x + 7 * how.outside(6, new, roi)
        rounding = {"nearest_mode": "floor"} if kind == "nearest" else {}
        want = reference(
            x, (new,), kind, roi=np.array(roi), coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=7, **rounding,
        )  # fmt: skip
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def test_other_positions():
    # By the formulas of the specification.
    half = Resize("linear", "half_pixel_symmetric")
    where = (np.arange(3) + 0.5) / 0.6 - 0.5 + (6 / 2) * (1 - 3 / (0.6 * 6))
    want = np.interp(where, np.arange(6), np.arange(6))
    np.testing.assert_allclose(half.matrix(6, 3, 0.6) @ np.arange(6), want)
    for_nearest = Resize("nearest", "tf_half_pixel_for_nn", "floor")
    want = np.floor((np.arange(7) + 0.5) * 5 / 7)
    np.testing.assert_array_equal(for_nearest.matrix(5, 7) @ np.arange(5), want)


def test_a_scale_need_not_be_the_ratio_of_the_sizes():
    want = reference(np.arange(5.0), (3,), coordinate_transformation_mode="half_pixel")
    exact = Resize("linear").matrix(5, 3) @ np.arange(5)
    np.testing.assert_allclose(exact, want)
    where = (np.arange(3) + 0.5) / 0.7 - 0.5
    want = np.interp(where, np.arange(5), np.arange(5))
    np.testing.assert_allclose(Resize("linear").matrix(5, 3, 0.7) @ np.arange(5), want)


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_axes_are_resized_by_matrices(axis):
    matrix = Resize("cubic").matrix(5, 8).astype("float32")
    shape = [2, 3, 4, 6]
    shape[axis] = 5
    x = random(*shape)
    want = np.moveaxis(np.moveaxis(x, axis, -1) @ matrix.T, -1, axis)
    check(functions.resize_by_matrix, want, x, matrix, axis=axis, rank=4, rtol=1e-4, atol=1e-5)
    offset = random(8, seed=1)
    want = np.moveaxis(np.moveaxis(x, axis, -1) @ matrix.T + offset, -1, axis)
    check(functions.resize_by_matrix, want, x, matrix, offset, axis=axis, rank=4, rtol=1e-4, atol=1e-5)


WHOLE = [
    *itertools.product(["linear", "cubic"], ["half_pixel", "pytorch_half_pixel", "asymmetric"], [None]),
    ("nearest", "asymmetric", "floor"),
    ("nearest", "half_pixel", "round_prefer_floor"),
    ("nearest", "asymmetric", "ceil"),
    ("nearest", "tf_half_pixel_for_nn", "floor"),
]


@pytest.mark.parametrize("factor", [2, 3, 4])
@pytest.mark.parametrize("kind,positions,rounding", WHOLE)
def test_whole_factors_serve_every_size(kind, positions, rounding, factor):
    how = Resize(kind, positions, rounding or "floor")
    phases = how.phases(factor)
    assert phases is not None

    def want(x):
        size = x.shape[2]
        return (how.matrix(size, factor * size) @ x).astype("float32")

    sizes = [(random(2, 3, n, 2, seed=n),) for n in (5, 2, 1, 8)]
    how_called = dict(phases=phases, axis=2, rank=4, rtol=1e-4, atol=1e-5)
    check_sizes(functions.resize_by_phases, want, *sizes, **how_called)
    check(functions.resize_by_phases, want(sizes[0][0]), *sizes[0], **how_called)


def test_factors_whose_weights_depend_on_the_size_are_known():
    assert Resize("linear", "align_corners").phases(2) is None
    assert Resize("cubic", exclude_outside=True).phases(2) is None


@pytest.mark.parametrize("kind", ["linear", "cubic", "nearest"])
@pytest.mark.parametrize("positions", [*POSITIONS, "tf_half_pixel_for_nn"])
def test_open_axes_are_resized_to_open_sizes(kind, positions):
    how = Resize(kind, positions, "floor")

    def want(x, like):
        return (how.matrix(x.shape[2], like.shape[1]) @ x).astype("float32")

    pairs = [(5, 9), (7, 3), (1, 3), (6, 1), (4, 4), (9, 10), (3, 7)]
    sizes = [(random(2, 3, n, 2), random(1, m)) for n, m in pairs]
    called = dict(how=tuple(how), axis=(2, 1), rank=4, rtol=1e-4, atol=1e-5)
    check_sizes(functions.resize_open, want, *sizes, **called)
    check(functions.resize_open, want(*sizes[0]), *sizes[0], **called)
    doubled = [(x, x) for x, _ in sizes]
    called = dict(how=tuple(how), axis=(2, 2), rank=4, factor=2, rtol=1e-4, atol=1e-5)

    def want_twice(x, _):
        return (how.matrix(x.shape[2], 2 * x.shape[2]) @ x).astype("float32")

    check_sizes(functions.resize_open, want_twice, *doubled, **called)


IMAGES = [(5, 4), (7, 3), (1, 2)]


def bilinear(x, size, aligned):
    """Resize images by matrices."""
    how = Resize("linear", "align_corners" if aligned else "pytorch_half_pixel")
    rows, columns = (how.matrix(n, m) for n, m in zip(x.shape[2:], size))
    return (rows @ x @ columns.T).astype("float32")


@pytest.mark.parametrize("aligned", [True, False])
def test_images_are_resized_by_one_operator(aligned):
    images = [random(2, 3, *size) for size in IMAGES]
    how = dict(aligned=aligned, rtol=1e-4, atol=1e-5)
    for size in ((9, 3), (1, 8), (5, 4)):
        calls = [(x,) for x in images]
        check_sizes(
            functions.resize, lambda x, s=size: bilinear(x, s, aligned), *calls, size=size, **how
        )
    for times in ((2, 3), (1, 4)):

        def grown(x, times=times):
            return bilinear(x, [n * m for n, m in zip(x.shape[2:], times)], aligned)

        calls = [(x,) for x in images]
        check_sizes(functions.resize, grown, *calls, size=times, times=True, **how)


def test_unknown_words_are_refused():
    for how in (Resize("linear", "middle"), Resize("area"), Resize(nearest="up")):
        with pytest.raises(ValueError, match="not known"):
            how.matrix(3, 5)


def test_gradients_reach_images_through_matrices():
    x = mx.nd.ones((1, 1, 2, 3))
    x.attach_grad()
    matrix = mx.nd.array(Resize("linear").matrix(2, 5))
    with mx.autograd.record():
        functions.resize_by_matrix(mx.nd, x, matrix, axis=2, rank=4).sum().backward()
    want = matrix.sum(0).asnumpy()[None, None, :, None].repeat(3, 3)
    np.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-6)
