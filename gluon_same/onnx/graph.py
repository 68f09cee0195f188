"""Convert a traced net with MXNet's exporter, and write the model."""

from typing import Any, Dict, Sequence, Set

import mxnet as mx
import numpy as np

from .._compat import required, restore_onnx_mapping
from ..arrays import in_thread
from ..replacing import replaced
from . import operators
from .trace import Marked
from .windows import MARK

#: The operator set that MXNet's exporter writes, and the file format that belongs to it.
OPSET, IR = 13, 7

#: Largest size of a protobuf message in bytes.
_MOST = 2**31 - 1

_AXES = {1: ["width"], 2: ["height", "width"], 3: ["depth", "height", "width"]}


def require_onnx() -> None:
    """Raise an ImportError if the onnx package or MXNet's exporter is missing."""
    required("onnx", "Exporting to ONNX")
    restore_onnx_mapping()
    if not hasattr(mx, "onnx"):
        raise ImportError(
            f"MXNet {mx.__version__} cannot write current ONNX: pip install 'mxnet>=1.9.1,<2'"
        )


def convert(
    marked: Marked, weights: Dict[str, mx.nd.NDArray], dtypes: Sequence[Any],
    free: Dict[str, Sequence[int]],
) -> Any:  # fmt: skip
    """Return a net as an ONNX model.

    Parameters
    ----------
    marked : Marked
        The traced net.
    weights : dict of str to NDArray
        Parameters of the net.
    dtypes : sequence of dtype
        dtype of each input.
    free : dict of str to sequence of int
        The axes of each input whose sizes stay free; empty for fixed sizes.

    Returns
    -------
    onnx.ModelProto
        Checked model with the weights that its graph uses.

    Raises
    ------
    ValueError
        If the model would exceed 2 GiB.
    """
    from onnx import checker, helper, shape_inference

    graph = _converted(marked, weights, dtypes, free)
    _merge_identities(graph)
    _copy_summands(graph)
    _order(graph.output, marked.outputs)
    if [value.name for value in graph.output] != marked.outputs:
        raise ValueError(f"The exporter lost outputs: {marked.outputs} are expected")
    for node in graph.node:
        node.name = node.name or node.output[0]
    for value in graph.input:
        _free(value, free.get(value.name, ()), f"{value.name}_" if len(dtypes) > 1 else "")
    how: Any = dict(ir_version=IR, opset_imports=[helper.make_opsetid("", OPSET)])
    model = helper.make_model(graph, producer_name="MXNet", producer_version=mx.__version__, **how)
    graph = model.graph
    # Weights are inputs here. Without their values, which onnx would copy each time, this is fast.
    if free:  # the exporter does not know the outputs' sizes then
        found = shape_inference.infer_shapes(model).graph.output
        del graph.output[:]
        graph.output.extend(found)
    checker.check_model(model, full_check=True)
    used = used_in(graph)
    _order(graph.initializer, sorted(used))
    # The exporter lists inputs and outputs in the graph's order, with the weights among the inputs,
    # which keeps runtimes from folding them.
    _order(graph.input, marked.shapes)
    arrays = in_thread(dict, ((name, x.asnumpy()) for name, x in weights.items() if name in used))
    if model.ByteSize() + sum(array.nbytes for array in arrays.values()) > _MOST:
        raise ValueError(f"an ONNX file holds at most {_MOST} bytes, and this one would have more")
    for name, array in arrays.items():  # without a copy between
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        graph.initializer.add(name=name, data_type=kind, dims=array.shape, raw_data=array.tobytes())
    return model


def _converted(marked, weights, dtypes, free):
    """Convert a graph with MXNet's exporter. All its variables become inputs."""
    from mxnet.onnx.mx2onnx._export_onnx import MXNetGraph
    from onnx import checker, helper

    # MXNet's exporter takes seconds per million elements of a parameter, but no time for an input.
    given = {name: (value.shape, value.dtype) for name, value in weights.items()}
    given.update(zip(marked.shapes, zip(marked.shapes.values(), dtypes)))
    # It requires the variables in the order in which the graph uses them.
    used = {name: given[name] for name in marked.symbol.list_inputs() if name in given}
    types = [helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) for _, dtype in used.values()]
    how: Dict[str, Any] = {"dynamic": bool(free)}
    if free:
        pairs = [(shape, free.get(name, ())) for name, (shape, _) in used.items()]
        opened = [[None if i in axes else n for i, n in enumerate(shape)] for shape, axes in pairs]
        how["dynamic_input_shapes"] = opened
    internals = marked.symbol.get_internals()
    found = internals.infer_shape_partial(**{name: shape for name, (shape, _) in used.items()})[1]
    shapes = dict(zip(internals.list_outputs(), found))
    if free:
        shapes = {name: s if name in weights else (None,) * len(s) for name, s in shapes.items()}
    registry = MXNetGraph.registry_
    # The newest operator set, which checks would assume, is not the one that is written.
    unchecked = replaced(vars(checker), {"check_graph": lambda graph: None})
    right = replaced(vars(helper), {"make_tensor": _right(helper.make_tensor)})
    with unchecked, right, replaced(registry, {OPSET: operators.added(registry, OPSET, shapes)}):
        sizes, how["opset_version"] = [shape for shape, _ in used.values()], OPSET
        return MXNetGraph().create_onnx_graph_proto(marked.symbol, {}, sizes, types, **how)


def _merge_identities(graph):
    """Remove marks, and copies to outputs, whose names their sources take.

    onnxruntime refuses a file in which a Pad receives a result that is also copied to an output.
    """
    outputs = {value.name for value in graph.output}
    made = {name for node in graph.node for name in node.output}
    names: Dict[str, str] = {}
    for node in [each for each in reversed(graph.node) if each.op_type == "Identity"]:
        source, name = node.input[0], node.output[0]
        copies = name in outputs and source in made - outputs and source not in names
        if copies or node.doc_string == MARK:
            names[source] = names.get(name, name)
            graph.node.remove(node)
    _rename(graph, names)


def _copy_summands(graph):
    """Copy convolutions' results that are outputs and added to others, too.

    onnxruntime fuses such a convolution with the sum, and loses its output.
    """
    used = {
        operator: {name for node in graph.node if node.op_type == operator for name in node.input}
        for operator in ("Add", "Pad")
    }
    shared = (used["Add"] - used["Pad"]).intersection(value.name for value in graph.output)
    made = [name for node in graph.node if node.op_type == "Conv" for name in node.output]
    names = {name: f"{name}_added" for name in made if name in shared}
    _rename(graph, names)
    for name, own in names.items():
        graph.node.add(op_type="Identity", name=f"{name}_copy", input=[own], output=[name])


def _rename(graph, names):
    for node in graph.node:
        for field in (node.input, node.output):
            field[:] = [names.get(name, name) for name in field]


def _right(make):
    """Return ``make_tensor`` with values for float16, of which MXNet's exporter passes the raw bits."""
    from onnx import TensorProto

    def made(name, data_type, dims, vals, raw=None):
        values = np.ravel(vals)
        if data_type == TensorProto.FLOAT16 and (raw is False or values.dtype == np.uint16):
            vals = values.astype(np.uint16).view(np.float16)
        return make(name, data_type, dims, vals, bool(raw))

    return made


def used_in(graph: Any) -> Set[str]:
    """Return the names that the operators and the outputs of a graph use, also inside of loops."""
    names = {name for node in graph.node for name in node.input}
    bodies = [each.g for node in graph.node for each in node.attribute if each.HasField("g")]
    return names.union(*map(used_in, bodies), (value.name for value in graph.output))


def _order(values, names):
    """Keep only the values with these names, in this order."""
    found = {value.name: value for value in values}
    kept = [found[name] for name in dict.fromkeys(names) if name in found]
    del values[:]
    values.extend(kept)


def _free(value, axes, prefix):
    dims = value.type.tensor_type.shape.dim
    spatial = [axis for axis in axes if axis > 0]
    names = [f"size{axis}" for axis in spatial]
    if len(spatial) == len(dims) - 2:
        names = _AXES.get(len(spatial), names)
    for axis, name in {0: "batch", **dict(zip(spatial, names))}.items():
        if axis in axes:
            dims[axis].dim_param = prefix + name
