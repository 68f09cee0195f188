"""Measure which operators are fastest for each layer of a net.

``specialize(net, shape, tune=True)`` and ``adapt(net, tune=True)`` measure every pooling, and every
convolution with asymmetric padding. Each plan of :mod:`gluon_same.lowering.ways` runs on this machine at
the layer's shape and dtype, together with the neighboring operators, because these determine the memory
layout. The process keeps the results; :func:`save` writes them to a file.
"""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

from typing import List

from .choose import EVERYWHERE, choose_ways, fastest, times_of  # noqa: F401
from .store import forget, load, results, save
from .timer import stopwatch

__all__ = ["forget", "load", "results", "save", "stopwatch", "times_of"]


def __dir__() -> List[str]:
    return __all__
