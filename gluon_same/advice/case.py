"""The question: one layer, its padding, and the size of its input."""

from typing import Any, NamedTuple, Sequence, Tuple, Union

from .. import geometry
from ..arguments import Ints, Pairs
from ..geometry import Window

OPS = ("conv", "pool", "transpose")
MODES = (*geometry.MODES, "causal")
AXES = {1: ("width",), 2: ("height", "width"), 3: ("depth", "height", "width")}


class Case(NamedTuple):
    """One layer and the size of its input: a question to ``python -m gluon_same pad``.

    ``mode`` is one of ``MODES``, or a pair ``(before, after)`` for each axis. Averages divide by the
    elements that exist, and never count padding.
    """

    sizes: Ints  # one entry for each axis, as in the next three
    kernel: Ints
    stride: Ints
    dilation: Ints
    mode: Union[str, Pairs] = "same"
    op: str = "conv"
    average: bool = False  # for a pooling
    channels: int = 64  # of the input
    filters: int = 64  # channels of the output
    batch: int = 1  # samples of a measurement
    groups: int = 1  # of a convolution

    @property
    def ndim(self) -> int:
        return len(self.sizes)

    @property
    def spans(self) -> Ints:
        return tuple(map(geometry.effective_kernel, self.kernel, self.dilation))

    @property
    def windows(self) -> Tuple[Window, ...]:
        """One window for each axis, padded by the mode if the padding depends on the size."""
        paddings: Sequence[Any] = self.pads
        if self.op == "transpose":
            paddings = [(0, 0)] * self.ndim
        elif self.mode in ("same", "same_lower"):
            paddings = [self.mode] * self.ndim
        return tuple(map(Window, self.spans, self.stride, paddings))

    @property
    def pads(self) -> Pairs:
        """(before, after) for each axis: the padding, or what a transposed convolution cuts off."""
        if not isinstance(self.mode, str):
            return self.mode
        if self.mode == "causal":
            return tuple((span - 1, 0) for span in self.spans)
        if self.op == "transpose":
            return tuple(pads for pads, _ in self._transposed())
        window = zip(self.sizes, self.kernel, self.stride, self.dilation)
        return tuple(geometry.padding_of(self.mode, *axis) for axis in window)

    @property
    def extra(self) -> Ints:
        """Elements that a transposed convolution adds at the end of each axis."""
        if self.op != "transpose" or not isinstance(self.mode, str):
            return (0,) * self.ndim
        return tuple(e for _, e in self._transposed())

    @property
    def out(self) -> Ints:
        """Output size of each axis."""
        if self.op == "transpose":
            parts = zip(self.sizes, self.stride, self.spans, self.pads, self.extra)
            return tuple((n - 1) * s + span - sum(cut) + e for n, s, span, cut, e in parts)
        return self.out_padded_by(self.pads)

    def out_padded_by(self, pads: Any) -> Ints:
        """Return the output sizes with another padding; raise ValueError if a window does not fit."""
        window = zip(self.sizes, self.kernel, self.stride, self.dilation, pads)
        return tuple(geometry.output_size(*axis) for axis in window)

    def check(self) -> None:
        """Raise ValueError if no layer can compute the case."""
        for name, most in (("channels", self.channels), ("filters", self.filters)):
            if most % self.groups:
                raise ValueError(f"{name}={most} is not a multiple of groups={self.groups}")
        if self.mode == "causal" and (self.ndim > 1 or self.op != "conv"):
            raise ValueError("'causal' is for a convolution over one axis: give one size, and op 'conv'")
        if self.op == "pool" and any(max(pair) >= k for pair, k in zip(self.pads, self.kernel)):
            raise ValueError(
                f"a padding of {compact(self.pads)} contains whole windows of {times(self.kernel)}: "
                "give less than the kernel"
            )
        if min(self.out) < 1:
            raise ValueError(
                f"a padding of {compact(self.pads)} cuts off the whole output of the transposed "
                "convolution: give less"
            )

    def _transposed(self):
        if self.mode == "valid":
            return [((0, 0), 0)] * self.ndim
        window = zip(self.kernel, self.stride, self.dilation)
        return [geometry.transposed_padding(*axis, str(self.mode)) for axis in window]


class Advice(NamedTuple):
    """How to give one framework the windows of a case.

    ``code`` is one expression, a layer or a call on ``x``; or statements, the last of which sets
    ``y``. It is empty if the framework has no such layer. ``arguments`` are those of its padding.
    """

    framework: str
    code: Tuple[str, ...]
    note: str
    arguments: Any


def times(sizes: Any) -> str:
    """Join sizes, as in ``13x13``."""
    return "x".join(map(str, sizes))


def compact(values: Any) -> str:
    """Write an argument: one value if all axes agree, else a tuple."""
    return repr(values[0] if len(set(values)) == 1 else tuple(values))


def called(name: str, *first: Any, **named: Any) -> str:
    """Write a call."""
    return f"{name}({', '.join([*map(str, first), *(f'{k}={v}' for k, v in named.items())])})"


def symmetric(case: Case, most: Any, drops_last: bool = False) -> Any:
    """Return a symmetric padding that gives the windows of a convolution or pooling.

    A pooling only has to cover the same elements of the axis: how far a window extends beyond an end
    does not change its maximum, or the mean of the elements that exist.

    Parameters
    ----------
    case : Case
    most : tuple of int
        The largest padding that the framework's pooling accepts, for each axis.
    drops_last : bool
        Whether the framework drops a last window that starts beyond the input, if it rounds up.

    Returns
    -------
    (tuple of int, bool) or None
        The padding, and whether the number of windows is rounded up (``ceil_mode``).
    """
    for up in (False, True) if case.op == "pool" else (False,):
        axes = zip(case.sizes, case.windows, case.pads, case.out)
        pools = case.op == "pool"
        found = [_amount(axis, n, pools, up, drops_last) for axis, n in zip(axes, most)]
        if None not in found:
            return tuple(found), up
    return None


def _amount(axis, most, pools, up, drops_last):
    size, window, (before, _), out = axis
    span, stride = window.span, window.stride
    amounts = [before, *(n for n in range(most + 1) if n != before)] if pools else [before]
    for amount in amounts:
        reach = size + 2 * amount - span
        if reach < 0 or (pools and amount > most):
            continue
        count = (geometry.ceil_div(reach, stride) if up else reach // stride) + 1
        if up and drops_last and (count - 1) * stride >= size + amount:
            count -= 1
        if count == out and _covers_alike(size, window, before, amount, out):
            return amount
    return None


def _covers_alike(size, window, before, amount, out):
    def covered(start):
        return max(start, 0), min(start + window.span, size)

    starts = range(0, out * window.stride, window.stride)
    return before == amount or all(covered(i - before) == covered(i - amount) for i in starts)
