"""The rules that choose the operators for a window, in plain integers.

MXNet's operators pad both ends of an axis alike. The main rule, :func:`crop_axis`, computes windows that
are padded by ``(before, after)`` all the same: pad both ends by enough, and drop the extra outputs. For
stride 1 that is "pad by ``k // 2``, and drop the first output if the kernel is even". The other rules:

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

The rules depend on the window, on the input size if it is known, and then on the numbers of channels.
They do not depend on the machine, the batch size, the dtype or the use of the graph.
"""

from functools import lru_cache
from math import prod
from typing import Any, Optional, Sequence, Tuple, cast

from ..arguments import Ints, Pairs
from ..geometry import Window, ceil_div
from .steps import CutToSize, Operator, Pad, PadBySize, Plan, Slice

Sizes = Tuple[Optional[int], ...]
Windows = Tuple[Window, ...]

#: What a crop does to an axis: the padding of both ends, and the numbers of outputs to drop in front and
#: at the end.
Cut = Tuple[int, int, Optional[int]]

#: All operators that these plans may use. Each has a CPU and a GPU kernel.
OPERATORS = frozenset(
    ["Convolution", "Deconvolution", "Pooling", "Pad", "Reshape", "slice", "slice_axis", "slice_like"]
    + ["transpose", "Concat", "_contrib_arange_like", "broadcast_add", "broadcast_div", "ones_like"]
    + ["reverse", "_copy", "BlockGrad", "expand_dims", "squeeze"]
)

#: Largest stride of a graph that computes the padding, which has an operator for each phase.
MOST_PHASES = 64


def crop_axis(window: Window, size: Optional[int], padding: Tuple[int, int]) -> Cut:
    """Return how to crop an axis: ``(own, lead, trail)``.

    An operator that pads both ends by ``own`` has windows that start at ``-own``, ``-own + stride``, and
    so on. The one at ``-before`` is the window number ``lead`` if ``own = before + lead * stride``. The
    smallest such ``own`` of at least ``after`` also covers the end.

    ``trail`` is None if it depends on the size, and the size is not known.

    Examples
    --------
    >>> crop_axis(Window(4, 1, 'same'), None, (1, 2))  # pad by k // 2, drop the first
    (2, 1, 0)
    """
    before, after = padding
    lead = max(ceil_div(after - before, window.stride), 0)
    own = before + lead * window.stride
    if size is not None:
        return own, lead, window.outputs(size, (own, own)) - lead - window.outputs(size, padding)
    return own, lead, own - after if window.stride == 1 or before == after else None


@lru_cache(maxsize=4096)  # eager calls require the plan for the size of each input
def plan_convolution(
    windows: Windows, sizes: Sizes, channels: Optional[Tuple[int, int]] = None, depthwise: bool = False
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

    Raises
    ------
    ValueError
        If the input is smaller than a window.
    """
    paddings = _paddings(windows, sizes)
    if None in paddings:
        mirrored, seen, reverse = _reversed(windows, sizes)
        if depthwise and len(windows) < 3 and None not in seen:
            cuts = tuple(map(crop_axis, mirrored, sizes, seen))
            if all(trail is not None for *_, trail in cuts):
                return _crop(cuts, reverse)
        return _pad_by_size(windows, paddings)
    # oneDNN's 3-D convolutions with padded and strided depth give wrong weight gradients at some sizes,
    # for example 3x3x3/2 with 16 channels at depth 3. The input is padded first there.
    known = cast(Pairs, paddings)
    deep = len(windows) == 3 and windows[0].stride > 1 and any(known[0])
    cropped = None if deep else _crop_to_size(windows, sizes, known)
    if cropped and not (cropped.after and _input_is_smaller(windows, sizes, known, channels)):
        return cropped
    return _pad_first(known, keep=(0,) if deep else ())


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

    Raises
    ------
    ValueError
        As :func:`plan_convolution`.
    """
    paddings, edge = _paddings(windows, sizes), kind == "max"
    mirrored, seen, reverse = _reversed(windows, sizes)
    if None in seen:
        return _pad_by_size(windows, paddings, edge)
    # An average prefers the crop: oneDNN does not support averages that round up, which makes them 2 to
    # 4 times slower. Rounding up also divides by less than the whole window at the end.
    rules = [crop_axis, _round_axis] if kind == "avg" else [_round_axis, crop_axis]
    if kind == "avg" and whole:
        rules.remove(_round_axis)
    for rule in rules:
        cuts = [rule(*axis) for axis in zip(mirrored, sizes, seen)]
        # MXNet's pooling requires padding of less than the kernel.
        if all(cut and None not in cut and cut[0] < w.span for cut, w in zip(cuts, windows)):
            full = rule is _round_axis and any(window.stride > 1 for window in windows)
            return _crop(cuts, reverse, full)
    if any(reverse):
        return _pad_by_size(windows, paddings, edge)
    return _pad_first(cast(Pairs, paddings), edge)


@lru_cache(maxsize=4096)  # as for plan_convolution
def plan_deconvolution(windows: Windows, adj: Ints, sizes: Sizes) -> Plan:
    """Lower a transposed convolution.

    Parameters
    ----------
    windows : tuple of Window
        One for each axis, whose padding is what to cut off the full result.
    adj : tuple of int
        Elements to add at the end of each axis. SAME words replace them.
    sizes : tuple of int or None
        The input sizes, if they are known. They do not change the plan.

    Raises
    ------
    ValueError
        If nothing is left.
    """
    axes = [(window, *window.cut(extra)) for window, extra in zip(windows, adj)]
    for size, (window, cut, extra) in zip(sizes, axes):
        if size is not None and (size - 1) * window.stride + window.span + extra <= sum(cut):
            raise ValueError(
                f"pad={tuple(cut for _, cut, _ in axes)} cuts off the whole result for data of spatial "
                f"size {sizes}: cut off less"
            )
    pad, adj, cuts = zip(*(_crop_transposed(*axis) for axis in axes))
    return Plan((), Operator(pad, adj=adj), _slice(cuts))


def _crop_transposed(window, cut, extra):
    """Return ``pad`` and ``adj`` of the operator for an axis, and the cuts of a slice after it."""
    (before, after), surplus = cut, cut[0] - cut[1]
    if 0 <= surplus < window.stride - extra:
        return before, extra + surplus, (0, 0, False)
    own = min(before, after)
    return own, extra, (before - own, after - own, False)


def _paddings(windows, sizes):
    """Return the padding of each axis, None where it depends on an unknown size."""
    for window, size in zip(windows, sizes):
        if size is not None and not isinstance(window.padding, str) and window.outputs(size) < 1:
            raise ValueError(  # SAME fits every size
                f"data of spatial size {sizes} padded by {window.padding} is smaller than a window "
                f"of {window.span} elements: use more padding, a smaller kernel or a larger input"
            )
    return tuple(map(Window.at, windows, sizes))


def _crop(cuts, reverse=None, full=False):
    own, lead, trail = zip(*cuts)
    reverse = reverse or (False,) * len(own)
    before = _slice((0, 0, r) for r in reverse)
    return Plan(before, Operator(own, full), _slice(zip(lead, trail, reverse)))


def _crop_to_size(windows, sizes, paddings):
    """Return the crop, which may drop the last outputs by the size when the graph runs, or None."""
    cuts, firsts = [], []
    crops = map(crop_axis, windows, sizes, paddings)
    for window, padding, (own, lead, trail) in zip(windows, paddings, crops):
        # floor((n + p - k) / s) + 1 = ceil((n - first) / s) with first = k - 1 - p
        first = None if trail is not None else window.span - 1 - sum(padding)
        if first is not None and first < 0:
            return None
        cuts.append((own, lead, trail or 0))
        firsts.append(first)
    plan = _crop(cuts)
    if firsts.count(None) == len(firsts):
        return plan
    cut = CutToSize(tuple(firsts), tuple(window.stride for window in windows))
    return plan._replace(after=(*plan.after, cut))


def _round_axis(window: Window, size: Optional[int], padding: Tuple[int, int]) -> Optional[Cut]:
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
    axes = zip(mirrored, sizes, reverse)
    seen = tuple(None if r and w.span < w.stride else w.at(n) for w, n, r in axes)
    return mirrored, seen, reverse


def _pad_first(paddings: Pairs, edge: bool = False, keep: Sequence[int] = ()) -> Plan:
    """Return the plan that lengthens the input first.

    The operator itself adds what both ends share, except on the axes in ``keep``.
    """
    own = tuple(0 if axis in keep else min(pair) for axis, pair in enumerate(paddings))
    amounts = tuple((before - p, after - p) for p, (before, after) in zip(own, paddings))
    return Plan((Pad(amounts, edge),), Operator(own))


def _pad_by_size(windows: Windows, paddings: Any, edge: bool = False) -> Plan:
    for window, padding in zip(windows, paddings):
        if padding is None and window.stride > MOST_PHASES:
            raise ValueError(
                f"stride={window.stride} with a window of {window.span} elements has a padding that "
                f"depends on the input size, which a graph for every size supports only up to a stride "
                f"of {MOST_PHASES}: fix the size with gluon_same.specialize or in_size"
            )
    by_size = tuple(w if p is None else None for w, p in zip(windows, paddings))
    amounts = tuple(pair or (0, 0) for pair in paddings)
    return Plan((PadBySize(by_size, amounts, edge),), Operator((0,) * len(windows)))


def _input_is_smaller(windows, sizes, paddings, channels):
    # ``Pad`` takes one operator for two or three axes, and more for one axis.
    if channels is None or None in sizes or len(sizes) == 1:
        return False
    padded = prod(n + sum(pair) for n, pair in zip(sizes, paddings))
    return channels[0] * padded < channels[1] * prod(map(Window.outputs, windows, sizes, paddings))


def _slice(cuts):
    cuts = tuple(cuts)
    return (Slice(cuts),) if any(map(any, cuts)) else ()
