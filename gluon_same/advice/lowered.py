"""How gluon_same serves a window, and what that costs, read from the plans of :mod:`..lowering`.

Costs are counted, not timed: windows that are computed and dropped, elements that are copied, and the
operators of the graph itself. Times are measured by ``--measure``, and by ``benchmarks/layers.py``.
"""

import json
from collections import Counter
from math import prod
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import mxnet as mx

from .. import functional, lowering, nn, tuning
from ..lowering.steps import Pad, PadBySize
from .frameworks import AXES, Case


class Lowering(NamedTuple):
    """One form of a layer: for the size asked about, or for every size.

    ``computed`` counts outputs, at the size asked about and in one channel, those that are dropped
    among them. ``copied`` counts elements for each channel; it is None where the input is padded by
    its size when the graph runs.
    """

    words: List[str]
    axes: List[Dict[str, Any]]  # for each axis, what its plan says
    operators: Dict[str, int]
    computed: int
    kept: int
    copied: Optional[int]

    def cost(self) -> str:
        """The counted cost in words."""
        if not self.operators:
            return "no graph"
        names = ", ".join(f"{n} {op}" if n > 1 else op for op, n in self.operators.items())
        total = sum(self.operators.values())
        parts = [f"{total} operators: {names}" if total > 1 else f"{names} alone"]
        if self.computed > self.kept:
            more = 100 * (self.computed - self.kept) / self.kept
            parts.append(f"{self.computed} outputs computed for {self.kept} ({more:.3g}% more)")
        else:
            parts.append("no output too many")
        if self.copied:
            parts.append(f"{self.copied} elements copied for each channel")
        return "; ".join(parts)


def lowerings(case: Case) -> Tuple[Lowering, Lowering]:
    """How a case is served where its size is known, and in a graph for every size.

    Known sizes are those of eager calls, of specialized nets and of the ONNX export.

    Examples
    --------
    >>> this, every = lowerings(Case((13, 13), (2, 2), (1, 1), (1, 1), op='pool'))
    >>> this.words
    ['height, width: pads both ends by 1; drops the first window']
    >>> this.cost()
    '2 operators: Pooling, slice; 196 outputs computed for 169 (16% more); 169 elements copied for each \
channel'
    >>> this == every
    True
    """
    if case.op == "transpose":
        lowered = _transposed(case)
        return lowered, lowered
    this = _lowered(case, case.sizes)
    try:
        return this, _lowered(case, (None,) * case.ndim)
    except ValueError as error:  # a graph that is not made
        return this, Lowering([str(error)], [], {}, this.kept, this.kept, None)


def measured(case: Case) -> Dict[str, float]:
    """Seconds of the ways that serve a layer, on this machine, at the case's batch.

    Returns
    -------
    dict of str to float
        That with the fewest operators first; empty where there is one way alone.
    """
    if case.op == "transpose":
        return {}
    kind = {"conv": "Conv", "pool": "AvgPool" if case.average else "MaxPool"}[case.op]
    make = getattr(nn, f"{kind}{case.ndim}D")
    if case.op == "pool":
        layer = make(case.kernel, case.stride, case.mode)
    else:
        layer = make(case.filters, case.kernel, case.stride, case.mode, case.dilation)
    layer.initialize()
    return tuning.times_of(layer, (case.batch, case.channels, *case.sizes))


def operator_padding(case: Case) -> List[Tuple[int, int]]:
    """For each axis, what the operator sees before and after it at the size asked about."""
    if case.op == "transpose":
        return list(case.pads)
    plan = _plan(case, case.sizes)
    return [
        # Rounding up reaches as far as is asked for.
        (axis["own"], pads[1]) if plan.operator.full and stride > 1 else _reach(axis)
        for axis, pads, stride in zip(_axes(plan), case.pads, case.stride)
    ]


def _plan(case, sizes):
    if case.op == "pool":
        kind, whole = "avg" if case.average else "max", not _is_same(case)
        return lowering.plan_pooling(case.windows, sizes, kind, whole)
    return lowering.plan_convolution(case.windows, sizes, (case.channels, case.filters))


def _axes(plan):
    """What a plan does, axis by axis."""
    axes = [
        {"own": own, "front": 0, "tail": 0, "lead": 0, "trail": 0, "reverse": False, "by_size": False}
        for own in plan.operator.pad
    ]
    for step in plan.before:
        for i, axis in enumerate(axes):
            if isinstance(step, (Pad, PadBySize)):
                axis["front"], axis["tail"] = step.amounts[i]
                axis["by_size"] = isinstance(step, PadBySize) and step.windows[i] is not None
            else:
                axis["reverse"] = step.cuts[i][2]
    for step in plan.after:
        for axis, (lead, trail, _) in zip(axes, step.cuts):
            axis["lead"], axis["trail"] = lead, trail
    return axes


def _lowered(case, sizes):
    plan = _plan(case, sizes)
    axes = _axes(plan)
    computed = [
        # What is padded by its size, or rounded up, has no window too many.
        out
        if axis["by_size"] or (plan.operator.full and window.stride > 1)
        else window.outputs(n, _reach(axis))
        for axis, window, n, out in zip(axes, case.windows, case.sizes, case.out)
    ]
    sentences = _by_axis(plan.words())
    if plan.operator.full:
        sentences.append("rounds the number of windows up (pooling_convention='full')")
    longer = [n + axis["front"] + axis["tail"] for n, axis in zip(case.sizes, axes)]
    copied = prod(longer) * len(plan.before) + prod(case.out) * len(plan.after)
    by_size = any(axis["by_size"] for axis in axes)
    return Lowering(
        sentences,
        axes,
        _operators(case, sizes),
        prod(computed),
        prod(case.out),
        None if by_size else copied,
    )


def _reach(axis):
    return axis["own"] + axis["front"], axis["own"] + axis["tail"]


def _transposed(case):
    plan = lowering.plan_deconvolution(case.windows, case.pads, case.extra)
    axes = [{**axis, "adj": adj} for axis, adj in zip(_axes(plan), plan.operator.adj)]
    words = []
    for axis in axes:
        parts = [f"the operator cuts {axis['own']} off both ends"] if axis["own"] else []
        if axis["adj"]:
            parts.append(f"adds {axis['adj']} at the end")
        for count, end in ((axis["lead"], "start"), (axis["trail"], "end")):
            if count:
                parts.append(f"a slice cuts {count} off the {end}")
        words.append("; ".join(parts) or "cuts nothing off")
    kept = prod(case.out)
    computed = prod(n + axis["lead"] + axis["trail"] for n, axis in zip(case.out, axes))
    copied = kept if computed > kept else 0
    return Lowering(_by_axis(words), axes, _operators(case, case.sizes), computed, kept, copied)


def _by_axis(words):
    """One sentence for all axes that are treated alike."""
    names = AXES[len(words)]
    alike = {}
    for name, sentence in zip(names, words):
        alike.setdefault(sentence, []).append(name)
    return [f"{', '.join(axes)}: {sentence}" for sentence, axes in alike.items()]


def _operators(case, sizes):
    """The operators of the graph that :mod:`..functional` builds, which is the one that is run."""
    F, x, weight = mx.sym, mx.sym.var("data"), mx.sym.var("weight")
    window = {"kernel": case.kernel, "stride": case.stride, "pad": case.mode, "in_size": sizes}
    if case.op == "pool":
        kind = "avg" if case.average else "max"
        graph = functional.pooling(F, x, pool_type=kind, count_include_pad=not _is_same(case), **window)
    elif case.op == "transpose":
        graph = functional.deconvolution(
            F, x, weight, dilate=case.dilation, num_filter=case.filters, **window
        )
    else:
        more = {"num_filter": case.filters, "in_channels": case.channels}
        graph = functional.convolution(F, x, weight, dilate=case.dilation, **more, **window)
    nodes = json.loads(graph.tojson())["nodes"]
    return dict(Counter(node["op"] for node in nodes if node["op"] != "null"))


def _is_same(case):
    return case.mode in ("same", "same_lower")
