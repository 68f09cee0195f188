"""Names in graphs, subgraphs and functions of an ONNX model."""

import re
from functools import lru_cache
from itertools import chain, zip_longest
from types import SimpleNamespace
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from . import contributed
from .evaluation import attributes_of
from .values import Known, Missing, Unsupported


class Scope(NamedTuple):
    """Names in a graph, in one of its subgraphs, or in a function of the model."""

    values: Dict[str, Any]
    opsets: Dict[str, int]  # versions of operator sets, by domain
    path: str  # in front of the names of nodes
    attributes: Dict[str, Any]  # arguments of a function of the model
    outer: Optional["Scope"] = None

    def find(self, name: str) -> Any:
        """Return a value by its name, also from the graph around this one."""
        if name in self.values:
            return self.values[name]
        if self.outer is None:
            raise Unsupported(f"its input {name!r} is not computed by any node")
        return self.outer.find(name)


def initializers_of(graph: Any) -> Dict[str, Known]:
    """Return the initializers of a subgraph."""
    from onnx import numpy_helper

    return {each.name: Known([numpy_helper.to_array(each)], each.name) for each in graph.initializer}


def inputs_of(node: Any) -> List[str]:
    """Return the names that a node reads, also in its subgraphs."""
    return [*node.input, *(name for a in node.attribute if a.HasField("g") for name in names_read(a.g))]


def in_order(nodes: Sequence[Any]) -> List[Any]:
    """Return nodes, each behind those that compute its inputs, as not all files have them."""
    made = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    waiting, opened = list(range(len(nodes)))[::-1], set()
    placed: Dict[int, None] = {}
    while waiting:
        i = waiting[-1]
        if i in placed or i in opened:
            placed[waiting.pop()] = None
            continue
        opened.add(i)
        before = [made[name] for name in inputs_of(nodes[i]) if name in made]
        waiting += [each for each in before[::-1] if each not in placed]
    return [nodes[i] for i in placed]


def names_read(graph: Any) -> List[str]:
    """Return the names that a subgraph reads from the graph around it."""
    own = {each.name for each in (*graph.input, *graph.initializer)}
    own.update(name for node in graph.node for name in node.output)
    read = [*chain.from_iterable(map(inputs_of, graph.node)), *(each.name for each in graph.output)]
    return list(dict.fromkeys(name for name in read if name and name not in own))


def definition(
    node: Any, domain: str, opsets: Dict[str, int], attributes: Dict[str, Any], inputs: Sequence[Any]
) -> Any:
    """Return the definition of an operator by others, as a function of a model; None if it has none.

    ``attributes`` and ``inputs`` are those of the node, by which some definitions differ. Missing
    attributes are added, with their defaults.
    """
    body = contributed.definition(domain, node.op_type, attributes, inputs)
    if body is not None or domain == contributed.DOMAIN:
        return body
    if domain == f"{contributed.DOMAIN}.nchwc":
        raise Missing(
            "it is for one kind of processor: optimize the model with "
            "GraphOptimizationLevel.ORT_ENABLE_EXTENDED instead of ORT_ENABLE_ALL"
        )
    from onnx import FunctionProto, defs, helper

    try:
        schema: Any = defs.get_schema(node.op_type, opsets[domain], domain)
    except defs.SchemaError:
        if domain or opsets[domain] <= defs.onnx_opset_version():
            return None
        raise Missing("the installed onnx does not know it: a later release may") from None
    unknown = sorted({*attributes} - {*schema.attributes})
    if unknown:
        raise Unsupported(f"the installed onnx does not know its attributes {', '.join(unknown)}")
    if schema.has_function:
        body = schema.function_body
    elif schema.has_context_dependent_function:
        types = [
            helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            if x is not None else helper.TypeProto() for x in inputs
        ]  # fmt: skip
        given = [each.SerializeToString() for each in types]
        made = schema.get_context_dependent_function(node.SerializeToString(), given)
        body = FunctionProto.FromString(made)
    else:
        return None
    defaults = [each.default_value for each in schema.attributes.values() if each.default_value.name]
    for name, value in attributes_of(SimpleNamespace(attribute=defaults), {}).items():
        attributes.setdefault(name, value)
    return body


def check_types(node: Any, domain: str, opsets: Dict[str, int], inputs: Sequence[Any]) -> None:
    """Raise Unsupported for a type that neither this version of an operator nor the newest takes."""
    taken = _types_of(node.op_type, domain, opsets.get(domain, 0))
    for place, (x, types) in enumerate(zip(inputs, taken)):
        dtype = getattr(x, "dtype", None)
        if dtype is not None and dtype.kind in "biuf" and dtype.name not in types:
            raise Unsupported(
                f"its input number {place} is of {dtype}, but ONNX has it only for {types}"
            )


@lru_cache(maxsize=None)
def _types_of(operator: str, domain: str, version: int) -> List[List[str]]:
    """Return the types of each input of an operator, or nothing if the installed onnx lacks it."""
    from onnx import defs

    if not domain and version > defs.onnx_opset_version():
        return []
    try:  # the newest, which takes most types, and that of the file
        newest, own = defs.get_schema(operator, domain), defs.get_schema(operator, version, domain)
    except defs.SchemaError:
        return []
    names = {"tensor(float)": "float32", "tensor(double)": "float64"}

    def taken(schema):
        kinds = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
        return [kinds.get(each.type_str, [each.type_str]) for each in schema.inputs]

    both = zip_longest(taken(newest), taken(own), fillvalue=())
    return [sorted(names.get(x, x.partition("(")[2][:-1]) for x in {*new, *old}) for new, old in both]


def printable(name: str) -> str:
    """Return a name without what changes a terminal."""
    return "".join(c if c.isprintable() else "_" for c in name)[:200]


def plain(name: str) -> str:
    """Return a name that any tool accepts."""
    return re.sub(r"[^A-Za-z0-9_.]+", "_", str(name))[:200].strip("_")
