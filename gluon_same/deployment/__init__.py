"""Optimization of whole nets for inference.

:func:`deploy` sends a net's graph through passes, each in its own module:

- :mod:`.clean`: drop operators without effect, and evaluate operators that read only parameters;
- :mod:`.joins`: simplify slices and concatenations of each other's results;
- :mod:`.windows`: replace windows that pad one end more than the other;
- :mod:`.fold_batchnorm`: fold normalizations, scales and shifts into layers;
- :mod:`.activations`: replace slow operators with equivalent faster ones;
- :mod:`.branches`: join convolutions whose results are concatenated, and split those of concatenations;
- :mod:`.attention`: compute slices by layers of their own, and simplify products of matrices;
- :mod:`.convolutions`: replace convolutions for which oneDNN has only slow kernels;
- :mod:`.sums`: sum stacks by additions, and groups of channels by convolutions;
- :mod:`.channels`: pad channels to multiples for which oneDNN has fast kernels;
- :mod:`.group_norms`: normalize groups of channels by products;
- :mod:`.moves`: transpose with fewer axes, and reshape once;
- :mod:`.products`: resize images by products with matrices;
- :mod:`.pools`: pool in oneDNN's memory layout;
- :mod:`.gates`: multiply by gates in that layout;
- :mod:`.fuse`: apply MXNet's oneDNN fusion;
- :mod:`.bfloat16`, :mod:`.int8`: compute layers in another dtype.

Fusion and int8 conversion are MXNet's own passes. The others are rules, which :class:`.graph.Graph`
applies to each operator.
"""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

from .deploy import deploy
from .report import Report, Row

__all__ = ["Report", "Row", "deploy"]
