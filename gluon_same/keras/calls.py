"""Arguments of the calls of layers."""

from typing import Any, Dict, List, Tuple

from . import graph
from .arguments import Unsupported
from .layers.augmentation import SAVED_AS_TRAINING
from .values import Value


def key_of(ref: graph.Ref) -> str:
    """Return the name of a layer's output: 'conv', 'conv#1' in the second call, 'lstm:1'."""
    return ref.layer + (f"#{ref.call}" if ref.call else "") + (f":{ref.output}" if ref.output else "")


def values_in(value: Any) -> List[Value]:
    """Return the arrays in nested lists and dicts, in Keras' order."""
    if isinstance(value, Value):
        return [value]
    if isinstance(value, dict):
        return [x for _, item in sorted(value.items()) for x in values_in(item)]
    return [x for item in value for x in values_in(item)] if isinstance(value, (list, tuple)) else []


def check_call(class_name: str, kwargs: Dict[str, Any], version: Tuple[int, int]) -> None:
    """Raise for arguments of a layer's call that change its result."""
    for name, value in kwargs.items():
        if name == "training" and class_name in SAVED_AS_TRAINING and version >= (3, 0):
            continue
        harmless = (
            value in (None, []) or (name == "training" and value is False) or name == "initial_state"
        )
        harmless = harmless or (isinstance(value, list) and all(each is None for each in value))
        if not harmless:
            what = "an array" if values_in(value) else repr(value)
            raise Unsupported(f"it is called with {name}={what}")
