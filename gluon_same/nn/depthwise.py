"""Depthwise convolution, as in Keras."""

from typing import Any, Optional

import mxnet as mx
from mxnet.gluon import ParameterDict

from ..arguments import whole
from ..arrays import as_classic
from .base import Checked, IntOrInts, PaddingLike, operator_arguments
from .conv import Conv1D, Conv2D, Convolution, Initializer

__all__ = ["DepthwiseConv1D", "DepthwiseConv2D"]


class _Depthwise(Convolution):
    """Mixin for a convolution with one group for each input channel; place it before the convolution.

    The shape of the weight contains the number of channels. If the weight has no shape yet, the numbers
    of filters and groups are inferred from the data of the first call or the symbol of the graph.
    """

    def __init__(
        self,
        kernel_size: IntOrInts,
        strides: IntOrInts = 1,
        padding: PaddingLike = 0,
        dilation: IntOrInts = 1,
        depth_multiplier: int = 1,
        layout: Optional[str] = None,
        activation: Optional[str] = None,
        use_bias: bool = True,
        weight_initializer: Initializer = None,
        bias_initializer: Initializer = "zeros",
        in_channels: int = 0,
        prefix: Optional[str] = None,
        params: Optional[ParameterDict] = None,
    ) -> None:
        """Create the layer.

        Parameters
        ----------
        kernel_size : int or tuple of int
            Size of the window: one int for all axes, or one for each.
        strides : int or tuple of int
            Step of the window along each axis.
        padding : str, int, tuple of int or tuple of (int, int)
            As for :class:`Conv2D`: ``'same'``, ``'same_lower'``, ``'valid'``, ``'causal'`` (one axis
            only), elements at both ends of each axis, or pairs ``(before, after)``, one for each axis.
        dilation : int or tuple of int
            Distance between neighboring elements of the window; 1 for no gaps.
        depth_multiplier : int
            Number of output channels for each input channel. Those of one input channel are adjacent.
        layout : str, optional
            Order of the axes of data and output: N is the batch, C the channels. None puts the channels
            first: ``'NCW'`` or ``'NCHW'``. MXNet convolves NHWC on GPUs only.
        activation : str, optional
            Function applied to the output, such as ``'relu'``. None applies none.
        use_bias : bool
            Whether to add a learned bias to each output channel.
        weight_initializer, bias_initializer : str or mxnet.init.Initializer, optional
            How to initialize the weight and the bias. None uses the initializer that is given to
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
            If an argument is invalid; the message names it and what is allowed. When the layer is
            called, if the data have the wrong number of axes or channels, or if the channels of a symbol
            are unknown.
        """
        self._multiplier = whole("depth_multiplier", depth_multiplier, 1)
        channels = whole("in_channels", in_channels, 0)
        # The stock block requires a number of groups. Build it for one channel if none is known.
        self._any_channels = not channels
        count = channels or 1
        super().__init__(
            count * self._multiplier, kernel_size, strides, padding, dilation, count, layout, activation,
            use_bias, weight_initializer, bias_initializer, count, prefix=prefix, params=params,
        )  # fmt: skip
        self._any_channels = False

    @property
    def params(self) -> Any:
        found = super().params
        return _FirstAxisFree(found) if vars(self).get("_any_channels") else found

    def _check_array(self, x: Any) -> None:
        Checked._check_array(self, x)  # whatever the padding, because the channels are read here
        given, known = x.shape[self._layout.index("C")], self._known_channels()
        if known not in (0, given):
            raise ValueError(
                f"data for {self.name} of shape {x.shape} have {given} channels: give {known}, as "
                "its weight requires"
            )
        if not known:
            for parameter in filter(None, (self.weight, self.bias)):
                parameter.shape = (given * self._multiplier, *parameter.shape[1:])
        super()._check_array(x)

    def hybrid_forward(self, F: Any, x: Any, *weights: Any, **named: Any) -> Any:
        channels = self._known_channels() or self._channels_of(x)
        counts = {"num_filter": channels * self._multiplier, "num_group": channels}
        self._call.update(counts)
        operator_arguments(self).update(counts)
        return super().hybrid_forward(F, x, *weights, **named)

    def _known_channels(self):
        return max(self.weight.shape[0], 0) // self._multiplier

    def _channels_of(self, x):
        ndim = len(self._layout)
        shape = self._in_shape or _shape_of(x, ndim)
        channels = shape[self._layout.index("C")] if len(shape) == ndim else 0
        if channels < 1:
            raise ValueError(
                f"{self.name} has in_channels=0, and its channels cannot be inferred from the graph: "
                "give in_channels, or call the net with an array before hybridizing it"
            )
        return channels

    def __repr__(self) -> str:
        filters, channels = max(self.weight.shape[0], 0) or None, self._known_channels() or None
        _, window = super().__repr__().split(", kernel_size", 1)
        window = window.replace(f", groups={self._call['num_group']}", "")
        return f"{type(self).__name__}({channels} -> {filters}, kernel_size{window}"

    def _alias(self):
        return "depthwiseconv"


class _FirstAxisFree:
    """A ParameterDict that creates parameters whose first axis is inferred later."""

    def __init__(self, parameters):
        self._parameters = parameters

    def __getattr__(self, name):
        return getattr(self._parameters, name)

    def get(self, name, shape, **kwargs):
        unknown = -1 if mx.util.is_np_shape() else 0
        return self._parameters.get(name, shape=(unknown, *shape[1:]), **kwargs)


def _shape_of(x, ndim):
    """Infer the shape of a symbol, with 0 or -1 for sizes that are not known."""
    x = as_classic(x)
    attributes, unknown = x.attr_dict(), -1 if mx.util.is_np_shape() else 0
    free = [name for name in x.list_inputs() if "__shape__" not in attributes.get(name, ())]
    try:
        _, (shape,), _ = x.infer_shape_partial(**dict.fromkeys(free, (unknown,) * ndim))
    except mx.MXNetError:  # an input of another rank
        return ()
    return shape or ()


class DepthwiseConv1D(_Depthwise, Conv1D):
    """1-D depthwise convolution: each channel has its own ``depth_multiplier`` kernels.

    Inputs:
        - **data**: shape (batch_size, in_channels, width) for layout NCW.

    Outputs:
        - **out**: shape (batch_size, in_channels * depth_multiplier, out_width), sizes as for
          :class:`Conv1D`.

    Notes
    -----
    The weight is that of a grouped convolution with one group per channel, of shape
    (in_channels * depth_multiplier, 1, kernel_size) for layout NCW. Keras' ``depthwise_kernel`` has
    shape (kernel_size, in_channels, depth_multiplier)::

        kernel.transpose(1, 2, 0).reshape(-1, 1, kernel_size)

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = DepthwiseConv1D(3, strides=2, padding='causal', depth_multiplier=2)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 4, 15))).shape, layer.weight.shape
    ((1, 8, 8), (8, 1, 3))
    """


class DepthwiseConv2D(_Depthwise, Conv2D):
    """2-D depthwise convolution: each channel has its own ``depth_multiplier`` kernels.

    Inputs:
        - **data**: shape (batch_size, in_channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, in_channels * depth_multiplier, out_height, out_width), sizes as
          for :class:`Conv1D`.

    Notes
    -----
    The weight is that of a grouped convolution with one group per channel, of shape
    (in_channels * depth_multiplier, 1, kernel_height, kernel_width) for layout NCHW. Keras'
    ``depthwise_kernel`` has shape (kernel_height, kernel_width, in_channels, depth_multiplier)::

        kernel.transpose(2, 3, 0, 1).reshape(-1, 1, kernel_height, kernel_width)

    Examples
    --------
    >>> import mxnet as mx
    >>> layer = DepthwiseConv2D(3, strides=2, padding='same')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 32, 112, 112))).shape
    (1, 32, 56, 56)
    >>> layer
    DepthwiseConv2D(32 -> 32, kernel_size=(3, 3), stride=(2, 2), padding='same')
    """
