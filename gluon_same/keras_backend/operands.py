"""Inputs of a Keras operation: arrays and symbols, and what is known of their shapes."""

from ast import literal_eval
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import mxnet as mx
import numpy as np

from .. import arrays

Shape = Tuple[Optional[int], ...]

#: Two sizes to try for an unknown size of a variable. They have many divisors, so that maps that a net
#: halves and doubles again still have equal sizes.
PROBES = (10080, 20160)


class Operand(NamedTuple):
    """An array or a symbol in classic mode, and its shape, with None for unknown sizes.

    The shape of a symbol is ``sure`` if its graph raises an error for all other sizes.
    """

    value: Any
    shape: Any  # a tuple, or None
    sure: bool = True

    @property
    def F(self) -> Any:
        return mx.nd if isinstance(self.value, mx.nd.NDArray) else mx.sym

    def transpose(self, axes: Tuple[int, ...]) -> "Operand":
        """Return the operand with its axes in another order."""
        value = self.F.transpose(self.value, axes=axes)
        return self._replace(value=value, shape=self.shape and tuple(self.shape[a] for a in axes))

    def in_layout_of_mxnet(self, depthwise: bool = False) -> "Operand":
        """Return a kernel of Keras' layout in MXNet's.

        Keras has (*kernel, channels, filters), or (*kernel, channels, multiplier) for a depthwise
        convolution; MXNet has (filters, channels, *kernel), or (channels, multiplier, *kernel).
        """
        last = len(self.shape) - 1
        first = (last - 1, last) if depthwise else (last, last - 1)
        return self.transpose((*first, *range(last - 1)))


def take(inputs: Any, **kernels: Any) -> Tuple[Operand, List[Operand], Callable]:
    """Return inputs and kernels as operands, and a function that restores the mode of ``inputs``.

    Raises
    ------
    TypeError
        If one is neither an array nor a symbol, or if arrays and symbols are mixed.
    ValueError
        If the shape of a kernel is not known, or if the dtypes of arrays differ.
    """
    arrays.check_kinds(inputs, *kernels.values(), names=("inputs", *kernels))
    for name, kernel in kernels.items():
        if isinstance(inputs, mx.nd.NDArray) and kernel.dtype != inputs.dtype:
            raise ValueError(
                f"`{name}` must have the dtype of `inputs`. Received: {np.dtype(kernel.dtype)} and "
                f"{np.dtype(inputs.dtype)}"
            )
    *values, restore = arrays.classic(inputs, *kernels.values())
    inputs, *rest = values
    return operand(inputs), [kernel_operand(*named) for named in zip(kernels, rest)], restore


def kernel_operand(name: str, value: Any) -> Operand:
    """Return an operand, or raise a ValueError if its shape is not known."""
    found = operand(value)
    if found.shape is None or not all(found.shape):
        raise ValueError(
            f"The shape of `{name}` is not known. Give it to the variable, as in "
            f"mx.sym.var({name!r}, shape=(3, 3, 16, 32)). Received: shape={found.shape}"
        )
    return found


def operand(value: Any) -> Operand:
    """Return the operand of an array or a symbol in classic mode."""
    if isinstance(value, mx.nd.NDArray):
        return Operand(value, value.shape)
    return Operand(value, infer_shape(value), sure=False)


def fix(symbol: Any, expected: Shape) -> Any:
    """Return a symbol that MXNet binds to the shape ``expected`` only, where None allows any size."""
    return arrays.fix_shape(symbol, expected, _fixed_name(symbol.name, expected))


def infer_shape(symbol: Any) -> Optional[Shape]:
    """Infer the shape of a symbol from the shapes of its variables.

    MXNet's own partial inference fails or returns wrong numbers if it computes with an unknown size.
    Therefore the shape is inferred with two different numbers for each unknown size. Sizes that are the
    same in both results are known.

    Returns
    -------
    tuple of int or None, or None
        None for each unknown size, and None instead of the tuple if the number of axes is unknown.
    """
    declared = _declared_shapes(symbol, symbol.attr_dict())
    # The sizes of a variable without any known size, such as Keras' labels, are left to MXNet's
    # inference at first. If that fails, they are tried with numbers, too.
    for everywhere in (False, True):
        try:
            shapes = [_infer_at(symbol, declared, size, everywhere) for size in PROBES]
        except mx.MXNetError:
            continue
        return tuple(n if n == m and n > 0 else None for n, m in zip(*shapes)) or None
    return None


def inputs_are_fixed(symbol: Any) -> bool:
    """Return whether all variables with an unknown batch size have sizes that ``fix`` checks."""
    attributes = symbol.attr_dict()
    declared = _declared_shapes(symbol, attributes)
    for name in symbol.list_inputs():
        batch, *sizes = declared.get(name, (0, 0)) or (1,)
        if batch < 1 and sizes:
            fixed = _fixed_name(name, (None, *sizes))
            # A slice of an unknown size may seem known, but be shorter at the end.
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
