"""Evaluation of nodes whose inputs are known, by ONNX's own reference implementation."""

import warnings
from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from ..importing.net import fits
from .values import Unsupported

#: Most elements of a result. Larger constants are not found in models, but in malicious files.
MOST = 2**28

#: Operators whose result may be much larger than their inputs.
_GROWING = {"ConstantOfShape", "Expand", "Tile", "Range", "Pad", "OneHot", "Resize", "Upsample"}
_GROWING |= {"EyeLike", "CenterCropPad", "BlackmanWindow", "HannWindow", "HammingWindow"}
_GROWING |= {"MelWeightMatrix", "Col2Im", "MatMul", "Gemm", "Einsum"}


def evaluate(
    node: Any,
    opsets: Dict[str, int],
    attributes: Dict[str, Any],
    trials: Sequence[Sequence[Optional[np.ndarray]]],
) -> List[Any]:
    """Return the results of a node for each of several lists of inputs, or why there are none."""
    if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
        return [[_constant(attributes)]] * len(trials)
    if node.op_type == "GatherElements" and not node.domain:  # onnx 1.13 fails for a single row
        return [_attempt(_gather_elements, *inputs, **attributes) for inputs in trials]
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    for inputs in trials:
        _check_size(node.op_type, inputs)
    if node.op_type == "ConstantOfShape":  # whose default onnx 1.13 does not know
        attributes = {"value": np.zeros(1, np.float32), **attributes}
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(trials[0])]
    outputs = [f"y{i}" if name else "" for i, name in enumerate(node.output)]
    attributes = {
        name: numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        for name, value in attributes.items()
    }
    copy = helper.make_node(node.op_type, names, outputs, domain=node.domain, **attributes)
    made = [helper.make_value_info(name, helper.TypeProto()) for name in outputs if name]
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, trials[0])
        if x is not None
    ]
    graph = helper.make_graph([copy], "node", given, made)
    results = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        evaluator = _attempt(ReferenceEvaluator, graph, opsets=opsets)
        if isinstance(evaluator, Unsupported):
            raise evaluator
        for inputs in trials:
            found = _attempt(evaluator.run, None, dict(zip(names, inputs)))
            if not isinstance(found, Unsupported):
                each = iter(found)
                found = [np.asarray(next(each)) if name else None for name in outputs]
            results.append(found)
    _check_types(graph, opsets, results[0])
    return results


def _check_types(graph: Any, opsets: Dict[str, int], found: Any) -> None:
    """Raise Unsupported if results have other types than ONNX infers. Some releases have such faults."""
    import onnx

    if isinstance(found, Unsupported):
        return
    imports = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    model = onnx.helper.make_model(graph, opset_imports=imports)
    inferred = onnx.shape_inference.infer_shapes(model).graph.output
    for value, x in zip(inferred, (x for x in found if x is not None)):
        kind = value.type.tensor_type
        sizes = [each.dim_value if each.HasField("dim_value") else None for each in kind.shape.dim]
        same = not kind.HasField("shape") or fits(x.shape, sizes)
        if not same or kind.elem_type not in (0, onnx.helper.np_dtype_to_tensor_dtype(x.dtype)):
            raise Unsupported(
                f"its value cannot be computed: onnx {onnx.__version__} returns {x.dtype} of shape "
                f"{x.shape}, which is wrong. A later release may be right"
            )


def attributes_of(node: Any, given: Dict[str, Any], field: str = "attribute") -> Dict[str, Any]:
    """Return the attributes of a node, by name.

    Parameters
    ----------
    node : onnx.NodeProto or onnx.FunctionProto
    given : dict
        Arguments of the function of the model that contains the node.
    field : str
        Name of the message's field.
    """
    from onnx import helper, numpy_helper

    found = {}
    for each in getattr(node, field, ()):
        if each.ref_attr_name:
            if each.ref_attr_name in given:
                found[each.name] = given[each.ref_attr_name]
            continue
        value = helper.get_attribute_value(each)
        if each.HasField("t"):
            value = numpy_helper.to_array(value)
        elif isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        elif isinstance(value, (list, tuple)) or hasattr(value, "append"):
            value = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value]
        found[each.name] = value
    return found


def _constant(attributes):
    """Return the value of a Constant node."""
    kinds: Dict[str, Any] = {"value": None, "value_float": np.float32, "value_floats": np.float32}
    kinds.update(value_int=np.int64, value_ints=np.int64)
    ((name, value),) = attributes.items()
    if name not in kinds:
        raise Unsupported(f"a constant of kind {name} has no equivalent in MXNet")
    return np.asarray(value, kinds[name])


def _gather_elements(data, places, axis=0):
    """Return the elements at places along an axis, as a list. Other axes of the data may be longer."""
    where = list(np.indices(places.shape, sparse=True))
    where[axis] = places
    return [data[tuple(where)]]


def _attempt(compute, *args, **kwargs):
    """Return the result of a call, or the error. The reference raises errors of many types."""
    try:
        return compute(*args, **kwargs)
    except Exception as error:
        return Unsupported(f"its value cannot be computed: {error}")


def _check_size(operator, inputs):
    """Raise Unsupported if the result of an operator may be too large."""
    if operator not in _GROWING:
        return
    most = float(max((x.size for x in inputs if x is not None), default=1))
    for x in inputs:
        if x is not None and x.dtype.kind in "iuf" and x.size <= 64:
            grown = np.abs(x.astype(np.float64))
            total = np.prod(np.maximum(grown, 1)) if operator != "Range" else grown.sum()
            most = max(most, float(total), float(grown.max(initial=0)))
    if most > MOST:
        raise Unsupported(f"its value has more than {MOST} elements")
