"""Activations, given by argument, by the layer ``Activation`` or by layers of their own."""

import warnings
from typing import Any, Callable, Dict, Optional, Union

from mxnet.gluon import HybridBlock

from ... import nn
from ...importing import functions
from ...importing.block import Function
from ..arguments import Unsupported, words
from ..values import Value, keras_order, masks_of
from .registry import BUILDERS, Lowered, Request, builds, custom_block, elementwise, inner_request
from .signatures import ALIASES
from .weight import Weight

#: Activations with an operator in oneDNN.
NATIVE = {"relu": "relu", "sigmoid": "sigmoid", "tanh": "tanh", "softplus": "softrelu"}

#: Functions of each element without arguments, by the name of the function or MXNet's operator.
ELEMENTWISE = words("""
    abs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh erf erfc erfinv exp exp2
    expm1 floor gammaln hard_sigmoid hard_silu hard_tanh log log10 log1p log2 log_sigmoid mish
    negative reciprocal rsqrt selu sign sin sinc sinh softsign sparse_plus sparse_sigmoid sqrt
    square tan tanh_shrink trunc
""")

#: Functions of each element with arguments, which have defaults.
WITH_OPTIONS = words("celu elu gelu hard_shrink leaky_relu round silu soft_shrink squareplus")

_NONNEGATIVE = words("abs erfc exp hard_sigmoid relu relu6 sigmoid softmax softplus sqrt square")


def activation(request: Request, given: Any, axis: int = -1, rank: int = 0) -> Optional[HybridBlock]:
    """Return the block of an ``activation`` argument; None for a linear one.

    Parameters
    ----------
    request : Request
        The layer, with the prefix of the block.
    given : str, dict or None
        The argument as in a configuration.
    axis : int
        The stored axis of Keras' last axis.
    rank : int
        The number of axes of data that oneDNN may hold in blocks.

    Raises
    ------
    Unsupported
        If ``given`` is not one of Keras' activations, nor in ``custom=``.
    """
    theirs = False
    if isinstance(given, dict):
        if given.get("class_name") not in ("function", "Function", None):
            return _layer_as_activation(request, given, axis, rank)
        theirs, given = _is_theirs(given), given.get("config")
        if not isinstance(given, str):
            raise Unsupported(
                "its activation is code in the file, which is never run: use a custom layer"
            )
    if given is None or given == "linear":
        return None
    if not isinstance(given, str):
        raise Unsupported(f"activation={given!r} is not an activation of Keras")
    if given == "glu":
        raise Unsupported(
            "activation='glu' halves the last axis, which only the layer Activation may do"
        )
    block, name = _block_named(request, given, axis, rank), given.rpartition(">")[2]
    if (theirs or block is None) and name in request.custom:
        return custom_block(request.custom[name], name, {}, [])
    if block is None:
        raise Unsupported(
            f"activation={given!r} is not an activation of Keras: give custom={{{name!r}: builder}}"
        )
    if theirs:
        warnings.warn(
            f"activation {given!r} is a function of the model's author: Keras' own is used", stacklevel=2
        )
    return block


def _is_theirs(given: Dict[str, Any]) -> bool:
    """Return whether a function is not of Keras, which writes the module "builtins" for most of them."""
    return str(given.get("module", "keras")).split(".")[0] not in ("keras", "tf_keras")


def _block_named(request: Request, given: str, axis: int, rank: int) -> Optional[HybridBlock]:
    keras3, prefix, name = request.keras3, request.prefix, ALIASES.get(given, given)
    if name in ("softmax", "log_softmax"):
        return Function(functions.along_axis, "Activation", prefix, kind=name, axis=axis, rank=rank)
    if name == "sparsemax":
        return Function(functions.sparsemax, "Activation", prefix, axis=axis)
    return elementwise_block(name, keras3, prefix)


def elementwise_block(
    name: str, keras3: bool, prefix: Optional[str], title: str = "Activation"
) -> Optional[HybridBlock]:
    """Return the block of a function of each element; None if the function is not known."""
    if name == "relu6":
        return nn.ReLU6(prefix=prefix)
    if name in NATIVE:
        return nn.Activation(NATIVE[name], prefix=prefix)
    known = name in (*ELEMENTWISE, *WITH_OPTIONS)
    return Function(function_named(name, keras3), title, prefix) if known else None


def function_named(name: str, keras3: bool) -> Union[str, Callable[..., Any]]:
    """Return a function by name, or the name of MXNet's operator."""
    if name == "hard_sigmoid" and not keras3:
        name = "hard_sigmoid_keras2"
    name = "round_half_even" if name == "round" else name
    return getattr(functions, name, name)


def is_nonnegative(given: Any) -> bool:
    """Return whether an activation is one of Keras that never returns negative numbers."""
    if isinstance(given, dict):
        given = None if _is_theirs(given) else given.get("config")
    return isinstance(given, str) and ALIASES.get(given, given) in _NONNEGATIVE


@builds("Activation")
def _activation(request: Request, x: Value) -> Lowered:
    given, axis = request.get("activation"), x.stored(-1)
    if given == "glu":  # the only activation that changes the shape
        if x.channels is not None and x.channels % 2:
            raise ValueError(f"glu halves the last axis, and that of {x.shape} is odd")
        return Lowered(request.function(functions.glu, axis=axis), None)
    return elementwise(activation(request, given, axis, x.rank), nonnegative=is_nonnegative(given))


@builds("ReLU")
def _relu(request: Request, x: Value) -> Lowered:
    if x is not None and x.mask is not None and (2, 3) <= request.version < (2, 5):
        raise Unsupported("a mask of its input, which only some of Keras 2.3 and 2.4 hand on")
    most = request.optional_number("max_value")
    if most is not None and most < 0:
        raise Unsupported(f"max_value={most} is negative")
    if most is not None and x is not None and x.whole:  # Keras converts it to the dtype of the input
        most = float(int(most))
    slope = request.optional_number("negative_slope") or 0
    return _rectified(request, most, slope, request.optional_number("threshold") or 0)


@builds("LeakyReLU")
def _leaky_relu(request: Request, x: Value) -> Lowered:
    name = "negative_slope" if request.get("negative_slope", None) is not None else "alpha"
    return _rectified(request, None, request.number(name, 0.3), 0)


def _rectified(request: Request, most: Optional[float], slope: float, threshold: float) -> Lowered:
    """Return the result for a rectifier: MXNet's own operators where they compute it."""
    prefix, plain = request.prefix, threshold == 0 and slope >= 0
    if plain and slope == 0 and most in (None, 6):
        block = nn.Activation("relu", prefix=prefix) if most is None else nn.ReLU6(prefix=prefix)
    elif plain and most is None:
        block = nn.LeakyReLU(slope, prefix=prefix)
    else:
        block = request.function(functions.general_relu, most=most, slope=slope, threshold=threshold)
    return elementwise(block, nonnegative=slope == 0 and threshold >= 0)


@builds("ELU")
def _elu(request: Request, x: Value) -> Lowered:
    return elementwise(request.function(functions.elu, alpha=request.number("alpha", 1.0)))


@builds("ThresholdedReLU")
def _thresholded_relu(request: Request, x: Value) -> Lowered:
    theta = request.number("theta", 1.0)
    block = request.function(functions.thresholded_relu, theta=theta)
    return elementwise(block, nonnegative=theta >= 0)


def masked_rows(request: Request) -> str:
    """Return what a softmax gives the elements of rows in which none counts."""
    return "zero" if request.version >= (3, 10) else "add"


@builds("Softmax")
def _softmax(request: Request, x: Value) -> Lowered:
    given, masks = request.ints("axis", -1), masks_of([x])
    axes = {axis % x.rank for axis in given if -x.rank <= axis < x.rank}
    if not axes or len(axes) < len(given):
        raise Unsupported(f"axis={given} are not axes of an input with {x.rank} axes")
    if any(mask.rank != x.rank for mask in masks):
        raise Unsupported(f"a mask of shape {masks[0].shape} for an input of shape {x.shape}")
    order = keras_order(x.rank) if masks else x.axes
    how: Any = dict(axes=tuple(sorted(map(order.index, axes))), rank=x.rank, how=masked_rows(request))
    how.update(order=order, input_axes=(order,) * (1 + len(masks)), nonnegative=True)
    return request.lowered(functions.masked_softmax, x, *masks, rule=lambda shape, *_: shape, **how)


@builds("PReLU")
def _prelu(request: Request, x: Value) -> Lowered:
    given = request.get("shared_axes", None)
    shared = [] if given is None else request.ints("shared_axes")
    if any(not 1 <= axis < x.rank for axis in shared):
        raise ValueError(f"shared_axes={shared} are not axes of an input with {x.rank} axes")
    shape = tuple(1 if axis in shared else x.shape[axis] for axis in range(1, x.rank))
    stored = (1, *(shape[axis - 1] or 0 for axis in x.axes[1:]))
    block = request.function(functions.prelu, {"alpha": dict(shape=stored, allow_deferred_init=True)})
    weight = Weight("alpha", shape, lambda array: [(block.alpha, x.along(range(1, x.rank), array))])
    return elementwise(block, weights=(weight,))


def _layer_as_activation(request: Request, given: Any, axis: int, rank: int) -> Optional[HybridBlock]:
    """Return the block of a layer, such as ``LeakyReLU()``, given as another layer's activation."""
    names = ("Activation", "ReLU", "LeakyReLU", "ELU", "Softmax", "ThresholdedReLU")
    inner = inner_request(request, given, names)
    if inner.class_name in ("Activation", "Softmax"):
        if inner.get("axis", -1) != -1:
            raise Unsupported(f"activation=Softmax(axis={inner.get('axis')}): only -1 is supported")
        name = "softmax" if inner.class_name == "Softmax" else inner.get("activation")
        block = activation(inner, name, axis, rank)
    else:
        block = BUILDERS[inner.class_name](inner, None).block
    inner.finish()
    return block
