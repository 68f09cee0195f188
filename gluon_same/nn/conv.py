"""Convolution layers whose ``padding`` may be SAME."""

from typing import Any

import mxnet as mx
import numpy as np
from mxnet.gluon import nn as stock

from .. import functional
from ..arguments import groups
from ..functional._convolution import check_convolved, check_transposed
from ..functional._window import windows_of
from ..lowering import ways_to_convolve
from .base import Windowed

#: Those of every MXNet; later ones know others.
_ACTIVATIONS = ("relu", "sigmoid", "softrelu", "softsign", "tanh")


class _Convolution(Windowed):
    _ints = {"strides": 1, "dilation": 1}
    _counts = {"channels": 1, "groups": 1, "in_channels": 0}

    def _check(self, given):
        padding = super()._check(given)
        if given["use_bias"] not in (True, False, None):
            raise TypeError(f"use_bias={given['use_bias']!r} is neither True nor False")
        _check_activation(given["activation"])
        for name in ("weight_initializer", "bias_initializer"):
            _check_initializer(name, given[name])
        groups(given["channels"], given["groups"], ("channels", "groups"))
        if given["in_channels"]:
            groups(given["in_channels"], given["groups"], ("in_channels", "groups"))
        return padding

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        if self._padding is None:
            return super().hybrid_forward(F, x, weight, bias)
        known = self._kwargs
        out = self._convolve(
            F,
            x,
            weight,
            bias,
            kernel=known["kernel"],
            num_filter=known["num_filter"],
            stride=known["stride"],
            dilate=known["dilate"],
            pad=self._padding,
            num_group=known["num_group"],
            layout=known["layout"],
            in_size=self._in_size,
            name="fwd",
        )
        return out if self.act is None else self.act(out)

    def _convolve(self, F, x, *args, **kwargs):
        way = self._way_for(x)
        return functional.convolution(F, x, *args, in_channels=self._seen_channels, way=way, **kwargs)

    def _check_data(self, x):
        known = self._kwargs
        check_convolved(x, known["layout"], known["num_group"], self.weight.dtype, "groups")

    def _data_dtype(self):
        return np.dtype(self.weight.dtype).name

    def _ways(self):
        known = self._kwargs
        if self._padding is None or known["layout"].endswith("C"):
            return ()
        window = known["kernel"], known["stride"], known["dilate"], self._padding, self._causal
        channels = self._seen_channels, known["num_filter"]
        return ways_to_convolve(windows_of(*window), self._in_size, channels)


def _check_activation(name):
    if name in (None, *_ACTIVATIONS):
        return
    if not isinstance(name, str):
        raise TypeError(f"activation={name!r} is not a name: use one of {_ACTIVATIONS}, or None")
    try:
        mx.sym.Activation(mx.sym.var("data"), act_type=name)
    except mx.MXNetError:
        raise ValueError(f"activation={name!r} is unknown: use one of {_ACTIVATIONS}") from None


def _check_initializer(name, value):
    if value in (None, "") or callable(value):
        return
    if not isinstance(value, str):
        raise TypeError(f"{name}={value!r} is no initializer: give one of mx.init, its name, or None")
    try:
        mx.init.create(value)
    except Exception as error:  # which kind it is depends on what is wrong
        raise ValueError(f"{name}={value!r} is unknown: give one of mx.init, or its name") from error


class _Transposed(_Convolution):
    _ints = {"strides": 1, "dilation": 1, "output_padding": 0}

    def _check(self, given):
        padding = super()._check(given)
        if len(given["dilation"]) == 3 and max(given["dilation"]) > 1:
            raise ValueError(
                f"dilation={given['dilation']} is not for Conv3DTranspose: MXNet has no such operator, "
                "leave it 1"
            )
        if any(extra >= s for extra, s in zip(given["output_padding"], given["strides"])):
            raise ValueError(
                f"output_padding={given['output_padding']} must be less than strides={given['strides']}"
            )
        if padding in ("same", "same_lower") and any(given["output_padding"]):
            raise ValueError(
                f"output_padding={given['output_padding']} does not go with padding={padding!r}, "
                "whose size is in * strides: leave it 0"
            )
        return padding

    def _convolve(self, *args, **kwargs):
        known = self._kwargs
        check_transposed(self.weight.dtype, known["kernel"], known["stride"], known["dilate"])
        return functional.deconvolution(*args, adj=self._kwargs["adj"], **kwargs)

    def _ways(self):
        return ()


class Conv1D(_Convolution, stock.Conv1D):
    """1-D convolution; :class:`mxnet.gluon.nn.Conv1D` with more kinds of ``padding``.

    Parameters
    ----------
    channels, kernel_size, strides, dilation, groups, layout, activation, use_bias, \
weight_initializer, bias_initializer, in_channels, prefix, params
        As the stock block's, in its order and with its defaults.
    padding : int, str, tuple of int or tuple of (int, int)
        ``'same'``, ``'same_lower'``, ``'valid'``, ``'causal'``, elements at both ends, or
        ``((before, after),)``.


    Inputs:
        - **data**: shape (batch_size, in_channels, width).

    Outputs:
        - **out**: shape (batch_size, channels, out_width), where out_width is
          ``ceil(width / strides)`` for the SAME words and ``'causal'``, and otherwise
          ``floor((width + before + after - dilation * (kernel_size - 1) - 1) / strides) + 1``.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed.

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = Conv1D(8, 3, strides=2, padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 4, 15))).shape
    (1, 8, 8)
    """

    _causal = True


class Conv2D(_Convolution, stock.Conv2D):
    """2-D convolution; :class:`mxnet.gluon.nn.Conv2D` with more kinds of ``padding``.

    Parameters
    ----------
    channels, kernel_size, strides, dilation, groups, layout, activation, use_bias, \
weight_initializer, bias_initializer, in_channels, prefix, params
        As the stock block's, in its order and with its defaults.
    padding : int, str, tuple of int or tuple of (int, int)
        ``'same'``, ``'same_lower'``, ``'valid'``, elements at both ends of each axis, or
        ``((top, bottom), (left, right))``.


    Inputs:
        - **data**: shape (batch_size, in_channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_height, out_width), sizes as for
          :class:`Conv1D`.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed.

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = Conv2D(16, (4, 1), padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3, 100, 20))).shape
    (1, 16, 100, 20)
    """


class Conv3D(_Convolution, stock.Conv3D):
    """3-D convolution; :class:`mxnet.gluon.nn.Conv3D` with more kinds of ``padding``.

    Parameters
    ----------
    channels, kernel_size, strides, padding, dilation, groups, layout, activation, use_bias, \
weight_initializer, bias_initializer, in_channels, prefix, params
        As :class:`Conv2D`'s, for three axes.


    Inputs:
        - **data**: shape (batch_size, in_channels, depth, height, width) for layout NCDHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_depth, out_height, out_width), sizes as for
          :class:`Conv1D`.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed.

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = Conv3D(2, 3, strides=(1, 2, 2), padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3, 8, 15, 16))).shape
    (1, 2, 8, 8, 8)
    """


class Conv1DTranspose(_Transposed, stock.Conv1DTranspose):
    """1-D transposed convolution; the stock block with more kinds of ``padding``.

    Parameters
    ----------
    channels, kernel_size, strides, output_padding, dilation, groups, layout, activation, \
use_bias, weight_initializer, bias_initializer, in_channels, prefix, params
        As the stock block's, in its order and with its defaults.
    padding : int, str, tuple of int or tuple of (int, int)
        ``'same'``, ``'same_lower'``, ``'valid'``, or the elements to cut off the full result: as many
        at both ends, or ``((before, after),)``.


    Inputs:
        - **data**: shape (batch_size, in_channels, width).

    Outputs:
        - **out**: shape (batch_size, channels, out_width), where out_width is ``width * strides``
          for the SAME words, as ``tf.nn.conv1d_transpose(padding='SAME')``, and otherwise ``(width -
          1) * strides + dilation * (kernel_size - 1) + 1 - before - after + output_padding``.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed.

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = Conv1DTranspose(8, 3, strides=2, padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 4, 15))).shape
    (1, 8, 30)
    """


class Conv2DTranspose(_Transposed, stock.Conv2DTranspose):
    """2-D transposed convolution; the stock block with more kinds of ``padding``.

    Parameters
    ----------
    channels, kernel_size, strides, padding, output_padding, dilation, groups, layout, activation, \
use_bias, weight_initializer, bias_initializer, in_channels, prefix, params
        As :class:`Conv1DTranspose`'s, for two axes.


    Inputs:
        - **data**: shape (batch_size, in_channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_height, out_width), sizes as for
          :class:`Conv1DTranspose`.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed.

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = Conv2DTranspose(8, 3, strides=2, padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 4, 7, 7))).shape
    (1, 8, 14, 14)
    """


class Conv3DTranspose(_Transposed, stock.Conv3DTranspose):
    """3-D transposed convolution; the stock block with more kinds of ``padding``.

    Parameters
    ----------
    channels, kernel_size, strides, padding, output_padding, dilation, groups, layout, activation, \
use_bias, weight_initializer, bias_initializer, in_channels, prefix, params
        As :class:`Conv1DTranspose`'s, for three axes. MXNet has no dilation here.


    Inputs:
        - **data**: shape (batch_size, in_channels, depth, height, width) for layout NCDHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_depth, out_height, out_width), sizes as for
          :class:`Conv1DTranspose`.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, naming it and what is allowed.

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = Conv3DTranspose(2, 2, strides=2, padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3, 4, 5, 6))).shape
    (1, 2, 8, 10, 12)
    """
