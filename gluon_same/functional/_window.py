"""What convolution and pooling share: windows of a call's arguments, and the plan's two ends."""

from functools import lru_cache
from typing import Sequence, Tuple, Union

from .. import arguments, geometry, resize
from ..arguments import Window
from ..arrays import cut

IntOrInts = Union[int, Sequence[int]]


@lru_cache(maxsize=4096)
def windows_of(kernel, stride, dilate, pad, causal=False) -> Tuple[Window, ...]:
    spans = tuple(map(geometry.effective_kernel, kernel, dilate))
    padding = arguments.normalize_padding("pad", pad, spans, causal)
    paddings = (padding,) * len(spans) if isinstance(padding, str) else padding
    return tuple(map(Window, spans, stride, paddings, kernel))


def check_fit(windows, sizes):
    for window, size in zip(windows, sizes):
        if size is not None and window.outputs(size) < 1:
            raise ValueError(
                f"data of spatial size {sizes} padded by {window.padding} is smaller than a window "
                f"of {window.span} elements: use more padding, a smaller kernel or a larger input"
            )


def hashable(pad):
    if isinstance(pad, (list, tuple)):
        return tuple(map(hashable, pad))
    return pad if isinstance(pad, str) else arguments.whole("pad", pad, 0)


def prepare(F, data, plan, layout, fill, dtype=None):
    """The input as the operator wants it: put right by its size, reversed and lengthened."""
    data = resize.shift(F, data, plan.shift, layout, fill, dtype)
    data = cut(F, data, layout, [(0, 0, flip) for flip in plan.flip])
    amounts = [(axis.front, axis.tail) for axis in plan.axes]
    return resize.extend(F, data, amounts, layout, fill, plan.padded)


def finish(F, out, axes, layout, flip=(False, False, False)):
    """What is wanted of the operator's output."""
    return cut(F, out, layout, [(a.lead, a.trail, f) for a, f in zip(axes, flip)])
