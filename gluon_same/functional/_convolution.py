"""Convolution and transposed convolution."""

from functools import lru_cache
from typing import Any, Optional, Tuple

import mxnet as mx
import numpy as np

from .. import arguments, geometry, lowering
from ..arguments import Ints, per_axis
from ..geometry import Window
from ..symbols import Size, classic, look, movers
from ._window import IntOrInts, check_fit, choose, hashable, windows_of


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
        The window, in elements. For a symbol of one or three axes, give a tuple or ``layout``.
    num_filter, num_group : int
    pad : str, int, tuple of int or tuple of (int, int)
        ``'same'``, ``'same_lower'``, ``'valid'``, ``'causal'`` (one axis only), elements at both
        ends of each axis, or ``(before, after)`` for each axis.
    layout : str, optional
        As ``mx.sym.Convolution``'s; channels first by default.
    in_size : tuple of int or None, optional
        Spatial size of a symbol, where it is known. Not used for arrays, which show theirs.
    in_channels : int, optional
        Channels of a symbol, where they are known. With ``in_size`` they tell whether it is the input
        or the output that is smaller, and so is the one to copy.
    way : str, optional
        One of :func:`gluon_same.lowering.ways_to_convolve`, for float32 on a CPU, channels first. By
        default the operators follow from the window and the sizes alone.
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
    kernel, stride, dilate = _per_axis(len(sizes), kernel, stride, dilate)
    num_filter, num_group = arguments.groups(num_filter, num_group)
    if F is mx.nd:
        in_channels = data.shape[layout.index("C")]
        check_convolved(data, layout, num_group, weight.dtype)
    elif in_channels is not None:
        in_channels = arguments.whole("in_channels", in_channels, 1)
    windows = windows_of(kernel, stride, dilate, hashable(pad), len(sizes) == 1)
    check_fit(windows, sizes)
    # ``Pad`` takes channels first alone.
    channels = (in_channels, num_filter) if in_channels and not layout.endswith("C") else None
    depthwise = num_group == num_filter > 1
    plan = lowering.plan_convolution(windows, sizes, channels, depthwise)
    if way is not None:
        if channels is None or None in sizes:
            raise ValueError(
                f"way={way!r} is for layouts with channels first, and requires in_size and in_channels "
                "where data is a Symbol"
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
    return restore(plan.apply(movers(F), data, layout, operate))


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
    if F is mx.nd:
        check_convolved(data, layout, num_group, weight.dtype)
        check_transposed(data.dtype, kernel, stride, dilate)
    windows, cuts, extras = _transposed(kernel, stride, dilate, hashable(pad), adj)
    for size, window, cut, extra in zip(sizes, windows, cuts, extras):
        if size is not None and (size - 1) * window.stride + window.span - sum(cut) + extra < 1:
            raise ValueError(f"pad={pad!r} cuts off all that data of spatial size {sizes} give")
    inputs = [weight] if bias is None else [weight, bias]

    window = {"kernel": kernel, "stride": stride, "dilate": dilate, "layout": layout}
    operate = _operation(
        F.Deconvolution, inputs, num_filter=num_filter, num_group=num_group, name=name, **window
    )
    plan = lowering.plan_deconvolution(windows, cuts, extras)
    return restore(plan.apply(movers(F), data, layout, operate))


def _operation(operator, inputs, **known):
    """What applies an operator to data, with the padding of a plan."""

    def operate(x, own):
        added = {"adj": own.adj} if own.adj else {}
        return operator(x, *inputs, pad=own.pad, no_bias=len(inputs) == 1, **added, **known)

    return operate


def check_convolved(data: Any, layout: str, groups: int, dtype: Any, name: str = "num_group") -> None:
    """Refuse an array that MXNet does not convolve, or with other numbers than one would expect.

    Raises
    ------
    TypeError, ValueError
        If the channels do not fit the groups, or the dtype not that of the weight; or if the channels
        come last, on a CPU.
    """
    arguments.check_channels(data.shape, layout, groups, name)
    given, wanted = np.dtype(data.dtype), np.dtype(dtype)
    # Automatic mixed precision casts what meets in float32, float16 and bfloat16, a structured dtype.
    cast = all(each.kind == "V" or each in (np.float16, np.float32) for each in (given, wanted))
    if given != wanted and not cast:
        raise TypeError(f"data of {given} do not go with a weight of {wanted}: cast one of the two")
    if layout.endswith("C") and data.context.device_type == "cpu":
        raise ValueError(
            f"layout={layout!r} is for GPUs alone, where MXNet convolves channels last: use "
            f"{arguments.LAYOUTS[len(layout) - 2][0]!r}"
        )


def check_transposed(dtype: Any, kernel: Ints, stride: Ints, dilate: Ints) -> None:
    """Refuse a transposed convolution of float64 that MXNet computes wrong, or fails at late.

    Raises
    ------
    ValueError
        If there are three axes, or if the window is dilated and there are strides.
    """
    if np.dtype(dtype) != np.float64:
        return
    if len(kernel) == 3:
        raise ValueError(
            "a transposed convolution over 3 axes is not for float64: MXNet has no such operator on a "
            "CPU. Use float32"
        )
    if max(stride) > 1 and any(d > 1 and k > 1 for d, k in zip(dilate, kernel)):
        raise ValueError(
            f"a transposed convolution with dilate={dilate} and stride={stride} is not for float64: "
            "MXNet computes wrong numbers. Use float32, or leave one of the two 1"
        )


def _per_axis(ndim: int, kernel: Any, stride: Any, dilate: Any) -> Tuple[Ints, Ints, Ints]:
    return (
        per_axis("kernel", kernel, ndim),
        per_axis("stride", stride, ndim),
        per_axis("dilate", dilate, ndim),
    )


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
    return tuple(map(Window, spans, stride, padding, kernel)), tuple(padding), tuple(adj)
