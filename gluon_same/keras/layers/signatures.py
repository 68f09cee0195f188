"""Arguments of a file for the functions of the table, by their names and annotations.

Keras 2.3 saved the functions as nodes of TensorFlow's graphs, whose attributes are arguments.
"""

import base64
import inspect
import math
import re
import typing
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from ..arguments import Arguments, NoBuilder, Unsupported, words
from ..graph import arrays_in, snake_case
from ..values import Size, Value

#: Values of ``data_format`` that are supported.
_CHANNELS_LAST = ("channels_last", "NWC", "NHWC", "NDHWC")

#: An array, a number, or nested lists of numbers; and an array, or a list of arrays.
if typing.TYPE_CHECKING:
    Operand = Any
    Arrays = Any
else:
    Operand = Union[Value, float, list]
    Arrays = Union[Value, List[Value]]


def bound(name: str, function: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """Return the arguments of a function by its names, checked by its annotations."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    known = [each.name for each in parameters]
    if parameters[0].annotation in (List[Value], List[Operand]):  # given as a list, or one by one
        args = [args[0] if len(args) == 1 else list(args)]
    if len(args) > len(known):
        raise Unsupported(f"{name} of {len(args)} operands: {len(known)} are supported")
    given = dict(zip(known, args))
    unknown = {}
    for key, value in kwargs.items():
        key = key if key in known else _NAMES.get(key, key)
        key = key if key in known else {"axes": "axis", "axis": "axes"}.get(key, key)
        if key in given and len(args) < len(known):
            key = known[len(args)]  # TensorFlow's second argument, such as x of atan2(y, x)
        if key in known:
            given[key] = value
        elif key != "data_format" or value not in _CHANNELS_LAST:
            unknown[key] = value
    Arguments(unknown).finish(name)
    for each in parameters:
        value, missing = given.get(each.name), each.default is inspect.Parameter.empty
        if missing and each.name not in given:
            raise Unsupported(f"{name} of {len(given)} operands: {each.name} is missing")
        # None is no default of a whole number: with axis=None, functions flatten the array.
        if value is None and not missing and (each.annotation is not int or each.name not in given):
            given.pop(each.name, None)
            continue
        try:
            given[each.name] = _CHECKS.get(each.annotation, lambda same: same)(value)
        except (TypeError, ValueError, OverflowError):
            raise Unsupported(f"{name} with {each.name}={value!r}") from None
    return given


def require(value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError
    return value


def is_constant(value: Any) -> bool:
    """Return whether a value is a list of numbers, or of such lists."""
    known = isinstance(value, list) and bool(value)
    return known and all(isinstance(n, (int, float)) or is_constant(n) for n in value)


def has_numbers(value: Any) -> bool:
    """Return whether nested lists and dicts contain numbers beside arrays."""
    return any(type(n) in (int, float) for n in arrays_in(value, (int, float, Value)))


def operand(value: Any) -> Any:
    """Return an array as it is, and numbers as a NumPy array."""
    if isinstance(value, Value):
        return value
    np.asarray(value, "float64")  # raises for lists of different lengths in every version of NumPy
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or (array.ndim == 0 and math.isnan(array)):
        raise TypeError
    return array.astype("float32" if array.dtype.kind in "bf" else "int64")


def _is_whole(value):
    """Return whether a number is a float without a fraction, such as K.repeat_elements writes."""
    return isinstance(value, float) and value.is_integer()


def _number(value):
    value = float(require(value, int, float))
    return require(None) if math.isnan(value) else value


_CHECKS: Dict[Any, Any] = {
    Value: lambda value: require(value, Value),
    Operand: operand,
    int: lambda value: require(int(value) if _is_whole(value) else value, int, Size),
    float: _number,
    bool: lambda value: bool(require(value, bool, int)),
    str: lambda value: require(value, str).lower(),
    List[int]: lambda value: [_CHECKS[int](each) for each in _listed(value)],
    List[Value]: lambda value: [_CHECKS[Value](each) for each in _listed(value) or [None]],
    List[Operand]: lambda value: [operand(each) for each in _listed(value)],
}
_CHECKS[Arrays] = lambda value: _CHECKS[List[Value] if isinstance(value, list) else Value](value)
_CHECKS.update([(Optional[kind], check) for kind, check in _CHECKS.items()])


def _listed(value):
    return value if isinstance(value, list) else [value]


def _table(text: str) -> Dict[str, str]:
    return dict(pair.split("=") for pair in words(text))


#: Names in the table of arguments that have several.
_NAMES = _table("""
    adj_x=adjoint_a adj_y=adjoint_b alpha=slope array=x b=y bias=y bottom_cropping=bottom
    bottom_padding=bottom clip_value_max=x_max clip_value_min=x_min data=x default_value=value
    depth=num_classes depthwise_filter=kernel depthwise_kernel=kernel dilation=dilation_rate
    dilations=dilation_rate dim=axis dims=axis equation=subscripts filter=kernel filters=kernel
    gamma=scale ids=indices interpolation=method k=offset keep_dims=keepdims ksize=pool_size ksizes=size
    left_cropping=left left_padding=left multiples=repeats negative_slope=slope newshape=shape
    num_split=num_or_size_splits ord=order padding=pad_width paddings=pad_width params=x perm=axes
    pointwise_filter=pointwise_kernel rate=dilation_rate rates=dilation_rate right_cropping=right
    rhs=y right_padding=right shape=size sizes=size squeeze_dims=axis stride=strides tensor=x
    top_cropping=top top_padding=top window_shape=pool_size x2=y
""")

#: Names in the table of functions that have several.
ALIASES = _table("""
    absolute=abs acos=arccos acosh=arccosh adjoint=matrix_transpose amax=max amin=min arg_max=argmax
    arg_min=argmin asin=arcsin asinh=arcsinh atan2=arctan2 atan=arctan atanh=arctanh
    avg_pool1d=average_pool avg_pool2d=average_pool avg_pool3d=average_pool avg_pool=average_pool
    batch_mat_mul=matmul batch_matmul=matmul bias_add=add bitwise_invert=bitwise_not
    clip_by_value=clip concat=concatenate conv1d=conv conv1d_transpose=conv2d_transpose conv2d=conv
    conv2d_backprop_input=conv2d_transpose conv3d=conv conv3d_transpose=conv2d_transpose
    convolution=conv depthwise_conv2d=depthwise_conv depthwise_conv2d_native=depthwise_conv
    div_no_nan=divide_no_nan embedding_lookup=gather exponential=exp
    extract_image_patches=extract_patches fabs=abs floor_div=floor_divide floor_mod=mod
    floordiv=floor_divide floormod=mod get_item=getitem hard_swish=hard_silu invert=bitwise_not
    is_finite=isfinite is_inf=isinf is_nan=isnan lgamma=gammaln lrn=local_response_normalization
    mat_mul=matmul matrix_band_part=band_part max_pool1d=max_pool max_pool2d=max_pool
    max_pool3d=max_pool mirror_pad=pad mul=multiply neg=negative pack=stack pow=power
    real_div=divide reverse=flip rint=round separable_conv2d=separable_conv split_v=split
    sub=subtract swish=silu true_divide=divide truediv=divide unpack=unstack variance=var
""")

#: Orders of the operands by the names of arguments, where they differ.
_ORDERS = {
    "AdjustContrast": words("x contrast_factor"),
    "AdjustSaturation": words("x saturation_factor"),
    "Conv2DBackpropInput": words("output_shape kernel x"),
    "FusedBatchNorm": words("x scale offset mean variance"),
    "OneHot": words("x num_classes on_value off_value"),
    "Pad": words("x pad_width constant_values"),
    "Split": words("axis x"),
    "SplitV": words("x num_split axis"),
}

#: Attributes without effect on the results. Others that a function does not know are refused.
_WITHOUT_EFFECT = words("N exponential_avg_factor incompatible_shape_error num preserve_cardinality")


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
    operator = re.sub(r"[Vv]\d+$", "", str(node.get("op")))
    attributes = {
        key: item for key, item in (node.get("attr") or {}).items() if key not in _WITHOUT_EFFECT
    }
    kwargs = {name: _attribute(field) for name, field in attributes.items() if "type" not in field}
    kwargs = {name: value for name, value in kwargs.items() if value not in (None, [])}
    if "DstT" in attributes:
        name = attributes["DstT"]["type"].partition("_")[2].lower()
        kwargs["dtype"] = {"float": "float32", "half": "float16", "double": "float64"}.get(name, name)
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
