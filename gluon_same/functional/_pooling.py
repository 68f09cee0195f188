"""Max, average and sum pooling."""

from functools import partial
from typing import Any, Optional

import mxnet as mx
import numpy as np

from .. import arguments, large, lowering, planes, resize
from ..arguments import per_axis
from ..arrays import Size, classic, look
from ._window import IntOrInts, check_fit, finish, hashable, prepare, windows_of


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
    dtype: Any = None,
    name: Optional[str] = None,
) -> Any:
    """Max, average or sum pooling over one, two or three axes.

    Parameters
    ----------
    F, data, stride, layout, in_size, name
        As for :func:`convolution`; ``name`` is that of the ``Pooling`` node, or of what joins several.
    kernel : int or tuple of int
        The window, in elements.
    pool_type : {'max', 'avg', 'sum'}
    pad : str, int, tuple of int or tuple of (int, int)
        As for :func:`convolution`, but ``'causal'``; each amount is less than the kernel. A maximum
        is never one of the padding.
    count_include_pad : bool, optional
        Whether an average divides by the whole window (True) or by its elements that exist (False).
        None is False for the SAME words, as TensorFlow does, and otherwise True, as MXNet does.
    in_channels, dtype : optional
        What is known of a symbol. With ``in_size``, and ``'float32'``, it keeps off a kernel for large
        planes that is 10 to 100 times slower.

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
    kernel = per_axis("kernel", kernel, len(sizes))
    stride = per_axis("stride", stride, len(sizes))
    windows = windows_of(kernel, stride, (1,) * len(sizes), hashable(pad))
    _check_amounts(windows)
    if count_include_pad is None:
        count_include_pad = isinstance(windows[0].padding, tuple)
    check_fit(windows, sizes)
    how = {"pool_type": pool_type, "count_include_pad": bool(count_include_pad)}
    ones = F.ones
    if F is mx.nd:
        ones = partial(mx.nd.ones, ctx=data.context)
        dtype = data.dtype
        in_channels = data.shape[layout.index("C")] if data.context.device_type == "cpu" else None
    # oneDNN, whose kernels these are, serves float32 alone, and channels first.
    served = in_channels and dtype and np.dtype(dtype) == np.float32 and not layout.endswith("C")
    slow = served and None not in sizes and planes.is_slow(windows, sizes)
    if not slow or (F is mx.sym and large.follows_convolution(data)):
        return restore(_pool(F, data, windows, sizes, layout, how, name))

    def small(x, windows, sizes, name=None):
        return _pool(F, x, windows, sizes, arguments.LAYOUTS[len(sizes)][0], how, name)

    plain = F is mx.sym  # as far as the graph shows
    return restore(large.pool(F, data, windows, sizes, in_channels, ones, small, plain, name))


def _pool(F, data, windows, sizes, layout, how, name):
    average, counts_all = how["pool_type"] == "avg", how["count_include_pad"]
    plan = lowering.plan_pooling(windows, sizes, average, counts_all)
    masked = average and not counts_all and plan.extends
    if masked and layout == "NDHWC":
        # MXNet fails in bound graphs of it: "size of NDArray doesn't match the requested MKLDNN memory".
        data = F.transpose(data, axes=(0, 4, 1, 2, 3))
        out = _pool(F, data, windows, sizes, "NCDHW", how, name)
        return F.transpose(out, axes=(0, 2, 3, 4, 1))

    def pool(x, **kwargs):
        return F.Pooling(
            x,
            kernel=tuple(window.span for window in windows),
            stride=tuple(window.stride for window in windows),
            pad=tuple(axis.own for axis in plan.axes),
            pooling_convention="full" if plan.full else "valid",
            layout=layout,
            **how,
            **kwargs,
        )

    fill = resize.EDGE if how["pool_type"] == "max" else resize.ZEROS
    out = pool(prepare(F, data, plan, layout, fill), name=name)
    if masked:
        # Zeros that were joined to the input count as elements: divide by the share that is real.
        ones = F.ones_like(resize.one_channel(F, data, layout.index("C")))
        out = F.broadcast_div(out, pool(prepare(F, ones, plan, layout, resize.ZEROS)))
    return finish(F, out, plan.axes, layout, plan.flip)


def _check_amounts(windows):
    for window in windows:
        if isinstance(window.padding, tuple) and max(window.padding) >= window.span:
            raise ValueError(
                f"pad={window.padding} holds whole windows of kernel={window.span}: each amount must "
                "be less than the kernel"
            )
