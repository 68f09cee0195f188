"""Convolutions, transposed convolutions, and batch normalization."""

from typing import Any, Dict, Literal, NamedTuple, Optional, Sequence, Tuple, Union

from ... import nn
from ...geometry import Window
from ...importing import functions
from ..pending import Padded
from ..registry import converter
from ..values import FIX, Data, Ints, Known, Unsupported

#: Gluon's padding for ONNX's words.
_WORDS = {"SAME_UPPER": "same", "SAME_LOWER": "same_lower"}

_MOST_AXES = 3


class Attributes(NamedTuple):
    """Attributes that all windows have."""

    auto_pad: Literal["NOTSET", "SAME_LOWER", "SAME_UPPER", "VALID"] = "NOTSET"
    dilations: Ints = None
    kernel_shape: Ints = None
    pads: Ints = None
    strides: Ints = None


class Placed:
    """Window by its attributes: numbers for each axis, and the padding.

    Parameters
    ----------
    x : Data or Padded
    kernel : sequence of int
    given : dict
        Some of the :class:`Attributes`.
    """

    def __init__(self, x: Any, kernel: Sequence[int], given: Dict[str, Any]):
        own, ndim = Attributes(**given), spatial_rank(x)
        self.kernel = per_axis("kernel_shape", kernel, ndim)
        self.stride = per_axis("strides", own.strides, ndim)
        self.dilation = per_axis("dilations", own.dilations, ndim)
        self.spans = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation)]
        self.padding = padding_of(own.auto_pad, own.pads, ndim)
        self.merged = False  # whether it has taken padding over

    def over(self, x: Any, value: Any) -> Data:
        """Return data whose padding with ``value`` along spatial axes the window takes over, if it can.

        The padding becomes a word if it is that of SAME at every trial of the open sizes.
        """
        if not isinstance(x, Padded):
            return x
        trials = [(pairs, shape[2:]) for pairs, shape in zip(x.pairs, x.x.trials)]
        if isinstance(self.padding, str) or x.value != value or any(
            any(map(any, pairs[:2])) or min(map(min, pairs)) < 0 for pairs, _ in trials
        ):  # fmt: skip
            return x.made()
        own = self.padding
        total = [tuple((a + b, c + d) for (a, c), (b, d) in zip(own, pairs[2:])) for pairs, _ in trials]
        if any(max(pair) >= span for each in total for pair, span in zip(each, self.spans)):
            return x.made()  # MXNet's poolings require less padding than this
        words = [total[0]] if len(set(total)) == 1 else ["same", "same_lower"]
        for word in words:
            windows = [Window(*each, word) for each in zip(self.spans, self.stride)]
            placed = (tuple(w.at(n) for w, n in zip(windows, sizes)) for _, sizes in trials)
            if not isinstance(word, str) or list(placed) == total:
                self.padding, self.merged = word, True
                return x.x
        return x.made()

    def arguments(self) -> Dict[str, Any]:
        """Return arguments of a function, which takes any padding."""
        return dict(kernel=self.kernel, stride=self.stride, dilate=self.dilation, pad=self.padding)


def spatial_rank(x: Any) -> int:
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
    if auto_pad in _WORDS:
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


@converter("Conv")
def conv(
    net: Any, x: Union[Data, Padded], w: Any, b: Any = None, *, group: int = 1, **window: Attributes
) -> Data:
    own = convolved(x, w, b, window)
    x = own.over(x, 0)
    how = {"strides": own.stride, "padding": simple(own.padding), "dilation": own.dilation}
    y = _layer(net, "", x, w, b, (w.shape[0], w.shape[1] * group), group, how)
    return net.doubted(x, y) if max(own.stride) > 1 else y


@converter("ConvTranspose")
def conv_transpose(
    net: Any, x: Data, w: Any, b: Any = None, *, group: int = 1, output_padding: Ints = None,
    output_shape: Ints = None, **window: Attributes,
) -> Data:  # fmt: skip
    own = convolved(x, w, b, window)
    ndim, stride, dilation, pairs = len(own.kernel), own.stride, own.dilation, own.padding
    extra = [0] * ndim if output_padding is None else list(output_padding)
    if output_shape is not None:
        pairs = _pads_for(x, output_shape, own, extra)
    elif isinstance(pairs, str):
        axes = zip(own.spans, stride, extra)
        pairs = [_split(span - s + e, pairs == "same") for span, s, e in axes]
    if ndim == _MOST_AXES and max(dilation) > 1:  # which MXNet does not have
        w, dilation = net.call(functions.spread, net.array(w), dilation=dilation), (1,) * ndim
    # Where less than nothing is cut off, or the output padding is not less than the stride, the end is
    # padded with what lies beyond the last window, which is zero but for the bias.
    beyond = [max(e - s + 1, 0) - min(after, 0) for e, s, (_, after) in zip(extra, stride, pairs)]
    if any(before < 0 for before, _ in pairs) or (any(beyond) and b is not None):
        raise Unsupported(f"its pads {pairs} with output_padding={extra} and strides={stride}")
    how = {
        "strides": stride,
        "dilation": dilation,
        "padding": simple([(before, max(after, 0)) for before, after in pairs]),
        "output_padding": tuple(min(e, s - 1) for e, s in zip(extra, stride)),
    }
    y = _layer(net, "Transpose", x, w, b, (w.shape[1] * group, w.shape[0]), group, how)
    if any(beyond):
        y = net.call(functions.pad, y, pairs=((0, 0), (0, 0), *((0, n) for n in beyond)), native=True)
    return y


@converter("DeformConv")
def deform_conv(
    net: Any, x: Data, w: Any, offset: Any, b: Any = None, mask: Any = None, *, group: int = 1,
    offset_group: int = 1, **window: Attributes,
) -> Data:  # fmt: skip
    own = convolved(x, w, b, window).arguments()
    if len(own["kernel"]) != 2 or x.dtype.kind != "f":
        raise Unsupported(f"MXNet's deformable convolutions have no {x.ndim - 2} axes of {x.dtype}")
    if w.shape[0] % offset_group:
        raise Unsupported(
            f"MXNet requires {w.shape[0]} filters to be a multiple of offset_group={offset_group}"
        )
    return net.call(
        functions.deformable_convolution, x, w, offset, mask, b,
        masked=mask is not None, padding=own.pop("pad"), num_filter=w.shape[0], num_group=group,
        num_deformable_group=offset_group, **own,
    )  # fmt: skip


def convolved(x: Any, w: Any, b: Any, window: Dict[str, Any]) -> Placed:
    """Return the window of a convolution; raise if data, weight and bias do not fit."""
    ndim, kernel_shape = spatial_rank(x), window.get("kernel_shape")
    if w.ndim != ndim + 2 or None in w.shape:
        raise Unsupported(f"its weight of shape {w.shape} does not fit data with {ndim + 2} axes")
    if kernel_shape is not None and tuple(kernel_shape) != tuple(w.shape[2:]):
        raise Unsupported(f"its kernel_shape={kernel_shape} is not that of its weight, {w.shape}")
    if b is not None and b.ndim != 1:
        raise Unsupported(f"its bias has shape {b.shape}")
    return Placed(x, w.shape[2:], window)


def check_by_channel(x: Data, *parameters: Any) -> None:
    """Raise an error if there is not one number for each channel of data."""
    channels = x.shape[1] if x.ndim > 1 else 1
    for each in parameters:
        if each.ndim != 1 or (None not in (each.shape[0], channels) and each.shape[0] != channels):
            raise Unsupported(f"its input of shape {each.shape} does not fit data of shape {x.shape}")


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
    return net.call(function, x, w, b, **arguments)


def _split(total: int, upper: bool) -> Tuple[int, int]:
    """Split a total padding. ``upper`` puts the odd element at the end, and so does what is missing."""
    less = total // 2
    return (less, total - less) if upper and total >= 0 else (total - less, less)


def _pads_for(x, output_shape, own, extra):
    """Return the padding of a transposed convolution with a given output size."""
    sizes = x.shape[2:]
    if None in sizes:
        raise Unsupported(f"its output_shape {FIX}")
    axes = zip(sizes, own.stride, extra, own.spans, output_shape[-len(sizes) :])
    # Unlike elsewhere, the specification puts the odd element at the start unless SAME_UPPER is given.
    return [_split((n - 1) * s + e + span - size, own.padding == "same") for n, s, e, span, size in axes]


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
    check_by_channel(x, *weights.values())  # MXNet would read beyond them
    if not all(isinstance(each, Known) for each in weights.values()):
        return net.call(functions.batch_norm, x, *weights.values(), epsilon=epsilon, ndim=x.ndim)
    how = dict(epsilon=epsilon, momentum=momentum, in_channels=mean.shape[0])
    return net.block(nn.BatchNorm(**how, prefix=net.prefix()), x, weights=weights)
