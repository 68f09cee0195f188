"""Global pooling: the stock layers, with an error that helps users who pass a window."""

from typing import Any, NoReturn, Optional

from mxnet.gluon import nn as stock

from ..arguments import check_layout
from .checks import refuse_unknown
from .gluon import HybridBlock

__all__ = [
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
]

_WINDOW = ("padding", "pad", "pool_size", "kernel_size", "kernel", "strides", "stride", "ceil_mode")


class GlobalPooling(HybridBlock):
    """Mixin for a stock global pooling; place it before the stock class."""

    _ndim = 2

    def __init__(
        self,
        layout: Optional[str] = None,
        *,
        prefix: Optional[str] = None,
        params: Any = None,
        **unknown: NoReturn,
    ) -> None:
        """Create the layer.

        Parameters
        ----------
        layout : str, optional
            Order of the axes of data and output: N is the batch, C the channels. None puts the channels
            first: ``'NCW'``, ``'NCHW'`` or ``'NCDHW'``. Otherwise they come last.
        prefix : str, optional
            Start of the name of the layer. None generates one, such as ``pool0_``.
        params : mxnet.gluon.ParameterDict, optional
            Accepted for all Gluon blocks; a pooling has no parameters.

        Raises
        ------
        TypeError
            If an argument does not exist. A global pooling has no ``padding``, because its window is the
            whole input.
        ValueError
            If ``layout`` is invalid.
        """
        for name in unknown:
            if name in _WINDOW:
                kind = type(self).__name__
                raise TypeError(
                    f"{kind} has no argument {name!r}: its window is the whole input, so there is "
                    f"nothing to pad. To choose a window, use {kind.replace('Global', '')}"
                )
        refuse_unknown(self, unknown, {"data_format": "layout"})
        given: Any = {"layout": check_layout(layout, self._ndim), "prefix": prefix, "params": params}
        super().__init__(**given)


class GlobalMaxPool1D(GlobalPooling, stock.GlobalMaxPool1D):
    """Maximum over a width of any size, as ``mxnet.gluon.nn.GlobalMaxPool1D``.

    Inputs:
        - **data**: shape (batch_size, channels, width) for layout NCW.

    Outputs:
        - **out**: shape (batch_size, channels, 1) for layout NCW.

    Examples
    --------
    >>> import mxnet as mx
    >>> GlobalMaxPool1D()(mx.nd.ones((1, 4, 7))).shape
    (1, 4, 1)
    """

    _ndim = 1


class GlobalMaxPool2D(GlobalPooling, stock.GlobalMaxPool2D):
    """Maximum over height and width of any size, as ``mxnet.gluon.nn.GlobalMaxPool2D``.

    Inputs:
        - **data**: shape (batch_size, channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, channels, 1, 1) for layout NCHW.

    Examples
    --------
    >>> import mxnet as mx
    >>> GlobalMaxPool2D()(mx.nd.ones((1, 4, 7, 7))).shape
    (1, 4, 1, 1)
    """


class GlobalMaxPool3D(GlobalPooling, stock.GlobalMaxPool3D):
    """Maximum over depth, height and width of any size, as ``mxnet.gluon.nn.GlobalMaxPool3D``.

    Inputs:
        - **data**: shape (batch_size, channels, depth, height, width) for layout NCDHW.

    Outputs:
        - **out**: shape (batch_size, channels, 1, 1, 1) for layout NCDHW.

    Examples
    --------
    >>> import mxnet as mx
    >>> GlobalMaxPool3D()(mx.nd.ones((1, 4, 7, 7, 7))).shape
    (1, 4, 1, 1, 1)
    """

    _ndim = 3


class GlobalAvgPool1D(GlobalPooling, stock.GlobalAvgPool1D):
    """Average over a width of any size, as ``mxnet.gluon.nn.GlobalAvgPool1D``.

    Inputs:
        - **data**: shape (batch_size, channels, width) for layout NCW.

    Outputs:
        - **out**: shape (batch_size, channels, 1) for layout NCW.

    Examples
    --------
    >>> import mxnet as mx
    >>> GlobalAvgPool1D()(mx.nd.ones((1, 4, 7))).shape
    (1, 4, 1)
    """

    _ndim = 1


class GlobalAvgPool2D(GlobalPooling, stock.GlobalAvgPool2D):
    """Average over height and width of any size, as ``mxnet.gluon.nn.GlobalAvgPool2D``.

    Inputs:
        - **data**: shape (batch_size, channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, channels, 1, 1) for layout NCHW.

    Examples
    --------
    >>> import mxnet as mx
    >>> GlobalAvgPool2D()(mx.nd.ones((1, 4, 7, 7))).shape
    (1, 4, 1, 1)
    """


class GlobalAvgPool3D(GlobalPooling, stock.GlobalAvgPool3D):
    """Average over depth, height and width of any size, as ``mxnet.gluon.nn.GlobalAvgPool3D``.

    Inputs:
        - **data**: shape (batch_size, channels, depth, height, width) for layout NCDHW.

    Outputs:
        - **out**: shape (batch_size, channels, 1, 1, 1) for layout NCDHW.

    Examples
    --------
    >>> import mxnet as mx
    >>> GlobalAvgPool3D()(mx.nd.ones((1, 4, 7, 7, 7))).shape
    (1, 4, 1, 1, 1)
    """

    _ndim = 3
