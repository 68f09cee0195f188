"""Choice of the function that builds a layer."""

from typing import Any, Callable, Dict

from ..arguments import Unsupported
from ..graph import Call, Layer
from .custom import custom_builder
from .operations import build_operation, is_operation
from .table import BUILDERS


def builder_of(layer: Layer, call: Call, custom: Dict[str, Callable]) -> Any:
    """Return the builder of a layer, or the model of a layer that contains one.

    Raises
    ------
    Unsupported
        If the class is not known.
    """
    name = layer.class_name.rpartition(">")[2]
    given = custom.get(layer.class_name) or custom.get(name)
    if given is not None:
        return custom_builder(given)
    if layer.model is not None:
        return layer.model
    if is_operation(layer.class_name, layer.module, call.args):
        return build_operation
    if name in BUILDERS:
        return BUILDERS[name]
    why = "its code is in the file and is never run" if name == "Lambda" else "it is not known"
    raise Unsupported(f"{why}: give custom={{{name!r}: builder}}")
