"""Convolution and transposed convolution."""

from functools import lru_cache
from typing import Any, Optional, Tuple

import mxnet as mx
import numpy as np

from .. import arguments, geometry, lowering
from ..arguments import Ints, per_axis
from ..arrays import Size, classic, keep_dtype, spatial_sizes
from ._window import IntOrInts, check_fit, choose, windows_of


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
    way: Optional[str] = None,
    name: Optional[str] = None,
) -> Any:
    """Compute a convolution over one, two or three axes.

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
        The window, in elements. For a symbol of one or three axes, give a tuple or ``layout``.
    num_filter, num_group : int
    pad : str, int, tuple of int or tuple of (int, int)
        ``'same'``, ``'same_lower'``, ``'valid'``, ``'causal'`` (one axis only), elements at both
        ends of each axis, or ``(before, after)`` for each axis.
    layout : str, optional
        As for ``mx.sym.Convolution``; channels first by default.
    in_size : tuple of int or None, optional
        Spatial size of a symbol, if it is known. Ignored for arrays.
    in_channels : int, optional
        Channels of a symbol, if they are known. With ``in_size`` they determine which of input and
        output is smaller and therefore copied. Ignored for arrays.
    way : str, optional
        Name of a plan of :func:`gluon_same.lowering.ways_to_convolve`, for float32 on a CPU with
        channels first. By default the operators depend only on the window, the sizes and the channels.
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
        If an argument is invalid, or if an array is too small for its window.

    Examples
    --------
    >>> import mxnet as mx
    >>> x, w = mx.nd.ones((1, 3, 416, 416)), mx.nd.ones((16, 3, 3, 3))
    >>> convolution(mx.nd, x, w, kernel=3, num_filter=16, stride=2).shape
    (1, 16, 208, 208)
    """
    data, weight, bias, restore = classic(data, weight, bias)
    layout, sizes = spatial_sizes(F, data, kernel, layout, in_size)
    kernel, stride, dilate = _per_axis(len(sizes), kernel, stride, dilate)
    num_filter, num_group = arguments.groups(num_filter, num_group)
    if F is mx.nd:
        in_channels = data.shape[layout.index("C")]
        check_convolved(data, layout, num_group, weight.dtype)
    elif in_channels is not None:
        in_channels = arguments.whole("in_channels", in_channels, 1)
    windows = windows_of(kernel, stride, dilate, pad, len(sizes) == 1)
    check_fit(windows, sizes)
    # ``Pad`` supports only channels first.
    channels = (in_channels, num_filter) if in_channels and not layout.endswith("C") else None
    depthwise = num_group == num_filter > 1
    plan = lowering.plan_convolution(windows, sizes, channels, depthwise)
    if way is not None:
        if channels is None or None in sizes:
            raise ValueError(
                f"way={way!r} is for layouts with channels first, and requires in_size and in_channels "
                "if data is a Symbol"
            )
        plan = choose(way, lowering.ways_to_convolve(windows, sizes, channels))
    if plan.reversed:
        first = layout.index(layout.strip("NC")[0])
        weight = F.reverse(weight, axis=tuple(first + axis for axis in plan.reversed))
    inputs = [weight] if bias is None else [weight, bias]

    window = {"kernel": kernel, "stride": stride, "dilate": dilate, "layout": layout}
    operate = _operation(
        F.Convolution, inputs, num_filter=num_filter, num_group=num_group, name=name, **window
    )
    return restore(plan.apply(keep_dtype(F), data, layout, operate))


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
    """Compute a transposed convolution over one, two or three axes, the gradient of a convolution.

    Parameters
    ----------
    F, data, bias, kernel, stride, dilate, num_filter, num_group, layout, name
        As for :func:`convolution`; ``name`` is that of the ``Deconvolution`` node.
    weight : NDArray or Symbol
        Shape (channels, num_filter / num_group, *kernel) in the default layout.
    pad : str, int, tuple of int or tuple of (int, int)
        ``'same'``, ``'same_lower'``, ``'valid'``, or the number of elements to cut off the full
        transposed convolution: one for both ends, or ``(before, after)`` for each axis.
    adj : int or tuple of int
        Elements to add at the end, fewer than the stride. Must be 0 for the SAME words, which set the
        output size.
    in_size : ignored
        The padding of a transposed convolution does not depend on the input size.

    Returns
    -------
    NDArray or Symbol
        Along each axis ``in * stride`` elements for the SAME words, otherwise
        ``(in - 1) * stride + dilate * (kernel - 1) + 1 - before - after + adj``.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.

    Examples
    --------
    >>> import mxnet as mx
    >>> x, w = mx.nd.ones((1, 8, 13, 13)), mx.nd.ones((8, 4, 3, 3))
    >>> deconvolution(mx.nd, x, w, kernel=3, num_filter=4, stride=2).shape
    (1, 4, 26, 26)
    """
    data, weight, bias, restore = classic(data, weight, bias)
    layout, sizes = spatial_sizes(F, data, kernel, layout, in_size)
    ndim = len(sizes)
    kernel, stride, dilate = _per_axis(ndim, kernel, stride, dilate)
    adj = per_axis("adj", adj, ndim, least=0)
    num_filter, num_group = arguments.groups(num_filter, num_group)
    if ndim == 3 and any(d > 1 for d in dilate):
        raise ValueError(f"MXNet has no dilated transposed convolution over 3 axes: {dilate=} must be 1")
    if F is mx.nd:
        check_convolved(data, layout, num_group, weight.dtype)
        check_transposed(data.dtype, kernel, stride, dilate)
    windows = windows_of(kernel, stride, dilate, pad)
    _check_transposed_size(windows, adj, sizes)
    inputs = [weight] if bias is None else [weight, bias]

    window = {"kernel": kernel, "stride": stride, "dilate": dilate, "layout": layout}
    operate = _operation(
        F.Deconvolution, inputs, num_filter=num_filter, num_group=num_group, name=name, **window
    )
    return restore(_plan_transposed(windows, adj).apply(keep_dtype(F), data, layout, operate))


def _operation(operator, inputs, **known):
    """Return a function that applies an operator to data with the padding of a plan."""

    def operate(x, own):
        added = {"adj": own.adj} if own.adj else {}
        return operator(x, *inputs, pad=own.pad, no_bias=len(inputs) == 1, **added, **known)

    return operate


def check_convolved(data: Any, layout: str, groups: int, dtype: Any, name: str = "num_group") -> None:
    """Raise an error for an array that MXNet cannot convolve, or convolves incorrectly.

    Raises
    ------
    TypeError, ValueError
        If the channels do not divide into the groups, if the dtype differs from that of the weight, or
        if the channels come last on a CPU.
    """
    arguments.check_channels(data.shape, layout, groups, name)
    given, wanted = np.dtype(data.dtype), np.dtype(dtype)
    # Automatic mixed precision casts between float32, float16 and bfloat16, which is a structured dtype.
    cast = all(each.kind == "V" or each in (np.float16, np.float32) for each in (given, wanted))
    if given != wanted and not cast:
        raise TypeError(f"data of {given} do not match a weight of {wanted}: cast one of the two")
    if layout.endswith("C") and data.context.device_type == "cpu":
        raise ValueError(
            f"layout={layout!r} is not supported on a CPU: MXNet convolves channels last on GPUs only. "
            f"Use {arguments.LAYOUTS[len(layout) - 2][0]!r}"
        )


def check_transposed(dtype: Any, kernel: Ints, stride: Ints, dilate: Ints) -> None:
    """Raise an error for a transposed convolution that MXNet cannot compute in float64.

    Raises
    ------
    ValueError
        If the dtype is float64, and there are three axes or the window is both dilated and strided.
    """
    if np.dtype(dtype) != np.float64:
        return
    if len(kernel) == 3:
        raise ValueError(
            "a transposed convolution over 3 axes does not support float64: MXNet has no such operator "
            "on a CPU. Use float32"
        )
    if max(stride) > 1 and any(d > 1 and k > 1 for d, k in zip(dilate, kernel)):
        raise ValueError(
            f"a transposed convolution with dilate={dilate} and stride={stride} does not support "
            "float64: MXNet computes wrong numbers. Use float32, or set one of the two to 1"
        )


def _per_axis(ndim: int, kernel: Any, stride: Any, dilate: Any) -> Tuple[Ints, Ints, Ints]:
    return (
        per_axis("kernel", kernel, ndim),
        per_axis("stride", stride, ndim),
        per_axis("dilate", dilate, ndim),
    )


def _check_transposed_size(windows, adj, sizes):
    if isinstance(windows[0].padding, str):
        if any(adj):
            raise ValueError(
                f"adj={adj} must be 0 with pad={windows[0].padding!r}, whose output size is in * stride"
            )
        return
    stride = tuple(window.stride for window in windows)
    if any(a >= s for a, s in zip(adj, stride)):
        raise ValueError(f"adj={adj} must be less than stride={stride} on every axis")
    for size, window, extra in zip(sizes, windows, adj):
        if size is not None and (size - 1) * window.stride + window.span + extra <= sum(window.padding):
            pad = tuple(window.padding for window in windows)
            raise ValueError(
                f"pad={pad} cuts off the whole result for data of spatial size {sizes}: cut off less"
            )


@lru_cache(maxsize=4096)  # as for the other plans
def _plan_transposed(windows, adj):
    cuts = tuple(window.padding for window in windows)
    if isinstance(cuts[0], str):
        same = [geometry.transposed_padding(w.span, w.stride, mode=w.padding) for w in windows]
        cuts, adj = zip(*same)
    return lowering.plan_deconvolution(windows, cuts, adj)
