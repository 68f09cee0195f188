"""Graph of calls that a configuration describes."""

import re
from collections import Counter
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

#: The class that applies a layer or a model to each step of a sequence.
TIME_DISTRIBUTED = "TimeDistributed"


class Ref(NamedTuple):
    """Reference to one output of one call of a layer."""

    layer: str
    call: int
    output: int


class Call(NamedTuple):
    """Call of a layer. In ``args`` and ``kwargs`` each array is a :class:`Ref`."""

    layer: str
    number: int  # index among the layer's calls
    args: List[Any]
    kwargs: Dict[str, Any]

    def inputs(self) -> List[Ref]:
        """Return all arrays that the call receives."""
        return list(arrays_in((self.args, self.kwargs), Ref))


class Layer(NamedTuple):
    """Layer of a configuration."""

    name: str
    class_name: str
    module: str  # module of the class; '' if not written
    config: Dict[str, Any]
    model: Optional["Model"]  # the model itself for a nested model, or the model in a TimeDistributed

    @property
    def trainable(self) -> bool:
        """Return whether Keras trains the layer, and the layer in it if it is a wrapper."""
        return all(config.get("trainable") is not False for config in self.configs)

    @property
    def configs(self) -> List[Dict[str, Any]]:
        """Return the layer's configuration, and that of the layer in it if it is a wrapper."""
        found, inner = [self.config], self.config.get("layer")
        while isinstance(inner, dict) and isinstance(inner.get("config"), dict):
            found.append(inner["config"])
            inner = inner["config"].get("layer")
        return found

    @property
    def computes(self) -> str:
        """Return what it computes: Keras' class, that of an inner layer, or an activation's name."""
        inner = self.config.get("layer") if self.class_name == TIME_DISTRIBUTED else None
        found = inner.get("class_name") if isinstance(inner, dict) else None
        found = self.config.get("activation") if self.class_name == "Activation" else found
        return str(found or self.class_name).rpartition(">")[2]

    @property
    def input_shape(self) -> Any:
        """Return the shape of the layer's input as saved, the batch first; None if it is not."""
        return self.config.get("batch_input_shape") or self.config.get("batch_shape")

    @property
    def distributed(self) -> bool:
        """Return whether the layer applies a model to each step of a sequence."""
        return self.model is not None and self.class_name == TIME_DISTRIBUTED


class Model(NamedTuple):
    """Model of a configuration, with its calls in execution order."""

    name: str
    layers: Dict[str, Layer]
    calls: List[Call]
    inputs: List[Ref]
    outputs: List[Ref]
    trainable: bool
    originals: Dict[str, str]  # names in the file of layers that were renamed by `printable`

    def all_layers(self) -> Iterator[Layer]:
        """Yield the layers of this model and of nested models."""
        for layer in self.layers.values():
            yield layer
            if layer.model is not None:
                yield from layer.model.all_layers()


def arrays_in(value: Any, kind: Any) -> Iterator[Any]:
    """Yield the arrays, of class ``kind``, in nested lists and dicts in Keras' order."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from arrays_in(item, kind)
    elif isinstance(value, dict):
        for _, item in sorted(value.items()):
            yield from arrays_in(item, kind)


def mapped(value: Any, chosen: Callable[[Any], bool], function: Callable[[Any], Any]) -> Any:
    """Return nested lists and dicts with each chosen part replaced by a function's result."""
    if chosen(value):
        return function(value)
    if isinstance(value, list):
        return [mapped(item, chosen, function) for item in value]
    if isinstance(value, dict):
        return {key: mapped(item, chosen, function) for key, item in sorted(value.items())}
    return value


def with_arrays(value: Any, function: Callable[[Any], Any], kind: type = Ref) -> Any:
    """Return nested lists and dicts with each array replaced by a function's result."""
    return mapped(value, lambda item: isinstance(item, kind), function)


def renumbered(calls: Dict[Tuple[str, int], Call], inputs: List[Ref], outputs: List[Ref]) -> Tuple:
    """Return calls, inputs and outputs of a model with each layer's calls numbered from 0.

    A nested model may have been called when it was built, which shifts the numbers.
    """
    used: Dict[str, Set[int]] = {}
    for ref in (*inputs, *outputs, *(ref for call in calls.values() for ref in call.inputs())):
        used.setdefault(ref.layer, set()).add(ref.call)
    counts = Counter(layer for layer, _ in calls)
    numbers: Dict[str, Sequence[int]] = {}
    for layer, known in used.items():
        count = counts[layer]
        if len(known) > count:
            raise ValueError(f"{len(known)} calls of layer {layer!r} are used, but it has {count}")
        regular = max(known) < count and min(known) >= 0
        numbers[layer] = range(count) if regular else sorted(known)

    def changed(value: Any) -> Any:
        return with_arrays(value, lambda ref: ref._replace(call=numbers[ref.layer].index(ref.call)))

    calls = {key: Call(*key, changed(call.args), changed(call.kwargs)) for key, call in calls.items()}
    return calls, changed(inputs), changed(outputs)


def ordered(calls: Dict[Tuple[str, int], Call]) -> List[Call]:
    """Return the calls in topological order, and otherwise in the file's order."""
    done: Dict[Tuple[str, int], Call] = {}
    for key in calls:
        stack = [key]
        waiting = set()
        while stack:
            key = stack[-1]
            before = [(ref.layer, ref.call) for ref in calls[key].inputs()]
            missing = [each for each in before if each not in done]
            if key in done or not missing:
                done.setdefault(key, calls[key])
                stack.pop()
                continue
            if key in waiting:
                raise ValueError(f"layer {key[0]!r} has an input that depends on its own output")
            waiting.add(key)
            stack.extend(missing)
    return list(done.values())


def is_before(calls: Sequence[Call], first: Call, second: Call) -> bool:
    """Return whether a call depends on the results of another, which is first."""
    known = {(call.layer, call.number): call for call in calls}
    seen: Set[Tuple[str, int]] = set()
    stack = [second]
    while stack:
        keys = {(ref.layer, ref.call) for ref in stack.pop().inputs()} - seen
        seen |= keys
        stack.extend(known[key] for key in keys if key in known)
    return (first.layer, first.number) in seen


def printable(name: str) -> str:
    """Return a name without line breaks and control characters, which no terminal may receive."""
    return name if name.isprintable() else "".join(c if c.isprintable() else "_" for c in name)


def calls_in(model: Model, known: Dict[int, int]) -> int:
    """Return the number of calls of layers in a model and nested models, of which some are ``known``."""
    if id(model) not in known:
        inner = (model.layers[call.layer].model for call in model.calls)
        known[id(model)] = sum(calls_in(each, known) if each else 1 for each in inner)
    return known[id(model)]


def without_losses(model: Model) -> List[Call]:
    """Return the calls of a model, except functions that only ``add_loss`` and ``add_metric`` use."""
    used = {(ref.layer, ref.call) for ref in model.outputs}
    kept = []
    for call in reversed(model.calls):
        function = model.layers[call.layer].class_name.endswith(("OpLambda", "AddLoss", "AddMetric"))
        if not function or (call.layer, call.number) in used:
            kept.append(call)
            used.update((ref.layer, ref.call) for ref in call.inputs())
    return kept[::-1]


def snake_case(name: str) -> str:
    """Return a class name in Keras' snake case."""
    name = re.sub(r"\W+", "", name.rpartition(">")[2])
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def role_of(name: str) -> str:
    """Return the role in an array's name, such as 'kernel' from 'block/conv/kernel:0'."""
    return re.sub(r"(_\d+)?(:\d+)?$", "", name.rpartition("/")[2])
