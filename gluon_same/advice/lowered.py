"""How gluon_same computes a layer, and at what cost, according to the plans of :mod:`..lowering`.

Costs are counted, not timed: windows that are computed and dropped, and elements that are copied.
:mod:`.graphs` counts operators and measures times, with MXNet.
"""

from math import prod
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .. import lowering
from ..lowering.steps import Pad, PadBySize, Slice
from .case import AXES, Case


class Lowering(NamedTuple):
    """One form of a layer: for the given size, or for every size.

    ``computed`` counts outputs at the given size and in one channel, including those that are dropped.
    ``copied`` counts elements for each channel; it is None if the graph pads the input by the size
    that it receives.
    """

    words: List[str]
    axes: List[Dict[str, Any]]  # the plan's numbers for each axis; empty if there is no such graph
    computed: int
    kept: int
    copied: Optional[int]

    def cost(self) -> str:
        """Return the counted cost in words."""
        if not self.axes:
            return "no graph"
        parts = []
        if self.computed > self.kept:
            more = 100 * (self.computed - self.kept) / self.kept
            parts.append(f"{self.computed} outputs computed for {self.kept} ({more:.3g}% more)")
        else:
            parts.append("no outputs dropped")
        if self.copied:
            parts.append(f"{self.copied} elements copied for each channel")
        return "; ".join(parts)


def lowerings(case: Case) -> Tuple[Lowering, Lowering]:
    """Describe how a case is computed if its size is known, and in a graph for every size.

    The size is known in eager calls, in specialized nets and in the ONNX export.

    Examples
    --------
    >>> this, every = lowerings(Case((13, 13), (2, 2), (1, 1), (1, 1), op='pool'))
    >>> this.words
    ['height, width: pads both ends by 1; drops the first window']
    >>> this.cost()
    '196 outputs computed for 169 (16% more); 169 elements copied for each channel'
    >>> this == every
    True
    """
    if case.op == "transpose":
        lowered = _transposed(case)
        return lowered, lowered
    this = _lowered(case, case.sizes)
    try:
        return this, _lowered(case, (None,) * case.ndim)
    except ValueError as error:  # there is no such graph
        return this, Lowering([str(error)], [], this.kept, this.kept, None)


def operator_padding(case: Case) -> List[Tuple[int, int]]:
    """Return the padding of each axis that the operator receives, at the given size."""
    if case.op == "transpose":
        return list(case.pads)
    plan = _plan(case, case.sizes)
    return [
        # An operator that rounds up covers exactly the padding.
        (axis["own"], pads[1]) if plan.operator.full and stride > 1 else _reach(axis)
        for axis, pads, stride in zip(_axes(plan), case.pads, case.stride)
    ]


def _plan(case, sizes):
    if case.op == "pool":
        kind = "avg" if case.average else "max"
        return lowering.plan_pooling(case.windows, sizes, kind, case.mode == "valid")
    depthwise = case.groups == case.filters > 1
    return lowering.plan_convolution(case.windows, sizes, (case.channels, case.filters), depthwise)


def _axes(plan):
    """Return the numbers of a plan for each axis."""
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
        if not isinstance(step, Slice):
            continue
        for axis, (lead, trail, _) in zip(axes, step.cuts):
            axis["lead"], axis["trail"] = lead, trail
    return axes


def _lowered(case, sizes):
    plan = _plan(case, sizes)
    axes = _axes(plan)
    computed = [
        # An axis that is padded by its size, or rounded up, has no surplus windows.
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
        prod(computed),
        prod(case.out),
        None if by_size else copied,
    )


def _reach(axis):
    return axis["own"] + axis["front"], axis["own"] + axis["tail"]


def _transposed(case):
    windows = tuple(w._replace(padding=cut) for w, cut in zip(case.windows, case.pads))
    plan = lowering.plan_deconvolution(windows, case.extra, case.sizes)
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
    return Lowering(_by_axis(words), axes, computed, kept, copied)


def _by_axis(words):
    """Return one sentence for all axes that are computed alike."""
    names = AXES[len(words)]
    alike: Dict[str, List[str]] = {}
    for name, sentence in zip(names, words):
        alike.setdefault(sentence, []).append(name)
    return [f"{', '.join(axes)}: {sentence}" for sentence, axes in alike.items()]
