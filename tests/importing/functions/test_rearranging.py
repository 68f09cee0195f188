"""Functions that move, pad and cut elements, against NumPy."""

import mxnet as mx
import numpy as np
import pytest
from checks import check, check_sizes, random, run

from gluon_same.importing import functions
from gluon_same.importing.block import Function

MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8"])
def test_any_axes_are_padded(mode, dtype):
    value = {"constant_values": 3} if mode == "constant" else {}
    for shape, pairs in [((4, 3, 5), [(1, 2), (0, 2), (3, 0)]), ((4,), [(2, 1)])]:
        x = random(*shape, dtype=dtype)
        want = np.pad(x, pairs, mode=mode, **value)
        check(functions.pad, want, x, pairs=pairs, mode=mode, value=3)
        check_sizes(
            functions.pad,
            lambda x, pairs=pairs: np.pad(x, pairs, mode=mode, **value),
            *[(x,), (np.concatenate([x, x]),)],
            pairs=pairs,
            mode=mode,
            value=3,
        )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ndim", [2, 3])
def test_images_are_padded(mode, ndim):
    x = random(2, 3, *(4, 5, 6)[:ndim])
    pairs = [(0, 0), (0, 0), (1, 3), (2, 0), (0, 1)][: 2 + ndim]
    check(functions.pad, np.pad(x, pairs, mode=mode), x, pairs=pairs, mode=mode, native=True)


def test_infinite_edges_do_not_spoil_constants():
    x = np.full((1, 2), np.inf, "float32")
    check(functions.pad, np.pad(x, [(0, 0), (1, 0)]), x, pairs=[(0, 0), (1, 0)])


@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_negative_amounts_crop_first(mode):
    x = random(2, 5, 6)
    want = np.pad(x[:, 1:, :-2], [(0, 0), (0, 2), (1, 0)], mode=mode)
    check(functions.pad, want, x, pairs=[(0, 0), (-1, 2), (1, -2)], mode=mode)


@pytest.mark.parametrize("mode", ["reflect", "symmetric", "wrap"])
def test_borders_that_an_axis_cannot_fill_are_refused(mode):
    block = Function(functions.pad, "Pad", pairs=[(0, 0), (0, 4)], mode=mode)
    block.hybridize()
    assert run(block, random(2, 5)).shape == (2, 9)
    with pytest.raises(mx.MXNetError, match="Invalid"):
        run(block, random(2, 3))


@pytest.mark.parametrize("axes", [(0,), (1, 2), ()])
def test_axes_are_flipped(axes):
    reference = lambda x: np.flip(x, axes)  # noqa: E731
    check(functions.flip, reference(random(2, 5, 3)), random(2, 5, 3), axes=axes)
    sizes = [(random(2, n, 3),) for n in (4, 7)]
    check_sizes(functions.flip, reference, *sizes, axes=axes)


def test_gradients_of_flips_add_up():
    block = Function(functions.flip, "Flip", axes=(1,))
    block.hybridize()
    x, weights = mx.nd.ones((2, 3)), mx.nd.array([[1, 2, 3], [4, 5, 6]])
    x.attach_grad("add")
    for _ in range(2):
        with mx.autograd.record():
            (block(x) * weights).sum().backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * weights.asnumpy()[:, ::-1])


@pytest.mark.parametrize("shift", [0, 1, -2, 4])
def test_axes_are_rolled(shift):
    sizes = [(random(2, n, 3),) for n in (5, 8)]
    check_sizes(functions.roll, lambda x: np.roll(x, shift, 1), *sizes, shifts=[shift], axes=[1])


def test_uneven_splits():
    x = random(2, 7, 3)
    check(functions.split, np.split(x, [2, 6], 1), x, axis=1, sizes=(2, 4, 1))
    check(functions.split, [x], x, axis=2, sizes=(3,))


@pytest.mark.parametrize("columns_first", [True, False])
def test_channels_become_blocks_of_pixels(columns_first):
    def reference(x):
        n, c, h, w = x.shape
        if columns_first:
            y = x.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3)
        else:
            y = x.reshape(n, 2, 2, c // 4, h, w).transpose(0, 3, 4, 1, 5, 2)
        return y.reshape(n, c // 4, 2 * h, 2 * w)

    sizes = [(random(2, 8, 3, 5),), (random(1, 8, 4, 1),)]
    how = dict(block=2, columns_first=columns_first)
    check(functions.depth_to_space, reference(*sizes[0]), *sizes[0], **how)
    check_sizes(functions.depth_to_space, reference, *sizes, **how)


@pytest.mark.parametrize(
    "first,count,shape", [(1, 3, (2, 60)), (0, 2, (6, 4, 5)), (2, 0, (2, 3, 1, 4, 5))]
)
def test_axes_are_merged(first, count, shape):
    x = random(2, 3, 4, 5)
    check(functions.merge_axes, x.reshape(shape), x, first=first, count=count, rank=4)


@pytest.mark.parametrize("times", [(2, 3, 1, 2), (1, 1, 1, 1)])
def test_arrays_are_tiled(times):
    sizes = [(random(2, n, 3, 2),) for n in (4, 5)]
    check_sizes(functions.tile, lambda x: np.tile(x, times), *sizes, times=times)
