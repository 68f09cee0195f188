"""Registry that maps Keras' classes to the functions that build their blocks."""

import functools
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Collection, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
from mxnet.gluon import HybridBlock, Parameter
from mxnet.gluon.nn import HybridSequential

from ...importing.block import Function
from ...importing.net import fits
from ..arguments import Arguments, Unsupported
from ..values import Axes, Padding, Shape, Size, Value, channels_first, keras_order
from .weight import Assignments, Weight

#: Builders of layers, by Keras' class.
BUILDERS: Dict[str, Callable[..., "Lowered"]] = {}

#: Builders of functions of arrays, by name.
OPERATIONS: Dict[str, Callable[..., "Lowered"]] = {}


@dataclass(frozen=True, eq=False)
class Request(Arguments):
    """Arguments of a builder: those of the layer or function, and those of its call."""

    config: Dict[str, Any]
    layer_name: str
    class_name: str
    version: Tuple[int, int]  # version of the Keras that wrote the layer
    trainable: bool
    prefix: Optional[str]  # prefix of the block's parameters
    array_of: Callable[[], List[np.ndarray]]  # reads the layer's arrays, for custom layers
    name: str = ""  # of a function in the table, else of what the layer computes
    channels_first: Callable[[int], Axes] = channels_first  # axes of channels_first arrays, by rank
    batch_size: Optional[int] = None  # with which the model was saved, if it was fixed
    args: Sequence[Any] = ()  # arguments of the call, with a Value for each array
    kwargs: Any = None  # builders remove what they read
    masked: bool = False  # whether the call names the mask of its input
    custom: Any = None  # builders of the caller, by name
    derive: Any = None  # adds a step that computes an array beside the layer's own, such as a mask
    read: Set[str] = field(default_factory=set)  # names of the arguments in ``config`` that were read

    @property
    def keras3(self) -> bool:
        """Return whether Keras 3, not Keras 2, wrote the layer."""
        return self.version >= (3, 0)

    def replace(self, **changes: Any) -> "Request":
        """Return the request with other fields. Nothing of a new ``config`` has been read."""
        if "config" in changes:
            changes["read"] = set()
        return replace(self, **changes)

    def function(self, function: Any, parameters: Any = None, **arguments: Any) -> Function:
        """Return the block of a function with this layer's title and prefix."""
        return Function(function, self.class_name, self.prefix, parameters, **arguments)

    def lowered(
        self, function: Any, *operands: Any, order: Optional[Axes] = None, **more: Any
    ) -> "Lowered":
        """Return the result for a function of arrays and constants.

        Parameters
        ----------
        function : str or callable
            As for :class:`~gluon_same.importing.block.Function`.
        *operands : Value or numpy.ndarray
        order : tuple of int, optional
            Axes of the result; the first operand's by default.
        **more
            Arguments of the function, and fields of the result.
        """
        fields = {name: more.pop(name) for name in _FIELDS if name in more}
        fixed = {i: each for i, each in enumerate(operands) if not isinstance(each, Value)}
        kinds = {i: dict(shape=each.shape, dtype=each.dtype.name) for i, each in fixed.items()}
        parameters = {f"constant{i}": dict(kind, grad_req="null") for i, kind in kinds.items()}
        block = self.function(function, parameters, places=tuple(fixed), **more)
        constants = tuple((getattr(block, f"constant{i}"), each) for i, each in fixed.items())
        inputs = tuple(each for each in operands if isinstance(each, Value))
        return Lowered(block, order, constants=constants, **{"inputs": inputs, **fields})

    def in_keras_order(self, function: Any, *operands: Any, ndim: int, **more: Any) -> "Lowered":
        """Return the result, with ``ndim`` axes, for a function of arrays stored as in Keras."""
        taken = tuple(keras_order(x.rank) for x in operands if isinstance(x, Value))
        return self.lowered(function, *operands, order=keras_order(ndim), input_axes=taken, **more)

    def derived(self, function: Any, x: Value, *others: Value, **more: Any) -> Value:
        """Return an array, beside the layer's own, of the dtype and samples of the first one."""
        return self.derive(function, x, *others, **more)._replace(dtype=x.dtype, rows=x.rows)

    def sized(self, y: Value, sizes: Sequence[Any]) -> "Lowered":
        """Return the result for a derived array, whose shape has computed sizes."""
        shape = tuple(n.saved if isinstance(n, Size) else n for n in sizes)
        free = tuple(None if isinstance(n, Size) else n for n in sizes)
        order = keras_order(len(sizes))
        y = y._replace(shape=shape, free=free, axes=order)
        return Lowered(None, order, (), lambda shape: shape, takes=None, inputs=(y,))

    def each(self, function: Any, x: Value, nonnegative: bool = False, **more: Any) -> "Lowered":
        """Return the result for a function that keeps the shape."""
        fields = dict(nonnegative=nonnegative, rule=lambda shape: shape)
        return self.lowered(function, x, order=x.axes, **fields, **more)

    def layer(self, class_name: str, x: Value, config: Dict[str, Any], *arrays: np.ndarray) -> "Lowered":
        """Return the result of a layer with weights that are constants of the file."""
        request = self.replace(config=config, class_name=class_name)
        built = BUILDERS[class_name](request, x)
        request.finish(self.name)
        constants: List[Tuple[Parameter, np.ndarray]] = []
        for weight, array in zip(built.weights, arrays):
            if not fits(array.shape, weight.shape):
                shapes = f"{x.shape} by a {weight.role} of shape {array.shape}"
                raise ValueError(f"{self.name} of shape {shapes}, not {weight.shape}")
            constants += weight.assign(array)
        for parameter, _ in constants:
            parameter.grad_req = "null"
        return built._replace(weights=(), constants=constants, inputs=(x,))


#: Fields of a result that :meth:`Request.lowered` receives.
_FIELDS = ("gives", "input_axes", "more_axes", "nonnegative", "rows", "rule", "takes")


class Lowered(NamedTuple):
    """Result of a builder: a block, and how it connects."""

    block: Optional[HybridBlock]  # None passes the single input through
    axes: Optional[Axes]  # axes of the output; None for the first input's
    input_axes: Tuple[Optional[Axes], ...] = ()  # None for any
    rule: Optional[Callable[..., Any]] = None  # shape or shapes of outputs; None asks the block
    weights: Tuple[Weight, ...] = ()
    constants: Assignments = ()  # values from the configuration
    folds: bool = False  # whether the block pads its input itself
    nonnegative: bool = False
    padding: Optional[Padding] = None  # pending padding of the output
    more_axes: Tuple[Axes, ...] = ()  # axes of further outputs
    inputs: Tuple[Value, ...] = ()  # what the block receives if not the arrays of the call: masks, too
    masks: Optional[Tuple[Optional[Value], ...]] = None  # of the outputs; None for Keras' default
    states: Tuple[Shape, ...] = ()  # of one sample: further inputs and outputs, kept between calls
    clears: bool = False  # whether Keras takes the masks off the inputs
    inference_only: bool = False  # whether Keras differs in training
    takes: Optional[str] = "float32"  # dtype to which the inputs are cast; None for any
    gives: Any = None  # dtype of the outputs, or of each; None for the first input's
    rows: Optional[int] = None  # of the outputs; None for the first input's
    beside: Any = None  # returns, from the layer's first block, another one to call in its place


def builds(*class_names: str, ndims: Sequence[int] = ()) -> Callable:
    """Return a decorator that registers a builder for Keras' classes.

    Parameters
    ----------
    *class_names : str
    ndims : sequence of int
        Numbers of spatial axes. The builder receives one as ``ndim``, and it replaces ``{}`` in names.
    """

    return functools.partial(_register, BUILDERS, class_names, ndims)


def computes(*names: str) -> Callable:
    """Return a decorator that registers a builder for functions of arrays."""
    return functools.partial(_register, OPERATIONS, names, ())


def _register(table, names, ndims, builder):
    made = {n: functools.partial(builder, ndim=n) for n in ndims} or {"": builder}
    for name in (each.format(ndim) for each in names for ndim in made):
        if name in table:
            raise ValueError(f"{name!r} has a builder already: {table[name]}")
    table.update({each.format(ndim): one for each in names for ndim, one in made.items()})
    return builder


def elementwise(block: Optional[HybridBlock], axes: Optional[Axes] = None, **more: Any) -> Lowered:
    """Return the result for a block that keeps the shape; ``axes`` None accepts any."""
    return Lowered(block, axes, (axes,), lambda shape: shape, **more)


def inner_request(request: Request, given: Any, allowed: Collection[str]) -> Request:
    """Return the request for the layer in a wrapper, from its configuration."""
    class_name = str(given.get("class_name")) if isinstance(given, dict) else ""
    if class_name not in allowed or not isinstance(given.get("config"), dict):
        only = "" if allowed is BUILDERS else f": only {', '.join(allowed)} are"
        raise Unsupported(f"an inner layer of class {class_name!r} is not supported{only}")
    return request.replace(class_name=class_name, config=given["config"])


def within(request: Request, name: str) -> Request:
    """Return the request for a block within that of a layer."""
    return request.replace(prefix=f"{request.prefix}{name}_")


def inside(part: str, weights: Sequence[Weight]) -> Tuple[Weight, ...]:
    """Return the weights of a layer in a wrapper, which are in a subgroup."""
    return tuple(weight._replace(part=f"{part}/{weight.part}".rstrip("/")) for weight in weights)


def custom_block(make: Callable[..., Any], name: str, *given: Any, **named: Any) -> HybridBlock:
    """Return the block that a builder of the caller makes."""
    block = make(*given, **named)
    if not isinstance(block, HybridBlock):
        raise TypeError(f"custom[{name!r}] returned {block!r}, which is not a HybridBlock")
    return block


def followed(request: Request, block: HybridBlock, *others: Optional[HybridBlock]) -> HybridBlock:
    """Return a layer's block with others behind it, if there are any."""
    if not any(others):
        return block
    whole = HybridSequential(prefix=request.prefix)
    whole.add(block, *others)
    whole.layer_type = request.class_name
    return whole


def data_format(request: Request) -> str:
    """Return a layer's ``data_format``."""
    return request.word("data_format", ("channels_last", "channels_first"), "channels_last")


def of_rank(value: Value, rank: int) -> Value:
    """Return the input; raise if its rank is another."""
    if value.rank != rank:
        raise ValueError(f"its input of shape {value.shape} has {value.rank} axes, not {rank}")
    return value


def spatial(request: Request, x: Value, ndim: int) -> Tuple[Tuple[int, ...], Axes]:
    """Return the spatial axes of a layer's input, and its axes in MXNet; raise if its rank differs."""
    rank = of_rank(x, ndim + 2).rank
    if data_format(request) == "channels_last":
        return tuple(range(1, rank - 1)), channels_first(rank)
    return tuple(range(2, rank)), keras_order(rank)
