"""Nodes of TensorFlow's graphs, as which Keras 2.3 saved functions of arrays."""

import base64
import re
from typing import Any, Dict, List, Tuple

from ..arguments import Arguments, NoBuilder, words
from ..graph import snake_case

#: Orders of the operands by the names of arguments, where they differ.
_ORDERS = {
    "Conv2DBackpropInput": words("output_shape kernel x"),
    "FusedBatchNorm": words("x scale offset mean variance"),
    "OneHot": words("x num_classes on_value off_value"),
    "Split": words("axis x"),
    "SplitV": words("x num_split axis"),
}

#: Attributes without effect on the results. Others that a function does not know are refused.
_HARMLESS = words("""
    N exponential_avg_factor incompatible_shape_error num output_type preserve_cardinality
    use_cudnn_on_gpu
""")

#: Results of types that functions receive by name.
_TYPES = {f"DT_{name.upper()}": name for name in words("bool float int32 int64")}
_TYPES["DT_FLOAT"] = "float32"


def node_of(config: Dict[str, Any], args: List[Any]) -> Tuple[str, List[Any], Dict[str, Any]]:
    """Return the function of a node, its operands in order, and its other arguments by name."""
    node = config.get("node_def")
    if not isinstance(node, dict):
        raise NoBuilder("its node is binary: save the model again, with TensorFlow 2.2 or a later one")
    constants = {int(place): number for place, number in (config.get("constants") or {}).items()}
    if len(node.get("input") or ()) > len(constants) + 1:
        (args,) = args  # several arrays are a list
    args = list(args)
    for place, number in sorted(constants.items()):
        args.insert(place, number)
    operator = re.sub(r"V\d+$", "", str(node.get("op")))
    attributes = node.get("attr") or {}
    kwargs = {name: _attribute(field) for name, field in attributes.items() if name not in _HARMLESS}
    types = {name: value for name, value in kwargs.items() if "type" in attributes[name]}
    kwargs = {
        key: value for key, value in kwargs.items() if key not in types and value not in (None, [])
    }
    if "DstT" in types:
        kwargs["dtype"] = _TYPES.get(types["DstT"], types["DstT"])
    if operator == "Concat":
        *args, kwargs["axis"] = args
    args = [args] if operator in ("Concat", "Pack") else args
    if operator in _ORDERS:
        kwargs.update(zip(_ORDERS[operator], args))
        args = []
    return snake_case(operator), args, kwargs


def _attribute(field: Any) -> Any:
    """Return the value of an attribute, as Protocol Buffers write it in JSON."""
    ((kind, value),) = field.items() or [("", None)]
    if kind == "list":
        return [_attribute({key: item}) for key, items in value.items() for item in items]
    if kind == "s":
        return base64.b64decode(value).decode()
    return int(value) if kind == "i" else value


def slice_by_masks(begin: Any, end: Any, strides: Any = None, **masks: Any) -> List[Any]:
    """Return the slices of ``tf.strided_slice``, whose masks have one bit for each of them."""
    names = [f"{name}_mask" for name in ("ellipsis", "new_axis", "shrink_axis", "begin", "end")]
    Arguments({name: value for name, value in masks.items() if name not in names}).finish("slice")
    spec: List[Any] = []
    for i, (start, stop, step) in enumerate(zip(begin, end, strides or [1] * len(begin))):
        ellipsis, new, shrunk, first, last = (masks.get(name, 0) >> i & 1 for name in names)
        if ellipsis:
            spec.append({"class_name": "__ellipsis__"})
        elif new:
            spec.append(None)
        elif shrunk:
            spec.append(start)
        else:
            spec.append(dict(start=None if first else start, stop=None if last else stop, step=step))
    return spec
