"""Construction of a net from a configuration: its layers in order, and its nested models."""

from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ..importing.net import FAILURES
from . import graph
from .arguments import NoBuilder, Unsupported
from .calls import Calls, Problems, Settings, Unknown, builder_of, check_call, check_count
from .layers import Lowered, Request
from .layers.merging import MASK_PLACES, named_mask, passed_on
from .layers.operations import BATCH_MOVED, build_operation, function_of, is_operation
from .layers.wrappers import TimeDistributed, sequence_of, sequence_order, step_of
from .steps import KerasNet, any_size, input_of
from .values import Axes, Value, keras_order, masks_of
from .weights import LayerWeights
from .wrapping import dtype_after, with_dtype

#: Names of the first argument of a layer's call.
_FIRST = ("inputs", "sequences")

#: Most calls of layers, including those in nested models each time that these are called.
_MOST_CALLS = 200_000


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
        alike: Dict[str, List[Tuple[str, str]]] = {}  # by the reason without the layer's name
        for where, why in problems.unsupported:
            alike.setdefault(why.replace(repr(where), ""), []).append((where, why))
        lines = [f"{model.name} contains unsupported layers or arguments:"]
        for (first, why), *more in alike.values():
            lines.append(f"- {first}{f' and {len(more)} more' if more else ''} {why}")
        raise ValueError("\n".join(lines))
    if result is None:
        raise ValueError(f"{model.name}: its outputs are not computed from its inputs")
    net, layers, _ = result
    return net, layers, problems


class _Builder(Calls):
    """Builder of one model or nested model."""

    def build(
        self, inputs: Sequence[Value], outer: Callable[[int], Optional[Axes]], masks: bool
    ) -> Optional[Tuple[KerasNet, List[LayerWeights], List[Value]]]:
        """Return the net, the owners of its parameters, and its outputs; None if a layer is rejected.

        The net receives the masks of the inputs after them. ``masks`` returns those of the outputs, too.
        """
        starts = [self.steps.start(value) for value in inputs]
        for ref, value in zip(self.model.inputs, starts):
            self.values[ref] = value
            self.guessed.update([ref] if value.guessed else [])
            self.steps.show(ref, value)
        for call in graph.without_losses(self.model):
            if graph.Ref(call.layer, call.number, 0) not in self.values:
                self._call(call)
        if self.problems.unsupported or not all(ref in self.values for ref in self.model.outputs):
            return None
        given = [self.values[ref] for ref in self.model.outputs]
        if not all(isinstance(value, Value) for value in given):
            raise Unsupported("an output is a number, such as a size, and not an array")
        if any(value.batch for value in given):
            raise Unsupported("the batch is not the first axis of an output")
        outputs = [self.steps.in_order(value, outer(value.rank)) for value in given]
        names = [ref.layer for ref in self.model.inputs]
        more = [self.ready(mask) for mask in masks_of(outputs) if masks]
        net = self.steps.net([*starts, *masks_of(starts)], [*outputs, *more], self.prefix, names)
        net.originals = self.settings.originals
        return net, [self.weights[name] for name in self.model.layers if name in self.weights], outputs

    def _call(self, call: graph.Call) -> None:
        layer = self.model.layers[call.layer]
        guessed = any(ref in self.guessed for ref in call.inputs())
        try:
            outputs = self._connected(layer, call)
        except Unknown:
            outputs, guessed = self._guess(call), True
        except FAILURES as error:
            outputs = self._guess(call)  # so that later layers are checked, too
            # What is wrong with a function depends on the sizes of its inputs.
            own = isinstance(error, Unsupported) and not is_operation(layer, self.settings.version)
            if own or isinstance(error, NoBuilder) or not guessed:
                where = "/".join((*self.path, layer.name))
                why = f"({layer.class_name}): {error}"
                problem = graph.printable(where), graph.printable(why)
                if problem not in self.problems.unsupported:  # else a shared model contains it
                    self.problems.unsupported.append(problem)
            guessed = True
        for output, value in enumerate(outputs):
            ref = graph.Ref(call.layer, call.number, output)
            if guessed:
                self.guessed.add(ref)
                value = value._replace(padding=None, guessed=True) if isinstance(value, Value) else value
            self.values[ref] = value
            if isinstance(value, Value):
                self.steps.show(ref, value)

    def _guess(self, call: graph.Call) -> List[Value]:
        """Return what the output of a rejected call may be: the first known input, as real numbers."""
        given = (self.values.get(ref) for ref in call.inputs())
        return [x._replace(dtype="float32") for x in given if isinstance(x, Value)][:1]

    def _connected(self, layer: graph.Layer, call: graph.Call) -> List[Value]:
        """Add the steps of a call and return its outputs."""
        version = self.settings.version
        builder = builder_of(layer, self.settings.custom, version)
        custom = getattr(builder, "custom", False)
        whole = layer.name in self.shared or layer.model is not None  # whether to apply all padding

        def value(ref: graph.Ref) -> Value:
            x = self._value(ref)  # sizes of an array are a list
            return self.steps.in_order(x, None) if whole and isinstance(x, Value) else x

        args, kwargs = (graph.with_arrays(part, value) for part in (call.args, call.kwargs))
        if not args:
            args = [kwargs.pop(name) for name in _FIRST if name in kwargs]
        if len(args) > MASK_PLACES.get(layer.class_name, len(args)):
            kwargs = {**kwargs, "mask": args.pop(MASK_PLACES[layer.class_name])}
        if builder is not build_operation and not custom:
            args, kwargs = self._with_constants(layer, args, kwargs)
        masked = builder is not build_operation and "mask" in kwargs
        masks = [x.mask for x in graph.arrays_in(args, Value)][:1]
        args = named_mask(args, kwargs.pop("mask"), version) if masked else args
        inputs = list(graph.arrays_in((args, kwargs), Value))
        alike = layer.name in self.first and not kwargs.get("reverse")
        if alike and (layer.model or custom or self._has_weights(layer)):
            inputs = self._as_before(layer, inputs)
        elif layer.name in self.shared and layer.class_name == "Dense":  # of any number of axes
            inputs = [self.ready(x) for x in inputs]
        if layer.name in self.shared:
            new = iter(inputs)
            args, kwargs = graph.with_arrays([args, kwargs], lambda _: next(new), Value)
        if custom:
            plain = graph.with_arrays([args, kwargs], lambda _: None, Value)
            if self.keywords.setdefault(layer.name, plain) != plain:
                raise Unsupported("its calls have different arguments, which one block cannot have")
        if isinstance(builder, graph.Model):
            check_call(layer.class_name, kwargs, version)
            return self._nested(layer, builder, call, inputs)
        request = self._request(layer, args, kwargs).replace(masked=masked)
        if builder is build_operation:
            request = function_of(request)
        elif any(x.batch for x in inputs):
            raise Unsupported(BATCH_MOVED)
        sure = [x for x in inputs if not x.guessed]
        narrow = dtype_after(request.name, sure, (args, kwargs), request.keras3)
        check_count(builder, request, inputs)
        built = builder(request, *inputs)
        if not isinstance(built, Lowered):
            return [*built] if isinstance(built, tuple) else [built]
        request.finish()
        if builder is build_operation:
            built = built._replace(masks=built.masks or ())
        elif not custom:
            check_call(layer.class_name, kwargs, version)
        if built.masks is None:
            built = built._replace(masks=passed_on(request, *inputs))
        if masked and (3, 0) <= version < (3, 11):  # these do not hand on the mask that a call names
            built = built._replace(masks=tuple(mask and masks[0] for mask in built.masks or ()))
        if built.clears:
            self._clear(call)
        if built.inference_only and call.number == 0:
            self.problems.inference_only.append("/".join((*self.path, layer.name)))
        outputs = self._added(layer, call, built, inputs)
        return [with_dtype(narrow, y, inputs, built.weights) for y in outputs]

    def _request(self, layer: graph.Layer, args: Any, kwargs: Any) -> Request:
        return Request(
            config=layer.config,
            layer_name=layer.name,
            name=layer.computes,
            class_name=layer.class_name.rpartition(">")[2],
            version=self.settings.version,
            trainable=self.trainable and layer.trainable,
            prefix=f"{self.prefix}{layer.name}_",
            array_of=partial(self.settings.arrays_of, (*self.path, layer.name)),
            channels_first=self.settings.channels_first,
            batch_size=self.settings.batch_size,
            args=args,
            kwargs=kwargs,
            custom=self.settings.custom,
            derive=partial(self._derive, layer),
        )

    def _nested(
        self, layer: graph.Layer, model: graph.Model, call: graph.Call, inputs: List[Value]
    ) -> List[Value]:
        """Add the step of a nested model and return its outputs."""
        if any(x.batch for x in inputs):
            raise Unsupported(BATCH_MOVED)
        if len(inputs) != len(model.inputs):
            raise ValueError(f"it has {len(model.inputs)} inputs and is called with {len(inputs)}")
        inputs = [x._replace(mask=x.mask and self.ready(x.mask)) for x in inputs]
        given = inputs
        if layer.distributed:
            orders = [sequence_order(x, self.settings.channels_first) for x in inputs]
            inputs = list(map(self.steps.in_order, inputs, orders))
            given = [step_of(x, layer.config, model) for x in inputs]
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
            pairs = zip(outputs, sized)
            outputs = [y._replace(shape=s.shape, free=s.free, mask=s.mask) for y, s in pairs]
        given = [*inputs, *(x.mask for x, inner in zip(inputs, given) if inner.mask and x.mask)]
        if layer.distributed:
            y = sequence_of(self._request(layer, [], {}), outputs, inputs[0])
            (slot,) = self.steps.run(layer.name, given, 1)
            return [y._replace(slot=slot)]
        states = () if self.shapes_only else self.steps.blocks[layer.name].plan.states
        if states and shared:
            raise Unsupported("stateful=True in a model that is called more than once")
        count = len(outputs) + len(masks_of(outputs))
        slots = iter(self.steps.run(layer.name, given, count, states))
        outputs = [y._replace(slot=next(slots)) for y in outputs]
        known = [y.mask and y.mask._replace(axes=keras_order(y.mask.rank)) for y in outputs]
        masks = [mask and mask._replace(slot=next(slots)) for mask in known]
        return [y._replace(mask=mask) for y, mask in zip(outputs, masks)]

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
                raise Unknown
            raise ValueError("its outputs are not computed from its inputs")
        return result
