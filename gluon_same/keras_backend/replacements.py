"""Replacements for functions of keras-mxnet, which receive all arguments of these in their order.

``x`` and kernels are keras-mxnet's ``KerasSymbol``. Kernels have Keras' layout for channels-last data,
and MXNet's layout for channels-first data. Functions import Keras themselves, because keras-mxnet has
been imported only when they are called.
"""

from functools import partial, wraps
from typing import Any, Callable, Dict, Optional, Sequence

import mxnet as mx

from ..arguments import LAYOUTS, spatial
from . import checks, operations
from .learning_phase import dropout
from .operands import fix, infer_shape, inputs_are_fixed, kernel_operand, operand


def convolve(operation, name, ndim, x, *arguments):
    *kernels, strides, padding, data_format, dilation_rate = arguments
    causal = name == "conv" and ndim == 1
    how = checks.window((0,) * ndim, strides, padding, dilation_rate, causal)
    return _apply(operation, name, x, data_format, how, *kernels)


def conv_transpose(ndim, x, kernel, output_shape, strides, padding, data_format, *dilation_rate):
    data_format = _data_format(data_format)
    if not isinstance(output_shape, (tuple, list)) or len(output_shape) != ndim + 2:
        raise ValueError(
            f"The `output_shape` argument must have {ndim + 2} sizes. Received: "
            f"output_shape={output_shape}"
        )
    weight, data = _kernel(kernel, ndim, data_format), _operand(x, ndim)
    how = checks.window(weight.shape[2:], strides, padding, *(dilation_rate or (1,)))
    order = LAYOUTS[ndim][data_format == "channels_last"]
    wanted = spatial(tuple(output_shape), order)
    sizes = spatial(data.shape or (None,) * (ndim + 2), order)
    axes = zip(wanted, sizes, weight.shape[2:], how["stride"], how["dilate"])
    pad, adj = zip(*(_cut_to(*axis, how["pad"]) for axis in axes))
    how = {**how, "pad": pad, "adj": adj}
    return _apply(operations.transposed, "conv_transpose", x, data_format, how, kernel)


def pool(ndim, x, pool_size, strides, padding, data_format, pool_mode):
    data_format = _data_format(data_format)
    checks.one_of("pool_mode", pool_mode, ("max", "avg"))
    pool_size = checks.per_axis("pool_size", pool_size, ndim)
    how = checks.window(pool_size, strides, padding)
    data, name = _operand(x, ndim), _name(f"{pool_mode}_pool")
    return type(x)(operations.pooling(data, pool_size, pool_mode, data_format, how, name))


def reshape(x, shape):
    have, wanted = operand(x.symbol).shape, tuple(n or None for n in shape)
    return type(x)(mx.sym.reshape(x.symbol, shape=_reshape_codes(have, wanted)))


def identity(x):
    return type(x)(mx.sym.reshape(x.symbol, shape=(-2,)))  # Dropout fails after MXNet's identity


def squeeze(x, axis):
    return type(x)(mx.sym.squeeze(x.symbol, axis=axis))


def temporal_padding(x, padding):
    plane = mx.sym.expand_dims(x.symbol, axis=1)  # MXNet pads only 4-D and 5-D data
    width = (0, 0, 0, 0, *padding, 0, 0)
    plane = mx.sym.pad(plane, mode="constant", constant_value=0, pad_width=width)
    return type(x)(mx.sym.reshape(plane, shape=(0, -3, 0)))


def fixing(placeholder: Callable) -> Callable:
    """Wrap ``K.placeholder`` so that MXNet raises an error for other sizes than the known ones.

    Graphs depend on those sizes, and ``K.function`` and exported models do not check their inputs. The
    check copies the input. Placeholders without spatial axes are never convolved, so they do not change.
    """

    @wraps(placeholder)
    def fixed(*args, **kwargs):
        x = placeholder(*args, **kwargs)
        sizes = x._keras_shape[1:]
        if x.get_stype() == "default" and len(sizes) - 1 in LAYOUTS and any(sizes):
            x._name = x.name
            x._train_sym = x._pred_sym = fix(x.symbol, (None, *sizes))
        return x

    return fixed


def call_transposed(self: Any, inputs: Any) -> Any:
    """Replace ``Conv2DTranspose.call`` and ``Conv3DTranspose.call``, to support unknown sizes.

    Keras' methods pass the output size to ``K.conv2d_transpose``, which an unknown size does not allow.
    The output padding determines it as well.
    """
    from keras import backend as K

    def transposed(x, kernel):
        weight = _kernel(kernel, self.rank, self.data_format)
        window = self.strides, self.padding, self.dilation_rate, self.output_padding
        how = checks.transposed_window(weight.shape[2:], *window)
        return _apply(operations.transposed, "conv_transpose", x, self.data_format, how, kernel)

    outputs = K.keras_mxnet_symbol(transposed)(inputs, self.kernel)
    if self.use_bias:
        outputs = K.bias_add(outputs, self.bias, data_format=self.data_format)
    return outputs if self.activation is None else self.activation(outputs)


def depthwise_output_shape(self: Any, input_shape: Sequence[Optional[int]]) -> tuple:
    """Replace ``DepthwiseConv2D.compute_output_shape``, which ignores the dilation."""
    from keras.utils.conv_utils import conv_output_length

    first = self.data_format == "channels_first"
    batch, *sizes = input_shape
    channels = sizes.pop(0 if first else -1)
    axes = zip(sizes, self.kernel_size, self.strides, self.dilation_rate)
    sizes = [conv_output_length(n, k, self.padding, s, d) for n, k, s, d in axes]
    channels *= self.depth_multiplier
    return (batch, channels, *sizes) if first else (batch, *sizes, channels)


def get_shape(self: Any) -> tuple:
    """Replace ``KerasSymbol._get_shape``, which fails for unknown sizes."""
    if hasattr(self, "_keras_shape"):
        return self._keras_shape
    shape = infer_shape(self.symbol)
    if shape is None:  # as keras-mxnet does
        return self.symbol.infer_shape_partial()[1][0]
    return tuple(0 if n is None else n for n in shape)


def _reshape_codes(have, wanted):
    """Return a shape with the codes of MXNet's reshape, where 0 keeps the size of the same axis.

    Unknown sizes keep the size of the same axis, too, unless axes before them are merged or split, as by
    TimeDistributed. MXNet has codes for these cases.
    """
    if have is None or None not in wanted[1:]:
        return tuple(0 if n is None else n for n in wanted)
    if wanted[0] == -1 and wanted[1:] == have[2:]:
        return -3, -2
    if wanted[0] == -1 and wanted[2:] == have[1:] and wanted[1] is not None:
        return -4, -1, wanted[1], -2
    known = len(wanted) - wanted[::-1].index(None)  # up to the last unknown size
    # Without a -1, MXNet raises an error itself, because the number of elements differs.
    if -1 in wanted and wanted[1:known] != have[1:known]:
        raise ValueError(
            "The `shape` argument has unknown sizes that are not those of the same axes. Received: "
            f"shape={wanted}, for a tensor of shape {have}"
        )
    return tuple(0 if n is None else n for n in wanted)


def _apply(operation, name, x, data_format, how, *kernels):
    """Apply an operation for operands to symbols of keras-mxnet."""
    ndim, data_format = len(how["stride"]), _data_format(data_format)
    separate = operation in (operations.depthwise, operations.separable)
    weights = [_kernel(k, ndim, data_format, separate and k is kernels[0]) for k in kernels]
    data = _operand(x, ndim)
    return type(x)(operations.run(operation, data, data_format, how, *weights, name=_name(name)))


def _cut_to(wanted, size, kernel, stride, dilation, padding):
    """Return what the transposed convolution of ``size`` elements cuts off for the wanted size."""
    span = dilation * (kernel - 1) + 1
    if not wanted or not size:
        raise ValueError(
            "The `output_shape` argument and the shape of `x` must have every spatial size. Received: "
            f"{wanted} for {size} elements of `x`"
        )
    tail = wanted - (size - 1) * stride
    least = span if padding == "valid" else 1
    if not least <= tail < least + stride:
        raise ValueError(
            f"The `output_shape` argument does not fit: a convolution with padding={padding!r}, kernel "
            f"{kernel} and stride {stride} does not give the {size} elements of `x`. Received: {wanted}"
        )
    return checks.cut_to(tail, span)


def _data_format(data_format):
    from keras import backend as K

    return checks.data_format(K.image_data_format() if data_format is None else data_format)


def _name(what):
    from keras.backend import mxnet_backend

    return mxnet_backend._prepare_name(None, what)


def _operand(x, ndim):
    # `x.shape` may be wrong: it returns the shape that Keras expects, for example with wrong channels of
    # ConvLSTM2D's first state.
    found = operand(x.symbol)
    checks.rank(found.shape, ndim)
    return found._replace(sure=inputs_are_fixed(x.symbol))


def _kernel(kernel, rank, data_format, depthwise=False):
    """Return a kernel in MXNet's layout."""
    weight = kernel_operand("kernel", kernel.symbol)
    checks.rank(weight.shape, rank, "kernel")
    if data_format == "channels_first":
        if rank == 2:
            return weight
        # After inference, oneDNN keeps a 1-D or 3-D kernel in its own memory layout, and MXNet fails to
        # write new weights to it. A reshape before the convolution prevents this.
        return weight._replace(value=weight.F.reshape(weight.value, shape=(0,) * (rank + 2)))
    return weight.in_layout_of_mxnet(depthwise)


_conv = partial(convolve, operations.convolution, "conv")
_separable = partial(convolve, operations.separable, "separable")

#: The replacement of each function of ``keras.backend``.
FUNCTIONS: Dict[str, Callable] = {
    **{f"conv{ndim}d": partial(_conv, ndim) for ndim in (1, 2, 3)},
    **{f"conv{ndim}d_transpose": partial(conv_transpose, ndim) for ndim in (2, 3)},
    "depthwise_conv2d": partial(convolve, operations.depthwise, "depthwise", 2),
    **{f"separable_conv{ndim}d": partial(_separable, ndim) for ndim in (1, 2)},
    **{f"pool{ndim}d": partial(pool, ndim) for ndim in (2, 3)},
    # The originals confuse unknown sizes; TimeDistributed and ZeroPadding1D use them.
    "reshape": reshape,
    "squeeze": squeeze,
    "temporal_padding": temporal_padding,
    # The originals fail or have no effect in inference if a layer is called with `training`.
    "identity": identity,
    "dropout": dropout,
}
