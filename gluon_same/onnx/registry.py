"""Registry of converters, by operator and version."""

import inspect
from functools import lru_cache
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, get_args, get_origin

import numpy as np

from .values import Known, Unsupported

#: Converters by operator, and the first version of the operator set that each is for.
CONVERTERS: Dict[str, Dict[int, Callable[..., Any]]] = {}


def converter(operator: str, *versions: int) -> Callable[[Callable], Callable]:
    """Return a decorator that registers a converter.

    Its keyword-only arguments are the operator's attributes, of which a Literal has all values that are
    supported. Attributes that several operators have in common are the fields of a NamedTuple, by which
    ``**`` is annotated.

    Parameters
    ----------
    operator : str
        An operator of ONNX, or ``'domain::Operator'``.
    *versions : int
        First versions of the operator set that the converter is for; 1 by default. A converter serves
        later versions, too, up to the next one that is registered.
    """

    def register(function):
        table = CONVERTERS.setdefault(operator, {})
        for version in versions or (1,):
            if version in table:
                raise ValueError(f"{operator} {version} has a converter already: {table[version]}")
            table[version] = function
        return function

    return register


def once_attributes(operator: str, version: int, newer: Callable[..., Any], **inputs: str) -> None:
    """Register a converter for older operator sets, in which some inputs were attributes.

    Parameters
    ----------
    operator, version
        As for :func:`converter`.
    newer : callable
        Converter for newer operator sets.
    **inputs
        The name of each of these inputs in ``newer``, by the name of the attribute.
    """
    signature = inspect.signature(newer)
    known, kind = signature.parameters, inspect.Parameter.KEYWORD_ONLY
    kept = [p for name, p in known.items() if name not in inputs.values()]
    end = sum(p.kind is not kind for p in kept)
    attributes = [known[name].replace(name=old, kind=kind) for old, name in inputs.items()]

    def convert(net: Any, *given: Any, **attributes: Any) -> Any:
        values = {name: attributes.pop(old, None) for old, name in inputs.items()}
        numbers = {name: x if x is None else Known([np.array(x)]) for name, x in values.items()}
        return newer(net, *given, **numbers, **attributes)

    parameters = [*kept[:end], *attributes, *kept[end:]]
    vars(convert)["__signature__"] = signature.replace(parameters=parameters)
    converter(operator, version)(convert)


def find(operator: str, version: int) -> Optional[Callable[..., Any]]:
    """Return the converter of an operator; None if there is none."""
    table = CONVERTERS.get(operator, {})
    return table.get(max((each for each in table if each <= version), default=0))


@lru_cache(maxsize=None)
def kinds_of(function: Callable[..., Any], count: int) -> List[Any]:
    """Return the annotations of a converter's inputs: Data for arrays, or what else it takes as well."""
    kinds: List[Any] = []
    for p in list(inspect.signature(function).parameters.values())[1:]:
        kinds += [p.annotation] * (count if p.kind is p.VAR_POSITIONAL else 1)
    return kinds[:count]


def check_call(
    function: Callable[..., Any], inputs: Sequence[Any], attributes: Mapping[str, Any]
) -> None:
    """Raise Unsupported for inputs or attributes that are not in a converter's signature."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    kinds = {p.name: p.annotation for p in parameters if p.kind is p.KEYWORD_ONLY}
    for p in parameters:
        kinds.update(p.annotation.__annotations__ if p.kind is p.VAR_KEYWORD else {})
    unread = [f"{name}={value!r}" for name, value in attributes.items() if name not in kinds]
    if unread:
        raise Unsupported(f"its attributes {', '.join(unread)} are not known")
    for name, value in attributes.items():
        if get_origin(kinds[name]) is Literal and value not in get_args(kinds[name]):
            raise Unsupported(f"its {name}={value!r} is not supported")
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    least = sum(p.default is p.empty for p in positional)
    if not any(p.kind is p.VAR_POSITIONAL for p in parameters) and len(inputs) > len(positional):
        raise Unsupported(f"it has {len(inputs)} inputs, of which {len(positional)} are known")
    if len(inputs) < least or any(x is None for x in inputs[:least]):
        raise Unsupported(f"it has {len(inputs)} inputs, and requires {least}")
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in attributes:
            raise Unsupported(f"its attribute {p.name} is missing")
