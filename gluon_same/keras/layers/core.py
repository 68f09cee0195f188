"""Dense, embedding and reshaping layers, and layers without effect in inference."""

import math
from functools import partial
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from mxnet.gluon import HybridBlock

from ... import nn
from ...importing import functions
from ...importing.embedding import Embedding
from ..arguments import Unsupported, words
from ..values import Shape, Value, channels_first, keras_order, product, replaced, same_memory
from .activations import activation, is_nonnegative
from .registry import Lowered, Request, builds, data_format, elementwise, of_rank, spatial, within
from .weight import Assignments, Weight, bias_of, weight_of

AUGMENTATIONS = words("AugMix CutMix Equalization MixUp RandAugment Solarization")
AUGMENTATIONS += tuple(f"Random{name}" for name in words("""
    Brightness ColorDegeneration ColorJitter Contrast ElasticTransform Erasing Flip GaussianBlur
    Grayscale Height Hue Invert Perspective Posterization Rotation Saturation Sharpness Shear
    Translation Width Zoom
"""))  # fmt: skip

#: Those that return whole numbers as real ones.
_CASTING = words("AugMix CutMix RandAugment Solarization") + tuple(f"Random{name}" for name in words("""
    ElasticTransform Erasing Flip GaussianBlur Perspective Rotation Sharpness Shear Translation Zoom
"""))  # fmt: skip

#: Layers whose calls Keras 3 always writes with ``training=True``, which the model's mode replaces.
SAVED_AS_TRAINING = (*AUGMENTATIONS, "AutoContrast", "CenterCrop", "Pipeline", "RandomCrop", "Resizing")


@builds("Dense")
def _dense(request: Request, x: Value) -> Lowered:
    units = request.whole("units")
    given = request.get("activation", None)
    if x.rank < 2:
        raise ValueError(f"its input of shape {x.shape} has only the batch axis")
    how: Dict[str, Any] = dict(use_bias=request.flag("use_bias", True), prefix=request.prefix)
    channels, axes = x.channels or 0, channels_first(x.rank)
    pointwise = 3 <= x.rank <= 5 and x.axes == axes
    if pointwise:
        block = getattr(nn, f"Conv{x.rank - 2}D")(units, 1, in_channels=channels, **how)
    else:
        axes = keras_order(x.rank)
        block = nn.Dense(units, flatten=False, in_units=channels, **how)
    block.act = activation(within(request, "activation"), given, 1 if pointwise else -1)
    weights = (weight_of("kernel", block.weight, 1, 0), *bias_of(block))

    def rule(shape: Shape) -> Shape:
        return (*shape[:-1], units)

    return Lowered(block, axes, (axes,), rule, weights, nonnegative=is_nonnegative(given))


@builds("Flatten")
def _flatten(request: Request, x: Value) -> Lowered:
    layout = data_format(request)
    if x.rank < 2:
        return Lowered(request.function(functions.reshape, shape=(1,)), (0, 1), takes=None)
    taken = keras_order(x.rank)
    if layout == "channels_first" and x.rank > 2:  # Keras moves the channels last before it flattens
        taken = (0, *range(2, x.rank), 1)
    if same_memory(x.axes, taken, x.free):
        taken = x.axes
    block = nn.Flatten(prefix=request.prefix)
    rule = lambda shape: (shape[0], product(shape[1:]))  # noqa: E731
    return Lowered(block, (0, 1), (taken,), rule, nonnegative=x.nonnegative, takes=None)


@builds("Reshape")
def _reshape(request: Request, x: Value) -> Lowered:
    return reshaped(request, x, request.ints("target_shape"))


def reshaped(request: Request, x: Value, target: Sequence[int]) -> Lowered:
    """Reshape a value to target sizes after the batch, one of which may be -1."""
    if target.count(-1) > 1 or any(n < 1 and n != -1 for n in target):
        raise Unsupported(f"target_shape={target} is not a shape")
    sizes = tuple(None if n == -1 else n for n in (None, *target))
    taken = x.axes if _is_free(x, sizes) else keras_order(x.rank)
    axes = channels_first(len(sizes))
    if not same_memory(axes, keras_order(len(sizes)), sizes):
        axes = keras_order(len(sizes))
    fits, rule = product(x.free[1:]) is not None, reshape_rule(target)  # which checks the sizes then
    how: Any = dict(shape=[target[axis - 1] for axis in axes[1:]], fits=fits, takes=None, rule=rule)
    how.update(order=axes, input_axes=(taken,), nonnegative=x.nonnegative)
    return request.lowered(functions.reshape, x, **how)


def reshape_rule(target: Sequence[int], kept: int = 1) -> Callable[[Shape], Shape]:
    """Return the rule for the shape of a reshape that keeps the first axes."""
    known = math.prod(n for n in target if n != -1)

    def rule(shape: Shape) -> Shape:
        total = product(shape[kept:])
        if total is not None and (total % known if -1 in target else total != known):
            raise ValueError(f"target_shape={list(target)} does not fit an input of shape {shape}")
        rest = None if total is None else total // known
        return (*shape[:kept], *(rest if n == -1 else n for n in target))

    return rule


@builds("Permute")
def _permute(request: Request, x: Value) -> Lowered:
    dims = request.ints("dims")
    if sorted(dims) != list(range(1, x.rank)):
        raise ValueError(f"dims={dims} do not name each axis of an input with {x.rank} axes")
    return permuted(x, [0, *dims])


def permuted(x: Value, dims: Sequence[int]) -> Lowered:
    """Transpose a value by renaming its axes, without touching the array."""
    axes = tuple(dims.index(axis) for axis in x.axes)
    how: Any = dict(nonnegative=x.nonnegative, takes=None)
    return Lowered(None, axes, (), lambda shape: tuple(shape[axis] for axis in dims), **how)


@builds("RepeatVector")
def _repeat_vector(request: Request, x: Value) -> Lowered:
    how: Any = dict(times=request.whole("n"), takes=None)
    return request.in_keras_order(functions.repeat_vector, of_rank(x, 2), ndim=3, **how)


@builds("Embedding", "ReversibleEmbedding")
def _embedding(request: Request, x: Value) -> Lowered:
    size, units = request.whole("input_dim"), request.whole("output_dim")
    block = Embedding(size, units, prefix=request.prefix)
    weights: Tuple[Weight, ...] = (weight_of("embeddings", block.weight),)
    name, cap = "weight", request.optional_number("logit_soft_cap")
    request.ignore("reverse_dtype")
    if not request.flag("tie_weights", True):
        name = "reverse_weight"
        weights += (Weight("reverse_embeddings", (units, size), partial(_of_reverse, block)),)
    masked = request.flag("mask_zero", False)
    if request.kwargs.pop("reverse", False):
        fields: Any = dict(beside=partial(_scores, request, name, cap), masks=(), gives="float32")
        fields["rule"] = lambda shape: replaced(shape, x.rank - 1, size)
        return Lowered(block, keras_order(x.rank), (keras_order(x.rank),), weights=weights, **fields)
    masks: Tuple[Value, ...] = ()
    if masked:
        masks = (request.derive(functions.differs, x, number=0, last=False),)
    axes = keras_order(x.rank + 1), (keras_order(x.rank),)
    return Lowered(block, *axes, weights=weights, masks=masks, takes=None, gives="float32")


def _of_reverse(block: Embedding, array: Any) -> Assignments:
    """Return the weight that an embedding has if it is called in reverse."""
    return [(each, array.T) for name, each in block.params.items() if name.endswith("reverse_weight")]


def _scores(request: Request, name: str, cap: Optional[float], block: Embedding) -> HybridBlock:
    """Return the block of an embedding's call in reverse, which shares a parameter with it."""
    shape = block.weight.shape
    block.params.get(name, shape=shape)
    how: Any = dict(params=block.params, size=shape[0], cap=cap)
    return request.function(functions.scores, {name: dict(shape=shape)}, **how)


@builds("SpatialDropout{}D", ndims=(1, 2, 3))
def _spatial_dropout(request: Request, x: Value, ndim: int) -> Lowered:
    axes, _ = spatial(request, x, ndim)
    return _dropped(request, x, request.number("rate"), axes)


@builds("Dropout")
def _dropout(request: Request, x: Value) -> Lowered:
    axes: Tuple[int, ...] = ()
    if request.get("noise_shape", None) is not None:
        noise = request.get("noise_shape")
        if not isinstance(noise, list) or len(noise) != x.rank or noise[0] == 1:
            raise ValueError(f"noise_shape={noise!r} does not fit an input of shape {x.shape}")
        axes = tuple(axis for axis, n in enumerate(noise) if n == 1)
    return _dropped(request, x, request.number("rate"), axes)


@builds("StochasticDepth")
def _stochastic_depth(request: Request, x: Value) -> Lowered:
    return _dropped(request, x, request.number("drop_path_rate"), tuple(range(1, x.rank)))


def _dropped(request: Request, x: Value, rate: float, axes: Tuple[int, ...]) -> Lowered:
    if not 0 <= rate < 1:
        raise Unsupported(f"a rate of {rate}: only 0 to below 1 is supported")
    block = nn.Dropout(rate, axes=tuple(x.stored(axis) for axis in axes), prefix=request.prefix)
    return elementwise(block, nonnegative=x.nonnegative)


@builds("GaussianNoise", "GaussianDropout", "AlphaDropout", "ActivityRegularization", *AUGMENTATIONS)
def _noise(request: Request, x: Value) -> Lowered:
    augments, known = request.class_name in AUGMENTATIONS, ("stddev", "rate", "noise_shape", "l1", "l2")
    request.ignore(*(request.config if augments else known))
    if x.whole and request.class_name in _CASTING:
        return request.each("identity", x)._replace(inference_only=True)
    return elementwise(None, nonnegative=x.nonnegative, inference_only=True)


@builds("Identity")
def _identity(request: Request, x: Value) -> Lowered:
    return elementwise(None, nonnegative=x.nonnegative, takes=None)


def _is_free(x: Value, sizes: Shape) -> bool:
    """Return whether an input of any size can be reshaped without a transpose."""
    if same_memory(x.axes, keras_order(x.rank), x.free):
        return True
    # If the output has as many elements as channels, every other axis has size 1.
    total = product(sizes[1:])
    return total is not None and total == x.free[-1] and x.axes == channels_first(x.rank)
