"""Convert MXNet's loops over steps to ONNX's Scan."""

from typing import Any, List

import numpy as np

from .writer import Writer


def scan(write: Writer) -> None:
    """Convert a ``_foreach`` node: the stacked results of all steps, and the last states."""
    from onnx import helper

    name, (body,) = write.name, write.node["subgraphs"]
    data, states, rest = (write.sizes(key) for key in _PLACES)
    pairs = zip(data + states, write.given)
    inputs = {place: (f"{name}_in{place}", each.dtype) for place, each in pairs}
    outer = {place: write.given[len(inputs) + i] for i, place in enumerate(rest)}
    kind = type(write.given[0])
    arguments = [outer[i] if i in outer else kind(*inputs[i]) for i in range(len(body["arg_nodes"]))]
    nodes, made = _converted(body, arguments, f"{name}_", write.known)

    heads = [made[source][index] for source, index, *_ in body["heads"]]
    outputs = [f"{name}{i}" for i in range(len(heads))] if len(heads) > 1 else [name]
    count = write.attributes["num_out_data"]
    described = []
    for i, head in enumerate(heads):  # Scan requires a name and a rank for each output
        part = f"{name}_out{i}"
        nodes.append(helper.make_node("Identity", [head.name], [part]))
        rank = write.rank(str(i) if len(heads) > 1 else "") - (i < count)
        described.append(_described(part, head.dtype, [None] * rank))
    order = [*range(count, len(heads)), *range(count)]  # Scan returns the states first
    given = [_described(*inputs[place]) for place in states + data]
    graph = helper.make_graph(nodes, f"{name}_body", given, [described[i] for i in order])
    sources = write.inputs[len(data) : len(inputs)] + write.inputs[: len(data)]
    how: Any = dict(name=name, body=graph, num_scan_inputs=len(data))
    loop = helper.make_node("Scan", sources, [outputs[i] for i in order], **how)
    write.nodes, write.dtypes, write.finished = [loop], [head.dtype for head in heads], True


#: Attributes with the positions of the inputs in the body.
_PLACES = ("in_data_locs", "in_state_locs", "remain_locs")


def _described(name, dtype, shape=None):
    from onnx import helper

    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


def _converted(body, arguments, prefix, known):
    """Return the ONNX operators of a body, and the outputs of each of its nodes."""
    from mxnet.onnx.mx2onnx._export_onnx import MXNetGraph
    from onnx import NodeProto

    kind, left = type(arguments[0]), iter(arguments)
    # MXNet allows several nodes of one name.
    named = [f"{prefix}{i}_{part['name']}" for i, part in enumerate(body["nodes"])]
    content = [{**part, "name": name} for part, name in zip(body["nodes"], named)]
    nodes: List[Any] = []
    made: List[Any] = []
    for i, part in enumerate(content):
        if part["op"] == "null":
            made.append([next(left)])
            continue
        own = dict(mx_graph=content, outputs_lookup=made, proc_nodes=nodes, is_input=False)
        own["idx"] = f"{prefix}{i}"  # part of the names of constants
        new, dtypes = MXNetGraph.convert_layer(part, **{**known, **own})
        new = [each for each in new if isinstance(each, NodeProto)]  # the others describe constants
        nodes += new
        names = {output for each in new for output in each.output}
        wanted = [part["name"], *(f"{part['name']}{k}" for k in range(100))]
        found = [each for each in wanted if each in names]
        source, index, *_ = part["inputs"][0]
        dtypes = dtypes or [made[source][index].dtype] * len(found)
        made.append([kind(*pair) for pair in zip(found, dtypes)])
    return nodes, made
