"""Max, average and sum pooling."""

from typing import Any, Optional

import mxnet as mx

from .. import arguments, lowering
from ..arguments import per_axis
from ..arrays import Size, classic, keep_dtype, spatial_sizes
from ..lowering.steps import one_channel
from ._window import IntOrInts, check_fit, choose, windows_of


def pooling(
    F: Any,
    data: Any,
    *,
    kernel: IntOrInts,
    pool_type: str = "max",
    stride: IntOrInts = 1,
    pad: Any = "same",
    count_include_pad: Optional[bool] = None,
    layout: Optional[str] = None,
    in_size: Size = None,
    in_channels: Optional[int] = None,
    way: Optional[str] = None,
    name: Optional[str] = None,
) -> Any:
    """Compute max, average or sum pooling over one, two or three axes.

    Parameters
    ----------
    F, data, stride, layout, in_size, name
        As for :func:`convolution`; ``name`` is that of the ``Pooling`` node.
    kernel : int or tuple of int
        The window, in elements.
    pool_type : {'max', 'avg', 'sum'}
    pad : str, int, tuple of int or tuple of (int, int)
        As for :func:`convolution`, except ``'causal'``. Each amount must be less than the kernel.
        Padding never affects a maximum.
    count_include_pad : bool, optional
        Whether an average divides by the whole window (True) or by its elements that lie in the input
        (False). None means False for the SAME words, as in TensorFlow, and True otherwise, as in MXNet.
    in_channels : int, optional
        Channels of a symbol, if they are known. Used by ``way`` only.
    way : str, optional
        Name of a plan of :func:`gluon_same.lowering.ways_to_pool`, for float32 on a CPU with channels
        first. By default the operators depend only on the window and the size.

    Returns
    -------
    NDArray or Symbol
        Sizes as for :func:`convolution`.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid, or if an array is too small for its window.

    Notes
    -----
    If several elements of a window are the maximum, the gradient goes to one of them. Which one may
    differ between arrays and the graph for every size, because the latter may reverse the input.

    Examples
    --------
    >>> import mxnet as mx
    >>> x = mx.nd.arange(25).reshape((1, 1, 5, 5))
    >>> pooling(mx.nd, x, kernel=2)[0, 0, -1].asnumpy()
    array([21., 22., 23., 24., 24.], dtype=float32)
    """
    if pool_type not in ("max", "avg", "sum"):
        raise ValueError(f"pool_type={pool_type!r} is unknown: use one of 'max', 'avg', 'sum'")
    data, restore = classic(data)
    layout, sizes = spatial_sizes(F, data, kernel, layout, in_size)
    if F is mx.nd:
        arguments.check_floating(data.dtype)
    elif in_channels is not None:
        in_channels = arguments.whole("in_channels", in_channels, 1)
    kernel = per_axis("kernel", kernel, len(sizes))
    stride = per_axis("stride", stride, len(sizes))
    windows = windows_of(kernel, stride, (1,) * len(sizes), pad)
    _check_amounts(windows)
    if count_include_pad is None:
        count_include_pad = isinstance(windows[0].padding, tuple)
    check_fit(windows, sizes)
    whole = bool(count_include_pad)
    plan = lowering.plan_pooling(windows, sizes, pool_type, whole)
    if way is not None:
        channels = data.shape[layout.index("C")] if F is mx.nd else in_channels
        if channels is None or None in sizes:
            raise ValueError(f"way={way!r} requires in_size and in_channels if data is a Symbol")
        plan = choose(way, lowering.ways_to_pool(windows, sizes, pool_type, whole, channels))
        name = name if isinstance(plan, lowering.Plan) else None  # others may have several operators

    def operate(x, operator, name=name):
        axes = len(operator.windows)
        return F.Pooling(
            x,
            kernel=tuple(window.span for window in operator.windows),
            stride=tuple(window.stride for window in operator.windows),
            pad=operator.pad,
            pool_type=pool_type,
            pooling_convention="full" if operator.full else "valid",
            count_include_pad=whole,
            layout=layout if axes == len(sizes) else arguments.LAYOUTS[axes][0],
            name=name,
        )

    if not (plan.pads and pool_type == "avg" and not whole):
        return restore(plan.apply(keep_dtype(F), data, layout, operate))
    # The operator counts elements that were added before it. Divide by the average of ones, which is the
    # share of the window that lies in the input.
    if layout == "NDHWC":
        # Bound graphs of it fail: "size of NDArray doesn't match the requested MKLDNN memory".
        data, layout = F.transpose(data, axes=(0, 4, 1, 2, 3)), "NCDHW"
        restore = _channels_last(F, restore)
    out = plan.apply(keep_dtype(F), data, layout, operate)
    ones = F.ones_like(one_channel(F, data, layout.index("C")))
    share = plan.apply(keep_dtype(F), ones, layout, lambda x, operator: operate(x, operator, None))
    return restore(F.broadcast_div(out, share))


def _channels_last(F, restore):
    return lambda x: restore(F.transpose(x, axes=(0, 2, 3, 4, 1)))


def _check_amounts(windows):
    for window in windows:
        if isinstance(window.padding, tuple) and max(window.padding) >= window.span:
            raise ValueError(
                f"pad={window.padding} is not less than kernel={window.span}: a window must not "
                "contain only padding"
            )
