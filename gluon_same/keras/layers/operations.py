"""Functions of Keras' symbolic arrays: ``x + 1``, ``tf.nn.relu(x)``, ``ops.mean(x)``.

Keras 2 saves them as TFOpLambda layers, and Keras 3 as operations with their own classes. The functions
that are registered by :func:`~.registry.computes` have Keras' arguments by Keras' names, and annotations
that say what is allowed: anything else in a file is refused.
"""

import inspect
import math
import operator
import re
import typing
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from ...importing import functions
from ..arguments import Arguments, Unsupported
from ..graph import arrays_in, snake_case
from ..values import Axes, Shape, Size, Value, broadcast, keras_order
from .registry import OPERATIONS, Lowered, Request

#: Keras 2 classes of layers that wrap a TensorFlow function.
_LAMBDAS = ("TFOpLambda", "SlicingOpLambda", "TensorFlowOpLayer")

#: Modules of TensorFlow's functions that may share a name with one of the table.
_MODULES = ("", "math", "nn", "linalg", "image", "__operators__", "compat", "v1", "keras", "backend")

#: Arguments without an effect on the result.
_HARMLESS = (
    "name",
    "out_type",
    "use_cudnn_on_gpu",
    "validate_indices",
    "synchronized",
    "sorted",
    "rank",
)

#: Further arguments that Keras writes, without an effect at these values.
_DEFAULTS: List[Any] = [
    ("crop_to_aspect_ratio", False),
    ("pad_to_aspect_ratio", False),
    ("fill_value", 0.0),
]
_DEFAULTS += [("fill_mode", "constant"), ("preserve_aspect_ratio", False), ("batch_dims", 0)]

#: Fields of a result that :meth:`Operation.lowered` receives.
_FIELDS = ("gives", "input_axes", "more_axes", "nonnegative", "rows", "rule", "takes")

#: Functions of one array whose arguments are those of Keras.
_PLAIN = {
    "threshold": functions.above,
    **{name: getattr(functions, name) for name in ("celu", "cumsum", "elu", "glu", "hard_shrink")},
    **{name: getattr(functions, name) for name in ("leaky_relu", "per_image_standardization")},
    **{name: getattr(functions, name) for name in ("soft_shrink", "sparsemax", "squareplus")},
}

#: An array, a number, or nested lists of numbers.
if typing.TYPE_CHECKING:
    Operand = Any
else:
    Operand = Union[Value, float, list]


class Operation(typing.NamedTuple):
    """Function of a file."""

    name: str  # in the table
    request: Request

    def lowered(
        self, function: Any, *operands: Any, order: Optional[Axes] = None, **more: Any
    ) -> Lowered:
        """Return the result for a function of arrays and constants.

        Parameters
        ----------
        function : str or callable
            As for :class:`~gluon_same.importing.block.Function`.
        *operands : Value or numpy.ndarray
        order : tuple of int, optional
            Axes of the result; the first operand's by default.
        **more
            Arguments of the function, and fields of the result.
        """
        fields = {name: more.pop(name) for name in _FIELDS if name in more}
        fixed = {i: each for i, each in enumerate(operands) if not isinstance(each, Value)}
        parameters = {
            f"constant{i}": dict(shape=each.shape, dtype=each.dtype.name, grad_req="null")
            for i, each in fixed.items()
        }
        block = self.request.function(function, parameters, places=tuple(fixed), **more)
        constants = tuple((getattr(block, f"constant{i}"), each) for i, each in fixed.items())
        inputs = tuple(each for each in operands if isinstance(each, Value))
        return Lowered(block, order, constants=constants, **{"inputs": inputs, **fields})

    def in_keras_order(self, function: Any, *operands: Any, ndim: int, **more: Any) -> Lowered:
        """Return the result, with ``ndim`` axes, for a function of arrays stored as in Keras."""
        taken = tuple(keras_order(x.rank) for x in operands if isinstance(x, Value))
        return self.lowered(function, *operands, order=keras_order(ndim), input_axes=taken, **more)

    def each(self, function: Any, x: Value, nonnegative: bool = False, **more: Any) -> Lowered:
        """Return the result for a function that keeps the shape."""
        return self.lowered(
            function, x, order=x.axes, nonnegative=nonnegative, rule=lambda shape: shape, **more
        )


def _plain(op: Operation, function: Any, x: Value, **given: Any) -> Lowered:
    """Return the result for a function of one array whose arguments are Keras'."""
    parameters = inspect.signature(function).parameters
    if "rank" in parameters:
        given["rank"] = x.rank
    if "axis" in parameters:
        given["axis"] = x.stored(axis_of(op, x, given["axis"], 1))
    return op.lowered(function, x, **given)


def is_operation(class_name: str, module: str, args: Sequence[Any]) -> bool:
    """Return whether a configuration's layer is a function."""
    if class_name in _LAMBDAS or (module.startswith("keras.") and ".ops." in f"{module}."):
        return True
    # Keras 3 omits modules in .h5 files, but its layers receive one list, and operations two operands.
    return (
        not module
        and len(args) == 2
        and class_name in ("Add", "Subtract", "Multiply", "Maximum", "Minimum")
    )


def build_operation(request: Request, *inputs: Value) -> Any:
    """Build the block of a function, or compute the result of a function of numbers."""
    config = request.arguments.all()
    name, args, kwargs = _call(request)
    if not inputs:
        return _computed(name, args, kwargs)
    if name == "shape":
        (x,) = inputs
        return [n if m is not None else Size(n, (x, i)) for i, (n, m) in enumerate(zip(x.shape, x.free))]
    if name in _PLAIN:
        given = _bound(name, _PLAIN[name], args, {**kwargs, "rank": 0})
        return _plain(Operation(name, request), _PLAIN[name], _require(given.pop("x"), Value), **given)
    if name not in OPERATIONS:
        key = f"tf.{config['function']}" if "function" in config else request.class_name
        raise Unsupported(f"the function {name!r} is not supported: give custom={{{key!r}: builder}}")
    function = OPERATIONS[name]
    return function(Operation(name, request), **_bound(name, function, args, kwargs))


def _call(request: Request) -> Tuple[str, List[Any], Dict[str, Any]]:
    """Return a function's name in the table, and its arguments."""
    config = request.arguments.all()
    request.arguments.ignore(*config)
    args, kwargs = list(request.args), dict(request.kwargs)
    if request.class_name == "TensorFlowOpLayer":
        name, args = _node(config, args)
    elif request.class_name in _LAMBDAS:
        *modules, name = str(config.get("function")).split(".")
        if not set(modules) <= set(_MODULES):
            name = str(config.get("function"))
    else:
        name = snake_case(request.class_name)
        config = {key: value for key, value in config.items() if key not in ("name", "trainable")}
        kwargs = {**config, **kwargs}
    name = name[len("reduce_") :] if name.startswith("reduce_") else name
    return ALIASES.get(name, name), args, kwargs


def _node(config: Dict[str, Any], args: List[Any]) -> Tuple[str, List[Any]]:
    """Return the function and operands of a TensorFlow graph node, as saved by Keras 2.3."""
    node = config.get("node_def")
    found = re.search(
        r'\bop: "(\w+)"', f'op: "{node.get("op")}"' if isinstance(node, dict) else str(node)
    )
    (given,) = args or ([],)
    args = list(given) if isinstance(given, list) else [given]
    for place, number in sorted((config.get("constants") or {}).items()):
        args.insert(int(place), number)
    return snake_case(found.group(1)).replace("_v2", "") if found else "?", args


def _bound(name: str, function: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Dict[str, Any]:
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
        elif value is not None and (key, value) not in _DEFAULTS and key not in _HARMLESS:
            unknown[key] = value
    if unknown:
        Arguments(unknown).finish(name)
    for each in parameters:
        value, missing = given.get(each.name), each.default is inspect.Parameter.empty
        if missing and each.name not in given:
            raise Unsupported(f"{name} of {len(given)} operands: {each.name} is missing")
        if value is None and not missing:
            given.pop(each.name, None)
            continue
        try:
            given[each.name] = _CHECKS.get(each.annotation, lambda same: same)(value)
        except (TypeError, ValueError, OverflowError):
            raise Unsupported(f"{name} with {each.name}={_said(value)}") from None
    return given


def _said(value: Any) -> str:
    computed = isinstance(value, Size) or list(arrays_in(value, Value))
    return "what is computed" if computed else repr(value)


def _require(value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError
    return value


def _operand(value):
    if isinstance(value, Value):
        return value
    np.asarray(value, "float64")  # raises for lists of different lengths in every version of NumPy
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or (array.ndim == 0 and not math.isfinite(array)):
        raise TypeError
    return array.astype("float32" if array.dtype.kind in "bf" else "int64")


def _number(value):
    value = float(_require(value, int, float))
    return value if math.isfinite(value) else _require(None)


_CHECKS: Dict[Any, Any] = {
    Value: lambda value: _require(value, Value),
    Operand: _operand,
    int: lambda value: _require(value, int, Size),
    float: _number,
    bool: lambda value: bool(_require(value, bool, int)),
    str: lambda value: _require(value, str).lower(),
    List[int]: lambda value: [_CHECKS[int](each) for each in _listed(value)],
    List[Value]: lambda value: [_CHECKS[Value](each) for each in _listed(value) or [None]],
    List[Operand]: lambda value: [_operand(each) for each in _listed(value)],
}
_CHECKS.update([(Optional[kind], check) for kind, check in _CHECKS.items()])


def _listed(value):
    return value if isinstance(value, list) else [value]


def _table(text: str) -> Dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


#: Names in the table of arguments that have several.
_NAMES = _table("""
    alpha=slope b=y clip_value_max=x_max clip_value_min=x_min default_value=value depth=num_classes
    dilations=dilation_rate dim=axis dims=axis filter=kernel filters=kernel interpolation=method
    keep_dims=keepdims ksize=pool_size multiples=repeats negative_slope=slope newshape=shape ord=order
    paddings=pad_width perm=axes rate=dilation_rate x2=y
""")

#: Names in the table of functions that have several.
ALIASES = _table("""
    absolute=abs acos=arccos acosh=arccosh add_v2=add amax=max amin=min arg_max=argmax arg_min=argmin
    asin=arcsin asinh=arcsinh atan2=arctan2 atan=arctan atanh=arctanh avg_pool1d=average_pool
    avg_pool2d=average_pool avg_pool3d=average_pool avg_pool=average_pool batch_matmul=matmul
    clip_by_value=clip concat=concatenate conv1d=conv conv2d=conv conv3d=conv
    depthwise_conv2d=depthwise_conv exponential=exp floor_div=floor_divide floordiv=floor_divide
    floormod=mod get_item=getitem hard_swish=hard_silu is_finite=isfinite is_inf=isinf is_nan=isnan
    max_pool1d=max_pool max_pool2d=max_pool max_pool3d=max_pool mul=multiply neg=negative pow=power
    real_div=divide reverse=flip sub=subtract swish=silu true_divide=divide truediv=divide variance=var
""")

#: Functions of numbers that were computed from sizes.
_OF_NUMBERS = dict(add=operator.add, subtract=operator.sub, multiply=operator.mul, mod=operator.mod)
_OF_NUMBERS.update(floor_divide=operator.floordiv, divide=operator.truediv, maximum=max, minimum=min)


def _computed(name: str, args: List[Any], kwargs: Dict[str, Any]) -> Any:
    """Return the result of a function of numbers, some of which are sizes of arrays."""
    x: Any = args[0] if args else None
    y: Any = args[1] if len(args) > 1 else kwargs.get("y")
    if name in ("cast", "identity", "convert_to_tensor"):
        return x
    if name in ("stack", "concatenate") and isinstance(x, list):
        return x if name == "stack" else [n for part in x for n in part]
    if name == "getitem" and isinstance(x, list):
        part = kwargs.get("slice_spec", y)
        part = part[0] if isinstance(part, list) and len(part) == 1 else part
        if isinstance(part, dict):
            part = slice(*((part.get("config") or part).get(n) for n in ("start", "stop", "step")))
        return x[part]
    if name == "prod" and isinstance(x, list):
        total: Any = 1
        for n in x:
            total = _combined("multiply", total, n)
        return total
    if name in _OF_NUMBERS and y is not None:
        if isinstance(x, list) or isinstance(y, list):
            pairs = zip(*(v if isinstance(v, list) else [v] * len(w) for v, w in ((x, y), (y, x))))
            return [_combined(name, *pair) for pair in pairs]
        return _combined(name, x, y)
    raise Unsupported(f"{name} of what is not an array of the model")


def _combined(name: str, x: Any, y: Any) -> Any:
    """Return a function of two numbers or sizes, which is a size if one of them is."""
    if not isinstance(x, Size) and not isinstance(y, Size):
        return _OF_NUMBERS[name](x, y)
    one, other = (n.saved if isinstance(n, Size) else n for n in (x, y))
    saved = None if one is None or other is None else _OF_NUMBERS[name](one, other)
    size, number = (x, y) if isinstance(x, Size) else (y, x)
    if name == "multiply" and isinstance(number, int):
        return Size(saved, size.source, size.times * number)
    same = number == 1 and name in ("floor_divide", "divide") and size is x
    return Size(saved, size.source if same else None, size.times)


def spread(x: Value, values: np.ndarray, name: str) -> np.ndarray:
    """Return a constant in the axes of an array, with which it is combined elementwise."""
    if values.ndim > x.rank or (values.ndim == x.rank and len(values) != 1):
        raise ValueError(f"{name} of shapes {x.shape} and {values.shape}")
    values = values.reshape((1,) * (x.rank - values.ndim) + values.shape)
    return values.transpose(x.axes)


def combined_elementwise(
    op: Operation,
    function: Any,
    *operands: Any,
    gives: str = "float32",
    real: bool = False,
    **arguments: Any,
) -> Lowered:
    """Return the result for an elementwise function of arrays and constants, which broadcast."""
    arrays = [each for each in operands if isinstance(each, Value)]
    rank = max(x.rank for x in arrays)
    first = next(x for x in arrays if x.rank == rank)
    if any(x.rank != rank for x in arrays):
        raise ValueError(f"{op.name} of shapes {', '.join(str(x.shape) for x in arrays)}")
    kinds = [x.dtype if isinstance(x, Value) else x.dtype.name for x in operands]
    whole = not real and all(kind.startswith("int") for kind in kinds)
    wide = any(x.dtype == "int64" for x in arrays)
    dtype = "float32" if not whole else "int64" if wide else "int32"
    given = [x if isinstance(x, Value) else spread(first, x, op.name).astype(dtype) for x in operands]
    back = [first.axes.index(axis) for axis in range(rank)]
    sizes = [np.transpose(x, back).shape for x in given if not isinstance(x, Value)]

    def rule(*shapes: Shape) -> Shape:
        return broadcast(*shapes, *sizes)

    rule(*(x.shape for x in arrays))
    fields = dict(rule=rule, input_axes=(first.axes,) * len(arrays), takes=dtype)
    gives = dtype if gives == "same" else gives
    return op.lowered(function, *given, order=first.axes, gives=gives, **fields, **arguments)


def axis_of(op: Operation, x: Value, axis: int, least: int = 0) -> int:
    """Return one of Keras' axes, counted from the first; raise if there is none after ``least``."""
    if not -x.rank <= axis < x.rank or axis % x.rank < least:
        raise ValueError(f"{op.name} along axis={axis} of shape {x.shape}")
    return axis % x.rank


def size_of(op: Operation, x: Value, axis: int) -> int:
    """Return the saved size of an axis; raise if it is not known."""
    size = x.shape[axis]
    if size is None:
        raise Unsupported(f"{op.name} along axis={axis}, whose size is not known")
    return size
