"""Parameters for the arrays of a model, which its nodes and nets share."""

from typing import Dict, List, Tuple

import numpy as np
from mxnet.gluon import HybridBlock, Parameter

from .reading import DTYPES
from .values import Known, Unsupported, stored_dtype


class Weights:
    """Parameters by name, with the arrays that they hold.

    Attributes
    ----------
    assigned : list of (Parameter, numpy.ndarray)
        Parameters that were added, which have no values yet.
    """

    def __init__(self) -> None:
        self._parameters: Dict[str, Tuple[np.ndarray, Parameter]] = {}
        self.assigned: List[Tuple[Parameter, np.ndarray]] = []

    def copy(self) -> "Weights":
        """Return the same parameters, to which others can be added."""
        new = Weights()
        new._parameters.update(self._parameters)
        return new

    def adopt(self, block: HybridBlock, weights: Dict[str, Known]) -> None:
        """Give a block parameters with the names and arrays of the file. Nodes may share them."""
        for attribute, value in weights.items():
            original = getattr(block, attribute)
            parameter = self._parameter(value, original, f"{block.prefix}{attribute}")
            vars(block)[attribute] = block._reg_params[attribute] = parameter
            block.params._params.pop(original.name, None)
            block.params._params[parameter.name] = parameter

    def _parameter(self, value: Known, original: Parameter, default: str) -> Parameter:
        """Return the parameter for an array of the file, made like the block's original one."""
        array = stored_array(value.array)
        kind = original.grad_req if value.trainable and array.size > 1 else "null"
        learns = original._differentiable and kind != "null"
        name, count = value.name, 1
        while name in self._parameters:
            held, parameter = self._parameters[name]
            # Exporters write equal arrays once, also that of a weight and a running statistic.
            if _is_same(held, array) and parameter._differentiable == learns:
                return parameter
            name, count = f"{value.name}_{count}", count + 1
        dtype = stored_dtype(array.dtype)
        parameter = Parameter(name or default, kind, array.shape, dtype, differentiable=learns)
        parameter.is_constant = not value.trainable  # not counted by summary
        self._parameters[name] = array, parameter
        self.assigned.append((parameter, array))
        return parameter


def stored_array(array: np.ndarray) -> np.ndarray:
    """Return an array as MXNet stores it: with one axis and one element at least."""
    if not array.size:
        # Not Unsupported: there may be elements at other sizes.
        raise ValueError(f"an array of shape {array.shape} has no elements, which MXNet requires")
    if array.dtype not in map(np.dtype, DTYPES.values()):
        raise Unsupported(f"MXNet has no arrays of type {array.dtype}")
    return array.reshape(1) if array.ndim == 0 else array


def _is_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays are views of the same memory."""
    return one is other or one.__array_interface__ == other.__array_interface__
