"""Construction of a net from a configuration: blocks for layers, and the steps between them."""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import mxnet as mx
from mxnet.gluon import HybridBlock

from . import graph
from .arguments import Arguments, Unsupported
from .calls import check_call, key_of, values_in
from .inputs import any_size, input_of
from .layers import Built, Request, build_operation, builder_of
from .layers.wrappers import TimeDistributed, sequence_of, sequence_order, step_of
from .net import KerasNet
from .owners import Owner, keep_to_inference
from .steps import Steps
from .values import Order, Value, keras_order


class Settings(NamedTuple):
    """Settings that all layers of a model share."""

    version: Tuple[int, int]  # version of the Keras that wrote the model
    custom: Dict[str, Callable]
    channels_first: Callable[[int], Order]  # storage order of channels_first arrays, by rank
    arrays_of: Callable[[Tuple[str, ...]], List[Any]]  # returns a layer's arrays from its path


class Result(NamedTuple):
    """Net with parameters that are not initialized, and the owners of the parameters."""

    net: KerasNet
    owners: List[Owner]
    found: "Found"


class Found(NamedTuple):
    """Findings of the construction, including those in nested models."""

    problems: List[str]  # unsupported layers and arguments
    constants: List[Tuple[Any, Any]]  # parameters, and their values in the configuration
    inference_only: List[str]  # paths of layers that differ from Keras in training


#: Errors that builders raise for malformed configurations.
_FAILURES = (
    *(ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError),
    mx.MXNetError,
)


class _Unknown(Exception):
    """Raised if an input of a layer comes from a rejected layer."""


def build(model: graph.Model, settings: Settings, layout: str) -> Result:
    """Build the net of a model.

    Parameters
    ----------
    model : Model
    settings : Settings
    layout : {'NCHW', 'NHWC'}
        Layout of the net's inputs and outputs.

    Raises
    ------
    ValueError
        If layers or arguments are not supported. The message lists all of them.
    """
    found = Found([], [], [])
    builder = _Builder(model, settings, (), f"{model.name}_", found)
    outer = keras_order if layout == "NHWC" else settings.channels_first
    result = builder.build([input_of(model, ref, outer) for ref in model.inputs], outer)
    if found.problems:
        listed = "\n".join(f"- {problem}" for problem in found.problems)
        raise ValueError(f"{model.name} contains unsupported layers or arguments:\n{listed}")
    if result is None:
        raise ValueError(f"{model.name}: its outputs are not computed from its inputs")
    net, owners, _ = result
    return Result(net, owners, found)


class _Builder:
    """Builder of one model or nested model."""

    def __init__(
        self,
        model: graph.Model,
        settings: Settings,
        path: Tuple[str, ...],
        prefix: str,
        found: Found,
        trainable: bool = True,
    ):
        self.model = model
        self.settings = settings
        self.path = path
        self.prefix = prefix
        self.found = found
        self.trainable = trainable and model.trainable
        self.steps = Steps()
        self.owners: Dict[str, Owner] = {}
        self.values: Dict[graph.Ref, Value] = {}
        self.taken: Dict[str, Tuple[Value, ...]] = {}  # inputs of each layer's first call
        self.made: Dict[str, List[Value]] = {}  # outputs of each nested model, for its first call
        self.shared = {call.layer for call in model.calls if call.number}

    def build(
        self, inputs: Sequence[Value], outer: Callable[[int], Optional[Order]]
    ) -> Optional[Tuple[KerasNet, List[Owner], List[Value]]]:
        """Return the net, the owners of its parameters, and its outputs; None if a layer is rejected."""
        starts = [value._replace(slot=self.steps.slot()) for value in inputs]
        for ref, value in zip(self.model.inputs, starts):
            self.values[ref] = value
            self.steps.show(key_of(ref), value)
        for call in self.model.calls:
            if graph.Ref(call.layer, call.number, 0) not in self.values:
                self._call(call)
        if self.found.problems or not all(ref in self.values for ref in self.model.outputs):
            return None
        given = [self.values[ref] for ref in self.model.outputs]
        outputs = [self.steps.in_order(value, outer(value.rank)) for value in given]
        net = self.steps.net(starts, outputs, self.prefix)
        return net, [self.owners[name] for name in self.model.layers if name in self.owners], outputs

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
                problem = f"{where} ({layer.class_name}): {error}"
                if problem not in self.found.problems:  # else a shared model contains it
                    self.found.problems.append(problem)
        for output, value in enumerate(outputs):
            ref = graph.Ref(call.layer, call.number, output)
            self.values[ref] = value
            self.steps.show(key_of(ref), value)

    def _inputs(self, call: graph.Call) -> List[Value]:
        """Return the known inputs of a call."""
        return [self.values[ref] for ref in call.inputs() if ref in self.values]

    def _guessed(self, call: graph.Call) -> List[Value]:
        """Return the input of a rejected layer as its output, so that later layers are checked too."""
        return [value._replace(padding=None, guessed=True) for value in self._inputs(call)[:1]]

    def _connected(self, layer: graph.Layer, call: graph.Call) -> List[Value]:
        """Add the steps of a call and return its outputs."""
        builder = builder_of(layer, call, self.settings.custom)
        args, kwargs = (self._filled(part) for part in (call.args, call.kwargs))
        inputs = values_in((args, kwargs))
        if layer.name in self.shared or layer.model is not None:
            inputs = [self.steps.in_order(x, None) for x in inputs]
        if layer.name in self.taken:
            inputs = self._as_before(inputs, self.taken[layer.name])
        if builder is not build_operation:
            check_call(layer.class_name, kwargs, self.settings.version)
        if isinstance(builder, graph.Model):
            return self._nested(layer, builder, call, inputs)
        request = self._request(layer, args, kwargs)
        built = builder(request, *inputs)
        request.arguments.finish()
        if built.inference_only and call.number == 0:
            self.found.inference_only.append("/".join((*self.path, layer.name)))
        return self._added(layer, call, built, inputs)

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
        )

    def _filled(self, value: Any) -> Any:
        """Return the arguments of a call with each Ref replaced by its Value."""
        if isinstance(value, graph.Ref):
            found = self.values.get(value)
            if found is None:
                raise _Unknown
            return found
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        if isinstance(value, dict):
            return {key: self._filled(item) for key, item in value.items()}
        return value

    def _as_before(self, inputs: List[Value], first: Tuple[Value, ...]) -> List[Value]:
        """Return the inputs of a shared layer in the axis order of its first call."""
        if [x.rank for x in inputs] != [x.rank for x in first]:
            raise ValueError("its calls receive inputs with different numbers of axes")
        return [self.steps.in_order(x, before.order) for x, before in zip(inputs, first)]

    def _added(
        self, layer: graph.Layer, call: graph.Call, built: Built, inputs: Sequence[Value]
    ) -> List[Value]:
        """Add the step of a layer whose block is built, and return its outputs."""
        takes = built.takes or (None,) * len(inputs)
        if built.folds:
            ready = list(inputs)
        else:
            ready = [self.steps.in_order(x, order) for x, order in zip(inputs, takes)]
        outputs = ((built.rule, built.order or ready[0].order), *built.more)
        if built.block is None:
            slots = [ready[0].slot]
        else:
            slots = self.steps.run(self._child(layer, call, built), ready, len(outputs))
        self.taken.setdefault(layer.name, tuple(ready))
        shapes, known = [x.shape for x in inputs], [x.open for x in inputs]
        guessed = any(x.guessed for x in inputs)
        return [
            Value(slot, rule(*shapes), rule(*known), order, built.padding, built.nonnegative, guessed)
            for slot, (rule, order) in zip(slots, outputs)
        ]

    def _child(self, layer: graph.Layer, call: graph.Call, built: Built) -> str:
        """Return the name of the block for a call. Calls of a layer with weights share one block."""
        first = self.owners.get(layer.name)
        if first is not None and first.block.collect_params():
            return layer.name
        name = f"{layer.name}#{call.number}" if call.number else layer.name
        if call.number and name in self.model.layers:
            raise Unsupported(f"its second call would have the name of another layer, {name!r}")
        self.steps.blocks[name] = built.block
        self.found.constants.extend(built.constants)
        trainable = self.trainable and layer.trainable
        self.owners[name] = Owner(name, layer.class_name, trainable, built.weights, None, built.block)
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
        given = inputs
        if layer.distributed:
            inputs = [
                self.steps.in_order(x, sequence_order(x, self.settings.channels_first)) for x in inputs
            ]
            given = [step_of(x, layer.config) for x in inputs]
        shared = layer.name in self.shared
        if layer.name not in self.steps.blocks:
            # The net of a shared model must not depend on the sizes of one call.
            general = [any_size(model, *pair) for pair in zip(model.inputs, given)] if shared else given
            block, owners, outputs = self._inside(layer, model, general, self.found)
            if layer.distributed:
                block = TimeDistributed(block, block.prefix)
            self.steps.blocks[layer.name] = block
            self.taken[layer.name], self.made[layer.name] = tuple(inputs), outputs
            trainable = self.trainable and layer.trainable and model.trainable
            self.owners[layer.name] = Owner(layer.name, layer.class_name, trainable, (), owners, block)
            self._keep_to_inference(call, block)
        outputs = self.made[layer.name]
        if shared:
            _, _, sized = self._inside(layer, model, given, Found(self.found.problems, [], []))
            outputs = [y._replace(shape=s.shape, open=s.open) for y, s in zip(outputs, sized)]
        if layer.distributed:
            outputs = [sequence_of(outputs, inputs[0])]
        slots = self.steps.run(layer.name, inputs, len(outputs))
        return [value._replace(slot=slot) for value, slot in zip(outputs, slots)]

    def _inside(
        self, layer: graph.Layer, model: graph.Model, inputs: List[Value], found: Found
    ) -> Tuple[KerasNet, List[Owner], List[Value]]:
        """Build a nested model."""
        path, prefix = (*self.path, layer.name), f"{self.prefix}{layer.name}_"
        trainable = self.trainable and layer.trainable
        result = _Builder(model, self.settings, path, prefix, found, trainable).build(
            inputs, lambda rank: None
        )
        if result is None:
            if found.problems:
                raise _Unknown
            raise ValueError("its outputs are not computed from its inputs")
        return result
