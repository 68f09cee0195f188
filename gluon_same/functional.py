"""Convolution and pooling with SAME padding, for people who write their own ``hybrid_forward``.

``F`` is ``mx.nd`` or ``mx.sym``, data are arrays or symbols to match, of classic or of NumPy mode.
Arrays show their size and get the cheapest operators for it. A symbol's graph serves every input
size, unless ``in_size`` fixes it: then the graph is for that size alone, and it is the caller's task
to feed no other.
"""

from functools import lru_cache, partial
from typing import Any, Optional, Sequence, Tuple, Union

import mxnet as mx
import numpy as np

from . import arguments, geometry, large, lowering, resize
from .arguments import Window, per_axis
from .arrays import Size, classic, cut, look

__all__ = ["convolution", "deconvolution", "pooling"]

IntOrInts = Union[int, Sequence[int]]


def convolution(
    F: Any,
    data: Any,
    weight: Any,
    bias: Any = None,
    *,
    kernel: IntOrInts,
    num_filter: int,
    stride: IntOrInts = 1,
    dilate: IntOrInts = 1,
    pad: Any = "same",
    num_group: int = 1,
    layout: Optional[str] = None,
    in_size: Size = None,
    in_channels: Optional[int] = None,
    dtype: Any = None,
    name: Optional[str] = None,
) -> Any:
    """Convolution over one, two or three axes.

    Parameters
    ----------
    F : mx.nd or mx.sym
    data : NDArray or Symbol
        Shape (batch, channels, [depth, [height,]] width) in the default layout.
    weight : NDArray or Symbol
        Shape (num_filter, channels / num_group, *kernel) in the default layout.
    bias : NDArray or Symbol, optional
        Shape (num_filter,).
    kernel, stride, dilate : int or tuple of int
        The window, in elements. A symbol's number of axes is told by a tuple or by ``layout``.
    num_filter, num_group : int
    pad : str, int, tuple of int or tuple of (int, int)
        ``'same'``, ``'same_lower'``, ``'valid'``, ``'causal'`` (one axis only), elements at both
        ends of each axis, or ``(before, after)`` for each axis.
    layout : str, optional
        As ``mx.sym.Convolution``'s; channels first by default.
    in_size : tuple of int or None, optional
        Spatial size of a symbol, where it is known. Not used for arrays, which show theirs.
    in_channels, dtype : optional
        What is known of a symbol: channels of the data help to choose the cheaper of two forms, and
        ``'float32'`` to have the quickest any-size form for strided windows. Neither changes a
        number.
    name : str, optional
        Name of the ``Convolution`` node.

    Returns
    -------
    NDArray or Symbol
        Along each axis ``ceil(in / stride)`` elements for the SAME words, otherwise
        ``floor((in + before + after - dilate * (kernel - 1) - 1) / stride) + 1``.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, or an array that is too small for its window.

    Examples
    --------
    >>> import mxnet as mx
    >>> x, w = mx.nd.ones((1, 3, 416, 416)), mx.nd.ones((16, 3, 3, 3))
    >>> convolution(mx.nd, x, w, kernel=3, num_filter=16, stride=2).shape
    (1, 16, 208, 208)
    """
    data, weight, bias, restore = classic(data, weight, bias)
    layout, sizes = look(F, data, kernel, layout, in_size)
    ndim = len(sizes)
    kernel = per_axis("kernel", kernel, ndim)
    stride = per_axis("stride", stride, ndim)
    dilate = per_axis("dilate", dilate, ndim)
    num_filter, num_group = arguments.groups(num_filter, num_group)
    if F is mx.nd:
        in_channels = data.shape[layout.index("C")]
    windows = _windows(kernel, stride, dilate, _hashable(pad), ndim == 1)
    _check_fit(windows, sizes)
    plan = lowering.plan_convolution(windows, sizes, in_channels, num_filter, num_group)
    data = _prepare(F, data, plan, layout, resize.ZEROS, np.dtype(dtype).name if dtype else None)
    inputs = [data, weight] if bias is None else [data, weight, bias]
    out = F.Convolution(
        *inputs,
        kernel=kernel,
        stride=stride,
        dilate=dilate,
        pad=tuple(axis.own for axis in plan.axes),
        num_filter=num_filter,
        num_group=num_group,
        no_bias=bias is None,
        layout=layout,
        name=name,
    )
    return restore(_finish(F, out, plan.axes, layout))


def deconvolution(
    F: Any,
    data: Any,
    weight: Any,
    bias: Any = None,
    *,
    kernel: IntOrInts,
    num_filter: int,
    stride: IntOrInts = 1,
    dilate: IntOrInts = 1,
    pad: Any = "same",
    adj: IntOrInts = 0,
    num_group: int = 1,
    layout: Optional[str] = None,
    in_size: Size = None,
    name: Optional[str] = None,
) -> Any:
    """Transposed convolution over one, two or three axes, as the gradient of :func:`convolution`.

    Parameters
    ----------
    F, data, bias, kernel, stride, dilate, num_filter, num_group, layout, name
        As for :func:`convolution`; ``name`` is that of the ``Deconvolution`` node.
    weight : NDArray or Symbol
        Shape (channels, num_filter / num_group, *kernel) in the default layout.
    pad : str, int, tuple of int or tuple of (int, int)
        ``'same'``, ``'same_lower'``, ``'valid'``, or the elements to cut off the full transposed
        convolution: as many at both ends, or ``(before, after)`` for each axis.
    adj : int or tuple of int
        Elements to add at the end, less than the stride. Not with the SAME words, which have one
        size only.
    in_size : ignored
        No padding of a transposed convolution depends on the input size.

    Returns
    -------
    NDArray or Symbol
        Along each axis ``in * stride`` elements for the SAME words, otherwise
        ``(in - 1) * stride + dilate * (kernel - 1) + 1 - before - after + adj``.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit.

    Examples
    --------
    >>> import mxnet as mx
    >>> x, w = mx.nd.ones((1, 8, 13, 13)), mx.nd.ones((8, 4, 3, 3))
    >>> deconvolution(mx.nd, x, w, kernel=3, num_filter=4, stride=2).shape
    (1, 4, 26, 26)
    """
    data, weight, bias, restore = classic(data, weight, bias)
    layout, sizes = look(F, data, kernel, layout, in_size)
    ndim = len(sizes)
    kernel = per_axis("kernel", kernel, ndim)
    stride = per_axis("stride", stride, ndim)
    dilate = per_axis("dilate", dilate, ndim)
    adj = per_axis("adj", adj, ndim, least=0)
    num_filter, num_group = arguments.groups(num_filter, num_group)
    if ndim == 3 and any(d > 1 for d in dilate):
        raise ValueError(f"dilate={dilate} is not for 3 axes: MXNet has no such operator, leave it 1")
    known = _transposed(kernel, stride, dilate, _hashable(pad), adj)
    for size, k, d, s, cuts, extra in zip(sizes, kernel, dilate, *known):
        if size is not None and (size - 1) * s + d * (k - 1) + 1 - sum(cuts) + extra < 1:
            raise ValueError(f"pad={pad!r} cuts off all that data of spatial size {sizes} give")
    axes = lowering.plan_deconvolution(*known)
    inputs = [data, weight] if bias is None else [data, weight, bias]
    out = F.Deconvolution(
        *inputs,
        kernel=kernel,
        stride=stride,
        dilate=dilate,
        pad=tuple(axis.own for axis in axes),
        adj=tuple(axis.adj for axis in axes),
        num_filter=num_filter,
        num_group=num_group,
        no_bias=bias is None,
        layout=layout,
        name=name,
    )
    return restore(_finish(F, out, axes, layout))


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
    windows = _windows(kernel, stride, (1,) * len(sizes), _hashable(pad))
    _check_amounts(windows)
    if count_include_pad is None:
        count_include_pad = isinstance(windows[0].padding, tuple)
    _check_fit(windows, sizes)
    how = {"pool_type": pool_type, "count_include_pad": bool(count_include_pad)}
    ones = F.ones
    if F is mx.nd:
        in_channels, dtype = data.shape[layout.index("C")], data.dtype
        ones = partial(mx.nd.ones, ctx=data.context)
        if data.context.device_type != "cpu":
            in_channels = None
    # oneDNN, whose kernels these are, serves float32 alone, and channels first.
    known = in_channels and None not in sizes and not layout.endswith("C")
    known = known and dtype is not None and np.dtype(dtype) == np.float32
    slow = known and lowering.is_slow(windows, sizes)
    if not slow or (F is mx.sym and large.follows_convolution(data)):
        return restore(_pool(F, data, windows, sizes, layout, how, name))

    def small(x, windows, sizes, name=None):
        return _pool(F, x, windows, sizes, arguments.LAYOUTS[len(sizes)][0], how, name)

    return restore(large.pool(F, data, windows, sizes, in_channels, ones, small, name))


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
    out = pool(_prepare(F, data, plan, layout, fill), name=name)
    if masked:
        # Zeros that were joined to the input count as elements: divide by the share that is real.
        ones = F.ones_like(resize.one_channel(F, data, layout.index("C")))
        out = F.broadcast_div(out, pool(_prepare(F, ones, plan, layout, resize.ZEROS)))
    return _finish(F, out, plan.axes, layout, plan.flip)


@lru_cache(maxsize=4096)
def _windows(kernel, stride, dilate, pad, causal=False) -> Tuple[Window, ...]:
    spans = tuple(map(geometry.effective_kernel, kernel, dilate))
    padding = arguments.normalize_padding("pad", pad, spans, causal)
    paddings = (padding,) * len(spans) if isinstance(padding, str) else padding
    return tuple(map(Window, spans, stride, paddings, kernel))


@lru_cache(maxsize=4096)
def _transposed(kernel, stride, dilate, pad, adj):
    spans = tuple(map(geometry.effective_kernel, kernel, dilate))
    padding = arguments.normalize_padding("pad", pad, spans)
    if isinstance(padding, str):
        if any(adj):
            raise ValueError(
                f"adj={adj} does not go with pad={pad!r}, whose size is in * stride: leave it 0"
            )
        same = [geometry.transposed_padding(k, s, mode=padding) for k, s in zip(spans, stride)]
        padding, adj = zip(*same)
    elif any(a >= s for a, s in zip(adj, stride)):
        raise ValueError(f"adj={adj} must be less than stride={stride} on every axis")
    return stride, padding, adj


def _check_amounts(windows):
    for window in windows:
        if isinstance(window.padding, tuple) and max(window.padding) >= window.span:
            raise ValueError(
                f"pad={window.padding} holds whole windows of kernel={window.span}: each amount must "
                "be less than the kernel"
            )


def _check_fit(windows, sizes):
    for window, size in zip(windows, sizes):
        if size is not None and lowering.kept(window, size, window.at(size)) < 1:
            raise ValueError(
                f"data of spatial size {sizes} padded by {window.padding} is smaller than a window "
                f"of {window.span} elements: use more padding, a smaller kernel or a larger input"
            )


def _hashable(pad):
    if isinstance(pad, (list, tuple)):
        return tuple(map(_hashable, pad))
    return pad if isinstance(pad, str) else arguments.whole("pad", pad, 0)


def _prepare(F, data, plan, layout, fill, dtype=None):
    """The input as the operator wants it: put right by its size, reversed and lengthened."""
    data = resize.shift(F, data, plan.shift, layout, fill, dtype, plan.deep)
    data = cut(F, data, layout, [(0, 0, flip) for flip in plan.flip])
    return resize.extend(F, data, [(a.front, a.tail) for a in plan.axes], layout, fill, plan.deep)


def _finish(F, out, axes, layout, flip=(False, False, False)):
    """What is wanted of the operator's output."""
    return cut(F, out, layout, [(a.lead, a.trail, f) for a, f in zip(axes, flip)])
