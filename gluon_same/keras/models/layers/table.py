"""The table of layers: for each of Keras' classes, the function that builds its block."""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from mxnet.gluon import HybridBlock, Parameter

from ..arguments import Arguments
from ..values import Order, Padding, Shape, Value, channels_first

#: By Keras' class.
BUILDERS: Dict[str, Callable[..., "Built"]] = {}

Put = Callable[[np.ndarray], Sequence[Tuple[Parameter, np.ndarray]]]


class Weight(NamedTuple):
    """One of a layer's weights in a file, and where it goes."""

    role: str  # 'kernel', as Keras' names end
    shape: Shape  # Keras', with None for what the configuration does not settle
    put: Put  # the parameters that it fills, and their values
    part: str = ""  # where in a file by groups a wrapper or a recurrent layer keeps it


class Request(NamedTuple):
    """What a builder is to build."""

    name: str  # of the layer
    class_name: str
    arguments: Arguments
    version: Tuple[int, int]  # of the Keras that wrote it
    trainable: bool
    prefix: str  # of the block's parameters
    array_of: Callable[[], List[np.ndarray]]  # reads the layer's arrays, for custom layers
    channels_first: Callable[[int], Order] = channels_first  # for each number of axes
    args: Sequence[Any] = ()  # of the call, with a Value for each array
    kwargs: Any = None

    @property
    def keras3(self) -> bool:
        """Whether Keras 3 wrote it, and not Keras 2."""
        return self.version >= (3, 0)


class Built(NamedTuple):
    """What a builder gives: a block, and how it connects."""

    block: Optional[HybridBlock]  # None for what hands its one input on
    rule: Callable[..., Shape]  # the output's shape from those of the inputs, in Keras' axes
    order: Optional[Order]  # of the output; None for that of the first input
    takes: Tuple[Optional[Order], ...] = ()  # of each input; None for any
    weights: Tuple[Weight, ...] = ()
    constants: Sequence[Tuple[Parameter, np.ndarray]] = ()  # values from the configuration
    folds: bool = False  # whether the block pads its input itself
    nonnegative: bool = False
    padding: Optional[Padding] = None  # around the output
    more: Tuple[Tuple[Callable[..., Shape], Order], ...] = ()  # rule and order of further outputs
    inference_only: bool = False  # whether Keras would do something else in training


def builds(*class_names: str) -> Callable:
    """Register a builder for Keras' classes."""

    def register(builder):
        for name in class_names:
            BUILDERS[name] = builder
        return builder

    return register


def same_shape(shape: Shape) -> Shape:
    """The rule of what works element by element."""
    return shape


def elementwise(block: Optional[HybridBlock], **more: Any) -> Built:
    """What works element by element, in any order of the axes."""
    return Built(block, same_shape, None, **more)


def spatial_order(rank: int, data_format: str) -> Order:
    """How data must be stored for MXNet's channels-first operators."""
    return channels_first(rank) if data_format == "channels_last" else tuple(range(rank))


def spatial_axes(rank: int, data_format: str) -> Tuple[int, ...]:
    """Keras' axes but the batch and the channels."""
    return tuple(range(1, rank - 1) if data_format == "channels_last" else range(2, rank))


def channel_axis(rank: int, data_format: str) -> int:
    """Keras' axis of the channels."""
    return rank - 1 if data_format == "channels_last" else 1


def data_format(arguments: Arguments) -> str:
    """Where a layer has its channels."""
    return arguments.word("data_format", ("channels_last", "channels_first"), "channels_last")


def into(parameter: Parameter, *axes: int) -> Put:
    """Put an array into a parameter, its axes in this order."""
    return lambda array: [(parameter, array.transpose(axes) if axes else array)]


def of_rank(value: Value, *ranks: int) -> Value:
    """Refuse an input with another number of axes."""
    if value.rank not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ValueError(f"its input of shape {value.shape} has {value.rank} axes, not {wanted}")
    return value
