"""Layers that lengthen the spatial axes by zeros, or cut elements off their ends."""

from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np
from mxnet.gluon import HybridBlock, ParameterDict
from mxnet.ndarray import NDArray

from .. import arguments
from ..arrays import classic
from ..lowering.steps import Pad, Slice

__all__ = [
    *("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D"),
    *("Cropping1D", "Cropping2D", "Cropping3D"),
]

Amounts = Union[int, Sequence[int], Sequence[Tuple[int, int]]]


class _Borders(HybridBlock):
    """A block with an amount for each end of each spatial axis."""

    _argument = ""  # of the argument that holds the amounts
    _ndim = 0

    def __init__(
        self,
        amounts: Amounts,
        layout: str,
        prefix: Optional[str],
        params: Optional[ParameterDict],
    ):
        super().__init__(prefix=prefix, params=params)
        self._layout = arguments.check_layout(layout, self._ndim)
        self._amounts = _pairs(self._argument, amounts, self._ndim)

    def forward(self, x: Any, *args: Any) -> Any:
        if isinstance(x, NDArray):
            arguments.check_rank(x.shape, self._layout, f"data for {self.name}")
            self._check_data(x)
        return super().forward(x, *args)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        if not any(map(any, self._amounts)):
            return x
        x, restore = classic(x)
        return restore(self._apply(F, x))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._argument}={self._amounts}, layout={self._layout})"


def _pairs(name, value, ndim):
    """Keras' forms of amounts as one (before, after) for each axis."""
    if isinstance(value, str):
        raise TypeError(f"{name}={value!r} is no amount: give an int, or a tuple for each axis")
    if ndim == 1 and isinstance(value, (tuple, list)) and arguments.is_plain(value):
        if len(value) != 2:
            raise ValueError(
                f"{name}={value!r} has {len(value)} entries: give an int or two, (before, after)"
            )
        value = (tuple(value),)  # the two ends of the only axis
    return arguments.normalize_padding(name, value, (1,) * ndim)


class _ZeroPadding(_Borders):
    _argument = "padding"

    def _apply(self, F, x):
        if self._ndim > 1:
            return Pad(self._amounts).apply(F, x, self._layout)
        # MXNet pads planes and volumes. ONNX has these two operators, and no reshape like MXNet's.
        axis = self._layout.index("W")
        planes = F.expand_dims(x, axis=axis)
        planes = Pad(((0, 0), *self._amounts)).apply(F, planes, self._layout.replace("W", "HW"))
        return F.squeeze(planes, axis=axis)

    def _check_data(self, x):
        if np.dtype(x.dtype).kind not in "fV":
            raise TypeError(
                f"data for {self.name} are of {np.dtype(x.dtype)}, which MXNet does not pad: give a "
                "floating dtype"
            )

    def _alias(self):
        return "zeropadding"


class _Cropping(_Borders):
    _argument = "cropping"

    def _apply(self, F, x):
        cuts = tuple((before, after, False) for before, after in self._amounts)
        return Slice(cuts).apply(F, x, self._layout)

    def _check_data(self, x):
        sizes = arguments.spatial(x.shape, self._layout)
        if any(n <= sum(pair) for n, pair in zip(sizes, self._amounts)):
            raise ValueError(
                f"data for {self.name} of spatial size {sizes} are cropped by {self._amounts}, which "
                "leaves nothing: crop less, or give a larger input"
            )

    def _alias(self):
        return "cropping"


class ZeroPadding1D(_ZeroPadding):
    """Zeros at the ends of one axis; Keras' ``ZeroPadding1D``.

    Parameters
    ----------
    padding : int, (int, int) or ((int, int),)
        Elements to add: as many at both ends, or ``(before, after)``.
    layout : {'NCW', 'NWC'}
        Order of the axes of the data.
    prefix : str, optional
        Of the block's name.
    params : ParameterDict, optional
        Taken as by any block; there are no parameters.


    Inputs:
        - **data**: shape (batch_size, channels, width) for layout NCW, of a floating dtype.

    Outputs:
        - **out**: shape (batch_size, channels, before + width + after).

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed. When called, for data of
        another rank, or of integers.

    Examples
    --------
    >>> import mxnet as mx
    >>> ZeroPadding1D((1, 2))(mx.nd.ones((1, 1, 3))).asnumpy()
    array([[[0., 1., 1., 1., 0., 0.]]], dtype=float32)
    """

    _ndim = 1

    def __init__(
        self,
        padding: Amounts = 1,
        layout: str = "NCW",
        prefix: Optional[str] = None,
        params: Optional[ParameterDict] = None,
    ):
        super().__init__(padding, layout, prefix, params)


class ZeroPadding2D(_ZeroPadding):
    """Zeros around images; Keras' ``ZeroPadding2D``.

    Parameters
    ----------
    padding : int, (int, int) or ((int, int), (int, int))
        Elements to add: as many on all sides; as many above as below, and left as right, for
        ``(height, width)``; or ``((top, bottom), (left, right))``.
    layout : {'NCHW', 'NHWC'}
        Order of the axes of the data.
    prefix : str, optional
        Of the block's name.
    params : ParameterDict, optional
        Taken as by any block; there are no parameters.


    Inputs:
        - **data**: shape (batch_size, channels, height, width) for layout NCHW, of a floating dtype.

    Outputs:
        - **out**: shape (batch_size, channels, top + height + bottom, left + width + right).

    Raises
    ------
    TypeError, ValueError
        As :class:`ZeroPadding1D`.

    Notes
    -----
    Before a convolution, give the pairs to its own ``padding`` instead, which costs less.

    Examples
    --------
    >>> import mxnet as mx
    >>> ZeroPadding2D(((0, 1), (2, 3)))(mx.nd.ones((1, 3, 8, 8))).shape
    (1, 3, 9, 13)
    """

    _ndim = 2

    def __init__(
        self,
        padding: Amounts = 1,
        layout: str = "NCHW",
        prefix: Optional[str] = None,
        params: Optional[ParameterDict] = None,
    ):
        super().__init__(padding, layout, prefix, params)


class ZeroPadding3D(_ZeroPadding):
    """Zeros around volumes; Keras' ``ZeroPadding3D``.

    Parameters
    ----------
    padding : int, tuple of three ints or tuple of three (int, int)
        Elements to add: as many on all sides; as many at both ends of each axis; or pairs
        ``(before, after)`` for depth, height and width.
    layout : {'NCDHW', 'NDHWC'}
        Order of the axes of the data.
    prefix : str, optional
        Of the block's name.
    params : ParameterDict, optional
        Taken as by any block; there are no parameters.


    Inputs:
        - **data**: shape (batch_size, channels, depth, height, width) for layout NCDHW, of a floating
          dtype.

    Outputs:
        - **out**: shape (batch_size, channels, out_depth, out_height, out_width), each
          ``before + size + after``.

    Raises
    ------
    TypeError, ValueError
        As :class:`ZeroPadding1D`.

    Examples
    --------
    >>> import mxnet as mx
    >>> ZeroPadding3D((1, 0, 2))(mx.nd.ones((1, 1, 4, 5, 6))).shape
    (1, 1, 6, 5, 10)
    """

    _ndim = 3

    def __init__(
        self,
        padding: Amounts = 1,
        layout: str = "NCDHW",
        prefix: Optional[str] = None,
        params: Optional[ParameterDict] = None,
    ):
        super().__init__(padding, layout, prefix, params)


class Cropping1D(_Cropping):
    """Cut elements off the ends of one axis; Keras' ``Cropping1D``.

    Parameters
    ----------
    cropping : int, (int, int) or ((int, int),)
        Elements to cut off: as many at both ends, or ``(before, after)``.
    layout : {'NCW', 'NWC'}
        Order of the axes of the data.
    prefix : str, optional
        Of the block's name.
    params : ParameterDict, optional
        Taken as by any block; there are no parameters.


    Inputs:
        - **data**: shape (batch_size, channels, width) for layout NCW.

    Outputs:
        - **out**: shape (batch_size, channels, width - before - after).

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed. When called, for data of
        another rank, or of which nothing would be left; a hybridized net that holds this block returns
        an empty array there.

    Examples
    --------
    >>> import mxnet as mx
    >>> Cropping1D((0, 2))(mx.nd.array([[[1, 2, 3, 4]]])).asnumpy()
    array([[[1., 2.]]], dtype=float32)
    """

    _ndim = 1

    def __init__(
        self,
        cropping: Amounts = 1,
        layout: str = "NCW",
        prefix: Optional[str] = None,
        params: Optional[ParameterDict] = None,
    ):
        super().__init__(cropping, layout, prefix, params)


class Cropping2D(_Cropping):
    """Cut rows and columns off images; Keras' ``Cropping2D``.

    Parameters
    ----------
    cropping : int, (int, int) or ((int, int), (int, int))
        Elements to cut off: as many on all sides; as many above as below, and left as right, for
        ``(height, width)``; or ``((top, bottom), (left, right))``.
    layout : {'NCHW', 'NHWC'}
        Order of the axes of the data.
    prefix : str, optional
        Of the block's name.
    params : ParameterDict, optional
        Taken as by any block; there are no parameters.


    Inputs:
        - **data**: shape (batch_size, channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, channels, height - top - bottom, width - left - right).

    Raises
    ------
    TypeError, ValueError
        As :class:`Cropping1D`.

    Examples
    --------
    >>> import mxnet as mx
    >>> Cropping2D(((1, 0), (2, 3)))(mx.nd.ones((1, 3, 8, 8))).shape
    (1, 3, 7, 3)
    """

    _ndim = 2

    def __init__(
        self,
        cropping: Amounts = 0,
        layout: str = "NCHW",
        prefix: Optional[str] = None,
        params: Optional[ParameterDict] = None,
    ):
        super().__init__(cropping, layout, prefix, params)


class Cropping3D(_Cropping):
    """Cut planes off volumes; Keras' ``Cropping3D``.

    Parameters
    ----------
    cropping : int, tuple of three ints or tuple of three (int, int)
        Elements to cut off: as many on all sides; as many at both ends of each axis; or pairs
        ``(before, after)`` for depth, height and width.
    layout : {'NCDHW', 'NDHWC'}
        Order of the axes of the data.
    prefix : str, optional
        Of the block's name.
    params : ParameterDict, optional
        Taken as by any block; there are no parameters.


    Inputs:
        - **data**: shape (batch_size, channels, depth, height, width) for layout NCDHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_depth, out_height, out_width), each
          ``size - before - after``.

    Raises
    ------
    TypeError, ValueError
        As :class:`Cropping1D`.

    Examples
    --------
    >>> import mxnet as mx
    >>> Cropping3D((1, 0, 2))(mx.nd.ones((1, 1, 4, 5, 6))).shape
    (1, 1, 2, 5, 2)
    """

    _ndim = 3

    def __init__(
        self,
        cropping: Amounts = 1,
        layout: str = "NCDHW",
        prefix: Optional[str] = None,
        params: Optional[ParameterDict] = None,
    ):
        super().__init__(cropping, layout, prefix, params)
