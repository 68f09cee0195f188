"""Convolution and pooling with SAME padding, for people who write their own ``hybrid_forward``.

``F`` is ``mx.nd`` or ``mx.sym``, data are arrays or symbols to match, of classic or of NumPy mode.
Arrays show their size and get the fewest operators for it. A symbol's graph serves every input
size, unless ``in_size`` fixes it: then the graph is for that size alone, and it is the caller's task
to feed no other.
"""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

from ._convolution import convolution, deconvolution
from ._pooling import pooling

__all__ = ["convolution", "deconvolution", "pooling"]
