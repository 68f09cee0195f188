"""Weights of a few bits in onnxruntime's own operators, which are unpacked while importing."""

from typing import Any

import numpy as np

from ..registry import converter
from ..values import Data, Known, Unsupported, known
from .elementwise import combine
from .linear import matmul

# ruff: noqa: N803  attributes have upper-case names


@converter("com.microsoft::MatMulNBits")
def matmul_nbits(
    net: Any, x: Any, packed: Any, scales: Any, zeros: Any = None, order: Any = None, bias: Any = None,
    *, K: int, N: int, bits: int = 4, block_size: int, accuracy_level: int = 0,
) -> Data:  # fmt: skip
    if order is not None or bits not in (2, 4, 8):
        raise Unsupported(f"its weights of {bits} bits, or in an order of their own")
    scale = known(scales, "scales").reshape(N, -1, 1)
    whole = _unpacked(known(packed, "weights").reshape(N, -1), bits).reshape(N, -1, block_size)
    middle: Any = 2 ** (bits - 1)
    if zeros is not None:
        middle = known(zeros, "zero points").reshape(N, -1)
        middle = _unpacked(middle, bits) if middle.dtype == np.uint8 else middle
        middle = middle[:, : scale.shape[1], None]
    weight = (whole.astype(scale.dtype) - middle) * scale
    weight = weight.reshape(N, -1)[:, :K].T.astype(x.dtype)
    y = matmul(net, x, Known([weight], packed.name, trainable=True))
    return y if bias is None else combine(net, y, bias, "add")


def _unpacked(array, bits):
    """Return the numbers in bytes, of which the lowest bits come first, along the last axis."""
    parts = [array >> shift & (2**bits - 1) for shift in range(0, 8, bits)]
    return np.stack(parts, -1).reshape(*array.shape[:-1], -1)
