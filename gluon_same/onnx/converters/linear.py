"""Products of matrices."""

from typing import Any, Optional

import numpy as np

from ... import nn
from ...importing import functions
from ..registry import converter
from ..values import Data, Flag, Known, Unsupported
from .elementwise import binary, combine
from .windows import weights_of


@converter("MatMul")
def matmul(net: Any, a: Any, b: Any) -> Data:
    if _is_fixed(b) and b.ndim == 2 and a.ndim > 1 and b.dtype.kind == "f":
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
    function = functions.einsum if arrays[0].dtype.kind == "f" else functions.whole_einsum
    return net.call(function, *arrays, labels=tuple(labels), out=tuple(out), scalar=not out)


@converter("Det")
def det(net: Any, x: Data) -> Data:
    return net.call("linalg_det", x, scalar=x.ndim == 2)


@converter("com.microsoft::Inverse")
def inverse(net: Any, x: Data) -> Data:
    return net.call("linalg_inverse", x)


@converter("Gemm")
def gemm(
    net: Any, a: Any, b: Any, c: Any = None, *, alpha: float = 1.0, beta: float = 1.0, transA: Flag = 0,
    transB: Flag = 0, broadcast: int = 1,
) -> Data:  # fmt: skip
    if a.dtype.kind != "f":
        raise Unsupported("MXNet has no such product of whole numbers: use MatMul")
    if c is not None and c.ndim > 2:
        raise Unsupported(f"its input to add has {c.ndim} axes, more than a product of matrices")
    fits = isinstance(a, Data) and _is_fixed(b) and (c is None or _is_bias(c, b, transB))
    if fits and not transA and b.dtype.kind == "f":
        weight = b if transB else b.changed(np.transpose)
        weight = weight if alpha == 1 else weight.changed(lambda w: w * w.dtype.type(alpha))
        bias = c if c is None or beta == 1 else c.changed(lambda w: w * w.dtype.type(beta))
        return dense(net, a, weight, bias)
    how: Any = dict(alpha=alpha, beta=beta, transpose=(bool(transA), bool(transB)))
    return net.call(functions.gemm, a, b, c, **how)


def _is_bias(c, b, transposed):
    units = b.shape[0] if transposed else b.shape[1]
    return _is_fixed(c) and c.first.size == units and c.shape in ((units,), (1, units))


def _is_fixed(x):
    return isinstance(x, Known) and not x.open


def dense(net: Any, x: Data, weight: Known, bias: Optional[Known] = None) -> Data:
    """Return a dense layer over the last axis."""
    bias = bias.changed(np.ravel) if bias is not None and bias.ndim > 1 else bias
    y = net.block(_dense(x, weight, bias, net.prefix()), x, weights=weights_of(weight, bias))
    y.weight = weight if bias is None else None
    return y


def _dense(x, weight, bias, prefix):
    units, inputs = weight.shape
    how = dict(use_bias=bias is not None, flatten=x.ndim == 2, in_units=inputs)
    return nn.Dense(units, **how, prefix=prefix)


def _add(net: Any, x: Any, other: Any, kind: str) -> Data:
    """Return a sum. That of a product and a vector is one dense layer."""
    for y, bias in ((x, other), (other, x)):
        if isinstance(y, Data) and y.weight is not None and isinstance(bias, Known):
            old = net.block_before(y) if bias.shape == y.weight.shape[:1] and not bias.open else None
            if old is not None:
                net.exchange(y, _dense(y, y.weight, bias, old.prefix), weights_of(y.weight, bias))
                y.weight = None
                return y
    return combine(net, x, other, kind)


binary("Add", "add", _add)
