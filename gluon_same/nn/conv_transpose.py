"""Transposed convolution layers whose ``padding`` may be SAME."""

from typing import Any, Dict, Optional

from mxnet.gluon import nn as stock
from mxnet.symbol import Symbol

from .. import functional
from ..arguments import check_float64, check_transposed, per_axis, windows_of
from ..gradients import channels_of
from .base import IntOrInts, PaddingLike, operator_arguments
from .conv import AnyConvolution, Initializer

__all__ = ["Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"]


class Transposed(AnyConvolution):
    """Base class of the transposed convolutions over one, two and three axes."""

    def __init__(
        self,
        channels: int,
        kernel_size: IntOrInts,
        strides: IntOrInts = 1,
        padding: PaddingLike = 0,
        output_padding: IntOrInts = 0,
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
            Factor by which each axis grows.
        padding : str, int, tuple of int or tuple of (int, int)
            What to cut off the full result. ``'same'`` leaves ``in * strides`` outputs and cuts the odd
            element off the end, as TensorFlow and Keras do; ``'same_lower'`` cuts it off the start;
            ``'valid'`` cuts off nothing. Letter case is ignored. Ints are elements to cut off both ends
            of each axis, as in stock Gluon; pairs ``(before, after)``, one for each axis, differ between
            the ends.
        output_padding : int or tuple of int
            Elements to add at the end of each axis, fewer than its stride. Must be 0 for the SAME
            words, which set the size.
        dilation : int or tuple of int
            Distance between neighboring elements of the window; 1 for no gaps.
        groups : int
            Number of groups that input and output channels are split into. Each group is convolved
            separately.
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
            layer is called, if the input has the wrong number of axes, no elements, or a dtype other
            than the weight's; or if ``padding`` cuts everything off.
        """
        super().__init__(locals())

    def _check_given(self, given: Dict[str, Any]) -> None:
        super()._check_given(given)
        given["output_padding"] = per_axis("output_padding", given["output_padding"], self._ndim, 0)
        names = "strides", "dilation", "output_padding"
        check_transposed(given["padding"], **{name: given[name] for name in names})
        if given["groups"] > 1 and not given["in_channels"]:
            raise ValueError(
                f"groups={given['groups']} requires a known number of channels: give in_channels"
            )

    def forward(self, x: Any, *args: Any) -> Any:
        channels, *rest = self.weight.shape
        if isinstance(x, Symbol) and not channels and self._call["num_filter"] == 1:
            self.weight.shape = channels_of(x), *rest  # from which the form of the graph follows
        return super().forward(x, *args)

    def hybrid_forward(self, F: Any, x: Any, *weights: Any, **named: Any) -> Any:
        check_float64(self.weight.dtype, self._call)
        return super().hybrid_forward(F, x, *weights, **named)

    def _compute(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        given = (x, weight, bias), self._windows, self._call, self._data_shape, self.act
        return functional.deconvolve(F, *given, channels=self.weight.shape[0])

    def _pad_by(self, padding: PaddingLike) -> None:
        super()._pad_by(padding)
        if self._windows is None and self._call["num_filter"] == 1:  # in parts: see ``gradients``
            known = operator_arguments(self)
            self.__dict__["_windows"] = windows_of("padding", padding, known)


class Conv1DTranspose(Transposed, stock.Conv1DTranspose):
    """1-D transposed convolution with SAME padding; otherwise as ``mxnet.gluon.nn.Conv1DTranspose``.

    Inputs:
        - **data**: shape (batch_size, in_channels, width).

    Outputs:
        - **out**: shape (batch_size, channels, out_width), where out_width is
          ``width * strides`` for the SAME words, as in
          ``tf.nn.conv1d_transpose(padding='SAME')``, and otherwise
          ``(width - 1) * strides + dilation * (kernel_size - 1) + 1 - before - after +
          output_padding``.

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = Conv1DTranspose(8, 3, strides=2, padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 4, 15))).shape
    (1, 8, 30)
    """

    _ndim = 1


class Conv2DTranspose(Transposed, stock.Conv2DTranspose):
    """2-D transposed convolution with SAME padding; otherwise as ``mxnet.gluon.nn.Conv2DTranspose``.

    Inputs:
        - **data**: shape (batch_size, in_channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_height, out_width), where each output size is
          ``in * strides`` for the SAME words, as in
          ``tf.nn.conv2d_transpose(padding='SAME')``, and otherwise
          ``(in - 1) * strides + dilation * (kernel_size - 1) + 1 - before - after +
          output_padding``.

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = Conv2DTranspose(8, 3, strides=2, padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 4, 7, 7))).shape
    (1, 8, 14, 14)
    """


class Conv3DTranspose(Transposed, stock.Conv3DTranspose):
    """3-D transposed convolution with SAME padding; otherwise as ``mxnet.gluon.nn.Conv3DTranspose``.

    ``dilation`` must be 1: MXNet has no dilated transposed convolution over three axes.

    Inputs:
        - **data**: shape (batch_size, in_channels, depth, height, width) for layout NCDHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_depth, out_height, out_width), where each
          output size is ``in * strides`` for the SAME words, as in
          ``tf.nn.conv3d_transpose(padding='SAME')``, and otherwise
          ``(in - 1) * strides + dilation * (kernel_size - 1) + 1 - before - after +
          output_padding``.

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = Conv3DTranspose(2, 2, strides=2, padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3, 4, 5, 6))).shape
    (1, 2, 8, 10, 12)
    """

    _ndim = 3
