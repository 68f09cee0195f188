"""Dense, embedding and reshaping layers, and layers without effect in inference."""

import math
from typing import Any, Optional, Sequence, Tuple

from mxnet.gluon import HybridBlock

from ... import nn
from ..arguments import Unsupported
from ..values import Shape, Value, all_known, channels_first, keras_order, same_memory
from .activations import activation, is_nonnegative
from .table import (
    Built,
    Request,
    Weight,
    builds,
    data_format,
    elementwise,
    into,
    of_rank,
    spatial_axes,
)

_POINTWISE = {3: nn.Conv1D, 4: nn.Conv2D, 5: nn.Conv3D}


class Reshape(HybridBlock):
    """Reshape of all axes except the batch.

    Parameters
    ----------
    shape : tuple of int
        New sizes, one of which may be -1.
    fits : bool
        Whether all possible inputs have the right number of elements.
    """

    def __init__(self, shape: Sequence[int], fits: bool = False, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._shape = tuple(shape)
        self._fits = fits

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        if not self._fits:
            # MXNet reads beyond the array if the number of elements differs, but splits an axis exactly.
            known = math.prod(n for n in self._shape if n != -1)
            split = (-1, known) if -1 in self._shape else (known, 1)
            x = F.reshape(F.reshape(x, shape=(0, -1)), shape=(0, -4, *split))
        return F.reshape(x, shape=(0, *self._shape))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._shape}"


class RepeatVector(HybridBlock):
    """Repetition of vectors along a new axis after the batch.

    Parameters
    ----------
    times : int
    """

    def __init__(self, times: int, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._times = times

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.repeat(F.expand_dims(x, axis=1), repeats=self._times, axis=1)


@builds("Dense")
def _dense(request: Request, x: Value) -> Built:
    units = request.arguments.whole("units")
    request.arguments.only(lora_rank=None)
    given, use_bias = request.arguments.get("activation", None), request.arguments.flag("use_bias", True)
    if x.rank < 2:
        raise ValueError(f"its input of shape {x.shape} has only the batch axis")
    channels = x.channels or 0
    kernel = (x.channels, units)
    if x.rank in _POINTWISE and x.order == channels_first(x.rank):
        order = x.order
        block = _POINTWISE[x.rank](
            units, 1, use_bias=use_bias, in_channels=channels, prefix=request.prefix
        )

        def put(array):
            return [(block.weight, array.T.reshape((*array.T.shape, *(1,) * (x.rank - 2))))]

    else:
        order = keras_order(x.rank)
        block = nn.Dense(
            units, flatten=False, use_bias=use_bias, in_units=channels, prefix=request.prefix
        )
        put = into(block.weight, 1, 0)
    axis = order.index(x.rank - 1)
    block.act = activation(given, request.keras3, axis, f"{request.prefix}activation_")
    weights = [Weight("kernel", kernel, put)]
    if use_bias:
        weights.append(Weight("bias", (units,), into(block.bias)))
    return Built(
        block,
        lambda shape: (*shape[:-1], units),
        order,
        (order,),
        tuple(weights),
        nonnegative=is_nonnegative(given),
    )


@builds("Flatten")
def _flatten(request: Request, x: Value) -> Built:
    layout = data_format(request.arguments)
    if x.rank < 2:
        return elementwise(Reshape((1,), prefix=request.prefix))._replace(rule=lambda shape: (*shape, 1))
    taken = keras_order(x.rank)
    if layout == "channels_first" and x.rank > 2:  # Keras moves the channels last before it flattens
        taken = (0, *spatial_axes(x.rank, layout), 1)
    if same_memory(x.order, taken, x.open):
        taken = x.order

    def rule(shape: Shape) -> Shape:
        return shape[0], _product(shape[1:])

    return Built(nn.Flatten(prefix=request.prefix), rule, (0, 1), (taken,), nonnegative=x.nonnegative)


@builds("Reshape")
def _reshape(request: Request, x: Value) -> Built:
    return reshaped(x, request.arguments.ints("target_shape"), request.prefix)


def reshaped(x: Value, target: Sequence[int], prefix: str) -> Built:
    """Reshape a value to target sizes after the batch, one of which may be -1."""
    if target.count(-1) > 1 or any(n < 1 and n != -1 for n in target):
        raise Unsupported(f"target_shape={target} is not a shape")
    known = math.prod(n for n in target if n != -1)

    def rule(shape: Shape) -> Shape:
        total = _product(shape[1:])
        if total is not None and (total % known if -1 in target else total != known):
            raise ValueError(f"target_shape={target} does not fit an input of shape {shape}")
        rest = None if total is None else total // known
        return (shape[0], *(rest if n == -1 else n for n in target))

    made = tuple(None if n == -1 else n for n in (None, *target))
    taken = x.order if _is_free(x, made) else keras_order(x.rank)
    order = channels_first(len(made))
    if not same_memory(order, keras_order(len(made)), made):
        order = keras_order(len(made))
    fits = _product(x.open[1:]) is not None  # `rule` checks the sizes then
    block = Reshape([target[axis - 1] for axis in order[1:]], fits, prefix)
    return Built(block, rule, order, (taken,), nonnegative=x.nonnegative)


@builds("Permute")
def _permute(request: Request, x: Value) -> Built:
    dims = request.arguments.ints("dims")
    if sorted(dims) != list(range(1, x.rank)):
        raise ValueError(f"dims={dims} do not name each axis of an input with {x.rank} axes")
    return permuted(x, [0, *dims])


def permuted(x: Value, axes: Sequence[int]) -> Built:
    """Transpose a value by renaming its axes, without touching the array."""
    order = tuple(axes.index(axis) for axis in x.order)
    return Built(
        None,
        lambda shape: tuple(shape[axis] for axis in axes),
        order,
        (x.order,),
        nonnegative=x.nonnegative,
    )


@builds("RepeatVector")
def _repeat_vector(request: Request, x: Value) -> Built:
    of_rank(x, 2)
    times = request.arguments.whole("n")
    return Built(
        RepeatVector(times, request.prefix),
        lambda shape: (shape[0], times, shape[1]),
        (0, 1, 2),
        ((0, 1),),
    )


@builds("Embedding")
def _embedding(request: Request, x: Value) -> Built:
    arguments = request.arguments
    arguments.only(mask_zero=False, lora_rank=None)
    size, units = arguments.whole("input_dim"), arguments.whole("output_dim")
    block = nn.Embedding(size, units, prefix=request.prefix)
    weight = Weight("embeddings", (size, units), into(block.weight))
    taken = keras_order(x.rank)
    return Built(block, lambda shape: (*shape, units), keras_order(x.rank + 1), (taken,), (weight,))


@builds("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D")
def _dropout(request: Request, x: Value) -> Built:
    axes: Tuple[int, ...] = ()
    if request.class_name != "Dropout":
        layout = data_format(request.arguments)
        axes = spatial_axes(of_rank(x, int(request.class_name[-2]) + 2).rank, layout)
    elif request.arguments.get("noise_shape", None) is not None:
        noise = request.arguments.get("noise_shape")
        if not isinstance(noise, list) or len(noise) != x.rank or noise[0] == 1:
            raise ValueError(f"noise_shape={noise!r} does not fit an input of shape {x.shape}")
        axes = tuple(axis for axis, n in enumerate(noise) if n == 1)
    return _dropped(request, x, request.arguments.number("rate"), axes)


@builds("StochasticDepth")
def _stochastic_depth(request: Request, x: Value) -> Built:
    return _dropped(request, x, request.arguments.number("drop_path_rate"), tuple(range(1, x.rank)))


def _dropped(request: Request, x: Value, rate: float, axes: Tuple[int, ...]) -> Built:
    if not 0 <= rate < 1:
        raise Unsupported(f"a rate of {rate}: only 0 to below 1 is supported")
    block = nn.Dropout(rate, axes=tuple(x.stored(axis) for axis in axes), prefix=request.prefix)
    return Built(block, lambda shape: shape, None, (x.order,), nonnegative=x.nonnegative)


@builds("GaussianNoise", "GaussianDropout", "AlphaDropout", "ActivityRegularization")
def _noise(request: Request, x: Value) -> Built:
    for name in ("stddev", "rate", "noise_shape", "l1", "l2"):
        request.arguments.ignore(name)
    return elementwise(None, nonnegative=x.nonnegative, inference_only=True)


@builds("Identity")
def _identity(request: Request, x: Value) -> Built:
    return elementwise(None, nonnegative=x.nonnegative)


def _is_free(x: Value, made: Shape) -> bool:
    """Return whether an input of any size can be reshaped without a transpose."""
    if same_memory(x.order, keras_order(x.rank), x.open):
        return True
    # If the output has as many elements as channels, every other axis has size 1.
    total = _product(made[1:])
    return total is not None and total == x.open[-1] and x.order == channels_first(x.rank)


def _product(sizes: Sequence[Optional[int]]) -> Optional[int]:
    known = all_known(sizes)
    return None if known is None else math.prod(known)
