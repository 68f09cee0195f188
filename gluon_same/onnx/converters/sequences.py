"""Sequences of arrays, whose lengths are known while importing, as loops collect their results."""

from functools import partial
from typing import Any, List

import numpy as np

from ..registry import converter
from ..values import FIX, Flag, Items, Known, Unsupported, axis_of, known
from .control import stacked, unrolled
from .shaping import concat, split, squeeze


@converter("SequenceEmpty", 11)
def empty(net: Any, *, dtype: int = 1) -> Items:
    return Items(())


@converter("SequenceConstruct", 11)
def construct(net: Any, *arrays: Any) -> Items:
    return Items(arrays)


@converter("SequenceInsert", 11)
def insert(net: Any, items: Any, x: Any, position: Any = None) -> Items:
    found = list(_items(items))
    found.insert(len(found) if position is None else _place(position, len(found), 1), x)
    return Items(tuple(found))


@converter("SequenceErase", 11)
def erase(net: Any, items: Any, position: Any = None) -> Items:
    found = list(_items(items))
    del found[-1 if position is None else _place(position, len(found))]
    return Items(tuple(found))


@converter("SequenceAt", 11)
def at(net: Any, items: Any, position: Any) -> Any:
    return _items(items)[_place(position, len(items.arrays))]


@converter("SequenceLength", 11)
def length(net: Any, items: Any) -> Known:
    return Known([np.array(len(_items(items)))])


@converter("SequenceMap", 17)
def map_(net: Any, items: Any, *others: Any, body: Any) -> List[Items]:
    results = []
    for place, x in enumerate(_items(items)):
        given = [each.arrays[place] if isinstance(each, Items) else each for each in others]
        results.append(unrolled(net, body, [x, *given]))
    return [Items(tuple(each)) for each in zip(*results)] or [Items(())] * net.outputs


@converter("ConcatFromSequence", 11)
def concat_from_sequence(net: Any, items: Any, *, axis: int, new_axis: Flag = 0) -> Any:
    arrays = _items(items)
    if new_axis or not arrays:
        return stacked(net, arrays, axis)
    if all(isinstance(x, Known) for x in arrays):
        return Known([np.concatenate([known(x, "item") for x in arrays], axis)])
    return concat(net, *map(net.array, arrays), axis=axis)


@converter("SplitToSequence", 11)
def split_to_sequence(
    net: Any, x: Any, sizes: Any = None, *, axis: int = 0, keepdims: Flag = 1
) -> Items:
    axis = axis_of(axis, x.ndim)
    size = x.shape[axis]
    given = known(sizes, "sizes") if sizes is not None else np.array(1)
    if not given.ndim:
        if size is None:
            raise Unsupported(f"the number of its parts {FIX}")
        whole = range(0, size, int(given))
        given = np.array([min(int(given), size - start) for start in whole])
    drop = sizes is None and not keepdims
    if isinstance(x, Known):
        if given.sum() != size:
            raise Unsupported(f"its sizes {given.tolist()} do not fit an axis of {size} elements")
        places: Any = range(size) if drop else np.split(np.arange(size), np.cumsum(given)[:-1])
        return Items(tuple(x.changed(partial(np.take, indices=i, axis=axis)) for i in places))
    parts = split(net, x, Known([given]), axis=axis)
    if drop:
        parts = [squeeze(net, part, Known([np.array([axis])])) for part in parts]
    return Items(tuple(parts))


def _items(x: Any) -> Any:
    if not isinstance(x, Items):
        raise Unsupported("its input is not a sequence")
    return x.arrays


def _place(position: Any, count: int, more: int = 0) -> int:
    """Return a position counted from the first of some arrays; it may be behind the last by ``more``."""
    place = int(known(position, "position").item())
    if not -count <= place < count + more:
        raise Unsupported(f"its position {place} does not fit a sequence of {count} arrays")
    return place + count if place < 0 else place
