"""Everything that :mod:`mxnet.gluon.nn` exports, with SAME padding where windows are.

``from gluon_same import nn`` instead of ``from mxnet.gluon import nn`` changes nothing until a
``padding`` says ``'same'``.
"""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

from mxnet.gluon import nn as _stock
from mxnet.gluon.nn import *  # noqa: F403

from .conv import (  # noqa: F401
    Conv1D,
    Conv1DTranspose,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
)
from .pool import (  # noqa: F401
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
)

__all__ = [name for name in dir(_stock) if not name.startswith("_")]
