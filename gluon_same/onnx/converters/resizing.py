"""Resize and Upsample."""

from typing import Any, List, Literal, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ...importing import functions
from ...importing.functions import Resize
from ..limits import ratio_of
from ..registry import converter, once_attributes
from ..reshaping import axis_of_size
from ..values import EMPTY, FIX, Data, Flag, Known, Unsupported, axis_of, known, numbers

#: Positions that are computed from a scale by the same operations as in onnxruntime.
_LIKE_ONNXRUNTIME = ("asymmetric", "half_pixel", "pytorch_half_pixel")


#: Positions of MXNet's operator.
_NATIVE = ("align_corners", "half_pixel", "pytorch_half_pixel")


class _Axis(NamedTuple):
    """How to resize one axis."""

    axis: int
    sizes: Tuple[Tuple[int, int], ...]  # before and after, at each trial of the open sizes
    scale: Optional[float]  # None if it is the ratio of the sizes
    roi: Tuple[float, float]
    open: bool  # whether its size depends on open sizes, at least at sizes that are not tried
    numbers: Optional[Known] = None  # from which the new size follows, and its place
    place: int = 0

    @property
    def limited(self) -> bool:
        """Whether the new size may follow another rule at sizes that are not tried."""
        return self.numbers is not None and bool(self.numbers.limits.flat[self.place] < np.inf)

    def fixed(self) -> Optional[int]:
        """Return the new size if it is the same at every size."""
        new = {m for _, m in self.sizes}
        certain = not self.limited if self.numbers is not None else not self.open
        return new.pop() if len(new) == 1 and certain else None

    def factor(self) -> Optional[int]:
        """Return the whole factor by which the axis grows at every size; None if there is none."""
        factors = {m // n for n, m in self.sizes}
        whole = len(factors) == 1 and all(n * min(factors) == m for n, m in self.sizes)
        return factors.pop() if whole and not self.unsure else None

    @property
    def unsure(self) -> bool:
        """Whether the new size may have another ratio to the old one at sizes that are not tried."""
        return self.limited or (self.open and self.fixed() is not None)


@converter("Resize", 11)
def resize(
    net: Any, x: Data, roi: Any = None, scales: Any = None, sizes: Any = None, *, antialias: Flag = 0,
    axes: Optional[List[int]] = None, coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75, exclude_outside: Flag = 0, extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: Literal["stretch", "not_larger", "not_smaller"] = "stretch",
    mode: str = "nearest", nearest_mode: str = "round_prefer_floor",
) -> Data:  # fmt: skip
    flags = dict(exclude_outside=bool(exclude_outside), antialias=bool(antialias))
    flags["rounded"] = mode == "nearest"  # where rounding moves a position to another element
    how = Resize(mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, **flags)
    if mode == "nearest" and antialias:
        raise Unsupported("antialias with mode='nearest'")
    places = list(range(x.ndim)) if axes is None else [axis_of(axis, x.ndim) for axis in axes]
    corners = np.array([0.0] * len(places) + [1.0] * len(places))
    if how.positions == "tf_crop_and_resize":
        corners = known(roi, "roi").astype(float)
    rois = list(zip(corners[: len(places)], corners[len(places) :]))
    if sizes is None or sizes.shape == (0,):
        sizes = _ratios(x, places, numbers(scales, "scales"))
    if sizes is not None:
        planned = _by_sizes(x, places, numbers(sizes, "sizes", 0), keep_aspect_ratio_policy, rois)
    else:
        planned = _by_scales(net, x, places, known(scales, "scales"), how, rois)
    planned = [each for each in planned if not _unchanged(each, how)]
    times = [_phases(each, how) for each in planned]
    images = x.ndim == 4 and x.dtype.kind == "f" and {each.axis for each in planned} == {2, 3}
    if images and times[0] is not None and times[0] == times[1] and len(times[0][0]) == 1:
        return net.call(functions.repeat_elements, x, times=(len(times[0]),) * 2)
    y = _native(net, x, planned, how)
    if y is not None:
        return y
    # Shrink first, grow last.
    for each in sorted(planned, key=lambda each: each.sizes[0][1] / each.sizes[0][0]):
        x = _resized(net, x, each, how, extrapolation_value)
    return x


@converter("Upsample", 9)
def upsample(net: Any, x: Data, scales: Any, *, mode: str = "nearest") -> Data:
    if isinstance(scales, Known) and scales.first.min(initial=1) < 1:
        raise Unsupported(f"its scales {scales.first.tolist()} are below 1: use Resize")
    return resize_10(net, x, scales, mode=mode)


@converter("Resize", 10)
def resize_10(net: Any, x: Data, scales: Any, *, mode: str = "nearest") -> Data:
    how = dict(coordinate_transformation_mode="asymmetric", nearest_mode="ceil_if_smaller")
    return resize(net, x, None, scales, mode=mode, **how)


once_attributes("Upsample", 7, upsample, scales="scales")


def _ratios(x: Data, places: Sequence[int], scales: Known) -> Optional[Known]:
    """Return the sizes for scales that a file computes as ratios of sizes; None for other scales.

    In float32, the size times such a ratio may be below the wanted size, which is returned.
    """
    if not scales.open or len(scales.first) != len(places):
        return None
    before = [np.array([shape[axis] for axis in places], np.float32) for shape in x.trials]
    sizes = [np.rint(n * scales.at(t)) for t, n in enumerate(before)]
    if any((m / n != scales.at(t)).any() for t, (n, m) in enumerate(zip(before, sizes))):
        return None
    return Known([m.astype(np.int64) for m in sizes], scales.name)


def _by_scales(net, x, places, scales, how, rois):
    if len(scales) != len(places):
        raise Unsupported(f"its scales {scales.tolist()} do not fit {len(places)} axes")
    planned = []
    for axis, scale, roi in zip(places, scales.astype(np.float32), rois):
        before = [shape[axis] for shape in x.trials]
        new = [int(np.floor(np.float32(n) * scale)) for n in before]
        is_open = x.stored_shape[axis] is None
        varied = len(set(before)) > 1 and axis not in x.doubts
        shown = scale % 1 == 0 or not is_open or varied
        # Aligned corners depend on the sizes alone, and other positions on the digits of the scale.
        aligned = how.positions == "align_corners"
        exact = scale if aligned else np.float64(scale)
        whole = shown and all(exact.dtype.type(n) * exact == m for n, m in zip(before, new))
        cropped = how.positions == "tf_crop_and_resize" and (scale != 1 or roi != (0, 1))
        if cropped or (aligned and not whole and net.producer != "pytorch"):
            # ONNX's tests and onnxruntime differ in what the size, or the last position, is. PyTorch's
            # last position is the last element, as onnxruntime's.
            raise Unsupported(f"its scale {scale} with {how.positions}: use sizes instead")
        ratio = None if whole else float(scale)
        planned.append(_Axis(axis, tuple(zip(before, new)), ratio, roi, is_open))
    return planned


def _by_sizes(x, places, sizes, policy, rois):
    wanted = [tuple(map(int, sizes.at(t))) for t in range(len(x.trials))]
    before = [[shape[axis] for shape in x.trials] for axis in places]
    scales: List[Optional[float]] = [None] * len(places)
    if policy != "stretch":
        if len(set(zip(*before))) > 1 or sizes.open:
            raise Unsupported(f"its size {FIX}")
        ratios = [m / n[0] for m, n in zip(wanted[0], before)]
        scale = min(ratios) if policy == "not_larger" else max(ratios)
        wanted = [tuple(int(scale * n[0] + 0.5) for n in before)] * len(wanted)
        scales = [scale] * len(places)
    axes = zip(places, before, zip(*wanted), scales, rois)
    return [
        _Axis(axis, tuple(zip(n, m)), scale, roi, x.stored_shape[axis] is None, sizes, place)
        for place, (axis, n, m, scale, roi) in enumerate(axes)
    ]


def _native(net: Any, x: Data, planned: List[_Axis], how: Resize) -> Optional[Data]:
    """Return images that MXNet's operator resizes; None if it has other weights, or not the size."""
    axes = {each.axis for each in planned}
    images = x.ndim == 4 and x.dtype == np.float32 and axes and axes <= {2, 3}
    certain = not any(each.limited or each.scale is not None for each in planned)
    linear = how.kind == "linear" and not how.antialias and certain
    if not images or not linear or how.positions not in _NATIVE:
        return None
    aligned = how.positions == "align_corners"
    own = [
        _Axis(axis, tuple((n, n) for n in each), None, (0, 1), x.stored_shape[axis] is None)
        for axis, each in enumerate(zip(*x.trials))
    ]
    for each in planned:
        own[each.axis] = each
    size, times = (tuple(find(each) for each in own[2:]) for find in (_Axis.fixed, _Axis.factor))
    if None not in size:
        if 1 not in size or how.positions != "half_pixel":
            # MXNet and PyTorch take the first element for a size of 1, and not the center.
            return net.call(functions.resize, x, size=size, aligned=aligned)
    elif None not in times:
        return net.call(functions.resize, x, size=times, times=True, aligned=aligned)
    return None  # the gradient of the operator's mode 'like' writes beyond its array


def _phases(plan: _Axis, how: Resize) -> Optional[Tuple[Tuple[float, ...], ...]]:
    """Return the weights of each phase of an axis that grows by a whole factor at every size."""
    factor = plan.factor()
    cropped = how.positions == "tf_crop_and_resize"
    return None if factor is None or plan.scale is not None or cropped else how.phases(factor)


def _unchanged(plan: _Axis, how: Resize) -> bool:
    """Return whether an axis stays as it is."""
    same = all(n == m for n, m in plan.sizes) and plan.scale is None and not plan.unsure
    if how.positions == "tf_crop_and_resize" and plan.roi != (0, 1):
        return False
    return same and bool(np.array_equal(how.matrix(5, 5), np.eye(5)))


def _resized(net: Any, x: Data, plan: _Axis, how: Resize, value: float) -> Data:
    """Return data with one axis resized."""
    axis, rank, factor, phases = plan.axis, x.ndim, plan.factor(), _phases(plan, how)
    if min(m for _, m in plan.sizes) < 1:
        raise Unsupported(EMPTY)
    if phases is not None and (x.dtype.kind == "f" or how.kind == "nearest"):
        return net.call(
            functions.resize_by_phases, x, phases=phases, axis=axis, rank=rank,
            native=x.dtype.kind == "f",
        )  # fmt: skip
    if len(set(plan.sizes)) == 1 and not plan.open and not plan.limited:
        size, new = plan.sizes[0]
        offset = value * how.outside(size, new, plan.roi)
        return _at_size(net, x, axis, how, how.matrix(size, new, plan.scale, plan.roi), offset)
    # Other positions between two elements would be rounded otherwise than in the file's program.
    exact = plan.scale is None or np.frexp(plan.scale)[0] == 0.5 or how.positions in _LIKE_ONNXRUNTIME
    rounded = how.kind == "nearest" and not exact
    smoothed = how.antialias and (plan.scale is None or plan.scale < 1)  # also if no size tried is less
    cropped = how.positions == "tf_crop_and_resize"
    if rounded or cropped or x.dtype != np.float32 or (smoothed and not how.exclude_outside):
        raise Unsupported(f"its interpolation of {x.dtype} {FIX}")
    like, place = (x, axis) if factor else _as_long(net, x, plan)
    return net.call(
        functions.resize_open, x, like, axis=(axis, place), rank=rank, factor=factor or 1,
        how=tuple(how._replace(scale=plan.scale, antialias=smoothed)),
    )  # fmt: skip


def _as_long(net: Any, x: Data, plan: _Axis) -> Tuple[Data, int]:
    """Return an array and its axis that has the new size of an axis."""
    new = tuple(m for _, m in plan.sizes)
    if plan.numbers is not None:
        return axis_of_size(net, new, plan.numbers, plan.place)
    times, step = ratio_of(plan.scale or new[0] / plan.sizes[0][0]) or (0, 1)
    if [n * times // step for n, _ in plan.sizes] != list(new):
        raise Unsupported(f"its size by the scale {plan.scale} {FIX}")
    how = dict(axis=plan.axis, times=times, begin=step - 1, step=step)
    return net.call(functions.steps_along, x, **how, scalar=False), 0


def _at_size(net: Any, x: Data, axis: int, how: Resize, matrix: np.ndarray, offset: np.ndarray) -> Data:
    """Return data with an axis of known size resized."""
    if how.kind == "nearest" and not offset.any() and matrix.any(1).all():
        return net.call("take", x, Known([matrix.argmax(1).astype(np.float32)]), axis=axis)
    if x.dtype.kind != "f":
        raise Unsupported(f"interpolation of {x.dtype}")
    arrays = [Known([matrix.astype(x.dtype)])]
    if offset.any():
        arrays.append(Known([offset.astype(x.dtype)]))
    return net.call(functions.resize_by_matrix, x, *arrays, axis=axis, rank=x.ndim)
