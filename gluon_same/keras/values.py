"""Values between layers: shapes in Keras' axes, and the order in which the axes are stored.

Keras' axes are ``(batch, ..., channels)`` for most layers, but oneDNN's convolutions require
``(batch, channels, ...)``. A value therefore has a shape in Keras' axes and *axes*, which list
Keras' axis for each axis of the stored array. Each layer declares the axes of its input and output, and
a transpose is added only where they differ. Elementwise layers accept any, and Keras' ``Permute`` only
renames axes.
"""

import math
from dataclasses import dataclass
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

Shape = Tuple[Optional[int], ...]
Axes = Tuple[int, ...]
Pairs = Tuple[Tuple[int, int], ...]


#: The ``rows`` of an array that has none for each sample, such as positions.
NO_BATCH = -1


class Padding(NamedTuple):
    """Pending zeros of a ZeroPadding layer, which the next layer may add itself."""

    layer: Any  # name of the ZeroPadding layer
    block: Any  # block that pads
    pairs: Pairs  # (before, after) for each of the stored array's spatial axes


@dataclass(frozen=True, repr=False)
class Size:
    """Number of elements along an axis, which a function receives as a number."""

    saved: Optional[int]  # for the input sizes of the saved model
    source: Any = None  # the Value and Keras' axis whose size it is; None if it was computed
    times: int = 1  # whole factor of that size
    how: Any = None  # function and operands that computed it
    steps: int = 0  # number of functions that computed it

    def __repr__(self) -> str:
        return "a size"  # in an error message


class Value(NamedTuple):
    """Array in a net."""

    slot: int  # the net's slot for the array
    shape: Shape  # in Keras' axes, for the input sizes of the saved model
    free: Shape  # the same, with None for sizes that depend on the input
    axes: Axes  # Keras' axis for each axis of the array
    padding: Optional[Padding] = None  # included in the shapes, and not in the array
    nonnegative: bool = False
    guessed: bool = False  # because it depends on a rejected layer
    dtype: str = "float32"  # or int32, int64, and bool, which is stored as 0 and 1 in float32
    #: 0 if the first axis is the model's batch, else NO_BATCH, or a number of what it was folded into.
    rows: int = 0
    mask: Optional["Value"] = None  # 1 where a step of the sequence counts, and 0 where it does not
    narrow: Optional[str] = None  # Keras' dtype, such as uint8, if its arithmetic wraps around elsewhere

    def __repr__(self) -> str:
        return f"an array of shape {self.shape}"  # in an error message

    @property
    def rank(self) -> int:
        """Return the number of axes, including the batch."""
        return len(self.shape)

    @property
    def channels(self) -> Optional[int]:
        """Return the size of Keras' last axis."""
        return self.shape[-1]

    @property
    def whole(self) -> bool:
        """Return whether the array consists of whole numbers."""
        return self.dtype in ("int32", "int64")

    @property
    def number(self) -> str:
        """Return the dtype in which to compute: whole numbers stay whole, and booleans become real."""
        return self.dtype if self.whole else "float32"

    @property
    def batch(self) -> int:
        """Return Keras' axis for the batch, which is always stored first."""
        return self.axes[0]

    def stored(self, axis: int) -> int:
        """Return the stored axis for one of Keras' axes."""
        return self.axes.index(axis % self.rank)

    def places(self, given: Any) -> List[int]:
        """Return given axes, counted from the first; an empty list if any is unknown or the batch."""
        axes = given if isinstance(given, list) else [given]
        known = [a for a in axes if isinstance(a, int) and -self.rank <= a < self.rank]
        fit = known == axes and self.batch not in [a % self.rank for a in known]
        return [axis % self.rank for axis in axes] if fit else []

    def axes_without(self, dropped: Sequence[int]) -> Axes:
        """Return the axes of the array without some of Keras' axes."""
        left = [axis for axis in range(self.rank) if axis not in dropped]
        return tuple(left.index(axis) for axis in self.axes if axis in left)

    def along(self, axes: Sequence[int], array: np.ndarray) -> np.ndarray:
        """Return an array along some of Keras' axes, reshaped to broadcast with the stored one."""
        sizes = dict(zip(axes, array.shape))
        return array.reshape([sizes.get(axis, 1) for axis in range(self.rank)]).transpose(self.axes)

    def axes_with(self, new: int) -> Axes:
        """Return the axes of the array with a new one of Keras' axes, stored after the batch."""
        batch, *rest = (axis + (axis >= new) for axis in self.axes)
        return (batch, new, *rest)

    @property
    def batch_first(self) -> Axes:
        """Return Keras' axes in order, but for the batch, which is first."""
        return (self.batch, *(axis for axis in range(self.rank) if axis != self.batch))


def masks_of(values: Sequence[Value]) -> List[Value]:
    """Return the masks of those values that have one."""
    return [x.mask for x in values if x.mask is not None]


def product(sizes: Sequence[Optional[int]]) -> Optional[int]:
    """Return the product of sizes; None if any is unknown."""
    return None if None in sizes else math.prod(n for n in sizes if n is not None)


def stored_shape(axes: Axes, shape: Shape) -> Shape:
    """Return a shape in Keras' axes as that of the stored array."""
    return tuple(shape[axis] for axis in axes)


def keras_shape(axes: Axes, stored: Shape) -> Shape:
    """Return the shape of a stored array as a shape in Keras' axes."""
    return tuple(stored[axes.index(axis)] for axis in range(len(axes)))


def keras_order(rank: int) -> Axes:
    """Return the axes of an array that is stored as in Keras."""
    return tuple(range(rank))


def channels_first(rank: int) -> Axes:
    """Return the axes that store Keras' last axis right after the batch."""
    return (0, rank - 1, *range(1, rank - 1)) if rank > 2 else keras_order(rank)


def sequence_axes(step: Axes) -> Axes:
    """Return the axes of a sequence from those of its steps."""
    return (0, 1, *(axis + 1 for axis in step[1:]))


def same_memory(axes: Axes, wanted: Axes, shape: Shape) -> bool:
    """Return whether two orders of axes store a shape identically. Axes of size 1 may be anywhere."""
    one, other = ([axis for axis in each if shape[axis] != 1] for each in (axes, wanted))
    return one == other


def broadcast(*shapes: Shape) -> Shape:
    """Return the broadcast shape; raise a ValueError if the shapes do not fit."""
    wide = [[n for n in sizes if n != 1] for sizes in zip(*shapes)]
    return tuple(agreed(sizes, shapes) if sizes else 1 for sizes in wide)


def agreed(sizes: Sequence[Optional[int]], shapes: Sequence[Shape]) -> Optional[int]:
    """Return the known size among those of one axis; raise a ValueError if they differ."""
    known = {n for n in sizes if n is not None}
    if len(known) > 1:
        raise ValueError(f"inputs of shapes {', '.join(map(str, shapes))} do not fit each other")
    return known.pop() if known else None


def joined_shape(axis: int, *shapes: Shape) -> Shape:
    """Return the shape of arrays that are concatenated along an axis, counted from the first."""
    sizes = [shape[axis] for shape in shapes]
    total = None if None in sizes else sum(filter(None, sizes))
    others = zip(*(replaced(shape, axis, total) for shape in shapes))
    return tuple(agreed(each, shapes) for each in others)


def resized(shape: Shape, axes: Sequence[int], size: Callable[..., int], *values: Any) -> Shape:
    """Return a shape whose known sizes on some axes are ``size(old, *values of the axis)``."""
    new = list(shape)
    for axis, *own in zip(axes, *values):
        old = shape[axis]
        new[axis] = None if old is None else size(old, *own)
    return tuple(new)


def resized_to(axes: Sequence[int], sizes: Sequence[int]) -> Callable[[Shape], Shape]:
    """Return the rule for shapes whose known sizes on some axes are replaced."""
    return lambda shape: resized(shape, axes, lambda n, m: m, sizes)


def replaced(shape: Shape, axis: int, size: Optional[int]) -> Shape:
    """Return a shape with another size on one axis, counted from the first."""
    return (*shape[:axis], size, *shape[axis + 1 :])
