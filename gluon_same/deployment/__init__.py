"""Whole nets for inference, as fast as MXNet runs them.

:func:`deploy` takes a net's graph through passes, each in a module of its own:

- :mod:`.clean`: drop what changes nothing, and compute what follows from parameters alone;
- :mod:`.windows`: other forms of windows that are padded more at one end;
- :mod:`.fold_batchnorm`: fold normalizations, scales and shifts into layers;
- :mod:`.activations`: equal operators that MXNet runs faster;
- :mod:`.fuse`: MXNet's fusion by oneDNN;
- :mod:`.bfloat16`, :mod:`.int8`: layers in another dtype.

All but fusion and int8 are rules, which :class:`.graph.Graph` applies to each operator.
"""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

from .block import Deployed
from .deploy import deploy
from .report import Report, Row

__all__ = ["Deployed", "Report", "Row", "deploy"]
