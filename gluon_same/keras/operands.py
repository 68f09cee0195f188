"""What a Keras operation is given: arrays and symbols, and what is known of their shapes."""

from ast import literal_eval
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import mxnet as mx
import numpy as np

from .. import symbols

Shape = Tuple[Optional[int], ...]

#: Two sizes to try for an axis that a variable leaves open. They are even numbers of many divisors, so
#: that maps which are halved and doubled again on their way through a net still meet at one size.
PROBES = (10080, 20160)


class Operand(NamedTuple):
    """An array or a symbol of classic mode, and its shape, None for what is not known.

    The sizes of a symbol are ``sure`` if its graph refuses all others.
    """

    value: Any
    shape: Any  # a tuple, or None
    sure: bool = True

    @property
    def F(self) -> Any:
        return mx.nd if isinstance(self.value, mx.nd.NDArray) else mx.sym

    def transpose(self, axes: Tuple[int, ...]) -> "Operand":
        """The axes in another order."""
        value = self.F.transpose(self.value, axes=axes)
        return self._replace(value=value, shape=self.shape and tuple(self.shape[a] for a in axes))


def take(inputs: Any, **kernels: Any) -> Tuple[Operand, List[Operand], Callable]:
    """``inputs`` and kernels as operands, and what brings a result to the mode of ``inputs``.

    Raises
    ------
    TypeError
        If one is neither an array nor a symbol, or they are not all of one kind.
    ValueError
        If nothing tells the shape of a kernel, or arrays are of several dtypes.
    """
    if not isinstance(inputs, (mx.nd.NDArray, mx.sym.Symbol)):
        raise TypeError(f"inputs of {type(inputs)} are neither an NDArray nor a Symbol")
    kind = mx.nd.NDArray if isinstance(inputs, mx.nd.NDArray) else mx.sym.Symbol
    for name, kernel in kernels.items():
        if not isinstance(kernel, kind):
            raise TypeError(f"{name} of {type(kernel)} does not go with inputs of {type(inputs)}")
    if kind is mx.nd.NDArray:
        for name, kernel in kernels.items():
            if kernel.dtype != inputs.dtype:
                raise ValueError(
                    f"`{name}` must have the dtype of `inputs`. Received: {np.dtype(kernel.dtype)} and "
                    f"{np.dtype(inputs.dtype)}"
                )
    *values, restore = symbols.classic(inputs, *kernels.values())
    inputs, *rest = values
    return operand(inputs), [kernel_operand(*named) for named in zip(kernels, rest)], restore


def kernel_operand(name: str, value: Any) -> Operand:
    """An operand whose shape must be known."""
    found = operand(value)
    if found.shape is None or None in found.shape:
        raise ValueError(
            f"The shape of `{name}` is not known. Give it to the variable, as in "
            f"mx.sym.var({name!r}, shape=(3, 3, 16, 32)). Received: shape={found.shape}"
        )
    return found


def operand(value: Any) -> Operand:
    """An operand of an array or a symbol in classic mode."""
    if isinstance(value, mx.nd.NDArray):
        return Operand(value, value.shape)
    return Operand(value, infer_shape(value), sure=False)


def fix(symbol: Any, expected: Shape) -> Any:
    """A symbol that MXNet refuses to bind to another shape than ``expected``, None for any size."""
    return symbols.fix_shape(symbol, expected, _fixed_name(symbol.name, expected))


def infer_shape(symbol: Any) -> Optional[Shape]:
    """The shape that follows from the shapes of a symbol's variables.

    MXNet's own partial inference goes wrong where it computes with a size that is not known, or stops
    with an error. So each open size is given a number, twice: what comes out alike is known.

    Returns
    -------
    tuple of int or None, or None
        None for each axis whose size is open, and None where not even the number of axes is known.
    """
    declared = _declared_shapes(symbol, symbol.attr_dict())
    # A variable of which only the number of axes is known, like the labels that Keras makes, follows
    # the others' sizes; only if that does not do, it is given sizes, too.
    for everywhere in (False, True):
        try:
            shapes = [_infer_at(symbol, declared, size, everywhere) for size in PROBES]
        except mx.MXNetError:
            continue
        return tuple(n if n == m and n > 0 else None for n, m in zip(*shapes)) or None
    return None


def inputs_are_fixed(symbol: Any) -> bool:
    """Whether every size of every variable of open batch size is known, and checked by ``fix``."""
    attributes = symbol.attr_dict()
    declared = _declared_shapes(symbol, attributes)
    for name in symbol.list_inputs():
        batch, *sizes = declared.get(name, (0, 0)) or (1,)
        if batch < 1 and sizes:
            fixed = _fixed_name(name, (None, *sizes))
            # Of an open size, a slice may be known and yet shorter at the end.
            if min(sizes) < 1 or not any(node.startswith(fixed) for node in attributes):
                return False
    return True


def _declared_shapes(symbol, attributes):
    shapes = {name: attributes.get(name, {}).get("__shape__") for name in symbol.list_inputs()}
    return {name: literal_eval(shape) for name, shape in shapes.items() if shape}


def _fixed_name(name, expected):
    return f"{name}_fixed_to_" + "x".join("any" if n is None else str(n) for n in expected)


def _infer_at(symbol, declared, size, everywhere):
    given = {}
    for name, shape in declared.items():
        if everywhere or any(n > 0 for n in shape):
            given[name] = tuple(n if n > 0 else size for n in shape)
    _, (shape,), _ = symbol.infer_shape_partial(**given)
    return shape
