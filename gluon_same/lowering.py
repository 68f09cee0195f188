"""Which MXNet operators serve a window: the one place that decides, in plain integers.

(Poolings of large planes have a place of their own, :mod:`.planes`.)

MXNet pads both ends of an axis alike. Windows padded by ``(before, after)`` can still be had:

*crop*
    Pad both ends by ``own``, which is ``before`` modulo the stride and at least ``after``, and drop
    the first ``(own - before) / stride`` outputs and what is left over at the end. With stride 1 and
    an even kernel that is ``own = k // 2`` and a slice of the leading element.
*extend*
    Pad both ends by the smaller of the two and lengthen the input at the other end: by ``Pad``, or by
    joining it to zeros.
*full*
    For pooling: pad both ends by ``before`` and let ``pooling_convention='full'`` round up.

When the input size is not known and ``before`` depends on it, the *input* is put right first:

*flip*
    Seen from the other end of the axis the padding may be constant: SAME is SAME_LOWER mirrored.
    Pooling then runs on the reversed input. (Reversing a convolution would reverse its weight, too,
    which costs more than it gains in deep layers.)
*shift*
    The input is padded by the size that the graph sees when it runs; see :mod:`.resize`.
*move*
    A depthwise convolution pads the input, by whatever its size; see :mod:`.moving`.
"""

from functools import lru_cache
from math import prod
from typing import NamedTuple, Optional, Tuple

from . import costs, moving, planes
from .arguments import Window
from .geometry import ceil_div

Sizes = Tuple[Optional[int], ...]


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
    moves: Tuple[moving.Move, ...] = ()
    padded: bool = False  # lengthened by one operator, ``Pad``, and not by joining

    @property
    def extends(self) -> bool:
        return any(self.shift) or any(axis.extended for axis in self.axes)


class DeconvolutionAxis(NamedTuple):
    own: int
    adj: int
    lead: int = 0
    trail: int = 0


@lru_cache(maxsize=4096)
def plan_convolution(
    windows: Tuple[Window, ...],
    sizes: Sizes,
    in_channels: Optional[int],
    channels: int,
    groups: int = 1,
    quick: bool = False,
    batch: Optional[int] = None,
    trained: bool = True,
) -> Plan:
    """Lower the windows of a convolution.

    Parameters
    ----------
    windows : tuple of Window
        One for each axis.
    sizes : tuple of int or None
        The input sizes, None where the graph must serve every size.
    in_channels : int or None
        Channels of the input, None if they are not known.
    channels, groups : int
        Channels of the output, and the groups that they are convolved in.
    quick : bool
        Whether oneDNN serves the data: float32, channels first.
    batch : int or None
        Samples of the input, None if they are not known. They change what is cheapest, no number.
    trained : bool
        Whether gradients may be asked for.
    """
    paddings = [window.at(size) for window, size in zip(windows, sizes)]
    shift = tuple(w if p is None else None for w, p in zip(windows, paddings))
    paddings = [padding or (0, 0) for padding in paddings]
    crops = [_crop(*axis) for axis in zip(windows, sizes, paddings)]
    extends = [_extend(padding) for padding in paddings]
    axes = [e if c is None or c.cropped > 1 else c for c, e in zip(crops, extends)]
    plan = Plan(tuple(axes), shift)
    if in_channels and (any(shift) or axes != crops or any(axis.cropped for axis in axes)):
        crop = plan if axes == crops and not any(shift) else None
        extend = Plan(tuple(e if a.cropped else a for a, e in zip(axes, extends)), shift)
        moves = _moves(windows, sizes, in_channels) if quick else ()
        move = Plan(tuple(Axis(m.own) for m in moves), (None,) * len(moves), moves=moves)
        if None not in sizes:
            work = windows, sizes, paddings, in_channels, channels, groups, batch, trained
            plan = _cheapest(crop, extend, move, *work)
        elif crop is None or channels >= in_channels:
            # An input of few channels is small.
            plan = move if moves else extend._replace(padded=in_channels < planes.BLOCK)
    if len(windows) == 3 and windows[0].stride > 1 and any(paddings[0]):
        # oneDNN's 3-D convolutions give wrong gradients of the weight at some sizes, where they pad
        # the depth themselves and step over it: 3x3x3/2 of 16 channels at depth 3, for one.
        plan = plan._replace(axes=(Axis(0, *paddings[0]), *plan.axes[1:]))
    return plan


def _moves(windows, sizes, in_channels):
    """The moves of a convolution's input, none where they would cost more than copies do."""
    if not in_channels or in_channels % planes.BLOCK or len(windows) != 2:
        return ()
    moves = tuple(map(moving.plan, windows, sizes))
    return moves if prod(move.taps for move in moves) <= costs.MACS_PER_COPY else ()


def _cheapest(
    crop, extend, move, windows, sizes, paddings, in_channels, channels, groups, batch, trained
):
    elements = in_channels * prod(sizes)
    if move.moves:
        ways = {move: costs.move(elements, batch)}
    else:
        ends = sum((axis.front > 0) + (axis.tail > 0) for axis in extend.axes)
        ways = {
            extend._replace(padded=True): costs.pad(elements, batch),
            extend: costs.join(elements, ends, batch),
        }
    out = tuple(map(Window.outputs, windows, sizes, paddings))
    # A crop leaves plain memory, which a pooling that follows is slow at if it is large.
    if crop and 2 * prod(out) <= planes.QUICK:
        own = [axis.own for axis in crop.axes]
        depthwise = groups == in_channels
        if not (move.moves and trained and depthwise and costs.trains_slowly(windows, own)):
            computed = tuple(w.outputs(n, (p, p)) for w, n, p in zip(windows, sizes, own))
            macs = in_channels // groups * prod(window.taps for window in windows)
            ways[crop] = costs.crop(out, computed, channels, macs, batch)
    return min(ways, key=ways.get)


@lru_cache(maxsize=4096)
def plan_pooling(
    windows: Tuple[Window, ...], sizes: Sizes, average: bool, count_include_pad: bool
) -> Plan:
    """Lower the windows of a pooling.

    Parameters
    ----------
    windows, sizes
        As for :func:`plan_convolution`.
    average : bool
        Whether it is an average, and then whether that divides by the whole window.
    """
    paddings, shift, flip, seen = [], [], [], []
    for window, size in zip(windows, sizes):
        padding = window.at(size)
        mirrored = None if padding else _mirrored_padding(window)
        flip.append(mirrored is not None)
        shift.append(window if padding is None and mirrored is None else None)
        paddings.append(padding or mirrored or (0, 0))
        seen.append(window.mirrored() if mirrored else window)
    shift, flip = tuple(shift), tuple(flip)

    def lower(rule):
        return tuple(rule(*axis) for axis in zip(seen, sizes, paddings))

    crops, fulls = lower(_pooling_crop), lower(_full)
    plain = all(crop is not None and not crop.cropped for crop in crops)
    # 'full' makes an average of the whole window divide by less at the end, and takes other averages
    # off oneDNN where it rounds up, which is 2 to 4 times slower than a crop.
    if plain or (average and all(crops)):
        return Plan(crops, shift, flip)
    if all(fulls) and not (average and count_include_pad):
        return Plan(fulls, shift, flip, full=True)
    axes = tuple(crop or _extend(padding) for crop, padding in zip(crops, paddings))
    return Plan(axes, shift, flip)


@lru_cache(maxsize=4096)
def plan_deconvolution(
    strides: Tuple[int, ...], paddings: Tuple[Tuple[int, int], ...], adjs: Tuple[int, ...]
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


def _crop(window, size, padding):
    (before, after), stride = padding, window.stride
    lead = max(ceil_div(after - before, stride), 0)
    own = before + lead * stride
    if size is not None:
        trail = window.outputs(size, (own, own)) - lead - window.outputs(size, padding)
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
        fits = reach >= 0 and ceil_div(reach, stride) + 1 == window.outputs(size, padding)
    return Axis(before) if fits and before < window.span else None


def _extend(padding):
    own = min(padding)
    return Axis(own, front=padding[0] - own, tail=padding[1] - own)
