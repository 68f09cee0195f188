"""The rules that choose the operators for a window, in plain integers.

The rules depend on the window, on the input size if it is known, and then on the numbers of channels.
They do not depend on the machine, the batch size, the dtype or the use of the graph. Windows padded by
``(before, after)`` are computed in one of these ways:

*symmetric padding*
    If ``before == after``, the operator alone suffices.
*crop*
    Pad both ends by ``own``, which equals ``before`` modulo the stride and is at least ``after``, then
    slice off the extra outputs. With stride 1 and an even kernel, ``own`` is ``k // 2`` and the slice
    drops the first row and column.
*cut to size*
    If the size is not known, crop, and cut the outputs to the number that the graph finds when it runs.
*full*
    For pooling, pad both ends by ``before`` and round the number of windows up with
    ``pooling_convention='full'``.
*pad*
    Lengthen the input with ``Pad``.

If the size is not known and the padding depends on it, a pooling runs on the reversed axis if the
padding does not depend on the size there. SAME on the reversed axis is SAME_LOWER, which pads both ends
of 3x3/2 by 1. A depthwise convolution does the same and reverses its small weight. Other convolutions
would spend more time reversing the weight than they save. They, and windows that reversing does not
help, are padded by an amount that is computed in the graph.
"""

from functools import lru_cache
from math import prod
from typing import Any, Callable, NamedTuple, Optional, Tuple, cast

from ..arguments import Ints, Pairs
from ..geometry import Window, ceil_div
from .steps import CutToSize, Pad, PadBySize, Slice

Sizes = Tuple[Optional[int], ...]
Windows = Tuple[Window, ...]

#: All operators that these plans may use. Each has a CPU and a GPU kernel.
OPERATORS = frozenset(
    ["Convolution", "Deconvolution", "Pooling", "Pad", "Reshape", "slice", "slice_axis", "slice_like"]
    + ["transpose", "Concat", "_contrib_arange_like", "broadcast_add", "broadcast_div", "ones_like"]
    + ["reverse", "BlockGrad"]
)

#: Largest stride of a graph that computes the padding, which has an operator for each phase.
MOST_PHASES = 64


class Operator(NamedTuple):
    """An operator of MXNet: its windows and its own padding of both ends of each axis."""

    windows: Windows
    pad: Ints
    full: bool = False  #: whether a pooling rounds the number of windows up
    adj: Ints = ()  #: elements that a transposed convolution adds at the end


class Plan(NamedTuple):
    """An operator and the steps before and after it."""

    operator: Operator
    before: Tuple[Any, ...] = ()
    after: Tuple[Any, ...] = ()
    cut: Optional[CutToSize] = None  #: last step

    @property
    def reversed(self) -> Ints:
        """Return the spatial axes that are reversed before the operator."""
        first = self.before[:1]
        cuts = first[0].cuts if first and isinstance(first[0], Slice) else ()
        return tuple(axis for axis, (_, _, reverse) in enumerate(cuts) if reverse)

    @property
    def pads(self) -> bool:
        """Return whether a step lengthens the input before the operator."""
        return any(hasattr(step, "amounts") for step in self.before)

    def words(self) -> Tuple[str, ...]:
        """Describe in words what is done to each axis."""
        own = tuple(f"pads both ends by {n}" if n else "" for n in self.operator.pad)
        ends = [*self.after, *([self.cut] if self.cut else [])]
        said = [step.words() for step in self.before] + [own] + [step.words() for step in ends]
        return tuple("; ".join(filter(None, axis)) or "needs no padding" for axis in zip(*said))

    def apply(self, F: Any, x: Any, layout: str, operate: Callable[[Any, Operator], Any]) -> Any:
        """Apply the plan to data; ``operate`` applies the operator."""
        data = x
        for step in self.before:
            x = step.apply(F, x, layout)
        x = operate(x, self.operator)
        for step in self.after:
            x = step.apply(F, x, layout)
        return self.cut.apply(F, x, layout, data) if self.cut else x


@lru_cache(maxsize=4096)  # eager calls require the plan for the size of each input
def plan_convolution(
    windows: Windows,
    sizes: Sizes,
    channels: Optional[Tuple[int, int]] = None,
    depthwise: bool = False,
) -> Plan:
    """Lower the windows of a convolution.

    Parameters
    ----------
    windows : tuple of Window
        One for each axis.
    sizes : tuple of int or None
        The input sizes, None where the graph must serve every size.
    channels : (int, int), optional
        Channels of the input and of the output. If the sizes are known too, the plan copies the smaller
        of the two arrays.
    depthwise : bool
        Whether each channel has its own kernel. The weight is small then, and cheap to reverse.
    """
    paddings = tuple(map(Window.at, windows, sizes))
    if None in paddings:
        mirrored, seen, reverse = _reversed(windows, sizes)
        if depthwise and len(windows) < 3 and None not in seen:
            cuts = tuple(map(crop_axis, mirrored, sizes, seen))
            if None not in cuts:
                return _crop(windows, cuts, reverse)
        return _pad_by_size(windows, paddings)
    # oneDNN's 3-D convolutions with padded and strided depth give wrong weight gradients at some sizes,
    # for example 3x3x3/2 with 16 channels at depth 3. The input is padded first there.
    known = cast(Pairs, paddings)
    deep = len(windows) == 3 and windows[0].stride > 1 and any(known[0])
    cuts = tuple(map(crop_axis, windows, sizes, known))
    if not deep:
        cropped = _crop(windows, cuts) if None not in cuts else _cut_to_size(windows, sizes, known)
        if cropped and not (cropped.after and _input_is_smaller(windows, sizes, known, channels)):
            return cropped
    return pad_first(windows, known, keep=(0,) if deep else ())


@lru_cache(maxsize=4096)  # as for plan_convolution
def plan_pooling(windows: Windows, sizes: Sizes, kind: str, whole: bool) -> Plan:
    """Lower the windows of a pooling.

    Parameters
    ----------
    windows, sizes
        As for :func:`plan_convolution`.
    kind : {'max', 'avg', 'sum'}
    whole : bool
        Whether an average divides by the whole window, the padding included.
    """
    paddings = tuple(map(Window.at, windows, sizes))
    mirrored, seen, reverse = _reversed(windows, sizes)
    if None in seen:
        return _pad_by_size(windows, paddings, edge=kind == "max")
    cropped = _pool(mirrored, tuple(map(crop_axis, mirrored, sizes, seen)), False, reverse)
    rounded = _pool(mirrored, tuple(map(_round_axis, mirrored, sizes, seen)), True, reverse)
    # An average prefers the crop: oneDNN does not support averages that round up, which makes them 2 to
    # 4 times slower. Rounding up also divides by less than the whole window at the end.
    ways = [cropped, rounded] if kind == "avg" else [rounded, cropped]
    if kind == "avg" and whole:
        ways.remove(rounded)
    found = next((plan for plan in ways if plan is not None), None)
    rest: Any = _pad_by_size if any(reverse) else pad_first
    return found or rest(windows, paddings, edge=kind == "max")


def plan_deconvolution(windows: Windows, cuts: Pairs, adjs: Ints) -> Plan:
    """Lower a transposed convolution that cuts off ``(before, after)`` and adds ``adj``."""
    pad, adj, rest = [], [], []
    for window, (before, after), extra in zip(windows, cuts, adjs):
        surplus = before - after
        if 0 <= surplus < window.stride - extra:
            pad.append(before)
            adj.append(extra + surplus)
            rest.append((0, 0, False))
        else:
            own = min(before, after)
            pad.append(own)
            adj.append(extra)
            rest.append((before - own, after - own, False))
    return Plan(Operator(windows, tuple(pad), adj=tuple(adj)), after=_slice(rest))


def pad_first(
    windows: Windows, paddings: Pairs, edge: bool = False, step: Any = Pad, keep: Ints = ()
) -> Plan:
    """Return the plan that lengthens the input first.

    The operator itself adds what both ends share, except on the axes in ``keep``.
    """
    own = tuple(0 if axis in keep else min(pair) for axis, pair in enumerate(paddings))
    amounts = tuple((before - p, after - p) for p, (before, after) in zip(own, paddings))
    return Plan(Operator(windows, own), (step(amounts, edge),))


def crop_axis(window: Window, size: Optional[int], padding: Tuple[int, int]) -> Optional[Tuple]:
    """Return ``(own, lead, trail)`` of a crop, or None if ``trail`` depends on an unknown size."""
    own, lead = _own_and_lead(window, padding)
    if size is not None:
        return own, lead, window.outputs(size, (own, own)) - lead - window.outputs(size, padding)
    before, after = padding
    return (own, lead, own - after) if window.stride == 1 or before == after else None


def _own_and_lead(window, padding):
    """Return the padding of both ends of a crop, and the number of outputs that it drops in front."""
    before, after = padding
    lead = max(ceil_div(after - before, window.stride), 0)
    return before + lead * window.stride, lead


def _cut_to_size(windows, sizes, paddings):
    """Return the crop that drops the last outputs by the size when the graph runs, or None."""
    cuts, firsts = [], []
    for window, size, padding in zip(windows, sizes, paddings):
        cut, first = crop_axis(window, size, padding), None
        if cut is None:
            # floor((n + p - k) / s) + 1 = ceil((n - first) / s) with first = k - 1 - p
            cut, first = (*_own_and_lead(window, padding), 0), window.span - 1 - sum(padding)
            if first < 0:
                return None
        cuts.append(cut)
        firsts.append(first)
    cut = CutToSize(tuple(firsts), tuple(window.stride for window in windows))
    return _crop(windows, cuts)._replace(cut=cut)


def _round_axis(window, size, padding):
    """Return ``(own, 0, 0)`` if ``pooling_convention='full'`` gives the windows, else None.

    At stride 1, where the two conventions are the same, return the crop.
    """
    (before, after), stride = padding, window.stride
    if stride == 1:
        return crop_axis(window, size, padding)
    if size is None:
        # ceil((n + 2 before - k) / s) = floor((n + before + after - k) / s) for every n
        fits = after - before == stride - 1
    else:
        reach = size + 2 * before - window.span
        fits = reach >= 0 and ceil_div(reach, stride) + 1 == window.outputs(size, padding)
    return (before, 0, 0) if fits else None


def _reversed(windows, sizes):
    """Reverse the axes whose padding depends on the size; return windows, paddings and flags."""
    reverse = tuple(window.at(size) is None for window, size in zip(windows, sizes))
    mirrored = tuple(w.mirrored() if r else w for w, r in zip(windows, reverse))
    # If there are gaps between the windows, those counted from the end are at other places.
    seen = tuple(
        None if r and w.span < w.stride else w.at(n) for w, n, r in zip(mirrored, sizes, reverse)
    )
    return mirrored, seen, reverse


def _crop(windows, cuts, reverse=None):
    own, lead, trail = zip(*cuts)
    reverse = reverse or (False,) * len(own)
    before = _slice((0, 0, r) for r in reverse)
    return Plan(Operator(windows, own), before, _slice(zip(lead, trail, reverse)))


def _pool(windows, cuts, full, reverse):
    # MXNet's pooling requires padding of less than the kernel.
    if None in cuts or any(own >= window.span for window, (own, _, _) in zip(windows, cuts)):
        return None
    plan = _crop(windows, cuts, reverse)
    full = full and any(window.stride > 1 for window in windows)
    return plan._replace(operator=plan.operator._replace(full=full))


def _pad_by_size(windows, paddings, edge=False):
    for window, padding in zip(windows, paddings):
        if padding is None and window.stride > MOST_PHASES:
            raise ValueError(
                f"stride={window.stride} with a window of {window.span} elements has a padding that "
                f"depends on the input size, which a graph for every size supports only up to a stride "
                f"of {MOST_PHASES}: fix the size with gluon_same.specialize or in_size"
            )
    by_size = tuple(w if p is None else None for w, p in zip(windows, paddings))
    amounts = tuple(pair or (0, 0) for pair in paddings)
    return Plan(Operator(windows, (0,) * len(windows)), (PadBySize(by_size, amounts, edge),))


def _input_is_smaller(windows, sizes, paddings, channels):
    # ``Pad`` takes one operator for two or three axes, and more for one axis.
    if channels is None or None in sizes or len(sizes) == 1:
        return False
    padded = prod(n + sum(pair) for n, pair in zip(sizes, paddings))
    return channels[0] * padded < channels[1] * prod(map(Window.outputs, windows, sizes, paddings))


def _slice(cuts):
    cuts = tuple(cuts)
    return (Slice(cuts),) if any(map(any, cuts)) else ()
