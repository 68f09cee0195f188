"""Slices, reshapes, transposes and splits."""

from typing import Any, List, Optional, Tuple

from ...importing import functions
from ..arguments import Unsupported
from ..values import Shape, channels_first
from .core import permuted, reshaped
from .operations import Operation
from .registry import Lowered, computes

_WHOLE = (None, None, 1)


@computes("getitem")
def _slice(operation: Operation) -> Lowered:
    given = operation.take("slice_spec")
    if given is None and len(operation.operands) == 2:
        given = operation.operands.pop()
    x = operation.x
    given = _spelled_out(given if isinstance(given, list) else [given], x.rank)
    parts: List[Tuple[Optional[int], Optional[int], int]] = []
    dropped = []
    kept: List[Optional[int]] = []  # the input's axis for each axis of the result, None for a new one
    for part in given:
        if part is None:
            kept.append(None)
        elif isinstance(part, int) and not isinstance(part, bool):
            dropped.append(len(parts))
            parts.append((part, part + 1 or None, 1))
        else:
            kept.append(len(parts))
            parts.append(_bounds(part))
    if parts[0] != _WHOLE or kept[0] != 0:
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
        return tuple(1 if axis is None else sizes[axis] for axis in kept)

    added = [place for place, axis in enumerate(kept) if axis is None]
    axes = (0, *added, *(kept.index(axis) for axis in x.axes[1:] if axis in kept))
    block = operation.function(
        functions.slices,
        parts=[parts[axis] for axis in x.axes],
        dropped=tuple(sorted(map(x.stored, dropped))),
        added=len(added),
    )
    return Lowered(block, axes, (), rule, nonnegative=x.nonnegative)


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


@computes("reshape")
def _reshape(operation: Operation) -> Lowered:
    target = operation.take("shape", "newshape")
    if not isinstance(target, list) or target[:1] != [-1] or -1 in target[1:]:
        raise Unsupported(f"reshape to {target!r}: only (-1, sizes) is supported")
    return reshaped(operation.request, operation.x, target[1:])


@computes("transpose")
def _transpose(operation: Operation) -> Lowered:
    operation.take("conjugate")
    axes = operation.take("perm", "axes")
    x = operation.x
    if not isinstance(axes, list) or sorted(axes) != list(range(x.rank)) or axes[0] != 0:
        raise Unsupported(f"transpose by {axes!r}: the batch must stay first")
    return permuted(x, axes)


@computes("expand_dims")
def _expand_dims(operation: Operation) -> Lowered:
    x, axis = operation.x, operation.take("axis")
    if not isinstance(axis, int) or not -x.rank <= axis <= x.rank or axis % (x.rank + 1) == 0:
        raise ValueError(f"expand_dims at axis={axis!r}")
    return Lowered(operation.function("expand_dims", axis=1), x.axes_with(axis % (x.rank + 1)))


@computes("squeeze")
def _squeeze(operation: Operation) -> Lowered:
    x, given = operation.x, operation.take("axis")
    axes = x.places(given)
    if not axes:
        raise ValueError(f"squeeze of axis={given!r}")

    def rule(shape: Shape) -> Shape:
        if any(shape[a] not in (1, None) for a in axes):
            raise ValueError(f"axes {axes} of shape {shape} have more than one element")
        return tuple(n for a, n in enumerate(shape) if a not in axes)

    block = operation.function("squeeze", axis=tuple(sorted(map(x.stored, axes))))
    return Lowered(block, x.axes_without(axes), (), rule)


@computes("pad")
def _pad(operation: Operation) -> Lowered:
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
    width = [(0, 0), *(tuple(pairs[axis]) for axis in x.axes[1:])]
    return Lowered(
        operation.function(functions.pad, pairs=width, value=float(value or 0), native=True), None
    )


@computes("stack")
def _stack(operation: Operation) -> Lowered:
    arrays, axis = operation.arrays, operation.take("axis", default=0)
    first = arrays[0]
    if axis % (first.rank + 1) == 0 or any(x.rank != first.rank for x in arrays):
        raise ValueError(f"stack at axis={axis!r} of shapes {[x.shape for x in arrays]}")
    if len({x.shape for x in arrays}) != 1:
        raise ValueError(f"arrays of shapes {[x.shape for x in arrays]} do not stack")
    axes = first.axes_with(axis % (first.rank + 1))
    return Lowered(operation.function("stack", axis=1), axes, (first.axes,) * len(arrays))


@computes("split")
def _split(operation: Operation) -> Lowered:
    count = operation.take("num_or_size_splits", "indices_or_sections")
    axis = operation.take("axis", default=0)
    x = operation.x
    size = x.shape[axis] if isinstance(axis, int) and -x.rank <= axis < x.rank else None
    if not isinstance(count, int) or count < 2 or not size or size % count or axis % x.rank == 0:
        raise ValueError(f"split into {count!r} at axis={axis!r} of shape {x.shape}")
    block = operation.function("split", num_outputs=count, axis=x.stored(axis))
    return Lowered(block, None, more_axes=(x.axes,) * (count - 1))


@computes("depth_to_space", "space_to_depth")
def _blocks(operation: Operation) -> Lowered:
    x, size = operation.x, operation.take("block_size")
    operation.take("data_format")
    if x.rank != 4 or not isinstance(size, int) or size < 1:
        raise ValueError(f"{operation.name} by {size!r} of shape {x.shape}")
    axes = channels_first(4)
    return Lowered(operation.function(operation.name, block_size=size), axes, (axes,))
