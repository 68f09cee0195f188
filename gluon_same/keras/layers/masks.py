"""Masks, which Keras hands from layer to layer beside the arrays, until a layer stops them."""

from functools import partial
from typing import Any, List, Optional, Sequence, Tuple

from ...importing import functions
from ..arguments import Unsupported, words
from ..graph import arrays_in, with_arrays
from ..values import Value, joined_shape, keras_order
from .registry import Lowered, Request, builds

#: Layers whose output has the mask of their input, in both versions of Keras and in only one.
_PASSING = words("""
    Activation ActivityRegularization AlphaDropout BatchNormalization BatchNormalizationV1 Dense Dropout
    ELU GaussianDropout GaussianNoise GroupNormalization LayerNormalization LeakyReLU PReLU ReLU Softmax
    SpatialDropout1D SpatialDropout2D SpatialDropout3D SyncBatchNormalization ThresholdedReLU
    UnitNormalization
""")
_PASSING_IN_KERAS_3 = ("Identity", "Normalization", "Rescaling")

#: Layers whose results depend on the mask of their input.
CONSUMERS = words("""
    AdditiveAttention Attention Bidirectional ConvLSTM1D ConvLSTM2D ConvLSTM3D CuDNNGRU CuDNNLSTM GRU
    GlobalAveragePooling1D GroupNormalization LSTM RNN SimpleRNN Softmax
""")

#: Layers whose call takes the mask as its second argument.
MASK_SECOND = ("GlobalAveragePooling1D", "Softmax")


def passed_on(request: Request, *inputs: Value) -> Tuple[Optional[Value], ...]:
    """Return the mask of a layer's first output, by default."""
    known = request.class_name in _PASSING
    known = known or (request.keras3 and request.class_name in _PASSING_IN_KERAS_3)
    return tuple(x.mask for x in inputs[:1]) if known else ()


def named_mask(args: Sequence[Any], mask: Any, version: Tuple[int, int]) -> List[Any]:
    """Return the arguments of a call with the masks that it names, in place of their own."""
    if not args or (mask is None and version >= (3, 0)):  # Keras 3 saves None for the inputs' own masks
        return list(args)
    first, *rest = args
    count, masks = len([*arrays_in(first, Value)]), [*arrays_in(mask, (Value, type(None)))]
    masks += [None] * (0 if isinstance(mask, (list, dict)) else count - 1)
    if len(masks) != count:
        raise ValueError(f"it has {count} inputs and {len(masks)} masks")
    own = iter(masks)
    return [with_arrays(first, lambda x: x._replace(mask=next(own)), Value), *rest]


def last_axis_free(x: Value) -> Value:
    """Return the mask of a value; raise if it does not have all of the axes but the last one."""
    assert x.mask is not None
    if x.mask.rank != x.rank - 1:
        raise Unsupported(f"an input of shape {x.shape} with a mask of shape {x.mask.shape}")
    return x.mask


def merged_mask(request: Request, inputs: Sequence[Value]) -> Tuple[Optional[Value], ...]:
    """Return the mask of a sum: where any input counts in Keras 3, and where all do in Keras 2."""
    masks = [x.mask for x in inputs if x.mask is not None]
    if not masks or (request.keras3 and len(masks) < len(inputs)):
        return ()
    if len({mask.rank for mask in masks}) > 1:
        raise Unsupported(f"masks of shapes {[mask.shape for mask in masks]}")
    kind = "maximum" if request.keras3 else "minimum"
    return (_combined(request, kind, masks),)


def _combined(request: Request, kind: str, masks: Sequence[Value]) -> Value:
    if len({mask.slot for mask in masks}) == 1:
        return masks[0]
    return request.derive(functions.merge, *masks, kind=kind, even=False)


def joined_mask(request: Request, inputs: Sequence[Value], axis: int) -> Tuple[Optional[Value], ...]:
    """Return the mask of arrays that are concatenated along one of Keras' axes."""
    if all(x.mask is None for x in inputs):
        return ()
    if axis == inputs[0].rank - 1:
        masks = [last_axis_free(x) for x in inputs if x.mask is not None]
        if not request.keras3:
            return (_combined(request, "minimum", masks),)
        # An input without a mask makes every step count.
        return (_combined(request, "maximum", masks),) if len(masks) == len(inputs) else ()
    if not request.keras3 and any(x.mask is None for x in inputs):
        raise Unsupported("only some of its inputs have a mask, which Keras 2 refuses")
    parts = [_steps_of(request, x) if x.mask is None else last_axis_free(x) for x in inputs]
    return (request.derive("concat", *parts, rule=partial(joined_shape, axis), dim=axis),)


def _steps_of(request: Request, x: Value) -> Value:
    return request.derive(functions.every_step, x, rule=lambda shape: shape[:-1])


@builds("Masking")
def _masking(request: Request, x: Value) -> Lowered:
    number, order = request.arguments.number("mask_value", 0.0), keras_order(x.rank)
    mask = request.derive(functions.differs, x, rule=lambda shape: shape[:-1], number=number, last=True)
    block, orders = request.function(functions.masked), (order, order[:-1])
    return Lowered(block, order, orders, lambda shape, _: shape, inputs=(x, mask), masks=(mask,))
