"""Writing of arrays to parameters."""

from typing import Any, Iterable, List, Tuple

import mxnet as mx
import numpy as np
from mxnet.gluon import Parameter

#: Rows and columns of a transposed array that are copied at once, so that both sides stay in the cache.
_ROWS, _COLUMNS = 128, 32


def fill(assignments: Iterable[Tuple[Parameter, np.ndarray]], ctx: List[mx.Context]) -> None:
    """Set the values of parameters without one, and their shapes if unknown."""
    for parameter, value in assignments:
        # Like Gluon's own loading, this skips the initializer. Gluon would fill each gradient with an
        # operator of its own, which takes longer than the rest.
        request, parameter._grad_req = parameter._grad_req, "null"
        parameter._load_init(_Source(_contiguous(value, parameter.dtype)), ctx)
        parameter._grad_req = request
        if request != "null":
            zeros = _Source(np.zeros(value.shape, parameter.dtype))
            parameter._grad = [zeros.copyto(each) for each in ctx]
            mx.autograd.mark_variables(parameter._data, parameter._grad, request)


class _Source:
    """NumPy array that Gluon copies to a parameter's contexts as it copies an NDArray.

    Parameters
    ----------
    value : numpy.ndarray
        Contiguous.
    """

    stype = "default"

    def __init__(self, value: np.ndarray):
        self.value = value
        self.shape, self.dtype = value.shape, value.dtype.type

    def copyto(self, ctx: mx.Context) -> mx.nd.NDArray:
        """Return the values in a new NDArray."""
        # ``mx.nd.from_numpy`` would save the copy, but oneDNN may replace the memory of a weight by a
        # larger block, and frees what NumPy allocated.
        array = mx.nd.empty(self.shape, ctx, self.dtype)
        array._sync_copyfrom(self.value)  # mx.nd.array takes five times as long for small arrays
        return array


def _contiguous(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Return an array in C order, copied tile by tile if its first two axes are transposed."""
    if array.ndim < 2 or array.strides[0] >= array.strides[1]:
        return np.ascontiguousarray(array, dtype).reshape(array.shape)
    target = np.empty(array.shape, dtype)
    for row in range(0, target.shape[0], _ROWS):
        for column in range(0, target.shape[1], _COLUMNS):
            tile = slice(row, row + _ROWS), slice(column, column + _COLUMNS)
            target[tile] = array[tile]
    return target
