"""Values between layers: shapes in Keras' axes, and the order in which the axes are stored.

Keras' axes are ``(batch, ..., channels)`` for most layers, but oneDNN's convolutions require
``(batch, channels, ...)``. A value therefore has a shape in Keras' axes and an *order*, which lists
Keras' axis for each axis of the stored array. Each layer declares the orders of its input and output,
and a transpose is added only where they differ. Elementwise layers accept any order, and Keras'
``Permute`` only renames axes.
"""

from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

Shape = Tuple[Optional[int], ...]
Order = Tuple[int, ...]
Pairs = Tuple[Tuple[int, int], ...]


class Padding(NamedTuple):
    """Pending zeros of a ZeroPadding layer, which the next layer may add itself."""

    layer: Any  # name of the ZeroPadding layer
    block: Any  # block that pads
    pairs: Pairs  # (before, after) for each of the stored array's spatial axes


class Value(NamedTuple):
    """Array in a net."""

    slot: int  # the net's slot for the array
    shape: Shape  # in Keras' axes, for the input sizes of the saved model
    open: Shape  # the same, with None for sizes that depend on the input
    order: Order  # Keras' axis for each axis of the array
    padding: Optional[Padding] = None  # included in the shapes, and not in the array
    nonnegative: bool = False
    guessed: bool = False  # because it depends on a rejected layer

    @property
    def rank(self) -> int:
        """Return the number of axes, including the batch."""
        return len(self.shape)

    @property
    def channels(self) -> Optional[int]:
        """Return the size of Keras' last axis."""
        return self.shape[-1]

    def stored(self, axis: int) -> int:
        """Return the stored axis for one of Keras' axes."""
        return self.order.index(axis % self.rank)

    def stored_shape(self, shape: Shape) -> Shape:
        """Return a shape in Keras' axes as a shape in the stored order."""
        return tuple(shape[axis] for axis in self.order)


def all_known(sizes: Sequence[Optional[int]]) -> Optional[List[int]]:
    """Return the sizes; None if any is unknown."""
    known = [n for n in sizes if n is not None]
    return known if len(known) == len(sizes) else None


def keras_order(rank: int) -> Order:
    """Return the order that stores axes as Keras does."""
    return tuple(range(rank))


def channels_first(rank: int) -> Order:
    """Return the order that stores Keras' last axis right after the batch."""
    return (0, rank - 1, *range(1, rank - 1)) if rank > 2 else keras_order(rank)


def transposition(order: Order, wanted: Order) -> Optional[Tuple[int, ...]]:
    """Return the axes of a transpose from one order to another; None if they are equal."""
    return None if order == wanted else tuple(order.index(axis) for axis in wanted)


def same_memory(order: Order, wanted: Order, shape: Shape) -> bool:
    """Return whether two orders store a shape identically. Axes of size 1 may be anywhere."""
    one, other = ([axis for axis in axes if shape[axis] != 1] for axes in (order, wanted))
    return one == other


def broadcast(*shapes: Shape) -> Shape:
    """Return the broadcast shape; raise a ValueError if the shapes do not fit."""
    return tuple(_broadcast_axis(sizes, shapes) for sizes in zip(*shapes))


def _broadcast_axis(sizes, shapes):
    known = {n for n in sizes if n is not None and n != 1}
    if len(known) > 1:
        raise ValueError(f"inputs of shapes {', '.join(map(str, shapes))} do not fit each other")
    if known:
        return known.pop()
    return None if None in sizes else 1


def window_size(
    size: Optional[int], span: int, stride: int, padding: str, what: str = "the window"
) -> Optional[int]:
    """Return the output size of a window on one axis, for Keras' padding names."""
    if size is None:
        return None
    if padding != "valid":
        return -(-size // stride)
    if size < span:
        raise ValueError(f"{what} of {span} elements does not fit an axis of {size}")
    return (size - span) // stride + 1


def replaced(shape: Shape, axes: Sequence[int], sizes: Sequence[Optional[int]]) -> Shape:
    """Return a shape with some axes' sizes replaced."""
    new = list(shape)
    for axis, size in zip(axes, sizes):
        new[axis] = size
    return tuple(new)
