"""Max, average and sum pooling."""

from typing import Any, Optional

import mxnet as mx

from .. import arguments, lowering
from ..arguments import per_axis
from ..lowering.steps import one_channel
from ..symbols import Size, classic, look, movers
from ._window import IntOrInts, check_fit, choose, hashable, windows_of


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
    """Max, average or sum pooling over one, two or three axes.

    Parameters
    ----------
    F, data, stride, layout, in_size, name
        As for :func:`convolution`; ``name`` is that of the ``Pooling`` node.
    kernel : int or tuple of int
        The window, in elements.
    pool_type : {'max', 'avg', 'sum'}
    pad : str, int, tuple of int or tuple of (int, int)
        As for :func:`convolution`, but ``'causal'``; each amount is less than the kernel. A maximum
        is never one of the padding.
    count_include_pad : bool, optional
        Whether an average divides by the whole window (True) or by its elements that exist (False).
        None is False for the SAME words, as TensorFlow does, and otherwise True, as MXNet does.
    in_channels : int, optional
        Channels of a symbol, where they are known; for ``way`` alone.
    way : str, optional
        One of :func:`gluon_same.lowering.ways_to_pool`, for float32 on a CPU, channels first. By
        default the operators follow from the window and the size alone.

    Returns
    -------
    NDArray or Symbol
        Sizes as for :func:`convolution`.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, or an array that is too small for its window.

    Notes
    -----
    Where several elements of a window are the maximum, the gradient goes to one of them; which one
    may differ between arrays and the graph for every size, which may run on the reversed input.

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
    layout, sizes = look(F, data, kernel, layout, in_size)
    if F is mx.nd:
        arguments.check_floating(data.dtype)
    elif in_channels is not None:
        in_channels = arguments.whole("in_channels", in_channels, 1)
    kernel = per_axis("kernel", kernel, len(sizes))
    stride = per_axis("stride", stride, len(sizes))
    windows = windows_of(kernel, stride, (1,) * len(sizes), hashable(pad))
    _check_amounts(windows)
    if count_include_pad is None:
        count_include_pad = isinstance(windows[0].padding, tuple)
    check_fit(windows, sizes)
    whole = bool(count_include_pad)
    plan = lowering.plan_pooling(windows, sizes, pool_type, whole)
    if way is not None:
        channels = data.shape[layout.index("C")] if F is mx.nd else in_channels
        if channels is None or None in sizes:
            raise ValueError(f"way={way!r} requires in_size and in_channels where data is a Symbol")
        plan = choose(way, lowering.ways_to_pool(windows, sizes, pool_type, whole, channels))
        name = name if isinstance(plan, lowering.Plan) else None  # there may be several operators

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
        return restore(plan.apply(movers(F), data, layout, operate))
    # What was padded before the operator counts as elements there: divide by the share that is real.
    if layout == "NDHWC":
        # MXNet fails in bound graphs of it: "size of NDArray doesn't match the requested MKLDNN memory".
        data, layout = F.transpose(data, axes=(0, 4, 1, 2, 3)), "NCDHW"
        restore = _channels_last(F, restore)
    out = plan.apply(movers(F), data, layout, operate)
    ones = F.ones_like(one_channel(F, data, layout.index("C")))
    share = plan.apply(movers(F), ones, layout, lambda x, operator: operate(x, operator, None))
    return restore(F.broadcast_div(out, share))


def _channels_last(F, restore):
    return lambda x: restore(F.transpose(x, axes=(0, 2, 3, 4, 1)))


def _check_amounts(windows):
    for window in windows:
        if isinstance(window.padding, tuple) and max(window.padding) >= window.span:
            raise ValueError(
                f"pad={window.padding} holds whole windows of kernel={window.span}: each amount must "
                "be less than the kernel"
            )
