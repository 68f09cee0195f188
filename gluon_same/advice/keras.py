"""What to write in Keras and in TensorFlow."""

from typing import Any, Optional, Tuple

from .case import Advice, Case, called, compact
from .pytorch import part_of


def keras(case: Case) -> Advice:
    """Return the layer of ``keras.layers``, after explicit padding if its own does not suffice."""
    if max(case.stride) > 1 and max(case.dilation) > 1:
        note = "Keras' layers do not support strides together with dilation. Use the call of tf.nn."
        arguments = dict.fromkeys(("padding", "ZeroPadding", "tf.pad", "slice"))
        return Advice("Keras", (), note, arguments)
    word, pads, cuts, note = _padding(case)
    if case.mode == "causal":
        word, pads, note = "causal", None, ""
    layer = _layer(case, word.lower())
    arguments = {"padding": word.lower(), "ZeroPadding": None, "tf.pad": pads, "slice": cuts}
    code: Tuple[str, ...] = (layer,)
    if pads and case.op == "conv":
        arguments = {**arguments, "tf.pad": None, "ZeroPadding": [list(pair) for pair in case.pads]}
        zeros = called(f"keras.layers.ZeroPadding{case.ndim}D", _amounts(case.pads))
        code = (f"layer = {layer}", f"y = layer({zeros}(x))")
    elif pads:
        code = (f"layer = {layer}", *_after_pad(case, pads, "layer({})"))
    elif cuts:
        code = (f"layer = {layer}", f"y = layer(x)[:, {part_of(cuts)}]")
    return Advice("Keras", code, note, arguments)


def tensorflow(case: Case) -> Advice:
    """Return the call of ``tf.nn``, for data with the channels last."""
    if case.ndim == 3 and case.groups > 1:
        note = "On a CPU, tf.nn.conv3d does not support groups. Use the Keras layer."
        return Advice("TensorFlow", (), note, {"padding": None, "tf.pad": None, "slice": None})
    word, pads, cuts, note = _padding(case)
    call = _operation(case, word, cuts)
    arguments = {"padding": word, "tf.pad": pads, "slice": cuts}
    if pads:
        return Advice("TensorFlow", _after_pad(case, pads, call), note, arguments)
    part = f"[:, {part_of(cuts)}]" if cuts else ""
    return Advice("TensorFlow", (call.format("x") + part,), note, arguments)


def _padding(case) -> Tuple[str, Any, Any, str]:
    """Return the padding word, the pads of ``tf.pad``, the ends to cut off afterward, and a note."""
    upper = case._replace(mode="same")
    if case.mode == "valid" and case.op != "transpose":
        return "VALID", None, None, ""
    if case.mode != "valid" and (case.pads, case.extra) == (upper.pads, upper.extra):
        note = "" if case.mode == "same" else "At this size, 'same' gives the same windows."
        return "SAME", None, None, note
    if case.op == "transpose":
        return "VALID", None, _cuts(case), ""
    if not any(map(any, case.pads)):
        return "VALID", None, None, ""
    return "VALID", [[0, 0], *map(list, case.pads), [0, 0]], None, ""


def full_size(case: Case) -> Tuple[int, ...]:
    """Return the output sizes of TensorFlow's transposed convolution with padding='VALID'."""
    return tuple(max(span, s) + (n - 1) * s for n, s, span in zip(case.sizes, case.stride, case.spans))


def _cuts(case) -> Optional[list]:
    ends = [
        (before, full - before - n) for full, (before, _), n in zip(full_size(case), case.pads, case.out)
    ]
    return ends if any(map(any, ends)) else None


def _layer(case, padding):
    kind = {"conv": "Conv", "pool": "AveragePooling" if case.average else "MaxPooling"}
    name = f"keras.layers.{kind.get(case.op, 'Conv')}{case.ndim}D"
    named = {"strides": compact(case.stride), "padding": repr(padding)}
    if case.op == "pool":
        return called(name, compact(case.kernel), **named)
    if max(case.stride) == 1:
        del named["strides"]
    if max(case.dilation) > 1:
        named["dilation_rate"] = compact(case.dilation)
    if case.groups > 1:
        named["groups"] = case.groups
    name += "Transpose" if case.op == "transpose" else ""
    return called(name, case.filters, compact(case.kernel), **named)


def _operation(case, word, cuts):
    """Write a call of ``tf.nn`` with ``{}`` for the data."""
    padding = {"padding": repr(word)}
    if case.op == "pool":
        name = f"tf.nn.{'avg' if case.average else 'max'}_pool{case.ndim}d"
        return called(name, "{}", compact(case.kernel), strides=compact(case.stride), **padding)
    name = f"tf.nn.conv{case.ndim}d"
    # Only conv3d requires an entry for each axis of the data.
    wide = case.ndim == 3 and case.op == "conv"
    stride, dilation = ((1, *n, 1) if wide else compact(n) for n in (case.stride, case.dilation))
    steps = {"stride" if case.ndim == 1 and case.op == "conv" else "strides": stride, **padding}
    if max(case.dilation) > 1:
        steps["dilations"] = dilation
    if case.op == "conv":
        return called(name, "{}", "w", **steps)
    sizes = full_size(case) if word == "VALID" else case.out
    shape = (case.batch, *sizes, case.filters)
    return called(f"{name}_transpose", "{}", "w", output_shape=shape, **steps)


def _amounts(pads):
    """Write the argument of a ``ZeroPadding`` layer: one number, one pair, or a pair for each axis."""
    if len(set(sum(pads, ()))) == 1:
        return str(pads[0][0])
    return repr(tuple(pads) if len(pads) > 1 else pads[0])


def _after_pad(case, pads, call):
    fill = ", constant_values=float('-inf')" if case.op == "pool" and not case.average else ""
    y = f"y = {call}".format(f"tf.pad(x, {pads}{fill})")
    if not case.average:
        return (y,)
    # It counts the padding, so divide by the share of real elements.
    return y, f"y = y / {call}".format(f"tf.pad(tf.ones_like(x), {pads})")
