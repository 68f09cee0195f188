"""Elements that a mask chooses, and that are placed by a mask, as in ``x[mask] = y[mask]``.

A file has NonZero, GatherND and ScatterND for this, and sizes that follow from the data. Where whole
arrays give the same result, they are computed: nothing is chosen, and ScatterND becomes ``where``.
"""

from typing import Any, Callable, Mapping, Optional, Sequence, Tuple

from .pending import Pending
from .registry import find
from .values import Data, Known, Shape


class Places(Pending):
    """Coordinates of the elements of a mask that are not 0.

    Parameters
    ----------
    x : Data
        The mask.
    make
        As for :class:`Pending`.
    rows : bool
        Whether each element has a row, and not a column.
    """

    def __init__(self, x: Data, make: Callable[[], Data], rows: bool = False):
        super().__init__(x, make)
        self.rows = rows


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
    flat : bool
        Whether they have one axis.
    """

    def __init__(self, x: Data, make: Callable[[], Data], mask: Optional[Data], flat: bool = False):
        super().__init__(x, make)
        self.mask, self.flat = mask, flat


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
    if operator == "NonZero" and isinstance(x, Data) and x.ndim:
        return Places(x, later)
    if operator == "Transpose" and isinstance(x, Places):
        columns = not x.rows and [*(attributes.get("perm") or (1, 0))] == [1, 0]
        return Places(x.x, later, rows=True) if columns else None
    if operator == "GatherND" and isinstance(x, Data) and isinstance(other, Places):
        first = [shape[: other.x.ndim] for shape in x.trials] == other.x.trials
        fits = first and other.rows and not attributes.get("batch_dims")
        return Chosen(x, later, other.x) if fits else None
    if operator == "Expand" and isinstance(other, Data):  # to as many elements as a mask chooses
        return Chosen(x.x, later, x.mask) if isinstance(x, Chosen) else Chosen(net.array(x), later, None)
    if operator in ("Reshape", "Slice") and isinstance(x, Chosen):
        begin = -1 if operator == "Reshape" else 0 if x.flat and x.mask and len(inputs) < 5 else None
        # A part from the first one on has all of them, if as many are placed.
        fits = isinstance(other, Known) and other.first.tolist() == [begin]
        return Chosen(x.x, later, x.mask, flat=True) if fits else None
    if operator == "ScatterND" and isinstance(other, Places) and other.rows:
        (updates,) = inputs[2:]
        if isinstance(updates, Chosen) and attributes.get("reduction", "none") == "none":
            x = net.array(x)
            if _is_placed(updates, other.x, x):
                where: Any = find("Where", 9)
                return where(net, other.x, updates.x, x)
    # Before operator set 7, axes that broadcast were attributes.
    if any(isinstance(each, Chosen) for each in inputs) and net.opsets.get("", 7) > 6:
        mask = _mask_of(function, inputs, attributes)
        if mask is not None:
            whole = call([each.x if isinstance(each, Chosen) else each for each in inputs])
            return Chosen(whole, later, mask)
    return None


def note_base(operator: str, x: Any, y: Any) -> None:
    """Note whether a node repeats an array along further axes at the end."""
    if (
        operator in ("Unsqueeze", "Expand")
        and isinstance(x, Data)
        and isinstance(y, Data)
        and y is not x
    ):
        behind = len(y.trials[0]) - len(x.trials[0])
        wider = operator == "Unsqueeze" and y.trials == [(*s, *[1] * behind) for s in x.trials]
        y.base = (x.base or x) if wider or (operator == "Expand" and not behind) else None


def _is_placed(updates: Chosen, mask: Data, x: Data) -> bool:
    """Return whether ``where`` places elements in an array, by a mask of its shape."""
    base = mask.base or mask
    if mask.trials != x.trials:
        return False
    if updates.mask is not None:
        return updates.mask is base and updates.x.trials == x.trials
    own = _from_first_long(updates.x.shape)  # which is repeated whole
    return len(own) <= x.ndim - base.ndim and own == x.shape[x.ndim - len(own) :] and None not in own


def _mask_of(
    function: Callable[..., Any], inputs: Sequence[Any], attributes: Mapping[str, Any]
) -> Optional[Data]:
    """Return the mask that may choose from a result instead of from the inputs, or None.

    The converter has to compute each element by itself, or each row of a product.
    """
    given = [x for x in inputs if isinstance(x, Chosen)]
    others = [x for x in inputs if x is not None and not isinstance(x, Chosen)]
    kinds = {(x.mask, x.x.ndim, x.flat, x.x.dtype.kind) for x in given}
    room = function.__module__.rpartition(".")[2]
    if len(kinds) != 1 or room not in ("elementwise", "linear"):
        return None
    ((mask, rank, flat, kind),) = kinds
    # MXNet may end the process for whole numbers that are 0.
    if mask is None or flat or kind != "f" or any(isinstance(x, Pending) for x in others):
        return None
    behind = rank - mask.ndim
    if room == "linear":
        rows = function.__name__ in ("gemm", "matmul") and given == inputs[:1] and behind == 1
        if not rows or others.pop(0).ndim != 2 or attributes.get("transA"):
            return None
    shapes = [x.shape for x in others]
    fits = all(len(s) <= behind + 1 and len(_from_first_long(s)) <= behind for s in shapes)
    return mask if fits else None


def _from_first_long(shape: Shape) -> Tuple[Optional[int], ...]:
    """Return a shape without the axes of size 1 at its beginning."""
    return shape[next((i for i, n in enumerate(shape) if n != 1), len(shape)) :]
