"""Functions that sample images at given positions, or put patches together."""

import itertools
from typing import Any, Sequence

from .elementwise import round_half_even
from .indexing import indices_along, places_along
from .padding import pad
from .resizing import Resize


def grid_sample(
    F: Any, x: Any, grid: Any, ndim: int, mode: str, padding: str, align_corners: bool
) -> Any:
    """Sample channels-first data at positions in [-1, 1], as PyTorch and ONNX define it.

    Parameters
    ----------
    x : of shape (N, C, D1, ..., Dn)
    grid : of shape (N, O1, ..., On, n)
        Positions, of which the first belongs to the last axis of ``x``.
    ndim : int
        Number n of spatial axes.
    mode : {'linear', 'nearest', 'cubic'}
    padding : {'zeros', 'border', 'reflection'}
        What is outside of the data.
    align_corners : bool
        Whether -1 and 1 are the centers of the outer elements, or the outer edges.
    """
    grid = F.cast(grid, dtype="float32")
    places = []
    for axis in range(ndim):
        size = _size(F, x, axis, ndim)
        place = F.slice_axis(grid, axis=-1, begin=ndim - 1 - axis, end=ndim - axis)
        place = F.squeeze(place, axis=-1) + 1
        if align_corners:
            places.append(F.broadcast_mul(place, (size - 1) * 0.5))
        else:
            places.append(F.broadcast_mul(place, size * 0.5) - 0.5)
    return sampled_at(F, x, places, mode, padding, align_corners)


def sampled_at(
    F: Any, x: Any, places: Sequence[Any], mode: str, padding: str, align_corners: bool = True
) -> Any:
    """Sample channels-first data at places along each axis, of shape (N, O1, ..., On), from 0.

    The arguments are those of :func:`grid_sample`.
    """
    ndim = len(places)
    channels_last = F.transpose(x, axes=(0, *range(2, ndim + 2), 1))
    axes = []  # for each axis, the (index, weight, whether inside) of each neighbor
    for axis, place in enumerate(places):
        size = _size(F, x, axis, ndim)
        axes.append([_neighbor(F, each, size, padding, align_corners) for each in _taps(F, place, mode)])
    batch = F.reshape(indices_along(F, x, 0, ndim + 2, "float32"), shape=(-1, *(1,) * ndim))
    batch = F.broadcast_like(batch, places[0])
    total = None
    for taps in itertools.product(*axes):
        indices, weights = zip(*taps)
        part = F.gather_nd(channels_last, F.stack(batch, *indices, axis=0))
        for weight in weights:
            part = part if weight is None else F.broadcast_mul(part, F.expand_dims(weight, axis=-1))
        total = part if total is None else total + part
    return F.transpose(total, axes=(0, ndim + 1, *range(1, ndim + 1)))


def _size(F, x, axis, ndim):
    """Return the size of a spatial axis, with the axes of a coordinate."""
    sizes = F.cast(F.shape_array(x), dtype="float32")
    return F.reshape(F.slice_axis(sizes, axis=0, begin=axis + 2, end=axis + 3), shape=(1,) * (ndim + 1))


def affine_transform(F: Any, x: Any, transform: Any, padding: str, value: float) -> Any:
    """Sample images of shape (N, C, H, W) bilinearly where transforms move their elements.

    ``transform`` is of shape (N, 8) or (1, 8): element (row, column) of the result is that at ``((b0 *
    column + b1 * row + b2) / k, (a0 * column + a1 * row + a2) / k)``, where ``k`` is ``c0 * column + c1
    * row + 1``, for the numbers ``a0 a1 a2 b0 b1 b2 c0 c1``. ``value`` is outside if ``padding`` is
    'zeros'.
    """
    batch = F.reshape(indices_along(F, x, 0, 4, "float32"), shape=(-1, 1, 1)) * 0
    row, column = (places_along(F, x, axis, "float32") for axis in (2, 3))
    row, column = F.reshape(row, shape=(1, -1, 1)), F.reshape(column, shape=(1, 1, -1))
    numbers = [F.slice_axis(transform, axis=1, begin=i, end=i + 1) for i in range(8)]
    numbers = [F.broadcast_add(batch, F.expand_dims(each, axis=2)) for each in numbers]

    def plane(i, last):
        y = F.broadcast_add(F.broadcast_mul(column, numbers[i]), F.broadcast_mul(row, numbers[i + 1]))
        return F.broadcast_add(y, last)

    scale = plane(6, batch + 1)
    places = [plane(i, numbers[i + 2]) / scale for i in (3, 0)]
    return sampled_at(F, x - value, places, "linear", padding) + value


def affine_grid(F: Any, theta: Any, *arrays: Any, axes: Sequence[int], align_corners: bool) -> Any:
    """Return the positions for :func:`grid_sample` to which matrices move those of an image.

    ``theta`` is of shape (N, n, n + 1), and axis ``axes[i]`` of ``arrays[i]`` as long as the image's.
    """
    n = len(arrays)

    def column(i):
        return F.reshape(F.slice_axis(theta, axis=2, begin=i, end=i + 1), shape=(0, *(1,) * n, -1))

    total = column(n)
    for i, (like, axis) in enumerate(zip(arrays, axes)):
        line = places_along(F, like, axis, "float32") * 2
        count = F.sum(F.ones_like(line))
        if align_corners:
            place = F.broadcast_div(line, F.broadcast_maximum(count - 1, F.ones_like(count))) - 1
        else:
            place = F.broadcast_div(line + 1, count) - 1
        place = F.reshape(place, shape=(1, *(1,) * i, -1, *(1,) * (n - i)))
        total = F.broadcast_add(total, F.broadcast_mul(place, column(n - 1 - i)))
    return total


def _taps(F, place, mode):
    """Return the pairs of index and weight of the neighbors of a position along one axis."""
    if mode == "nearest":
        return [(round_half_even(F, place), None)]
    first = F.floor(place)
    return [(first + tap, weight) for tap, weight in Resize(mode).taps(place - first).items()]


def _neighbor(F, tap, size, padding, align_corners):
    """Return an index inside of the data, and the weight of what is there."""
    index, weight = tap
    if padding == "zeros":
        inside = (index >= 0) * F.broadcast_lesser(index, size)
        weight = inside if weight is None else weight * inside
    elif padding == "reflection":
        # The reflecting points are the outer centers or the outer edges.
        edge = 0 if align_corners else 0.5
        span = F.broadcast_maximum(size - 1 + 2 * edge, F.ones_like(size))
        turn = F.broadcast_mod(F.abs(index + edge), 2 * span)
        index = F.broadcast_sub(span - edge, F.abs(F.broadcast_sub(turn, span)))
    index = F.broadcast_minimum(F.relu(index), size - 1)
    return index, weight


def roi_align(F: Any, x: Any, rois: Any, batch_indices: Any, **arguments: Any) -> Any:
    """Average samples in each bin of each region of interest, with the arguments of MXNet's ROIAlign."""
    # MXNet reads outside of the array if an index is.
    most = F.slice_axis(F.shape_array(x), axis=0, begin=0, end=1) - 1
    batch = F.broadcast_minimum(F.clip(F.cast(batch_indices, dtype="int64"), 0, 2**62), most)
    batch = F.cast(F.expand_dims(batch, axis=1), dtype="float32")
    return F.contrib.ROIAlign(x, F.concat(batch, rois, dim=1), **arguments)


def deformable_convolution(
    F: Any, x: Any, weight: Any, offset: Any, *more: Any, masked: bool, padding: Any, **window: Any
) -> Any:
    """Convolve images at places that are moved by offsets, as ONNX's DeformConv and PyTorch do.

    ``more`` are the mask, if ``masked``, and the bias, if there is one. ``padding`` is (before, after)
    for each axis, and ``window`` the other arguments of MXNet's operator.
    """
    # MXNet's operator without a mask does not interpolate between the outer elements and zero.
    mask = more[0] if masked else F.ones_like(F.split(offset, num_outputs=2, axis=1)[0])
    bias = more[masked:]
    ends = [before for before, _ in padding]
    if any(before != after for before, after in padding):
        x, ends = pad(F, x, ((0, 0), (0, 0), *padding)), [0, 0]
    convolve = F.contrib.ModulatedDeformableConvolution
    return convolve(x, offset, mask, weight, *bias, pad=ends, no_bias=not bias, **window)


def col2im(
    F: Any, x: Any, size: Sequence[int], kernel: Sequence[int], stride: Sequence[int],
    dilate: Sequence[int], pads: Sequence[int],
) -> Any:  # fmt: skip
    """Add up patches, of shape (N, C * elements, patches), at their places in images of a size."""
    n = len(size)
    before, whole = pads[:n], [a + b + c for a, b, c in zip(size, pads, pads[n:])]
    y = F.col2im(x, output_size=whole, kernel=kernel, stride=stride, dilate=dilate)
    ends = [a + b for a, b in zip(before, size)]
    return F.slice(y, begin=(None, None, *before), end=(None, None, *ends))
