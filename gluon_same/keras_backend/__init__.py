"""The functions of a Keras backend, with TensorFlow's results.

They are for authors of Keras backends on MXNet, and have the signatures, kernel layouts and meaning of
the functions in a Keras 3 backend's ``nn`` module. :func:`install` corrects the keras-mxnet package with
them. This module does not import Keras.

These functions accept arrays or symbols, in classic or in NumPy mode, with one to three spatial axes.

- ``data_format`` is ``'channels_last'``, shape (batch, *spatial, channels), or ``'channels_first'``,
  shape (batch, channels, *spatial). None means ``'channels_last'``, Keras' default: a backend passes the
  value of ``image_data_format()``.
- ``padding`` is ``'valid'`` or ``'same'``. Letter case is ignored.
- ``strides``, ``dilation_rate`` and ``pool_size`` are an int, or one int for each axis. Strides and
  dilation may both exceed 1, which not all of Keras' backends support.
- Kernels have Keras' layout for both data formats.

*Symbols.* The variable of a kernel must have a shape. The variable of the data may have one, with 0 for
unknown sizes. If the size of a strided axis is known, the graph serves that size, and MXNet raises an
error for another. If it is not known, the graph serves every size.

The functions raise a ValueError for an invalid value or shapes that do not match, and a TypeError for an
argument of the wrong type.
"""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

from typing import Any, List, Optional, Sequence, Union

from . import checks, operations
from .checks import conv_transpose_padding
from .mxnet_backend import install, installed, is_installed, uninstall
from .operands import take

__all__ = [
    "average_pool",
    "conv",
    "conv_transpose",
    "conv_transpose_padding",
    "depthwise_conv",
    "install",
    "installed",
    "is_installed",
    "max_pool",
    "separable_conv",
    "uninstall",
]


def __dir__() -> List[str]:
    return __all__


IntOrInts = Union[int, Sequence[int]]


def conv(
    inputs: Any,
    kernel: Any,
    strides: IntOrInts = 1,
    padding: str = "valid",
    data_format: Optional[str] = None,
    dilation_rate: IntOrInts = 1,
) -> Any:
    """Compute a convolution.

    Parameters
    ----------
    inputs : NDArray or Symbol
    kernel : NDArray or Symbol
        Shape (*kernel_size, channels / groups, filters). The shapes of inputs and kernel determine the
        number of groups.
    strides, padding, data_format, dilation_rate
        See the module.

    Returns
    -------
    NDArray or Symbol
        Along each axis ``ceil(in / stride)`` elements for ``'same'``, otherwise
        ``floor((in - dilation_rate * (kernel_size - 1) - 1) / stride) + 1``.

    Examples
    --------
    >>> import mxnet as mx
    >>> x, kernel = mx.nd.ones((1, 15, 16, 3)), mx.nd.ones((3, 3, 3, 8))
    >>> conv(x, kernel, strides=2, padding='same').shape
    (1, 8, 8, 8)
    """
    how = strides, padding, dilation_rate
    return _apply(operations.convolution, inputs, {"kernel": kernel}, data_format, how)


def depthwise_conv(
    inputs: Any,
    kernel: Any,
    strides: IntOrInts = 1,
    padding: str = "valid",
    data_format: Optional[str] = None,
    dilation_rate: IntOrInts = 1,
) -> Any:
    """Convolve each channel with its own kernels.

    Parameters
    ----------
    inputs : NDArray or Symbol
    kernel : NDArray or Symbol
        Shape (*kernel_size, channels, multiplier).
    strides, padding, data_format, dilation_rate
        See the module.

    Returns
    -------
    NDArray or Symbol
        With ``channels * multiplier`` channels, where those of one input channel are adjacent; sizes as
        for :func:`conv`.

    Examples
    --------
    >>> import mxnet as mx
    >>> x, kernel = mx.nd.ones((1, 15, 16, 3)), mx.nd.ones((3, 3, 3, 2))
    >>> depthwise_conv(x, kernel, padding='same').shape
    (1, 15, 16, 6)
    """
    how = strides, padding, dilation_rate
    return _apply(operations.depthwise, inputs, {"kernel": kernel}, data_format, how)


def separable_conv(
    inputs: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: IntOrInts = 1,
    padding: str = "valid",
    data_format: Optional[str] = None,
    dilation_rate: IntOrInts = 1,
) -> Any:
    """Compute a depthwise convolution followed by a pointwise convolution.

    Parameters
    ----------
    inputs, depthwise_kernel
        As ``inputs`` and ``kernel`` of :func:`depthwise_conv`.
    pointwise_kernel : NDArray or Symbol
        Shape (1, ..., channels * multiplier, filters).
    strides, padding, data_format, dilation_rate
        Arguments of the depthwise convolution; see the module.

    Returns
    -------
    NDArray or Symbol
        Sizes as for :func:`conv`.

    Examples
    --------
    >>> import mxnet as mx
    >>> x, kernel = mx.nd.ones((1, 16, 3)), mx.nd.ones((3, 3, 2))
    >>> separable_conv(x, kernel, mx.nd.ones((1, 6, 8)), strides=2, padding='same').shape
    (1, 8, 8)
    """
    kernels = {"depthwise_kernel": depthwise_kernel, "pointwise_kernel": pointwise_kernel}
    how = strides, padding, dilation_rate
    return _apply(operations.separable, inputs, kernels, data_format, how)


def conv_transpose(
    inputs: Any,
    kernel: Any,
    strides: IntOrInts = 1,
    padding: str = "valid",
    output_padding: Optional[IntOrInts] = None,
    data_format: Optional[str] = None,
    dilation_rate: IntOrInts = 1,
) -> Any:
    """Compute a transposed convolution.

    For symbols, and for arrays under ``autograd.record()``, the data are spread by zeros and convolved.
    This takes two to four times as long as MXNet's ``Deconvolution``, which has no gradient for a kernel
    in Keras' layout.

    Parameters
    ----------
    inputs : NDArray or Symbol
    kernel : NDArray or Symbol
        Shape (*kernel_size, filters, channels).
    output_padding : int or tuple of int, optional
        Elements to add to the output size, fewer than the strides; see :func:`conv_transpose_padding`.
    strides, padding, data_format, dilation_rate
        See the module. MXNet does not support dilation over three axes.

    Returns
    -------
    NDArray or Symbol
        Along each axis ``(in - 1) * stride + tail`` elements; see :func:`conv_transpose_padding` for the
        tail. For ``'same'`` without an output padding, that is ``in * stride``.

    Examples
    --------
    >>> import mxnet as mx
    >>> x, kernel = mx.nd.ones((1, 7, 7, 3)), mx.nd.ones((3, 3, 8, 3))
    >>> conv_transpose(x, kernel, strides=2, padding='same').shape
    (1, 14, 14, 8)
    """
    how = strides, padding, dilation_rate, output_padding
    return _apply(operations.transposed, inputs, {"kernel": kernel}, data_format, how)


def max_pool(
    inputs: Any,
    pool_size: IntOrInts,
    strides: Optional[IntOrInts] = None,
    padding: str = "valid",
    data_format: Optional[str] = None,
) -> Any:
    """Compute max pooling. Padding never affects a maximum.

    Parameters
    ----------
    inputs : NDArray or Symbol
    pool_size : int or tuple of int
    strides : int or tuple of int, optional
        The pool size by default.
    padding, data_format
        See the module.

    Returns
    -------
    NDArray or Symbol
        Sizes as for :func:`conv`.

    Examples
    --------
    >>> import mxnet as mx
    >>> max_pool(mx.nd.ones((1, 13, 13, 512)), 2, strides=1, padding='same').shape
    (1, 13, 13, 512)
    """
    return _pool(inputs, "max", pool_size, strides, padding, data_format)


def average_pool(
    inputs: Any,
    pool_size: IntOrInts,
    strides: Optional[IntOrInts] = None,
    padding: str = "valid",
    data_format: Optional[str] = None,
) -> Any:
    """Compute average pooling, which divides by the elements that lie in the input.

    Parameters
    ----------
    inputs, pool_size, strides, padding, data_format
        As for :func:`max_pool`.

    Returns
    -------
    NDArray or Symbol
        Sizes as for :func:`conv`.

    Examples
    --------
    >>> import mxnet as mx
    >>> average_pool(mx.nd.arange(3).reshape((1, 3, 1)), 2, 1, 'same').reshape(-1).asnumpy()
    array([0.5, 1.5, 2. ], dtype=float32)
    """
    return _pool(inputs, "avg", pool_size, strides, padding, data_format)


def _apply(operation, inputs, kernels, data_format, window):
    """Apply an operation to data and kernels; ``window`` has the arguments of :mod:`.checks`."""
    x, weights, restore = take(inputs, **kernels)
    ndim, *_ = [checks.rank(weight.shape, None, name) for name, weight in zip(kernels, weights)]
    checks.rank(x.shape, ndim)
    check = checks.window if len(window) == 3 else checks.transposed_window
    how = check(weights[0].shape[:-2], *window)
    first, *rest = weights
    separate = operation in (operations.depthwise, operations.separable)
    weights = [first.in_layout_of_mxnet(separate), *(weight.in_layout_of_mxnet() for weight in rest)]
    return restore(operations.run(operation, x, checks.data_format(data_format), how, *weights))


def _pool(inputs, pool_type, pool_size, strides, padding, data_format):
    x, _, restore = take(inputs)
    ndim = checks.rank(x.shape, len(pool_size) if isinstance(pool_size, (tuple, list)) else None)
    pool_size = checks.per_axis("pool_size", pool_size, ndim)
    how = checks.window(pool_size, pool_size if strides is None else strides, padding)
    data_format = checks.data_format(data_format)
    return restore(operations.pooling(x, pool_size, pool_type, data_format, how))
