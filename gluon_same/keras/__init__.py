"""Keras models as Gluon nets, and the layers of a Keras backend, with TensorFlow's numbers.

:func:`load_model` reads a model that Keras saved, :func:`load_keras_weights` reads its weights into a
net of your own, and :func:`compare` finds the first layer whose numbers differ.

For authors of Keras backends on MXNet: the other functions have the signatures, the kernel layouts and
the meaning of those in a Keras 3 backend's ``nn`` module. :mod:`gluon_same.keras.mxnet_backend` puts the
keras-mxnet package right with them. Keras itself is not imported.

All functions take arrays or symbols, of classic or of NumPy mode, over one to three spatial axes.

- ``data_format`` is ``'channels_last'``, shape (batch, *spatial, channels), or ``'channels_first'``,
  shape (batch, channels, *spatial). None is ``'channels_last'``, Keras' default: a backend passes what
  ``image_data_format()`` gives.
- ``padding`` is ``'valid'`` or ``'same'``, in any letter case.
- ``strides``, ``dilation_rate`` and ``pool_size`` are an int or one int for each axis. Strides and
  dilation may both be above one, which not all of Keras' backends have.
- Kernels have Keras' layout, whatever the data format.

*Symbols.* A kernel's variable must have a shape. The data's may have one, with 0 for what is open:
where the size of a strided axis is known, the graph is made for it, and MXNet refuses to bind another.
Where it is open the graph serves every size.

The functions raise ValueError for a value that is not allowed, or shapes that do not fit, and TypeError
for a thing of the wrong kind.
"""

from typing import Any, Optional, Sequence, Union

from . import checks, operations
from .checks import conv_transpose_padding
from .models import compare, load_keras_weights, load_model
from .operands import Operand, take

__all__ = [
    "average_pool",
    "compare",
    "conv",
    "conv_transpose",
    "conv_transpose_padding",
    "depthwise_conv",
    "load_keras_weights",
    "load_model",
    "max_pool",
    "separable_conv",
]

IntOrInts = Union[int, Sequence[int]]


def conv(
    inputs: Any,
    kernel: Any,
    strides: IntOrInts = 1,
    padding: str = "valid",
    data_format: Optional[str] = None,
    dilation_rate: IntOrInts = 1,
) -> Any:
    """Convolution.

    Parameters
    ----------
    inputs : NDArray or Symbol
    kernel : NDArray or Symbol
        Shape (*kernel_size, channels / groups, filters): the channels are convolved in as many groups
        as the kernel's channels fit into them.
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
    x, (kernel,), restore = take(inputs, kernel=kernel)
    ndim = checks.rank(x.shape, checks.kernel_rank("kernel", kernel.shape))
    data_format = checks.data_format(data_format)
    how = checks.window(ndim, strides, padding, dilation_rate)
    return restore(operations.convolution(x, _reversed(kernel), data_format, how))


def depthwise_conv(
    inputs: Any,
    kernel: Any,
    strides: IntOrInts = 1,
    padding: str = "valid",
    data_format: Optional[str] = None,
    dilation_rate: IntOrInts = 1,
) -> Any:
    """Convolution of each channel by its own kernels.

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
        With ``channels * multiplier`` channels, those of one input channel together; sizes as for
        :func:`conv`.

    Examples
    --------
    >>> import mxnet as mx
    >>> x, kernel = mx.nd.ones((1, 15, 16, 3)), mx.nd.ones((3, 3, 3, 2))
    >>> depthwise_conv(x, kernel, padding='same').shape
    (1, 15, 16, 6)
    """
    x, (kernel,), restore = take(inputs, kernel=kernel)
    ndim = checks.rank(x.shape, checks.kernel_rank("kernel", kernel.shape))
    data_format = checks.data_format(data_format)
    how = checks.window(ndim, strides, padding, dilation_rate)
    return restore(operations.depthwise(x, _depthwise(kernel), data_format, how))


def separable_conv(
    inputs: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: IntOrInts = 1,
    padding: str = "valid",
    data_format: Optional[str] = None,
    dilation_rate: IntOrInts = 1,
) -> Any:
    """Depthwise convolution, and a convolution by a window of one element.

    Parameters
    ----------
    inputs, depthwise_kernel
        As ``inputs`` and ``kernel`` of :func:`depthwise_conv`.
    pointwise_kernel : NDArray or Symbol
        Shape (1, ..., channels * multiplier, filters).
    strides, padding, data_format, dilation_rate
        Of the depthwise convolution; see the module.

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
    x, (depthwise, pointwise), restore = take(inputs, **kernels)
    ndim = checks.rank(x.shape, checks.kernel_rank("depthwise_kernel", depthwise.shape))
    checks.kernel_rank("pointwise_kernel", pointwise.shape)
    data_format = checks.data_format(data_format)
    how = checks.window(ndim, strides, padding, dilation_rate)
    kernels = _depthwise(depthwise), _reversed(pointwise)
    return restore(operations.separable(x, *kernels, data_format, how))


def conv_transpose(
    inputs: Any,
    kernel: Any,
    strides: IntOrInts = 1,
    padding: str = "valid",
    output_padding: Optional[IntOrInts] = None,
    data_format: Optional[str] = None,
    dilation_rate: IntOrInts = 1,
) -> Any:
    """Transposed convolution.

    Parameters
    ----------
    inputs : NDArray or Symbol
    kernel : NDArray or Symbol
        Shape (*kernel_size, filters, channels).
    output_padding : int or tuple of int, optional
        Tells the output size where several are possible; less than the strides.
    strides, padding, data_format, dilation_rate
        See the module. MXNet has no dilation over three axes.

    Returns
    -------
    NDArray or Symbol
        Along each axis ``(in - 1) * stride + tail`` elements, of which
        :func:`conv_transpose_padding` tells the tail: ``in * stride`` in all for ``'same'`` without an
        output padding.

    Examples
    --------
    >>> import mxnet as mx
    >>> x, kernel = mx.nd.ones((1, 7, 7, 3)), mx.nd.ones((3, 3, 8, 3))
    >>> conv_transpose(x, kernel, strides=2, padding='same').shape
    (1, 14, 14, 8)
    """
    x, (kernel,), restore = take(inputs, kernel=kernel)
    checks.rank(x.shape, checks.kernel_rank("kernel", kernel.shape))
    data_format = checks.data_format(data_format)
    how = checks.transposed_window(kernel.shape[:-2], strides, padding, output_padding, dilation_rate)
    return restore(operations.transposed(x, _reversed(kernel), data_format, how))


def max_pool(
    inputs: Any,
    pool_size: IntOrInts,
    strides: Optional[IntOrInts] = None,
    padding: str = "valid",
    data_format: Optional[str] = None,
) -> Any:
    """Max pooling; a maximum is never one of the padding.

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
    """Average pooling, which divides by the elements that exist.

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


def _pool(inputs, pool_type, pool_size, strides, padding, data_format):
    x, _, restore = take(inputs)
    ndim = checks.rank(x.shape, len(pool_size) if isinstance(pool_size, (tuple, list)) else None)
    pool_size = checks.per_axis("pool_size", pool_size, ndim)
    data_format = checks.data_format(data_format)
    how = checks.window(ndim, pool_size if strides is None else strides, padding)
    return restore(operations.pooling(x, pool_size, pool_type, data_format, how))


def _reversed(kernel: Operand) -> Operand:
    """(*kernel, a, b) as (b, a, *kernel)."""
    last = len(kernel.shape) - 1
    return kernel.transpose((last, last - 1, *range(last - 1)))


def _depthwise(kernel: Operand) -> Operand:
    """(*kernel, channels, multiplier) as (channels, multiplier, *kernel)."""
    last = len(kernel.shape) - 1
    return kernel.transpose((last - 1, last, *range(last - 1)))
