"""The blocks of :mod:`mxnet.gluon.nn`, with SAME padding for convolution and pooling.

``from gluon_same import nn`` replaces ``from mxnet.gluon import nn``. Existing code gives the same
results; ``padding`` also accepts words such as ``'same'``, and pairs. The module adds layers of Keras
that Gluon lacks: depthwise and separable convolution, zero padding, cropping, and ReLU6.
"""

# ruff: noqa: F403  type checkers read the names from the stub beside this file
from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

from typing import List

from mxnet.gluon import nn as _stock
from mxnet.gluon.nn import *

from . import borders, depthwise, relu6, separable

# isort: split
from .avg_pool import *
from .borders import *
from .conv import *
from .conv_transpose import *
from .depthwise import *
from .pool import *
from .relu6 import *
from .separable import *

__all__ = [
    *(name for name in dir(_stock) if not name.startswith("_")),
    *(name for module in (borders, depthwise, relu6, separable) for name in module.__all__),
]


def __dir__() -> List[str]:
    return __all__
