"""Products of matrices, and Einstein's sums."""

import itertools
import string
from typing import Any, List, Optional, Sequence, Tuple

from .normalizations import unit_norm
from .rearranging import merge_axes

Labels = Tuple[Any, ...]  #: a label for each axis of an array


def einsum_labels(
    equation: str, shapes: Sequence[Sequence[Optional[int]]]
) -> Tuple[List[Labels], Labels]:
    """Return the labels of each operand and of the result of an equation, as in :func:`numpy.einsum`.

    Axes of an ellipsis are numbered from the last one. Axes of size 1 that broadcast are summed: they
    receive labels of their own.

    Raises
    ------
    ValueError
        If the equation does not fit the operands.
    """
    ranks = [len(shape) for shape in shapes]
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"equation {equation!r} has {len(terms)} operands, and {len(ranks)} were given")

    def expand(term: str, count: int) -> Labels:
        first, dots, last = term.partition("...")
        return (*first, *(range(count - 1, -1, -1) if dots else ()), *last)

    counts = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks)]
    labels = [expand(*pair) for pair in zip(terms, counts)]
    if [len(each) for each in labels] != list(ranks):
        raise ValueError(f"equation {equation!r} does not fit operands with {list(ranks)} axes")
    if not arrow:
        once = sorted({label for label in left if label.isalpha() and left.count(label) == 1})
        right = "..." * ("..." in left) + "".join(once)
    out = expand(right, max(counts))
    if len(set(out)) < len(out) or not set(out) <= {label for each in labels for label in each}:
        raise ValueError(f"equation {equation!r} has a result with repeated or unknown labels")
    wide = {label for each, shape in zip(labels, shapes) for label, n in zip(each, shape) if n != 1}
    for i, shape in enumerate(shapes):
        pairs = zip(labels[i], shape)
        labels[i] = tuple((i, label) if n == 1 and label in wide else label for label, n in pairs)
    return labels, out


def matmul_labels(
    one: Sequence[Optional[int]], other: Sequence[Optional[int]]
) -> Tuple[List[Labels], Labels]:
    """Return the labels for the product of arrays of two shapes, as in :func:`numpy.matmul`."""
    rows, columns = "i" * (len(one) > 1), "k" * (len(other) > 1)
    dots = ["..." * bool(each) for each in (rows, columns)]
    equation = f"{dots[0]}{rows}j,{dots[1]}j{columns}->{max(dots)}{rows}{columns}"
    return einsum_labels(equation, (one, other))


def einsum(F: Any, *arrays: Any, labels: Sequence[Labels], out: Labels) -> Any:
    """Multiply arrays whose axes have labels, and sum along all axes whose label is not in ``out``.

    Axes with the same label must have the same size.
    """
    x, named = arrays[0], labels[0]
    for i, other in enumerate(arrays[1:], 1):
        kept = {label for each in (*labels[i + 1 :], out) for label in each}
        x, named = _product(F, (x, other), (named, labels[i]), kept)
    x, named = _summed(F, x, named, set(out))
    return _ordered(F, x, named, out)


def whole_einsum(F: Any, x: Any, *arrays: Any, labels: Sequence[Labels], out: Labels) -> Any:
    """Return :func:`einsum` of whole numbers, which MXNet's other products round."""
    if not out:  # a result without axes has one of size 1
        x, labels, out = F.expand_dims(x, axis=-1), ((*labels[0], None), *labels[1:]), (None,)
    letters = dict(zip(dict.fromkeys(itertools.chain(*labels)), string.ascii_letters))
    *terms, result = ("".join(map(letters.__getitem__, each)) for each in (*labels, out))
    operands = (each.as_np_ndarray() for each in (x, *arrays))
    return F.np.einsum(f"{','.join(terms)}->{result}", *operands).as_nd_ndarray()


def _ordered(F, x, named, wanted):
    axes = [named.index(label) for label in wanted]
    return x if axes == sorted(axes) else F.transpose(x, axes=axes)


def _summed(F, x, named, kept):
    """Take diagonals of repeated labels, and sum along the axes that are not kept."""
    for label in [label for i, label in enumerate(named) if label in named[:i]]:
        first = named.index(label)
        second = named.index(label, first + 1)
        x = F.diag(x, axis1=first, axis2=second)  # the diagonal becomes the last axis
        named = (*(each for i, each in enumerate(named) if i not in (first, second)), label)
    axes = tuple(i for i, label in enumerate(named) if label not in kept)
    if axes:
        x = F.sum(x, axis=axes)
    return x, tuple(label for label in named if label in kept)


def _product(F, pair, names, kept):
    """Return the product of two arrays and its labels."""
    triples = zip(pair, names, reversed(names))
    pair, names = zip(*(_summed(F, x, named, kept | set(other)) for x, named, other in triples))
    both = [label for label in names[0] if label in names[1]]
    batch = [label for label in both if label in kept]
    inner = [label for label in both if label not in kept]
    free = [[label for label in named if label not in both] for named in names]
    matrices, turned, like = [], [], []
    for x, named, outer, turns in zip(pair, names, free, (False, True)):
        # A matrix is multiplied as it is stored if possible, else in the order that is faster.
        orders = [(outer, inner), (inner, outer)]
        order = next((o for o in orders if [*batch, *o[0], *o[1]] == list(named)), orders[turns])
        turned.append((order[0] is outer) == turns)
        if named:
            x = _ordered(F, x, named, [*batch, *order[0], *order[1]])
            like.append((x, len(batch) if order[0] is outer else len(batch) + len(inner)))
            x = merge_axes(F, x, len(batch) + len(order[0]), len(order[1]), len(named))
        else:
            like.append((x, 0))
        matrices.append(merge_axes(F, x, len(batch), len(order[0]), len(batch) + len(order[0]) + 1))
    y = (F.batch_dot if batch else F.dot)(*matrices, transpose_a=turned[0], transpose_b=turned[1])
    for axis, outer, (x, begin) in reversed([*zip((len(batch), len(batch) + 1), free, like)]):
        if not outer:
            y = F.squeeze(y, axis=axis)
        elif len(outer) > 1:
            ends = dict(lhs_begin=axis, lhs_end=axis + 1, rhs_begin=begin, rhs_end=begin + len(outer))
            y = F.reshape_like(y, x, **ends)
    return y, (*batch, *free[0], *free[1])


def log_determinant(F: Any, x: Any, signed: bool) -> Any:
    """Return the logarithm of the absolute determinant, behind its sign if ``signed``."""
    sign, logarithm = F.linalg_slogdet(x)
    return [sign, logarithm] if signed else logarithm


def solve(F: Any, a: Any, b: Any, vector: bool, lower: Optional[bool], adjoint: bool) -> Any:
    """Return x of ``a @ x = b``, or of ``a.T @ x = b`` if ``adjoint``.

    ``lower`` is that of triangular matrices, else None.
    """
    b = F.expand_dims(b, axis=-1) if vector else b
    if lower is None:
        x = F.linalg_gemm2(F.linalg_inverse(a), b, transpose_a=adjoint)
    else:
        x = F.linalg_trsm(a, b, lower=lower, transpose=adjoint)
    return F.squeeze(x, axis=-1) if vector else x


def scores(F: Any, x: Any, size: int, cap: Optional[float], **weights: Any) -> Any:
    """Multiply by the rows of the only weight, and limit the results to a range of ``cap``."""
    y = F.FullyConnected(x, *weights.values(), num_hidden=size, no_bias=True, flatten=False)
    return y if cap is None else F.tanh(y / cap) * cap


def dot(F: Any, a: Any, b: Any, axes: Tuple[int, int], ranks: Tuple[int, int], normalize: bool) -> Any:
    """Multiply batches of arrays along one axis of each, counted from 1; return two axes or more.

    ``normalize`` scales the vectors along the axes to unit length first.
    """
    if normalize:
        a, b = (unit_norm(F, x, axis) for x, axis in zip((a, b), axes))
    named = [(0, *range(1, ranks[0])), (0, *range(ranks[0], sum(ranks) - 1))]
    named[1] = tuple(axes[0] if axis == axes[1] else label for axis, label in enumerate(named[1]))
    out = (0, *(label for label in (*named[0][1:], *named[1][1:]) if label != axes[0]))
    y = einsum(F, a, b, labels=named, out=out)
    return F.expand_dims(y, axis=1) if len(out) == 1 else y


def cross(F: Any, x: Any, y: Any, axis: int) -> Any:
    """Return the vectors that are perpendicular to two, of three elements along an axis."""
    (a, b, c), (d, e, f) = (F.split(each, num_outputs=3, axis=axis) for each in (x, y))
    pairs = ((b, f, c, e), (c, d, a, f), (a, e, b, d))
    parts = [F.broadcast_mul(p, q) - F.broadcast_mul(r, s) for p, q, r, s in pairs]
    return F.concat(*parts, dim=axis)
