"""Pooling layers whose ``padding`` may be SAME."""

from typing import Any

import numpy as np
from mxnet.gluon import nn as stock

from .. import arguments, functional
from ..functional._window import windows_of
from ..lowering import ways_to_pool
from .base import Windowed


class _Pooling(Windowed):
    _window = "pool_size"
    _optional = ("strides",)  # which are the window then
    _dtype = "float32"  # of the data, as far as a block without parameters knows

    def cast(self, dtype: Any) -> None:
        super().cast(dtype)
        self._dtype = dtype

    def _check(self, given):
        padding = super()._check(given)
        if padding is not None and given["ceil_mode"]:
            raise ValueError(
                f"ceil_mode={given['ceil_mode']!r} does not go with padding={padding!r}, which sets "
                "the size: leave it False"
            )
        kernel = given[self._window]
        amounts = padding if isinstance(padding, tuple) else [(p, p) for p in given["padding"] or ()]
        if any(max(pair) >= k for pair, k in zip(amounts, kernel)):
            raise ValueError(
                f"padding={padding or given['padding']} holds whole windows of pool_size={kernel}: "
                "each amount must be less than the window"
            )
        return padding

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        if self._padding is None:
            return super().hybrid_forward(F, x)
        known = self._kwargs
        return functional.pooling(
            F,
            x,
            kernel=known["kernel"],
            pool_type=known["pool_type"],
            stride=known["stride"],
            pad=self._padding,
            count_include_pad=known.get("count_include_pad"),
            layout=known["layout"],
            in_size=self._in_size,
            in_channels=self._seen_channels,
            way=self._way_for(x),
            name="fwd",
        )

    def _check_data(self, x):
        arguments.check_floating(x.dtype)

    def _data_dtype(self):
        return np.dtype(self._dtype).name

    def _ways(self):
        known = self._kwargs
        if self._padding is None or known["layout"].endswith("C"):
            return ()
        kernel = known["kernel"]
        windows = windows_of(kernel, known["stride"], (1,) * len(kernel), self._padding)
        whole = bool(known.get("count_include_pad"))
        return ways_to_pool(windows, self._in_size, known["pool_type"], whole, self._seen_channels)


class _AvgPooling(_Pooling):
    def _check(self, given):
        padding = super()._check(given)
        if given["count_include_pad"] not in (None, True, False):
            raise TypeError(
                f"count_include_pad={given['count_include_pad']!r} is none of None, True and False"
            )
        if given["count_include_pad"] is None:
            given["count_include_pad"] = padding not in ("same", "same_lower")
        return padding


class MaxPool1D(_Pooling, stock.MaxPool1D):
    """1-D max pooling; :class:`mxnet.gluon.nn.MaxPool1D` with more kinds of ``padding``.

    Parameters
    ----------
    pool_size, strides, layout, ceil_mode, prefix, params
        As the stock block's, in its order and with its defaults.
    padding : int, str, tuple of int or tuple of (int, int)
        ``'same'``, ``'same_lower'``, ``'valid'``, elements at both ends, or ``((before, after),)``.
        The padding is never the maximum.


    Inputs:
        - **data**: shape (batch_size, channels, width) for layout NCW.

    Outputs:
        - **out**: shape (batch_size, channels, out_width), where out_width is
          ``ceil(width / strides)`` for the SAME words and otherwise
          ``floor((width + before + after - pool_size) / strides) + 1``.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed.

    Examples
    --------
    >>> import mxnet as mx
    >>> MaxPool1D(3, strides=2, padding='same')(mx.nd.ones((1, 4, 15))).shape
    (1, 4, 8)
    """


class MaxPool2D(_Pooling, stock.MaxPool2D):
    """2-D max pooling; :class:`mxnet.gluon.nn.MaxPool2D` with more kinds of ``padding``.

    Parameters
    ----------
    pool_size, strides, padding, layout, ceil_mode, prefix, params
        As :class:`MaxPool1D`'s, for two axes.


    Inputs:
        - **data**: shape (batch_size, channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_height, out_width), sizes as for
          :class:`MaxPool1D`.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed.

    Examples
    --------
    >>> import mxnet as mx
    >>> MaxPool2D(2, strides=1, padding='same')(mx.nd.ones((1, 512, 13, 13))).shape
    (1, 512, 13, 13)
    """


class MaxPool3D(_Pooling, stock.MaxPool3D):
    """3-D max pooling; :class:`mxnet.gluon.nn.MaxPool3D` with more kinds of ``padding``.

    Parameters
    ----------
    pool_size, strides, padding, ceil_mode, layout, prefix, params
        As :class:`MaxPool1D`'s, for three axes.


    Inputs:
        - **data**: shape (batch_size, channels, depth, height, width) for layout NCDHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_depth, out_height, out_width), sizes as for
          :class:`MaxPool1D`.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed.

    Examples
    --------
    >>> import mxnet as mx
    >>> MaxPool3D(2, padding='same')(mx.nd.ones((1, 2, 5, 6, 7))).shape
    (1, 2, 3, 3, 4)
    """


class AvgPool1D(_AvgPooling, stock.AvgPool1D):
    """1-D average pooling; :class:`mxnet.gluon.nn.AvgPool1D` with more kinds of ``padding``.

    Parameters
    ----------
    pool_size, strides, layout, ceil_mode, prefix, params
        As the stock block's, in its order and with its defaults.
    padding : int, str, tuple of int or tuple of (int, int)
        As :class:`MaxPool1D`'s.
    count_include_pad : bool, optional
        Whether an average divides by the whole window (True) or by its elements that exist (False).
        None, the default, is TensorFlow's False for the SAME words and the stock block's True
        otherwise.


    Inputs:
        - **data**: shape (batch_size, channels, width) for layout NCW.

    Outputs:
        - **out**: shape (batch_size, channels, out_width), sizes as for :class:`MaxPool1D`.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed.

    Examples
    --------
    >>> import mxnet as mx
    >>> AvgPool1D(3, strides=1, padding='same')(mx.nd.array([[[1, 2, 6]]])).asnumpy()
    array([[[1.5, 3. , 4. ]]], dtype=float32)
    """


class AvgPool2D(_AvgPooling, stock.AvgPool2D):
    """2-D average pooling; :class:`mxnet.gluon.nn.AvgPool2D` with more kinds of ``padding``.

    Parameters
    ----------
    pool_size, strides, padding, ceil_mode, layout, count_include_pad, prefix, params
        As :class:`AvgPool1D`'s, for two axes, in the stock block's order.


    Inputs:
        - **data**: shape (batch_size, channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_height, out_width), sizes as for
          :class:`MaxPool1D`.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed.

    Examples
    --------
    >>> import mxnet as mx
    >>> AvgPool2D(2, padding='same')(mx.nd.ones((1, 2, 5, 6))).shape
    (1, 2, 3, 3)
    """


class AvgPool3D(_AvgPooling, stock.AvgPool3D):
    """3-D average pooling; :class:`mxnet.gluon.nn.AvgPool3D` with more kinds of ``padding``.

    Parameters
    ----------
    pool_size, strides, padding, ceil_mode, layout, count_include_pad, prefix, params
        As :class:`AvgPool1D`'s, for three axes, in the stock block's order.


    Inputs:
        - **data**: shape (batch_size, channels, depth, height, width) for layout NCDHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_depth, out_height, out_width), sizes as for
          :class:`MaxPool1D`.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed.

    Examples
    --------
    >>> import mxnet as mx
    >>> AvgPool3D(2, padding='same')(mx.nd.ones((1, 2, 5, 6, 7))).shape
    (1, 2, 3, 3, 4)
    """
