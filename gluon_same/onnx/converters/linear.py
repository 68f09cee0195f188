"""Products of matrices."""

from typing import Any

import numpy as np

from ...importing import functions
from ..registry import converter
from ..values import Data, Known, Unsupported
from .windows import dense


@converter("MatMul")
def matmul(net: Any, a: Any, b: Any) -> Data:
    if isinstance(b, Known) and b.ndim == 2 and a.ndim > 1 and b.dtype.kind == "f":
        return dense(net, a, b.changed(np.transpose))
    return _einsum(net, *functions.matmul_labels(a.shape, b.shape), a, b)


@converter("Einsum", 12)
def einsum(net: Any, *arrays: Any, equation: str) -> Data:
    try:
        labels, out = functions.einsum_labels(equation, [x.shape for x in arrays])
    except ValueError as error:
        raise Unsupported(str(error)) from None
    return _einsum(net, labels, out, *arrays)


def _einsum(net: Any, labels: Any, out: Any, *arrays: Any) -> Data:
    dtype = arrays[0].dtype
    if dtype.kind == "f":
        return net.call(functions.einsum, *arrays, labels=tuple(labels), out=tuple(out), scalar=not out)
    # MXNet multiplies matrices of floating dtypes only.
    arrays = tuple(net.call(functions.cast, x, to="float64", dtype="float64") for x in arrays)
    y = net.call(functions.einsum, *arrays, labels=tuple(labels), out=tuple(out), scalar=not out)
    return net.call(functions.cast, y, to=dtype.name, dtype=dtype)
