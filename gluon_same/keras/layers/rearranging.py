"""Slices, reshapes, transposes and splits."""

from typing import Any, Callable, List, Optional, Sequence, Tuple

from mxnet.gluon import HybridBlock

from ..arguments import Unsupported
from ..values import Shape, replaced
from .core import permuted, reshaped
from .table import Built

_WHOLE = (None, None, 1)


class Slice(HybridBlock):
    """Slice of an array, with new axes of size 1 after the batch.

    Parameters
    ----------
    parts : tuple of (begin, end, step)
        One entry per axis; None keeps the whole axis.
    dropped : tuple of int
        Axes of size 1 to drop from the result.
    added : int
        Number of new axes.
    """

    def __init__(
        self, parts: Sequence[Any], dropped: Sequence[int], added: int, prefix: Optional[str] = None
    ):
        super().__init__(prefix=prefix)
        self._parts = tuple(parts)
        self._dropped = tuple(dropped)
        self._added = added

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        if any(part != _WHOLE for part in self._parts):
            begin, end, step = zip(*self._parts)
            x = F.slice(x, begin=begin, end=end, step=step)
        x = F.squeeze(x, axis=self._dropped) if self._dropped else x
        for _ in range(self._added):
            x = F.expand_dims(x, axis=1)
        return x


class Rearrange(HybridBlock):
    """One of MXNet's operators that rearrange elements.

    Parameters
    ----------
    operator : str
    **arguments
        Arguments of the operator.
    """

    def __init__(self, operator: str, prefix: Optional[str] = None, **arguments: Any):
        super().__init__(prefix=prefix)
        self._operator = operator
        self._arguments = arguments

    def hybrid_forward(self, F: Any, *inputs: Any) -> Any:
        return getattr(F, self._operator)(*inputs, **self._arguments)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._operator}, {self._arguments})"


class PadAxes(HybridBlock):
    """Constant padding of arrays of any rank.

    Parameters
    ----------
    pairs : tuple of (int, int)
        Number of elements before and after each axis except the batch.
    value : float
    """

    def __init__(self, pairs: Sequence[Any], value: float, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._pairs = tuple(map(tuple, pairs))
        self._value = value

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        for axis, pair in enumerate(self._pairs, 1):
            for count, before in zip(pair, (True, False)):
                if count:
                    edge = F.slice_axis(x, axis=axis, begin=0, end=1) * 0 + self._value
                    edge = F.repeat(edge, repeats=count, axis=axis)
                    x = F.concat(*((edge, x) if before else (x, edge)), dim=axis)
        return x


def _slice(operation: Any) -> Built:
    given = operation.take("slice_spec")
    if given is None and len(operation.operands) == 2:
        given = operation.operands.pop()
    x = operation.x
    given = _spelled_out(given if isinstance(given, list) else [given], x.rank)
    parts: List[Tuple[Optional[int], Optional[int], int]] = []
    dropped = []
    made: List[Optional[int]] = []  # the input's axis for each axis of the result, None for a new one
    for part in given:
        if part is None:
            made.append(None)
        elif isinstance(part, int) and not isinstance(part, bool):
            dropped.append(len(parts))
            parts.append((part, part + 1 or None, 1))
        else:
            made.append(len(parts))
            parts.append(_bounds(part))
    if parts[0] != _WHOLE or made[0] != 0:
        raise Unsupported("a slice of the batch")

    def rule(shape: Shape) -> Shape:
        for n, (begin, _, _) in zip(shape, parts):
            if n is not None and begin is not None and begin < -n:  # MXNet requires that it is inside
                raise ValueError(f"a slice from {begin} of an axis of {n}")
        sizes = [
            None if n is None else len(range(n)[slice(*part)]) if part != _WHOLE else n
            for n, part in zip(shape, parts)
        ]
        if 0 in sizes:
            raise ValueError(f"a slice of shape {shape} would be empty")
        return tuple(1 if axis is None else sizes[axis] for axis in made)

    added = [place for place, axis in enumerate(made) if axis is None]
    order = (0, *added, *(made.index(axis) for axis in x.order[1:] if axis in made))
    stored = [parts[axis] for axis in x.order]
    places = sorted(x.stored(axis) for axis in dropped)
    block = Slice(stored, places, len(added), operation.request.prefix)
    return Built(block, rule, order, (x.order,), nonnegative=x.nonnegative)


def _spelled_out(given: List[Any], rank: int) -> List[Any]:
    """Return one slice entry for each axis, and None for each new axis."""
    whole = {"start": None, "stop": None, "step": None}
    ellipses = [i for i, part in enumerate(given) if _class(part) == "__ellipsis__"]
    at = ellipses[0] if ellipses else len(given)
    rest = given[at + 1 :]
    missing = rank - sum(part is not None for part in (*given[:at], *rest))
    if len(ellipses) > 1 or missing < 0:
        raise ValueError(f"a slice by {given!r}")
    return [*given[:at], *[whole] * missing, *rest]


def _class(part: Any) -> Any:
    return part.get("class_name") if isinstance(part, dict) else None


def _bounds(part: Any) -> Tuple[Optional[int], Optional[int], int]:
    part = part.get("config") if _class(part) == "__slice__" else part
    if not isinstance(part, dict):
        raise Unsupported(f"a slice by {part!r}")
    bounds = [part.get(name) for name in ("start", "stop", "step")]
    if any(n is not None and (isinstance(n, bool) or not isinstance(n, int)) for n in bounds):
        raise Unsupported(f"a slice by {part!r}")
    begin, end, step = bounds
    if step is not None and step < 1:
        raise Unsupported(f"a slice with a step of {step}")
    return begin, end, step or 1


def _reshape(operation: Any) -> Built:
    target = operation.take("shape", "newshape")
    if not isinstance(target, list) or target[:1] != [-1] or -1 in target[1:]:
        raise Unsupported(f"reshape to {target!r}: only (-1, sizes) is supported")
    return reshaped(operation.x, target[1:], operation.request.prefix)


def _transpose(operation: Any) -> Built:
    operation.take("conjugate")
    axes = operation.take("perm", "axes")
    x = operation.x
    if not isinstance(axes, list) or sorted(axes) != list(range(x.rank)) or axes[0] != 0:
        raise Unsupported(f"transpose by {axes!r}: the batch must stay first")
    return permuted(x, axes)


def _expand_dims(operation: Any) -> Built:
    x, axis = operation.x, operation.take("axis")
    if not isinstance(axis, int) or not -x.rank <= axis <= x.rank or axis % (x.rank + 1) == 0:
        raise ValueError(f"expand_dims at axis={axis!r}")
    axis %= x.rank + 1
    block = Rearrange("expand_dims", operation.request.prefix, axis=1)
    order = (0, axis, *(old + (old >= axis) for old in x.order[1:]))
    return Built(block, lambda shape: (*shape[:axis], 1, *shape[axis:]), order, (x.order,))


def _squeeze(operation: Any) -> Built:
    x, axis = operation.x, operation.take("axis")
    axes = axis if isinstance(axis, list) else [axis]
    if (
        any(not isinstance(a, int) or not -x.rank <= a < x.rank or a % x.rank == 0 for a in axes)
        or not axes
    ):
        raise ValueError(f"squeeze of axis={axis!r}")
    axes = [a % x.rank for a in axes]
    left = [a for a in range(x.rank) if a not in axes]
    stored = tuple(sorted(x.stored(a) for a in axes))
    block = Rearrange("squeeze", operation.request.prefix, axis=stored)
    order = tuple(left.index(a) for a in x.order if a in left)

    def rule(shape: Shape) -> Shape:
        if any(shape[a] not in (1, None) for a in axes):
            raise ValueError(f"axes {axes} of shape {shape} have more than one element")
        return tuple(shape[a] for a in left)

    return Built(block, rule, order, (x.order,))


def _pad(operation: Any) -> Built:
    pairs = operation.take("paddings", "pad_width")
    mode, value = operation.take("mode", default="constant"), operation.take("constant_values")
    x = operation.x
    fits = isinstance(pairs, list) and len(pairs) == x.rank and pairs[0] == [0, 0]
    whole = fits and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(n, int) and n >= 0 for n in pair)
        for pair in pairs
    )
    if not whole or str(mode).lower() != "constant":
        raise Unsupported(f"pad by {pairs!r} with mode={mode!r}")
    block = PadAxes([pairs[axis] for axis in x.order[1:]], float(value or 0), operation.request.prefix)
    axes = range(x.rank)

    def rule(shape: Shape) -> Shape:
        return replaced(shape, axes, [n if n is None else n + sum(p) for n, p in zip(shape, pairs)])

    return Built(block, rule, None, (x.order,))


def _stack(operation: Any) -> Built:
    arrays, axis = operation.arrays, operation.take("axis", default=0)
    first = arrays[0]
    if axis % (first.rank + 1) == 0 or any(x.rank != first.rank for x in arrays):
        raise ValueError(f"stack at axis={axis!r} of shapes {[x.shape for x in arrays]}")
    axis %= first.rank + 1
    block = Rearrange("stack", operation.request.prefix, axis=1)
    order = (0, axis, *(old + (old >= axis) for old in first.order[1:]))

    def rule(*shapes: Shape) -> Shape:
        if len(set(shapes)) != 1:
            raise ValueError(f"arrays of shapes {shapes} do not stack")
        return (*shapes[0][:axis], len(shapes), *shapes[0][axis:])

    return Built(block, rule, order, (first.order,) * len(arrays))


def _split(operation: Any) -> Built:
    count = operation.take("num_or_size_splits", "indices_or_sections")
    axis = operation.take("axis", default=0)
    x = operation.x
    size = x.shape[axis] if isinstance(axis, int) and -x.rank <= axis < x.rank else None
    if not isinstance(count, int) or count < 2 or not size or size % count or axis % x.rank == 0:
        raise ValueError(f"split into {count!r} at axis={axis!r} of shape {x.shape}")
    how = dict(num_outputs=count, axis=x.stored(axis))
    block = Rearrange("split", operation.request.prefix, **how)

    def rule(shape: Shape) -> Shape:
        n = shape[axis]
        return replaced(shape, [axis], [n if n is None else n // count])

    return Built(block, rule, None, (x.order,), more=((rule, x.order),) * (count - 1))


def _blocks(operation: Any) -> Built:
    x, size = operation.x, operation.take("block_size")
    operation.take("data_format")
    if x.rank != 4 or not isinstance(size, int) or size < 1:
        raise ValueError(f"{operation.name} by {size!r} of shape {x.shape}")
    deep = operation.name == "space_to_depth"
    order = (0, 3, 1, 2)
    block = Rearrange(operation.name, operation.request.prefix, block_size=size)

    def rule(shape: Shape) -> Shape:
        _, rows, columns, channels = shape
        if deep:
            return (
                None,
                rows and rows // size,
                columns and columns // size,
                channels and channels * size**2,
            )
        return None, rows and rows * size, columns and columns * size, channels and channels // size**2

    return Built(block, rule, order, (order,))


BUILDERS: Tuple[Tuple[Sequence[str], Callable[[Any], Built]], ...] = (
    (("getitem", "get_item"), _slice),
    (("reshape",), _reshape),
    (("transpose",), _transpose),
    (("expand_dims",), _expand_dims),
    (("squeeze",), _squeeze),
    (("pad",), _pad),
    (("stack",), _stack),
    (("split",), _split),
    (("depth_to_space", "space_to_depth"), _blocks),
)
