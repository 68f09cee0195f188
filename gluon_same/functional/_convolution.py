"""Convolution and transposed convolution."""

from functools import lru_cache
from typing import Any, Optional

import mxnet as mx
import numpy as np

from .. import arguments, geometry, lowering, moving, resize
from ..arguments import per_axis
from ..arrays import Size, classic, look
from ._window import IntOrInts, check_fit, finish, hashable, prepare, windows_of


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
    batch: Optional[int] = None,
    dtype: Any = None,
    trained: bool = True,
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
    in_channels, batch : int, optional
        Channels and samples of a symbol, where they are known. These, ``dtype`` and ``trained`` help to
        choose the cheapest form. None changes a finite number; a batch of another size is welcome.
    dtype : str or dtype, optional
        That of a symbol; float32 has the most forms.
    trained : bool
        Whether gradients may be asked for. Of an array that is known.
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

    Notes
    -----
    Data of float32, two axes and eight channels or a multiple may be moved by a depthwise convolution,
    which takes elements next to those of a window zero times: what an infinity or a NaN among those
    gives is NaN.

    Examples
    --------
    >>> import mxnet as mx
    >>> x, w = mx.nd.ones((1, 3, 416, 416)), mx.nd.ones((16, 3, 3, 3))
    >>> convolution(mx.nd, x, w, kernel=3, num_filter=16, stride=2).shape
    (1, 16, 208, 208)
    """
    data, weight, bias, restore = classic(data, weight, bias)
    layout, sizes = look(F, data, kernel, layout, in_size)
    kernel, stride, dilate = _per_axis(len(sizes), kernel, stride, dilate)
    num_filter, num_group = arguments.groups(num_filter, num_group)
    if F is mx.nd:
        in_channels, batch = (data.shape[layout.index(axis)] for axis in "CN")
        dtype, trained = data.dtype, mx.autograd.is_recording()
    windows = windows_of(kernel, stride, dilate, hashable(pad), len(sizes) == 1)
    check_fit(windows, sizes)
    dtype = np.dtype(dtype).name if dtype else None
    # oneDNN, whose kernel moves the data, serves float32 on the CPU, and channels first. A graph does
    # not say where it will run.
    elsewhere = F is mx.nd and data.context.device_type != "cpu"
    quick = dtype == "float32" and not layout.endswith("C") and not elsewhere
    batch = None if batch is None else arguments.whole("batch", batch, 1)
    known = in_channels, num_filter, num_group, quick, batch, trained
    plan = lowering.plan_convolution(windows, sizes, *known)
    if plan.moves:
        data = moving.move(F, data, plan.moves, in_channels)
    data = prepare(F, data, plan, layout, resize.ZEROS, dtype)
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
    return restore(finish(F, out, plan.axes, layout))


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
    kernel, stride, dilate = _per_axis(ndim, kernel, stride, dilate)
    adj = per_axis("adj", adj, ndim, least=0)
    num_filter, num_group = arguments.groups(num_filter, num_group)
    if ndim == 3 and any(d > 1 for d in dilate):
        raise ValueError(f"dilate={dilate} is not for 3 axes: MXNet has no such operator, leave it 1")
    known = _transposed(kernel, stride, dilate, hashable(pad), adj)
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
    return restore(finish(F, out, axes, layout))


def _per_axis(ndim, kernel, stride, dilate):
    given = {"kernel": kernel, "stride": stride, "dilate": dilate}
    return [per_axis(name, value, ndim) for name, value in given.items()]


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
