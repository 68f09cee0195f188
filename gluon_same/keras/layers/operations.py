"""Functions of Keras' symbolic arrays: ``x + 1``, ``tf.nn.relu(x)``, ``ops.mean(x)``.

Keras 2 saves them as TFOpLambda layers, and Keras 3 as operations with their own classes.
"""

import math
import re
from typing import Any, Dict, List, Sequence

import numpy as np

from ...importing import functions
from ..arguments import Arguments, Unsupported
from ..graph import snake_case
from ..values import Value
from .activations import ALIASES, elementwise_block, function_named, is_nonnegative
from .merging import combined, joined
from .registry import OPERATIONS, Lowered, Request, computes, elementwise

#: Keras 2 classes of layers that wrap a TensorFlow function.
_LAMBDAS = ("TFOpLambda", "SlicingOpLambda", "TensorFlowOpLayer")


class Operation:
    """Function call: name, positional arrays and numbers, and named arguments."""

    def __init__(self, request: Request):
        config = request.arguments.all()
        request.arguments.ignore(*config)
        self.operands = list(request.args)
        if request.class_name == "TensorFlowOpLayer":
            name, named = self._node(config), {}
        elif request.class_name in _LAMBDAS:
            name = str(config.get("function")).rpartition(".")[2]
            named = dict(request.kwargs)
        else:
            name = snake_case(request.class_name)
            named = {**config, **request.kwargs}
        name = name[len("reduce_") :] if name.startswith("reduce_") else name
        self.name = ALIASES.get(name, name)
        if "y" in named:
            self.operands.append(named.pop("y"))
        self.arguments = Arguments(named)
        self.request = request._replace(arguments=self.arguments)
        self.function = self.request.function

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
        """Return an argument known by any of these names."""
        given = self.arguments.all()
        return self.arguments.get(next((name for name in names if name in given), names[0]), default)

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


def build_operation(request: Request, *inputs: Value) -> Lowered:
    """Build the block of a function."""
    operation = Operation(request)
    built = OPERATIONS.get(operation.name, _elementwise)(operation)
    operation.arguments.finish(operation.name)
    return built


@computes("add", "subtract", "multiply", "divide", "maximum", "minimum", "power")
def _pairwise(operation: Operation) -> Lowered:
    kind = operation.name
    if len(operation.operands) != 2:
        raise Unsupported(f"{kind} of {len(operation.operands)} operands")
    one, other = operation.operands
    if isinstance(one, Value) and isinstance(other, Value):
        if one.rank != other.rank:
            raise ValueError(f"{kind} of shapes {one.shape} and {other.shape}")
        return combined(operation.request, kind, (one, other))
    x, constant = (one, other) if isinstance(one, Value) else (other, one)
    how = dict(kind=kind, first=constant is one)
    if isinstance(constant, (int, float)) and not isinstance(constant, bool) and math.isfinite(constant):
        return elementwise(operation.function(functions.scalar, number=float(constant), **how))
    try:
        values = np.asarray(constant, dtype=np.float32)
    except (TypeError, ValueError):
        raise Unsupported(f"{kind} with {constant!r}") from None
    if values.ndim > x.rank or (values.ndim == x.rank and len(values) != 1):
        raise ValueError(f"{kind} of shapes {x.shape} and {values.shape}")
    values = values.reshape((1,) * (x.rank - values.ndim) + values.shape)
    if any(m not in (1, n) and n is not None for n, m in zip(x.shape, values.shape)):
        raise ValueError(f"a constant of shape {values.shape} does not fit an input of shape {x.shape}")
    values = values.transpose(x.axes)
    constants = {"constant": dict(shape=values.shape, grad_req="null")}
    block = operation.function(functions.with_constant, constants, **how)
    return elementwise(block, constants=((block.constant, values),))


def _unary(operation: Operation, block: Any, nonnegative: bool = False) -> Lowered:
    """Return the result for a function of one array, which it checks."""
    return elementwise(block, operation.x.axes, nonnegative=nonnegative)


@computes("relu")
def _relu(operation: Operation) -> Lowered:
    if operation.take("max_value", "negative_slope", "threshold") not in (None, 0):
        raise Unsupported("relu with arguments")
    return _elementwise(operation)


def _elementwise(operation: Operation) -> Lowered:
    request, name = operation.request, operation.name
    block = elementwise_block(name, request.keras3, request.prefix, request.class_name)
    if block is None:
        raise Unsupported(f"the function {name!r} is not known: use a custom layer for it")
    return _unary(operation, block, is_nonnegative(name))


@computes("identity", "cast", "stop_gradient")
def _nothing(operation: Operation) -> Lowered:
    dtype = operation.take("dtype", default="float32")
    if operation.name == "cast" and dtype not in ("float32", "float16", "bfloat16"):
        raise Unsupported(f"cast to {dtype!r}")
    masks = (operation.x.mask,) if operation.name == "cast" else ()  # which returns the array itself
    return elementwise(None, nonnegative=operation.x.nonnegative, masks=masks)


@computes("leaky_relu", "elu", "celu")
def _slope(operation: Operation) -> Lowered:
    leaky = operation.name == "leaky_relu"
    given = operation.take("alpha", "negative_slope", default=0.2 if leaky else 1.0)
    how = {"slope" if leaky else "alpha": float(given)}
    return _unary(operation, operation.function(function_named(operation.name, True), **how))


@computes("gelu")
def _gelu(operation: Operation) -> Lowered:
    # TensorFlow defaults to the exact GELU, and Keras 3 always writes the argument.
    approximate = operation.take("approximate")
    return _unary(operation, operation.function(functions.gelu_tanh if approximate else functions.gelu))


@computes("softmax", "log_softmax")
def _softmax(operation: Operation) -> Lowered:
    x, axis = operation.x, operation.take("axis", default=-1)
    if not isinstance(axis, int) or not -x.rank <= axis < x.rank:
        raise ValueError(f"{operation.name} along axis={axis!r}")
    return elementwise(operation.function(operation.name, axis=x.stored(axis)))


@computes("clip")
def _clip(operation: Operation) -> Lowered:
    low = operation.take("clip_value_min", "x_min")
    high = operation.take("clip_value_max", "x_max")
    return _unary(operation, operation.function("clip", a_min=float(low), a_max=float(high)), low >= 0)


@computes("mean", "max", "min", "sum")
def _reduction(operation: Operation) -> Lowered:
    x, keepdims = operation.x, bool(operation.take("keepdims", default=False))
    given = operation.take("axis")
    axes = x.places(given)
    if not axes:
        given = given if isinstance(given, list) else [given]
        raise Unsupported(
            f"{operation.name} along axis={given}: only axes after the batch are supported"
        )
    stored = tuple(sorted(map(x.stored, axes)))
    block = operation.function(operation.name, axis=stored, keepdims=keepdims)
    return Lowered(block, x.axes if keepdims else x.axes_without(axes))


@computes("concatenate")
def _joined(operation: Operation) -> Lowered:
    return joined(operation.request, tuple(operation.arrays), operation.take("axis", default=-1))


@computes("add_n")
def _summed(operation: Operation) -> Lowered:
    return combined(operation.request, "add", tuple(operation.arrays))
