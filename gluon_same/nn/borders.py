"""Layers that pad the spatial axes with zeros, or crop them."""

from typing import Any, Optional, Sequence, Tuple, Union

from mxnet.gluon import ParameterDict

from .. import arguments
from ..arrays import classic
from ..lowering.steps import Pad, Slice
from .base import Checked

__all__ = ["ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D", "Cropping1D", "Cropping2D", "Cropping3D"]

Amounts = Union[int, Sequence[int], Sequence[Tuple[int, int]]]


class _Borders(Checked):
    """Base class of blocks with an amount for each end of each spatial axis."""

    _argument = ""  # name of the argument for the amounts

    def __init__(self, amounts: Amounts, layout: Optional[str], **given: Any) -> None:
        super().__init__(**given)
        self._layout = arguments.check_layout(layout, self._ndim)
        self._amounts = _pairs(self._argument, amounts, self._ndim)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x, restore = classic(x)
        changes = any(map(any, self._amounts))
        return restore(self._apply(F, x) if changes else F.identity(x))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._argument}={self._amounts}, layout={self._layout})"


def _pairs(name, value, ndim):
    """Convert Keras' forms of amounts to one (before, after) for each axis."""
    if isinstance(value, str):
        raise TypeError(f"{name}={value!r} is not an amount: give an int, or a tuple for each axis")
    if ndim == 1 and isinstance(value, (tuple, list)) and arguments.is_plain(value):
        if len(value) != 2:
            raise ValueError(
                f"{name}={value!r} has {len(value)} entries: give one int, or two for (before, after)"
            )
        value = (tuple(value),)  # the two ends of the only axis
    return arguments.normalize_padding(name, value, (1,) * ndim)


class _ZeroPadding(_Borders):
    _argument = "padding"

    def __init__(
        self,
        padding: Amounts = 1,
        layout: Optional[str] = None,
        prefix: Optional[str] = None,
        params: Optional[ParameterDict] = None,
    ) -> None:
        """Create the block.

        Parameters
        ----------
        padding : int, tuple of int or tuple of (int, int)
            Elements to add: one amount for all ends, one amount for both ends of each axis, or a pair
            ``(before, after)`` for each axis. For one axis, ``(before, after)`` suffices.
        layout : str, optional
            Order of the axes of data and output: N is the batch, C the channels. None puts the channels
            first: ``'NCW'``, ``'NCHW'`` or ``'NCDHW'``. Otherwise they come last.
        prefix : str, optional
            Start of the name of the block. None generates one.
        params : ParameterDict, optional
            Accepted for all Gluon blocks; this one has no parameters.

        Raises
        ------
        TypeError, ValueError
            If an argument is invalid; the message names it and what is allowed. When the layer is
            called, if the data have the wrong number of axes or an integer dtype.
        """
        super().__init__(padding, layout, prefix=prefix, params=params)

    def _apply(self, F, x):
        return Pad(self._amounts).apply(F, x, self._layout)

    def _check_array(self, x):
        super()._check_array(x)
        arguments.check_floating(x.dtype, "padded")

    def _alias(self):
        return "zeropadding"


class _Cropping(_Borders):
    _argument = "cropping"
    _default = 1

    def __init__(
        self,
        cropping: Optional[Amounts] = None,
        layout: Optional[str] = None,
        prefix: Optional[str] = None,
        params: Optional[ParameterDict] = None,
    ) -> None:
        """Create the block.

        Parameters
        ----------
        cropping : int, tuple of int or tuple of (int, int)
            Elements to cut off: one amount for all ends, one amount for both ends of each axis, or a
            pair ``(before, after)`` for each axis. For one axis, ``(before, after)`` suffices.
        layout : str, optional
            Order of the axes of data and output: N is the batch, C the channels. None puts the channels
            first: ``'NCW'``, ``'NCHW'`` or ``'NCDHW'``. Otherwise they come last.
        prefix : str, optional
            Start of the name of the block. None generates one.
        params : ParameterDict, optional
            Accepted for all Gluon blocks; this one has no parameters.

        Raises
        ------
        TypeError, ValueError
            If an argument is invalid; the message names it and what is allowed. When the layer is
            called, if the data have the wrong number of axes, or if nothing would be left. A hybridized
            net that contains this block returns an empty array instead.
        """
        amounts = self._default if cropping is None else cropping
        super().__init__(amounts, layout, prefix=prefix, params=params)

    def _apply(self, F, x):
        cuts = tuple((before, after, False) for before, after in self._amounts)
        return Slice(cuts).apply(F, x, self._layout)

    def _check_array(self, x):
        super()._check_array(x)
        sizes = arguments.spatial(x.shape, self._layout)
        if any(n <= sum(pair) for n, pair in zip(sizes, self._amounts)):
            raise ValueError(
                f"cropping={self._amounts} removes all of data for {self.name} of spatial size "
                f"{sizes}: crop less, or give a larger input"
            )

    def _alias(self):
        return "cropping"


class ZeroPadding1D(_ZeroPadding):
    """Zero padding of one axis, as Keras' ``ZeroPadding1D``.

    Inputs:
        - **data**: shape (batch_size, channels, width) for layout NCW, of a floating dtype.

    Outputs:
        - **out**: shape (batch_size, channels, before + width + after).

    Examples
    --------
    >>> import mxnet as mx
    >>> ZeroPadding1D((1, 2))(mx.nd.ones((1, 1, 3))).asnumpy()
    array([[[0., 1., 1., 1., 0., 0.]]], dtype=float32)
    """

    _ndim = 1


class ZeroPadding2D(_ZeroPadding):
    """Zero padding of images, as Keras' ``ZeroPadding2D``.

    Inputs:
        - **data**: shape (batch_size, channels, height, width) for layout NCHW, of a floating dtype.

    Outputs:
        - **out**: shape (batch_size, channels, top + height + bottom, left + width + right).

    Notes
    -----
    Before a convolution, pass the pairs to its own ``padding`` instead, which is faster.

    Examples
    --------
    >>> import mxnet as mx
    >>> ZeroPadding2D(((0, 1), (2, 3)))(mx.nd.ones((1, 3, 8, 8))).shape
    (1, 3, 9, 13)
    """

    _ndim = 2


class ZeroPadding3D(_ZeroPadding):
    """Zero padding of volumes, as Keras' ``ZeroPadding3D``.

    Inputs:
        - **data**: shape (batch_size, channels, depth, height, width) for layout NCDHW, of a floating
          dtype.

    Outputs:
        - **out**: shape (batch_size, channels, out_depth, out_height, out_width), each
          ``before + size + after``.

    Examples
    --------
    >>> import mxnet as mx
    >>> ZeroPadding3D((1, 0, 2))(mx.nd.ones((1, 1, 4, 5, 6))).shape
    (1, 1, 6, 5, 10)
    """

    _ndim = 3


class Cropping1D(_Cropping):
    """Cropping of one axis, as Keras' ``Cropping1D``.

    Inputs:
        - **data**: shape (batch_size, channels, width) for layout NCW.

    Outputs:
        - **out**: shape (batch_size, channels, width - before - after).

    Examples
    --------
    >>> import mxnet as mx
    >>> Cropping1D((0, 2))(mx.nd.array([[[1, 2, 3, 4]]])).asnumpy()
    array([[[1., 2.]]], dtype=float32)
    """

    _ndim = 1


class Cropping2D(_Cropping):
    """Cropping of images, as Keras' ``Cropping2D``.

    Inputs:
        - **data**: shape (batch_size, channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, channels, height - top - bottom, width - left - right).

    Examples
    --------
    >>> import mxnet as mx
    >>> Cropping2D(((1, 0), (2, 3)))(mx.nd.ones((1, 3, 8, 8))).shape
    (1, 3, 7, 3)
    """

    _ndim = 2
    _default = 0  # as in Keras


class Cropping3D(_Cropping):
    """Cropping of volumes, as Keras' ``Cropping3D``.

    Inputs:
        - **data**: shape (batch_size, channels, depth, height, width) for layout NCDHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_depth, out_height, out_width), each
          ``size - before - after``.

    Examples
    --------
    >>> import mxnet as mx
    >>> Cropping3D((1, 0, 2))(mx.nd.ones((1, 1, 4, 5, 6))).shape
    (1, 1, 2, 5, 2)
    """

    _ndim = 3
