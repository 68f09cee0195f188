"""What to write in each framework for a layer's padding. No framework is imported."""

from typing import Any, Dict, NamedTuple, Sequence

from ..picture.explain import Picture, explain


class Layer(NamedTuple):
    """A layer over axes of known sizes. Averages never count padding."""

    op: str  # 'conv', 'pool' or 'transpose'
    padding: Any  # a padding word, or a pair (before, after) for each axis
    average: bool  # for a pooling
    axes: Sequence[Picture]


def lines(layer: Layer) -> Dict[str, str]:
    """Return one line for each framework: the layer's arguments, or that it has no such layer.

    Where arguments do not suffice, the line says how to pad ``x``, the input, before the layer, or what
    to cut off ``y``, the result: pairs (before, after) for each axis.

    Examples
    --------
    >>> pool = Layer('pool', 'same', False, 2 * [explain(13, 2)])
    >>> for framework, line in lines(pool).items():
    ...     print(f'{framework}: {line}')
    gluon_same: padding='same'
    Keras: padding='same'
    TensorFlow: padding='SAME'
    ONNX: pads=[0, 0, 1, 1]
    PyTorch: pad x by [(0, 1), (0, 1)] of -inf first, then padding=0
    stock Gluon: pad x by [(0, 1), (0, 1)] of -inf first, then padding=0
    """
    found = (_transposed if layer.op == "transpose" else _padded)(layer)
    counts = layer.average and not isinstance(layer.padding, str)
    ours = f"padding={layer.padding!r}{', count_include_pad=False' if counts else ''}"
    strided, dilated = (max(getattr(a, n) for a in layer.axes) > 1 for n in ("stride", "dilation"))
    short = layer.average and len(layer.axes) == 3 and any(a.in_size < a.kernel for a in layer.axes)
    limits = {
        "Keras": (strided and dilated, "its layers do not support strides together with dilation"),
        "PyTorch": (short, "its average pooling needs axes as long as the kernel"),
    }
    missing = {name: f"none: {why}" for name, (exceeded, why) in limits.items() if exceeded}
    return {"gluon_same": ours, **found, **missing}


def _padded(layer):
    """Return the lines for a convolution or pooling: own padding, or explicit padding before it."""
    axes, pool, ndim = layer.axes, layer.op == "pool", len(layer.axes)
    pads, before = [(a.before, a.after) for a in axes], [a.before for a in axes]
    word = "same" if _is_same(layer) else "" if any(map(any, pads)) else "valid"
    own = ""  # the arguments for padding both ends alike, if that gives the same windows
    if all((a.in_size + 2 * a.before - a.span) // a.stride + 1 == a.out for a in axes):
        counts = layer.average and any(before)
        own = f"padding={_compact(before)}{', count_include_pad=False' * counts}"
    torch = "" if pool and any(2 * a.before > a.kernel for a in axes) else own  # it rejects these
    if not own and not pool and word == "same" and all(a.stride == 1 for a in axes):
        torch = "padding='same'"
    # The gradients of MXNet's 3-D convolution can be wrong if it pads a strided depth itself.
    deep = not pool and ndim == 3 and axes[0].stride > 1 and axes[0].before

    def line(own, none="padding=0"):
        first = f"pad x by {pads}{' of -inf' * pool} first, then {none}"
        return own or ("none: it would count explicit padding" if layer.average else first)

    keras = "causal" if layer.padding == "causal" else word
    return {
        "Keras": line(keras and f"padding={keras!r}", "padding='valid'"),
        "TensorFlow": line(word and f"padding={word.upper()!r}", "padding='VALID'"),
        "ONNX": f"pads={_ends(pads)}",
        "PyTorch": line(torch),
        "stock Gluon": line("" if deep else own),
    }


def _transposed(layer):
    """Return the lines for a transposed convolution, with what to cut off its result."""
    axes = layer.axes
    cuts, extra = [(a.before, a.after) for a in axes], [a.extra for a in axes]
    symmetric = all(before == after for before, after in cuts)
    alike = f"padding={_compact([a.before for a in axes]) if symmetric else 0}"
    pads = f"pads={_ends(cuts)}"
    if any(extra):
        alike += f", output_padding={_compact(extra)}"
        pads += f", output_padding={extra}"
    alike += "" if symmetric else _then_cut(cuts)
    word, sizes, cut = "same", [a.size for a in axes], ""
    if not _is_same(layer):
        # TensorFlow returns at least `stride` elements for each input element.
        word, sizes = "valid", [max(a.span, a.stride) + (a.in_size - 1) * a.stride for a in axes]
        cut = _then_cut([(a.before, n - a.before - a.size) for n, a in zip(sizes, axes)])
    shape = ", ".join(["batch", *map(str, sizes), "filters"])
    return {
        "Keras": f"padding={word!r}{cut}",
        "TensorFlow": f"padding={word.upper()!r}, output_shape=({shape}){cut}",
        "ONNX": pads,
        "PyTorch": alike,
        "stock Gluon": alike,
    }


def _is_same(layer):
    """Return whether TensorFlow's 'SAME' gives these windows."""
    return layer.padding != "valid" and all(
        vars(a) == vars(explain(a.in_size, a.kernel, a.stride, a.dilation, transposed=a.transposed))
        for a in layer.axes
    )


def _then_cut(cuts):
    return f", then cut {cuts} off y" if any(map(any, cuts)) else ""


def _ends(pairs):
    """Return what ONNX calls pads: those before each axis, then those after each."""
    return [n for end in zip(*pairs) for n in end]


def _compact(values):
    return repr(values[0] if len(set(values)) == 1 else tuple(values))
