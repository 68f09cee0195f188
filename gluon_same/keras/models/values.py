"""What flows between layers: shapes in Keras' axes, and the order in which the axes are stored.

Keras' axes are ``(batch, ..., channels)`` for most layers, and oneDNN's convolutions take
``(batch, channels, ...)``. So a value has a shape in Keras' axes, and an *order*: for each axis of the
array that holds it, Keras' axis. A layer says which order it takes and which it gives, and a transpose
is added only where the two differ. A layer that works element by element takes any order, and Keras'
``Permute`` renames axes.
"""

from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

Shape = Tuple[Optional[int], ...]
Order = Tuple[int, ...]
Pairs = Tuple[Tuple[int, int], ...]


class Padding(NamedTuple):
    """Zeros that a ZeroPadding layer puts around a value, which the next layer may put there itself."""

    layer: Any  # the ZeroPadding's name
    block: Any  # what pads
    pairs: Pairs  # (before, after) for each of the stored array's spatial axes


class Value(NamedTuple):
    """One array of a net."""

    slot: int  # where the net keeps it
    shape: Shape  # in Keras' axes, for the input sizes that the model was saved with
    open: Shape  # the same, with None for what depends on the input's sizes
    order: Order  # Keras' axis for each axis of the array
    padding: Optional[Padding] = None  # included in the shapes, and not in the array
    nonnegative: bool = False
    guessed: bool = False  # because what it follows from is refused

    @property
    def rank(self) -> int:
        """Number of axes, with that of the batch."""
        return len(self.shape)

    @property
    def channels(self) -> Optional[int]:
        """Elements of Keras' last axis."""
        return self.shape[-1]

    def stored(self, axis: int) -> int:
        """Where the array has one of Keras' axes."""
        return self.order.index(axis % self.rank)

    def stored_shape(self, shape: Shape) -> Shape:
        """A shape in Keras' axes, in the order in which the array is stored."""
        return tuple(shape[axis] for axis in self.order)


def all_known(sizes: Sequence[Optional[int]]) -> Optional[List[int]]:
    """Sizes that are all known; None where one is not."""
    known = [n for n in sizes if n is not None]
    return known if len(known) == len(sizes) else None


def keras_order(rank: int) -> Order:
    """Axes stored as Keras has them."""
    return tuple(range(rank))


def channels_first(rank: int) -> Order:
    """Keras' last axis stored right after the batch."""
    return (0, rank - 1, *range(1, rank - 1)) if rank > 2 else keras_order(rank)


def transposition(order: Order, wanted: Order) -> Optional[Tuple[int, ...]]:
    """The axes of a transpose from one order to another; None where they are the same."""
    return None if order == wanted else tuple(order.index(axis) for axis in wanted)


def same_memory(order: Order, wanted: Order, shape: Shape) -> bool:
    """Whether two orders hold the elements of a shape alike: axes of one element may be anywhere."""
    one, other = ([axis for axis in axes if shape[axis] != 1] for axes in (order, wanted))
    return one == other


def broadcast(*shapes: Shape) -> Shape:
    """The shape of values that are combined element by element; ValueError if they do not fit."""
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
    """Outputs of a window on an axis, for Keras' words."""
    if size is None:
        return None
    if padding != "valid":
        return -(-size // stride)
    if size < span:
        raise ValueError(f"{what} of {span} elements does not fit an axis of {size}")
    return (size - span) // stride + 1


def replaced(shape: Shape, axes: Sequence[int], sizes: Sequence[Optional[int]]) -> Shape:
    """A shape with other sizes on some axes."""
    new = list(shape)
    for axis, size in zip(axes, sizes):
        new[axis] = size
    return tuple(new)
