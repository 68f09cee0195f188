"""Convolution and pooling with SAME padding, for use in a ``hybrid_forward``.

``F`` is ``mx.nd`` for arrays and ``mx.sym`` for symbols, in classic or in NumPy mode. An array is
computed with the fewest operators for its size. The graph of a symbol serves every input size. With
``in_size`` it serves that size only, and other sizes give wrong results without an error.
"""

from . import _mxnet  # noqa: F401  isort: skip  before mxnet

from functools import partial
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import mxnet as mx

from . import arguments, lowering
from .arrays import Shape, Size, check_kinds, classic, data_shape, keep_dtype
from .gradients import deconvolve_parts, needs_parts
from .lowering import Windows
from .lowering.steps import one_channel

__all__ = ["convolution", "deconvolution", "pooling"]

IntOrInts = Union[int, Sequence[int]]


def __dir__() -> List[str]:
    return __all__


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
    check_kinds(data, weight, bias)
    layout, shape = data_shape(F, data, kernel, layout, in_size, in_channels)
    call = _window(len(layout) - 2, kernel=kernel, stride=stride, dilate=dilate)
    call["num_filter"], call["num_group"] = arguments.groups(num_filter, num_group)
    if F is mx.nd:
        arguments.check_convolved(data, layout, call["num_group"], weight.dtype)
        axes = {"N": num_filter, "C": shape[layout.index("C")] // call["num_group"]}
        arguments.check_weights(weight, bias, layout, axes, call["kernel"], num_filter)
    windows = arguments.windows_of("pad", pad, call, causal=len(layout) == 3)
    call.update(layout=layout, name=name)
    return convolve(F, (data, weight, bias), windows, call, shape)


def convolve(
    F: Any, inputs: Tuple, windows: Windows, call: Dict[str, Any], shape: Shape = None, act: Any = None
) -> Any:
    """Compute a convolution from windows and arguments that were checked.

    Parameters
    ----------
    F : mx.nd or mx.sym
    inputs : tuple
        Data, weight, and bias or None.
    windows : tuple of Window
        One for each axis, with the padding.
    call : dict
        Other arguments of MXNet's operator.
    shape : tuple of int or None, optional
        Shape of a symbol, None where it is not known.
    act : callable, optional
        An elementwise function of the result. It is applied before the plan's last steps, so that it
        directly follows the operator: oneDNN fuses the two, and a slice returns plain memory.
    """
    data, weight, bias, restore = classic(*inputs)
    sizes, channels = _known_shape(data, call["layout"], shape)
    # ``Pad`` supports only channels first.
    copied = (channels, call["num_filter"]) if channels and not call["layout"].endswith("C") else None
    depthwise = call["num_group"] == call["num_filter"] > 1
    plan = lowering.plan_convolution(windows, sizes, copied, depthwise)
    if plan.reversed:
        first = call["layout"].index(call["layout"].strip("NC")[0])
        # MXNet's ``reverse`` ignores ``grad_req='add'``. A copy takes its gradient, and adds it.
        weight = F.reverse(F.identity(weight), axis=tuple(first + axis for axis in plan.reversed))
    return _apply(F, plan, F.Convolution, (data, weight, bias, restore), call, act)


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
    check_kinds(data, weight, bias)
    layout, shape = data_shape(F, data, kernel, layout, in_size)
    call = _window(len(layout) - 2, kernel=kernel, stride=stride, dilate=dilate)
    call["num_filter"], call["num_group"] = arguments.groups(num_filter, num_group)
    if F is mx.nd:
        arguments.check_convolved(data, layout, call["num_group"], weight.dtype)
        axes = {"N": shape[layout.index("C")], "C": num_filter // call["num_group"]}
        arguments.check_weights(weight, bias, layout, axes, call["kernel"], num_filter)
        arguments.check_float64(data.dtype, call)
    adj = arguments.per_axis("adj", adj, len(layout) - 2, least=0)
    arguments.check_transposed(pad, stride=call["stride"], dilate=call["dilate"], adj=adj)
    call.update(adj=adj, layout=layout, name=name)
    return deconvolve(F, (data, weight, bias), arguments.windows_of("pad", pad, call), call, shape)


def deconvolve(
    F: Any, inputs: Tuple, windows: Windows, call: Dict[str, Any], shape: Shape = None, act: Any = None,
    channels: Optional[int] = None,
) -> Any:  # fmt: skip
    """Compute a transposed convolution from checked arguments; see :func:`convolve`."""
    inputs = classic(*inputs)
    sizes, known = _known_shape(inputs[0], call["layout"], shape)
    plan = lowering.plan_deconvolution(windows, call["adj"], sizes)
    parts = needs_parts(known or channels, call["num_filter"])
    operator = partial(deconvolve_parts, F) if parts else F.Deconvolution
    return _apply(F, plan, operator, inputs, call, act)


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
    check_kinds(data)
    layout, shape = data_shape(F, data, kernel, layout, in_size)
    if F is mx.nd:
        arguments.check_floating(data.dtype)
    call = _window(len(layout) - 2, kernel=kernel, stride=stride)
    windows = arguments.windows_of("pad", pad, call)
    arguments.check_pooled(windows, "pad", "kernel")
    if count_include_pad is None:
        count_include_pad = not arguments.is_same(pad)
    whole = arguments.true_or_false("count_include_pad", count_include_pad)
    call.update(pool_type=pool_type, count_include_pad=whole, layout=layout, name=name)
    return pool(F, data, windows, call, shape)


def pool(F: Any, data: Any, windows: Windows, call: Dict[str, Any], shape: Shape = None) -> Any:
    """Compute a pooling from checked arguments; see :func:`convolve`."""
    data, restore = classic(data)
    call = {"count_include_pad": False, **call}
    layout, whole = call["layout"], call["count_include_pad"]
    sizes, _ = _known_shape(data, layout, shape)
    plan = lowering.plan_pooling(windows, sizes, call["pool_type"], whole)

    def operate(x, operator, **changed):
        convention = "full" if operator.full else "valid"
        return F.Pooling(x, pad=operator.pad, pooling_convention=convention, **{**call, **changed})

    if not (plan.pads and call["pool_type"] == "avg" and not whole):
        return restore(plan.apply(keep_dtype(F), data, layout, operate))
    # The operator counts elements that were added before it. Divide by the average of ones, which is the
    # share of the window that lies in the input.
    if layout == "NDHWC":
        # Bound graphs of it fail: "size of NDArray doesn't match the requested MKLDNN memory".
        first, shape = (0, 4, 1, 2, 3), shape and (shape[0], shape[4], *shape[1:4])
        out = pool(F, F.transpose(data, axes=first), windows, {**call, "layout": "NCDHW"}, shape)
        return restore(F.transpose(out, axes=(0, 2, 3, 4, 1)))
    out = plan.apply(keep_dtype(F), data, layout, operate)
    ones = F.ones_like(one_channel(F, data, layout.index("C")))
    share = plan.apply(keep_dtype(F), ones, layout, lambda x, own: operate(x, own, name=None))
    return restore(F.broadcast_div(out, share))


def _window(ndim, **given):
    """Return the arguments of a window, one int for each axis."""
    return {name: arguments.per_axis(name, value, ndim) for name, value in given.items()}


def _known_shape(data, layout, shape):
    """Return the spatial sizes of data and its channels, with None for those that are not known."""
    if isinstance(data, mx.nd.NDArray):
        shape = data.shape
    elif shape is None:
        return (None,) * (len(layout) - 2), None
    return arguments.spatial(shape, layout), shape[layout.index("C")]


def _apply(F, plan, operator, inputs, call, act):
    """Apply a plan whose operator has a weight."""
    data, *weights, restore = inputs
    weights = [x for x in weights if x is not None]

    def operate(x, own):
        changed = {"adj": own.adj} if own.adj else {}
        y = operator(x, *weights, no_bias=len(weights) == 1, **{**call, "pad": own.pad, **changed})
        return y if act is None else classic(act(restore(y)))[0]

    return restore(plan.apply(keep_dtype(F), data, call["layout"], operate))
