"""Padding, cropping and upsampling layers."""

from typing import Any, Optional, Sequence, Tuple

from mxnet.gluon import HybridBlock

from ... import nn
from ..arguments import Unsupported
from ..values import Padding, Shape, Value, replaced
from .table import Built, Request, builds, spatial

_PADDING = {1: nn.ZeroPadding1D, 2: nn.ZeroPadding2D, 3: nn.ZeroPadding3D}
_CROPPING = {1: nn.Cropping1D, 2: nn.Cropping2D, 3: nn.Cropping3D}


class Repeat(HybridBlock):
    """Repetition of each element along the spatial axes of channels-first data.

    Parameters
    ----------
    times : tuple of int
        Number of repetitions along each axis.
    """

    def __init__(self, times: Sequence[int], prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._times = tuple(times)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        if len(self._times) == 2 and len(set(self._times)) == 1:
            return F.UpSampling(x, scale=self._times[0], sample_type="nearest")
        for axis, times in enumerate(self._times, 2):
            x = F.repeat(x, repeats=times, axis=axis) if times > 1 else x
        return x

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._times})"


class Interpolate(HybridBlock):
    """Linear interpolation of images to a multiple of their size.

    Each output is a weighted mean of the input element that contains it and a neighbor. Edges repeat.
    MXNet's own operator is not used, because no ONNX operator treats the edges the same way.

    Parameters
    ----------
    times : tuple of int
        Factors for rows and columns.
    centers : bool
        Whether positions refer to pixel centers, as in TensorFlow 2, or to pixel corners.
    """

    def __init__(self, times: Sequence[int], centers: bool, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._times = tuple(times)
        self._centers = centers

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        for axis, times in enumerate(self._times, 2):
            if times > 1:
                x = self._along(F, x, axis, times)
        return x

    def _along(self, F, x, axis, times):
        width = [0] * 8
        width[2 * axis : 2 * axis + 2] = 1, 1
        wide = F.pad(x, mode="edge", pad_width=width)
        before = F.slice_axis(wide, axis=axis, begin=0, end=-2)
        after = F.slice_axis(wide, axis=axis, begin=2, end=None)
        phases = []
        for phase in range(times):
            offset = (phase + 0.5) / times - 0.5 if self._centers else phase / times
            other = before if offset < 0 else after
            phases.append(x * (1 - abs(offset)) + other * abs(offset) if offset else x)
        y = F.stack(*phases, axis=axis + 1)
        return F.reshape(y, shape=(*(0,) * axis, -3, *(0,) * (3 - axis)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._times})"


class Resize(HybridBlock):
    """Linear interpolation of images to a fixed size.

    Parameters
    ----------
    height, width : int
    """

    def __init__(self, height: int, width: int, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._size = dict(height=height, width=width)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.contrib.BilinearResize2D(x, align_corners=False, **self._size)


@builds("Resizing")
def _resizing(request: Request, x: Value) -> Built:
    arguments = request.arguments
    arguments.word("interpolation", ("bilinear",), "bilinear")
    arguments.only(
        crop_to_aspect_ratio=False, pad_to_aspect_ratio=False, antialias=False, fill_mode="constant"
    )
    arguments.ignore("fill_value")
    axes, order = spatial(request, x, 2)
    size = arguments.whole("height"), arguments.whole("width")
    block = Resize(*size, prefix=request.prefix)
    return Built(block, lambda shape: replaced(shape, axes, size), order, (order,))


@builds("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
def _zero_padding(request: Request, x: Value) -> Built:
    ndim = int(request.class_name[-2])
    pairs = _pairs(request, "padding", ndim)
    axes, order = spatial(request, x, ndim)

    def rule(shape: Shape) -> Shape:
        sizes = [n if n is None else n + sum(pair) for n, pair in _by_axis(shape, axes, pairs)]
        return replaced(shape, axes, sizes)

    padding = Padding(request.name, _PADDING[ndim](pairs, prefix=request.prefix), pairs)
    return Built(None, rule, order, (order,), padding=padding, nonnegative=x.nonnegative)


@builds("Cropping1D", "Cropping2D", "Cropping3D")
def _cropping(request: Request, x: Value) -> Built:
    ndim = int(request.class_name[-2])
    pairs = _pairs(request, "cropping", ndim)
    axes, order = spatial(request, x, ndim)

    def rule(shape: Shape) -> Shape:
        sizes = [n if n is None else n - sum(pair) for n, pair in _by_axis(shape, axes, pairs)]
        if any(n is not None and n < 1 for n in sizes):
            raise ValueError(f"cropping={pairs} removes all of an input of shape {shape}")
        return replaced(shape, axes, sizes)

    block = _CROPPING[ndim](pairs, prefix=request.prefix)
    return Built(block, rule, order, (order,), nonnegative=x.nonnegative)


@builds("UpSampling1D", "UpSampling2D", "UpSampling3D")
def _upsampling(request: Request, x: Value) -> Built:
    ndim = int(request.class_name[-2])
    times = request.arguments.axes("size", ndim)
    how = request.arguments.word("interpolation", ("nearest", "bilinear"), "nearest")
    if how == "bilinear" and ndim != 2:
        raise Unsupported(f"interpolation={how!r} is only for images")
    axes, order = spatial(request, x, ndim)

    def rule(shape: Shape) -> Shape:
        return replaced(shape, axes, [n and n * k for n, k in _by_axis(shape, axes, times)])

    if how == "nearest":
        block = Repeat(times, request.prefix)
    else:
        block = Interpolate(times, request.version >= (2, 3), request.prefix)
    return Built(block, rule, order, (order,))


def _by_axis(shape, axes, values):
    return [(shape[axis], value) for axis, value in zip(axes, values)]


def _pairs(request: Request, name: str, ndim: int) -> Tuple[Tuple[int, int], ...]:
    """Return ``padding`` or ``cropping`` as pairs, given an int, an int per axis or a pair per axis."""
    value = request.arguments.get(name)
    if ndim == 1 and isinstance(value, list) and len(value) == 2:
        value = [value]
    items = value if isinstance(value, list) else [value] * ndim
    pairs = [item if isinstance(item, list) else [item, item] for item in items]
    numbers = [n for pair in pairs for n in pair]
    whole = all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**31 for n in numbers)
    if len(pairs) != ndim or any(len(pair) != 2 for pair in pairs) or not whole:
        raise Unsupported(f"{name}={value!r} is not a pair of whole numbers for each of {ndim} axes")
    return tuple(map(tuple, pairs))
