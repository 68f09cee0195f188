"""Functions of each element: arithmetic, comparisons, choices and activations."""

from typing import Any, List

import numpy as np

from ...importing import functions
from ..arguments import MOST_ELEMENTS, Unsupported, limit
from ..values import NO_BATCH, Size, Value
from .activations import ELEMENTWISE, NATIVE, elementwise_block, is_nonnegative
from .lengths import line_of
from .merging import combined
from .operations import aligned, axis_of, combined_elementwise
from .registry import Lowered, Request, computes, elementwise
from .signatures import Operand, operand

#: Functions whose results are true or false, and the endings of MXNet's operators.
_COMPARISONS = {name: name for name in ("equal", "not_equal", "greater", "greater_equal")}
_COMPARISONS.update(less="lesser", less_equal="lesser_equal")
_COMPARISONS.update({name: name for name in ("logical_and", "logical_or", "logical_xor")})

_ZERO = np.int64(0)

#: Dtypes in which a net stores Keras' dtypes.
_STORED = dict.fromkeys(("float32", "float16", "bfloat16", "float64"), "float32")
_STORED.update({name: name for name in ("bool", "int32", "int64")})

#: The least number of dtypes that are stored in int32, and how many they have.
_NARROW = dict(int8=(-(2**7), 2**8), int16=(-(2**15), 2**16), uint8=(0, 2**8), uint16=(0, 2**16))


@computes(*("add", "subtract", "multiply", "divide", "maximum", "minimum", "power"), *functions.OF_TWO)
def _pairwise(op: Request, x: Operand, y: Operand) -> Lowered:
    x, y = aligned(op, x, y)
    kind, number = op.name, y if isinstance(x, Value) else x
    special = kind in functions.OF_TWO
    whole = all("int" in (each.dtype if isinstance(each, Value) else each.dtype.name) for each in (x, y))
    if not special and not whole and isinstance(x, Value) and isinstance(y, Value):
        return combined(op, kind, (x, y))
    if not special and not whole and not isinstance(number, Value) and number.ndim == 0:
        array = x if isinstance(x, Value) else y
        fixed: Any = dict(kind=kind, number=float(number), first=number is x)
        return op.each(functions.scalar, array, **fixed)
    if whole and kind == "power":
        times = y.item() if isinstance(x, Value) and not isinstance(y, Value) and y.ndim == 0 else 0
        if not 1 <= times <= 63:
            raise Unsupported("power of whole numbers, unless by a number from 1 to 63: cast them first")
        return op.each(functions.whole_power, x, times=times, takes=None)
    how = {"whole": whole} if special else {}
    real = kind in ("divide", *functions.REAL)  # whole numbers that are divided are not whole
    return combined_elementwise(op, functions.of_two, x, y, gives="same", real=real, kind=kind, **how)


@computes(*_COMPARISONS)
def _compare(op: Request, x: Operand, y: Operand) -> Lowered:
    kind = _COMPARISONS[op.name]
    return combined_elementwise(op, functions.compare, x, y, gives="bool", kind=kind)


@computes("reciprocal_no_nan")
def _reciprocal(op: Request, x: Value) -> Lowered:
    return _pairwise(op.replace(name="divide_no_nan"), np.array(1.0, "float32"), x)


@computes("isclose")
def _is_close(op: Request, x: Operand, y: Operand, rtol: float = 1e-5, atol: float = 1e-8) -> Lowered:
    how: Any = dict(gives="bool", real=True, rtol=rtol, atol=atol)
    return combined_elementwise(op, functions.is_close, x, y, **how)


@computes("select")
def _select(op: Request, condition: Any, x: Any, default: Operand = 0) -> Lowered:
    if not isinstance(condition, list):  # of TensorFlow
        return _where(op, condition, x, default)
    if len(condition) != len(x):
        raise Unsupported(f"{op.name} by {len(condition)} conditions of {len(x)} operands")
    given = [operand(each) for each in (*condition, *x, default)]
    how: Any = dict(gives="same", conditions=len(condition))
    return combined_elementwise(op, functions.select_first, *given, **how)


@computes("where")
def _where(op: Request, condition: Operand, x: Operand, y: Operand) -> Lowered:
    if isinstance(condition, Value) and condition.dtype == "float32":
        condition = op.derived(functions.as_boolean, condition, rule=lambda shape: shape)
    return combined_elementwise(op, functions.select, condition, x, y, gives="same")


@computes("cross")
def _cross(
    op: Request, x: Value, y: Value, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Lowered:
    last = all(
        place in (-1, x.rank - 1) for place in ([axisa, axisb, axisc] if axis is None else [axis])
    )
    if x.rank != y.rank or not last or (x.shape[-1], y.shape[-1]) != (3, 3):
        raise Unsupported(f"{op.name} of shapes {x.shape} and {y.shape}, unless along a last axis of 3")
    return combined_elementwise(op, functions.cross, x, y, gives="same", axis=x.stored(x.rank - 1))


@computes("zeros_like", "ones_like", "full_like")
def _filled(op: Request, x: Value, fill_value: float = 0, dtype: Any = None) -> Lowered:
    number, gives = {"zeros_like": 0, "ones_like": 1}.get(op.name, fill_value), dtype or x.dtype
    if gives not in _STORED:
        raise Unsupported(f"{op.name} of {gives}")
    how: Any = dict(gives=_STORED[gives], takes=_STORED[gives].replace("bool", "float32"))
    number = int(number) if "int" in how["gives"] else float(number)
    return op.each(functions.filled, x, number=number, **how)


@computes("clip")
def _clip(op: Request, x: Value, x_min: float, x_max: float) -> Lowered:
    if x.whole and x_min == int(x_min) and x_max == int(x_max):
        return op.each(functions.clip_whole, x, x_min >= 0, least=x_min, most=x_max, takes=None)
    return op.each("clip", x, nonnegative=x_min >= 0, a_min=x_min, a_max=x_max)


@computes("identity", "convert_to_tensor", "array", "copy", "conjugate", "real", "ensure_shape",
          "check_numerics")  # fmt: skip
def _nothing(
    op: Request, x: Value, dtype: Any = None, shape: Any = None, message: Any = None,
    dtype_hint: Any = None,
) -> Lowered:  # fmt: skip
    if dtype not in (None, x.dtype):
        return _cast(op, x, dtype)
    return elementwise(None, takes=None, nonnegative=x.nonnegative)


@computes("stop_gradient")
def _constant(op: Request, x: Value) -> Lowered:
    return op.each("BlockGrad", x, x.nonnegative, takes=None)


@computes("cast", "saturate_cast")
def _cast(op: Request, x: Value, dtype: str) -> Lowered:
    if dtype in _NARROW:
        least, count = _NARROW[dtype]
        if not x.whole or op.name == "saturate_cast":  # TensorFlow's cast of others is not defined
            bounds = dict(least=least, most=least + count - 1)
            x = op.derived(functions.clip_whole, x, rule=lambda shape: shape, **bounds)
        how: Any = dict(least=least, count=count, takes=None, gives=dtype)
        return op.each(functions.wrapped, x, least == 0, **how)
    to = _STORED.get(dtype)
    if to is None or (op.name == "saturate_cast" and dtype != "float32"):
        known = ", ".join((*_STORED, *_NARROW))
        raise Unsupported(f"{op.name} to {dtype!r}: only {known} are supported")
    if to == x.dtype or (to == "float32" and x.dtype == "bool"):
        return elementwise(None, takes=None, gives=to, nonnegative=x.nonnegative)
    if to == "bool":
        return combined_elementwise(op, functions.compare, x, _ZERO, gives="bool", kind="not_equal")
    return op.each(functions.cast, x, x.nonnegative, to=to, takes=None, gives=to)


@computes("linspace", "logspace")
def _spaced(
    op: Request, start: Operand, stop: Operand, num: int = 50, endpoint: bool = True, axis: int = 0,
    base: float = 10, retstep: bool = False, dtype: Any = None,
) -> Lowered:  # fmt: skip
    """Return numbers along a new axis."""
    limit(f"{op.name} of {num} numbers", num)
    power = base if op.name == "logspace" else None
    how: Any = dict(real=True, count=num, endpoint=endpoint, base=power)
    built = combined_elementwise(op, functions.spaced, start, stop, **how)
    x, sizes = built.inputs[0], built.rule
    place = axis % (x.rank + 1)
    if retstep or dtype not in (None, "float32") or num < 1 or place <= x.batch:
        raise Unsupported(f"{op.name} of {num} numbers along axis={axis} of dtype {dtype}")

    def rule(*shapes: Any) -> Any:
        shape = sizes(*shapes) if sizes else ()
        return (*shape[:place], num, *shape[place:])

    return built._replace(axes=x.axes_with(place), rule=rule)


@computes("is_in")
def _is_in(
    op: Request, x: Value, y: Operand, invert: bool = False, assume_unique: bool = False
) -> Lowered:
    if isinstance(y, Value):
        raise Unsupported(f"{op.name} of what is not constant")
    how: Any = dict(invert=invert, rule=lambda shape: shape, gives="bool")
    how["takes"] = x.number if y.dtype.kind == "i" else "float32"
    numbers = y.ravel()
    if y.dtype.kind == "i" and x.number.startswith("int"):  # others are not among its numbers
        limits = np.iinfo(x.number)
        numbers = numbers[(numbers >= limits.min) & (numbers <= limits.max)]
    if not numbers.size:
        raise Unsupported(f"{op.name} of {y.tolist()}, none of which is of {x.number}")
    return op.lowered(functions.is_in, x, numbers.astype(how["takes"]), order=x.axes, **how)


@computes("bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor")
def _bitwise(op: Request, x: Operand, y: Operand = None) -> Lowered:
    operands = [x] if y is None else [x, y]
    dtypes = [each.dtype if isinstance(each, Value) else each.dtype.name for each in operands]
    kind = op.name.partition("_")[2]
    if not all(dtype.startswith("int") for dtype in dtypes) or (y is None) != (kind == "not"):
        raise Unsupported(f"{op.name} of {' and '.join(dtypes)}")
    given = next(each for each in operands if isinstance(each, Value))
    limits = np.iinfo(given.narrow or given.dtype)
    for each in operands:
        if not isinstance(each, Value) and (each.min() < limits.min or each.max() > limits.max):
            raise Unsupported(f"{op.name} by {each.tolist()}, which is not of {limits.dtype}")
    return combined_elementwise(op, functions.bitwise, *operands, gives="same", kind=kind)


@computes("convert_image_dtype")
def _image_of(op: Request, x: Value, dtype: str, saturate: bool = False) -> Lowered:
    kind = x.narrow or x.dtype
    if _STORED.get(dtype) != "float32" or kind == "bool":
        raise Unsupported(f"{op.name} from {kind} to {dtype!r}: only real numbers are supported")
    most = 1 if kind == "float32" else np.iinfo(kind).max
    return op.each(functions.linear, x, x.nonnegative, scale=1 / most, offset=0.0)


@computes("digitize")
def _digits(op: Request, x: Value, bins: Operand) -> Lowered:
    if isinstance(bins, Value) or bins.ndim != 1:
        raise Unsupported(f"{op.name} by bins that are not constant")
    how: Any = dict(rule=lambda shape: shape, gives="int32")
    return op.lowered(functions.discretize, x, bins.astype("float32"), **how)


@computes("sequence_mask")
def _mask_of_lengths(op: Request, lengths: Value, maxlen: int, dtype: str = "bool") -> Lowered:
    if dtype not in ("bool", "float32"):
        raise Unsupported(f"{op.name} of {dtype}")
    lengths = op.derived(functions.cast, lengths, to="int32")._replace(dtype="int32")  # truncated
    y = op.derived("expand_dims", lengths, rule=lambda shape: (*shape, 1), axis=-1)
    if isinstance(maxlen, Size):
        line, how = line_of(op, maxlen), dict(axis=0, start=0, step=1, to="int32")
        steps: Any = op.derive(functions.arange_along, line, **how)
        steps = steps._replace(dtype="int32", rows=NO_BATCH)
    else:
        limit(f"{op.name} of {maxlen} steps", maxlen, MOST_ELEMENTS)
        steps = np.arange(maxlen)
    built = _compare(op.replace(name="greater"), y, steps)
    return built._replace(gives=dtype)


@computes("logical_not")
def _not(op: Request, x: Value) -> Lowered:
    return combined_elementwise(op, functions.compare, x, _ZERO, gives="bool", kind="equal")


@computes("isneginf", "isposinf")
def _infinite(op: Request, x: Value) -> Lowered:
    signs = dict(negative=op.name == "isneginf", positive=op.name == "isposinf")
    return op.each(functions.is_infinite, x, gives="bool", **signs)


@computes("isnan", "isinf", "isfinite")
def _special(op: Request, x: Value) -> Lowered:
    return op.each(functions.special, x, kind=op.name, gives="bool")


@computes(*ELEMENTWISE, *NATIVE, "relu6")
def _of_one(op: Request, x: Value) -> Lowered:
    if x.whole and op.name == "square":
        return op.each(functions.whole_power, x, times=2, takes=None)
    if x.whole and op.name in ("abs", "sign", "negative"):
        return op.each(op.name, x, takes=None)
    block = elementwise_block(op.name, op.keras3, op.prefix, op.class_name)
    return elementwise(block, x.axes, inputs=(x,), nonnegative=is_nonnegative(op.name))


@computes("softmax", "log_softmax")
def _softmax(op: Request, x: Value, axis: int = -1) -> Lowered:
    place = x.stored(axis_of(op, x, axis, True))
    return op.each(functions.along_axis, x, kind=op.name, axis=place, rank=x.rank)


@computes("add_n")
def _summed(op: Request, x: List[Value]) -> Lowered:
    return combined(op, "add", tuple(x))
