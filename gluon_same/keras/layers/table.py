"""Registry that maps Keras' classes to the functions that build their blocks."""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from mxnet.gluon import HybridBlock, Parameter

from ..arguments import Arguments
from ..values import Order, Padding, Shape, Value, channels_first

#: Builders by Keras class.
BUILDERS: Dict[str, Callable[..., "Built"]] = {}

Put = Callable[[np.ndarray], Sequence[Tuple[Parameter, np.ndarray]]]


class Weight(NamedTuple):
    """Weight of a layer in a file, and its destination."""

    role: str  # end of Keras' name, such as 'kernel'
    shape: Shape  # Keras' shape, with None for sizes not in the configuration
    put: Put  # returns parameters and their values from the array
    part: str = ""  # subgroup in wrappers and recurrent layers, for files with groups


class Request(NamedTuple):
    """Arguments of a builder."""

    name: str  # name of the layer
    class_name: str
    arguments: Arguments
    version: Tuple[int, int]  # version of the Keras that wrote the layer
    trainable: bool
    prefix: str  # prefix of the block's parameters
    array_of: Callable[[], List[np.ndarray]]  # reads the layer's arrays, for custom layers
    channels_first: Callable[[int], Order] = (
        channels_first  # storage order of channels_first arrays, by rank
    )
    args: Sequence[Any] = ()  # arguments of the call, with a Value for each array
    kwargs: Any = None

    @property
    def keras3(self) -> bool:
        """Return whether Keras 3, not Keras 2, wrote the layer."""
        return self.version >= (3, 0)


class Built(NamedTuple):
    """Result of a builder: a block, and how it connects."""

    block: Optional[HybridBlock]  # None passes the single input through
    rule: Callable[..., Shape]  # infers the output's shape from the inputs', in Keras' axes
    order: Optional[Order]  # output order; None for the first input's
    takes: Tuple[Optional[Order], ...] = ()  # input orders; None for any
    weights: Tuple[Weight, ...] = ()
    constants: Sequence[Tuple[Parameter, np.ndarray]] = ()  # values from the configuration
    folds: bool = False  # whether the block pads its input itself
    nonnegative: bool = False
    padding: Optional[Padding] = None  # pending padding of the output
    more: Tuple[Tuple[Callable[..., Shape], Order], ...] = ()  # rules and orders of further outputs
    inference_only: bool = False  # whether Keras differs in training


def builds(*class_names: str) -> Callable:
    """Return a decorator that registers a builder for Keras' classes."""

    def register(builder):
        for name in class_names:
            BUILDERS[name] = builder
        return builder

    return register


def same_shape(shape: Shape) -> Shape:
    """Infer the output shape of an elementwise layer."""
    return shape


def elementwise(block: Optional[HybridBlock], **more: Any) -> Built:
    """Return the result for an elementwise block, which accepts any axis order."""
    return Built(block, same_shape, None, **more)


def spatial_order(rank: int, data_format: str) -> Order:
    """Return the storage order that MXNet's channels-first operators require."""
    return channels_first(rank) if data_format == "channels_last" else tuple(range(rank))


def spatial_axes(rank: int, data_format: str) -> Tuple[int, ...]:
    """Return Keras' axes without the batch and the channels."""
    return tuple(range(1, rank - 1) if data_format == "channels_last" else range(2, rank))


def channel_axis(rank: int, data_format: str) -> int:
    """Return Keras' channel axis."""
    return rank - 1 if data_format == "channels_last" else 1


def data_format(arguments: Arguments) -> str:
    """Return a layer's ``data_format``."""
    return arguments.word("data_format", ("channels_last", "channels_first"), "channels_last")


def into(parameter: Parameter, *axes: int, reverse: Tuple[int, ...] = ()) -> Put:
    """Return a function that pairs a parameter with its array, after permuting the array's axes."""

    def put(array):
        array = np.flip(array, reverse) if reverse else array
        return [(parameter, array.transpose(axes) if axes else array)]

    return put


def of_rank(value: Value, *ranks: int) -> Value:
    """Return the input; raise if its rank is not one of these."""
    if value.rank not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ValueError(f"its input of shape {value.shape} has {value.rank} axes, not {wanted}")
    return value


def spatial(request: Request, x: Value, ndim: int) -> Tuple[Tuple[int, ...], Order]:
    """Return the spatial axes of a layer's input, and its order in MXNet; raise if its rank differs."""
    layout = data_format(request.arguments)
    of_rank(x, ndim + 2)
    return spatial_axes(ndim + 2, layout), spatial_order(ndim + 2, layout)
