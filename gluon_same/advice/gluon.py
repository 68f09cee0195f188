"""What to write in Gluon: with gluon_same, and with stock layers."""

from typing import Any, List, Tuple

from .. import lowering
from ..lowering.steps import Pad
from .case import Advice, Case, called, compact, symmetric, times


def gluon_same(case: Case) -> Advice:
    """Return the layer of :mod:`gluon_same.nn`."""
    padding = repr(case.mode)
    counts = case.average and not isinstance(case.mode, str)
    more = {"count_include_pad": False} if counts else {}
    return Advice("gluon_same", (_layer(case, padding, **more),), "", {"padding": case.mode})


def stock_gluon(case: Case) -> Advice:
    """Return the layer of ``mxnet.gluon.nn``, with ``hybrid_forward``'s operators around it."""
    if case.op == "transpose":
        return _transposed(case)
    found = symmetric(case, [k - 1 for k in case.kernel])
    plan = _plan(case)
    if found and (case.op == "pool" or not (plan.before or plan.after)):
        padding, up = found
        arguments = {"padding": list(padding), "ceil_mode": up, "F.pad": None, "F.slice": None}
        return Advice("stock Gluon", (_padded_layer(case, padding, up),), "", arguments)
    pad, cut = _pad(plan), _cut(plan)
    note = (
        "MXNet's gradients can be wrong if a 3-D convolution with strides pads the depth itself."
        if found
        else "No value of padding= gives this: "
        + ", ".join(_outcome(case, tuple(map(pick, case.pads))) for pick in (min, max))
        + "."
    )
    arguments = {
        "padding": list(plan.operator.pad),
        "ceil_mode": plan.operator.full,
        "F.pad": pad,
        "F.slice": cut,
    }
    layer = _padded_layer(case, plan.operator.pad, plan.operator.full, counts=bool(pad))
    return Advice("stock Gluon", _statements(case, layer, pad, cut), note, arguments)


def _plan(case):
    """Return gluon_same's plan at the case's size: padding and a slice, or ``F.pad``."""
    if case.op == "pool":
        return lowering.plan_pooling(case.windows, case.sizes, "avg" if case.average else "max", False)
    return lowering.plan_convolution(case.windows, case.sizes)


def _layer(case, padding, **more):
    kind = {"conv": "Conv", "pool": "AvgPool" if case.average else "MaxPool", "transpose": "Conv"}
    name = f"nn.{kind[case.op]}{case.ndim}D" + ("Transpose" if case.op == "transpose" else "")
    named = {"strides": compact(case.stride)}
    if set(case.stride) == {1} and case.op != "pool":  # a pooling's strides default to its window
        named = {}
    if padding != "0":
        named["padding"] = padding
    if case.op == "pool":
        return called(name, compact(case.kernel), **named, **more)
    if set(case.dilation) != {1}:
        named["dilation"] = compact(case.dilation)
    if case.groups > 1:
        named["groups"] = case.groups
    return called(name, case.filters, compact(case.kernel), **named, **more)


def _padded_layer(case, padding, up, counts=False):
    more = {"ceil_mode": True} if up else {}
    if case.average and (up or counts or any(padding)):
        more["count_include_pad"] = False
    return _layer(case, compact(padding), **more)


def _pad(plan):
    """Return the arguments of ``F.pad``, or None."""
    for step in plan.before:
        if isinstance(step, Pad):
            return {
                "mode": "edge" if step.edge else "constant",
                "pad_width": (0, 0, 0, 0, *(n for pair in step.amounts for n in pair)),
            }
    return None


def _cut(plan):
    """Return the arguments of ``F.slice``, or None."""
    if not plan.after:
        return None
    leads, trails, _ = zip(*plan.after[0].cuts)
    begin = (None, None, *(lead or None for lead in leads))
    return {"begin": begin, "end": (None, None, *(-trail if trail else None for trail in trails))}


def _statements(case, layer, pad, cut) -> Tuple[str, ...]:
    lines: List[str] = [f"layer = {layer}"]
    padded = _padded("x", pad, case.ndim) if pad else "x"
    y = f"layer({padded})"
    if pad and case.average:  # it counts the padding, so divide by the share of real elements
        lines.append(f"y = {y}")
        y = f"y / layer({_padded('F.ones_like(x)', pad, case.ndim)})"
    return (*lines, f"y = {_sliced(y, cut) if cut else y}")


def _sliced(y, cut):
    begin, end = cut["begin"], cut["end"]
    axes = [axis for axis, ends in enumerate(zip(begin, end)) if any(ends)]
    if len(axes) == 1:
        return called("F.slice_axis", y, axis=axes[0], begin=begin[axes[0]] or 0, end=end[axes[0]])
    whole = f"(None,) * {len(end)}"
    return called("F.slice", y, begin=begin if any(begin) else whole, end=end if any(end) else whole)


def _padded(x, pad, ndim):
    """Write ``F.pad`` of an expression. It requires four or five axes, so 1-D data gain one axis."""
    width, mode = pad["pad_width"], repr(pad["mode"])
    if ndim > 1:
        return called("F.pad", x, mode=mode, pad_width=width)
    width = (*width[:4], 0, 0, *width[4:])
    x = called("F.pad", f"F.expand_dims({x}, axis=2)", mode=mode, pad_width=width)
    return f"F.squeeze({x}, axis=2)"


def _outcome(case, amounts):
    """Describe the result of a symmetric padding."""
    name = compact(amounts)
    try:
        out = case.out_padded_by([(p, p) for p in amounts])
    except ValueError:
        return f"{name} is rejected because the window is larger than the input"
    if case.op == "pool" and any(p >= k for p, k in zip(amounts, case.kernel)):
        return f"{name} is rejected"
    if out != case.out:
        return f"{name} gives {times(out)}"
    off = [p - before for p, (before, _) in zip(amounts, case.pads)]
    ways = {f"{abs(n)} too {'early' if n > 0 else 'late'}" for n in off if n}
    return f"{name} gives {times(out)} with windows that start {' or '.join(sorted(ways))}"


def transposed(case: Case) -> Any:
    """Return ``padding``, ``output_padding``, cuts ``(lead, trail)``, and ``F.slice``'s arguments."""
    windows = tuple(w._replace(padding=cut) for w, cut in zip(case.windows, case.pads))
    plan = lowering.plan_deconvolution(windows, case.extra, case.sizes)
    cuts = [(lead, trail) for lead, trail, _ in plan.after[0].cuts] if plan.after else None
    return plan.operator.pad, plan.operator.adj, cuts, _cut(plan)


def _transposed(case):
    if case.ndim == 3 and max(case.dilation) > 1:
        note = "MXNet has no dilated transposed convolution over 3 axes."
        return Advice("stock Gluon", (), note, {})
    own, adj, _, cut = transposed(case)
    more = {"output_padding": compact(adj)} if any(adj) else {}
    layer = _layer(case, compact(own), **more)
    code = _statements(case, layer, None, cut) if cut else (layer,)
    arguments = {"padding": list(own), "output_padding": list(adj), "F.slice": cut}
    return Advice("stock Gluon", code, "", arguments)
