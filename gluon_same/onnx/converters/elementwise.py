"""Functions of each element: arithmetic, comparison, logic, activations."""

from typing import Any, Callable, Dict, Literal, Optional, Union

import numpy as np

from ... import nn
from ...importing import functions
from ..registry import converter, once_attributes
from ..values import Data, Flag, Known, compute_dtype, nothing, stored_dtype

#: Operators of one input without attributes.
_UNARY: Dict[str, Union[str, Callable[..., Any]]] = {
    **{name: name.lower() for name in ("Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "Log")},
    **{name: name.lower() for name in ("Reciprocal", "Sign", "Sin", "Sinh", "Sqrt", "Tan")},
    **{f"A{name}": f"arc{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    "HardSwish": functions.hard_silu,
    "Mish": functions.mish,
    "Neg": "negative",
    "Not": "logical_not",
    "Round": functions.round_half_even,
    "Softplus": functions.softplus,
    "Softsign": functions.softsign,
}

#: Activations with an operator in oneDNN.
_NATIVE = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh"}

#: Operators of any number of inputs.
_MERGES = {"Max": "maximum", "Mean": "add", "Min": "minimum", "Sum": "add"}


def _unary(function: Union[str, Callable[..., Any]]) -> Callable[..., Data]:
    def convert(net: Any, x: Data) -> Data:
        return net.call(function, x)

    return convert


def _native(kind: str) -> Callable[..., Data]:
    def convert(net: Any, x: Data) -> Data:
        if x.dtype.kind != "f":  # Relu
            return net.call(kind, x)
        return net.block(nn.Activation(kind, prefix=net.prefix()), x, scalar=x.scalar)

    return convert


@converter("Abs")
def absolute(net: Any, x: Data) -> Data:
    return net.call("abs" if x.dtype.kind == "f" else functions.whole_abs, x)


for _name, _function in _UNARY.items():
    converter(_name)(_unary(_function))
for _name, _function in _NATIVE.items():
    converter(_name)(_native(_function))


def combine(net: Any, x: Any, other: Any, kind: str) -> Any:
    """Combine two values elementwise: arrays, numbers or constant arrays."""
    if any(isinstance(v, Known) and not v.first.size for v in (x, other)):
        count = max(len(v.trials) for v in (x, other))
        pairs = ([v.at(t).shape if isinstance(v, Known) else v.trials[t] for v in (x, other)]
                 for t in range(count))  # fmt: skip
        resized = any(isinstance(v, Known) and v.resized for v in (x, other))
        return nothing((np.broadcast_shapes(*pair) for pair in pairs), x.dtype, resized)
    x, other = (net.array(v) if isinstance(v, Known) and v.open else v for v in (x, other))
    for one, number in ((x, other), (other, x)):
        value = _number(number)
        if value is None or number.ndim > one.ndim or not np.isfinite(value):
            continue
        if x.dtype.kind == "f" or abs(value) < 2**53:
            return net.call(functions.scalar, one, kind=kind, number=value, first=number is x)
    return net.call(functions.merge, x, other, kind=kind, even=even(x, other))


def _number(x: Any) -> Any:
    """Return the number in a known array of one element; None for other values."""
    single = isinstance(x, Known) and not x.open and x.array.size == 1
    return x.array.item() + 0 if single else None  # 1 for True


def even(*values: Any) -> bool:
    """Return whether all values are arrays of one shape, which MXNet combines faster."""
    shapes = [x.trials if isinstance(x, Data) else None for x in values]
    return None not in shapes and all(each == shapes[0] for each in shapes)


def _older(net: Any, x: Any, other: Any, axis: Optional[int], broadcast: int) -> Any:
    """Return the second operand with axes of size 1, as operator sets before 7 broadcast it."""
    if axis is None or not broadcast:
        return other
    axes = range(other.ndim, x.ndim - axis % x.ndim)
    if isinstance(other, Known):
        return other.changed(lambda array: array.reshape(array.shape + (1,) * len(axes)))
    for place in axes:
        other = net.call("expand_dims", other, axis=place)
    return other


def binary(operator: str, kind: str, convert: Callable[..., Data]) -> None:
    """Register an operator of two inputs, with the attributes of operator sets before 7, too."""

    def older(net: Any, x: Any, other: Any, *, axis: Optional[int] = None, broadcast: int = 0) -> Data:
        return convert(net, x, _older(net, x, other, axis, broadcast), kind)

    converter(operator)(older)
    converter(operator, 7)(lambda net, x, other: convert(net, x, other, kind))


def _divide(net: Any, x: Any, other: Any, kind: str) -> Data:
    if x.dtype.kind == "f" or _number(other) not in (None, 0, -1):
        return combine(net, x, other, kind)
    return net.call(functions.integer_divide, x, other)


def _logic(net: Any, x: Any, other: Any, kind: str) -> Data:
    return net.call(functions.merge, x, other, kind=kind, even=False, dtype=bool)


def _compare(net: Any, x: Any, other: Any, kind: str) -> Data:
    y = combine(net, x, other, kind)
    if stored_dtype(y.dtype) != np.float32:  # MXNet returns 0 and 1 in the dtype of the operands
        return net.call(functions.cast, y, to="float32", dtype=bool)
    y.dtype = np.dtype(bool)
    return y


def _power(net: Any, x: Any, other: Any, kind: str) -> Data:
    if x.dtype.kind == "f" and isinstance(other, Known):
        other = other.changed(lambda array: array.astype(x.dtype))
    if x.dtype.kind == "f" and other.dtype == x.dtype:
        return combine(net, x, other, kind)
    times = _number(other)
    if times is not None and times % 1 == 0 and 0 < times < 64 and other.ndim <= x.ndim:
        return net.call(functions.whole_power, x, times=int(times))
    through = x.dtype.name if x.dtype.kind == "f" else "float64"
    return net.call(functions.power, x, other, through=through, to=x.dtype.name)


for _name in ("And", "Or", "Xor"):
    binary(_name, f"logical_{_name.lower()}", _logic)
for _name, _kind in {"Greater": "greater", "Less": "lesser"}.items():
    binary(_name, _kind, _compare)
    binary(f"{_name}OrEqual", f"{_kind}_equal", _compare)
binary("Equal", "equal", _compare)
binary("Sub", "subtract", combine)
binary("Mul", "multiply", combine)
binary("Div", "divide", _divide)
binary("Pow", "power", _power)


def _merge(operator: str, kind: str) -> Callable[..., Data]:
    def convert(net: Any, *arrays: Any) -> Data:
        if len(arrays) == 1:
            return arrays[0]
        if len(arrays) == 2 and operator != "Mean":
            return combine(net, *arrays, kind)
        scale = 1 / len(arrays) if operator == "Mean" else 1
        return net.call(functions.merge, *arrays, kind=kind, even=even(*arrays), scale=scale)

    return convert


for _name, _kind in _MERGES.items():
    converter(_name, 6)(_merge(_name, _kind))


@converter("Mod", 10)
def mod(net: Any, x: Any, other: Any, *, fmod: Flag = 0) -> Data:
    how = dict(kind="fmod" if fmod else "mod", whole=x.dtype.kind != "f")
    return net.call(functions.of_two, x, other, **how)


@converter("BitShift", 11)
def bit_shift(net: Any, x: Any, count: Any, *, direction: str) -> Data:
    how = dict(left=direction == "LEFT", bits=8 * x.dtype.itemsize)
    return net.call(functions.shift_bits, x, count, **how)


@converter("Where", 9)
def where(net: Any, condition: Any, x: Any, other: Any) -> Data:
    if even(condition, x, other):
        return net.call("where", condition, x, other, dtype=compute_dtype(x.dtype))
    arrays = (condition, x, other)
    count = len(next(each.trials for each in arrays if isinstance(each, Data)))
    shapes = [each.trials if isinstance(each, Data) else [each.shape] * count for each in arrays]
    results = [np.broadcast_shapes(*each) for each in zip(*shapes)]
    whole = tuple(list(each) == results for each in shapes)
    how = dict(spread=stored_dtype(x.dtype).name, whole=whole)
    return net.call(functions.where, *arrays, dtype=compute_dtype(x.dtype), **how)


@converter("Clip", 11)
def clip(net: Any, x: Data, low: Any = None, high: Any = None) -> Data:
    if x.dtype.kind == "f" and all(isinstance(each, Known) and not each.open for each in (low, high)):
        bounds = [each.array.item() for each in (low, high)]
        if bounds == [0, 6]:
            return net.block(nn.ReLU6(prefix=net.prefix()), x, scalar=x.scalar)
        if x.dtype == np.float32 and bounds[0] <= bounds[1]:
            return net.call("clip", x, a_min=bounds[0], a_max=bounds[1])
    x = x if low is None else combine(net, x, low, "maximum")
    return x if high is None else combine(net, x, high, "minimum")


once_attributes("Clip", 1, clip, min="low", max="high")


@converter("IsInf", 10)
def is_inf(net: Any, x: Data, *, detect_negative: int = 1, detect_positive: int = 1) -> Data:
    signs = dict(negative=bool(detect_negative), positive=bool(detect_positive))
    return net.call(functions.is_infinite, x, dtype=bool, **signs)


@converter("IsNaN", 9)
def is_nan(net: Any, x: Data) -> Data:
    return net.call(functions.is_nan, x, dtype=bool)


@converter("Elu")
def elu(net: Any, x: Data, *, alpha: float = 1.0) -> Data:
    return net.call(functions.elu, x, alpha=alpha)


@converter("Selu")
def selu(
    net: Any, x: Data, *, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805
) -> Data:
    return net.call(functions.selu, x, alpha=alpha, gamma=gamma)


@converter("Gelu", 20)
def gelu(net: Any, x: Data, *, approximate: Literal["none", "tanh"] = "none") -> Data:
    return net.call(functions.gelu, x, approximate=approximate != "none")


@converter("HardSigmoid")
def hard_sigmoid(net: Any, x: Data, *, alpha: float = 0.2, beta: float = 0.5) -> Data:
    if beta == 0.5 and abs(alpha - 1 / 6) < 1e-7:
        return net.call(functions.hard_sigmoid, x)
    return net.call(functions.clipped_linear, x, scale=alpha, offset=beta)


@converter("LeakyRelu")
def leaky_relu(net: Any, x: Data, *, alpha: float = 0.01) -> Data:
    return net.call(functions.leaky_relu, x, slope=alpha)


@converter("PRelu", 1)
def prelu_1(net: Any, x: Data, slope: Any) -> Data:
    """Convert slopes for each channel, the second axis, as operator sets before 7 have them."""
    if slope.shape not in ((), (1,)):
        slope = _older(net, x, slope, 1, 1)
    return prelu(net, x, slope)


@converter("PRelu", 7)
def prelu(net: Any, x: Data, slope: Any) -> Data:
    return net.call(functions.prelu, x, slope, scalar=x.scalar)


@converter("Shrink", 9)
def shrink(net: Any, x: Data, *, bias: float = 0.0, lambd: float = 0.5) -> Data:
    return net.call(functions.shrink, x, threshold=lambd, bias=bias)


@converter("ThresholdedRelu")
def thresholded_relu(net: Any, x: Data, *, alpha: float = 1.0) -> Data:
    return net.call(functions.thresholded_relu, x, theta=alpha)
