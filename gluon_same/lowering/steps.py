"""Plans, and the steps that they consist of. Both can be applied to data.

All operators of the steps have CPU and GPU kernels for every floating dtype.
"""

from typing import Any, Callable, NamedTuple, Optional, Tuple

from ..arguments import Ints, Pairs
from ..geometry import Window


class Operator(NamedTuple):
    """The arguments of MXNet's operator that a plan chooses."""

    pad: Ints  #: padding of both ends of each axis
    full: bool = False  #: whether a pooling rounds the number of windows up
    adj: Ints = ()  #: elements that a transposed convolution adds at the end


class Plan(NamedTuple):
    """An operator, and the steps before and after it."""

    before: Tuple[Any, ...]
    operator: Operator
    after: Tuple[Any, ...] = ()

    @property
    def reversed(self) -> Ints:
        """Return the spatial axes that are reversed before the operator."""
        cuts = [cut for step in self.before if isinstance(step, Slice) for cut in enumerate(step.cuts)]
        return tuple(axis for axis, (_, _, reverse) in cuts if reverse)

    @property
    def pads(self) -> bool:
        """Return whether a step lengthens the input before the operator."""
        return any(hasattr(step, "amounts") for step in self.before)

    def apply(self, F: Any, x: Any, layout: str, operate: Callable[[Any, Operator], Any]) -> Any:
        """Apply the plan to data; ``operate`` applies the operator."""
        data = x
        for step in self.before:
            x = step.apply(F, x, layout)
        x = operate(x, self.operator)
        for step in self.after:
            x = step.apply(F, x, layout, data)
        return x


class Slice(NamedTuple):
    """Drop elements at the ends of the axes and reverse some axes, with one ``slice``."""

    cuts: Tuple[Tuple[int, int, bool], ...]  #: (leading, trailing, reverse) for each axis

    def apply(self, F: Any, x: Any, layout: str, data: Any = None) -> Any:
        cuts = iter(self.cuts)
        bounds = [(None, None, 1) if a in "NC" else _bounds(*next(cuts)) for a in layout]
        begin, end, step = zip(*bounds)
        steps = {} if set(step) == {1} else {"step": step}
        return F.slice(x, begin=begin, end=end, **steps)


class CutToSize(NamedTuple):
    """Drop the last outputs on axes whose number of outputs depends on the size when the graph runs."""

    firsts: Tuple[Optional[int], ...]  #: from here, each stride of the input counts for an output
    strides: Tuple[int, ...]

    def apply(self, F: Any, x: Any, layout: str, data: Any) -> Any:
        """Return the outputs ``x`` without those that the input ``data`` has no elements for."""
        channels, places = layout.index("C"), [i for i, axis in enumerate(layout) if axis not in "NC"]
        begin, step, axes = [0] * len(layout), [1] * len(layout), []
        for place, first, stride in zip(places, self.firsts, self.strides):
            if first is not None:
                begin[place], step[place] = first, stride
                axes.append(place)
        like = one_channel(F, F.BlockGrad(data), channels)
        like = F.slice(like, begin=begin, end=[None] * len(layout), step=step)
        return F.slice_like(x, like, axes=axes)


class Pad(NamedTuple):
    """Lengthen the axes with ``Pad``, by zeros or by copies of the outermost elements.

    Max pooling uses copies. Every window that reaches beyond an end also contains the outermost element,
    so the maximum stays the same, and no fill value per dtype is required.
    """

    amounts: Pairs
    edge: bool = False

    def apply(self, F: Any, x: Any, layout: str) -> Any:
        return on_planes(F, x, layout, self.amounts, (0, 0), self._pad)

    def _pad(self, F, x, amounts):
        width = (0, 0, 0, 0, *(n for pair in amounts for n in pair))
        return F.Pad(x, mode="edge" if self.edge else "constant", pad_width=width)


class PadBySize(NamedTuple):
    """Lengthen axes by the SAME padding of the size that they have when the graph runs.

    MXNet's operators can cut the end of an axis to a size that is computed in the graph, but cannot add
    a computed number of elements at the start, and SAME's ``before`` both rises and falls as the size
    grows. Therefore this step reverses the axis, pads it by the largest amount, cuts it to the right
    length, and reverses it again.
    """

    windows: Tuple[Optional[Window], ...]  #: None for an axis that is padded by ``amounts``
    amounts: Pairs
    edge: bool = False

    def apply(self, F: Any, x: Any, layout: str) -> Any:
        return on_planes(F, x, layout, list(zip(self.windows, self.amounts)), (None, (0, 0)), self._pad)

    def _pad(self, F, x, axes):
        reverse = Slice(tuple((0, 0, window is not None) for window, _ in axes))
        layout = "NCDHW"[: 2 + len(axes)]
        amounts = [pair if window is None else _generous(window) for window, pair in axes]
        x = Pad(tuple(amounts), self.edge)._pad(F, reverse.apply(F, x, layout), amounts)
        lines = [_line(F, x, len(layout), axis, window) for axis, (window, _) in enumerate(axes, 2)]
        like = lines[0]
        for line in lines[1:]:
            like = F.broadcast_add(like, line)
        moved = tuple(axis for axis, (window, _) in enumerate(axes, 2) if window is not None)
        return reverse.apply(F, F.slice_like(x, like, axes=moved), layout)


def _generous(window):
    """Return the largest paddings of a reversed axis, ``(front, tail)``, over all sizes."""
    front = window.at(1)[1]
    # Every phase of the stride must have an element, whatever the size.
    return front, max(window.at(1)[0], window.stride - 1 - front)


def _line(F, x, ndim, axis, window):
    """Return a tensor of the length that an axis must have, whose other axes have size 1.

    For a SAME window over ``n`` elements, the length is ``front + n + before``. Each element adds an
    amount that depends only on its phase, its position modulo the stride. The length is therefore the
    sum over the phases of that amount times the number of elements in the phase, which is the length of
    a ``slice`` with the stride.

    Only the length of ``arange_like`` is used. It has no gradient.
    """
    line = F.contrib.arange_like(x, axis=axis)
    if window is not None:
        stride, (front, tail) = window.stride, _generous(window)
        reach = [n + window.at(n)[0] for n in range(1, stride + 1)]
        growth = [reach[0] + stride - reach[-1], *(b - a for a, b in zip(reach, reach[1:]))]
        # Every input has an element of the first phase. Other phases may have none, so they are counted
        # one too high, and the constant corrects this.
        begins = [front + tail, *(front + tail + phase - stride for phase in range(1, stride))]
        parts = []
        for begin, count in zip(begins, growth):
            if count:
                parts += [F.slice(line, begin=(begin,), end=(None,), step=(stride,))] * count
        constant = front + reach[0] - stride
        if constant > 0:
            parts.append(F.slice_axis(line, axis=0, begin=0, end=constant))
        line = F.concat(*parts, dim=0)
        if constant < 0:
            line = F.slice_axis(line, axis=0, begin=0, end=constant)
    return F.reshape(line, shape=(1,) * axis + (-1,) + (1,) * (ndim - axis - 1))


def one_channel(F: Any, x: Any, axis: int) -> Any:
    """Return the first channel of the first sample.

    Uses ``slice_axis`` because a ``slice`` inside oneDNN's blocks of channels can crash the process.
    """
    x = F.slice_axis(x, axis=axis, begin=0, end=1)
    return F.slice_axis(x, axis=0, begin=0, end=1)


def on_planes(F: Any, x: Any, layout: str, axes: Any, neutral: Any, change: Callable) -> Any:
    """Return ``change(F, x, axes)``, whose operators require channels first and 2 or 3 spatial axes."""
    if layout.endswith("C"):
        last = len(layout) - 1
        x = F.transpose(x, axes=(0, last, *range(1, last)))
        x = on_planes(F, x, "NC" + layout[1:-1], axes, neutral, change)
        return F.transpose(x, axes=(0, *range(2, last + 1), 1))
    if len(axes) > 1:
        return change(F, x, axes)
    # Unlike MXNet's reshape, ONNX has both operators.
    return F.squeeze(change(F, F.expand_dims(x, axis=2), [neutral, *axes]), axis=2)


def _bounds(lead, trail, reverse):
    if reverse:
        return (-trail - 1 if trail else None), (lead - 1 if lead else None), -1
    return (lead or None), (-trail if trail else None), 1
