"""Elements that a mask chooses, and that are placed by a mask, as in ``x[mask] = y[mask]``.

A file has NonZero, GatherND and ScatterND for this, and sizes that follow from the data. Where whole
arrays give the same result, they are computed: nothing is chosen, and ScatterND becomes ``where``.
"""

from typing import Any, Callable, Mapping, Optional, Sequence, Tuple

import numpy as np

from .pending import Pending
from .registry import find
from .values import Data, Known, Shape

#: A number of which functions such as logarithms and quotients are finite, and their slopes, too.
_HARMLESS = 0.5

#: Operators that pick by coordinates, and the form in which they take them.
_PICKING = {"GatherND": "rows", "Gather": "line"}

#: Operators of rows along the last axis, and the default of their axis if that is the last one.
_OF_ROWS = {"Gemm": -1, "LayerNormalization": -1, "LogSoftmax": None, "MatMul": -1, "Softmax": None}


class Places(Pending):
    """Coordinates of the elements of a mask that are not 0.

    Parameters
    ----------
    x : Data
        The mask.
    make
        As for :class:`Pending`.
    form : {'columns', 'rows', 'line'}
        What each element has. A line is that of a mask with one axis.
    """

    def __init__(self, x: Data, make: Callable[[], Data], form: str = "columns"):
        super().__init__(x, make)
        self.form = form


class Chosen(Pending):
    """Elements that a mask chooses from an array, which has all of them.

    Parameters
    ----------
    x : Data
        The array. Without a mask, it is repeated as often as one may choose.
    make
        As for :class:`Pending`.
    mask : Data or None
        It has the first axes of ``x``.
    form : {'rows', 'flat', 'spread'}
        The axes: the chosen one and those behind it; one; or any, with elements that may be repeated.
    """

    def __init__(self, x: Data, make: Callable[[], Data], mask: Optional[Data], form: str = "rows"):
        super().__init__(x, make)
        self.mask, self.form = mask, form


def chosen(
    net: Any, operator: str, function: Callable[..., Any], inputs: Sequence[Any],
    attributes: Mapping[str, Any], call: Callable[[Sequence[Any]], Any],
) -> Any:  # fmt: skip
    """Return the result of the current node if it is about what a mask chooses, else None.

    ``call`` calls the node's converter, ``function``, with inputs.
    """

    def later():
        return call(inputs)

    x, other = (*inputs, None, None)[:2]
    if operator == "NonZero" and isinstance(x, Data) and x.ndim and not x.filled:
        return Places(x, later)
    if isinstance(x, Places):
        form = _moved(operator, x, other, attributes)
        return form and Places(x.x, later, form)
    if operator in _PICKING and isinstance(x, Data) and isinstance(other, Places):
        first = [shape[: other.x.ndim] for shape in x.trials] == other.x.trials
        fits = first and other.form == _PICKING[operator] and not any(attributes.values())
        return Chosen(_kept(net, x, other.x), later, other.x) if fits else None
    if operator == "Expand" and isinstance(other, Data):  # to as many elements as a mask chooses
        whole, mask = (x.x, x.mask) if isinstance(x, Chosen) else (net.array(x), None)
        return Chosen(whole, later, mask, "spread")
    if operator == "Reshape" and isinstance(x, Chosen):
        fits = isinstance(other, Known) and other.first.tolist() == [-1]
        return Chosen(x.x, later, x.mask, "flat" if x.form == "rows" else x.form) if fits else None
    if operator == "Slice" and isinstance(x, Chosen):
        # A part from the first one on has all of them, if as many are placed.
        fits = isinstance(other, Known) and other.first.tolist() == [0] and len(inputs) < 5
        return Chosen(x.x, later, x.mask, "flat") if fits and x.form == "flat" else None
    if operator == "ScatterND" and isinstance(other, Places) and isinstance(inputs[2], Chosen):
        fits = other.form == "rows" and attributes.get("reduction", "none") == "none"
        return _placed(net, net.array(x), other.x, inputs[2]) if fits else None
    # Before operator set 7, axes that broadcast were attributes.
    if any(isinstance(each, Chosen) for each in inputs) and net.opsets.get("", 7) > 6:
        mask = _mask_of(operator, function, inputs, attributes)
        if mask is not None:
            whole = call([each.x if isinstance(each, Chosen) else each for each in inputs])
            return Chosen(whole, later, mask)
    return None


def _moved(operator: str, x: Places, other: Any, attributes: Mapping[str, Any]) -> Optional[str]:
    """Return the form of coordinates whose axes a node moves, or None."""
    axes = attributes.get("axes", attributes.get("perm"))
    axes = other.first.ravel().tolist() if isinstance(other, Known) else axes and [*axes]
    if operator == "Expand" and x.form == "line" and axes is not None and len(axes) == 1:
        return x.form  # to as many, if they are placed
    found = {
        ("Transpose", "columns"): (None, [1, 0]), ("Squeeze", "rows"): ([1], [-1]),
        ("Squeeze", "columns"): ([0], [-2]), ("Unsqueeze", "line"): ([1], [-1]),
    }.get((operator, x.form), ())  # fmt: skip
    if axes not in found or (operator == "Squeeze" and x.x.ndim > 1):
        return None
    return "line" if operator == "Squeeze" else "rows"


def note_base(operator: str, x: Any, y: Any) -> None:
    """Note that a node repeats an array, along axes of size 1 or along new ones at the end."""
    if operator in ("Unsqueeze", "Expand") and type(x) is type(y) is Data and y is not x:
        behind = len(y.trials[0]) - len(x.trials[0])
        wider = operator == "Unsqueeze" and y.trials == [(*s, *[1] * behind) for s in x.trials]
        y.base = x if wider or (operator == "Expand" and not behind) else None


def _kept(net: Any, x: Data, mask: Data) -> Data:
    """Return an array in which a mask keeps what it chooses: the rest has no part in gradients."""
    if x.dtype.kind != "f":
        return x
    where: Any = find("Where", 9)
    return where(net, _wide(net, mask, x), x, Known([np.array(_HARMLESS, x.dtype)]))


def _wide(net: Any, mask: Data, x: Data) -> Data:
    """Return a mask with as many axes as an array."""
    for _ in range(x.ndim - mask.ndim):
        mask = net.call("expand_dims", mask, axis=-1)
    return mask


def _placed(net: Any, x: Data, mask: Data, updates: Chosen) -> Optional[Data]:
    """Return an array with elements that a mask chose, where a mask of its first axes places them."""
    bases = [mask]
    while bases[-1].base is not None:
        bases.append(bases[-1].base)
    if updates.mask is not None:
        fits = updates.mask in bases and updates.x.trials == x.trials
    else:
        own = _from_first_long(updates.x.shape)  # which is repeated whole
        fits = len(own) <= x.ndim - bases[-1].ndim and updates.x.ndim <= x.ndim
        fits = fits and not {1, None}.intersection(own)
    doubts = mask.doubts or x.doubts or updates.x.doubts  # of sizes, which ``where`` does not check
    if not fits or doubts or mask.trials != [shape[: mask.ndim] for shape in x.trials]:
        return None
    where: Any = find("Where", 9)
    return where(net, _wide(net, mask, x), updates.x, x)


def _mask_of(
    operator: str, function: Callable[..., Any], inputs: Sequence[Any], attributes: Mapping[str, Any]
) -> Optional[Data]:
    """Return the mask that may choose from a result instead of from the inputs, or None.

    The node has to compute each element by itself, or each row.
    """
    given = [x for x in inputs if isinstance(x, Chosen)]
    others = [x for x in inputs if x is not None and not isinstance(x, Chosen)]
    kinds = {(x.mask, x.x.ndim, x.form) for x in given}
    if len(kinds) != 1 or any(isinstance(x, Pending) for x in others):
        return None
    ((mask, rank, form),) = kinds
    if mask is None or form != "rows":
        return None
    behind = rank - mask.ndim
    if operator in _OF_ROWS:
        axis = attributes.get("axis", _OF_ROWS[operator])
        if given != inputs[:1] or behind != 1 or not (axis == -1 or (axis, rank) == (1, 2)):
            return None
        if operator in ("Gemm", "MatMul") and (others.pop(0).ndim != 2 or attributes.get("transA")):
            return None
    elif not function.__module__.endswith(".elementwise"):
        return None
    shapes = [x.shape for x in others]
    fits = all(len(s) <= behind + 1 and len(_from_first_long(s)) <= behind for s in shapes)
    return mask if fits else None


def _from_first_long(shape: Shape) -> Tuple[Optional[int], ...]:
    """Return a shape without the axes of size 1 at its beginning."""
    return shape[next((i for i, n in enumerate(shape) if n != 1), len(shape)) :]
