"""Construction of a net from a configuration: blocks for layers, and the steps between them."""

from functools import partial
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import mxnet as mx
from mxnet.gluon import HybridBlock

from ..importing.block import Function, output_shapes
from . import graph
from .arguments import Arguments, Unsupported
from .layers import KERAS, STRINGS, Lowered, Request
from .layers.attention import ARRAYS
from .layers.core import SAVED_AS_TRAINING
from .layers.masks import named_mask, passed_on
from .layers.operations import build_operation, is_operation
from .layers.registry import BUILDERS
from .layers.wrappers import TimeDistributed, custom_builder, sequence_of, sequence_order, step_of
from .steps import KerasNet, Steps, any_size, input_of
from .values import Axes, Shape, Value, keras_order, keras_shape, masks_of, stored_shape
from .weights import LayerWeights, keep_to_inference


class Settings(NamedTuple):
    """Settings that all layers of a model share."""

    version: Tuple[int, int]  # version of the Keras that wrote the model
    custom: Dict[str, Callable]
    channels_first: Callable[[int], Axes]  # axes of channels_first arrays, by rank
    arrays_of: Callable[[Tuple[str, ...]], List[Any]]  # returns a layer's arrays from its path
    sized: Dict[Any, List[Value]]  # outputs of shared models, by model and inputs
    originals: Dict[str, str]  # names of layers in the file, where they differ


class Problems(NamedTuple):
    """Findings of the construction, including those in nested models."""

    unsupported: List[str]  # layers and arguments
    constants: List[Tuple[Any, Any]]  # parameters, and their values in the configuration
    inference_only: List[str]  # paths of layers that differ from Keras in training


#: Errors that builders raise for malformed configurations.
_FAILURES = (
    *(ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError),
    mx.MXNetError,
)


#: Most calls of layers, including those in nested models each time that these are called.
_MOST_CALLS = 200_000


class _Unknown(Exception):
    """Raised if an input of a layer comes from a rejected layer."""


def build(
    model: graph.Model, settings: Settings, layout: str
) -> Tuple[KerasNet, List[LayerWeights], Problems]:
    """Build the net of a model.

    Parameters
    ----------
    model : Model
    settings : Settings
    layout : {'NCHW', 'NHWC'}
        Layout of the net's inputs and outputs.

    Returns
    -------
    KerasNet, list of LayerWeights, Problems
        A net whose parameters are not initialized, the weights of its layers, and what else was found.

    Raises
    ------
    ValueError
        If layers or arguments are not supported. The message lists all of them.
    """
    count = graph.calls_in(model, {})
    if count > _MOST_CALLS:
        raise ValueError(f"{model.name} calls {count} layers, and at most {_MOST_CALLS} are supported")
    problems = Problems([], [], [])
    builder = _Builder(model, settings, (), f"{model.name}_", problems)
    outer = keras_order if layout == "NHWC" else settings.channels_first
    result = builder.build([input_of(model, ref, outer) for ref in model.inputs], outer, masks=False)
    if problems.unsupported:
        listed = "\n".join(f"- {problem}" for problem in problems.unsupported)
        raise ValueError(f"{model.name} contains unsupported layers or arguments:\n{listed}")
    if result is None:
        raise ValueError(f"{model.name}: its outputs are not computed from its inputs")
    net, layers, _ = result
    return net, layers, problems


class _Builder:
    """Builder of one model or nested model."""

    def __init__(
        self,
        model: graph.Model,
        settings: Settings,
        path: Tuple[str, ...],
        prefix: str,
        problems: Problems,
        trainable: bool = True,
        shapes_only: bool = False,
    ):
        self.model = model
        self.settings = settings
        self.path = path
        self.prefix = prefix
        self.problems = problems
        self.trainable = trainable and model.trainable
        self.shapes_only = shapes_only  # whether the blocks are not used
        self.steps = Steps()
        self.weights: Dict[str, LayerWeights] = {}
        self.values: Dict[graph.Ref, Any] = {}  # arrays, and numbers that were computed from sizes
        self.keywords: Dict[str, Any] = {}  # of the first calls of custom layers
        self.first: Dict[str, Tuple[Value, ...]] = {}  # inputs of each layer's first call
        self.outputs: Dict[str, List[Value]] = {}  # outputs of each nested model, for its first call
        self.shared = {call.layer for call in model.calls if call.number}
        self.received: Dict[str, int] = {}  # number of arrays that each block receives
        self.cleared: Set[int] = set()  # slots of arrays that have lost their masks

    def build(
        self, inputs: Sequence[Value], outer: Callable[[int], Optional[Axes]], masks: bool
    ) -> Optional[Tuple[KerasNet, List[LayerWeights], List[Value]]]:
        """Return the net, the owners of its parameters, and its outputs; None if a layer is rejected.

        The net receives the masks of the inputs after them. ``masks`` returns those of the outputs, too.
        """
        starts = [self.steps.start(value) for value in inputs]
        for ref, value in zip(self.model.inputs, starts):
            self.values[ref] = value
            self.steps.show(ref, value)
        for call in graph.without_losses(self.model):
            if graph.Ref(call.layer, call.number, 0) not in self.values:
                self._call(call)
        if self.problems.unsupported or not all(ref in self.values for ref in self.model.outputs):
            return None
        given = [self.values[ref] for ref in self.model.outputs]
        if not all(isinstance(value, Value) for value in given):
            raise Unsupported("an output is a number, such as a size, and not an array")
        outputs = [self.steps.in_order(value, outer(value.rank)) for value in given]
        names = [ref.layer for ref in self.model.inputs]
        more = [self._ready(mask) for mask in masks_of(outputs) if masks]
        net = self.steps.net([*starts, *masks_of(starts)], [*outputs, *more], self.prefix, names)
        net.originals = self.settings.originals
        return net, [self.weights[name] for name in self.model.layers if name in self.weights], outputs

    def _call(self, call: graph.Call) -> None:
        layer = self.model.layers[call.layer]
        try:
            outputs = self._connected(layer, call)
        except _Unknown:
            outputs = self._guessed(call)
        except _FAILURES as error:
            outputs = self._guessed(call)
            if isinstance(error, Unsupported) or not any(value.guessed for value in self._inputs(call)):
                where = "/".join((*self.path, layer.name))
                problem = graph.printable(f"{where} ({layer.class_name}): {error}")
                if problem not in self.problems.unsupported:  # else a shared model contains it
                    self.problems.unsupported.append(problem)
        for output, value in enumerate(outputs):
            ref = graph.Ref(call.layer, call.number, output)
            self.values[ref] = value
            if isinstance(value, Value):
                self.steps.show(ref, value)

    def _inputs(self, call: graph.Call) -> List[Value]:
        """Return the known inputs of a call."""
        given = (self.values.get(ref) for ref in call.inputs())
        return [value for value in given if isinstance(value, Value)]

    def _guessed(self, call: graph.Call) -> List[Value]:
        """Return the input of a rejected layer as its output, so that later layers are checked too."""
        return [value._replace(padding=None, guessed=True) for value in self._inputs(call)[:1]]

    def _connected(self, layer: graph.Layer, call: graph.Call) -> List[Value]:
        """Add the steps of a call and return its outputs."""
        builder, version = self._builder_of(layer, call), self.settings.version
        whole = layer.name in self.shared or layer.model is not None  # whether to apply all padding

        def value(ref: graph.Ref) -> Value:
            x = self._value(ref)  # sizes of an array are a list
            return self.steps.in_order(x, None) if whole and isinstance(x, Value) else x

        args, kwargs = (graph.with_arrays(part, value) for part in (call.args, call.kwargs))
        masked = builder is not build_operation and "mask" in kwargs
        args = named_mask(args, kwargs.pop("mask"), version) if masked else args
        inputs = list(graph.arrays_in((args, kwargs), Value))
        if layer.name in self.first:
            inputs = self._as_before(inputs, self.first[layer.name])
        if layer.name in self.shared:
            new = iter(inputs)
            is_value = lambda each: isinstance(each, Value)  # noqa: E731
            args, kwargs = (graph.mapped(part, is_value, lambda _: next(new)) for part in (args, kwargs))
        custom = getattr(builder, "custom", False)
        if builder is not build_operation:
            read = () if layer.model is not None else ("initial_state", *ARRAYS)
            known = {name: value for name, value in kwargs.items() if name not in read}
            if custom:
                known = {key: kwargs[key] for key in ("mask", "training") if key in kwargs}
                plain = graph.mapped(
                    [args, kwargs], lambda each: isinstance(each, Value), lambda x: None
                )
                if self.keywords.setdefault(layer.name, plain) != plain:
                    raise Unsupported("its calls have different arguments, which one block cannot have")
            _check_call(layer.class_name, known, version, arrays=layer.model is None)
        if isinstance(builder, graph.Model):
            return self._nested(layer, builder, call, inputs)
        request = self._request(layer, args, kwargs)._replace(masked=masked)
        built = builder(request, *inputs)
        if not isinstance(built, Lowered):
            return [built]
        request.arguments.finish()
        if builder is build_operation:
            built = built._replace(masks=built.masks or ())
        elif not custom:
            _check_call(layer.class_name, kwargs, version)
        if built.masks is None:
            built = built._replace(masks=passed_on(request, *inputs))
        if built.clears:
            self._clear(call)
        if built.inference_only and call.number == 0:
            self.problems.inference_only.append("/".join((*self.path, layer.name)))
        return self._added(layer, call, built, inputs)

    def _builder_of(self, layer: graph.Layer, call: graph.Call) -> Any:
        """Return the builder of a layer, or the model of a layer that contains one."""
        name, custom = layer.class_name.rpartition(">")[2], self.settings.custom
        function = is_operation(layer.class_name, layer.module, call.args)
        names = [layer.name, layer.class_name, name]
        if function and "function" in layer.config:
            names = [layer.name, f"tf.{layer.config['function']}"]
        given = next((custom[each] for each in names if each in custom), None)
        if given is not None:
            return custom_builder(given)
        if layer.model is not None:
            return layer.model
        if function:
            return build_operation
        if name in BUILDERS:
            return BUILDERS[name]
        if name in STRINGS:
            raise Unsupported("strings are not supported: turn them into numbers outside of the net")
        key, why = name, "it is not supported" if name in KERAS else "it is not known"
        if name == "Lambda":
            key, why = layer.name, "its code is in the file and is never run"
        raise Unsupported(f"{why}: give custom={{{key!r}: builder}}")

    def _request(self, layer: graph.Layer, args: Any, kwargs: Any) -> Request:
        return Request(
            layer.name,
            layer.class_name.rpartition(">")[2],
            Arguments(layer.config),
            self.settings.version,
            self.trainable and layer.trainable,
            f"{self.prefix}{layer.name}_",
            lambda: self.settings.arrays_of((*self.path, layer.name)),
            self.settings.channels_first,
            args,
            kwargs,
            derive=partial(self._derive, layer),
        )

    def _value(self, ref: graph.Ref) -> Value:
        if ref not in self.values:
            raise _Unknown
        x = self.values[ref]
        return x._replace(mask=None) if isinstance(x, Value) and x.slot in self.cleared else x

    def _as_before(self, inputs: List[Value], first: Tuple[Value, ...]) -> List[Value]:
        """Return the inputs of a shared layer in the axis order of its first call."""
        if [x.rank for x in inputs] != [x.rank for x in first]:
            raise ValueError("its calls receive inputs with different numbers of axes")
        return [
            self.steps.in_order(self.steps.cast(x, before.dtype), before.axes)
            for x, before in zip(inputs, first)
        ]

    def _ready(self, x: Value) -> Value:
        return self.steps.in_order(x, keras_order(x.rank))

    def _derive(
        self, layer: graph.Layer, function: Any, *inputs: Value, rule: Any = None, **arguments: Any
    ) -> Value:
        """Add a step that computes an array beside a layer's own, by default of the first's shape."""
        name = f"{layer.name}:mask{len(self.steps.blocks)}"
        prefix = f"{self.prefix}{layer.name}_mask{len(self.steps.blocks)}_"
        self.steps.blocks[name] = Function(function, "Mask", prefix, **arguments)
        self.steps.derived.add(name)
        (slot,) = self.steps.run(name, [self._ready(x) for x in inputs], 1)
        rule = rule or (lambda shape, *_: shape)
        shape, free = rule(*(x.shape for x in inputs)), rule(*(x.free for x in inputs))
        return Value(slot, shape, free, keras_order(len(shape)))

    def _clear(self, call: graph.Call) -> None:
        """Take the masks off the inputs of a call, for all calls after it."""
        own = [self._value(ref) for ref in call.inputs()]
        slots = {x.slot for x in own if isinstance(x, Value) and x.mask is not None}
        for other in self.model.calls:
            known = (self.values.get(ref) for ref in other.inputs())
            given = {x.slot for x in known if isinstance(x, Value)}
            ordered = (
                graph.is_before(self.model.calls, *pair) for pair in ((call, other), (other, call))
            )
            if other != call and given & slots and "mask" not in other.kwargs and not any(ordered):
                raise Unsupported(
                    f"Keras takes the masks off its inputs, perhaps before it runs {other.layer}"
                )
        self.cleared |= slots

    def _added(
        self, layer: graph.Layer, call: graph.Call, built: Lowered, inputs: Sequence[Value]
    ) -> List[Value]:
        """Add the step of a layer whose block is built, and return its outputs."""
        given = [self.steps.cast(x, built.takes) for x in built.inputs or inputs]
        wanted = built.input_axes or (None,) * len(given)
        if built.folds:
            ready = list(given)
        else:
            ready = [self.steps.in_order(x, axes) for x, axes in zip(given, wanted)]
        all_axes = (built.axes or ready[0].axes, *built.more_axes)
        if built.block is None:
            slots = [ready[0].slot]
        else:
            child = self._child(layer, call, built)
            if self.received.setdefault(child, len(given)) != len(given):
                raise Unsupported("its calls differ in initial states or masks")
            slots = self.steps.run(child, ready, len(all_axes), built.states)
        self.first.setdefault(layer.name, tuple(inputs if built.inputs else ready))
        shapes = _shapes(built, given, ready, all_axes)
        dtypes = built.gives or given[0].dtype
        rows = given[0].rows if built.rows is None else built.rows
        dtypes = dtypes if isinstance(dtypes, tuple) else (dtypes,) * len(shapes)
        masks = (*(built.masks or ()), *(None for _ in slots))
        return [
            Value(slot, shape, free, axes, built.padding, built.nonnegative, False, dtype, rows, mask)
            for slot, (shape, free), axes, dtype, mask in zip(slots, shapes, all_axes, dtypes, masks)
        ]

    def _child(self, layer: graph.Layer, call: graph.Call, built: Lowered) -> str:
        """Return the name of the block for a call. Calls of a layer with weights share one block."""
        first = self.weights.get(layer.name)
        if first is not None and first.block.collect_params():
            return layer.name
        name = f"{layer.name}#{call.number}" if call.number else layer.name
        if call.number and name in self.model.layers:
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

    def _nested(
        self, layer: graph.Layer, model: graph.Model, call: graph.Call, inputs: List[Value]
    ) -> List[Value]:
        """Add the step of a nested model and return its outputs."""
        if len(inputs) != len(model.inputs):
            raise ValueError(f"it has {len(model.inputs)} inputs and is called with {len(inputs)}")
        inputs = [x._replace(mask=x.mask and self._ready(x.mask)) for x in inputs]
        given = inputs
        if layer.distributed:
            inputs = [
                self.steps.in_order(x, sequence_order(x, self.settings.channels_first)) for x in inputs
            ]
            given = [step_of(x, layer.config) for x in inputs]
        shared = layer.name in self.shared
        first = self.first.get(layer.name, inputs)
        if [x.mask is None for x in inputs] != [x.mask is None for x in first]:
            raise Unsupported("its calls differ in masks")
        if self.shapes_only:
            self.first[layer.name] = tuple(inputs)
            outputs = self._sized(layer, model, given)
        elif layer.name not in self.steps.blocks:
            # The net of a shared model must not depend on the sizes of one call.
            general = [any_size(model, *pair) for pair in zip(model.inputs, given)] if shared else given
            block, layers, outputs = self._inside(layer, model, general, self.problems)
            if layer.distributed:
                block = TimeDistributed(block, block.prefix)
            self.steps.blocks[layer.name] = block
            self.first[layer.name], self.outputs[layer.name] = tuple(inputs), outputs
            trainable = self.trainable and layer.trainable and model.trainable
            own = LayerWeights(layer.name, layer.class_name, trainable, (), layers, block)
            self.weights[layer.name] = own
            self._keep_to_inference(call, block)
        if not self.shapes_only:
            outputs = self.outputs[layer.name]
        if shared:
            sized = self._sized(layer, model, given)
            outputs = [
                y._replace(shape=s.shape, free=s.free, mask=s.mask) for y, s in zip(outputs, sized)
            ]
        states = ()
        if not layer.distributed and not self.shapes_only:
            states = self.steps.blocks[layer.name].plan.states
        if layer.distributed:
            outputs = [sequence_of(self._request(layer, [], {}), outputs, inputs[0])]
        elif states and shared:
            raise Unsupported("stateful=True in a model that is called more than once")
        masks = [] if layer.distributed else masks_of(outputs)
        given = [*inputs, *masks_of(inputs)]
        slots = self.steps.run(layer.name, given, len(outputs) + len(masks), states)
        rest = iter(slots[len(outputs) :])
        if not layer.distributed:
            outputs = [
                y._replace(
                    mask=y.mask and y.mask._replace(slot=next(rest), axes=keras_order(y.mask.rank))
                )
                for y in outputs
            ]
        return [value._replace(slot=slot) for value, slot in zip(outputs, slots)]

    def _sized(self, layer: graph.Layer, model: graph.Model, inputs: List[Value]) -> List[Value]:
        """Return the outputs of a nested model for some inputs, each of which is computed once."""
        key = id(model), tuple(x._replace(slot=-1) for x in inputs)
        if key not in self.settings.sized:
            problems = Problems(self.problems.unsupported, [], [])
            self.settings.sized[key] = self._inside(layer, model, inputs, problems, True)[2]
        return self.settings.sized[key]

    def _inside(
        self,
        layer: graph.Layer,
        model: graph.Model,
        inputs: List[Value],
        problems: Problems,
        shapes_only: bool = False,
    ) -> Tuple[KerasNet, List[LayerWeights], List[Value]]:
        """Build a nested model."""
        path, prefix = (*self.path, layer.name), f"{self.prefix}{layer.name}_"
        trainable = self.trainable and layer.trainable
        inner = _Builder(model, self.settings, path, prefix, problems, trainable, shapes_only)
        result = inner.build(inputs, lambda rank: None, masks=not layer.distributed)
        if result is None:
            if problems.unsupported:
                raise _Unknown
            raise ValueError("its outputs are not computed from its inputs")
        return result


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


def _check_call(
    class_name: str, kwargs: Dict[str, Any], version: Tuple[int, int], arrays: bool = False
) -> None:
    """Raise for arguments of a layer's call that change its result, or only for arrays."""
    for name, value in kwargs.items():
        if arrays and not list(graph.arrays_in(value, Value)):
            continue
        if name == "training" and class_name in SAVED_AS_TRAINING and version >= (3, 0):
            continue
        harmless = value in (None, []) or (name == "training" and value is False)
        harmless = harmless or (isinstance(value, list) and all(each is None for each in value))
        if not harmless:
            what = "an array" if list(graph.arrays_in(value, Value)) else repr(value)
            raise Unsupported(f"it is called with {name}={what}")
