"""Numbers that are computed from sizes, as trees for functions of arrays, and lengths of lines."""

import math
import operator
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from ...importing import functions
from ..arguments import Unsupported, limit
from ..values import NO_BATCH, Size, Value
from .registry import Request

#: How a count was computed by which an array is broadcast to a size, which is the only operand.
BROADCAST = "broadcast"

#: Sizes up to this one, and some larger ones, for which a computed size has to follow a rule.
_NEAR = 1024
_TRIALS = (*range(1, _NEAR + 1), *(2**i + more for i in range(11, 21) for more in (-1, 0, 1)))

#: Functions of numbers that were computed from sizes.
OF_NUMBERS = dict(add=operator.add, subtract=operator.sub, multiply=operator.mul, mod=operator.mod)
OF_NUMBERS.update(floor_divide=operator.floordiv, divide=operator.truediv, maximum=max, minimum=min)
OF_NUMBERS.update(power=math.pow)
OF_ONE: Dict[str, Any] = dict(sqrt=math.sqrt, rsqrt=lambda x: x**-0.5, negative=operator.neg)
OF_ONE.update(ceil=math.ceil, floor=math.floor)


def number_of(request: Request, rank: int, size: Any, to: str = "float32") -> Value:
    """Return a number that is computed from sizes as an array, with one element along each axis."""
    arrays: List[Value] = []
    tree = tree_of(size, arrays)
    how: Any = dict(rule=lambda *_: (1,) * rank, tree=tree, rank=rank, to=to)
    return request.derive(functions.of_sizes, *arrays, **how)._replace(rows=NO_BATCH, dtype=to)


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
    """Return an array with as many elements as a size.

    Its graph has no operators whose results have sizes by numbers, unless the size is computed otherwise
    than by one division, factors and sums.
    """
    arrays: List[Value] = []
    function: Any = functions.line_of_sizes
    try:
        how: Any = length_of(size, arrays)
    except Unsupported:
        function, arrays, how = functions.line_of, [number_of(request, 1, size)], dict(i=0)
    line = request.derive(function, *arrays, rule=lambda *_: (size.saved,), **how)
    return line._replace(free=(None,), rows=NO_BATCH)


def length_of(size: Any, arrays: List[Value]) -> Dict[str, Any]:
    """Return a size as arguments of ``line_of_sizes``; raise if it is computed otherwise."""
    try:
        return _length(tree_of(size, arrays))
    except (ArithmeticError, ValueError) as error:
        if isinstance(error, Unsupported):
            raise
        raise Unsupported(f"a size for which not all sizes have a number: {error}") from error


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
        if step > 1 and rest >= factor:  # MXNet cannot repeat the empty part of a line that is too short
            more, rest = int(more + rest // factor * step), rest % factor
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
    return {**OF_NUMBERS, **OF_ONE}[name](*(_value(each, n) for each in operands))


def is_negative(size: Size) -> bool:
    """Return whether a computed size is negative, whether those of arrays are small or large."""
    tree = tree_of(size, [])
    return all(_value(tree, n) < 0 for n in (_NEAR, _TRIALS[-1]))


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
