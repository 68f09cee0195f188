"""Functions of Keras' symbolic arrays: ``x + 1``, ``tf.nn.relu(x)``, ``ops.mean(x)``.

Keras 2 saves them as TFOpLambda layers, and Keras 3 as operations with their own classes. The functions
that are registered by :func:`~.registry.computes` have Keras' arguments by Keras' names, and annotations
that say what is allowed: anything else in a file is refused, by ``signatures.py``.
"""

import inspect
from functools import partial
from typing import Any, List, Tuple

import numpy as np

from ...importing import functions
from ..arguments import NoBuilder, Unsupported, limit, words
from ..graph import Layer, arrays_in, snake_case, with_arrays
from ..values import NO_BATCH, Shape, Size, Value, broadcast
from .activations import ELEMENTWISE, NATIVE, WITH_OPTIONS, function_named
from .computed import MADE, computed, constant_array, is_whole
from .lengths import OF_NUMBERS, number_of
from .merging import common_dtype
from .registry import OPERATIONS, Lowered, Request
from .signatures import ALIASES, bound, node_of, require, slice_by_masks

#: Keras 2 classes of layers that wrap a TensorFlow function.
_LAMBDAS = ("TFOpLambda", "SlicingOpLambda", "TensorFlowOpLayer")

#: The reason for which most layers and functions are refused after some transposes.
BATCH_MOVED = "the batch is not the first axis of its inputs: most layers require that"

#: Modules of TensorFlow's functions that may share a name with one of the table.
_MODULES = words("math nn linalg image debugging __operators__ compat v1 keras backend bitwise dtypes")
_MODULES += ("",)

#: Functions of one array whose arguments are those of Keras.
_NAMES = words("""
    adjust_gamma crelu cumsum deg2rad glu nan_to_num rad2deg sparsemax
""")
_NAMES += WITH_OPTIONS
_PLAIN = {**{name: function_named(name, True) for name in _NAMES}, "threshold": functions.above}

#: Functions of arrays whose batch may be any of Keras' axes, beside activations.
_ANY_BATCH = words("""
    add all any argmax argmin average cast clip concatenate convert_to_tensor copy cumprod cumsum
    divide einsum equal expand_dims flip gather getitem greater greater_equal identity l2_normalize
    less less_equal log_softmax logical_and logical_not logical_or matmul max maximum mean min
    minimum moveaxis multiply not_equal permute_dims power prod rank shape softmax split squeeze
    stack std stop_gradient subtract sum swapaxes take transpose unstack var where
""")
_ANY_BATCH += (*ELEMENTWISE, *NATIVE)

#: Functions whose operands Keras 2 does not save, and what to do instead.
_NOT_SAVED = dict(
    einsum="use EinsumDense or tf.matmul",
    eq="use tf.equal",
    meshgrid="add tf.range(width)[None] and tf.range(height)[:, None] to tf.zeros((height, width))",
    ne="use tf.not_equal",
)


def _plain(op: Request, function: Any, x: Value, **given: Any) -> Lowered:
    """Return the result for a function of one array whose arguments are Keras'."""
    axis = inspect.signature(function).parameters.get("axis")
    if axis is not None:
        given["axis"] = x.stored(axis_of(op, x, given.get("axis", axis.default)))
    takes = x.number if op.name == "cumsum" else "float32"
    return op.lowered(function, x, takes=takes, **given)


def is_operation(layer: Layer, version: Tuple[int, int]) -> bool:
    """Return whether a configuration's layer is a function."""
    if layer.class_name in _LAMBDAS:
        return True
    if layer.module.startswith("keras.") and ".ops." in f"{layer.module}.":
        return True
    # Keras 3 omits modules in .h5 files, where all layers but functions have `trainable`.
    if version < (3, 0) or layer.module or "trainable" in layer.config or ">" in layer.class_name:
        return False
    name = snake_case(layer.class_name)
    return ALIASES.get(name, name) in (*OPERATIONS, *_PLAIN)


def build_operation(request: Request, *inputs: Value) -> Any:
    """Build the block of a function, or compute the result of a function of numbers."""
    name, args, kwargs = request.name, list(request.args), request.kwargs
    if name in _NOT_SAVED and request.class_name == "TFOpLambda":
        raise Unsupported(f"Keras 2 does not save the operands of tf.{name}: {_NOT_SAVED[name]}")
    if not inputs:
        if name in MADE:
            return constant_array(request, *args, **kwargs)
        found = computed(name, args, kwargs)
        limit("sizes that are computed", len(found) if isinstance(found, list) else 0)
        return found
    if name == "shape":
        (x,) = inputs
        return [n if m is not None else Size(n, (x, i)) for i, (n, m) in enumerate(zip(x.shape, x.free))]
    if name == "rank" and len(inputs) == 1:
        return inputs[0].rank
    batches = {x.batch for x in inputs}
    if any(batches) and (len(batches) > 1 or name not in _ANY_BATCH):
        raise Unsupported(BATCH_MOVED)
    if name in OF_NUMBERS:
        rank, whole = max(x.rank for x in inputs), all(map(is_whole, arrays_in([args, kwargs], Size)))
        number = partial(number_of, request, rank, to=common_dtype(inputs) if whole else "float32")
        args, kwargs = with_arrays([args, kwargs], number, Size)
    if name in _PLAIN:
        given = bound(name, _PLAIN[name], args, kwargs)
        return _plain(request, _PLAIN[name], require(given.pop("x"), Value), **given)
    if name not in OPERATIONS:
        wrapped = request.class_name in _LAMBDAS and "function" in request.config
        key = f"tf.{request.config['function']}" if wrapped else request.class_name
        raise NoBuilder(f"the function {name!r} is not supported: give custom={{{key!r}: builder}}")
    function = OPERATIONS[name]
    return function(request, **bound(name, function, args, kwargs))


def function_of(request: Request) -> Request:
    """Return the request for a function, with its name in the table and all of its arguments."""
    config = request.config
    request.ignore(*config)
    args, kwargs = list(request.args), dict(request.kwargs)
    if request.class_name == "TensorFlowOpLayer":
        name, args, kwargs = node_of(config, args)
    elif request.class_name in _LAMBDAS:
        *modules, name = str(config.get("function")).split(".")
        if not set(modules) <= set(_MODULES):
            name = str(config.get("function"))
    else:
        name = snake_case(request.class_name)
        config = {key: value for key, value in config.items() if key not in ("name", "trainable")}
        kwargs = {**config, **kwargs}
    name = name[len("reduce_") :] if name.startswith("reduce_") else name
    if name == "strided_slice":
        x, *bounds = args
        name, args, kwargs = "getitem", [x, slice_by_masks(*bounds, **kwargs)], {}
    return request.replace(name=ALIASES.get(name, name), args=args, kwargs=kwargs)


def spread(x: Value, values: np.ndarray, name: str) -> np.ndarray:
    """Return a constant in the axes of an array, with which it is combined elementwise."""
    batch = x.batch - x.rank + values.ndim  # the constant's axis for it; negative if it has none
    if values.ndim > x.rank or (batch >= 0 and values.shape[batch] != 1):
        raise ValueError(f"{name} of shapes {x.shape} and {values.shape}")
    return x.along(range(x.rank - values.ndim, x.rank), values)


def combined_elementwise(
    op: Request,
    function: Any,
    *operands: Any,
    gives: str = "float32",
    real: bool = False,
    **arguments: Any,
) -> Lowered:
    """Return the result for an elementwise function of arrays and constants, which broadcast."""
    operands = aligned(op, *operands)
    first, *_ = arrays = [each for each in operands if isinstance(each, Value)]
    rank = first.rank
    kinds = [x.dtype if isinstance(x, Value) else x.dtype.name for x in operands]
    chosen = kinds[arguments.get("conditions", function is functions.select) :]
    whole = not real and all(kind.startswith("int") for kind in chosen)
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


def aligned(op: Request, *operands: Any) -> Tuple[Any, ...]:
    """Return arrays with as many axes as the one with most; raise if those without come from samples."""
    arrays = [each for each in operands if isinstance(each, Value)]
    rank = max(x.rank for x in arrays)
    if any(x.rank != rank and x.rows != NO_BATCH for x in arrays):
        raise ValueError(f"{op.name} of shapes {', '.join(str(x.shape) for x in arrays)}")
    return tuple(with_rank(op, x, rank) if isinstance(x, Value) else x for x in operands)


def with_rank(op: Request, x: Value, rank: int) -> Value:
    """Return an array with new axes of one element in front of its own."""
    while x.rank < rank:
        x = op.derived("expand_dims", x, axis=0, rule=lambda shape: (1, *shape))
    return x


def axis_of(op: Request, x: Value, axis: int, batch: bool = False) -> int:
    """Return one of Keras' axes, counted from the first; raise for the batch unless ``batch``."""
    if not -x.rank <= axis < x.rank or (axis % x.rank == x.batch and not batch):
        raise ValueError(f"{op.name} along axis={axis} of shape {x.shape}")
    return axis % x.rank


def axes_of(op: Request, x: Value, given: Any) -> List[int]:
    """Return some of Keras' axes, counted from the first; raise unless all are after the batch."""
    axes = x.places(given)
    if not axes:
        listed = given if isinstance(given, list) else [given]
        raise Unsupported(f"{op.name} along axis={listed}: only axes after the batch are supported")
    return axes


def size_of(op: Request, x: Value, axis: int) -> int:
    """Return the saved size of an axis; raise if it is not known."""
    size = x.shape[axis]
    if size is None:
        raise Unsupported(f"{op.name} along axis={axis}, whose size is not known")
    return size
