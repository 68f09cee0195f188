"""Separable convolution, as in Keras: a depthwise convolution and a 1x1 convolution."""

from typing import Any, Optional

from mxnet.gluon import ParameterDict

from ..saving import Saved
from .base import IntOrInts, PaddingLike
from .checks import NamedArguments, check_initializer
from .conv import Conv1D, Conv2D, Initializer
from .depthwise import DepthwiseConv1D, DepthwiseConv2D

__all__ = ["SeparableConv1D", "SeparableConv2D"]


class _Separable(NamedArguments, Saved):
    """Base class of separable convolutions, with the child blocks ``depthwise`` and ``pointwise``."""

    _depthwise: Any = None
    _pointwise: Any = None

    def __init__(
        self,
        channels: int,
        kernel_size: IntOrInts,
        strides: IntOrInts = 1,
        padding: PaddingLike = 0,
        dilation: IntOrInts = 1,
        depth_multiplier: int = 1,
        layout: Optional[str] = None,
        activation: Optional[str] = None,
        use_bias: bool = True,
        depthwise_initializer: Initializer = None,
        pointwise_initializer: Initializer = None,
        bias_initializer: Initializer = "zeros",
        in_channels: int = 0,
        prefix: Optional[str] = None,
        params: Optional[ParameterDict] = None,
    ) -> None:
        """Create the block.

        Parameters
        ----------
        channels : int
            Number of output channels, also called filters.
        kernel_size, strides, padding, dilation : int, str or tuple
            Window of the depthwise convolution, as for :class:`DepthwiseConv2D`.
        depth_multiplier : int
            Number of channels that the depthwise convolution returns for each input channel.
        layout : str, optional
            Order of the axes of data and output: N is the batch, C the channels. None puts the channels
            first: ``'NCW'`` or ``'NCHW'``. MXNet convolves NHWC on GPUs only.
        activation : str, optional
            Function applied to the output, such as ``'relu'``. None applies none.
        use_bias : bool
            Whether to add a learned bias to each output channel. The depthwise convolution has no bias.
        depthwise_initializer, pointwise_initializer, bias_initializer : str or Initializer, optional
            How to initialize the two weights and the bias. None uses the initializer that is given to
            ``initialize``.
        in_channels : int
            Number of input channels. 0 infers it from the first input.
        prefix : str, optional
            Start of the names of the block and its parameters. None generates one.
        params : ParameterDict, optional
            Parameters of another block, ``other.params``, to share with this one.

        Raises
        ------
        TypeError, ValueError
            As :class:`DepthwiseConv2D`.
        """
        check_initializer("depthwise_initializer", depthwise_initializer)
        check_initializer("pointwise_initializer", pointwise_initializer)
        super().__init__(prefix=prefix, params=params)
        with self.name_scope():
            self.depthwise = self._depthwise(
                kernel_size, strides, padding, dilation, depth_multiplier, layout, use_bias=False,
                weight_initializer=depthwise_initializer, in_channels=in_channels, prefix="depthwise_",
            )  # fmt: skip
            self.pointwise = self._pointwise(
                channels, 1, layout=layout, activation=activation, use_bias=use_bias,
                weight_initializer=pointwise_initializer, bias_initializer=bias_initializer,
                in_channels=in_channels * depth_multiplier, prefix="pointwise_",
            )  # fmt: skip

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.pointwise(self.depthwise(x))

    def _alias(self):
        return "separableconv"


class SeparableConv1D(_Separable):
    """1-D depthwise convolution followed by a convolution of kernel size 1.

    Inputs:
        - **data**: shape (batch_size, in_channels, width) for layout NCW.

    Outputs:
        - **out**: shape (batch_size, channels, out_width), sizes as for :class:`Conv1D`.

    Notes
    -----
    The attributes ``depthwise``, a :class:`DepthwiseConv1D`, and ``pointwise``, a :class:`Conv1D`,
    compute the two steps. Their weights have shapes (in_channels * depth_multiplier, 1, kernel_size) and
    (channels, in_channels * depth_multiplier, 1). Keras' ``depthwise_kernel`` has shape (kernel_size,
    in_channels, depth_multiplier), and its ``pointwise_kernel`` (1, in_channels * depth_multiplier,
    channels)::

        depthwise_kernel.transpose(1, 2, 0).reshape(-1, 1, kernel_size)
        pointwise_kernel.transpose(2, 1, 0)

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = SeparableConv1D(8, 3, strides=2, padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 4, 15))).shape
    (1, 8, 8)
    """

    _depthwise, _pointwise = DepthwiseConv1D, Conv1D


class SeparableConv2D(_Separable):
    """2-D depthwise convolution followed by a 1x1 convolution.

    Inputs:
        - **data**: shape (batch_size, in_channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_height, out_width), sizes as for :class:`Conv1D`.

    Notes
    -----
    The attributes ``depthwise``, a :class:`DepthwiseConv2D`, and ``pointwise``, a :class:`Conv2D`,
    compute the two steps. Their weights have shapes (in_channels * depth_multiplier, 1, kernel_height,
    kernel_width) and (channels, in_channels * depth_multiplier, 1, 1). Keras' ``depthwise_kernel`` has
    shape (kernel_height, kernel_width, in_channels, depth_multiplier), and its ``pointwise_kernel``
    (1, 1, in_channels * depth_multiplier, channels)::

        depthwise_kernel.transpose(2, 3, 0, 1).reshape(-1, 1, kernel_height, kernel_width)
        pointwise_kernel.transpose(3, 2, 0, 1)

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = SeparableConv2D(16, 3, padding='same', depth_multiplier=2, activation='relu')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 4, 15, 16))).shape
    (1, 16, 15, 16)
    >>> layer
    SeparableConv2D(
      (depthwise): DepthwiseConv2D(4 -> 8, kernel_size=(3, 3), stride=(1, 1), padding='same', bias=False)
      (pointwise): Conv2D(8 -> 16, kernel_size=(1, 1), stride=(1, 1), Activation(relu))
    )
    """

    _depthwise, _pointwise = DepthwiseConv2D, Conv2D
