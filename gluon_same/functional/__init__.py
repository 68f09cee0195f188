"""Convolution and pooling with SAME padding, for use in a ``hybrid_forward``.

``F`` is ``mx.nd`` for arrays and ``mx.sym`` for symbols, in classic or in NumPy mode. An array is
computed with the fewest operators for its size. The graph of a symbol serves every input size. With
``in_size`` it serves that size only, and other sizes give wrong results without an error.
"""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

from typing import List

from ._convolution import convolution, deconvolution
from ._pooling import pooling

__all__ = ["convolution", "deconvolution", "pooling"]


def __dir__() -> List[str]:
    return __all__
