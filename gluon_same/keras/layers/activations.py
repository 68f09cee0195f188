"""Activations, given by argument, by the layer ``Activation`` or by layers of their own."""

from typing import Any, Dict, Optional

from mxnet.gluon import HybridBlock

from ... import nn
from ..arguments import Unsupported
from ..values import Value
from . import functions
from .table import BUILDERS, Built, Request, Weight, builds, elementwise, into, same_shape

#: Activations with an operator in oneDNN.
_NATIVE = {"relu": "relu", "sigmoid": "sigmoid", "tanh": "tanh", "softplus": "softrelu"}

#: Activations that depend on all elements along an axis.
_ALONG_AXIS = ("softmax", "log_softmax", "sparsemax")

_NONNEGATIVE = ("relu", "relu6", "sigmoid", "softplus", "softmax", "exponential", "hard_sigmoid")

#: Older and alternative names of activations.
_SAME = {"swish": "silu", "hard_swish": "hard_silu", "exp": "exponential"}


class Function(HybridBlock):
    """Activation without a block in MXNet.

    Parameters
    ----------
    name : str
        Name of a function in :mod:`.functions`.
    **arguments
        Arguments of that function.
    """

    def __init__(self, name: str, prefix: Optional[str] = None, **arguments: Any):
        super().__init__(prefix=prefix)
        self._function = name
        self._arguments = arguments

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return getattr(functions, self._function)(F, x, **self._arguments)

    def __repr__(self) -> str:
        inside = [self._function, *(f"{name}={value!r}" for name, value in self._arguments.items())]
        return f"{type(self).__name__}({', '.join(inside)})"


def activation(
    given: Any, keras3: bool, axis: int = -1, prefix: Optional[str] = None
) -> Optional[HybridBlock]:
    """Return the block of an ``activation`` argument; None for a linear one.

    Parameters
    ----------
    given : str, dict or None
        The argument as in a configuration.
    keras3 : bool
        Whether Keras 3 wrote the configuration. Its ``hard_sigmoid`` differs from Keras 2's.
    axis : int
        The stored axis of Keras' last axis.
        prefix : str, optional
            Prefix of the block.

    Raises
    ------
    Unsupported
        If ``given`` is not one of Keras' activations.
    """
    if isinstance(given, dict):
        if given.get("class_name") not in ("function", "Function", None):
            return _layer_as_activation(given, keras3, prefix)
        given = given.get("config")
    if given is None:
        return None
    if not isinstance(given, str):
        raise Unsupported(f"activation={given!r} is not an activation of Keras")
    name = _SAME.get(given, given)
    if name == "linear":
        return None
    if name == "relu6":
        return nn.ReLU6(prefix=prefix)
    if name in _NATIVE:
        return nn.Activation(_NATIVE[name], prefix=prefix)
    if name == "hard_sigmoid" and not keras3:
        name = "hard_sigmoid_keras2"
    if name in _ALONG_AXIS:
        return Function(name, prefix, axis=axis)
    if name not in (*functions.ACTIVATIONS, "hard_sigmoid_keras2"):
        raise Unsupported(f"activation={given!r} is not an activation of Keras: use a custom layer")
    return Function(name, prefix)


def is_nonnegative(given: Any) -> bool:
    """Return whether an activation never returns negative numbers."""
    given = given.get("config") if isinstance(given, dict) else given
    return isinstance(given, str) and given in _NONNEGATIVE


def last_axis(value: Value) -> int:
    """Return the stored axis of Keras' last axis."""
    return value.stored(-1)


@builds("Activation")
def _activation(request: Request, x: Value) -> Built:
    given = request.arguments.get("activation")
    if given == "glu":  # the only activation that changes the shape
        return Built(Function("glu", request.prefix, axis=last_axis(x)), _halved, None, (x.order,))
    block = activation(given, request.keras3, last_axis(x), request.prefix)
    return elementwise(block, nonnegative=is_nonnegative(given))


def _halved(shape):
    size = shape[-1]
    if size is not None and size % 2:
        raise ValueError(f"glu halves the last axis, and that of {shape} is odd")
    return (*shape[:-1], None if size is None else size // 2)


@builds("ReLU")
def _relu(request: Request, x: Value) -> Built:
    arguments = request.arguments
    most, prefix = arguments.optional_number("max_value"), request.prefix
    if most is not None and most < 0:
        raise Unsupported(f"max_value={most} is negative")
    slope = arguments.optional_number("negative_slope") or 0
    threshold = arguments.optional_number("threshold") or 0
    if slope == threshold == 0 and most in (None, 6):
        block = nn.Activation("relu", prefix=prefix) if most is None else nn.ReLU6(prefix=prefix)
    elif most is None and threshold == 0 and slope >= 0:
        block = nn.LeakyReLU(slope, prefix=prefix)
    else:
        block = Function("general_relu", prefix, most=most, slope=slope, threshold=threshold)
    return elementwise(block, nonnegative=slope == 0 and threshold >= 0)


@builds("LeakyReLU")
def _leaky_relu(request: Request, x: Value) -> Built:
    name = "negative_slope" if request.arguments.get("negative_slope", None) is not None else "alpha"
    slope = request.arguments.number(name, 0.3)
    if slope < 0:
        return elementwise(
            Function("general_relu", request.prefix, most=None, slope=slope, threshold=0.0)
        )
    return elementwise(nn.LeakyReLU(slope, prefix=request.prefix))


@builds("ELU")
def _elu(request: Request, x: Value) -> Built:
    alpha = request.arguments.number("alpha", 1.0)
    return elementwise(Function("elu", request.prefix, alpha=alpha))


@builds("ThresholdedReLU")
def _thresholded_relu(request: Request, x: Value) -> Built:
    theta = request.arguments.number("theta", 1.0)
    return elementwise(Function("thresholded_relu", request.prefix, theta=theta), nonnegative=theta >= 0)


@builds("Softmax")
def _softmax(request: Request, x: Value) -> Built:
    axes = request.arguments.ints("axis", -1)
    if len(axes) != 1 or not -x.rank <= axes[0] < x.rank:
        raise Unsupported(f"axis={axes}: only one axis of the input is supported")
    axis = x.stored(axes[0])
    return elementwise(Function("softmax", request.prefix, axis=axis), nonnegative=True)


class PReLU(HybridBlock):
    """Keras' PReLU, with one slope per element along the axes that are not shared.

    Parameters
    ----------
    shape : tuple of int
        Shape of the slopes: one size for each axis of the data except the batch; 0 if unknown.
    """

    def __init__(self, shape: Any, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(1, *shape), allow_deferred_init=True)

    def hybrid_forward(self, F: Any, x: Any, alpha: Any) -> Any:
        return F.relu(x) - F.broadcast_mul(alpha, F.relu(-x))


@builds("PReLU")
def _prelu(request: Request, x: Value) -> Built:
    given = request.arguments.get("shared_axes", None)
    shared = [] if given is None else request.arguments.ints("shared_axes")
    if any(not 1 <= axis < x.rank for axis in shared):
        raise ValueError(f"shared_axes={shared} are not axes of an input with {x.rank} axes")
    shape = tuple(1 if axis in shared else x.shape[axis] for axis in range(1, x.rank))
    stored = [shape[axis - 1] or 0 for axis in x.order[1:]]
    block = PReLU(stored, request.prefix)
    put = into(block.alpha)

    def put_in_order(array):
        return put(array.transpose([axis - 1 for axis in x.order[1:]])[None])

    return Built(block, same_shape, None, (x.order,), (Weight("alpha", shape, put_in_order),))


def _layer_as_activation(given: Dict[str, Any], keras3: bool, prefix: Optional[str]) -> HybridBlock:
    """Return the block of a layer, such as ``LeakyReLU()``, given as another layer's activation."""
    from ..arguments import Arguments

    name, config = given.get("class_name"), given.get("config")
    if name not in ("ReLU", "LeakyReLU", "ELU", "ThresholdedReLU") or not isinstance(config, dict):
        raise Unsupported(f"activation={name!r} is not an activation of Keras")
    request = Request(
        name, name, Arguments(config), (3, 0) if keras3 else (2, 3), True, prefix or "", list
    )
    block = BUILDERS[name](request, None).block
    request.arguments.finish()
    return block
