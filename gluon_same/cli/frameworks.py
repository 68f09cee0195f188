"""What to write in each framework for a layer's padding. No framework is imported."""

from typing import Any, Dict, NamedTuple, Sequence

from ..geometry import ceil_div, same_padding, transposed_padding
from ..picture.windows import Windows


class Layer(NamedTuple):
    """A layer over axes of known sizes. Averages never count padding."""

    op: str  # 'conv', 'pool' or 'transpose'
    mode: Any  # a padding word, or a pair (before, after) for each axis
    average: bool  # for a pooling
    axes: Sequence[Windows]


def lines(layer: Layer) -> Dict[str, str]:
    """Return one line for each framework: the layer's arguments, or that it has no such layer.

    A line may first pad ``x``, the input, and afterward cut ``y``, the result.

    Examples
    --------
    >>> pool = Layer('pool', 'same', False, 2 * [Windows(13, 2, padding=(0, 1))])
    >>> for framework, line in lines(pool).items():
    ...     print(f'{framework}: {line}')
    gluon_same: padding='same'
    Keras: padding='same'
    TensorFlow: padding='SAME'
    ONNX: pads=[0, 0, 1, 1] (for every size: auto_pad='SAME_UPPER')
    PyTorch: x = F.pad(x, (0, 1, 0, 1), value=float('-inf')); padding=0
    stock Gluon: x = F.pad(x, mode='constant', pad_width=(0, 0, 0, 0, 0, 1, 0, 1), \
constant_value=float('-inf')); padding=0
    """
    found = (_transposed if layer.op == "transpose" else _padded)(layer)
    if max(a.stride for a in layer.axes) > 1 and max(a.dilation for a in layer.axes) > 1:
        found["Keras"] = "none: its layers do not support strides together with dilation"
    counts = layer.average and not isinstance(layer.mode, str)
    ours = f"padding={layer.mode!r}{', count_include_pad=False' if counts else ''}"
    return {"gluon_same": ours, **found}


def _padded(layer):
    """Return the lines for a convolution or pooling: own padding, or explicit padding before it."""
    axes, pool, ndim = layer.axes, layer.op == "pool", len(layer.axes)
    pads = tuple((a.before, a.after) for a in axes)
    flat = [n for pair in pads for n in pair]
    word = "SAME" if layer.mode != "valid" and _is_same(axes) else "" if any(flat) else "VALID"
    symmetric = _symmetric(layer)
    # No pooling of PyTorch accepts a padding of more than half the window, and avg_pool3d rejects an
    # axis that is shorter than the window, however it is padded.
    strict = pool and any(2 * a.before > a.kernel for a in axes)
    strict |= layer.average and ndim == 3 and any(a.in_size < a.kernel for a in axes)
    # The gradients of MXNet's 3-D convolution can be wrong if it pads a strided depth itself.
    deep = not pool and ndim == 3 and axes[0].stride > 1 and axes[0].before
    single = layer.op == "conv" and layer.mode == "same" and all(a.stride == 1 for a in axes)
    own = {
        "Keras": "padding='causal'" if layer.mode == "causal" else word and f"padding={word.lower()!r}",
        "TensorFlow": word and f"padding={word!r}",
        "ONNX": f"pads={[*flat[::2], *flat[1::2]]}{_auto_pad(layer)}",
        "PyTorch": "" if strict else symmetric or "padding='same'" * single,
        "stock Gluon": "" if deep else symmetric,
    }
    fill = "=float('-inf')" if pool else "=0"
    tf_pad = f"x = tf.pad(x, {[[0, 0], *map(list, pads), [0, 0]]}, constant_values{fill}); padding="
    zeros = f"x = keras.layers.ZeroPadding{ndim}D({pads if ndim > 1 else pads[0]})(x); padding='valid'"
    torch_pads = tuple(n for pair in reversed(pads) for n in pair)
    mx_pad = f"x = F.pad(x, mode='constant', pad_width={(0, 0, 0, 0, *flat)}, constant_value{fill})"
    explicit = {
        "Keras": f"{tf_pad}'valid'" if pool else zeros,
        "TensorFlow": f"{tf_pad}'VALID'",
        "PyTorch": f"x = F.pad(x, {torch_pads}, value{fill}); padding=0",
        "stock Gluon": f"{mx_pad}; padding=0",
    }
    if ndim == 1:
        explicit["stock Gluon"] = "none: F.pad requires two or more axes"
    if layer.average:
        explicit = dict.fromkeys(explicit, "none: it would count explicit padding")
    return {name: line or explicit[name] for name, line in own.items()}


def _auto_pad(layer):
    word = {"same": "SAME_UPPER", "same_lower": "SAME_LOWER"}.get(str(layer.mode))
    if word is None:
        return ""
    if any(a.dilation > 1 or a.stride > a.span for a in layer.axes):
        return " (not auto_pad: onnxruntime is wrong for dilated windows and for larger strides)"
    return f" (for every size: auto_pad={word!r})"


def _is_same(axes):
    """Return whether TensorFlow's 'SAME' gives these windows."""
    for a in axes:
        window = a.kernel, a.stride, a.dilation
        if a.transposed:
            same = transposed_padding(*window) == ((a.before, a.after), a.extra)
        else:
            same = same_padding(a.in_size, *window) == (a.before, a.after)
        if not same:
            return False
    return True


def _symmetric(layer):
    """Return the arguments for padding both ends of each axis alike, or '' if that is another layer.

    Rounding up (``ceil_mode``) adds a pooling's last window. PyTorch drops it if it starts beyond the
    input.
    """
    padding = [a.before for a in layer.axes]
    reaches = [a.in_size + 2 * a.before - a.span for a in layer.axes]
    if all(reach // a.stride + 1 == a.out for reach, a in zip(reaches, layer.axes)):
        up = False
    elif layer.op == "pool" and all(
        reach >= 0
        and ceil_div(reach, a.stride) + 1 == a.out
        and (a.out - 1) * a.stride < a.in_size + a.before
        for reach, a in zip(reaches, layer.axes)
    ):
        up = True
    else:
        return ""
    counts = ", count_include_pad=False" if layer.average and (up or any(padding)) else ""
    return f"padding={_compact(padding)}{', ceil_mode=True' * up}{counts}"


def _transposed(layer):
    """Return the lines for a transposed convolution, with what to cut off its result."""
    axes = layer.axes
    extra = [a.extra for a in axes]
    own = [min(a.before, a.after) for a in axes]
    cuts = [(a.before - p, a.after - p) for a, p in zip(axes, own)]
    symmetric = f"padding={_compact(own)}"
    pads = f"pads={[a.before for a in axes] + [a.after for a in axes]}"
    if any(extra):
        symmetric += f", output_padding={_compact(extra)}"
        pads += f", output_padding={extra}"
    if layer.mode in ("same", "same_lower"):
        pads += " (not auto_pad: versions of ONNX differ in which end gets the odd element)"
    ends = [(None, None, *(n or None for n in end)) for end in zip(*((b, -a) for b, a in cuts))]
    sliced = f"; y = F.slice(y, begin={ends[0]}, end={ends[1]})" if any(map(any, cuts)) else ""
    if layer.mode != "valid" and _is_same(axes):
        word, sizes, cut = "SAME", [a.size for a in axes], ""
    else:
        # TensorFlow returns at least `stride` elements for each input element.
        word = "VALID"
        sizes = [max(a.span, a.stride) + (a.in_size - 1) * a.stride for a in axes]
        cut = _cut([(a.before, n - a.before - a.size) for n, a in zip(sizes, axes)], ":, ")
    shape = ", ".join(["batch", *map(str, sizes), "filters"])
    return {
        "Keras": f"padding={word.lower()!r}{cut}",
        "TensorFlow": f"padding={word!r}, output_shape=({shape}){cut}",
        "ONNX": pads,
        "PyTorch": f"{symmetric}{_cut(cuts, ':, :, ')}",
        "stock Gluon": f"{symmetric}{sliced}",
    }


def _cut(cuts, ahead):
    """Return a step that cuts off both ends of each axis, or '' if there is nothing to cut off."""
    parts = [f"{lead or ''}:{-trail or ''}" for lead, trail in cuts]
    return f"; y = y[{ahead}{', '.join(parts)}]" if any(map(any, cuts)) else ""


def _compact(values):
    return repr(values[0] if len(set(values)) == 1 else tuple(values))
