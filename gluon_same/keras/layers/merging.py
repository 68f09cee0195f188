"""Layers that combine several inputs, including Keras' operations on arrays and numbers."""

from typing import Any, Optional, Tuple

from mxnet.gluon import HybridBlock

from ..values import Shape, Value, all_known, broadcast, keras_order, replaced
from . import functions
from .table import Built, Request, builds


class Merge(HybridBlock):
    """Elementwise combination of arrays, from the first to the last.

    Parameters
    ----------
    kind : {'add', 'subtract', 'multiply', 'divide', 'maximum', 'minimum', 'power'}
    even : bool
        Whether all shapes are equal, for which MXNet has faster operators.
    scale : float
        Factor of the result.
    """

    def __init__(self, kind: str, even: bool, scale: float = 1, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._kind = kind
        self._even = even
        self._scale = scale

    def hybrid_forward(self, F: Any, x: Any, *others: Any) -> Any:
        if self._even and self._kind == "add" and len(others) > 1:
            x = F.add_n(x, *others)
        else:
            for other in others:
                x = functions.pairwise(F, self._kind, x, other, self._even)
        return x if self._scale == 1 else x * self._scale

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._kind})"


class Concatenate(HybridBlock):
    """Concatenation along an axis.

    Parameters
    ----------
    axis : int
    """

    def __init__(self, axis: int, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._axis = axis

    def hybrid_forward(self, F: Any, *inputs: Any) -> Any:
        return F.concat(*inputs, dim=self._axis)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(axis={self._axis})"


class ScaledSum(HybridBlock):
    """Sum ``a + scale * b``, as in InceptionResNet's CustomScaleLayer.

    Parameters
    ----------
    scale : float
    """

    def __init__(self, scale: float, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._scale = scale

    def hybrid_forward(self, F: Any, a: Any, b: Any) -> Any:
        return F.elemwise_add(a, b * self._scale)


class Dot(HybridBlock):
    """Batched product of matrices, or of vectors, along one axis of each.

    Parameters
    ----------
    axes : (int, int)
        Keras' axes, starting at 1.
    ranks : (int, int)
    normalize : bool
        Whether to scale vectors along the axes to unit length first.
    """

    def __init__(
        self,
        axes: Tuple[int, int],
        ranks: Tuple[int, int],
        normalize: bool,
        prefix: Optional[str] = None,
    ):
        super().__init__(prefix=prefix)
        self._axes = axes
        self._ranks = ranks
        self._normalize = normalize

    def hybrid_forward(self, F: Any, a: Any, b: Any) -> Any:
        matrices = []
        for x, axis, rank in zip((a, b), self._axes, self._ranks):
            if self._normalize:
                total = F.sum(F.square(x), axis=axis, keepdims=True)
                x = F.broadcast_div(x, F.sqrt(F.clip(total, 1e-12, 3e38)))
            matrices.append(F.expand_dims(x, axis=2) if rank == 2 else x)
        y = F.batch_dot(*matrices, transpose_a=self._axes[0] == 1, transpose_b=self._axes[1] == 2)
        if self._ranks == (2, 2):
            return F.squeeze(y, axis=2)
        if self._ranks[1] == 2:
            return F.squeeze(y, axis=2)
        return F.squeeze(y, axis=1) if self._ranks[0] == 2 else y


@builds("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")
def _merge(request: Request, *inputs: Value) -> Built:
    kind = request.class_name.lower()
    count = len(inputs)
    if kind == "subtract" and count != 2 or count < 1:
        raise ValueError(f"it has {count} inputs")
    scale = 1 / count if kind == "average" else 1
    return combined("add" if kind == "average" else kind, request.prefix, inputs, scale)


def combined(kind: str, prefix: str, inputs: Tuple[Value, ...], scale: float = 1) -> Built:
    """Combine values elementwise. Shapes with fewer axes are aligned at the batch."""
    rank = max(x.rank for x in inputs)
    if any(x.rank not in (rank, 2) for x in inputs):
        raise ValueError(f"inputs of shapes {[x.shape for x in inputs]} have different ranks")
    order = next(x.order for x in inputs if x.rank == rank)
    even = len({(x.shape, x.open) for x in inputs}) == 1

    def rule(*shapes: Shape) -> Shape:
        return broadcast(*(lifted(shape, rank) for shape in shapes))

    block = Merge(kind, even, scale, prefix)
    return Built(block, rule, order, tuple(order for _ in inputs))


def lifted(shape: Shape, rank: int) -> Shape:
    """Return a shape with axes of size 1 inserted after the batch, up to a rank."""
    return (*shape[:1], *(1,) * (rank - len(shape)), *shape[1:])


@builds("Concatenate")
def _concatenate(request: Request, *inputs: Value) -> Built:
    axis = request.arguments.whole("axis", -1, least=-9)
    return joined(request.prefix, inputs, axis)


def joined(prefix: str, inputs: Tuple[Value, ...], axis: int) -> Built:
    """Concatenate values along one of Keras' axes."""
    rank = inputs[0].rank
    if not -rank <= axis < rank or axis % rank == 0 or any(x.rank != rank for x in inputs):
        raise ValueError(f"axis={axis} of inputs of shapes {[x.shape for x in inputs]}")
    axis %= rank
    order = inputs[0].order

    def rule(*shapes: Shape) -> Shape:
        sizes = all_known([shape[axis] for shape in shapes])
        others = [replaced(shape, [axis], [None]) for shape in shapes]
        for one in zip(*others):
            if len({n for n in one if n is not None}) > 1:
                raise ValueError(f"inputs of shapes {', '.join(map(str, shapes))} do not fit each other")
        known = tuple(next((n for n in one if n is not None), None) for one in zip(*others))
        return replaced(known, [axis], [None if sizes is None else sum(sizes)])

    nonnegative = all(x.nonnegative for x in inputs)
    block = Concatenate(order.index(axis), prefix)
    return Built(block, rule, order, tuple(order for _ in inputs), nonnegative=nonnegative)


@builds("Dot")
def _dot(request: Request, a: Value, b: Value) -> Built:
    given = request.arguments.ints("axes")
    given = given * 2 if len(given) == 1 else given
    ranks = a.rank, b.rank
    if len(given) != 2 or not set(ranks) <= {2, 3}:
        raise ValueError(f"axes={given} of inputs with {a.rank} and {b.rank} axes")
    if any(not -rank <= axis < rank or axis % rank == 0 for axis, rank in zip(given, ranks)):
        raise ValueError(f"axes={given} of inputs with {a.rank} and {b.rank} axes")
    axes = given[0] % a.rank, given[1] % b.rank
    block = Dot(axes, ranks, request.arguments.flag("normalize", False), request.prefix)

    def rule(one: Shape, other: Shape) -> Shape:
        broadcast((one[axes[0]],), (other[axes[1]],))
        left = [n for axis, n in enumerate(one) if axis not in (0, axes[0])]
        right = [n for axis, n in enumerate(other) if axis not in (0, axes[1])]
        return (one[0], *left, *right) if left or right else (one[0], 1)

    rank = len(rule(a.shape, b.shape))
    return Built(block, rule, keras_order(rank), (keras_order(a.rank), keras_order(b.rank)))


@builds("CustomScaleLayer")
def _scaled_sum(request: Request, a: Value, b: Value) -> Built:
    block = ScaledSum(request.arguments.number("scale"), request.prefix)
    return Built(block, broadcast, a.order, (a.order, a.order))
