"""Which MXNet operators serve a window: the one place that decides, in plain integers.

MXNet pads both ends of an axis alike. Windows padded by ``(before, after)`` can still be had:

*crop*
    Pad both ends by ``own``, which is ``before`` modulo the stride and at least ``after``, and drop
    the first ``(own - before) / stride`` outputs and what is left over at the end. With stride 1 and
    an even kernel that is ``own = k // 2`` and a slice of the leading element.
*extend*
    Pad both ends by the smaller of the two and lengthen the input at the other end.
*full*
    For pooling: pad both ends by ``before`` and let ``pooling_convention='full'`` round up.

When the input size is not known and ``before`` depends on it, the *input* is put right first:

*flip*
    Seen from the other end of the axis the padding may be constant: SAME is SAME_LOWER mirrored.
    Pooling then runs on the reversed input. (Reversing a convolution would reverse its weight, too,
    which costs more than it gains in deep layers.)
*shift*
    The input is padded by the size that the graph sees when it runs; see :mod:`.resize`.
"""

from typing import NamedTuple, Optional, Sequence, Tuple

from .arguments import Window
from .geometry import ceil_div

Sizes = Sequence[Optional[int]]

#: Outputs per input element from which lengthening the input is cheaper than cropping the output.
#: Measured (AVX-512, 2 cores), crop against extend, both over the plain operator: 3 > 32 channels
#: with stride 2, ratio 2.7: 2.4 against 1.3; 3 > 64 with 7x7/2, ratio 5: 1.36 against 1.11;
#: 64 > 128 with 3x3/2, ratio 0.5: 1.08 against 1.13.
OUTPUT_HEAVY = 2


class Axis(NamedTuple):
    """One axis of a lowered window: what the operator, the input and the output are asked."""

    own: int  # padding of the operator itself, at both ends
    front: int = 0  # elements to lengthen the input by
    tail: int = 0
    lead: int = 0  # outputs to drop
    trail: int = 0

    @property
    def extended(self) -> bool:
        return self.front + self.tail > 0

    @property
    def cropped(self) -> int:
        return self.lead + self.trail


class Plan(NamedTuple):
    """How a convolution or a pooling is served."""

    axes: Tuple[Axis, ...]
    shift: Tuple[Optional[Window], ...]  # windows whose input is put right by its size
    flip: Tuple[bool, ...] = ()
    full: bool = False

    @property
    def extends(self) -> bool:
        return any(self.shift) or any(axis.extended for axis in self.axes)


class DeconvolutionAxis(NamedTuple):
    own: int
    adj: int
    lead: int = 0
    trail: int = 0


def plan_convolution(windows: Sequence[Window], sizes: Sizes, output_heavy: bool = False) -> Plan:
    """Lower the windows of a convolution.

    Parameters
    ----------
    windows : sequence of Window
        One for each axis.
    sizes : sequence of int or None
        The input sizes, None where the graph must serve every size.
    output_heavy : bool
        Whether an output is so much larger than the input that cropping it costs more than
        lengthening the input (see ``OUTPUT_HEAVY``).
    """
    axes, shift = [], []
    for window, size in zip(windows, sizes):
        padding = window.at(size)
        shift.append(window if padding is None else None)
        axes.append(_convolution_axis(window, size, padding or (0, 0), output_heavy))
    return Plan(tuple(axes), tuple(shift))


def _convolution_axis(window, size, padding, output_heavy):
    crop = _crop(window, size, padding)
    if crop is None or crop.cropped > 1 or (crop.cropped and output_heavy):
        return _extend(padding)
    return crop


def plan_pooling(windows: Sequence[Window], sizes: Sizes, full_serves: bool) -> Plan:
    """Lower the windows of a pooling; ``full_serves`` says whether ``'full'`` keeps its numbers."""
    paddings, shift, flip, seen = [], [], [], []
    for window, size in zip(windows, sizes):
        padding = window.at(size)
        mirrored = None if padding else _mirrored_padding(window)
        flip.append(mirrored is not None)
        shift.append(window if padding is None and mirrored is None else None)
        paddings.append(padding or mirrored or (0, 0))
        seen.append(window.mirrored() if mirrored else window)

    def lower(rule):
        return [rule(*axis) for axis in zip(seen, sizes, paddings)]

    crops = lower(_pooling_crop)
    plain = all(crop is not None and not crop.cropped for crop in crops)
    fulls = lower(_full) if full_serves and not plain else [None]
    if all(fulls):
        return Plan(tuple(fulls), tuple(shift), tuple(flip), full=True)
    axes = [crop or _extend(padding) for crop, padding in zip(crops, paddings)]
    return Plan(tuple(axes), tuple(shift), tuple(flip))


def plan_deconvolution(
    strides: Sequence[int], paddings: Sequence[Tuple[int, int]], adjs: Sequence[int]
) -> Tuple[DeconvolutionAxis, ...]:
    """Lower a transposed convolution that cuts ``(before, after)`` off and adds ``adj``."""
    axes = []
    for stride, (before, after), adj in zip(strides, paddings, adjs):
        surplus = before - after
        if 0 <= surplus < stride - adj:
            axes.append(DeconvolutionAxis(before, adj + surplus))
        else:
            own = min(before, after)
            axes.append(DeconvolutionAxis(own, adj, before - own, after - own))
    return tuple(axes)


def kept(window: Window, size: int, padding: Tuple[int, int]) -> int:
    """Outputs along an axis of ``size`` elements."""
    return (size + sum(padding) - window.span) // window.stride + 1


def _crop(window, size, padding):
    (before, after), stride = padding, window.stride
    lead = max(ceil_div(after - before, stride), 0)
    own = before + lead * stride
    if size is not None:
        trail = kept(window, size, (own, own)) - lead - kept(window, size, padding)
    elif stride == 1 or before == after:
        trail = own - after
    else:
        return None  # what is left over at the end depends on the size
    return Axis(own, lead=lead, trail=trail)


def _pooling_crop(window, size, padding):
    # Pooling wants its padding below the kernel.
    crop = _crop(window, size, padding)
    return crop if crop and crop.own < window.span and crop.cropped <= 1 else None


def _mirrored_padding(window):
    # With gaps between the windows, those counted from one end are not those counted from the other.
    return window.mirrored().at(None) if window.span >= window.stride else None


def _full(window, size, padding):
    (before, after), stride = padding, window.stride
    if stride == 1:  # nothing to round: 'full' and 'valid' are one
        return _pooling_crop(window, size, padding)
    if size is None:
        # ceil((n + 2 before - k) / s) = floor((n + before + after - k) / s) for every n
        fits = after - before == stride - 1
    else:
        reach = size + 2 * before - window.span
        fits = reach >= 0 and ceil_div(reach, stride) + 1 == kept(window, size, padding)
    return Axis(before) if fits and before < window.span else None


def _extend(padding):
    own = min(padding)
    return Axis(own, front=padding[0] - own, tail=padding[1] - own)
