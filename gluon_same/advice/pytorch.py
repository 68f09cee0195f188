"""What to write in PyTorch."""

from typing import Any, Dict

from .case import Advice, Case, called, compact, symmetric
from .gluon import transposed


def pytorch(case: Case) -> Advice:
    """Return the layer of ``torch.nn``, after ``F.pad`` if its own padding does not suffice."""
    if case.op == "transpose":
        return _transposed(case)
    arguments: Dict[str, Any] = {"padding": [0] * case.ndim, "F.pad": None, "ceil_mode": False}
    # Its poolings reject a padding of more than half the window.
    found = symmetric(case, [k // 2 for k in case.kernel], drops_last=True)
    # avg_pool3d rejects an axis that is shorter than the window, however it is padded.
    short = case.average and case.ndim == 3 and any(n < k for n, k in zip(case.sizes, case.kernel))
    if found and not short:
        padding, up = found
        arguments.update({"padding": list(padding), "ceil_mode": up})
        return Advice("PyTorch", (_layer(case, padding, up),), "", arguments)
    if case.op == "conv" and case.mode == "same" and set(case.stride) == {1}:
        arguments["padding"] = "same"
        return Advice("PyTorch", (_layer(case, "same"),), "", arguments)
    pad = tuple(n for pair in reversed(case.pads) for n in pair)
    arguments["F.pad"] = list(pad)
    fill = ", value=float('-inf')" if case.op == "pool" and not case.average else ""
    code = [f"layer = {_layer(case, (0,) * case.ndim)}", f"y = layer(F.pad(x, {pad}{fill}))"]
    if case.average:  # it counts the padding, so divide by the share of real elements
        code.append(f"y = y / layer(F.pad(torch.ones_like(x), {pad}))")
    return Advice("PyTorch", tuple(code), "", arguments)


def _layer(case, padding, up=False, **more):
    kind = {"conv": "Conv", "pool": "AvgPool" if case.average else "MaxPool"}
    name = f"nn.{kind.get(case.op, 'ConvTranspose')}{case.ndim}d"
    first = [compact(case.kernel)]
    if case.op != "pool":
        first = [case.channels, case.filters, *first]
    named: Dict[str, Any] = {}
    if case.op == "pool" or max(case.stride) > 1:
        named["stride"] = compact(case.stride)
    if padding == "same" or any(padding):
        named["padding"] = repr(padding) if padding == "same" else compact(padding)
    if case.op != "pool" and max(case.dilation) > 1:
        named["dilation"] = compact(case.dilation)
    if case.groups > 1:
        named["groups"] = case.groups
    if up:
        named["ceil_mode"] = True
    if case.average and any(padding):
        named["count_include_pad"] = False
    return called(name, *first, **named, **more)


def _transposed(case):
    own, adj, cuts, _ = transposed(case)
    layer = _layer(case, own, **({"output_padding": compact(adj)} if any(adj) else {}))
    arguments = {"padding": list(own), "output_padding": list(adj), "slice": cuts}
    if not cuts:
        return Advice("PyTorch", (layer,), "", arguments)
    return Advice("PyTorch", (f"layer = {layer}", f"y = layer(x)[:, :, {part_of(cuts)}]"), "", arguments)


def part_of(cuts) -> str:
    """Write the slice that cuts off the ends of each axis, such as ``1:-1, :``."""
    return ", ".join(f"{lead or ''}:{-trail if trail else ''}" for lead, trail in cuts)
