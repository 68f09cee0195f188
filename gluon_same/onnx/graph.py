"""Set the padding of marked operators in an exported ONNX graph."""

from contextlib import contextmanager
from typing import Any, Dict, Optional, Sequence, Set, Tuple

import mxnet as mx
import numpy as np

from .operators import registered

#: The operator set that MXNet's exporter writes, and the file format that belongs to it.
OPSET, IR = 13, 7

_AXES = {1: ("width",), 2: ("height", "width"), 3: ("depth", "height", "width")}


def require_onnx() -> Any:
    """Return the onnx package, or raise an ImportError if it or MXNet's exporter is missing."""
    try:
        import onnx
        import onnx.mapping  # noqa: F401  required by the exporter, and removed in 1.19
    except ImportError as error:
        raise ImportError(
            f"Exporting to ONNX requires an onnx package older than 1.19 ({error}): "
            "pip install 'gluon-same[onnx]'"
        ) from error
    if not hasattr(mx, "onnx"):
        raise ImportError(
            f"MXNet {mx.__version__} cannot write current ONNX: pip install 'mxnet>=1.9.1,<2'"
        )
    return onnx


def convert(
    symbol: mx.sym.Symbol,
    variables: Sequence[Tuple[Sequence[int], Any]],
    free: Optional[Sequence[Sequence[Optional[int]]]],
) -> Any:
    """Convert a graph with MXNet's exporter. All its variables become inputs.

    Parameters
    ----------
    symbol : Symbol
    variables : list of (shape, dtype)
        The variables in the order of the graph.
    free : list of shapes, optional
        The same shapes with None for sizes that stay free.

    Returns
    -------
    onnx.ModelProto
        Model that is not checked yet.
    """
    from mxnet.onnx.mx2onnx._export_onnx import MXNetGraph
    from onnx import helper

    shapes = [shape for shape, _ in variables]
    types = [helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) for _, dtype in variables]
    how = {"opset_version": OPSET, "dynamic": free is not None, "dynamic_input_shapes": free}
    with _unchecked(), registered():
        graph = MXNetGraph().create_onnx_graph_proto(symbol, {}, shapes, types, **how)
    return helper.make_model(graph)


@contextmanager
def _unchecked():
    """Prevent the exporter from checking the model against the newest operator set."""
    from onnx import checker

    replaced: Any = checker
    before = replaced.check_graph
    replaced.check_graph = lambda graph: None
    try:
        yield
    finally:
        replaced.check_graph = before


def finish(
    model: Any,
    marks: Dict[str, Any],
    inputs: Sequence[str],
    outputs: Sequence[str],
    dynamic: bool,
) -> None:
    """Bring an exported model to its final form, in place.

    Parameters
    ----------
    model : onnx.ModelProto
    marks : dict of str to Mark
        The mark of each block, by the name of its slice.
    inputs, outputs : list of str
        Names of the net's inputs and outputs, in order.
    dynamic : bool
        Whether the inputs' batch and spatial sizes are free.
    """
    from onnx import checker, shape_inference

    graph = model.graph
    _fold(graph, marks)
    _keep_zeros(graph)
    _order(graph.output, outputs)
    if [value.name for value in graph.output] != list(outputs):
        raise ValueError(f"The exporter lost outputs: {list(outputs)} are expected")
    for node in graph.node:
        node.name = node.name or node.output[0]
    if dynamic:
        for value in graph.input:
            if value.name in inputs:
                _free(value, f"{value.name}_" if len(inputs) > 1 else "")
    model.producer_name = "MXNet"
    model.producer_version = mx.__version__
    model.ir_version = IR
    model.opset_import[0].version = OPSET
    # Weights are inputs here. Without their values, which onnx would copy each time, this is fast.
    if dynamic:  # the exporter does not know the outputs' sizes then
        found = shape_inference.infer_shapes(model).graph.output
        del graph.output[:]
        graph.output.extend(found)
    checker.check_model(model, full_check=True)
    used = used_in(graph)
    constants = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(constants)
    # The exporter lists inputs and outputs in the graph's order, with the weights among the inputs,
    # which keeps runtimes from folding them.
    _order(graph.input, inputs)


def _fold(graph, marks):
    from onnx import helper

    left = [node for node in graph.node if node.output[0] not in marks]
    nodes = {node.output[0]: node for node in left}
    for name, (operator, attributes) in marks.items():
        node = nodes[operator]
        kept = [a for a in node.attribute if a.name not in ("pads", "auto_pad", "output_padding")]
        del node.attribute[:]
        node.attribute.extend(kept)
        node.attribute.extend(helper.make_attribute(*item) for item in attributes.items())
        node.output[0] = node.name = name
    del graph.node[:]
    graph.node.extend(left)


def _keep_zeros(graph):
    """Prevent onnxruntime from merging a Pad of zeros into a MaxPool, which would pad with -inf."""
    from onnx import helper

    padded = {node.output[0] for node in graph.node if node.op_type == "Pad"}
    for node in graph.node:
        if node.op_type == "MaxPool" and node.input[0] in padded:
            values = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            if not any(values.pop("pads", ())) and not values.pop("ceil_mode", 0):
                del node.attribute[:]
                values["auto_pad"] = "VALID"  # the form that onnxruntime does not merge
                node.attribute.extend(helper.make_attribute(*item) for item in values.items())


def used_in(graph: Any) -> Set[str]:
    """Return the names that the operators and the outputs of a graph use."""
    names = {name for node in graph.node for name in node.input}
    return names.union(value.name for value in graph.output)


def _order(values, names):
    """Keep only the values with these names, in this order."""
    found = {value.name: value for value in values}
    kept = [found[name] for name in dict.fromkeys(names) if name in found]
    del values[:]
    values.extend(kept)


def _free(value, prefix):
    dims = value.type.tensor_type.shape.dim
    names = ("batch", None, *_AXES.get(len(dims) - 2, ()))
    for dim, name in zip(dims, names):
        if name is not None:
            dim.dim_param = prefix + name
