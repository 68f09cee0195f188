"""Batch normalization that has gradients beside convolutions over one and three axes."""

import re
from typing import Any

from mxnet.gluon import nn as stock
from mxnet.ndarray import NDArray

from ..arrays import apart, operators_before

__all__ = ["BatchNorm"]


class BatchNorm(stock.BatchNorm):
    """Batch normalization with gradients beside ``Conv1D`` and ``Conv3D``.

    On a CPU, that of ``mxnet.gluon.nn`` raises ``Check failed: !is_view`` in the backward pass, if a
    layer over one or three axes beside it has arrays in oneDNN's memory layout, as with 16 channels.
    Results are the same, and so is the graph among layers over two axes.

    Parameters
    ----------
    **kwargs
        As for :class:`mxnet.gluon.nn.BatchNorm`.

    Examples
    --------
    >>> import mxnet as mx
    >>> from gluon_same import nn
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Conv3D(16, 3, padding='same'), nn.BatchNorm())
    >>> net.initialize()
    >>> with mx.autograd.record():
    ...     loss = net(mx.nd.ones((2, 1, 8, 8, 8))).sum()
    >>> loss.backward()
    """

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        if not _may_have_other_axes(x):
            return super().hybrid_forward(F, x, *args, **kwargs)
        y = super().hybrid_forward(F, apart(F, x), *args, **kwargs)
        return apart(F, y)


def _may_have_other_axes(x: Any) -> bool:
    """Return whether data may have one or three spatial axes; for a symbol, by the nearest window."""
    if isinstance(x, NDArray):
        return x.ndim in (3, 5)
    kernels = (attrs["kernel"] for attrs in operators_before(x) if "kernel" in attrs)
    return len(re.findall(r"\d+", next(kernels, ""))) != 2  # old files have (3L, 3L)
