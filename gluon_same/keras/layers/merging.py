"""Layers that combine several inputs, and masks.

Keras hands masks from layer to layer beside the arrays, until a layer stops them.
"""

from functools import partial
from typing import Any, List, Optional, Sequence, Tuple

from ...importing import functions
from ..arguments import Unsupported, words
from ..graph import arrays_in, with_arrays
from ..values import NO_BATCH, Shape, Value, broadcast, joined_shape, keras_order, masks_of
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

#: Layers that combine arrays elementwise.
MERGING = words("Add Average Maximum Minimum Multiply Subtract")

#: The place of the mask among the arguments of a layer's call.
MASK_PLACES = {
    **dict.fromkeys(words("AdditiveAttention Attention GlobalAveragePooling1D Softmax"), 1),
    **dict.fromkeys(words("BatchNormalization Bidirectional GRU LSTM RNN SimpleRNN TimeDistributed"), 2),
    **dict.fromkeys(words("ConvLSTM1D ConvLSTM2D ConvLSTM3D"), 2),
}


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
    number, order = request.number("mask_value", 0.0), keras_order(x.rank)
    mask = request.derive(functions.differs, x, rule=lambda shape: shape[:-1], number=number, last=True)
    block, orders = request.function(functions.masked), (order, order[:-1])
    return Lowered(block, order, orders, lambda shape, _: shape, inputs=(x, mask), masks=(mask,))


def in_list(request: Request, inputs: Sequence[Value]) -> Tuple[Value, ...]:
    """Return inputs in a list without masks if the version of Keras ignores those, as 3.0 to 3.3."""
    ignores = (3, 0) <= request.version < (3, 4)
    return tuple(x._replace(mask=None) if ignores else x for x in inputs)


@builds(*MERGING)
def _merge(request: Request, *inputs: Value) -> Lowered:
    inputs = in_list(request, inputs)
    kind = request.class_name.lower()
    count = len(inputs)
    if kind == "subtract" and count != 2 or count < 1:
        raise ValueError(f"it has {count} inputs")
    average = kind == "average"
    built = combined(request, "add" if average else kind, inputs, 1 / count if average else 1)
    if request.keras3 and masks_of(inputs) and kind in ("multiply", "maximum", "minimum"):
        masks, order = [last_axis_free(x) for x in inputs if x.mask], keras_order(inputs[0].rank)
        given = tuple(x.mask is not None for x in inputs)
        built = built._replace(
            block=request.function(functions.masked_merge, kind=kind, given=given),
            axes=order,
            input_axes=(*(order for _ in inputs), *(order[:-1] for _ in masks)),
            inputs=(*inputs, *masks),
            takes="float32",
            rule=lambda *shapes: broadcast(*shapes[:count]),
        )
    return built._replace(masks=merged_mask(request, inputs))


def combined(request: Request, kind: str, inputs: Tuple[Value, ...], scale: float = 1) -> Lowered:
    """Combine values elementwise. Shapes with fewer axes receive new ones after the batch."""
    rank = max(x.rank for x in inputs)
    axes = next(x.axes for x in inputs if x.rank == rank)
    even = len({(x.shape, x.free) for x in inputs}) == 1

    def rule(*shapes: Shape) -> Shape:
        return broadcast(*((*shape[:1], *(1,) * (rank - len(shape)), *shape[1:]) for shape in shapes))

    takes = common_dtype(inputs) if scale == 1 and kind in _EXACT else "float32"
    fields: Any = dict(order=axes, input_axes=(axes,) * len(inputs), rule=rule, takes=takes)
    return request.lowered(functions.merge, *inputs, kind=kind, even=even, scale=scale, **fields)


#: Combinations of whole numbers that are whole.
_EXACT = ("add", "subtract", "multiply", "maximum", "minimum")


def common_dtype(inputs: Sequence[Value]) -> str:
    """Return the widest dtype of whole numbers, if all inputs are whole; else float32."""
    kinds = {x.dtype for x in inputs}
    return max(kinds) if kinds <= {"int32", "int64"} else "float32"


@builds("Concatenate")
def _concatenate(request: Request, *inputs: Value) -> Lowered:
    inputs = in_list(request, inputs)
    axis = request.whole("axis", -1, least=-9)
    built = joined(request, inputs, axis)
    return built._replace(masks=joined_mask(request, inputs, axis % inputs[0].rank))


def joined(request: Request, inputs: Tuple[Value, ...], axis: int) -> Lowered:
    """Concatenate values along one of Keras' axes."""
    rank = inputs[0].rank
    if not -rank <= axis < rank or any(x.rank != rank for x in inputs):
        raise ValueError(f"axis={axis} of inputs of shapes {[x.shape for x in inputs]}")
    axis %= rank
    axes = inputs[0].axes
    takes = None if len({x.dtype for x in inputs}) == 1 else common_dtype(inputs)
    fields: Any = dict(nonnegative=all(x.nonnegative for x in inputs), takes=takes)
    fields.update(order=axes, input_axes=(axes,) * len(inputs), rule=partial(joined_shape, axis))
    if axis == inputs[0].batch:
        if any(x.rows == NO_BATCH for x in inputs):
            raise Unsupported("it joins samples with what is not made of samples")
        fields["rows"] = NO_BATCH - 1 - inputs[0].slot  # other rows than those of any input
    dim = axes.index(axis)
    join = functions.how_to_join(dim, *([x.shape[a] for a in axes] for x in inputs))
    return request.lowered(join, *inputs, dim=dim, **fields)


@builds("Dot")
def _dot(request: Request, a: Value, b: Value) -> Lowered:
    given = request.ints("axes")
    given = given * 2 if len(given) == 1 else given
    ranks = a.rank, b.rank
    fit = len(given) == 2 and min(ranks) > 1
    if not fit or any(not -r <= axis < r or axis % r == 0 for axis, r in zip(given, ranks)):
        raise ValueError(f"axes={given} of inputs with {a.rank} and {b.rank} axes")
    axes = given[0] % a.rank, given[1] % b.rank
    normalize = request.flag("normalize", False)

    def rule(one: Shape, other: Shape) -> Shape:
        broadcast((one[axes[0]],), (other[axes[1]],))
        left = [n for axis, n in enumerate(one) if axis not in (0, axes[0])]
        right = [n for axis, n in enumerate(other) if axis not in (0, axes[1])]
        return (one[0], *left, *right) if left or right else (one[0], 1)

    how: Any = dict(axes=axes, ranks=ranks, normalize=normalize, rule=rule)
    return request.in_keras_order(functions.dot, a, b, ndim=len(rule(a.shape, b.shape)), **how)


@builds("CustomScaleLayer", "Custom>CustomScaleLayer")
def _scaled_sum(request: Request, a: Value, b: Value) -> Lowered:
    how: Any = dict(scale=request.number("scale"), order=a.axes, input_axes=(a.axes, a.axes))
    return request.lowered(functions.scaled_sum, a, b, rule=broadcast, **how)
