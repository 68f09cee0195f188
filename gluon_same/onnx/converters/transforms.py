"""Fourier transforms, as products with matrices."""

from typing import Any, List, Optional, Tuple

import mxnet as mx
import numpy as np

from ...importing import functions
from ..registry import converter
from ..reshaping import axis_of_size
from ..values import FIX, Data, Flag, Known, Unsupported, axis_of, known, numbers
from .windows import per_axis


@converter("DFT", 20)
def dft(
    net: Any, x: Data, length: Any = None, axis: Any = None, *, inverse: Flag = 0, onesided: Flag = 0
) -> Data:
    place = axis_of(-2 if axis is None else int(known(axis, "axis").item()), x.ndim)
    parts, half = x.shape[-1], bool(inverse and onesided)
    if parts not in (1, 2) or place == x.ndim - 1 or (onesided and parts != 1 + half):
        words = f"axis={place}, onesided={onesided} with inverse={inverse}"
        raise Unsupported(f"{words} for data of shape {x.shape}")
    given = [shape[place] for shape in x.trials]
    sizes = [2 * n - 2 if half else n for n in given]
    if length is not None:
        sizes = [int(numbers(length, "length").at(trial).item()) for trial in range(len(given))]
    halves = [n // 2 + 1 for n in sizes]
    read, made = halves if half else sizes, halves if onesided and not half else sizes
    if read != given:
        if half:  # for which onnxruntime computes other numbers
            raise Unsupported(f"{given[0]} frequencies are not those of {sizes[0]} results")
        if len({*read}) > 1 or x.shape[place] is None:
            raise Unsupported(f"the size of its axis {place} {FIX}")
        pairs = tuple((0, (read[0] - given[0]) * (i == place)) for i in range(x.ndim))
        x = net.call(functions.pad, x, pairs=pairs, native=True)
    how: Any = dict(parts=(parts, 1 if half else 2), inverse=bool(inverse), to=x.dtype.name)
    if x.shape[place] is not None and len({*made}) == 1:
        lines = mx.nd.zeros(made[0]), mx.nd.zeros(read[0])
        matrix = Known([functions.transform(mx.nd, *lines, axes=(0, 0), **how).asnumpy()])
    else:
        like, other = _as_long(net, x, place, made, half, length)
        matrix = net.call(functions.transform, like, x, axes=(other, place), dtype=x.dtype, **how)
    labels = tuple(range(x.ndim))
    out = tuple("frequency" if i == place else i for i in labels[:-1])
    return net.call(
        functions.einsum, x, matrix, labels=(labels, (x.ndim - 1, "part", "frequency", place)),
        out=(*out, "part"),
    )  # fmt: skip


def _as_long(
    net: Any, x: Data, axis: int, made: List[int], half: bool, length: Optional[Known]
) -> Tuple[Data, int]:
    """Return an array and its axis that is as long as the transform of an axis."""
    if not half and made == [shape[axis] for shape in x.trials]:
        return x, axis
    if half and length is not None:
        return axis_of_size(net, made, length)
    # 2 * n - 2 elements of which the file has half, or half of n: n // 2 + 1
    steps = dict(times=2, begin=2, step=1) if half else dict(times=1, begin=-1, step=2)
    return net.call(functions.steps_along, x, axis=axis, **steps, scalar=False), 0


@converter("DFT", 17)
def dft_17(
    net: Any, x: Data, length: Any = None, *, axis: int = 1, inverse: Flag = 0, onesided: Flag = 0
) -> Data:
    return dft(net, x, length, Known([np.array(axis)]), inverse=inverse, onesided=onesided)


@converter("STFT", 17)
def stft(
    net: Any, x: Data, step: Any, window: Any = None, length: Any = None, *, onesided: Flag = 1
) -> Data:
    """Convert to a convolution, whose filters are the waves under the window."""
    if window is None and length is None:
        raise Unsupported("it has neither a window nor a frame_length")
    if x.shape[2:] not in ((), (1,)):
        raise Unsupported(f"its signal of shape {x.shape} is not real")
    shape = None if window is None else known(window, "window")
    size = len(shape) if length is None and shape is not None else int(known(length, "length").item())
    shape = np.ones(size) if shape is None else shape
    if len(shape) != size:
        raise Unsupported(f"its window has {len(shape)} elements, and its frame_length is {size}")
    waves = functions.waves(size // 2 + 1 if onesided else size, size) * shape
    filters = waves.transpose(1, 0, 2).reshape(-1, 1, size).astype(x.dtype)
    x = net.call("reshape", x, shape=(0, -1))
    (step,) = per_axis("frame_step", known(step, "frame_step").reshape(1).tolist(), 1)
    y = net.call(functions.stft, x, Known([filters]), size=size, count=len(filters), step=step)
    y = net.call("transpose", y, axes=(0, 2, 1))
    return net.call("reshape", y, shape=(0, 0, len(filters) // 2, 2))
