"""Numbers that are computed from sizes of arrays, and constant arrays of such sizes."""

import math
from dataclasses import replace
from functools import partial, reduce
from typing import Any, Dict, List, Tuple

import numpy as np

from ...geometry import MOST
from ...importing import functions
from ..arguments import MOST_ELEMENTS, Unsupported, limit
from ..values import NO_BATCH, Size, Value, keras_order
from .lengths import BROADCAST, OF_NUMBERS, OF_ONE, line_of

#: Functions of sizes that return constant arrays, with the names of their arguments.
MADE: Dict[str, Any] = dict(ones=("shape", "dtype"), zeros=("shape", "dtype"), fill=("dims", "value"))
MADE.update(broadcast_to=("input", "shape"), tile=("input", "multiples"))
MADE.update(range=("start", "limit", "delta", "dtype"), linspace=("start", "stop", "num"))
MADE.update(eye=("num_rows", "num_columns"))

_OTHERWISE = "where of numbers that are computed otherwise than in keras.backend.switch"

#: Functions of lists of sizes.
_OF_LISTS: Dict[str, Any] = dict(
    concatenate=lambda parts: [n for part in parts for n in part],
    ones_like=lambda x: [1] * len(x),
    prod=lambda x: reduce(partial(combined, "multiply"), x, 1),
    unstack=tuple,
)

#: Most steps by which a number is computed from sizes.
_MOST_STEPS = 64


def computed(name: str, args: List[Any], kwargs: Dict[str, Any]) -> Any:
    """Return the result of a function of numbers, some of which are sizes; a tuple if it has several."""
    x: Any = args[0] if args else None
    y: Any = args[1] if len(args) > 1 else kwargs.get("y")
    if name == "cast" and "float" not in str([*args[1:], kwargs]):  # which truncates
        name, *parts = x.how if isinstance(x, Size) and x.how else (name,)
        if name == "divide" and isinstance(parts[0], Size) and parts[0].source and is_whole(parts[1]):
            return combined("floor_divide", *parts)
        if isinstance(x, Size) and is_whole(x):
            return x
        return replace(x, how=None) if isinstance(x, Size) else int(x) if isinstance(x, float) else x
    if name in ("cast", "identity", "convert_to_tensor"):
        return x
    if name == "stack" and isinstance(x, list):
        if any(isinstance(n, list) for n in x):
            raise Unsupported("stack of lists of sizes")
        return x
    if name in _OF_LISTS and isinstance(x, list):
        return _OF_LISTS[name](x)
    if name == "getitem" and isinstance(x, list):
        given = kwargs.get("slice_spec", y)
        parts = [
            slice(*((part.get("config") or part).get(n) for n in ("start", "stop", "step")))
            if isinstance(part, dict)
            else part
            for part in (given if isinstance(given, list) else [given])
        ]
        return x[parts[0]] if len(parts) == 1 else np.array(x)[tuple(parts)].tolist()
    if name in OF_ONE and isinstance(x, Size):
        return _stepped(Size(x.saved and OF_ONE[name](x.saved)), name, x)
    if name in OF_ONE and isinstance(x, (int, float)):
        return OF_ONE[name](x)
    if name in OF_NUMBERS and y is not None:
        if isinstance(x, list) or isinstance(y, list):
            pairs = zip(*(v if isinstance(v, list) else [v] * len(w) for v, w in ((x, y), (y, x))))
            return [combined(name, *pair) for pair in pairs]
        return combined(name, x, y)
    if name == "greater" and isinstance(x, list) and y == 0:  # of K.switch, which repeats its condition
        return [(name, n) for n in x]
    if name == "where" and isinstance(x, list):
        given = [args[1], args[2]] if len(args) > 2 else [kwargs.get("x"), kwargs.get("y", y)]
        if not all(isinstance(each, list) and len(each) == len(x) for each in given):
            raise Unsupported(_OTHERWISE)
        return [*map(_repeats, x, *given)]
    raise Unsupported(f"{name} of what is not an array of the model")


def combined(name: str, x: Any, y: Any) -> Any:
    """Return a function of two numbers or sizes, which is a size if one of them is."""
    one, other = (n.saved if isinstance(n, Size) else n for n in (x, y))
    if not all(n is None or isinstance(n, (int, float)) and abs(n) <= MOST**2 for n in (one, other)):
        raise Unsupported(f"{name} of {x!r} and {y!r}")
    saved = None if one is None or other is None else OF_NUMBERS[name](one, other)
    if not isinstance(x, Size) and not isinstance(y, Size):
        return saved
    size, number = (x, y) if isinstance(x, Size) else (y, x)
    if name == "multiply" and isinstance(number, int):
        return _stepped(Size(saved, size.source, size.times * number), name, x, y)
    same = number == 1 and name in ("floor_divide", "divide") and size is x
    return _stepped(Size(saved, size.source if same else None, size.times), name, x, y)


def _repeats(condition: Any, size: Any, other: Any) -> Any:
    """Return a size if it is greater than another one, else 1: the count by which to broadcast."""
    name, rest = condition if isinstance(condition, tuple) else (None, None)
    if name != "greater" or other != 1 or not isinstance(rest, (int, Size)):
        raise Unsupported(_OTHERWISE)
    if isinstance(rest, int):
        return size if rest > 0 else 1
    if not rest.how or rest.how[:2] != ("subtract", size) or not size.source or size.times != 1:
        raise Unsupported(_OTHERWISE)
    return Size(None, how=(BROADCAST, size))


def _stepped(size: Size, name: str, *operands: Any) -> Size:
    """Return a size with the step that computes it."""
    steps = 1 + sum(each.steps for each in operands if isinstance(each, Size))
    rounds = name in ("floor_divide", "mod") and not all(map(is_whole, operands))
    how = None if rounds or steps > _MOST_STEPS else (name, *operands)
    return replace(size, how=how, steps=steps)


def is_whole(number: Any) -> bool:
    """Return whether a number or size is whole at all sizes: others are rounded as their dtype is."""
    if not isinstance(number, Size):
        return number % 1 == 0
    if number.source is not None or number.how is None:
        return number.source is not None
    name, *operands = number.how
    if name in ("ceil", "floor"):
        return True
    return name not in ("divide", "power", "sqrt", "rsqrt") and all(map(is_whole, operands))


def constant_array(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a constant array with sizes of other arrays, such as a token for each sample."""
    given = {**dict(zip(MADE[op.name], args)), **kwargs}
    own: Any = dict(range=_range, linspace=_linspace, eye=_eye).get(op.name)
    if own is not None:
        return own(op, **given)
    named = [given.pop(name) for name in ("shape", "dims", "multiples") if name in given]
    sizes: Any = named[0] if len(named) == 1 and isinstance(named[0], list) else [None]
    content = given.pop("input", given.pop("value", float(op.name == "ones")))
    given.pop("name", None)
    kind = given.pop("dtype", None) or ("int32" if np.asarray(content).dtype.kind in "iu" else "float32")
    left = given if kind in ("float32", "int32") else {**given, "dtype": kind}
    if left or len(args) > len(MADE[op.name]):
        raise Unsupported(f"{op.name} with {left or list(args)}")
    fits = all(isinstance(n, Size) or (type(n) is int and n > 0) for n in sizes)
    if not fits or len(sizes) < np.ndim(content):
        raise Unsupported(f"{op.name}: its sizes are not whole numbers, one for each axis")
    fixed = [1 if isinstance(n, Size) else n for n in sizes]
    made = np.tile if op.name == "tile" else np.broadcast_to
    limit(f"{op.name} of {fixed}", math.prod(fixed), MOST_ELEMENTS)
    array = made(np.array(content, kind), fixed)
    if sizes == fixed:
        return array.tolist()
    axes = [axis for axis, n in enumerate(sizes) if isinstance(n, Size)]
    if any(array.shape[axis] != 1 for axis in axes):
        raise Unsupported(f"{op.name} to {sizes} of shape {array.shape}")
    simple = {axis: sizes[axis].source if sizes[axis].times == 1 else None for axis in axes}
    sources = {axis: like or (line_of(op, sizes[axis]), 0) for axis, like in simple.items()}
    of_batch = [axis for axis, (x, place) in sources.items() if place == 0 and x.rows != NO_BATCH]
    if of_batch not in ([], [0]):
        raise Unsupported(f"{op.name}: a size that is that of a batch must be the first")
    return repeated(op, array, sources)._replace(gives=kind)


def repeated(op: Any, x: Any, sources: Dict[int, Tuple[Value, int]]) -> Any:
    """Repeat axes with one element of an array or constant to the sizes of axes of arrays."""
    likes = [like for like, _ in sources.values()]
    fixed = not isinstance(x, Value)
    axes, own, rows = (keras_order(x.ndim), [], NO_BATCH) if fixed else (x.axes, [x.axes], x.rows)

    def rule(*shapes: Any) -> Any:
        shape, *wholes = (x.shape, *shapes) if fixed else shapes
        sizes = {axis: whole[place] for whole, (axis, (_, place)) in zip(wholes, sources.items())}
        return tuple(sizes.get(axis, n) for axis, n in enumerate(shape))

    like, place = sources.get(0, (None, 1))
    places = tuple((axes.index(axis), like.stored(place)) for axis, (like, place) in sources.items())
    fields: Any = dict(input_axes=(*own, *(each.axes for each in likes)), rule=rule, takes=None)
    fields.update(rows=like.rows if like and place == 0 else rows, order=axes)
    return op.lowered(functions.as_large, x, *likes, axes=places, **fields)


def _range(
    op: Any, start: Any, limit: Any = None, delta: Any = 1, dtype: Any = "int32", name: Any = None
) -> Any:
    """Return the numbers of a range that ends at a computed size."""
    first, end = (0, start) if limit is None else (start, limit)
    if not all(type(n) is int for n in (first, delta)) or delta < 1 or type(end) not in (int, Size):
        raise Unsupported(f"{op.name} from {first!r} to {end!r} by {delta!r}")
    if dtype not in (None, "int32", "int64", "float32"):
        raise Unsupported(f"{op.name} of {dtype}")
    if type(end) is int:  # a size that does not change
        return _numbers(op, range(first, end, delta), dtype or "int32")
    count = combined("add", end, delta - 1 - first) if delta - 1 != first else end
    line = line_of(op, combined("floor_divide", count, delta) if delta > 1 else count)
    how: Any = dict(axis=0, start=first, step=delta, to=dtype or "int32", gives=dtype or "int32")
    return op.lowered(functions.arange_along, line, order=(0,), takes=None, **how)


def _numbers(op, numbers, dtype):
    limit(f"{op.name} to {numbers.stop}", len(numbers), MOST_ELEMENTS)
    return np.array(numbers, dtype).tolist()


def _linspace(op: Any, start: Any, stop: Any, num: Any, name: Any = None, axis: int = 0) -> Any:
    """Return evenly spaced numbers, as many as a computed size."""
    if not all(isinstance(n, float) for n in (start, stop)) or not isinstance(num, Size):
        raise Unsupported(f"{op.name} from {start!r} to {stop!r} by {num!r}")
    how: Any = dict(start=start, stop=stop, takes=None)
    return op.lowered(functions.spaced_along, line_of(op, num), order=(0,), **how)


def _eye(op: Any, num_rows: Any, num_columns: Any = None, dtype: Any = None, name: Any = None) -> Any:
    """Return an identity matrix of a computed size."""
    sizes = [num_rows, num_rows if num_columns is None else num_columns]
    if not all(isinstance(n, Size) for n in sizes) or dtype not in (None, "float32"):
        raise Unsupported(f"{op.name} of shape {sizes} and dtype {dtype}")
    lines = [line_of(op, n) for n in sizes]
    how: Any = dict(order=(0, 1), rule=lambda *shapes: tuple(n for (n,) in shapes), takes=None)
    return op.lowered(functions.identity_matrix, *lines, **how)
