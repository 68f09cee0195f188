"""Evaluation of nodes whose inputs are known, by ONNX's own reference implementation."""

import math
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ..importing.net import fits
from .values import Unsupported

#: Most elements of a result. Larger constants are not found in models, but in malicious files.
MOST = 2**28

#: The same for results that depend on open sizes, of which the importer keeps several. A net computes
#: larger ones.
MOST_OPEN = 2**22

#: Operators whose result may be much larger than their inputs.
_GROWING = {"ConstantOfShape", "Expand", "Tile", "Range", "Pad", "OneHot", "EyeLike", "CenterCropPad"}
_GROWING |= {"BlackmanWindow", "HannWindow", "HammingWindow", "MelWeightMatrix", "Col2Im"}

#: Operators whose older versions onnx' reference may lack. A later one computes the same.
_LATER = {"QuantizeLinear": 19, "DequantizeLinear": 19}


#: Operators that are computed at run time: the results of the first differ from run to run, and the
#: reference computes those of the others element by element, or in the last line not as ONNX defines.
_LEFT = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"}
_LEFT |= {"Bernoulli", "Conv", "ConvInteger", "ConvTranspose", "QLinearConv", "MaxPool", "LpPool"}
_LEFT |= {"AveragePool", "Resize", "Upsample", "GridSample", "RoiAlign", "DeformConv", "LSTM"}
_LEFT |= {"GRU", "RNN", "SequenceEmpty", "SequenceConstruct", "SplitToSequence"}
_LEFT |= {"Attention", "LpNormalization", "LRN", "QLinearMatMul"}

#: Operators that the reference computes by the rules of this version of the operator set on.
_EVALUATED_FROM = {"Softmax": 13, "LogSoftmax": 13, "Hardmax": 13, "BatchNormalization": 14}


class TooLarge(ValueError):
    """A result that the net has to compute."""


def may_evaluate(node: Any, opsets: Dict[str, int]) -> bool:
    """Return whether the results of a node are those of the reference."""
    own = node.domain in ("", "ai.onnx") and not any(a.HasField("g") for a in node.attribute)
    new = opsets.get("", 0) >= _EVALUATED_FROM.get(node.op_type, 0)
    return own and new and node.op_type not in _LEFT


def evaluate(
    node: Any, opsets: Dict[str, int], attributes: Dict[str, Any],
    trials: Sequence[Sequence[Optional[np.ndarray]]],
) -> List[Any]:  # fmt: skip
    """Return the results of a node for each of several lists of inputs, or why there are none.

    Raise TooLarge for results that are large, and that a net can compute.
    """
    if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
        return [[_constant(attributes)]] * len(trials)
    if node.op_type == "Div" and trials[0][0] is not None and trials[0][0].dtype.kind in "iu":
        return [_attempt(_divide, *inputs) for inputs in trials]
    own: Any = _OWN.get(node.op_type)
    if node.op_type == "Gather" and any(x is not None and not x.size for x in trials[0][1:]):
        own = _take  # the reference loses the axes
    if own is not None:
        return [_attempt(own, *inputs, **attributes) for inputs in trials]
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    if node.op_type == "ConstantOfShape":  # whose default onnx 1.13 does not know
        attributes = {"value": np.zeros(1, np.float32), **attributes}
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(trials[0])]
    outputs = [f"y{i}" if name else "" for i, name in enumerate(node.output)]
    attributes = {
        name: numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        for name, value in attributes.items()
    }
    copy = helper.make_node(node.op_type, names, outputs, domain=node.domain, **attributes)
    checked = trials if node.op_type in _GROWING else trials[:1]
    types, large = zip(*(_types(copy, opsets, dict(zip(names, inputs))) for inputs in checked))
    if len(trials) > 1 and max(large) > MOST_OPEN:
        raise TooLarge
    if max(large) > MOST:
        raise ValueError(f"its value has more than {MOST} elements")
    any_type, both = helper.TypeProto(), (names, outputs)
    given, made = ([helper.make_value_info(name, any_type) for name in each if name] for each in both)
    graph = helper.make_graph([copy], "node", given, made)
    results = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        evaluator = _attempt(ReferenceEvaluator, graph, opsets=opsets)
        if isinstance(evaluator, Unsupported) and node.op_type in _LATER:
            later = {**opsets, "": _LATER[node.op_type]}
            evaluator = _attempt(ReferenceEvaluator, graph, opsets=later)
        if isinstance(evaluator, Unsupported):
            raise evaluator
        for inputs in trials:
            found = _attempt(evaluator.run, None, dict(zip(names, inputs)))
            if not isinstance(found, Unsupported):
                each = iter(found)
                found = [_named(next(each)) if name else None for name in outputs]
            results.append(found)
    if not isinstance(results[0], Unsupported):
        _check_types(types[0], [x for x in results[0] if x is not None])
    return results


def _named(x):
    """Return an array whose type is int64 if it is ``longlong``, which is another one of this size."""
    x = np.asarray(x)
    return x.view(x.dtype.name) if x.dtype.kind in "iu" else x


def _types(
    node: Any, opsets: Dict[str, int], inputs: Dict[str, Optional[np.ndarray]]
) -> Tuple[List[Any], int]:
    """Return the types that ONNX infers for results, and the most elements that one has."""
    from onnx import helper, numpy_helper, shape_inference

    arrays = {name: x for name, x in inputs.items() if x is not None}
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in arrays.items()
    ]
    made = [helper.make_value_info(name, helper.TypeProto()) for name in node.output if name]
    sizes = {name: x for name, x in arrays.items() if x.dtype.kind in "iu" and x.size <= 64}
    known = [numpy_helper.from_array(x, name) for name, x in sizes.items()]
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    graph = helper.make_graph([node], "node", given, made, known)
    model = helper.make_model(graph, opset_imports=imports)
    inferred = _attempt(shape_inference.infer_shapes, model)
    if isinstance(inferred, Unsupported):
        raise inferred
    types = [value.type.tensor_type for value in inferred.graph.output]
    large = 0
    for kind in types:
        counts = [each.dim_value for each in kind.shape.dim]
        if node.op_type in _GROWING and (not counts or not all(counts)):  # not inferred
            count = np.prod if node.op_type == "Expand" else np.max
            counts = [int(count(abs(x.astype(np.float64)), initial=1)) for x in sizes.values()]
        large = max(large, math.prod(counts))
    return types, large


def _check_types(types: Sequence[Any], found: Sequence[np.ndarray]) -> None:
    """Raise Unsupported for results of other types than ONNX infers, which some of its releases have."""
    import onnx

    for kind, x in zip(types, found):
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


def _take(data, places, axis=0):
    return [np.take(data, places, axis)]


def _gather_elements(data, places, axis=0):
    return [data[_along(places, axis)]]


def _scatter(data, places, updates, axis=0):
    data = data.copy()
    data[_along(places, axis)] = updates
    return [data]


def _along(places, axis):
    """Return the indices of elements at places along an axis. Other axes of the data may be longer."""
    where = list(np.indices(places.shape, sparse=True))
    where[axis] = places
    return tuple(where)


def _one_hot(indices, depth, values, axis=-1):
    """Return the second value at the indices, and the first elsewhere, along a new axis, as a list."""
    count = int(depth.item())
    if count * indices.size > MOST:
        raise ValueError(f"its value has more than {MOST} elements")
    indices = indices.astype(np.int64)
    hot = np.expand_dims(indices + count * (indices < 0), -1) == np.arange(count)
    return [np.moveaxis(values[hot.astype(int)], -1, axis)]


def _divide(x, y):
    """Return quotients of integers, which are rounded towards zero."""
    quotient = np.floor_divide(x, y)
    return [quotient + ((quotient < 0) & (quotient * y != x)).astype(x.dtype)]


#: Operators that the reference lacks (Scatter), for which it fails if there is a single row in onnx 1.13
#: (GatherElements), or whose indices it takes modulo the depth (OneHot).
_OWN = {"Scatter": _scatter, "GatherElements": _gather_elements, "OneHot": _one_hot}


def _attempt(compute, *args, **kwargs):
    """Return the result of a call, or the error. The reference raises errors of many types."""
    try:
        return compute(*args, **kwargs)
    except Exception as error:
        return Unsupported(f"its value cannot be computed: {error}")
