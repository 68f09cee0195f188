"""Convolutions, transposed convolutions, and batch normalization."""

from typing import Any, Dict, Optional, Sequence, Tuple, Union

from ... import nn
from ...geometry import Window
from ...importing import functions
from ..registry import converter
from ..values import FIX, Data, Ints, Known, Padded, Unsupported

#: Gluon's padding for ONNX's words.
_WORDS = {"SAME_UPPER": "same", "SAME_LOWER": "same_lower"}

_MOST_AXES = 3


def axes_of(x: Any) -> int:
    """Return the number of spatial axes of data for a window; raise if MXNet has no such operator."""
    x = x.x if isinstance(x, Padded) else x
    if not 1 <= x.ndim - 2 <= _MOST_AXES:
        raise Unsupported(f"its input has {x.ndim} axes, and MXNet's windows have 1 to {_MOST_AXES}")
    return x.ndim - 2


def per_axis(name: str, given: Optional[Sequence[int]], ndim: int) -> Tuple[int, ...]:
    """Return an attribute with one number for each axis; 1 by default."""
    given = [1] * ndim if given is None else given
    if len(given) != ndim or min(given) < 1:
        raise Unsupported(f"its {name}={list(given)} does not fit {ndim} axes")
    return tuple(given)


def padding_of(auto_pad: str, pads: Optional[Sequence[int]], ndim: int) -> Any:
    """Return a word of Gluon's, or (before, after) for each axis, for ONNX's attributes."""
    if auto_pad not in ("NOTSET", "VALID"):
        if auto_pad not in _WORDS:
            raise Unsupported(f"its auto_pad={auto_pad!r} is not known")
        return _WORDS[auto_pad]
    pads = [0] * (2 * ndim) if pads is None or auto_pad == "VALID" else pads
    if len(pads) != 2 * ndim:
        raise Unsupported(f"its pads={list(pads)} do not fit {ndim} axes")
    if min(pads) < 0:
        raise Unsupported(f"its pads={list(pads)} are negative: crop the data with Slice instead")
    return tuple(zip(pads[:ndim], pads[ndim:]))


def simple(padding: Any) -> Any:
    """Return one number for each axis if both ends have the same, as stock Gluon has it."""
    if isinstance(padding, str) or any(before != after for before, after in padding):
        return padding
    return tuple(before for before, _ in padding)


def merged(x: Any, padding: Any, spans: Sequence[int], stride: Sequence[int], value: Any) -> Tuple:
    """Return data, padding of the window behind them, and whether it is now larger.

    Padding of the data with ``value`` on spatial axes becomes padding of the window: a word if it is
    that of SAME at every trial of the open sizes.
    """
    if not isinstance(x, Padded):
        return x, padding, False
    trials = [(pairs, shape[2:]) for pairs, shape in zip(x.pairs, x.x.trials)]
    plain = not isinstance(padding, str) and x.value == value and all(
        not any(map(any, pairs[:2])) and min(map(min, pairs)) >= 0 for pairs, _ in trials
    )  # fmt: skip
    if not plain:
        return x.made(), padding, False
    total = [tuple((a + b, c + d) for (a, c), (b, d) in zip(padding, pairs[2:])) for pairs, _ in trials]
    if any(max(pair) >= span for each in total for pair, span in zip(each, spans)):
        return x.made(), padding, False  # MXNet's poolings require less padding than this
    if len(set(total)) == 1:
        return x.x, total[0], True
    for word in ("same", "same_lower"):
        windows = [Window(span, step, word) for span, step in zip(spans, stride)]
        if all(tuple(w.at(n) for w, n in zip(windows, ns)) == t for t, (_, ns) in zip(total, trials)):
            return x.x, word, True
    return x.made(), padding, False


@converter("Conv")
def conv(
    net: Any, x: Union[Data, Padded], w: Any, b: Any = None, *, auto_pad: str = "NOTSET",
    dilations: Ints = None, group: int = 1, kernel_shape: Ints = None, pads: Ints = None,
    strides: Ints = None,
) -> Data:  # fmt: skip
    ndim = check_operands(x, w, b, kernel_shape)
    stride, dilation = per_axis("strides", strides, ndim), per_axis("dilations", dilations, ndim)
    spans = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation)]
    x, padding, _ = merged(x, padding_of(auto_pad, pads, ndim), spans, stride, 0)
    window = {"strides": stride, "padding": simple(padding), "dilation": dilation}
    return _layer(net, "", x, w, b, (w.shape[0], w.shape[1] * group), group, window)


@converter("ConvTranspose")
def conv_transpose(
    net: Any, x: Data, w: Any, b: Any = None, *, auto_pad: str = "NOTSET",
    dilations: Ints = None, group: int = 1, kernel_shape: Ints = None, output_padding: Ints = None,
    output_shape: Ints = None, pads: Ints = None, strides: Ints = None,
) -> Data:  # fmt: skip
    ndim = check_operands(x, w, b, kernel_shape)
    stride, dilation = per_axis("strides", strides, ndim), per_axis("dilations", dilations, ndim)
    extra = [0] * ndim if output_padding is None else list(output_padding)
    spans = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation)]
    if output_shape is not None:
        pairs = _pads_for(x, output_shape, auto_pad, stride, spans, extra)
    elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        pairs = [_split(span - s + e, auto_pad) for span, s, e in zip(spans, stride, extra)]
    else:
        pairs = padding_of(auto_pad, pads, ndim)
    if ndim == _MOST_AXES and max(dilation) > 1:  # which MXNet does not have
        w, dilation = net.call(functions.spread, net.array(w), dilation=dilation), (1,) * ndim
    # Where less than nothing is cut off, or the output padding is not less than the stride, the end is
    # padded with what lies beyond the last window, which is zero but for the bias.
    beyond = [max(e - s + 1, 0) - min(after, 0) for e, s, (_, after) in zip(extra, stride, pairs)]
    if any(before < 0 for before, _ in pairs) or (any(beyond) and b is not None):
        raise Unsupported(f"its pads {pairs} with output_padding={extra} and strides={stride}")
    window = {
        "strides": stride,
        "dilation": dilation,
        "padding": simple([(before, max(after, 0)) for before, after in pairs]),
        "output_padding": tuple(min(e, s - 1) for e, s in zip(extra, stride)),
    }
    y = _layer(net, "Transpose", x, w, b, (w.shape[1] * group, w.shape[0]), group, window)
    if any(beyond):
        y = net.call(functions.pad, y, pairs=((0, 0), (0, 0), *((0, n) for n in beyond)), native=True)
    return y


@converter("DeformConv")
def deform_conv(
    net: Any, x: Data, w: Any, offset: Any, b: Any = None, mask: Any = None, *,
    dilations: Ints = None, group: int = 1, kernel_shape: Ints = None, offset_group: int = 1,
    pads: Ints = None, strides: Ints = None,
) -> Data:  # fmt: skip
    ndim = check_operands(x, w, b, kernel_shape)
    if ndim != 2 or x.dtype.kind != "f":
        raise Unsupported(f"MXNet's deformable convolutions have no {ndim} axes of {x.dtype}")
    if w.shape[0] % offset_group:
        raise Unsupported(
            f"MXNet requires {w.shape[0]} filters to be a multiple of offset_group={offset_group}"
        )
    return net.call(
        functions.deformable_convolution, x, w, offset, *(y for y in (mask, b) if y is not None),
        masked=mask is not None, padding=padding_of("NOTSET", pads, ndim), kernel=tuple(w.shape[2:]),
        stride=per_axis("strides", strides, ndim), dilate=per_axis("dilations", dilations, ndim),
        num_filter=w.shape[0], num_group=group, num_deformable_group=offset_group,
    )  # fmt: skip


def check_operands(x, w, b, kernel_shape):
    """Check data, weight and bias of a convolution, and return its number of spatial axes."""
    ndim = axes_of(x)
    if w.ndim != ndim + 2 or None in w.shape:
        raise Unsupported(f"its weight of shape {w.shape} does not fit data with {ndim + 2} axes")
    if kernel_shape is not None and tuple(kernel_shape) != tuple(w.shape[2:]):
        raise Unsupported(f"its kernel_shape={kernel_shape} is not that of its weight, {w.shape}")
    if b is not None and b.ndim != 1:
        raise Unsupported(f"its bias has shape {b.shape}")
    return ndim


def weights_of(weight: Any, bias: Any) -> Dict[str, Any]:
    """Return the weights of a layer by their names."""
    return {"weight": weight, **({} if bias is None else {"bias": bias})}


def _layer(net, kind, x, w, b, channels, group, window):
    """Return a convolution: a block, or a function if its weight or bias is computed at run time."""
    if isinstance(w, Known) and isinstance(b, (Known, type(None))):
        how = dict(groups=group, use_bias=b is not None, in_channels=channels[1], prefix=net.prefix())
        block = getattr(nn, f"Conv{w.ndim - 2}D{kind}")(channels[0], w.shape[2:], **how, **window)
        return net.block(block, x, weights=weights_of(w, b))
    names = {"strides": "stride", "padding": "pad", "dilation": "dilate", "output_padding": "adj"}
    arguments = {names[name]: value for name, value in window.items()}
    arguments.update(kernel=tuple(w.shape[2:]), num_filter=channels[0], num_group=group)
    function = functions.deconvolution if kind else functions.convolution
    return net.call(function, x, w, *([] if b is None else [b]), **arguments)


def _split(total: int, auto_pad: str) -> Tuple[int, int]:
    """Split a total padding. SAME_UPPER puts the odd element at the end, and so does what is missing."""
    less = total // 2
    upper = auto_pad == "SAME_UPPER" and total >= 0
    return (less, total - less) if upper else (total - less, less)


def _pads_for(x, output_shape, auto_pad, stride, spans, extra):
    """Return the padding of a transposed convolution with a given output size."""
    sizes = x.shape[2:]
    if None in sizes:
        raise Unsupported(f"its output_shape {FIX}")
    wanted = output_shape[-len(sizes) :]
    axes = zip(sizes, stride, extra, spans, wanted)
    totals = [s * (n - 1) + e + span - size for n, s, e, span, size in axes]
    # Unlike elsewhere, the specification puts the odd element at the start unless SAME_UPPER is given.
    word = "SAME_UPPER" if auto_pad == "SAME_UPPER" else "SAME_LOWER"
    return [_split(total, word) for total in totals]


@converter("BatchNormalization", 1)
def batch_normalization_1(
    net: Any, x: Data, *weights: Any, epsilon: float = 1e-5, is_test: int = 0, momentum: float = 0.9,
    spatial: int = 1,
) -> Data:  # fmt: skip
    if not is_test:
        raise Unsupported("without is_test=1, training is meant, which is not supported")
    return batch_normalization(net, x, *weights, epsilon=epsilon, momentum=momentum, spatial=spatial)


@converter("BatchNormalization", 7)
def batch_normalization(
    net: Any, x: Data, scale: Any, offset: Any, mean: Any, variance: Any, *, epsilon: float = 1e-5,
    momentum: float = 0.9, spatial: int = 1, training_mode: int = 0,
) -> Data:  # fmt: skip
    if training_mode or not spatial:
        raise Unsupported("only inference with one mean for each channel is supported")
    weights = {"gamma": scale, "beta": offset, "running_mean": mean, "running_var": variance}
    if not all(isinstance(each, Known) for each in weights.values()):
        return net.call(functions.batch_norm, x, *weights.values(), epsilon=epsilon, ndim=x.ndim)
    how = dict(epsilon=epsilon, momentum=momentum, in_channels=mean.shape[0])
    return net.block(nn.BatchNorm(**how, prefix=net.prefix()), x, weights=weights)
