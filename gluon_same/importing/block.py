"""Blocks around one function, and the shapes that a block returns."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import mxnet as mx
from mxnet.gluon import HybridBlock

from ..arrays import flat, read_by
from ..geometry import MOST

Shape = Tuple[Optional[int], ...]

#: Trial values for unknown sizes, which show the output sizes that depend on them. Both are multiples of
#: 1 to 8, because some blocks divide an axis.
_TRIED = (840, 1680)

#: Further trials, for blocks that limit sizes: to those of their tables of positions, for example.
_TRIED_NEXT = (8, 16)


class Function(HybridBlock):
    """Block that calls one function.

    Parameters
    ----------
    function : str or callable
        An operator of MXNet, such as ``'concat'``; or a function of ``F``, the inputs, the parameters
        and the arguments. A function must be defined at the top of a module, for pickling.
    title : str
        Name of the layer, for tables.
    parameters : dict of str to dict, optional
        Parameters that the function receives by name, each with the arguments of
        :class:`mxnet.gluon.Parameter`.
    places : tuple of int
        Positions among the inputs of parameters that the function receives there: ``(1,)`` for a
        parameter ``constant1`` that is the second input.
    params : ParameterDict, optional
        Parameters of another block to share.
    **arguments
        Arguments of the function.
    """

    def __init__(
        self, function: Union[str, Callable[..., Any]], title: str, prefix: Optional[str] = None,
        parameters: Optional[Dict[str, Dict[str, Any]]] = None, places: Tuple[int, ...] = (),
        params: Any = None, **arguments: Any,
    ):  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._places = places
        self._function = function
        self._arguments = arguments
        self.layer_type = title  # tables show it in place of the class
        for name, kwargs in (parameters or {}).items():
            setattr(self, name, self.params.get(name, **kwargs))

    def change(self, **arguments: Any) -> None:
        """Change arguments, before the block is hybridized."""
        self._arguments.update(arguments)

    def hybrid_forward(self, F: Any, *given: Any, **parameters: Any) -> Any:
        inputs = list(given)
        for place in self._places:
            inputs.insert(place, parameters.pop(f"constant{place}"))
        if isinstance(self._function, str):
            return getattr(F, self._function)(*inputs, **self._arguments)
        return self._function(F, *inputs, **parameters, **self._arguments)

    def __repr__(self) -> str:
        name = self._function if isinstance(self._function, str) else self._function.__name__
        given = [f"{key}={value}" for key, value in self._arguments.items()]
        return f"{self.layer_type}({', '.join([name, *given])})"


def title_of(block: HybridBlock) -> str:
    """Return the name of a block's class, or the title of a function."""
    return getattr(block, "layer_type", type(block).__name__)


def output_shapes(
    block: HybridBlock, *inputs: Sequence[Shape], small: bool = False
) -> List[List[Shape]]:
    """Return the shapes of a block's outputs, with None for sizes that depend on unknown input sizes.

    Parameters
    ----------
    block : HybridBlock
    *inputs : sequence of tuple
        Shapes of all inputs, with None for unknown sizes. The result has one list of shapes for each.
    small : bool
        Whether unknown sizes are taken to be small.

    Raises
    ------
    mxnet.MXNetError, ValueError
        If the shapes do not fit the block, or are too large for MXNet.
    """
    names = [f"data{i}" for i in range(len(inputs[0]))]
    group = mx.sym.Group(flat(block(*map(mx.sym.var, names))))

    def at(shapes, size):
        known = {name: tuple(size if n is None else n for n in s) for name, s in zip(names, shapes)}
        known = read_by(group, known)
        if any(n > MOST for shape in known.values() for n in shape):
            raise ValueError(f"inputs of shapes {list(shapes)} are too large for MXNet")
        return group.infer_shape_partial(**known)[1]

    found = [[at(shapes, size) for size in (_TRIED_NEXT if small else _TRIED)] for shapes in inputs]
    return [
        [tuple(n if n == m and n > 0 else None for n, m in zip(*pair)) for pair in zip(*both)]
        for both in found
    ]
