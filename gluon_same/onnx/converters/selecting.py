"""Operators whose results have as many elements as the data select."""

from math import prod
from typing import Any, Optional

import numpy as np

from ...importing import functions
from ..registry import converter
from ..values import EMPTY, Data, Flag, Known, Unsupported, axis_of, known
from .shapes import range_, size

#: Most boxes of a class; files write the largest integer for all.
_MOST_BOXES = 2**31

#: Most boxes of a class for which a part of all boxes is tried first.
_FEW = 4096


@converter("Compress")
def compress(net: Any, x: Data, condition: Any, *, axis: Optional[int] = None) -> Data:
    if axis is None:
        x, axis = net.call("reshape", x, shape=(-1,), scalar=False), 0
    axis = axis_of(axis, x.ndim)
    if isinstance(condition, Known) and not condition.open:
        kept = np.flatnonzero(condition.array[: x.shape[axis]])
        if not kept.size:
            raise Unsupported(EMPTY)
        among = 0 if x.shape[axis] is None else None
        return net.call(functions.gather, x, Known([kept]), axis=axis, among=among, scalar=False)
    condition = net.array(condition)
    if condition.ndim > 1:  # as PaddlePaddle's exporter writes it
        condition = net.call("reshape", condition, shape=(-1,))
    shapes = x.each(lambda _, s: (*s[:axis], None, *s[axis + 1 :]))
    return _selected(net, condition, shapes, functions.compress, x, condition, axis=axis, scalar=False)


@converter("NonZero")
def nonzero(net: Any, x: Data) -> Data:
    if not x.ndim:
        raise Unsupported("its data have no axes")
    if x.filled and x.ndim == 1:  # exporters wrote ranges so before operator set 11
        zero, one = (Known([np.array(n, np.int64)]) for n in (0, 1))
        return net.call("expand_dims", range_(net, zero, size(net, x), one), axis=0)
    shapes = x.each(lambda _, s: (len(s), None))
    return _selected(net, x, shapes, functions.nonzero, x, rank=x.ndim, dtype=np.int64)


def _selected(net: Any, mask: Data, shapes: Any, function: Any, *inputs: Any, **how: Any) -> Data:
    """Call a function whose result has as many elements along one axis as a mask selects."""
    y = net.call(function, *inputs, known_shapes=net.selected(mask, shapes), **how)
    if all(prod(shape) == 1 for shape in mask.trials):  # the number is known, unless there are none
        net.required.append(y)
    return y


@converter("NonMaxSuppression", 10)
def non_max_suppression(
    net: Any, boxes: Data, scores: Data, most: Any = None, overlap: Any = None, least: Any = None,
    *, center_point_box: Flag = 0,
) -> Data:  # fmt: skip
    count = 0 if most is None else int(known(most, "max_output_boxes_per_class").item())
    if count < 1:
        raise Unsupported(
            f"its max_output_boxes_per_class={count} leaves no boxes, and MXNet has no arrays without "
            "elements"
        )
    given = ((overlap, "iou_threshold"), (least, "score_threshold"))
    limits = [None if x is None else float(known(x, role).item()) for x, role in given]
    shapes = scores.each(lambda *_: (None, 3))
    size = scores.shape[2] or _MOST_BOXES
    tops = [count * 4**i for i in range(1, 5)] if count <= _FEW else []
    how: Any = dict(most=min(count, _MOST_BOXES), limits=(limits[0] or 0.0, limits[1]))
    return _selected(
        net, scores, shapes, functions.non_max_suppression, boxes, scores, **how,
        center=bool(center_point_box), tops=tuple(n for n in tops if n < size), dtype=np.int64,
    )  # fmt: skip
