"""Writing of a file's arrays to parameters."""

from typing import Any, Tuple

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, Parameter

from ..importing.net import fits
from .hdf5 import Hdf5
from .layers.weight import Weight

#: Rows and columns of a transposed array that are copied at once, so that both sides stay in the cache.
_ROWS, _COLUMNS = 128, 32


class Assign:
    """Writer of arrays to parameters, with shape checks.

    Parameters
    ----------
    ctx : Context or list of Context

    Raises
    ------
    TypeError
        If ``ctx`` is anything else.
    """

    def __init__(self, ctx: Any):
        self.ctx = list(ctx) if isinstance(ctx, (list, tuple)) else [ctx]
        if not self.ctx or not all(isinstance(each, mx.Context) for each in self.ctx):
            raise TypeError(f"ctx={ctx!r} is not a context: give mx.cpu(), mx.gpu(0), or a list of them")

    def __call__(self, path: Tuple[str, ...], weight: Weight, file: Hdf5, where: str) -> None:
        array = file.array(where)
        if not fits(array.shape, weight.shape):
            wanted = ", ".join("any" if n is None else str(n) for n in weight.shape)
            raise ValueError(
                f"{file.path}: entry {where!r} has shape {array.shape}, but the {weight.role} of layer "
                f"{'/'.join(path)} has ({wanted})"
            )
        for parameter, value in weight.assign(array):
            self.set(parameter, value)

    def set(self, parameter: Parameter, value: np.ndarray) -> None:
        """Set the value of a parameter without one, and its shape if unknown."""
        # Like Gluon's own loading, this skips the initializer. Gluon would fill each gradient with an
        # operator of its own, which takes longer than the rest.
        request, parameter._grad_req = parameter._grad_req, "null"
        parameter._load_init(_Source(_contiguous(value)), self.ctx)
        parameter._grad_req = request
        if request != "null":
            zeros = _Source(np.zeros(value.shape, np.float32))
            parameter._grad = [zeros.copyto(ctx) for ctx in self.ctx]
            mx.autograd.mark_variables(parameter._data, parameter._grad, request)

    def rest(self, block: Block) -> None:
        """Initialize the parameters of a block that have no value, such as a bias that Keras lacks."""
        for parameter in block.params.values():
            if parameter._data is None:
                parameter.initialize(ctx=self.ctx)
                parameter.is_constant = parameter.grad_req == "null"  # not counted by summary

    def replace(self, parameter: Parameter, value: np.ndarray) -> None:
        """Set a parameter's value. An initialized parameter keeps its dtype and context."""
        if parameter._data is None and not parameter._deferred_init:
            self.set(parameter, value)
        else:
            parameter.shape = value.shape
            parameter.set_data(mx.nd.array(value, mx.cpu()))


class _Source:
    """NumPy array that Gluon copies to a parameter's contexts as it copies an NDArray.

    Parameters
    ----------
    value : numpy.ndarray
        Contiguous.
    """

    stype, dtype = "default", np.float32

    def __init__(self, value: np.ndarray):
        self.value = value
        self.shape = value.shape

    def copyto(self, ctx: mx.Context) -> mx.nd.NDArray:
        """Return the values in a new NDArray."""
        # A large array of its own becomes the memory of the NDArray. For small ones a copy is faster.
        if self.value.base is None and self.value.size >= 2**20 and ctx.device_type == "cpu":
            return mx.nd.from_numpy(self.value).as_in_context(ctx)
        array = mx.nd.empty(self.shape, ctx, self.dtype)
        array._sync_copyfrom(self.value)  # mx.nd.array takes five times as long for small arrays
        return array


def _contiguous(array: np.ndarray) -> np.ndarray:
    """Return an array in C order, copied tile by tile if its first two axes are transposed."""
    if array.ndim < 2 or array.strides[0] >= array.strides[1]:
        return np.ascontiguousarray(array, np.float32).reshape(array.shape)
    target = np.empty(array.shape, np.float32)
    for row in range(0, target.shape[0], _ROWS):
        for column in range(0, target.shape[1], _COLUMNS):
            tile = slice(row, row + _ROWS), slice(column, column + _COLUMNS)
            target[tile] = array[tile]
    return target
