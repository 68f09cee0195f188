"""Writing of a file's arrays to parameters."""

from typing import Any, Tuple

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, Parameter

from ..importing.net import fits
from ..importing.parameters import contexts, fill
from .hdf5 import Hdf5
from .layers.weight import Weight


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
        self.ctx = contexts(ctx)

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
        fill([(parameter, value)], self.ctx)

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
