"""Which planes oneDNN pools slowly, and by what way they are quick: rules on plain integers.

In plain order of memory it pools quickly only planes of two rows or more that fit the cache with their
result, and others 10 to 100 times slower. With the channels of a position together, which is how its
convolutions leave their results, it is quick at any size. :mod:`.large` builds the graphs.
"""

from math import prod
from typing import Optional, Sequence

from .arguments import Window
from .geometry import ceil_div

#: Of a multiple of so many channels oneDNN's convolutions leave those of a position together; of 4, 12,
#: 20 or 30 they leave plain memory, and its depthwise ones are 4 times slower.
BLOCK = 8

#: Channels that oneDNN's quick pooling of plain memory wants at least.
FEWEST = 4


def _cache_size():
    """Bytes of the cache next to a core, the second level; half a MiB where Linux does not tell."""
    try:
        with open("/sys/devices/system/cpu/cpu0/cache/index2/size") as file:
            return int(file.read().strip().rstrip("K")) * 1024
    except (OSError, ValueError):
        return 2**19


#: Elements of a plane and of its result that oneDNN pools quickly in plain memory: with 16 channels of
#: float32 they fill the cache next to a core. Measured with 1 MiB and 64 channels, in milliseconds, at
#: stride 1: 80x80: 0.42; 92x92: 29; one axis of 2000: 3.8, and 0.2 as two rows. Pieces that are too
#: small cost less than one that is too large.
QUICK = _cache_size() // (16 * 4)


#: Pieces to pool a plane in, for graphs that one can still look at. A million elements are well below.
MOST_PIECES = 128


def is_slow(windows: Sequence[Window], sizes: Sequence[int]) -> bool:
    """Whether oneDNN pools plain memory of such planes by its slow kernel."""
    return len(sizes) == 1 or prod(sizes) + prod(map(Window.outputs, windows, sizes)) > QUICK


def way_to_pool(
    windows: Sequence[Window], sizes: Sequence[int], channels: int, plain: bool
) -> Optional[str]:
    """How to pool large planes: as fewer ``'rows'``, channels ``'together'``, in ``'bands'``; or None.

    ``plain`` says that the channels of a position are known not to lie together.
    """
    # Where they may, they are kept so: two eager convolutions of 64 and 128 channels from 224, each with
    # a 2x2/2 pool, take 18 ms with the operator alone, 22 with a convolution that changes nothing, 24
    # as rows, 38 in bands.
    # Otherwise that one reads and writes all once more. Measured over it, in bands: 3x3/2, 64 at 208:
    # 0.53; 2x2 at 112: 0.67; but 3x3 at 208: 0.92, 8 at 416: 1.67. As rows: 2x2/2, 64 at 224: 0.48.
    blocks = channels % BLOCK == 0
    if blocks and not plain:
        return "together"
    if folds(windows, sizes, channels):
        return "rows"
    pads = [window.at(size) for window, size in zip(windows, sizes)]
    alike = all(w.stride == 1 and before == after for w, (before, after) in zip(windows, pads))
    pieces = prod(sizes) + prod(map(Window.outputs, windows, sizes)) <= MOST_PIECES * QUICK
    if channels >= FEWEST and pieces and not (blocks and alike):
        return "bands"
    return "together" if blocks else None


def folds(windows: Sequence[Window], sizes: Sequence[int], channels: int) -> int:
    """Planes of fewer rows that a plane is, so that each is quick; 0 if there are none.

    Windows that overlap, or that are padded, would be cut.
    """
    window, size = windows[0], sizes[0]
    if window.at(size) != (0, 0) or window.span > window.stride or size % window.stride:
        return 0
    for n in range(2, size // 2 + 1):
        whole = size % (n * window.stride) == 0
        if whole and n * channels >= FEWEST and not is_slow(windows, (size // n, *sizes[1:])):
            return n
    return 0


def bands(windows: Sequence[Window], sizes: Sequence[int], axis: int) -> int:
    """Parts that the windows of an axis are pooled in, so that each part is quick."""
    window, size = windows[axis], sizes[axis]
    kept_at = list(map(Window.outputs, windows, sizes))
    across, results = prod(sizes) // size, prod(kept_at) // kept_at[axis]
    overlap = (window.span - window.stride) * across
    at_once = max((QUICK - overlap) // (window.stride * across + results), 1)
    return ceil_div(kept_at[axis], at_once)
