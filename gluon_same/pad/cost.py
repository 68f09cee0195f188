"""How gluon_same serves a window, and what that costs, told from the plans of :mod:`..lowering`.

Costs are counted, not timed: windows that are computed and dropped, elements that are copied, and the
operators of the graph itself. Times are measured by ``benchmarks/layers.py``.
"""

import json
from collections import Counter
from math import prod
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import mxnet as mx

from .. import functional, lowering, planes
from ..arguments import Window
from .advice import AXES, Case


class Lowering(NamedTuple):
    """One form of a layer: for the size asked about, or for every size.

    ``computed`` counts outputs, at the size asked about and in one channel, those that are dropped
    among them. ``copied`` counts elements for each channel; it is None where the input is padded by
    its size when the graph runs, reversed, or pooled in pieces.
    """

    words: List[str]
    axes: List[Dict[str, Any]]  # for each axis, what its plan says
    operators: Dict[str, int]
    computed: int
    kept: int
    copied: Optional[int]

    def cost(self) -> str:
        """The counted cost in words."""
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

    Known sizes are those of eager calls, of specialised nets and of the ONNX export.

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
    return _lowered(case, case.sizes), _lowered(case, (None,) * case.ndim)


def plan(case: Case, sizes: Tuple[Optional[int], ...]) -> lowering.Plan:
    """The plan of a convolution or a pooling; sizes of None are any size."""
    windows = _windows(case)
    if case.op == "pool":
        return lowering.plan_pooling(windows, sizes, case.average, not _is_same(case))
    return lowering.plan_convolution(
        windows, sizes, case.channels, case.filters, quick=True, batch=case.batch
    )


def operator_padding(case: Case) -> List[Tuple[int, int]]:
    """For each axis, what the operator sees before and after it at the size asked about."""
    if case.op == "transpose":
        return list(case.pads)
    planned = plan(case, case.sizes)
    if planned.moves:
        return list(case.pads)
    return [
        # Rounding up reaches as far as is asked for.
        (axis.own, pads[1]) if planned.full and stride > 1 else _reach(axis)
        for axis, pads, stride in zip(planned.axes, case.pads, case.stride)
    ]


def _lowered(case, sizes):
    planned = plan(case, sizes)
    windows = _windows(case)
    flips = planned.flip or (False,) * case.ndim
    computed, facts, words = [], [], []
    moves = planned.moves or (None,) * case.ndim
    for axis, window, shifted, flip, move, n, out in zip(
        planned.axes, windows, planned.shift, flips, moves, case.sizes, case.out
    ):
        # What is padded by its size, moved, or rounded up has no window too many.
        exact = shifted is not None or move is not None or (planned.full and window.stride > 1)
        computed.append(out if exact else window.outputs(n, _reach(axis)))
        taps = move.taps if move else 1
        facts.append({**axis._asdict(), "shift": shifted is not None, "flip": flip, "move": taps})
        words.append(_words(axis, shifted, flip, move))
    sentences = _by_axis(words)
    if planned.full and max(case.stride) > 1:
        sentences.append("rounds the number of windows up (pooling_convention='full')")
    copied = None
    if not any(planned.shift) and not any(flips):
        longer = [n + axis.front + axis.tail for n, axis in zip(case.sizes, planned.axes)]
        copied = prod(longer) if planned.extends else 0
        copied += prod(case.out) if any(axis.cropped for axis in planned.axes) else 0
        if planned.moves:
            copied += prod(n + 2 * m.pad - m.taps + 1 for n, m in zip(case.sizes, planned.moves))
    if case.op == "pool" and None not in sizes and planes.is_slow(windows, sizes):
        sentences.append(
            "by views and pieces of the data that oneDNN pools quickly, where there are such"
        )
        copied = None
    operators = _operators(case, sizes)
    return Lowering(sentences, facts, operators, prod(computed), prod(case.out), copied)


def _reach(axis):
    return axis.own + axis.front, axis.own + axis.tail


def _words(axis, shifted, flip, move):
    parts = []
    if move is not None and move.taps > 1:
        parts.append(
            f"moves the input by a depthwise convolution of {move.taps} taps, padded by {move.pad}"
        )
    if flip:
        parts.append("reverses the axis, from whose end the padding is the same at every size")
    if shifted is not None:
        parts.append("pads the input by what its size asks for when the graph runs")
    if axis.front or axis.tail:
        ends = [f"{n} at the {end}" for n, end in ((axis.front, "start"), (axis.tail, "end")) if n]
        parts.append(f"lengthens the input by {' and '.join(ends)}")
    if axis.own:
        parts.append(f"pads both ends by {axis.own}")
    for count, end in ((axis.lead, "first"), (axis.trail, "last")):
        if count:
            parts.append(f"drops the {end} window" if count == 1 else f"drops the {end} {count} windows")
    return "; ".join(parts) or "needs no padding"


def _transposed(case):
    axes = lowering.plan_deconvolution(case.stride, case.pads, case.extra)
    words = []
    for axis in axes:
        parts = [f"the operator cuts {axis.own} off both ends"] if axis.own else []
        if axis.adj:
            parts.append(f"adds {axis.adj} at the end")
        for count, end in ((axis.lead, "start"), (axis.trail, "end")):
            if count:
                parts.append(f"a slice cuts {count} off the {end}")
        words.append("; ".join(parts) or "cuts nothing off")
    kept = prod(case.out)
    computed = prod(n + axis.lead + axis.trail for n, axis in zip(case.out, axes))
    facts = [axis._asdict() for axis in axes]
    copied = kept if computed > kept else 0
    return Lowering(_by_axis(words), facts, _operators(case, case.sizes), computed, kept, copied)


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
        count = not _is_same(case)
        graph = functional.pooling(
            F,
            x,
            pool_type=kind,
            count_include_pad=count,
            in_channels=case.channels,
            dtype="float32",
            **window,
        )
    elif case.op == "transpose":
        graph = functional.deconvolution(
            F, x, weight, dilate=case.dilation, num_filter=case.filters, **window
        )
    else:
        graph = functional.convolution(
            F,
            x,
            weight,
            dilate=case.dilation,
            num_filter=case.filters,
            in_channels=case.channels,
            batch=case.batch,
            dtype="float32",
            **window,
        )
    nodes = json.loads(graph.tojson())["nodes"]
    return dict(Counter(node["op"] for node in nodes if node["op"] != "null"))


def _windows(case):
    padding = case.mode if _is_same(case) else (0, 0)
    return tuple(Window(s, step, padding, k) for s, step, k in zip(case.spans, case.stride, case.kernel))


def _is_same(case):
    return case.mode in ("same", "same_lower")
