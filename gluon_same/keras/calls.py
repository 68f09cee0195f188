"""Calls of single layers: their builders, the steps of the net, and the weights of their blocks."""

import inspect
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from mxnet.gluon import HybridBlock

from .. import nn
from ..importing import functions
from ..importing.block import Function, output_shapes
from ..importing.embedding import Embedding
from . import graph
from .arguments import NoBuilder, Unsupported
from .layers import STRINGS, UNSUPPORTED, Lowered, Request
from .layers.core import SAVED_AS_TRAINING
from .layers.merging import MERGING
from .layers.operations import build_operation, is_operation
from .layers.registry import BUILDERS
from .layers.signatures import has_numbers, is_constant, operand
from .layers.wrappers import custom_builder
from .steps import STORED, Steps
from .values import NO_BATCH, Axes, Shape, Value, keras_order, keras_shape, stored_shape
from .weights import LayerWeights, keep_to_inference

#: Blocks that arrays with different numbers of axes share.
_OF_ANY_RANK = (nn.Dense, Embedding, nn.LayerNorm)

_OF_OTHER_ARRAYS = (
    "its calls receive different numbers of arrays: give all of them initial states, such as zeros, "
    "or none, and the same for masks"
)


class Settings(NamedTuple):
    """Settings that all layers of a model share."""

    version: Tuple[int, int]  # version of the Keras that wrote the model
    custom: Dict[str, Callable]
    channels_first: Callable[[int], Axes]  # axes of channels_first arrays, by rank
    arrays_of: Callable[[Tuple[str, ...]], List[Any]]  # returns a layer's arrays from its path
    sized: Dict[Any, List[Value]]  # outputs of shared models, by model and inputs
    originals: Dict[str, str]  # names of layers in the file, where they differ
    batch_size: Optional[int] = None  # with which the model was saved, if it was fixed


class Problems(NamedTuple):
    """Findings of the construction, including those in nested models."""

    unsupported: List[Tuple[str, str]]  # layers, and what is unsupported about them
    constants: List[Tuple[Any, Any]]  # parameters, and their values in the configuration
    inference_only: List[str]  # paths of layers that differ from Keras in training


class Unknown(Exception):
    """Raised if an input of a layer comes from a rejected layer."""


@dataclass
class Calls:
    """Recorder of the calls of one model's or nested model's layers."""

    model: graph.Model
    settings: Settings
    path: Tuple[str, ...]
    prefix: str
    problems: Problems
    trainable: bool = True
    shapes_only: bool = False  # whether the blocks are not used

    def __post_init__(self) -> None:
        self.trainable &= self.model.trainable
        self.steps = Steps()
        self.weights: Dict[str, LayerWeights] = {}
        self.values: Dict[graph.Ref, Any] = {}  # arrays, and numbers that were computed from sizes
        self.keywords: Dict[str, Any] = {}  # of the first calls of custom layers
        self.first: Dict[str, Tuple[Value, ...]] = {}  # inputs of each layer's first call
        self.outputs: Dict[str, List[Value]] = {}  # outputs of each nested model, for its first call
        self.shared = {call.layer for call in self.model.calls if call.number}
        self.received: Dict[str, int] = {}  # number of arrays that each block receives
        self.guessed: Set[graph.Ref] = set()  # arrays and numbers that depend on rejected layers
        self.cleared: Set[int] = set()  # slots of arrays that have lost their masks

    def _value(self, ref: graph.Ref) -> Value:
        if ref not in self.values:
            raise Unknown
        x = self.values[ref]
        return x._replace(mask=None) if isinstance(x, Value) and x.slot in self.cleared else x

    def _as_before(self, layer: graph.Layer, inputs: List[Value]) -> List[Value]:
        """Return the inputs of a shared layer in the axis order of its first call."""
        first = self.first[layer.name]
        if len(inputs) != len(first):
            raise Unsupported(_OF_OTHER_ARRAYS)
        alike = [x.rank for x in inputs] == [x.rank for x in first]
        if not alike and type(self.weights[layer.name].block) not in _OF_ANY_RANK:
            raise ValueError("its calls receive inputs with different numbers of axes")
        given = [self.steps.cast(x, before.dtype) for x, before in zip(inputs, first)]
        if not alike:
            return [*map(self.ready, given)]
        return [self.steps.in_order(x, before.axes) for x, before in zip(given, first)]

    def ready(self, x: Value) -> Value:
        return self.steps.in_order(x, keras_order(x.rank))

    def _derive(
        self, layer: graph.Layer, function: Any, *inputs: Value, rule: Any = None, **arguments: Any
    ) -> Value:
        """Add a step that computes an array beside a layer's own, by default of the first's shape."""
        name = f"{layer.name}:mask{len(self.steps.blocks)}"
        prefix = f"{self.prefix}{layer.name}_mask{len(self.steps.blocks)}_"
        self.steps.blocks[name] = Function(function, "Mask", prefix, **arguments)
        self.steps.derived.add(name)
        (slot,) = self.steps.run(name, [self.ready(x) for x in inputs], 1)
        rule = rule or (lambda shape, *_: shape)
        shape, free = rule(*(x.shape for x in inputs)), rule(*(x.free for x in inputs))
        return Value(slot, shape, free, keras_order(len(shape)))

    def _with_constants(self, layer: graph.Layer, args: Any, kwargs: Any) -> Tuple[Any, Any]:
        """Return the arguments of a call with arrays in place of numbers that all samples share."""
        like: Any = next(graph.arrays_in((args, kwargs), Value), None)

        def made(numbers: Any) -> Value:
            if like is None:
                raise Unsupported("it is called with constants alone")
            array = operand(numbers)
            array = array[None] if array.ndim == 2 < like.rank else array  # steps by steps of a mask
            if array.shape[0] != 1 or array.ndim < like.rank:
                raise Unsupported(f"it is called with a constant of shape {array.shape}")
            kind: Any = dict(shape=array.shape, dtype=array.dtype.name, grad_req="null")
            how: Any = dict(parameters={"constant1": kind}, places=(1,), rule=lambda _: array.shape)
            y = self._derive(layer, functions.constant, like, **how)
            (*_, block) = self.steps.blocks.values()
            self.problems.constants.append((block.constant1, array))
            return y._replace(dtype=array.dtype.name, rows=NO_BATCH)

        if layer.class_name in MERGING:
            args = graph.mapped(args, is_constant, made)
        if is_constant(kwargs.get("attention_mask")):
            kwargs = {**kwargs, "attention_mask": made(kwargs["attention_mask"])}
        if has_numbers(args):
            raise Unsupported("it is called with numbers: only outputs of layers are supported")
        return args, kwargs

    def _clear(self, call: graph.Call) -> None:
        """Take the masks off the inputs of a call, for all calls after it."""
        own = [self._value(ref) for ref in call.inputs()]
        slots = {x.slot for x in own if isinstance(x, Value) and x.mask is not None}
        for other in self.model.calls:
            known = (self.values.get(ref) for ref in other.inputs())
            given = {x.slot for x in known if isinstance(x, Value)}
            pairs = ((call, other), (other, call))
            ordered = (graph.is_before(self.model.calls, *pair) for pair in pairs)
            if other != call and given & slots and "mask" not in other.kwargs and not any(ordered):
                raise Unsupported(
                    f"Keras takes the masks off its inputs, perhaps before it runs {other.layer}"
                )
        self.cleared |= slots

    def _added(
        self, layer: graph.Layer, call: graph.Call, built: Lowered, inputs: Sequence[Value]
    ) -> List[Value]:
        """Add the step of a layer whose block is built, and return its outputs."""
        same = built.block is None and built.padding is None
        given = [self.steps.cast(x, None if same else built.takes) for x in built.inputs or inputs]
        wanted = built.input_axes or (None,) * len(given)
        ready = given if built.folds else [*map(self.steps.in_order, given, wanted)]
        all_axes = (built.axes or ready[0].axes, *built.more_axes)
        if built.block is None:
            slots = [ready[0].slot]
        else:
            child = self._child(layer, call, built)
            if built.beside:
                child = f"{child}:{call.number}"
                self.steps.blocks[child] = built.beside(self.weights[layer.name].block)
            if self.received.setdefault(child, len(given)) != len(given):
                raise Unsupported(_OF_OTHER_ARRAYS)
            slots = self.steps.run(child, ready, len(all_axes), built.states)
        if not built.beside:
            self.first.setdefault(layer.name, tuple(inputs if built.inputs else ready))
        shapes = _shapes(built, given, ready, all_axes)
        dtypes = built.gives or given[0].dtype
        of_batch = [x.rows for x in given if x.rows != NO_BATCH]
        rows = built.rows if built.rows is not None else [*of_batch, NO_BATCH][0]
        dtypes = dtypes if isinstance(dtypes, tuple) else (dtypes,) * len(shapes)
        masks = (*(built.masks or ()), *(None for _ in slots))
        stored = [STORED.get(dtype, dtype) for dtype in dtypes]
        narrow = [dtype if dtype != kind else None for dtype, kind in zip(dtypes, stored)]
        fields = zip(slots, shapes, all_axes, stored, masks, narrow)
        return [
            Value(s, shape, free, axes, built.padding, built.nonnegative, False, dtype, rows, mask, kind)
            for s, (shape, free), axes, dtype, mask, kind in fields
        ]

    def _has_weights(self, layer: graph.Layer) -> bool:
        """Return whether a layer was called, and has weights."""
        own = self.weights.get(layer.name)
        return own is not None and bool([*own.block.collect_params()])

    def _child(self, layer: graph.Layer, call: graph.Call, built: Lowered) -> str:
        """Return the name of the block for a call. Calls of a layer with weights share one block."""
        if self._has_weights(layer):
            first = self.weights[layer.name].block
            if type(first) is nn.LayerNorm and first._axis != getattr(built.block, "_axis", None):
                raise ValueError("its calls normalize different axes")
            return layer.name
        name = f"{layer.name}#{call.number}" if layer.name in self.steps.blocks else layer.name
        if name != layer.name and name in self.model.layers:
            raise Unsupported(f"its second call would have the name of another layer, {name!r}")
        if built.states and layer.name in self.shared:
            raise Unsupported("stateful=True: it is called more than once")
        self.steps.blocks[name] = built.block
        self.problems.constants.extend(built.constants)
        trainable = self.trainable and layer.trainable
        own = LayerWeights(name, layer.class_name, trainable, built.weights, None, built.block)
        self.weights[name] = own
        self._keep_to_inference(call, built.block)
        return name

    def _keep_to_inference(self, call: graph.Call, block: HybridBlock) -> None:
        """Apply a call's ``training=False``. Keras 3 ignores it in favor of the whole model's mode."""
        if call.kwargs.get("training") is False and self.settings.version < (3, 0):
            keep_to_inference(block)


def _shapes(
    built: Lowered, inputs: Sequence[Value], ready: Sequence[Value], all_axes: Sequence[Axes]
) -> List[Tuple[Shape, ...]]:
    """Return the two shapes of each output, saved and free, by the layer's rule or from its block."""
    both = [x.shape for x in inputs], [x.free for x in inputs]
    if built.rule is not None:
        known = [built.rule(*shapes) for shapes in both]
        return list(zip(*known)) if isinstance(known[0], list) else [tuple(known)] * len(all_axes)
    stored = ([stored_shape(x.axes, shape) for x, shape in zip(ready, shapes)] for shapes in both)
    found = zip(*output_shapes(built.block, *stored))
    return [tuple(keras_shape(axes, s) for s in pair) for axes, pair in zip(all_axes, found)]


def builder_of(layer: graph.Layer, custom: Dict[str, Callable], version: Tuple[int, int]) -> Any:
    """Return the builder of a layer, or the model of a layer that contains one."""
    name = layer.class_name.rpartition(">")[2]
    function = is_operation(layer, version)
    names = [layer.name, layer.class_name, name]
    if function and isinstance(layer.config.get("function"), str):
        names = [layer.name, f"tf.{layer.config['function']}"]
    given = next((custom[each] for each in names if each in custom), None)
    if given is not None:
        return custom_builder(given)
    if layer.model is not None:
        return layer.model
    if function:
        return build_operation
    if layer.class_name in BUILDERS:
        return BUILDERS[layer.class_name]
    if name in STRINGS:
        raise NoBuilder("strings are not supported: turn them into numbers outside of the net")
    if name == "Lambda":
        raise NoBuilder(
            "its code is in the file and is never run: "
            f"give custom={{{layer.name!r}: builder}}, or {name!r} for all"
        )
    if name in BUILDERS:
        name, why = layer.class_name, f"it is not Keras' own {name}"
    else:
        why = UNSUPPORTED.get(name, "it is not known")
    raise NoBuilder(f"{why}: give custom={{{name!r}: builder}}")


def check_call(class_name: str, kwargs: Dict[str, Any], version: Tuple[int, int]) -> None:
    """Raise for arguments of a layer's call that change its result."""
    for name, value in kwargs.items():
        if name == "training" and class_name in SAVED_AS_TRAINING and version >= (3, 0):
            continue
        harmless = value in (None, []) or (name == "training" and value is False)
        harmless = harmless or (isinstance(value, list) and all(each is None for each in value))
        if not harmless:
            what = "an array" if list(graph.arrays_in(value, Value)) else repr(value)
            raise Unsupported(f"it is called with {name}={what}")


def check_count(builder: Callable, request: Request, inputs: Sequence[Value]) -> None:
    """Raise if a layer is called with another number of arrays than its builder takes."""
    try:
        inspect.signature(builder).bind(request, *inputs)
    except TypeError:
        check_call(request.class_name, request.kwargs, request.version)
        raise Unsupported(f"it is called with {len(inputs)} arrays, which it does not support") from None
