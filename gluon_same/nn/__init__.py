"""The blocks of :mod:`mxnet.gluon.nn`, with SAME padding for convolution and pooling.

``from gluon_same import nn`` replaces ``from mxnet.gluon import nn``. Existing code gives the same
results; ``padding`` also accepts words such as ``'same'``, and pairs. The module adds layers of Keras
that Gluon lacks: depthwise and separable convolution, zero padding, cropping, upsampling, reshaping, and
ReLU with a maximum.
"""

# ruff: noqa: F403  type checkers read the names from the stub beside this file
from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

import re
from difflib import get_close_matches
from typing import Any, List

from mxnet.gluon import nn as _stock
from mxnet.gluon.nn import *

from . import borders, depthwise, relu, relu6, reshape, separable, upsampling

# isort: split
from .avg_pool import *
from .batch_norm import *
from .borders import *
from .conv import *
from .conv_transpose import *
from .depthwise import *
from .pool import *
from .relu import *
from .relu6 import *
from .reshape import *
from .separable import *
from .upsampling import *

_KERAS = (borders, depthwise, relu, relu6, reshape, separable, upsampling)

__all__ = [
    *(name for name in dir(_stock) if not name.startswith("_")),
    *(name for module in _KERAS for name in module.__all__),
]


def __dir__() -> List[str]:
    return __all__


#: Parts of names in Keras and PyTorch, and in Gluon.
_WORDS = {
    r"^Convolution": "Conv",
    r"Pooling": "Pool",
    r"Average": "Avg",
    r"Normalization": "Norm",
    r"^Adaptive": "Global",
    r"^ConvTranspose(\dd)$": r"Conv\1Transpose",
    r"^Batch(Norm)\dd$": r"Batch\1",
    r"^Linear$": "Dense",
    r"^Upsample$": "UpSampling2D",
    r"^ZeroPad2d$": "ZeroPadding2D",
}


def __getattr__(name: str) -> Any:
    meant = name
    for words, ours in _WORDS.items():
        meant = re.sub(words, ours, meant)
    known = {each.lower(): each for each in __all__}
    near = get_close_matches(meant.lower(), known, 1, 0.8)
    hint = f"use {known[near[0]]!r}" if near else "dir(gluon_same.nn) lists the names"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {hint}")
