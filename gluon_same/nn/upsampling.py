"""Layers that enlarge images, as Keras' UpSampling layers."""

from functools import partial
from typing import Any, Optional, Sequence, Union

from mxnet.gluon import ParameterDict

from .. import arguments
from ..arrays import classic
from ..lowering.steps import on_planes
from .base import Checked

__all__ = ["UpSampling1D", "UpSampling2D", "UpSampling3D"]


def repeat_elements(F: Any, x: Any, times: Sequence[int]) -> Any:
    """Repeat each element along the spatial axes of channels-first data."""
    if _is_square(times):
        return F.UpSampling(x, scale=times[0], sample_type="nearest")
    for axis, count in enumerate(times, 2):
        x = F.repeat(x, repeats=count, axis=axis) if count > 1 else x
    return x


def _is_square(times):
    return len(times) == 2 and len(set(times)) == 1  # MXNet's operator is for these, and floating dtypes


def interpolate(F: Any, x: Any, times: Sequence[int], centers: bool) -> Any:
    """Interpolate channels-first images or volumes linearly to a multiple of their size.

    Each output is a weighted mean of the input element that contains it and a neighbor. Edges repeat.
    MXNet's own operator is not used, because no ONNX operator treats the edges the same way. ``centers``
    means that positions refer to pixel centers, as in TensorFlow 2, and not to pixel corners.
    """
    rank = len(times) + 2
    for axis, count in enumerate(times, 2):
        if count == 1:
            continue
        width = [0] * (2 * rank)
        width[2 * axis : 2 * axis + 2] = 1, 1
        wide = F.pad(x, mode="edge", pad_width=width)
        before = F.slice_axis(wide, axis=axis, begin=0, end=-2)
        after = F.slice_axis(wide, axis=axis, begin=2, end=None)
        phases = []
        for phase in range(count):
            offset = (phase + 0.5) / count - 0.5 if centers else phase / count
            other = before if offset < 0 else after
            phases.append(x * (1 - abs(offset)) + other * abs(offset) if offset else x)
        y = F.stack(*phases, axis=axis + 1)
        x = F.reshape(y, shape=(*(0,) * axis, -3, *(0,) * (rank - 1 - axis)))
    return x


class _UpSampling(Checked):
    def __init__(
        self,
        size: Union[int, Sequence[int]] = 2,
        layout: Optional[str] = None,
        interpolation: str = "nearest",
        prefix: Optional[str] = None,
        params: Optional[ParameterDict] = None,
    ) -> None:
        """Create the block.

        Parameters
        ----------
        size : int or tuple of int
            Factor of the size: one for all spatial axes, or one for each.
        layout : str, optional
            Order of the axes of data and output: N is the batch, C the channels. None puts the channels
            first: ``'NCW'``, ``'NCHW'`` or ``'NCDHW'``. Otherwise they come last.
        interpolation : {'nearest', 'bilinear'}
            Whether to repeat elements, or to interpolate linearly along each axis between the centers of
            elements, as TensorFlow 2 does.
        prefix : str, optional
            Start of the name of the block. None generates one.
        params : ParameterDict, optional
            Accepted for all Gluon blocks; this one has no parameters.

        Raises
        ------
        TypeError, ValueError
            If an argument is invalid; the message names it and what is allowed. When the layer is
            called, if the data have the wrong number of axes, or an integer dtype if interpolated, or
            enlarged alike along two axes.
        """
        super().__init__(prefix=prefix, params=params)
        self._size = arguments.per_axis("size", size, self._ndim)
        self._layout = arguments.check_layout(layout, self._ndim)
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError(f"interpolation={interpolation!r} is unknown: use 'nearest' or 'bilinear'")
        self._interpolation = interpolation

    def _check_array(self, x: Any) -> None:
        super()._check_array(x)
        if self._interpolation == "bilinear" or _is_square(self._size):
            arguments.check_floating(x.dtype, "enlarged")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x, restore = classic(x)
        nearest = self._interpolation == "nearest"
        enlarge = repeat_elements if nearest else partial(interpolate, centers=True)
        y = on_planes(F, x, self._layout, self._size, 1, enlarge)
        return restore(F.identity(y, name="fwd"))

    def __repr__(self) -> str:
        words = f"interpolation={self._interpolation!r}, layout={self._layout!r}"
        return f"{type(self).__name__}(size={self._size}, {words})"


class UpSampling1D(_UpSampling):
    """Enlarge sequences, as Keras' ``UpSampling1D``, which repeats elements.

    Inputs:
        - **data**: (batch, channels, width), or as ``layout`` says.

    Outputs:
        - **out**: the same axes, with ``width * size`` elements.

    Examples
    --------
    >>> import mxnet as mx
    >>> UpSampling1D(2)(mx.nd.array([[[1, 2]]])).asnumpy()
    array([[[1., 1., 2., 2.]]], dtype=float32)
    """

    _ndim = 1


class UpSampling2D(_UpSampling):
    """Enlarge images, as Keras' ``UpSampling2D``.

    Inputs:
        - **data**: (batch, channels, height, width), or as ``layout`` says.

    Outputs:
        - **out**: the same axes, with sizes multiplied by ``size``.

    Examples
    --------
    >>> import mxnet as mx
    >>> UpSampling2D(2, interpolation='bilinear')(mx.nd.array([[[[0, 4]]]]))[0, 0, 0].asnumpy()
    array([0., 1., 3., 4.], dtype=float32)
    """

    _ndim = 2


class UpSampling3D(_UpSampling):
    """Enlarge volumes, as Keras' ``UpSampling3D``, which repeats elements.

    Inputs:
        - **data**: (batch, channels, depth, height, width), or as ``layout`` says.

    Outputs:
        - **out**: the same axes, with sizes multiplied by ``size``.

    Examples
    --------
    >>> import mxnet as mx
    >>> UpSampling3D((1, 2, 3))(mx.nd.ones((1, 4, 5, 5, 5))).shape
    (1, 4, 5, 10, 15)
    """

    _ndim = 3
