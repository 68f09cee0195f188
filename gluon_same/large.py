"""Pooling of planes that oneDNN's quick kernel does not take, in views and pieces that it does.

Rules and reasons are in :mod:`.planes`. Where the channels of a position lie together already, none of
this is wanted: a graph shows what is before, but of an array nobody can tell.
"""

import json
from typing import Any, Callable, Optional, Sequence, Tuple

from . import planes
from .arguments import Window

Pool = Callable[..., Any]

_ALONE = Window(1, 1, (0, 0), 1)  # each element for itself


#: Operators whose result lies in memory as their first input does.
_KEEP_ORDER = {
    *("BatchNorm", "Activation", "LeakyReLU", "Pooling", "elemwise_add"),
    *("_npx_batch_norm", "_npx_activation", "_npx_leaky_relu"),
}


def follows_convolution(symbol: Any) -> bool:
    """Whether a graph shows that the channels of a position lie together: oneDNN left them so."""
    graph = json.loads(symbol.tojson())
    node = graph["nodes"][graph["heads"][0][0]]
    while node["op"] in _KEEP_ORDER:
        node = graph["nodes"][node["inputs"][0][0]]
    if node["op"] != "Convolution":
        return False
    return int(node["attrs"]["num_filter"]) % planes.BLOCK == 0


def pool(
    F: Any,
    x: Any,
    windows: Sequence[Window],
    sizes: Sequence[int],
    channels: int,
    ones: Callable[[Tuple[int, ...]], Any],
    small: Pool,
    plain: bool,
    name: Optional[str] = None,
) -> Any:
    """Pool ``x``, of whatever size.

    Parameters
    ----------
    F : mx.nd or mx.sym
    x : NDArray or Symbol
        Channels first.
    windows, sizes : sequence of Window, sequence of int
        One for each spatial axis.
    channels : int
    ones : callable
        Makes a tensor of ones, of the dtype of ``x``, of a shape.
    small : callable
        ``small(x, windows, sizes, name)`` pools by MXNet's operator over one, two or three axes.
    plain : bool
        Whether ``x`` is taken to lie in memory in plain order.
    name : str, optional
        Name of the last node.

    Returns
    -------
    NDArray or Symbol
        What ``small`` makes of the whole, but for the rounding of averages over three axes.
    """
    windows, sizes = tuple(windows), tuple(sizes)

    def again(x, windows, sizes, channels=channels):
        return pool(F, x, windows, sizes, channels, ones, small, plain=True)

    if not planes.is_slow(windows, sizes):
        return small(x, windows, sizes, name)
    if len(sizes) == 1:
        if channels % 2 or channels < 2 * planes.FEWEST:
            return small(x, windows, sizes, name)
        x = F.reshape(x, shape=(0, -4, -1, 2, 0))  # two channels as the rows of one
        x = again(x, (_ALONE, *windows), (2, *sizes), channels // 2)
        return F.reshape(x, shape=(0, -3, 0), name=name)
    if len(sizes) == 3:
        # Maxima, sums, and averages over what exists may be taken over one axis after the other.
        plane = F.reshape(x, shape=(0, -3, 0, 0))
        plane = again(plane, windows[1:], sizes[1:], channels * sizes[0])
        height, width = map(Window.outputs, windows[1:], sizes[1:])
        x = F.reshape(plane, shape=(0, channels, sizes[0], -1))
        x = again(x, (windows[0], _ALONE), (sizes[0], height * width))
        return F.reshape(x, shape=(0, 0, 0, height, width), name=name)
    way = planes.way_to_pool(windows, sizes, channels, plain)
    if way == "rows":
        parts, kept = planes.folds(windows, sizes, channels), map(Window.outputs, windows, sizes)
        rows = sizes[0] // parts
        x = F.reshape(x, shape=(0, channels * parts, rows, sizes[1]))
        return F.reshape(small(x, windows, (rows, sizes[1])), shape=(0, channels, *kept), name=name)
    if way == "together":
        # A convolution that changes nothing, and leaves the channels of a position together.
        kernel = {"kernel": (1, 1), "num_filter": channels, "num_group": channels}
        x = F.Convolution(x, ones((channels, 1, 1, 1)), no_bias=True, **kernel)
    if way == "bands":
        return _in_bands(F, x, windows, sizes, small, again, name)
    return small(x, windows, sizes, name)


def _in_bands(F, x, windows, sizes, small, again, name):
    """Pool the axis of the most windows part by part, and join the results."""
    kept = tuple(map(Window.outputs, windows, sizes))
    axis = kept.index(max(kept))
    window, size = windows[axis], sizes[axis]
    before, _ = window.at(size)
    count = planes.bands(windows, sizes, axis)
    if count == 1:
        return small(x, windows, sizes, name)
    results = []
    for i in range(count):
        first, last = kept[axis] * i // count, kept[axis] * (i + 1) // count - 1
        begin, end = first * window.stride - before, last * window.stride - before + window.span
        inside = max(begin, 0), min(end, size)
        part = window._replace(padding=(inside[0] - begin, end - inside[1]))
        piece = F.slice_axis(x, axis=2 + axis, begin=inside[0], end=inside[1])
        results.append(
            again(
                piece,
                tuple(part if a == axis else w for a, w in enumerate(_fixed(windows, sizes))),
                tuple(inside[1] - inside[0] if a == axis else n for a, n in enumerate(sizes)),
            )
        )
    return F.concat(*results, dim=2 + axis, name=name)


def _fixed(windows, sizes):
    return [window._replace(padding=window.at(size)) for window, size in zip(windows, sizes)]
