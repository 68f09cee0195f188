"""Inputs and steps of a net under construction."""

import math
from types import MappingProxyType
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

import mxnet as mx
import numpy as np
from mxnet.gluon import HybridBlock

from ..importing.net import ImportedNet, LayerOutput, Move, Plan, Run, Step
from . import graph
from .arguments import limit, words
from .values import Axes, Shape, Value, channels_first, keras_order, stored_shape

#: Most elements of a sample.
_MOST_ELEMENTS = 2**28


class KerasNet(ImportedNet):
    """Net loaded from a Keras model by :func:`gluon_same.keras.load_model`.

    Children and parameters have Keras' layer names. The net receives one positional argument for each of
    the model's inputs, and returns one output or a list of outputs.

    Inputs:
        - **\\*data**: channels first, unless the net was loaded with ``layout='NHWC'``.

    Outputs:
        - **out**: an array, or a list of arrays, in the same layout.
    """

    originals: Dict[str, str] = {}  #: names in the file of layers whose names cannot be printed

    @property
    def layers(self) -> Mapping[str, HybridBlock]:
        """Return the blocks by the names of layers in the file."""
        children = self._children.items()
        return MappingProxyType({self.originals.get(name, name): block for name, block in children})

    _states: Optional[List[Any]] = None

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Activate graphs, except for convolutional LSTMs and what contains them.

        Loops with convolutions are wrong in some of MXNet's graphs, but never outside of them.
        """
        super().hybridize(active, **kwargs)
        _keep_eager(self)

    def reset_states(self) -> None:
        """Forget the states that recurrent layers with ``stateful=True`` kept from earlier calls."""
        self._states = None

    def forward(self, x: Any, *others: Any) -> Any:
        count = len(self.plan.states)
        if not count or len(others) + 1 == len(self.plan.inputs):
            return super().forward(x, *others)
        if not isinstance(x, mx.nd.NDArray):
            raise ValueError(
                f"{self.name} keeps states between its calls (stateful=True), so its output is not a "
                "function of its inputs. Save the Keras model with stateful=False for this, or give the "
                f"shapes of the states as those of further inputs: {self.plan.states}, after the batch"
            )
        states = self._states or self.initial_states(x)
        if any(state.shape[0] != x.shape[0] for state in states):
            raise ValueError(
                f"{self.name} keeps states for a batch of {states[0].shape[0]}, and received "
                f"{x.shape[0]} samples: call reset_states() first"
            )
        found = super().forward(x, *others, *(state.as_in_context(x.context) for state in states))
        outputs, self._states = found[:-count], [state.detach() for state in found[-count:]]
        return outputs[0] if len(outputs) == 1 else outputs

    def initial_states(self, x: Any) -> List[Any]:
        """Return the states of the first call, zeros, for a batch."""
        return [mx.nd.zeros((x.shape[0], *shape), ctx=x.context) for shape in self.plan.states]


def _keep_eager(block: HybridBlock) -> bool:
    inside = [_keep_eager(child) for child in block._children.values()]
    eager = any(inside) or getattr(block, "eager", False)
    block._active = block._active and not eager
    return eager


class Steps:
    """Recorder of steps, and of the blocks that they call.

    Attributes
    ----------
    blocks : dict of str to HybridBlock
        Blocks by Keras' layer names.
    """

    def __init__(self) -> None:
        self.blocks: Dict[str, HybridBlock] = {}
        self._steps: List[Step] = []
        self._layer_outputs: List[LayerOutput] = []
        self._known: Dict[Step, int] = {}  # slots of reordered arrays, by step
        self._states: List[Tuple[int, int, Shape]] = []  # slots before and after a call, and shapes
        self._count = 0
        self.derived: Set[str] = set()  # blocks that are not needed if nothing reads their outputs

    def slot(self) -> int:
        """Return a new slot."""
        self._count += 1
        return self._count - 1

    def start(self, value: Value) -> Value:
        """Return a value in a new slot, and its mask in another."""
        return value._replace(slot=self.slot(), mask=value.mask and self.start(value.mask))

    def run(
        self, child: str, inputs: Sequence[Value], count: int, states: Sequence[Shape] = ()
    ) -> List[int]:
        """Add a call of a block, and return the slots of its outputs.

        ``states`` are the shapes, without the batch, of further inputs and outputs of the block.
        """
        before = [self.slot() for _ in states]
        slots = [self.slot() for _ in range(count + len(states))]
        self._steps.append(Run(child, (*(x.slot for x in inputs), *before), tuple(slots)))
        self._states.extend(zip(before, slots[count:], states))
        return slots[:count]

    def show(self, ref: graph.Ref, value: Value) -> None:
        """Record that an array is the output of a layer."""
        if value.padding is None:
            name = ref.layer + (f"#{ref.call}" if ref.call else "")
            key = name + (f":{ref.output}" if ref.output else "")
            self._layer_outputs.append(LayerOutput(key, value.slot, value.axes))

    def net(
        self, inputs: Sequence[Value], outputs: Sequence[Value], prefix: str, names: Sequence[str]
    ) -> KerasNet:
        """Return the net."""
        before, after, shapes = zip(*self._states) if self._states else ((), (), ())
        last = (*(value.slot for value in outputs), *after)
        self._prune({*last, *(shown.slot for shown in self._layer_outputs)})
        carried = ((None, *shape) for shape in shapes)
        stored = (x.dtype.replace("bool", "float32") for x in inputs)
        plan = Plan(
            steps=tuple(self._steps),
            inputs=(*(value.slot for value in inputs), *before),
            outputs=last,
            layer_outputs=tuple(self._layer_outputs),
            saved=tuple(stored_shape(x.axes, x.shape) for x in inputs),
            input_shapes=(*(stored_shape(x.axes, x.free) for x in inputs), *carried),
            output_shapes=tuple(stored_shape(x.axes, x.free) for x in outputs),
            names=tuple(names),
            dtypes=(*map(np.dtype, stored), *[np.dtype("float32")] * len(shapes)),
            states=shapes,
        )
        return KerasNet(self.blocks, plan, prefix=prefix)

    def _prune(self, used: Set[int]) -> None:
        """Remove derived arrays, such as masks, that nothing reads."""
        kept = []
        for step in reversed(self._steps):
            if isinstance(step, Run) and step.child in self.derived and not used & {*step.outputs}:
                del self.blocks[step.child]
            else:
                used.update(step.inputs)
                kept.append(step)
        self._steps = kept[::-1]

    def cast(self, value: Value, dtype: Optional[str]) -> Value:
        """Return a value of a dtype, None for its own, adding a step as needed."""
        if dtype in (None, value.dtype):
            return value
        stored = [to.replace("bool", "float32") for to in (value.dtype, dtype)]
        if stored[0] != stored[1]:
            value = self._once(Move("cast", stored[1], (value.slot,), ()), self.in_order(value, None))
        return value._replace(dtype=dtype)

    def in_order(self, value: Value, axes: Optional[Axes]) -> Value:
        """Return a value with its padding applied and its axes in an order, adding steps as needed."""
        if value.padding is not None:
            self.blocks[value.padding.layer] = value.padding.block
            value = self._once(Run(value.padding.layer, (value.slot,), ()), value)
            value = value._replace(padding=None)
        if axes is None or axes == value.axes:
            return value
        while value.rank < len(axes):
            value = self._once(Move("expand_dims", 1, (value.slot,), ()), value)
            shape, free = ((each[0], 1, *each[1:]) for each in (value.shape, value.free))
            value = value._replace(axes=value.axes_with(1), shape=shape, free=free)
        if axes == value.axes:
            return value
        amounts = tuple(map(value.axes.index, axes))
        return self._once(Move("transpose", amounts, (value.slot,), ()), value)._replace(axes=axes)

    def _once(self, step: Step, value: Value) -> Value:
        """Return the value of a step's result. Equal steps are added once."""
        if step not in self._known:
            self._known[step] = self.slot()
            self._steps.append(step._replace(outputs=(self._known[step],)))
        return value._replace(slot=self._known[step])


def axes_of(model: graph.Model) -> Callable[[int], Axes]:
    """Return the axes of channels_first arrays: Keras' own if the model is channels-first."""
    return keras_order if _is_channels_first(model) else channels_first


def _is_channels_first(model):
    configs = (config for layer in model.all_layers() for config in layer.configs)
    return any(config.get("data_format") == "channels_first" for config in configs)


def input_of(model: graph.Model, ref: graph.Ref, axes: Callable[[int], Axes]) -> Value:
    """Return an input of a model. Raise a ValueError if its shape is not known."""
    given = model.layers[ref.layer].input_shape
    known = [n for n in given[1:] if n is not None] if isinstance(given, list) and given else [0]
    if not all(type(n) is int and n > 0 for n in known):
        raise ValueError(
            f"{model.name}: the shape of input {ref.layer!r} is {given!r}. Build the model in Keras "
            "with model.build(shape) before saving it"
        )
    shape = (None, *given[1:])
    limit(f"input {ref.layer!r} of shape {given}", math.prod(filter(None, given[1:])), _MOST_ELEMENTS)
    if model.layers[ref.layer].config.get("dtype") == "string":
        raise ValueError(
            f"{model.name}: input {ref.layer!r} contains strings, which MXNet's arrays cannot: save a "
            "model that begins behind the layers of strings"
        )
    given = str(model.layers[ref.layer].config.get("dtype"))
    dtype = STORED.get(given, "float32")
    narrow = given if given in STORED and dtype != given else None
    free = (None,) * len(shape) if _is_of_ids(model, ref) else _fixed(model, shape)
    return Value(-1, shape, free, axes(len(shape)), dtype=dtype, narrow=narrow)


#: Dtypes of arrays, by those of Keras. All others are float32. Those of fewer bits wrap around
#: before those that store them.
STORED = dict.fromkeys(words("int8 int16 uint8 uint16 int32"), "int32")
STORED.update(uint32="int64", int64="int64", bool="bool")


def any_size(model: graph.Model, ref: graph.Ref, x: Value) -> Value:
    """Return the input of a nested model for one call, without what is not true of every call."""
    given = model.layers[ref.layer].input_shape
    shape = (None, *given[1:]) if isinstance(given, list) and len(given) == x.rank else x.shape
    free = (None,) * len(shape) if _is_of_ids(model, ref) else _fixed(model, shape)
    return x._replace(shape=shape, free=free, nonnegative=False)


def _is_of_ids(model, ref):
    """Return whether an input has indices for embeddings, so that its last axis has no channels."""
    layers = [model.layers[call.layer] for call in model.calls if ref in call.inputs()]
    embed = [layer.class_name in ("Embedding", "ReversibleEmbedding") for layer in layers]
    compare = [
        layer.class_name == "NotEqual" or layer.config.get("function") == "math.not_equal"
        for layer in layers
    ]
    shape = ["shape" in str(layer.config.get("function")) for layer in layers]
    return any(embed) and all(map(max, embed, compare, shape))


def _fixed(model, shape):
    """Return a shape with None for sizes that may vary."""
    rank = len(shape)
    kept = (1 if _is_channels_first(model) else rank - 1) if rank > 1 else 0
    return tuple(n if axis == kept else None for axis, n in enumerate(shape))
