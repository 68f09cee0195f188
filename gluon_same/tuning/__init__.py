"""Choosing among the ways to serve a window by running them where they will run.

``specialize(net, shape, tune=True)`` and ``adapt(net, tune=True)`` do so for every layer whose window is
not symmetric, and for poolings. Each way of :mod:`gluon_same.lowering.ways` runs on this machine at the
layer's shape and dtype, between the operators that are around it in the net, because those decide the
order of memory. What was measured is remembered in the process, and can be kept in a file.
"""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

from .choose import EVERYWHERE, choose_ways, fastest, times_of  # noqa: F401
from .store import forget, load, results, save
from .timer import stopwatch

__all__ = ["forget", "load", "results", "save", "stopwatch", "times_of"]
