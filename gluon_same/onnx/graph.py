"""Set the padding of marked operators in an exported ONNX graph."""

from contextlib import contextmanager
from typing import Any, Dict, Sequence, Set, Tuple

import mxnet as mx
import numpy as np

from .._compat import restore_onnx_mapping
from . import operators

#: The operator set that MXNet's exporter writes, and the file format that belongs to it.
OPSET, IR = 13, 7

_AXES = {1: ["width"], 2: ["height", "width"], 3: ["depth", "height", "width"]}


def require_onnx() -> Any:
    """Return the onnx package, or raise an ImportError if it or MXNet's exporter is missing."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            f"Exporting to ONNX requires the package onnx ({error}): pip install 'gluon-same[onnx]'"
        ) from error
    restore_onnx_mapping()
    if not hasattr(mx, "onnx"):
        raise ImportError(
            f"MXNet {mx.__version__} cannot write current ONNX: pip install 'mxnet>=1.9.1,<2'"
        )
    return onnx


def convert(
    symbol: mx.sym.Symbol,
    variables: Dict[str, Tuple[Sequence[int], Any]],
    free: Dict[str, Sequence[int]],
) -> Any:
    """Convert a graph with MXNet's exporter. All its variables become inputs.

    Parameters
    ----------
    symbol : Symbol
    variables : dict of str to (shape, dtype)
        The variables in the order of the graph.
    free : dict of str to sequence of int
        The axes of each input whose sizes stay free; empty for fixed sizes.

    Returns
    -------
    onnx.ModelProto
        Model that is not checked yet.
    """
    from mxnet.onnx.mx2onnx._export_onnx import MXNetGraph
    from onnx import helper

    shapes = [shape for shape, _ in variables.values()]
    types = [helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) for _, dtype in variables.values()]
    free_shapes = [
        [None if axis in free.get(name, ()) else n for axis, n in enumerate(shape)]
        for name, (shape, _) in variables.items()
    ]

    def results():
        internals = symbol.get_internals()
        given = {name: shape for name, (shape, _) in variables.items()}
        return dict(zip(internals.list_outputs(), internals.infer_shape_partial(**given)[1]))

    how = {"dynamic": True, "dynamic_input_shapes": free_shapes} if free else {"dynamic": False}
    with _unchecked(), operators.added(MXNetGraph.registry_, OPSET, results):
        graph = MXNetGraph().create_onnx_graph_proto(
            symbol, {}, shapes, types, opset_version=OPSET, **how
        )
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
    free: Dict[str, Sequence[int]],
) -> None:
    """Bring an exported model to its final form, in place.

    Parameters
    ----------
    model : onnx.ModelProto
    marks : dict of str to Mark
        The mark of each block, by the name of its slice.
    inputs, outputs : list of str
        Names of the net's inputs and outputs, in order.
    free : dict of str to sequence of int
        The axes of each input whose sizes are free; empty for fixed sizes.
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
    for value in graph.input:
        _free(value, free.get(value.name, ()), f"{value.name}_" if len(inputs) > 1 else "")
    model.producer_name = "MXNet"
    model.producer_version = mx.__version__
    model.ir_version = IR
    model.opset_import[0].version = OPSET
    # Weights are inputs here. Without their values, which onnx would copy each time, this is fast.
    if free:  # the exporter does not know the outputs' sizes then
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
