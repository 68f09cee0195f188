"""Alternative plans for the same windows, which :mod:`gluon_same.tuning` measures.

Which plan is fastest depends on the machine and on the neighboring layers. All serve one input size and
float32 data with channels first, on a CPU.

oneDNN is the reason for the differences. It convolves and pools fastest in its blocked layout, which
keeps the channels of a position together in memory. Its convolutions return that layout, while a crop or
a ``Pad`` returns plain memory. oneDNN pools plain planes 10 to 100 times slower if they do not fit a
cache, or if the processor lacks AVX-512.
"""

from typing import Any, Callable, Dict, NamedTuple, Tuple, cast

from ..arguments import Ints, Pairs
from ..geometry import Window
from .plan import Operator, Plan, Windows, _crop, crop_axis, pad_first, plan_convolution, plan_pooling
from .steps import _on_planes

#: Size of oneDNN's blocks of channels, and the fewest channels of its kernel for plain planes.
BLOCK, FEWEST = 8, 4

#: Numbers of parts to split a plane into, as bands or as shorter planes.
PARTS = (4, 16)

_ALONE = Window(1, 1, (0, 0), 1)  # windows of one element


class Join(NamedTuple):
    """Lengthen axes with ``concat``, by zeros or by copies of the outermost elements."""

    amounts: Pairs
    edge: bool = False

    def apply(self, F: Any, x: Any, layout: str) -> Any:
        return _on_planes(F, x, layout, self.amounts, (0, 0), self._join)

    def _join(self, F, x, amounts):
        for axis, (front, tail) in reversed(list(enumerate(amounts, 2))):
            ends = [self._block(F, x, axis, 0, 1, front), self._block(F, x, axis, -1, None, tail)]
            if front or tail:
                x = F.concat(*ends[0], x, *ends[1], dim=axis)
        return x

    def _block(self, F, x, axis, begin, end, size):
        if not size:
            return []
        at = [(begin, end) if a == axis else (None, None) for a in range(4)]
        # ``slice`` runs in oneDNN, unlike ``slice_axis``.
        edge = F.slice(x, begin=tuple(b for b, _ in at), end=tuple(e for _, e in at))
        edge = edge if self.edge else F.zeros_like(edge)
        return [F.broadcast_axis(edge, axis=axis, size=size) if size > 1 else edge]


class Move(NamedTuple):
    """Lengthen two axes with a depthwise convolution whose kernels have a single 1 and else zeros.

    The position of the 1 moves the input within the symmetric padding. The result is in the blocked
    layout. An infinity or NaN also spreads to the other outputs whose windows contain it, because zero
    times either is NaN.
    """

    amounts: Pairs
    channels: int

    def apply(self, F: Any, x: Any, layout: str) -> Any:
        pad = tuple(map(max, self.amounts))
        taps = tuple(2 * p - sum(pair) + 1 for p, pair in zip(pad, self.amounts))
        places = [p - front for p, (front, _) in zip(pad, self.amounts)]
        around = [n for place, count in zip(places, taps) for n in (place, count - 1 - place)]
        weight = _ones(F, x, (self.channels, 1, 1, 1))
        weight = F.Pad(weight, mode="constant", pad_width=(0, 0, 0, 0, *around))
        return _depthwise(F, x, weight, self.channels, taps, pad)


class Together(NamedTuple):
    """Convert data to the blocked layout with a convolution that leaves its values unchanged."""

    channels: int

    def apply(self, F: Any, x: Any, layout: str) -> Any:
        weight = _ones(F, x, (self.channels, 1, 1, 1))
        return _depthwise(F, x, weight, self.channels, (1, 1), (0, 0))


class Folded(NamedTuple):
    """A plan for data that are reshaped before it and reshaped back after it."""

    shape: Ints
    plan: Plan
    back: Ints

    @property
    def pads(self) -> bool:
        return self.plan.pads

    def apply(self, F: Any, x: Any, layout: str, operate: Callable[[Any, Operator], Any]) -> Any:
        layout = "NCDHW"[: 2 + len(self.plan.operator.windows)]
        x = self.plan.apply(F, F.reshape(x, shape=self.shape), layout, operate)
        return F.reshape(x, shape=self.back)


class InTurn(NamedTuple):
    """Plans that run one after the other, each for some of the axes."""

    plans: Tuple[Folded, ...]

    @property
    def pads(self) -> bool:
        return any(plan.pads for plan in self.plans)

    def apply(self, F: Any, x: Any, layout: str, operate: Callable[[Any, Operator], Any]) -> Any:
        for plan in self.plans:
            x = plan.apply(F, x, layout, operate)
        return x


class Bands(NamedTuple):
    """Plans for parts of the first spatial axis, whose results are concatenated."""

    parts: Tuple[Tuple[int, int, Plan], ...]  #: (begin, end, plan)

    @property
    def pads(self) -> bool:
        return any(plan.pads for _, _, plan in self.parts)

    def apply(self, F: Any, x: Any, layout: str, operate: Callable[[Any, Operator], Any]) -> Any:
        bands = [(F.slice_axis(x, axis=2, begin=b, end=e), plan) for b, e, plan in self.parts]
        return F.concat(*[plan.apply(F, band, layout, operate) for band, plan in bands], dim=2)


def ways_to_convolve(windows: Windows, sizes: Ints, channels: Tuple[int, int]) -> Dict[str, Plan]:
    """Return the plans for a convolution by name; the first is that of :func:`.plan_convolution`.

    Parameters
    ----------
    windows, sizes, channels
        As for :func:`.plan_convolution`; all must be known.
    """
    paddings = cast(Pairs, tuple(map(Window.at, windows, sizes)))
    portable = plan_convolution(windows, sizes, channels)
    ways = {"portable": portable}
    if not portable.before and not portable.after:
        return ways
    if len(windows) < 3 or windows[0].stride == 1:
        ways["crop"] = _crop(windows, tuple(map(crop_axis, windows, sizes, paddings)))
        ways["pad"] = pad_first(windows, paddings)
    if len(windows) < 3:
        ways["join"] = pad_first(windows, paddings, step=Join)
    if len(windows) == 2 and channels[0] % BLOCK == 0:
        moved = pad_first(windows, paddings)
        ways["move"] = moved._replace(before=(Move(moved.before[0].amounts, channels[0]),))
    return _without_repeats(ways)


def ways_to_pool(windows: Windows, sizes: Ints, kind: str, whole: bool, channels: int) -> Dict[str, Any]:
    """Return the plans for a pooling by name; the first is that of :func:`.plan_pooling`.

    Parameters
    ----------
    windows, sizes, kind, whole
        As for :func:`.plan_pooling`; all must be known.
    channels : int
    """

    def plan(windows, sizes):
        return plan_pooling(tuple(windows), tuple(sizes), kind, whole)

    portable = plan(windows, sizes)
    ways = {"portable": portable}
    paddings = cast(Pairs, tuple(map(Window.at, windows, sizes)))
    if portable.pads:
        return ways
    if kind == "max" and len(windows) < 3 and any(before != after for before, after in paddings):
        ways["join"] = pad_first(windows, paddings, edge=True, step=Join)
    blocks = channels % BLOCK == 0
    if len(windows) == 1:
        line = plan((_ALONE, *windows), (1, *sizes))
        if blocks:
            ways["together"] = Folded((0, 0, 1, -1), _together(line, channels), (0, 0, -3))
        if channels % 2 == 0:  # two channels become the two rows of one plane
            rows = plan((_ALONE, *windows), (2, *sizes))
            ways["rows"] = Folded((0, -4, -1, 2, 0), rows, (0, -3, 0))
    if len(windows) == 3:
        ways["axes"] = _axis_by_axis(plan, windows, sizes, channels, False)
        if blocks:
            ways["axes together"] = _axis_by_axis(plan, windows, sizes, channels, True)
    if len(windows) == 2:
        if blocks:
            ways["together"] = _together(portable, channels)
        for parts in PARTS if channels >= FEWEST else ():
            if _folds(windows[0], sizes[0], parts):
                rows = plan(windows, (sizes[0] // parts, sizes[1]))
                shape = (0, channels * parts, sizes[0] // parts, sizes[1])
                back = (0, channels, *map(Window.outputs, windows, sizes))
                ways[f"rows {parts}"] = Folded(shape, rows, back)
            if windows[0].outputs(sizes[0]) >= 2 * parts:
                ways[f"bands {parts}"] = _bands(plan, windows, sizes, parts)
    if kind == "avg" and not whole:  # such an average must not count elements that a step adds
        ways = {name: way for name, way in ways.items() if not way.pads}
    return _without_repeats(ways)


def _together(plan, channels):
    return plan._replace(before=(Together(channels), *plan.before))


def _axis_by_axis(plan, windows, sizes, channels, together):
    # Maxima, sums, and averages of existing elements can be computed over one axis after the other.
    depth, (height, width) = sizes[0], map(Window.outputs, windows[1:], sizes[1:])
    plane = plan(windows[1:], sizes[1:])
    line = plan((windows[0], _ALONE), (depth, height * width))
    if together:
        plane, line = _together(plane, channels * depth), _together(line, channels)
    first = Folded((0, -3, 0, 0), plane, (0, channels, depth, -1))
    return InTurn((first, Folded((0, 0, 0, -1), line, (0, 0, 0, height, width))))


def _folds(window, size, parts):
    """Return whether no window crosses a border if an axis is cut into equal parts."""
    apart = window.at(size) == (0, 0) and window.span <= window.stride
    return apart and size % (parts * window.stride) == 0


def _bands(plan, windows, sizes, count):
    fixed = tuple(window._replace(padding=window.at(size)) for window, size in zip(windows, sizes))
    window, size, results, parts = fixed[0], sizes[0], windows[0].outputs(sizes[0]), []
    for i in range(count):
        first, last = results * i // count, results * (i + 1) // count - 1
        begin = first * window.stride - window.padding[0]
        end = last * window.stride - window.padding[0] + window.span
        inside = max(begin, 0), min(end, size)
        part = window._replace(padding=(inside[0] - begin, end - inside[1]))
        parts.append((*inside, plan((part, *fixed[1:]), (inside[1] - inside[0], *sizes[1:]))))
    return Bands(tuple(parts))


def _without_repeats(ways):
    """Return the first way of each distinct plan."""
    # Compare their ``repr`` because named tuples of different classes can be equal.
    first: Dict[str, str] = {}
    for name, plan in ways.items():
        first.setdefault(repr(plan), name)
    return {name: ways[name] for name in first.values()}


def _ones(F, x, shape):
    return F.ones(shape, ctx=x.context) if hasattr(x, "context") else F.ones(shape)


def _depthwise(F, x, weight, channels, kernel, pad):
    return F.Convolution(
        x, weight, kernel=kernel, pad=pad, num_filter=channels, num_group=channels, no_bias=True
    )
