"""Lengthening an input, by a known number of elements or by what its size asks for at run time.

All of it is written in operators that ship with MXNet and have CPU and GPU kernels, on views of four
axes: oneDNN joins those several times faster than ``Pad`` copies, and ``Crop`` takes no others.
"""

from typing import Any, Callable, Optional, Sequence, Tuple

from .arguments import Window
from .geometry import largest_before

#: Lengthens by zeros, or by copies of the outermost element. The latter serves max pooling: every
#: window that reaches beyond an end also holds the element at that end, so the maximum, and the
#: gradient with it, is the same, and no fill value has to be found for the dtype.
ZEROS, EDGE = "zeros", "edge"

#: A front of one element makes oneDNN take the input for one with its axes swapped, and copy it so,
#: five times slower; two or more cost nothing.
_LEAST_FRONT = 2

_ALL = (None,) * 4


def extend(
    F: Any,
    x: Any,
    amounts: Sequence[Tuple[int, int]],
    layout: str,
    fill: str = ZEROS,
    padded: bool = False,
):
    """Lengthen the spatial axes of ``x`` by ``(front, tail)`` elements each.

    Parameters
    ----------
    F : mx.nd or mx.sym
    x : NDArray or Symbol
        In ``layout``, with one to three spatial axes.
    amounts : sequence of (int, int)
    layout : str
    fill : {'zeros', 'edge'}
    padded : bool
        Whether to add zeros by ``Pad``, one operator that is slow at many elements, or to join.
    """

    def change(plane, pair):
        if not padded:
            return _join_all(F, plane, pair, fill)
        width = (0, 0, 0, 0, *(pair[0] or (0, 0)), *(pair[1] or (0, 0)))
        return F.Pad(plane, mode="constant", pad_width=width)

    return _on_planes(F, x, [a if any(a) else None for a in amounts], layout, change)


def shift(
    F: Any,
    x: Any,
    windows: Sequence[Optional[Window]],
    layout: str,
    fill: str = ZEROS,
    dtype: Optional[str] = None,
):
    """Pad ``x`` for SAME windows by the size it has when the graph runs.

    Where an axis has a window, the result holds ``before`` elements before the input's own, where
    ``before`` is the SAME padding of the size seen, and enough after them: a window of that span and
    stride, not padded at all, gives SAME.

    Parameters
    ----------
    F, x, layout, fill
        As for :func:`extend`.
    windows : sequence of Window or None
        One for each spatial axis, padded by a SAME word; None leaves the axis alone.
    dtype : str, optional
        The dtype of ``x`` where it is known. ``Crop``, the cheapest way, is for float32 alone.
    """
    pad = _pad_by_crop if dtype == "float32" else _pad_by_reversal

    def prepare(plane, pair):
        # With gaps between the windows the input may reach beyond the last one: cut that off first,
        # so that the windows never span less than the input.
        gaps = [w if w is not None and w.span < w.stride else None for w in pair]
        if any(gaps):
            plane = F.slice_like(plane, _reference(F, plane, gaps, _covered), axes=(2, 3))
        return pad(F, plane, pair, fill)

    return _on_planes(F, x, windows, layout, prepare)


def _pad_by_crop(F, plane, windows, fill):
    # With n elements, padded by (p, p + 1 + e), and T + e wanted, the centre starts at
    # (n + 2p + 1 - T) // 2 = p - (T - n) // 2, so that (T - n) // 2 = before are left. With p + e at
    # the end it leaves ceil((T - n) / 2), which is SAME_LOWER's. T is a multiple of the stride but for
    # span - stride. Let e fill that up: less than a stride more makes no further window.
    def amounts(window):
        front = max(_LEAST_FRONT, largest_before(window.span, mode=window.padding))
        return front, front + (window.padding == "same") + -window.span % window.stride

    def wanted(F, strip, axis, window):
        # Every stride-th element from where as many are left as there are strides in T + e.
        span, stride = window.span, window.stride
        begin = sum(amounts(window)) + stride - span - -span % stride
        return F.repeat(_every(F, strip, axis, stride, begin), repeats=stride, axis=axis)

    plane = _join_all(F, plane, [w and amounts(w) for w in windows], fill)
    return F.Crop(plane, _reference(F, plane, windows, wanted), center_crop=True, num_args=2)


def _pad_by_reversal(F, plane, windows, fill):
    # `before` elements at the front, by operators that add at will but cut only at the end: reverse,
    # lengthen, cut, and reverse.
    wanted = _reference(F, plane, windows, _padded)
    step = (1, 1) + tuple(1 if w is None else -1 for w in windows)

    def amounts(window):
        return _most_after(window), largest_before(window.span, mode=window.padding)

    plane = F.slice(plane, begin=_ALL, end=_ALL, step=step)
    plane = _join_all(F, plane, [w and amounts(w) for w in windows], fill)
    plane = F.slice_like(plane, wanted, axes=(2, 3))
    return F.slice(plane, begin=_ALL, end=_ALL, step=step)


def _most_after(window):
    # The most that SAME puts after an axis. What exceeds the need at one size is less than a stride
    # and so makes no further window.
    return window.span - 1 - largest_before(window.span, mode=window.padding)


def _reference(F, plane, windows, size_of):
    # A tensor (1, 1, h, w) that is wanted for its shape alone. Sizes are sums of the sizes of slices
    # of one row and one column, so they follow the input.
    channel = F.slice_axis(plane, axis=1, begin=0, end=1)  # as `one_channel` says
    strips = []
    for axis, window in zip((2, 3), windows):
        begin, end = zip(*[(None, None) if a == axis else (0, 1) for a in range(4)])
        strip = F.slice(channel, begin=begin, end=end)
        strips.append(strip if window is None else size_of(F, strip, axis, window))
    return F.BlockGrad(F.broadcast_add(*strips))


def one_channel(F: Any, x: Any, axis: int) -> Any:
    """The first channel of the first sample, for what is alike in all of them.

    By ``slice_axis``: a ``slice`` that cuts oneDNN's blocks of channels crashes the process.
    """
    x = F.slice_axis(x, axis=axis, begin=0, end=1)
    return F.slice_axis(x, axis=0, begin=0, end=1)


def _spanned(F, strip, axis, window):
    # (out - 1) * stride + span, from the first window's first element to the last one's last
    starts = _every(F, strip, axis, window.stride)
    strip = F.repeat(starts, repeats=window.stride, axis=axis)
    return _grow(F, strip, axis, window.span - window.stride)


def _padded(F, strip, axis, window):
    # n + before + most_after, with n + before = n + (T - n) // 2 = (n + T) // 2 for T spanned
    both = F.concat(strip, _spanned(F, strip, axis, window), dim=axis)
    halved = _every(F, both, axis, 2, begin=1 if window.padding == "same" else 0)
    return _grow(F, halved, axis, _most_after(window))


def _covered(F, strip, axis, window):
    # Elements up to the end of the last window, (out - 1) * stride + min(r, span), where the last
    # stride holds r elements: each of the first `span` phases as often as it occurs, and the other
    # phases as often as there are windows. A stride of padding keeps every phase in reach.
    span, stride = window.span, window.stride
    strip = _grow(F, strip, axis, stride)
    phases = [_every(F, strip, axis, stride, begin=p if p < span else 0) for p in range(stride)]
    return _grow(F, F.concat(*phases, dim=axis), axis, span - 2 * stride)


def _range(F, x, axis, begin, end):
    begins = tuple(begin if a == axis else None for a in range(4))
    return F.slice(x, begin=begins, end=tuple(end if a == axis else None for a in range(4)))


def _every(F, x, axis, step, begin=0):
    begins = tuple(begin if a == axis else None for a in range(4))
    steps = tuple(step if a == axis else 1 for a in range(4))
    return F.slice(x, begin=begins, end=_ALL, step=steps)


def _grow(F, x, axis, by):
    if by < 0:
        return F.slice_axis(x, axis=axis, begin=0, end=by)
    if by == 0:
        return x
    width = [n for a in range(4) for n in (0, by if a == axis else 0)]
    return F.Pad(x, mode="constant", pad_width=tuple(width))


def _join_all(F, plane, amounts, fill):
    for axis in (3, 2):
        if amounts[axis - 2] is not None:
            plane = _join(F, plane, axis, *amounts[axis - 2], fill)
    return plane


def _join(F, plane, axis, front, tail, fill):
    # By `slice`, which oneDNN serves: `slice_axis` takes 50 us more.
    first = _range(F, plane, axis, 0, 1)
    if fill == EDGE:
        last = _range(F, plane, axis, -1, None) if tail else None
    else:
        first = last = F.zeros_like(first)

    def block(edge, size):
        if size > 1:
            edge = F.broadcast_axis(edge, axis=axis, size=size)
        return [edge] if size else []

    return F.concat(*block(first, front), plane, *block(last, tail), dim=axis)


def _on_planes(F: Any, x: Any, specs: Sequence, layout: str, change: Callable):
    """Apply ``change(plane, (spec, spec))`` to views of ``x`` whose axes 2 and 3 are spatial."""
    if not any(specs):
        return x
    if layout.endswith("C"):
        ndim = len(layout)
        x = F.transpose(x, axes=(0, ndim - 1, *range(1, ndim - 1)))
        x = _on_planes(F, x, specs, "NC" + layout[1:-1], change)
        return F.transpose(x, axes=(0, *range(2, ndim), 1))
    if len(specs) == 1:
        plane = F.reshape(x, shape=(0, 0, 1, -1))
        return F.reshape(change(plane, (None, specs[0])), shape=(0, 0, -3))
    if len(specs) == 2:
        return change(x, tuple(specs))
    if any(specs[1:]):  # channels and depth as one axis
        plane = _settled(F, change(F.reshape(x, shape=(0, -3, 0, 0)), tuple(specs[1:])))
        x = F.reshape_like(plane, x, lhs_begin=1, lhs_end=2, rhs_begin=1, rhs_end=3)
    if specs[0]:  # height and width as one axis
        plane = _settled(F, change(F.reshape(x, shape=(0, 0, 0, -3)), (specs[0], None)))
        x = F.reshape_like(plane, x, lhs_begin=3, lhs_end=4, rhs_begin=3, rhs_end=5)
    return x


def _settled(F, plane):
    # oneDNN may join blocks of one element into memory with two axes swapped. `reshape` knows, and
    # writes it in order; `reshape_like` shares it as it is, and what follows reads wrong numbers.
    return F.reshape(plane, shape=(0, 0, 0, 0))
