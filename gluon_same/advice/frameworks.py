"""What TensorFlow, ONNX, PyTorch and stock Gluon have to be told to place the same windows.

All of it follows from :mod:`..geometry`; nothing of these frameworks is imported.
"""

from typing import Any, Dict, List, NamedTuple, Tuple

from .. import geometry, lowering
from ..geometry import Window

OPS = ("conv", "pool", "transpose")
AXES = {1: ("width",), 2: ("height", "width"), 3: ("depth", "height", "width")}
LOWEST = "-3e38"  #: Below what float32 data hold, for MXNet, whose maximum of -inf is another number.

Ints = Tuple[int, ...]


class Case(NamedTuple):
    """One layer and the size it is given: what ``python -m gluon_same pad`` is asked about."""

    sizes: Ints  # one entry for each axis, as in the next three
    kernel: Ints
    stride: Ints
    dilation: Ints
    mode: str = "same"
    op: str = "conv"
    average: bool = False  # of a pooling
    channels: int = 64  # of the input
    filters: int = 64  # channels of the output
    batch: int = 1  # samples at once, for what is measured

    @property
    def ndim(self) -> int:
        return len(self.sizes)

    @property
    def spans(self) -> Ints:
        return tuple(map(geometry.effective_kernel, self.kernel, self.dilation))

    @property
    def windows(self) -> Tuple[Window, ...]:
        """A window for each axis, padded by the mode where that depends on the size."""
        padding = (0, 0) if self.mode == "valid" or self.op == "transpose" else self.mode
        window = zip(self.spans, self.stride, self.kernel)
        return tuple(Window(span, step, padding, taps) for span, step, taps in window)

    @property
    def pads(self) -> Tuple[Tuple[int, int], ...]:
        """(before, after) for each axis: padding, or what a transposed convolution cuts off."""
        if self.op == "transpose":
            return tuple(pads for pads, _ in self._transposed())
        window = zip(self.sizes, self.kernel, self.stride, self.dilation)
        return tuple(geometry.padding_of(self.mode, *axis) for axis in window)

    @property
    def extra(self) -> Ints:
        """Elements that a transposed convolution adds at the end of each axis."""
        transposed = self.op == "transpose"
        return tuple(e for _, e in self._transposed()) if transposed else (0,) * self.ndim

    @property
    def out(self) -> Ints:
        """Output size of each axis."""
        if self.op == "transpose":
            parts = zip(self.sizes, self.stride, self.spans, self.pads, self.extra)
            return tuple((n - 1) * s + span - sum(cut) + e for n, s, span, cut, e in parts)
        return self.out_padded_by(self.pads)

    def out_padded_by(self, pads: Any) -> Ints:
        """Output sizes under another padding; ValueError where a window does not fit."""
        window = zip(self.sizes, self.kernel, self.stride, self.dilation, pads)
        return tuple(geometry.output_size(*axis) for axis in window)

    def _transposed(self):
        if self.mode == "valid":
            return [((0, 0), 0)] * self.ndim
        window = zip(self.kernel, self.stride, self.dilation)
        return [geometry.transposed_padding(*axis, self.mode) for axis in window]


class Advice(NamedTuple):
    """What to tell one framework: in words, and the arguments for programs."""

    framework: str
    say: str
    arguments: Dict[str, Any]


def advise(case: Case) -> List[Advice]:
    """What gluon_same and the other frameworks are told, gluon_same first.

    Examples
    --------
    >>> for advice in advise(Case((13, 13), (2, 2), (1, 1), (1, 1), op='pool')):
    ...     print(f'{advice.framework}: {advice.say}')
    gluon_same: nn.MaxPool2D(2, strides=1, padding='same')
    TensorFlow: padding='SAME'
    ONNX: pads=[0, 0, 1, 1]; for every size, auto_pad='SAME_UPPER'
    PyTorch: F.pad(x, (0, 1, 0, 1), value=float('-inf')), then padding=0
    stock Gluon: no padding= gives it: 0 makes 12x12, 1 makes 14x14. Pad first, by F.pad(x, \
mode='constant', pad_width=(0, 0, 0, 0, 0, 1, 0, 1), constant_value=-3e38)
    """
    if case.op == "transpose":
        steps = (_gluon_same, _tensorflow_transposed, _onnx_transposed, _torch_transposed)
        return [*(step(case) for step in steps), _gluon_transposed(case)]
    return [step(case) for step in (_gluon_same, _tensorflow, _onnx, _torch, _gluon)]


def times(sizes: Any) -> str:
    """``13x13``"""
    return "x".join(map(str, sizes))


def compact(values: Any) -> str:
    """One int for values that agree, else a tuple, as one would write the argument."""
    return str(values[0] if len(set(values)) == 1 else tuple(values))


def _gluon_same(case):
    kind = {"conv": "Conv", "pool": "AvgPool" if case.average else "MaxPool", "transpose": "Conv"}
    name = f"{kind[case.op]}{case.ndim}D" + ("Transpose" if case.op == "transpose" else "")
    arguments = {"strides": case.stride, "dilation": case.dilation}
    if case.op == "pool":
        del arguments["dilation"]  # and a pooling's strides are its window if they are not given
    else:
        arguments = {key: value for key, value in arguments.items() if set(value) != {1}}
    words = [f"{key}={compact(value)}" for key, value in arguments.items()]
    first = [compact(case.kernel)] if case.op == "pool" else [str(case.filters), compact(case.kernel)]
    say = f"nn.{name}({', '.join([*first, *words])}, padding={case.mode!r})"
    return Advice("gluon_same", say, {"padding": case.mode})


def _tensorflow(case):
    word = "VALID" if case.mode == "valid" else "SAME"
    note = _refused_by_keras(case)
    upper = case._replace(mode="same")
    if case.mode == "same_lower" and case.pads != upper.pads:
        pad = [[0, 0], *map(list, case.pads), [0, 0]]
        fill = ", constant_values=float('-inf')" if _is_max(case) else ""
        say = f"tf.pad(x, {pad}{fill}), then padding='VALID'"
        return Advice("TensorFlow", say + _counted(case) + note, {"padding": "VALID", "tf.pad": pad})
    if case.mode == "same_lower":
        note = " (at this size the odd element is at neither end)" + note
    return Advice("TensorFlow", f"padding={word!r}{note}", {"padding": word})


def _refused_by_keras(case, suffix=""):
    if max(case.stride) == 1 or max(case.dilation) == 1:
        return ""
    return f". Keras' layers refuse strides with dilation; tf.nn.conv{case.ndim}d{suffix} takes both"


def _onnx(case):
    pads = [b for b, _ in case.pads] + [a for _, a in case.pads]
    say = f"pads={pads}"
    if case.mode == "valid":
        say += ", which is the default"
    elif max(case.dilation) > 1 or any(s > span for s, span in zip(case.stride, case.spans)):
        say += ". Not auto_pad, which onnxruntime has wrong for dilated windows and for larger strides"
    else:
        word = "SAME_UPPER" if case.mode == "same" else "SAME_LOWER"
        say += f"; for every size, auto_pad={word!r}"
    return Advice("ONNX", say, {"pads": pads})


def _torch(case):
    befores = tuple(before for before, _ in case.pads)
    average = ", count_include_pad=False" if case.op == "pool" and case.average else ""
    arguments = {"padding": list(befores), "F.pad": None, "ceil_mode": False}
    # avg_pool3d refuses an axis that is shorter than the window, however it is padded.
    short = average and case.ndim == 3 and any(n < k for n, k in zip(case.sizes, case.kernel))
    if _both_ends_serve(case) and not short:
        say = f"padding={compact(befores)}" + (average if any(befores) else "")
        if _has_same(case) and any(befores):
            say += ", or padding='same'"
    elif _rounding_up_serves(case) and not short:
        say = f"padding={compact(befores)}, ceil_mode=True{average}"
        arguments["ceil_mode"] = True
    else:
        pad = tuple(n for pair in reversed(case.pads) for n in pair)
        fill = ", value=float('-inf')" if _is_max(case) else ""
        say = f"F.pad(x, {pad}{fill}), then padding=0"
        if _has_same(case):
            say = f"padding='same', or {say}"
        if case.op == "pool" and case.average:
            say += "; divide by the same pooling of F.pad(ones), for it counts the padding"
        arguments.update({"padding": [0] * case.ndim, "F.pad": list(pad)})
    return Advice("PyTorch", say, arguments)


def _gluon(case):
    befores = tuple(before for before, _ in case.pads)
    average = ", count_include_pad=False" if case.op == "pool" and case.average else ""
    if _both_ends_serve(case):
        say = f"padding={compact(befores)}" + (average if any(befores) else "")
        return Advice("stock Gluon", say, {"padding": list(befores), "ceil_mode": False})
    if _rounding_up_serves(case):
        say = f"padding={compact(befores)}, ceil_mode=True{average}"
        return Advice("stock Gluon", say, {"padding": list(befores), "ceil_mode": True})
    least, most = (tuple(map(pick, case.pads)) for pick in (min, max))
    say = f"no padding= gives it: {', '.join(_outcome(case, amounts) for amounts in (least, most))}"
    if case.ndim > 1:
        width = (0, 0, 0, 0, *(n for pair in case.pads for n in pair))
        fill = f", constant_value={LOWEST}" if _is_max(case) else ""
        say += f". Pad first, by F.pad(x, mode='constant', pad_width={width}{fill})" + _counted(case)
    return Advice("stock Gluon", say, {"padding": None, "ceil_mode": False})


def _outcome(case, amounts):
    """What a padding of both ends alike makes of the case."""
    name = compact(amounts)
    try:
        out = case.out_padded_by([(p, p) for p in amounts])
    except ValueError:
        return f"{name} is refused, for the window is larger"
    if out != case.out:
        return f"{name} makes {times(out)}"
    off = [p - before for p, (before, _) in zip(amounts, case.pads)]
    ways = {f"{abs(n)} too {'early' if n > 0 else 'late'}" for n in off if n}
    return f"{name} makes {times(out)} with windows that start {' or '.join(sorted(ways))}"


def _tensorflow_transposed(case):
    name = "TensorFlow"
    upper = case._replace(mode="same")
    if case.mode != "valid" and (case.pads, case.extra) == (upper.pads, upper.extra):
        say = "padding='SAME'" + _refused_by_keras(case, "_transpose")
        return Advice(name, say, {"padding": "SAME", "slice": None})
    full = [max(span, s) + (n - 1) * s for n, s, span in zip(case.sizes, case.stride, case.spans)]
    if full == list(case.out):
        return Advice(name, "padding='VALID'", {"padding": "VALID", "slice": None})
    cut = [[b, b + n] for (b, _), n in zip(case.pads, case.out)]
    part = ", ".join(f"{b}:{e}" if b else f":{e}" for b, e in cut)
    why = ", and it is longer where the stride exceeds the window" if case.mode == "valid" else ""
    say = f"padding='VALID' makes {times(full)}{why}; keep y[:, {part}]"
    return Advice(name, say, {"padding": "VALID", "slice": cut})


def _onnx_transposed(case):
    pads = [b for b, _ in case.pads] + [a for _, a in case.pads]
    arguments = {"pads": pads, "output_padding": list(case.extra)}
    say = f"pads={pads}" + (f", output_padding={list(case.extra)}" if any(case.extra) else "")
    if case.mode != "valid":
        say += ". Not auto_pad, whose odd end has changed between versions of ONNX"
    return Advice("ONNX", say, arguments)


def _transposed_arguments(case):
    plan = lowering.plan_deconvolution(case.windows, case.pads, case.extra)
    own, adj = list(plan.operator.pad), list(plan.operator.adj)
    cut = None
    if plan.after:
        cut = [[lead, lead + n] for (lead, _, _), n in zip(plan.after[0].cuts, case.out)]
    say = f"padding={compact(own)}" + (f", output_padding={compact(adj)}" if any(adj) else "")
    if cut:
        part = ", ".join(f"{b}:{e}" if b else f":{e}" for b, e in cut)
        say += f", then keep y[:, :, {part}]"
    return say, {"padding": own, "output_padding": adj, "slice": cut}


def _torch_transposed(case):
    return Advice("PyTorch", *_transposed_arguments(case))


def _gluon_transposed(case):
    say, arguments = _transposed_arguments(case)
    if case.ndim == 3 and max(case.dilation) > 1:
        say += " (but MXNet has no dilated transposed convolution over 3 axes)"
    return Advice("stock Gluon", say, arguments)


def _is_max(case):
    return case.op == "pool" and not case.average


def _has_same(case):
    return case.op == "conv" and case.mode == "same" and set(case.stride) == {1}


def _counted(case):
    return "; an average would count that padding" if case.op == "pool" and case.average else ""


def _both_ends_serve(case):
    """Whether padding both ends by ``before`` gives the windows: what is over at the end is no harm."""
    try:
        return case.out_padded_by([(before, before) for before, _ in case.pads]) == case.out
    except ValueError:
        return False


def _rounding_up_serves(case):
    """Whether padding both ends by ``before`` and rounding the size up gives a pooling's windows."""
    if case.op != "pool":
        return False
    for n, k, s, (before, _), out in zip(case.sizes, case.kernel, case.stride, case.pads, case.out):
        reach = n + 2 * before - k
        # Frameworks drop a last window that would start beyond the input; SAME has none.
        if reach < 0 or geometry.ceil_div(reach, s) + 1 != out or 2 * before > k:
            return False
    return True
