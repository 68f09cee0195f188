"""Average pooling layers whose ``padding`` may be SAME."""

from typing import Any, Optional

from mxnet.gluon import nn as stock

from .base import IntOrInts, PaddingLike
from .pool import Pooling

__all__ = ["AvgPool1D", "AvgPool2D", "AvgPool3D"]


class AvgPooling(Pooling):
    """Base class of the average poolings over one, two and three axes."""

    def __init__(
        self,
        pool_size: IntOrInts = 2,
        strides: Optional[IntOrInts] = None,
        padding: PaddingLike = 0,
        ceil_mode: bool = False,
        layout: Optional[str] = None,
        count_include_pad: Optional[bool] = None,
        *,
        prefix: Optional[str] = None,
        params: Any = None,
    ) -> None:
        """Create the layer.

        Parameters
        ----------
        pool_size : int or tuple of int
            Size of the window: one int for all axes, or one for each.
        strides : int or tuple of int, optional
            Step of the window along each axis. Defaults to ``pool_size``.
        padding : str, int, tuple of int or tuple of (int, int)
            Zeros around the input. ``'same'`` gives ``ceil(in / strides)`` outputs and puts the odd
            element at the end, as TensorFlow and Keras do; ``'same_lower'`` puts it at the start;
            ``'valid'`` adds none. Letter case is ignored. Ints are elements at both ends of each axis,
            as in stock Gluon; pairs ``(before, after)``, one for each axis, differ between the ends.
            Each amount must be less than the window.
        ceil_mode : bool
            Whether to round the number of windows up instead of down. Must be False if ``padding`` is a
            word or pairs, which set the size.
        layout : str, optional
            Order of the axes of data and output: N is the batch, C the channels. None puts the channels
            first: ``'NCW'``, ``'NCHW'`` or ``'NCDHW'``. Otherwise they come last.
        count_include_pad : bool, optional
            Whether an average divides by the whole window (True) or by its elements that lie in the
            input (False). None means False for the SAME words, as in TensorFlow, and True otherwise,
            as in stock Gluon.
        prefix : str, optional
            Start of the name of the layer. None generates one, such as ``pool0_``.
        params : mxnet.gluon.ParameterDict, optional
            Accepted for all Gluon blocks; a pooling has no parameters.

        Raises
        ------
        TypeError, ValueError
            If an argument is invalid; the message names it, its value and what is allowed. When the
            layer is called, if the input has the wrong number of axes, no elements or an integer dtype,
            or is too small for the window.
        """
        super().__init__(locals())


class AvgPool1D(AvgPooling, stock.AvgPool1D):
    """1-D average pooling with SAME padding; otherwise as ``mxnet.gluon.nn.AvgPool1D``.

    Inputs:
        - **data**: shape (batch_size, channels, width) for layout NCW.

    Outputs:
        - **out**: shape (batch_size, channels, out_width), where out_width is
          ``ceil(width / strides)`` for the SAME words, and otherwise
          ``floor((width + before + after - pool_size) / strides) + 1``.

    Examples
    --------
    >>> import mxnet as mx
    >>> AvgPool1D(3, strides=1, padding='same')(mx.nd.array([[[1, 2, 6]]])).asnumpy()
    array([[[1.5, 3. , 4. ]]], dtype=float32)
    """

    _ndim = 1

    def __init__(
        self,
        pool_size: IntOrInts = 2,
        strides: Optional[IntOrInts] = None,
        padding: PaddingLike = 0,
        layout: Optional[str] = None,  # before ceil_mode, as in stock Gluon for one axis
        ceil_mode: bool = False,
        count_include_pad: Optional[bool] = None,
        *,
        prefix: Optional[str] = None,
        params: Any = None,
    ) -> None:
        Pooling.__init__(self, locals())


class AvgPool2D(AvgPooling, stock.AvgPool2D):
    """2-D average pooling with SAME padding; otherwise as ``mxnet.gluon.nn.AvgPool2D``.

    Inputs:
        - **data**: shape (batch_size, channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_height, out_width), where each output size is
          ``ceil(in / strides)`` for the SAME words, and otherwise
          ``floor((in + before + after - pool_size) / strides) + 1``.

    Examples
    --------
    >>> import mxnet as mx
    >>> AvgPool2D(2, padding='same')(mx.nd.ones((1, 2, 5, 6))).shape
    (1, 2, 3, 3)
    """


class AvgPool3D(AvgPooling, stock.AvgPool3D):
    """3-D average pooling with SAME padding; otherwise as ``mxnet.gluon.nn.AvgPool3D``.

    Inputs:
        - **data**: shape (batch_size, channels, depth, height, width) for layout NCDHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_depth, out_height, out_width), where each
          output size is ``ceil(in / strides)`` for the SAME words, and otherwise
          ``floor((in + before + after - pool_size) / strides) + 1``.

    Examples
    --------
    >>> import mxnet as mx
    >>> AvgPool3D(2, padding='same')(mx.nd.ones((1, 2, 5, 6, 7))).shape
    (1, 2, 3, 3, 4)
    """

    _ndim = 3
