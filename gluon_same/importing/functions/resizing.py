"""Interpolation of images.

A resize is separable: along each axis, every output is a weighted sum of inputs. At a known size these
weights are a matrix. For a whole factor, the weights of an output depend only on its phase, the position
modulo the factor, for every size; they are found from matrices at small sizes.
"""

from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .padding import pad

#: How far from the middle of two elements a position is taken for it, as in onnxruntime.
_TIE = 1e-6

#: Rounding of positions to the nearest element, by NumPy or MXNet, and by whether the axis shrinks. The
#: last one is that of ONNX before operator set 11.
_NEAREST = {
    "round_prefer_floor": lambda xp, x, _: xp.floor(x) + (x - xp.floor(x) > 0.5 + _TIE),
    "round_prefer_ceil": lambda xp, x, _: xp.floor(x) + (x - xp.floor(x) >= 0.5 - _TIE),
    "floor": lambda xp, x, _: xp.floor(x),
    "ceil": lambda xp, x, _: xp.ceil(x),
    "ceil_if_smaller": lambda xp, x, smaller: xp.floor(x) + (xp.ceil(x) - xp.floor(x)) * smaller,
}

#: Sizes at which the weights for whole factors are compared.
_SIZES = (11, 1, 2, 3, 4, 5, 12)


class Resize(NamedTuple):
    """How to resize, in the terms of ONNX's Resize."""

    kind: str = "nearest"  #: 'nearest', 'linear' or 'cubic'
    positions: str = "half_pixel"  #: the coordinate_transformation_mode
    nearest: str = "round_prefer_floor"
    cubic: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    steps: int = 0  #: of positions between two elements in `resize_open`; 0 for any
    scale: Optional[float] = None  #: in `resize_open`, if it is not exactly the ratio of the sizes
    rounded: bool = False  #: whether the ratio of the sizes is rounded to float32, as in onnxruntime

    def matrix(
        self, size: int, new: int, scale: Optional[float] = None, roi: Tuple[float, float] = (0, 1)
    ) -> np.ndarray:
        """Return the weights of ``size`` inputs for each of ``new`` outputs.

        Parameters
        ----------
        size, new : int
        scale : float, optional
            The ratio of the sizes, if it is not exactly ``new / size``.
        roi : pair of float
            Start and end for the positions 'tf_crop_and_resize'.

        Raises
        ------
        ValueError
            If an attribute is not known.
        """
        if scale is None and self.rounded:
            scale = float(np.float32(new) / np.float32(size))
        where = self._positions(size, new, scale, roi)
        if self.kind == "nearest":
            smaller = new < size if scale is None else scale < 1
            nearest = np.clip(self.to_nearest(np, where, smaller), 0, size - 1)
            weights = (nearest[:, None] == np.arange(size)).astype(float)
        else:
            shrink = min(new / size if scale is None else scale, 1.0) if self.antialias else 1.0
            reach = int(np.ceil((1 if self.kind == "linear" else 2) / shrink)) + 1
            taps = np.floor(where)[:, None] + np.arange(-reach, reach + 1)
            amounts = self.kernel(np.abs(taps - where[:, None]) * shrink)
            if self.exclude_outside:
                amounts = amounts * ((taps >= 0) & (taps < size))
            amounts /= amounts.sum(1, keepdims=True)
            weights = np.zeros((new, size))
            rows = np.arange(new)[:, None]
            np.add.at(weights, (rows, np.clip(taps, 0, size - 1).astype(int)), amounts)
        return weights * ~self.outside(size, new, roi)[:, None]

    def outside(self, size: int, new: int, roi: Tuple[float, float]) -> np.ndarray:
        """Return which outputs lie outside the image and become the extrapolation value."""
        if self.positions != "tf_crop_and_resize":
            return np.zeros(new, bool)
        where = self._positions(size, new, None, roi)
        return (where < 0) | (where > size - 1)

    def _positions(self, size, new, scale, roi):
        if scale is None:  # the ratio is not rounded before the division
            return self.where(np.arange(new), size, new, new, size, roi)
        # The nearest element is found in float32, in which 3 / 0.6 is 5, and not less.
        dtype = np.dtype("float32" if self.kind == "nearest" else "float64").type
        return self.where(np.arange(new, dtype=dtype), size, new, dtype(scale), 1, roi)

    def where(self, i: Any, size: Any, new: Any, times: Any, by: Any, roi: Any = (0, 1)) -> Any:
        """Return positions in the input of the outputs ``i``.

        ``size`` and ``new`` are the numbers of inputs and outputs, and ``times / by`` is the scale: all
        of them numbers, or arrays of the shape of ``i``.
        """
        center = (i + 0.5) * by / times - 0.5
        span = new - (new > 1)  # at least 1
        found = {
            "half_pixel": center,
            "half_pixel_symmetric": center + (size - new * by / times) / 2,
            "pytorch_half_pixel": center * (new > 1),
            "asymmetric": i * by / times,
            "align_corners": i * (size - 1) / span,
            "tf_half_pixel_for_nn": center + 0.5,
            "tf_crop_and_resize": i * (roi[1] - roi[0]) * (size - 1) / span
            + (roi[0] + (roi[1] - roi[0]) / 2 * (new == 1)) * (size - 1),
        }
        if self.positions not in found:
            raise ValueError(f"coordinate_transformation_mode={self.positions!r} is not known")
        return found[self.positions]

    def to_nearest(self, xp: Any, x: Any, smaller: Any) -> Any:
        """Return positions rounded to elements. ``smaller`` is 1 if the axis shrinks, else 0."""
        if self.nearest not in _NEAREST:
            raise ValueError(f"nearest_mode={self.nearest!r} is not known")
        return _NEAREST[self.nearest](xp, x, smaller)

    def kernel(self, x: Any) -> Any:
        """Return the weights of elements at some distances, in NumPy or MXNet."""
        if self.kind == "linear":
            return (1 - x) * (x < 1)
        if self.kind != "cubic":
            raise ValueError(f"mode={self.kind!r} is not known")
        return self.near(x) * (x <= 1) + self.far(x) * (x > 1) * (x < 2)

    def near(self, x: Any) -> Any:
        """Return the cubic weight at a distance of at most 1."""
        return ((self.cubic + 2) * x - (self.cubic + 3)) * x * x + 1

    def far(self, x: Any) -> Any:
        """Return the cubic weight at a distance of 1 to 2."""
        return self.cubic * (((x - 5) * x + 8) * x - 4)

    def taps(self, rest: Any) -> Dict[int, Any]:
        """Return the weights of the neighbors of a position that is at a distance behind one of them."""
        if self.kind == "linear":
            return {0: 1 - rest, 1: rest}
        near, far = self.near, self.far
        return {-1: far(1 + rest), 0: near(rest), 1: near(1 - rest), 2: far(2 - rest)}

    def phases(self, factor: int) -> Optional[Tuple[Tuple[float, ...], ...]]:
        """Return the weights of the inputs around each phase of an axis that grows by a whole factor.

        Inputs beyond the edges are copies of the edges. Return None if these weights depend on the size.
        """
        middle = _SIZES[0] // 2
        rows = self.matrix(_SIZES[0], _SIZES[0] * factor)[middle * factor : (middle + 1) * factor]
        reach = max((abs(n - middle) for n in np.nonzero(rows)[1]), default=0)
        rows = rows[:, middle - reach : middle + reach + 1]
        for size in _SIZES:
            want = np.zeros((size * factor, size))
            for out, tap in np.ndindex(size * factor, 2 * reach + 1):
                place = min(max(out // factor + tap - reach, 0), size - 1)
                want[out, place] += rows[out % factor, tap]
            if not np.allclose(self.matrix(size, size * factor), want, rtol=0, atol=1e-12):
                return None
        return tuple(map(tuple, rows.tolist()))


def resize(F: Any, x: Any, size: Tuple[int, int], aligned: bool = False, times: bool = False) -> Any:
    """Interpolate images linearly to a size, or to whole multiples of their own if ``times``.

    Positions refer to the centers of pixels, or run from corner to corner if ``aligned``. A size of 1
    takes the first element, as in PyTorch.
    """
    names = ("scale_height", "scale_width") if times else ("height", "width")
    return F.contrib.BilinearResize2D(x, **dict(zip(names, size)), align_corners=aligned)


def resize_open(
    F: Any, x: Any, like: Any, how: Sequence[Any], axis: Tuple[int, int], rank: int, factor: int = 1
) -> Any:
    """Resize an axis of any size to a whole multiple of the size of another array's axis.

    ``axis`` are the axes of the two arrays, and ``how`` the fields of :class:`Resize`, which must not
    repeat the outer elements if it smooths. The positions are computed when the graph runs.
    """
    rule = Resize(*how)
    line = F.cast(F.contrib.arange_like(like, axis=axis[1]), dtype="float32")  # which may be of 8 bits
    i = F.contrib.arange_like(F.repeat(line, repeats=factor))
    counted = (F.contrib.arange_like(x, axis=axis[0]), i)
    size, new = (F.broadcast_add(F.zeros_like(i), F.sum(F.ones_like(line))) for line in counted)
    ratio = (new / size, 1) if rule.rounded else (new, size)
    where = rule.where(i, size, new, *(ratio if rule.scale is None else (rule.scale, 1)))
    if rule.kind == "nearest":
        smaller = new < size if rule.scale is None else int(rule.scale < 1)
        return F.take(x, rule.to_nearest(F, where, smaller), axis=axis[0], mode="clip")
    if rule.antialias:
        shrink = new / size if rule.scale is None else F.ones_like(new) * rule.scale
        taps = F.reshape(F.contrib.arange_like(x, axis=axis[0]), shape=(1, -1))
        apart = F.abs(F.broadcast_sub(taps, F.reshape(where, shape=(-1, 1))))
        shrink = F.reshape(F.broadcast_minimum(shrink, F.ones_like(shrink)), shape=(-1, 1))
        weights = rule.kernel(F.broadcast_mul(apart, shrink))
        weights = F.broadcast_div(weights, F.sum(weights, axis=1, keepdims=True))
        return resize_by_matrix(F, x, weights, axis=axis[0], rank=rank)
    below = F.floor(where)
    rest = where - below
    rest = F.floor(rest * rule.steps + 0.5) / rule.steps if rule.steps else rest
    weights = rule.taps(rest)
    if rule.exclude_outside:
        inside = ((tap, (below + tap >= 0) * F.broadcast_lesser(below + tap, size)) for tap in weights)
        weights = {tap: weights[tap] * each for tap, each in inside}
        total = F.add_n(*weights.values())
        weights = {tap: weight / total for tap, weight in weights.items()}
    shape = (-1, *(1,) * (rank - axis[0] - 1))
    parts = []
    for tap, weight in weights.items():
        lines = F.take(x, below + tap, axis=axis[0], mode="clip")
        parts.append(F.broadcast_mul(lines, F.reshape(weight, shape=shape)))
    return F.add_n(*parts)


def resize_images_open(
    F: Any, x: Any, rows: Any, columns: Any, how: Sequence[Any], axes: Tuple[int, int],
    factors: Tuple[int, int],
) -> Any:  # fmt: skip
    """Resize channels-first images of any size to whole multiples of the sizes of two arrays' axes."""
    for place, like, axis, factor in zip((2, 3), (rows, columns), axes, factors):
        x = resize_open(F, x, like, how, (place, axis), 4, factor)
    return x


def resize_images(F: Any, x: Any, rows: Any, columns: Any) -> Any:
    """Resize channels-first images of a known size by a matrix for each axis."""
    return resize_by_matrix(F, resize_by_matrix(F, x, rows, axis=2, rank=4), columns, axis=3, rank=4)


def resize_by_matrix(F: Any, x: Any, matrix: Any, *offset: Any, axis: int, rank: int) -> Any:
    """Multiply each line along an axis by the transpose of a matrix of weights; add an offset."""
    last = axis == rank - 1
    y = F.dot(x if last else F.swapaxes(x, axis, rank - 1), matrix, transpose_b=True)
    y = F.broadcast_add(y, *offset) if offset else y
    return y if last else F.swapaxes(y, axis, rank - 1)


def resize_by_phases(
    F: Any, x: Any, phases: Sequence[Sequence[float]], axis: int, rank: int, native: bool = True
) -> Any:
    """Lengthen an axis by a whole factor. Each phase has weights for the inputs around it.

    ``native`` is as for :func:`pad`. MXNet's own operator is not used, because no ONNX operator treats
    the edges the same way.
    """
    count, reach = len(phases), len(phases[0]) // 2
    if not reach:
        return F.repeat(x, repeats=count, axis=axis) if count > 1 else x
    pairs = [(reach, reach) if i == axis else (0, 0) for i in range(rank)]
    wide = pad(F, x, pairs, mode="edge", native=native)
    shifted = [
        x if i == reach else F.slice_axis(wide, axis=axis, begin=i, end=i - 2 * reach or None)
        for i in range(2 * reach + 1)
    ]
    mixed = []
    for weights in phases:
        parts = [part if w == 1 else part * w for part, w in zip(shifted, weights) if w]
        mixed.append(F.add_n(*parts) if len(parts) > 1 else parts[0])
    y = F.stack(*mixed, axis=axis + 1)
    return F.reshape(y, shape=(*(0,) * axis, -3, *(0,) * (rank - axis - 1)))
