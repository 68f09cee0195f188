"""Functions that repeat elements."""

from typing import Any, Dict, List, Tuple

import numpy as np

from ...importing import functions
from ..arguments import Unsupported
from ..values import Shape, Size, Value, broadcast
from .computed import BROADCAST
from .gathering import exactly_at
from .operations import Operation, axis_of, size_of
from .rearranging import kept_size
from .registry import Lowered, computes


@computes("broadcast_to")
def _broadcast_to(op: Operation, x: Value, shape: List[int]) -> Lowered:
    sizes = [kept_size(x, place, n) for place, n in enumerate(shape)]
    known = {a: n for a, n in enumerate(sizes) if isinstance(n, Size) and n.source and n.times == 1}
    if len(shape) == x.rank and known and 0 not in known:  # what is not 1 has the size already
        sizes = [0 if a in known else n for a, n in enumerate(sizes)]
        sources = {a: n.source for a, n in known.items() if x.shape[a] == 1}
        others = {like.slot for like, _ in sources.values()}
        if len(others) == 1 and all(n in (0, x.shape[a]) for a, n in enumerate(sizes)):
            return _tiled_like(op, x, sources)
        if sources or any(x.shape[a] is None for a in known):
            raise Unsupported(f"{op.name} of shape {x.shape} to {shape}")
    if len(shape) != x.rank or sizes[0] != 0 or any(isinstance(n, Size) or n < 0 for n in sizes):
        raise Unsupported(f"{op.name} of shape {x.shape} to {shape}")
    if any(n != m and m != 1 for n, m in zip(sizes[1:], x.shape[1:]) if n):
        raise ValueError(f"{op.name} of shape {x.shape} to {shape}")
    how: Any = dict(shape=tuple(sizes[axis] for axis in x.axes), takes=None)
    return op.lowered("broadcast_to", x, order=x.axes, **how)


@computes("tile")
def _tile(op: Operation, x: Value, repeats: List[int]) -> Lowered:
    hows = {axis: n.how for axis, n in enumerate(repeats) if isinstance(n, Size) and n.how}
    grown = {axis: how[1].source for axis, how in hows.items() if how[0] == BROADCAST}
    likes = [like for like, _ in grown.values()]
    if grown and len(repeats) == x.rank == likes[0].rank and len({like.slot for like in likes}) == 1:
        x = _spread(op, x, likes[0], [*grown])
        repeats = [1 if axis in grown else n for axis, n in enumerate(repeats)]
    (axis, size), *others = [(i, n) for i, n in enumerate(repeats[: x.rank]) if n != 1] or [(0, 1)]
    if isinstance(size, Size) and not others and x.shape[axis] == size.times == 1 and size.source:
        return _tiled_like(op, x, {axis: size.source})
    computed = any(isinstance(n, Size) for n in repeats)
    if len(repeats) != x.rank or repeats[0] != 1 or computed or min(repeats) < 1:
        raise Unsupported(f"tile by {repeats}: give one count of 1 for the batch")
    return op.lowered(functions.tile, x, times=tuple(repeats[a] for a in x.axes), takes=None)


def _spread(op: Operation, x: Value, like: Value, axes: List[int]) -> Value:
    """Return an array that is broadcast along some axes to the sizes of another."""

    def rule(shape: Shape, whole: Shape) -> Shape:
        pairs = enumerate(zip(shape, whole))
        return tuple(broadcast((n,), (m,))[0] if axis in axes else n for axis, (n, m) in pairs)

    others = tuple(axis for axis in range(x.rank) if axis not in axes)
    y = op.request.derive(functions.spread_like, x, like, rule=rule, others=others)
    return y._replace(dtype=x.dtype, rows=x.rows)


def _tiled_like(op: Operation, x: Value, sources: Dict[int, Tuple[Value, int]]) -> Lowered:
    """Repeat axes with one element to the sizes of axes of one other array."""
    like = next(iter(sources.values()))[0]
    pairs = {axis: other for axis, (_, other) in sources.items()}
    fields: Any = dict(takes=None, input_axes=(x.axes, like.axes), gives=x.dtype)
    fields["rule"] = lambda shape, whole: tuple(
        whole[pairs[axis]] if axis in pairs else n for axis, n in enumerate(shape)
    )
    places = dict(lhs_axes=tuple(map(x.stored, pairs)), rhs_axes=tuple(map(like.stored, pairs.values())))
    return op.lowered("broadcast_like", x, like, order=x.axes, **places, **fields)


@computes("repeat")
def _repeat(op: Operation, x: Value, repeats: List[int], axis: int) -> Lowered:
    place = axis_of(op, x, axis, True)
    if any(isinstance(n, Size) or n < 0 for n in repeats) or max(repeats) < 1:
        raise ValueError(f"repeat by {repeats}")
    if len(repeats) == 1:
        more: Any = {} if place != x.batch or repeats == [1] else {"rows": x.slot + 1}
        how: Any = dict(repeats=repeats[0], axis=x.stored(place), takes=None)
        return op.lowered("repeat", x, **how, **more)
    if len(repeats) != size_of(op, x, place):
        raise ValueError(f"repeat of shape {x.shape} along axis={axis} by {repeats}")
    return exactly_at(op, x, place, np.repeat(np.arange(len(repeats)), repeats))
