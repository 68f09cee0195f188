"""Max pooling layers whose ``padding`` may be SAME."""

from typing import Any, Dict, Optional

from mxnet.gluon import nn as stock

from .. import functional
from ..arguments import check_floating, check_pooled, is_plain, is_same, per_axis, true_or_false
from ..lowering import Windows
from .base import IntOrInts, PaddingLike, Windowed

__all__ = ["MaxPool1D", "MaxPool2D", "MaxPool3D"]


class Pooling(Windowed):
    """Base class of the poolings over one, two and three axes."""

    def _check_given(self, given: Dict[str, Any]) -> None:
        window = given["pool_size"] = per_axis("pool_size", given["pool_size"], self._ndim)
        steps = given["strides"]
        given["strides"] = window if steps is None else per_axis("strides", steps, self._ndim)
        if given.get("count_include_pad", False) is None:
            given["count_include_pad"] = not is_same(given["padding"])
        for name in {"ceil_mode", "count_include_pad"} & given.keys():
            given[name] = true_or_false(name, given[name])
        if given["ceil_mode"] and not is_plain(given["padding"]):
            raise ValueError(
                f"ceil_mode={given['ceil_mode']!r} must be False with padding={given['padding']!r}, "
                "which sets the output size"
            )

    def _compute(self, F: Any, x: Any) -> Any:
        return functional.pool(F, x, self._windows, self._call, self._data_shape)

    def _check_windows(self, windows: Windows) -> None:
        check_pooled(windows, "padding", "pool_size")

    def _check_data(self, x: Any) -> None:
        check_floating(x.dtype)


class MaxPooling(Pooling):
    """Base class of the max poolings over one, two and three axes."""

    def __init__(
        self,
        pool_size: IntOrInts = 2,
        strides: Optional[IntOrInts] = None,
        padding: PaddingLike = 0,
        layout: Optional[str] = None,
        ceil_mode: bool = False,
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
            Elements around the input, which never affect a maximum. ``'same'`` gives
            ``ceil(in / strides)`` outputs and puts the odd element at the end, as TensorFlow and Keras
            do; ``'same_lower'`` puts it at the start; ``'valid'`` adds none. Letter case is ignored.
            Ints are elements at both ends of each axis, as in stock Gluon; pairs ``(before, after)``,
            one for each axis, differ between the ends. Each amount must be less than the window.
        layout : str, optional
            Order of the axes of data and output: N is the batch, C the channels. None puts the channels
            first: ``'NCW'``, ``'NCHW'`` or ``'NCDHW'``. Otherwise they come last.
        ceil_mode : bool
            Whether to round the number of windows up instead of down. Must be False if ``padding`` is a
            word or pairs, which set the size.
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


class MaxPool1D(MaxPooling, stock.MaxPool1D):
    """1-D max pooling with SAME padding; otherwise as ``mxnet.gluon.nn.MaxPool1D``.

    Inputs:
        - **data**: shape (batch_size, channels, width) for layout NCW.

    Outputs:
        - **out**: shape (batch_size, channels, out_width), where out_width is
          ``ceil(width / strides)`` for the SAME words, and otherwise
          ``floor((width + before + after - pool_size) / strides) + 1``.

    Examples
    --------
    >>> import mxnet as mx
    >>> MaxPool1D(3, strides=2, padding='same')(mx.nd.ones((1, 4, 15))).shape
    (1, 4, 8)
    """

    _ndim = 1


class MaxPool2D(MaxPooling, stock.MaxPool2D):
    """2-D max pooling with SAME padding; otherwise as ``mxnet.gluon.nn.MaxPool2D``.

    Inputs:
        - **data**: shape (batch_size, channels, height, width) for layout NCHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_height, out_width), where each output size is
          ``ceil(in / strides)`` for the SAME words, and otherwise
          ``floor((in + before + after - pool_size) / strides) + 1``.

    Examples
    --------
    >>> import mxnet as mx
    >>> MaxPool2D(2, strides=1, padding='same')(mx.nd.ones((1, 512, 13, 13))).shape
    (1, 512, 13, 13)
    """


class MaxPool3D(MaxPooling, stock.MaxPool3D):
    """3-D max pooling with SAME padding; otherwise as ``mxnet.gluon.nn.MaxPool3D``.

    Inputs:
        - **data**: shape (batch_size, channels, depth, height, width) for layout NCDHW.

    Outputs:
        - **out**: shape (batch_size, channels, out_depth, out_height, out_width), where each
          output size is ``ceil(in / strides)`` for the SAME words, and otherwise
          ``floor((in + before + after - pool_size) / strides) + 1``.

    Examples
    --------
    >>> import mxnet as mx
    >>> MaxPool3D(2, padding='same')(mx.nd.ones((1, 2, 5, 6, 7))).shape
    (1, 2, 3, 3, 4)
    """

    _ndim = 3

    def __init__(
        self,
        pool_size: IntOrInts = 2,
        strides: Optional[IntOrInts] = None,
        padding: PaddingLike = 0,
        ceil_mode: bool = False,  # before the layout, as in stock Gluon for three axes
        layout: Optional[str] = None,
        *,
        prefix: Optional[str] = None,
        params: Any = None,
    ) -> None:
        Pooling.__init__(self, locals())
