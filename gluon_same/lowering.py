"""Which MXNet operators serve a window: the one place that decides, in plain integers.

(Poolings of large planes have a place of their own, :mod:`.planes`.)

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
*move*
    A depthwise convolution pads the input, by whatever its size; see :mod:`.moving`.
"""

from functools import lru_cache
from math import prod
from typing import NamedTuple, Optional, Tuple

from . import moving, planes
from .arguments import Window
from .geometry import ceil_div

Sizes = Tuple[Optional[int], ...]

#: Multiplications and additions that take as long as copying one element.
MACS_PER_COPY = 64

#: Elements that are cropped in the time that one is moved, or joined to others along two axes.
MOVED, JOINED = 0.75, 2


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
    """
    paddings = [window.at(size) for window, size in zip(windows, sizes)]
    shift = tuple(w if p is None else None for w, p in zip(windows, paddings))
    paddings = [padding or (0, 0) for padding in paddings]
    crops = [_crop(*axis) for axis in zip(windows, sizes, paddings)]
    extends = [_extend(padding) for padding in paddings]
    axes = [e if c is None or c.cropped > 1 else c for c, e in zip(crops, extends)]
    crops_at = any(axis.cropped for axis in axes)
    work = windows, sizes, paddings, axes, in_channels, channels, groups
    if any(shift) or crops_at or axes != crops:
        moves = _moves(windows, sizes, in_channels) if quick else ()
        croppable = axes == crops and not any(shift)
        if moves and not (croppable and _cropping_is_cheaper(*work, than=MOVED)):
            return Plan(tuple(Axis(move.own) for move in moves), (None,) * len(moves), moves=moves)
    if in_channels and crops_at and not _cropping_is_cheaper(*work, than=JOINED):
        axes = [e if a.cropped else a for a, e in zip(axes, extends)]
    if len(windows) == 3 and windows[0].stride > 1 and any(paddings[0]):
        # oneDNN's 3-D convolutions give wrong gradients of the weight at some sizes, where they pad
        # the depth themselves and step over it: 3x3x3/2 of 16 channels at depth 3, for one.
        axes[0] = Axis(0, *paddings[0])
    return Plan(tuple(axes), shift)


def _moves(windows, sizes, in_channels):
    """The moves of a convolution's input, none where they would cost more than copies do."""
    if not in_channels or in_channels % planes.BLOCK or len(windows) != 2:
        return ()
    moves = tuple(map(moving.plan, windows, sizes))
    return moves if prod(move.taps for move in moves) <= MACS_PER_COPY else ()


def _cropping_is_cheaper(windows, sizes, paddings, axes, in_channels, channels, groups, than):
    """Whether to crop the output of a convolution rather than pad its input.

    Where the sizes are known, ``than`` says what padding an element costs, in elements cropped.
    """
    # Cropping copies the output, and leaves plain memory, which what follows copies once more if it is
    # a convolution, and pools by the slow kernel if it is large.
    if None in sizes:
        return channels < in_channels
    out = list(map(Window.outputs, windows, sizes, paddings))
    if 2 * prod(out) > planes.QUICK:
        return False
    # It computes windows that are not wanted, too. Measured over the plain operator (AVX-512, 2 cores,
    # batch 8), cropped, joined and moved: 2x2, 64 > 64 channels at 56: 1.16, 1.17, 1.10; 32 > 32 at 112
    # behind a convolution: 1.25, 1.14, 1.08; 256 > 256 at 13: 1.08, 1.14, 1.06; 3x3/2, 64 > 128 at 56:
    # 1.13, 1.19, 1.11; depthwise, 64 at 112: 1.16, 1.46, 1.36; 3 > 32 at 224: 2.5, 1.4, and 2.2 by a
    # slow kernel. At batch 1 moving takes 0.05 to 0.08 ms more than cropping the small ones: a graph
    # does not know its batch.
    surplus = channels * (prod(map(_computed, windows, sizes, axes)) - prod(out))
    macs = in_channels // groups * prod(window.taps for window in windows)
    cropped = channels * prod(out) + surplus * macs / MACS_PER_COPY
    return cropped <= than * in_channels * prod(sizes)


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


def _computed(window, size, axis):
    return window.outputs(size, (axis.own + axis.front, axis.own + axis.tail))


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
