"""Weights of layers: Keras' arrays, and the parameters that they belong to."""

from typing import Callable, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from mxnet.gluon import HybridBlock, Parameter

from ..values import Shape

Assignments = Sequence[Tuple[Parameter, np.ndarray]]


class Weight(NamedTuple):
    """Weight of a layer in a file, and its destination."""

    role: str  # end of Keras' name, such as 'kernel'
    shape: Shape  # Keras' shape, with None for sizes not in the configuration
    assign: Callable[[np.ndarray], Assignments]  # returns parameters and their values from the array
    part: str = ""  # subgroup in wrappers and recurrent layers, for files with groups
    copied: bool = False  # whether only files with groups contain it, once more


def weight_of(role: str, parameter: Parameter, *order: int, shape: Optional[Shape] = None) -> Weight:
    """Return the weight of one parameter.

    Parameters
    ----------
    role : str
    parameter : Parameter
    *order : int
        Keras' axis for each axis of the parameter; the same by default.
    shape : tuple, optional
        Keras' shape, if its axes are not those of the parameter.
    """
    sizes = parameter.shape
    order = order or tuple(range(len(sizes if shape is None else shape)))
    if shape is None:
        shape = tuple(sizes[order.index(axis)] or None for axis in range(len(order)))

    def assign(array):
        array = array.transpose(order)
        return [(parameter, array if array.ndim == len(sizes) else array.reshape(sizes))]

    return Weight(role, shape, assign)


def matrix_of(parameter: Parameter, shape: Shape) -> Weight:
    """Return the weight of a kernel whose last axes, merged, are the rows of a parameter."""
    return Weight("kernel", shape, lambda array: [(parameter, array.reshape(parameter.shape[::-1]).T)])


def kernel_of(block: HybridBlock) -> Weight:
    """Return the weight of a plain or transposed convolution's kernel."""
    ndim = len(block._kwargs["kernel"])
    return weight_of("kernel", block.weight, ndim + 1, ndim, *range(ndim))


def depthwise_kernel_of(block: HybridBlock) -> Weight:
    """Return the weight of a depthwise kernel, which is (*kernel, channels, multiplier) in Keras."""
    kernel, channels = block._kwargs["kernel"], block._kwargs["num_group"]
    ndim = len(kernel)

    def assign(array):
        value = array.transpose(ndim, ndim + 1, *range(ndim))
        return [(block.weight, value.reshape((-1, 1, *value.shape[2:])))]

    shape = (*kernel, channels, block.weight.shape[0] // channels)
    return Weight("depthwise_kernel", shape, assign)


def separable_kernels_of(block: HybridBlock) -> Tuple[Weight, Weight]:
    """Return the weights of a separable convolution's kernels."""
    pointwise = kernel_of(block.pointwise)._replace(role="pointwise_kernel")
    return depthwise_kernel_of(block.depthwise), pointwise


def bias_of(block: HybridBlock) -> Tuple[Weight, ...]:
    """Return the weight of a block's bias, if it has one."""
    return () if block.bias is None else (weight_of("bias", block.bias),)
