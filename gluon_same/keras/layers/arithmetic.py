"""Functions of each element: arithmetic, comparisons, choices and activations."""

import math
from typing import Any, List, Optional

import numpy as np

from ...importing import functions
from ..arguments import Unsupported
from ..values import Size, Value
from .activations import elementwise_block, function_named, is_nonnegative
from .merging import combined
from .operations import Operand, Operation, axis_of, combined_elementwise, of_each
from .registry import Lowered, computes, elementwise

#: Pairwise functions whose results are numbers.
_PAIRWISE = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", *functions.OF_TWO)

#: Those whose results are true or false, and the endings of MXNet's operators.
_COMPARISONS = {
    **{name: name for name in ("equal", "not_equal", "greater", "greater_equal")},
    "less": "lesser",
    "less_equal": "lesser_equal",
    **{name: name for name in ("logical_and", "logical_or", "logical_xor")},
}


@computes(*_PAIRWISE)
def _pairwise(op: Operation, x: Operand, y: Operand) -> Lowered:
    kind, number = op.name, y if isinstance(x, Value) else x
    special = kind in functions.OF_TWO
    whole = all("int" in (each.dtype if isinstance(each, Value) else each.dtype.name) for each in (x, y))
    if not special and not whole and isinstance(x, Value) and isinstance(y, Value):
        if x.rank != y.rank:
            raise ValueError(f"{kind} of shapes {x.shape} and {y.shape}")
        return combined(op.request, kind, (x, y))._replace(inputs=(x, y))
    if not special and not isinstance(number, Value) and number.ndim == 0 and not whole:
        array = x if isinstance(x, Value) else y
        how = dict(kind=kind, number=float(number), first=number is x)
        return of_each(op, array, op.request.function(functions.scalar, **how))
    # Whole numbers that are divided are not whole.
    how = dict(gives="same", real=kind in ("divide", "arctan2", "logaddexp"), kind=kind)
    if special:
        how["whole"] = whole
    return combined_elementwise(op, functions.of_two, x, y, **how)


@computes(*_COMPARISONS)
def _compare(op: Operation, x: Operand, y: Operand) -> Lowered:
    kind = _COMPARISONS[op.name]
    return combined_elementwise(op, functions.compare, x, y, gives="bool", kind=kind)


@computes("where", "select", "select_v2")
def _where(op: Operation, condition: Operand, x: Operand, y: Operand) -> Lowered:
    return combined_elementwise(op, functions.select, condition, x, y)


@computes("zeros_like", "ones_like", "full_like")
def _filled(op: Operation, x: Value, fill_value: float = 0, dtype: Optional[str] = None) -> Lowered:
    number = {"zeros_like": 0, "ones_like": 1}.get(op.name, fill_value)
    to = x.dtype if dtype is None else _kind(dtype)
    if math.isnan(number):
        raise Unsupported(f"{op.name} with {number}")
    block = op.request.function(functions.filled, number=float(number))
    lowered = of_each(op, x, block, takes="float32", gives="float32")
    return lowered if to in ("float32", "bool") else _unsupported(f"{op.name} of {to}")


def _unsupported(what: str) -> Any:
    raise Unsupported(f"{what} is not supported")


@computes("clip")
def _clip(op: Operation, x: Value, x_min: float, x_max: float) -> Lowered:
    block = op.request.function("clip", a_min=x_min, a_max=x_max)
    return of_each(op, x, block, nonnegative=x_min >= 0)


@computes("identity", "stop_gradient", "convert_to_tensor", "copy", "ensure_shape", "print")
def _nothing(op: Operation, x: Value, shape: Any = None, dtype: Any = None) -> Lowered:
    if op.name == "stop_gradient":
        return of_each(op, x, op.request.function("BlockGrad"), takes=None, nonnegative=x.nonnegative)
    return elementwise(None, takes=None, nonnegative=x.nonnegative)


def _kind(dtype: Any) -> str:
    """Return the dtype in which a net stores one of Keras' dtypes."""
    if dtype in ("float32", "float16", "bfloat16", "float64", "half", "float", "double"):
        return "float32"
    if dtype in ("bool", "int32", "int64"):
        return str(dtype)
    raise Unsupported(f"cast to {dtype!r}")


@computes("cast", "to_int32", "to_float")
def _cast(op: Operation, x: Value, dtype: Any) -> Lowered:
    to = _kind(dtype)
    if to == x.dtype or (to == "float32" and x.dtype == "bool"):
        return elementwise(None, takes=None, gives=to, nonnegative=x.nonnegative)
    if to == "bool":
        return combined_elementwise(
            op, functions.compare, x, np.int64(0), gives="bool", kind="not_equal"
        )
    if "int" in x.dtype:
        how: Any = ("cast", dict(dtype=to))
    else:  # toward zero, as TensorFlow
        how = (functions.cast, dict(to=to))
    block = op.request.function(how[0], **how[1])
    return of_each(op, x, block, takes=None, gives=to, nonnegative=x.nonnegative)


@computes("logical_not")
def _not(op: Operation, x: Value) -> Lowered:
    return combined_elementwise(op, functions.compare, x, np.int64(0), gives="bool", kind="equal")


@computes("isnan", "isinf", "isfinite")
def _special(op: Operation, x: Value) -> Lowered:
    return of_each(op, x, op.request.function(functions.special, kind=op.name), gives="bool")


@computes(
    *("abs", "sign", "floor", "ceil", "trunc", "exp", "expm1", "log", "log1p", "log2", "log10"),
    *("sqrt", "rsqrt", "square", "reciprocal", "negative", "sin", "cos", "tan", "arcsin", "arccos"),
    *("arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "erf", "sigmoid", "relu6"),
    *("selu", "mish", "softplus", "softsign", "log_sigmoid", "hard_sigmoid", "hard_silu", "hard_tanh"),
    *("tanh_shrink", "sparse_plus", "sparse_sigmoid", "relu"),
)
def _of_one(op: Operation, x: Value) -> Lowered:
    if "int" in x.dtype and op.name in ("abs", "sign", "negative", "square"):
        return of_each(op, x, op.request.function(op.name), takes=None)
    request = op.request
    block = elementwise_block(op.name, request.keras3, request.prefix, request.class_name)
    return of_each(op, x, block, nonnegative=is_nonnegative(op.name))


@computes("round")
def _round(op: Operation, x: Value, decimals: int = 0) -> Lowered:
    if decimals:
        raise Unsupported(f"round to {decimals} decimals")
    return _of_one(op, x)


@computes("silu")
def _silu(op: Operation, x: Value, beta: float = 1.0) -> Lowered:
    if beta != 1:
        raise Unsupported(f"silu with beta={beta}")
    return of_each(op, x, op.request.function(functions.silu))


@computes("leaky_relu")
def _leaky_relu(op: Operation, x: Value, negative_slope: float = 0.2) -> Lowered:
    return of_each(op, x, op.request.function(functions.leaky_relu, slope=negative_slope))


@computes("elu", "celu")
def _elu(op: Operation, x: Value, alpha: float = 1.0) -> Lowered:
    return of_each(op, x, op.request.function(function_named(op.name, True), alpha=alpha))


@computes("hard_shrink", "soft_shrink")
def _shrink(op: Operation, x: Value, threshold: float = 0.5) -> Lowered:
    return of_each(op, x, op.request.function(function_named(op.name, True), threshold=threshold))


@computes("threshold")
def _threshold(op: Operation, x: Value, threshold: float, default_value: float) -> Lowered:
    how = dict(threshold=threshold, value=default_value)
    return of_each(op, x, op.request.function(functions.above, **how))


@computes("squareplus")
def _squareplus(op: Operation, x: Value, b: float = 4.0) -> Lowered:
    return of_each(op, x, op.request.function(functions.squareplus, b=b))


@computes("gelu")
def _gelu(op: Operation, x: Value, approximate: bool = False) -> Lowered:
    # TensorFlow defaults to the exact GELU, and Keras 3 always writes the argument.
    return of_each(op, x, op.request.function(functions.gelu_tanh if approximate else functions.gelu))


@computes("glu")
def _glu(op: Operation, x: Value, axis: int = -1) -> Lowered:
    return op.lowered(functions.glu, x, axis=x.stored(axis_of(op, x, axis, 1)))


@computes("softmax", "log_softmax", "sparsemax")
def _softmax(op: Operation, x: Value, axis: List[int] = (-1,)) -> Lowered:  # type: ignore[assignment]
    if len(axis) > 1:
        stored = tuple(sorted(x.stored(axis_of(op, x, each, 1)) for each in axis))
        how = dict(kind=op.name, axes=stored, rank=x.rank)
        return of_each(op, x, op.request.function(functions.over_axes, **how))
    function = function_named(op.name, True)
    return of_each(op, x, op.request.function(function, axis=x.stored(axis_of(op, x, axis[0]))))


@computes("add_n")
def _summed(op: Operation, x: List[Value]) -> Lowered:
    return combined(op.request, "add", tuple(x))


@computes("bias_add")
def _bias_add(op: Operation, x: Value, bias: Operand, data_format: str = "nhwc") -> Lowered:
    if isinstance(bias, Value) or not data_format.upper().endswith("C"):
        raise Unsupported(f"bias_add with data_format={data_format!r} or a computed bias")
    return combined_elementwise(op, functions.of_two, x, bias, kind="add")


def number_of(size: Any, name: str) -> int:
    """Return a whole number; raise for the size of an axis, which may vary."""
    if isinstance(size, Size):
        raise Unsupported(f"{name} by the size of an axis that may vary")
    return int(size)
