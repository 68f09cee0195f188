"""Numbers that are computed from sizes of arrays, and constant arrays of such sizes."""

import math
import operator
from dataclasses import replace
from functools import partial, reduce
from typing import Any, Dict, Iterator, List, Sequence, Tuple

import numpy as np

from ...geometry import MOST
from ...importing import functions
from ..arguments import MOST_ELEMENTS, Unsupported, limit
from ..values import NO_BATCH, Size, Value, keras_order
from .registry import Request

#: Functions of sizes that return constant arrays, with the names of their arguments.
MADE: Dict[str, Any] = dict(ones=("shape", "dtype"), zeros=("shape", "dtype"), fill=("dims", "value"))
MADE.update(broadcast_to=("input", "shape"), tile=("input", "multiples"))
MADE.update(range=("start", "limit", "delta", "dtype"))

#: How a count was computed by which an array is broadcast to a size, which is the only operand.
BROADCAST = "broadcast"

#: Sizes up to this one, and some larger ones, for which a computed size has to follow a rule.
_NEAR = 1024
_TRIALS = (*range(1, _NEAR + 1), *(2**i + more for i in range(11, 21) for more in (-1, 0, 1)))

#: Most steps by which a number is computed from sizes.
_MOST_STEPS = 64

#: Functions of numbers that were computed from sizes.
OF_NUMBERS = dict(add=operator.add, subtract=operator.sub, multiply=operator.mul, mod=operator.mod)
OF_NUMBERS.update(floor_divide=operator.floordiv, divide=operator.truediv, maximum=max, minimum=min)
OF_NUMBERS.update(power=math.pow)
_OF_NUMBER: Dict[str, Any] = dict(sqrt=math.sqrt, rsqrt=lambda x: x**-0.5, negative=operator.neg)
_OF_NUMBER.update(ceil=math.ceil, floor=math.floor)


def computed(name: str, args: List[Any], kwargs: Dict[str, Any]) -> Any:
    """Return the result of a function of numbers, some of which are sizes; a tuple if it has several."""
    x: Any = args[0] if args else None
    y: Any = args[1] if len(args) > 1 else kwargs.get("y")
    if name == "cast" and "float" not in str([*args[1:], kwargs]):  # which truncates
        name, *parts = x.how if isinstance(x, Size) and x.how else (name,)
        if name == "divide" and isinstance(parts[0], Size) and parts[0].source and _is_whole(parts[1]):
            return combined("floor_divide", *parts)
        if isinstance(x, Size) and _is_whole(x):
            return x
        return replace(x, how=None) if isinstance(x, Size) else int(x) if isinstance(x, float) else x
    if name in ("cast", "identity", "convert_to_tensor"):
        return x
    if name == "stack" and isinstance(x, list):
        if any(isinstance(n, list) for n in x):
            raise Unsupported("stack of lists of sizes")
        return x
    if name == "concatenate" and isinstance(x, list):
        return [n for part in x for n in part]
    if name == "getitem" and isinstance(x, list):
        part = kwargs.get("slice_spec", y)
        part = part[0] if isinstance(part, list) and len(part) == 1 else part
        if isinstance(part, dict):
            part = slice(*((part.get("config") or part).get(n) for n in ("start", "stop", "step")))
        return x[part]
    if name == "unstack" and isinstance(x, list):
        return tuple(x)
    if name in _OF_NUMBER and isinstance(x, Size):
        return _stepped(Size(x.saved and _OF_NUMBER[name](x.saved)), name, x)
    if name in _OF_NUMBER and isinstance(x, (int, float)):
        return _OF_NUMBER[name](x)
    if name == "prod" and isinstance(x, list):
        return reduce(partial(combined, "multiply"), x, 1)
    if name in OF_NUMBERS and y is not None:
        if isinstance(x, list) or isinstance(y, list):
            pairs = zip(*(v if isinstance(v, list) else [v] * len(w) for v, w in ((x, y), (y, x))))
            return [combined(name, *pair) for pair in pairs]
        return combined(name, x, y)
    if name == "ones_like" and isinstance(x, list):
        return [1] * len(x)
    if name == "greater" and isinstance(x, list) and y == 0:  # of K.switch, which repeats its condition
        return [(name, n) for n in x]
    if name == "where" and isinstance(x, list):
        given = [args[1], args[2]] if len(args) > 2 else [kwargs.get("x"), kwargs.get("y", y)]
        if not all(isinstance(each, list) and len(each) == len(x) for each in given):
            raise Unsupported(
                "where of numbers that are computed otherwise than in keras.backend.switch"
            )
        return [*map(_repeats, x, *given)]
    if name == "einsum":
        raise Unsupported(
            "Keras 2 does not save the operands of tf.einsum: use EinsumDense or tf.matmul"
        )
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
        raise Unsupported("where of numbers that are computed otherwise than in keras.backend.switch")
    if isinstance(rest, int):
        return size if rest > 0 else 1
    if not rest.how or rest.how[:2] != ("subtract", size) or not size.source or size.times != 1:
        raise Unsupported("where of sizes that are compared otherwise than in keras.backend.switch")
    return Size(None, how=(BROADCAST, size))


def _stepped(size: Size, name: str, *operands: Any) -> Size:
    """Return a size with the step that computes it."""
    steps = 1 + sum(each.steps for each in operands if isinstance(each, Size))
    rounds = name in ("floor_divide", "mod") and not all(map(_is_whole, operands))
    how = None if rounds or steps > _MOST_STEPS else (name, *operands)
    return replace(size, how=how, steps=steps)


def _is_whole(number: Any) -> bool:
    """Return whether a number or size is whole at all sizes: others are rounded as their dtype is."""
    if not isinstance(number, Size):
        return number % 1 == 0
    if number.source is not None or number.how is None:
        return number.source is not None
    name, *operands = number.how
    if name in ("ceil", "floor"):
        return True
    return name not in ("divide", "power", "sqrt", "rsqrt") and all(map(_is_whole, operands))


def number_of(request: Request, rank: int, size: Size) -> Value:
    """Return a number that is computed from sizes as an array, with one element along each axis."""
    arrays: List[Value] = []
    tree = tree_of(size, arrays)
    shape = (1,) * rank
    found = request.derive(functions.of_sizes, *arrays, rule=lambda *_: shape, tree=tree, rank=rank)
    return found._replace(rows=NO_BATCH)


def tree_of(size: Any, arrays: List[Value]) -> Any:
    """Return a number or size as a tree for ``of_sizes``, and append the arrays whose sizes it has."""
    if not isinstance(size, Size):
        return float(size)
    if size.source is not None:
        x, axis = size.source
        arrays.extend([] if x in arrays else [x])
        return arrays.index(x), axis, size.times
    if size.how is None or size.how[0] == BROADCAST:
        raise Unsupported("a number that is computed from sizes by many steps, or rounded")
    name, *operands = size.how
    return (name, *(tree_of(each, arrays) for each in operands))


def sourced(request: Request, size: Size) -> Size:
    """Return a size as that of an array, which is computed if there is none."""
    return size if size.source is not None else Size(size.saved, (line_of(request, size), 0))


def line_of(request: Request, size: Size) -> Value:
    """Return an array with as many elements as a size."""
    arrays: List[Value] = []
    how: Any = dict(rule=lambda *_: (size.saved,), **length_of(size, arrays))
    line = request.derive(functions.line_of_sizes, *arrays, **how)
    return line._replace(free=(None,), rows=NO_BATCH)


def length_of(size: Any, arrays: List[Value]) -> Dict[str, Any]:
    """Return a size as arguments of ``line_of_sizes``; raise if it is computed otherwise."""
    return _length(tree_of(size, arrays))


def _length(whole: Any) -> Dict[str, Any]:
    parts: Dict[Any, float] = {}
    _add_up(whole, 1, parts)
    of_each: Dict[Any, Any] = {}
    products: List[Any] = []
    for tree, factor in parts.items():
        sources = tuple({*_sources_of(tree)})
        if len(sources) > 1 and tree[0] == "multiply" and factor > 0:
            one, other = tree[1:]
            products.append((_length(one), _length(("multiply", other, float(factor)))))
            continue
        if len(sources) > 1:
            raise Unsupported("a size that is computed otherwise than by sums and whole factors")
        of_each.setdefault(sources, []).append((tree, factor))
    rest, terms = sum(tree * factor for tree, factor in of_each.pop((), [])), products
    for (source,), trees in of_each.items():
        factor, more, step, extra = _fitted(trees)
        rest += extra
        terms.extend([(*source, more, step, factor)] if factor else [])
    if not terms and rest < 1 or rest % 1:
        raise Unsupported(f"a size that is computed as {rest}")
    numbers = (n for term in terms for n in term if isinstance(n, int))
    limit("a size that is computed", int(max(map(abs, (rest, *numbers)))))
    return dict(terms=tuple(terms), rest=int(rest))


def _add_up(tree: Any, factor: float, parts: Dict[Any, float]) -> None:
    """Add a tree, times a factor, to a sum of trees, in which equal ones cancel each other."""
    name, *operands = tree if isinstance(tree, tuple) else (None,)
    numbers = [x for x in operands if isinstance(x, float)]
    signs = {"add": (1, 1), "subtract": (1, -1), "negative": (-1,)}.get(name)
    if signs:
        for sign, each in zip(signs, operands):
            _add_up(each, sign * factor, parts)
    elif name == "multiply" and numbers:
        _add_up(operands[operands[0] == numbers[0]], factor * numbers[0], parts)
    else:
        parts[tree] = parts.get(tree, 0) + factor
        if not parts[tree]:
            del parts[tree]


def _sources_of(tree: Any) -> Iterator[Tuple[int, int]]:
    """Yield the arrays and axes whose sizes are in a tree."""
    if isinstance(tree, tuple) and not isinstance(tree[0], str):
        yield tree[:2]
    elif isinstance(tree, tuple):
        for each in tree[1:]:
            yield from _sources_of(each)


def _value(tree: Any, n: int) -> Any:
    """Return the number of a tree whose sizes are ``n``."""
    if isinstance(tree, float):
        return tree
    name, *operands = tree
    if not isinstance(name, str):
        return n * tree[2]
    return {**OF_NUMBERS, **_OF_NUMBER}[name](*(_value(each, n) for each in operands))


def _fitted(trees: Sequence[Tuple[Any, float]]) -> Tuple[int, int, int, int]:
    """Return ``factor, more, step, rest`` with which a sum is ``(n + more) // step * factor + rest``."""
    sums = {n: sum(_value(tree, n) * factor for tree, factor in trees) for n in _TRIALS}
    jumps = [n for n in range(2, _NEAR) if sums[n] != sums[n - 1]][:2]
    step = jumps[-1] - jumps[0] if len(jumps) > 1 else 1
    factor, more = (sums[jumps[0]] - sums[jumps[0] - 1], -jumps[0] % step) if jumps else (0, 0)
    rest = sums[1] - (1 + more) // step * factor
    fits = all((n + more) // step * factor + rest == total for n, total in sums.items())
    if not fits or factor < 0 or factor % 1 or rest % 1:
        raise Unsupported("a size that is computed otherwise than by one division, factors and sums")
    return int(factor), more, step, int(rest)


def constant_array(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a constant array with sizes of other arrays, such as a token for each sample."""
    given = {**dict(zip(MADE[op.name], args)), **kwargs}
    if op.name == "range":
        return _range(op, **given)
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
    sources = {axis: like or (line_of(op.request, sizes[axis]), 0) for axis, like in simple.items()}
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
    if not all(type(n) is int for n in (first, delta)) or delta < 1 or not isinstance(end, Size):
        raise Unsupported(f"{op.name} from {first!r} to {end!r} by {delta!r}")
    if dtype not in (None, "int32", "int64", "float32"):
        raise Unsupported(f"{op.name} of {dtype}")
    count = combined("add", end, delta - 1 - first) if delta - 1 != first else end
    line = line_of(op.request, combined("floor_divide", count, delta) if delta > 1 else count)
    how: Any = dict(axis=0, start=first, step=delta, to=dtype or "int32", gives=dtype or "int32")
    return op.lowered(functions.arange_along, line, order=(0,), takes=None, **how)
