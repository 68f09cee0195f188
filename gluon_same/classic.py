"""Classic operators for those of NumPy mode, which MXNet's exporter and most rules do not know."""

from typing import Any, Dict, Optional, Tuple

import numpy as np

from .graph import Entry, Graph, Node

#: Operators of real numbers. Those of NumPy mode take whole numbers, too, and return other dtypes.
_PAIRS = dict(add="add", subtract="sub", multiply="mul", true_divide="div", power="power")
_SCALARS = dict(add="plus", subtract="minus", rsubtract="rminus", multiply="mul", true_divide="div")
_SCALARS.update(rtrue_divide="rdiv", power="power", rpower="rpower")
_SINGLE = ["cbrt", "ceil", "cos", "exp", "expm1", "floor", "log", "log1p", "log2", "negative"]
_SINGLE += ["reciprocal", "sign", "sin", "sqrt", "square", "tanh"]
_NUMBERS = {f"_npi_{name}": f"broadcast_{short}" for name, short in _PAIRS.items()}
_NUMBERS.update((f"_npi_{name}_scalar", f"_{short}_scalar") for name, short in _SCALARS.items())
_NUMBERS.update((f"_npi_{name}", name) for name in _SINGLE)
_NUMBERS.update(_npx_relu="relu", _npx_sigmoid="sigmoid", _npi_absolute="abs")

#: Reductions of real numbers.
_REDUCTIONS = {"_npi_mean": "mean", "_np_sum": "sum", "_np_max": "max", "_np_min": "min"}

#: Comparisons, which return booleans.
_ORDERS = dict(less="lesser", greater="greater", equal="equal", not_equal="not_equal")
_ORDERS.update(less_equal="lesser_equal", greater_equal="greater_equal")
_COMPARISONS = {f"_npi_{name}": f"broadcast_{short}" for name, short in _ORDERS.items()}
_COMPARISONS.update((f"_npi_{name}_scalar", f"_{short}_scalar") for name, short in _ORDERS.items())

#: Operators of any dtype, and the names of their arguments.
_PLACES: Dict[str, Tuple[str, Dict[str, str]]] = {
    "_np_copy": ("_copy", {}),
    "_np_transpose": ("transpose", {"axes": "axes"}),
    "_np_squeeze": ("squeeze", {"axis": "axis"}),
    "_npi_concatenate": ("Concat", {"axis": "dim", "num_args": "num_args"}),
    "_npi_stack": ("stack", {"axis": "axis", "num_args": "num_args"}),
}

#: Codes of sizes for ``npx.reshape``, and those of ``Reshape``.
_CODES = {-2: 0, -4: -2, -5: -3, -6: -4}


def classic(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace an operator of NumPy mode with the classic one that computes the same."""
    if node.op[:3] != "_np" or not graph.shape(node.out):  # maybe (), which classic operators lack
        return None
    if node.op in ("_np_reshape", "_npx_reshape"):
        return _reshaped(graph, node)
    if node.op in _PLACES:
        operator, names = _PLACES[node.op]
        given: Dict[str, Any] = {new: node.get(name) for name, new in names.items()}
        if given.get("dim", 0) is None:  # of all elements
            return None
        given = {name: value for name, value in given.items() if value is not None}
        return graph.new(operator, node, node.inputs, **given)
    if any(graph.dtype(entry) != np.float32 for entry in node.inputs):
        return None
    attrs = {name: text for name, text in node.attrs.items() if name != "is_int"}
    if node.op in _COMPARISONS:
        if not all(_takes_numbers(graph, taker, node.out) for taker in graph.takers(node.out)):
            return None
        return graph.new(_COMPARISONS[node.op], node, node.inputs, **attrs)
    if graph.dtype(node.out) != np.float32:
        return None
    if node.op in _REDUCTIONS and node.get("initial") is None and node.get("axis") != ():
        given = {name: node.get(name) for name in ("axis", "keepdims") if node.get(name) is not None}
        return graph.new(_REDUCTIONS[node.op], node, node.inputs, **given)
    return graph.new(_NUMBERS[node.op], node, node.inputs, **attrs) if node.op in _NUMBERS else None


def _takes_numbers(graph, taker, entry):
    """Return whether an operator takes 0 and 1 for booleans, and returns the same."""
    if taker.op in ("where", "_npi_where"):
        return entry not in taker.inputs[1:]
    return taker.op == "_npi_multiply" and np.float32 in map(graph.dtype, taker.inputs)


def _reshaped(graph, node):
    sizes = node.get("newshape")
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    codes = _CODES if node.op == "_npx_reshape" else {}
    plain = node.get("order", "C") == "C" and not node.get("reverse", False)
    if not plain or any((n < -1 and n not in codes) or n == 0 for n in sizes):
        return None
    return graph.new("Reshape", node, node.inputs, shape=tuple(codes.get(n, n) for n in sizes))
