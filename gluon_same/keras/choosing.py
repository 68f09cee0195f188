"""Choice of the builder for a call of a layer, and checks of the arguments of the call."""

import inspect
from typing import Any, Callable, Dict, Sequence, Tuple

from . import graph
from .arguments import NoBuilder, Unsupported
from .layers import STRINGS, UNSUPPORTED
from .layers.core import SAVED_AS_TRAINING
from .layers.operations import build_operation, is_operation
from .layers.registry import BUILDERS, Request
from .layers.wrappers import custom_builder
from .values import Value


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
