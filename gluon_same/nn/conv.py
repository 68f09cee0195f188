"""Convolution layers whose ``padding`` may be SAME."""

from typing import Any, Callable, Dict, Optional, Union

from mxnet.gluon import nn as stock

from .. import functional
from ..arguments import check_convolved, groups, per_axis, true_or_false, whole
from .base import IntOrInts, PaddingLike, Windowed
from .checks import check_activation, check_initializer

__all__ = ["Conv1D", "Conv2D", "Conv3D"]

#: One of ``mx.init``, its name, or None for the initializer that is given to ``initialize``.
Initializer = Union[None, str, Callable[..., Any]]


class AnyConvolution(Windowed):
    """Base class of convolutions and transposed convolutions."""

    def _check_given(self, given: Dict[str, Any]) -> None:
        for name in ("kernel_size", "strides", "dilation"):
            given[name] = per_axis(name, given[name], self._ndim)
        for name, least in (("channels", 1), ("groups", 1), ("in_channels", 0)):
            given[name] = whole(name, given[name], least)
        if given["use_bias"] is not None:
            true_or_false("use_bias", given["use_bias"])
        check_activation(given["activation"])
        for name in ("weight_initializer", "bias_initializer"):
            check_initializer(name, given[name])
        for name in ("channels", "in_channels"):
            if given[name]:
                groups(given[name], given["groups"], (name, "groups"))

    def _check_data(self, x: Any) -> None:
        check_convolved(x, self._layout, self._call["num_group"], self.weight.dtype, "groups")


class Convolution(AnyConvolution):
    """Base class of the convolutions over one, two and three axes."""

    def __init__(
        self,
        channels: int,
        kernel_size: IntOrInts,
        strides: IntOrInts = 1,
        padding: PaddingLike = 0,
        dilation: IntOrInts = 1,
        groups: int = 1,
        layout: Optional[str] = None,
        activation: Optional[str] = None,
        use_bias: Optional[bool] = True,
        weight_initializer: Initializer = None,
        bias_initializer: Initializer = "zeros",
        in_channels: int = 0,
        *,
        prefix: Optional[str] = None,
        params: Any = None,
    ) -> None:
        """Create the layer.

        Parameters
        ----------
        channels : int
            Number of output channels, also called filters.
        kernel_size : int or tuple of int
            Size of the window: one int for all axes, or one for each.
        strides : int or tuple of int
            Step of the window along each axis.
        padding : str, int, tuple of int or tuple of (int, int)
            Zeros around the input. ``'same'`` gives ``ceil(in / strides)`` outputs and puts the odd
            element at the end, as TensorFlow and Keras do; ``'same_lower'`` puts it at the start;
            ``'valid'`` adds none; ``'causal'`` (Conv1D only) adds all of
            ``dilation * (kernel_size - 1)`` at the start. Letter case is ignored. Ints are elements
            at both ends of each axis, as in stock Gluon; pairs ``(before, after)``, one for each axis,
            differ between the ends.
        dilation : int or tuple of int
            Distance between neighboring elements of the window; 1 for no gaps.
        groups : int
            Number of groups that input and output channels are split into. Each group is convolved
            separately; ``groups=in_channels`` is a depthwise convolution.
        layout : str, optional
            Order of the axes of data and output: N is the batch, C the channels. None puts the channels
            first: ``'NCW'``, ``'NCHW'`` or ``'NCDHW'``. The layers over two and three axes also accept
            channels last, which MXNet convolves on GPUs only.
        activation : str, optional
            Function applied to the output, such as ``'relu'``, ``'sigmoid'`` or ``'tanh'``. None
            applies none.
        use_bias : bool
            Whether to add a learned bias to each output channel.
        weight_initializer, bias_initializer : str or mxnet.init.Initializer, optional
            How to initialize the weight and the bias. None uses the initializer that is given to
            ``initialize``.
        in_channels : int
            Number of input channels. 0 infers it from the first input.
        prefix : str, optional
            Start of the names of the layer and its parameters. None generates one, such as ``conv0_``.
        params : mxnet.gluon.ParameterDict, optional
            Parameters of another layer, ``other.params``, to share with this one.

        Raises
        ------
        TypeError, ValueError
            If an argument is invalid; the message names it, its value and what is allowed. When the
            layer is called, if the input has the wrong number of axes, no elements, a dtype other than
            the weight's, or is too small for the window.
        """
        super().__init__(locals())

    def _compute(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        inputs = x, weight, bias
        return functional.convolve(F, inputs, self._windows, self._call, self._data_shape, self.act)


class Conv1D(Convolution, stock.Conv1D):
    """1-D convolution with SAME padding; otherwise as ``mxnet.gluon.nn.Conv1D``.

    Inputs:
        - **data**: shape (batch_size, in_channels, width).

    Outputs:
        - **out**: shape (batch_size, channels, out_width), where out_width is
          ``ceil(width / strides)`` for the SAME words and ``'causal'``, and otherwise
          ``floor((width + before + after - dilation * (kernel_size - 1) - 1) / strides) + 1``.

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = Conv1D(8, 3, strides=2, padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 4, 15))).shape
    (1, 8, 8)
    """

    _ndim = 1
    _causal = True


class Conv2D(Convolution, stock.Conv2D):
    """2-D convolution with SAME padding; otherwise as ``mxnet.gluon.nn.Conv2D``.

    Inputs:
        - **data**: shape (batch_size, in_channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_height, out_width), where each output size is
          ``ceil(in / strides)`` for the SAME words, and otherwise
          ``floor((in + before + after - dilation * (kernel_size - 1) - 1) / strides) + 1``.

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = Conv2D(16, (4, 1), padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3, 100, 20))).shape
    (1, 16, 100, 20)
    """


class Conv3D(Convolution, stock.Conv3D):
    """3-D convolution with SAME padding; otherwise as ``mxnet.gluon.nn.Conv3D``.

    Inputs:
        - **data**: shape (batch_size, in_channels, depth, height, width) for layout NCDHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_depth, out_height, out_width), where each
          output size is ``ceil(in / strides)`` for the SAME words, and otherwise
          ``floor((in + before + after - dilation * (kernel_size - 1) - 1) / strides) + 1``.

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = Conv3D(2, 3, strides=(1, 2, 2), padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3, 8, 15, 16))).shape
    (1, 2, 8, 8, 8)
    """

    _ndim = 3
