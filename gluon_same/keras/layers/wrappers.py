"""TimeDistributed, which applies a layer or a model to each step of a sequence, and custom layers."""

from typing import Any, Callable, Dict, List, Optional, Sequence

from mxnet.base import MXNetError
from mxnet.gluon import HybridBlock

from ...importing import functions
from ...importing.block import output_shapes
from ..arguments import Arguments, Unsupported, words
from ..graph import Model, arrays_in
from ..values import Axes, Shape, Value, keras_order, keras_shape, masks_of, sequence_axes, stored_shape
from .merging import CONSUMERS, passed_on
from .registry import BUILDERS, Lowered, Request, builds, custom_block, inner_request, inside
from .signatures import has_numbers
from .weight import Weight


class TimeDistributed(HybridBlock):
    """Application of a block to each step of data of shape (batch, time, ...).

    Parameters
    ----------
    layer : HybridBlock
    """

    def __init__(self, layer: HybridBlock, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self.layer = layer

    def hybrid_forward(self, F: Any, x: Any, *masks: Any) -> Any:
        y = self.layer(*(F.reshape(each, shape=(-3, -2)) for each in (x, *masks)))
        return functions.split_like(F, y, x, 0, 0, 2)


#: Layers in a model whose results may depend on the masks of its inputs.
_READING = words("""
    GroupQueryAttention GroupedQueryAttention Maximum Minimum MultiHeadAttention Multiply
    TimeDistributed
""")

#: Layers that compute the same for whole sequences as for each step.
_OF_ANY_RANK = ("Dense", "Embedding", "Masking")


@builds("TimeDistributed")
def _time_distributed(request: Request, x: Value) -> Lowered:
    given = request.get("layer")
    name = str(given.get("class_name")) if isinstance(given, dict) else ""
    make = next(
        (request.custom[n] for n in (name, name.rpartition(">")[2]) if n in request.custom), None
    )
    if make is None and name not in BUILDERS:
        raise Unsupported(f"an inner layer of class {name!r}: give custom={{{name!r}: builder}}")
    inner = inner_request(request, given, [name])
    _check_rank(x)
    if make is not None:
        built = _on_steps(request, inner, x, custom_builder(make))
    elif inner.class_name in _OF_ANY_RANK:
        built = BUILDERS[inner.class_name](inner, x)
        own = () if request.keras3 else built.masks
        built = built._replace(masks=own or (x.mask,))
    else:
        built = _on_steps(request, inner, x, BUILDERS[inner.class_name])
    inner.finish()
    return built._replace(weights=inside("layer", built.weights))


def _on_steps(request: Request, inner: Request, x: Value, builder: Callable[..., Lowered]) -> Lowered:
    order = sequence_order(x, keras_order)
    consumes = inner.class_name in CONSUMERS or hasattr(builder, "custom")
    step = _step_value(x, _inner(order), consumes)
    built = builder(inner.replace(derive=_refuse), step)
    if built.more_axes or built.states:
        raise Unsupported(f"an inner layer of class {inner.class_name!r} is not supported")
    given = built.inputs or (step,)
    taken = [axes or step.axes for axes in built.input_axes or (None,)]
    own_rule = built.rule
    passes = passed_on(inner, step) if built.masks is None else built.masks

    def rule(shape: Shape, *masks: Shape) -> Shape:
        batch, *rest = own_rule(_step(shape), *map(_step, masks)) if own_rule else (None,)
        return (batch, shape[1], *rest)

    block = built.padding.block if built.padding else built.block
    return built._replace(
        block=block and TimeDistributed(block, request.prefix),
        rule=own_rule and rule,
        axes=sequence_axes(built.axes or taken[0]),
        input_axes=tuple(map(sequence_axes, taken)),
        padding=None,
        inputs=(x, *masks_of([x])[: len(given) - 1]),
        masks=(_outer_mask(request, x, *passes),),
    )


def _refuse(*args: Any, **kwargs: Any) -> Value:
    raise Unsupported("an inner layer that computes a mask")


def _step_value(x: Value, axes: Axes, consumes: bool) -> Value:
    """Return the part of a sequence that the inner layer or model receives, which may read its mask."""
    mask = x.mask
    if mask is not None and mask.rank > 2:
        mask = mask._replace(shape=_step(mask.shape), free=_step(mask.free), axes=_inner(mask.axes))
    elif mask is not None and consumes:
        raise Unsupported("a mask of its input, whose steps the inner layer may read")
    else:
        mask = None
    return x._replace(shape=_step(x.shape), free=_step(x.free), axes=axes, mask=mask, padding=None)


def _outer_mask(request: Request, x: Value, *inner: Optional[Value]) -> Optional[Value]:
    """Return the mask of the output, for those of the inner layer's output."""
    if x.mask is None or x.mask.rank == 2 or request.keras3 or any(inner):
        return x.mask
    axes = tuple(range(2, x.mask.rank))  # a step counts if any of its parts does
    return request.derive("max", x.mask, rule=lambda shape: shape[:2], axis=axes)


def sequence_order(x: Value, order: Callable[[int], Axes]) -> Axes:
    """Return an order for a sequence that keeps its steps together.

    Parameters
    ----------
    x : Value
    order : callable
        Returns the order of a step's axes, by their number, if the steps must be moved.
    """
    _check_rank(x)
    return x.axes if x.axes[:2] == (0, 1) else sequence_axes(order(x.rank - 1))


def step_of(x: Value, config: Dict[str, Any], model: Model) -> Value:
    """Return the input of a model that TimeDistributed applies to each step of a sequence."""
    arguments = Arguments(config)
    arguments.ignore("layer")
    arguments.finish()
    names = {layer.class_name for layer in model.all_layers() if layer.model is None}
    known, read = {"InputLayer", *BUILDERS}, {*CONSUMERS, *_READING}
    return _step_value(x, _inner(x.axes), consumes=bool(names & read) or not names <= known)


def sequence_of(request: Request, outputs: Sequence[Value], x: Value) -> Value:
    """Return the output of TimeDistributed from that of its model, for a sequence ``x``."""
    if len(outputs) != 1:
        raise Unsupported(f"an inner model with {len(outputs)} outputs is not supported")
    (y,) = outputs
    pairs = ((y.shape, x.shape), (y.free, x.free))
    shape, known = ((sizes[0], whole[1], *sizes[1:]) for sizes, whole in pairs)
    if y.mask is not None and not request.keras3:
        raise Unsupported("an inner model whose output has a mask")
    mask = _outer_mask(request, x)
    return y._replace(shape=shape, free=known, axes=sequence_axes(y.axes), mask=mask)


def _check_rank(x: Value) -> None:
    if x.rank < 3:
        raise ValueError(f"its input of shape {x.shape} has no time axis")


def _step(shape: Shape) -> Shape:
    return (shape[0], *shape[2:])


def _inner(order: Axes) -> Axes:
    return (0, *(axis - 1 for axis in order[2:]))


def custom_builder(make: Callable[..., HybridBlock]) -> Callable[..., Lowered]:
    """Return the builder for a caller's function."""

    def build(request: Request, *inputs: Value) -> Lowered:
        request.ignore(*request.config)
        if any(x.mask is not None for x in inputs):
            raise Unsupported("its input has a mask, which blocks from custom= do not receive")
        given, named = list(request.args), dict(request.kwargs or {})
        more = [each for each in given if not list(arrays_in(each, Value))]
        if has_numbers([each for each in (*given, *named.values()) if list(arrays_in(each, Value))]):
            raise Unsupported("numbers among its arrays, which blocks from custom= do not receive")
        for key, value in [*named.items()]:
            if value is None or key in ("name", "training") or list(arrays_in(value, Value)):
                del named[key]
        arrays = request.array_of()
        block = custom_block(make, request.class_name, dict(request.config), arrays, *more, **named)
        axes = tuple(request.channels_first(x.rank) for x in inputs)
        shapes = [stored_shape(each, x.shape) for each, x in zip(axes, inputs)]
        try:
            outputs = _limited_shapes(block, shapes)
        except TypeError as error:
            raise Unsupported(
                f"its block from custom= cannot be called with {len(inputs)} inputs: {error}"
            ) from None
        orders = [request.channels_first(len(out)) for out in outputs]

        def rule(*given: Shape) -> Any:
            try:
                found = _limited_shapes(block, list(map(stored_shape, axes, given)))
            except MXNetError:  # it serves only the sizes of the saved model
                found = outputs
            first, *others = map(keras_shape, orders, found)
            return [first, *others] if others else first

        return Lowered(block, orders[0], axes, rule, more_axes=tuple(orders[1:]), inputs=inputs)

    build.custom = True  # type: ignore[attr-defined]
    return build


def _limited_shapes(block: HybridBlock, shapes: Sequence[Shape]) -> List[Shape]:
    """Return the shapes of the outputs of a block that may not serve large inputs."""
    try:
        return output_shapes(block, shapes)[0]
    except MXNetError:
        return output_shapes(block, shapes, small=True)[0]


@builds("SpectralNormalization")
def _spectral_normalization(request: Request, x: Value) -> Lowered:
    inner = inner_request(request, request.get("layer"), BUILDERS)
    built = BUILDERS[inner.class_name](inner, x)
    inner.finish()
    kernel = built.weights[0]._replace(assign=lambda array: [], copied=True)
    more = (kernel, Weight("vector_u", (1, None), kernel.assign))
    return built._replace(weights=(*inside("layer", built.weights), *more), inference_only=True)
