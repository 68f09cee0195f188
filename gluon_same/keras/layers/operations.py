"""Functions of Keras' symbolic arrays: ``x + 1``, ``tf.nn.relu(x)``, ``ops.mean(x)``.

Keras 2 saves them as TFOpLambda layers, and Keras 3 as operations with their own classes.
"""

import math
import re
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

from ..arguments import Unsupported
from ..names import snake_case
from ..values import Shape, Value, replaced
from . import rearranging
from .activations import Function
from .arithmetic import Constant, Reduce, Scalar
from .merging import combined, joined
from .table import Built, Request, elementwise

#: Keras 2 classes of layers that wrap a TensorFlow function.
_LAMBDAS = ("TFOpLambda", "SlicingOpLambda", "TensorFlowOpLayer")

#: Alternative names of functions.
_SAME = {
    "absolute": "abs",
    "clip_by_value": "clip",
    "concat": "concatenate",
    "add_v2": "add",
    "mul": "multiply",
    "neg": "negative",
    "pow": "power",
    "real_div": "divide",
    "sub": "subtract",
    "swish": "silu",
    "truediv": "divide",
    "true_divide": "divide",
}

_PAIRWISE = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power")

_ELEMENTWISE = (
    *("abs", "cos", "exp", "log", "negative", "relu", "relu6", "rsqrt", "sigmoid", "sin", "sqrt"),
    *("square", "tanh", "silu", "softplus", "selu", "mish", "softsign", "hard_sigmoid", "hard_silu"),
    *("log_sigmoid", "tanh_shrink"),
)

_NOTHING = ("identity", "cast", "stop_gradient")

_REDUCTIONS = ("mean", "max", "min", "sum")


class Operation:
    """Function call: name, positional arrays and numbers, and named arguments."""

    def __init__(self, request: Request):
        self.request = request
        config = request.arguments.all()
        request.arguments.ignore(*config)
        self.operands = list(request.args)
        if request.class_name == "TensorFlowOpLayer":
            name, named = self._node(config), {}
        elif request.class_name in _LAMBDAS:
            name = str(config.get("function")).rpartition(".")[2]
            named = dict(request.kwargs)
            named.pop("name", None)
        else:
            name = snake_case(request.class_name)
            named = {**config, **request.kwargs}
            for harmless in ("name", "dtype", "trainable"):
                named.pop(harmless, None)
        name = name[len("reduce_") :] if name.startswith("reduce_") else name
        self.name = _SAME.get(name, name)
        if "y" in named:
            self.operands.append(named.pop("y"))
        self._named = named

    def _node(self, config: Dict[str, Any]) -> str:
        """Return the function of a TensorFlow graph node, as saved by Keras 2.3; add its constants."""
        node = config.get("node_def")
        found = re.search(
            r'\bop: "(\w+)"', f'op: "{node.get("op")}"' if isinstance(node, dict) else str(node)
        )
        (given,) = self.operands or ([],)
        self.operands = list(given) if isinstance(given, list) else [given]
        for place, number in sorted((config.get("constants") or {}).items()):
            self.operands.insert(int(place), number)
        return snake_case(found.group(1)).replace("_v2", "") if found else "?"

    def take(self, *names: str, default: Any = None) -> Any:
        """Return an argument known by any of these names, and mark it as read."""
        for name in names:
            if name in self._named:
                return self._named.pop(name)
        return default

    def finish(self) -> None:
        """Raise for unread arguments."""
        left = [f"{name}={value!r}" for name, value in self._named.items() if value is not None]
        if left:
            raise Unsupported(f"{self.name} with {', '.join(left)} is not known")

    @property
    def x(self) -> Value:
        """Return the only operand, which must be an array."""
        if len(self.operands) != 1 or not isinstance(self.operands[0], Value):
            raise Unsupported(
                f"{self.name} of {len(self.operands)} operands: only one array is supported"
            )
        return self.operands[0]

    @property
    def arrays(self) -> List[Value]:
        """Return the operands, given as one list or one by one, which must be arrays."""
        given = self.operands[0] if len(self.operands) == 1 else self.operands
        if not isinstance(given, list) or not given or not all(isinstance(x, Value) for x in given):
            raise Unsupported(f"{self.name} of an argument that is not a list of arrays")
        return given


def is_operation(class_name: str, module: str, args: Sequence[Any]) -> bool:
    """Return whether a configuration's layer is a function."""
    if class_name in _LAMBDAS or ".ops." in f"{module}.":
        return True
    # Keras 3 omits modules in .h5 files, but its layers receive one list, and operations two operands.
    return (
        not module
        and len(args) == 2
        and class_name in ("Add", "Subtract", "Multiply", "Maximum", "Minimum")
    )


def build_operation(request: Request, *inputs: Value) -> Built:
    """Build the block of a function."""
    operation = Operation(request)
    for names, build in _BUILDERS:
        if operation.name in names:
            built = build(operation)
            operation.finish()
            return built
    raise Unsupported(f"the function {operation.name!r} is not known: use a custom layer for it")


def _pairwise(operation: Operation) -> Built:
    if len(operation.operands) != 2:
        raise Unsupported(f"{operation.name} of {len(operation.operands)} operands")
    one, other = operation.operands
    prefix = operation.request.prefix
    if isinstance(one, Value) and isinstance(other, Value):
        if one.rank != other.rank:
            raise ValueError(f"{operation.name} of shapes {one.shape} and {other.shape}")
        return combined(operation.name, prefix, (one, other))
    x, constant = (one, other) if isinstance(one, Value) else (other, one)
    first = constant is one
    if isinstance(constant, (int, float)) and not isinstance(constant, bool) and math.isfinite(constant):
        return elementwise(Scalar(operation.name, float(constant), first, prefix))
    try:
        values = np.asarray(constant, dtype=np.float32)
    except (TypeError, ValueError):
        raise Unsupported(f"{operation.name} with {constant!r}") from None
    if values.ndim > x.rank or (values.ndim == x.rank and len(values) != 1):
        raise ValueError(f"{operation.name} of shapes {x.shape} and {values.shape}")
    values = values.reshape((1,) * (x.rank - values.ndim) + values.shape).transpose(x.order)
    block = Constant(operation.name, values.shape, first, prefix)

    def rule(shape: Shape) -> Shape:
        full = [values.shape[x.order.index(axis)] for axis in range(x.rank)]
        if any(m not in (1, n) and n is not None for n, m in zip(shape, full)):
            raise ValueError(f"a constant of shape {tuple(full)} does not fit an input of shape {shape}")
        return shape

    return Built(block, rule, None, (x.order,), constants=((block.constant, values),))


def _elementwise(operation: Operation) -> Built:
    name = operation.name
    if name == "hard_sigmoid" and not operation.request.keras3:
        name = "hard_sigmoid_keras2"
    operation.x  # noqa: B018  checks the operands
    nonnegative = name in ("relu", "relu6", "exp", "sigmoid", "softplus", "abs", "sqrt", "square")
    if name == "relu" and operation.take("max_value", "negative_slope", "threshold") not in (None, 0):
        raise Unsupported("relu with arguments")
    return elementwise(Function(name, operation.request.prefix), nonnegative=nonnegative)


def _nothing(operation: Operation) -> Built:
    dtype = operation.take("dtype", default="float32")
    if operation.name == "cast" and dtype not in ("float32", "float16", "bfloat16"):
        raise Unsupported(f"cast to {dtype!r}")
    return elementwise(None, nonnegative=operation.x.nonnegative)


def _slope(operation: Operation) -> Built:
    operation.x  # noqa: B018  checks the operands
    prefix = operation.request.prefix
    if operation.name == "leaky_relu":
        slope = operation.take("alpha", "negative_slope", default=0.2)
        return elementwise(Function("leaky_relu", prefix, slope=float(slope)))
    if operation.name == "gelu":
        # TensorFlow defaults to the exact GELU, and Keras 3 always writes the argument.
        return elementwise(Function("gelu_tanh" if operation.take("approximate") else "gelu", prefix))
    return elementwise(
        Function(operation.name, prefix, alpha=float(operation.take("alpha", default=1.0)))
    )


def _softmax(operation: Operation) -> Built:
    x, axis = operation.x, operation.take("axis", default=-1)
    if not isinstance(axis, int) or not -x.rank <= axis < x.rank:
        raise ValueError(f"{operation.name} along axis={axis!r}")
    block = Function(operation.name, operation.request.prefix, axis=x.stored(axis))
    return Built(block, lambda shape: shape, None, (x.order,))


def _clip(operation: Operation) -> Built:
    low = operation.take("clip_value_min", "x_min")
    high = operation.take("clip_value_max", "x_max")
    operation.x  # noqa: B018  checks the operands
    block = Function("clip", operation.request.prefix, low=float(low), high=float(high))
    return elementwise(block, nonnegative=low >= 0)


def _reduction(operation: Operation) -> Built:
    x, keepdims = operation.x, bool(operation.take("keepdims", default=False))
    given = operation.take("axis")
    given = given if isinstance(given, list) else [given]
    if not given or any(
        not isinstance(axis, int) or not -x.rank <= axis < x.rank or axis % x.rank == 0 for axis in given
    ):
        raise Unsupported(
            f"{operation.name} along axis={given}: only axes after the batch are supported"
        )
    axes = [axis % x.rank for axis in given]
    stored = sorted(x.stored(axis) for axis in axes)
    block = Reduce(operation.name, stored, keepdims, operation.request.prefix)
    if keepdims:
        return Built(block, lambda shape: replaced(shape, axes, [1] * len(axes)), None, (x.order,))
    left = [axis for axis in range(x.rank) if axis not in axes]
    order = tuple(left.index(axis) for axis in x.order if axis in left)
    return Built(block, lambda shape: tuple(shape[axis] for axis in left), order, (x.order,))


def _joined(operation: Operation) -> Built:
    return joined(operation.request.prefix, tuple(operation.arrays), operation.take("axis", default=-1))


def _summed(operation: Operation) -> Built:
    return combined("add", operation.request.prefix, tuple(operation.arrays))


_BUILDERS: Tuple[Tuple[Sequence[str], Callable[[Operation], Built]], ...] = (
    (_PAIRWISE, _pairwise),
    (_ELEMENTWISE, _elementwise),
    (_NOTHING, _nothing),
    (("leaky_relu", "elu", "celu", "gelu"), _slope),
    (("softmax", "log_softmax"), _softmax),
    (("clip",), _clip),
    (_REDUCTIONS, _reduction),
    (("concatenate",), _joined),
    (("add_n",), _summed),
    *rearranging.BUILDERS,
)
