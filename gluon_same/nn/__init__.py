"""Everything that :mod:`mxnet.gluon.nn` exports, with SAME padding where windows are.

``from gluon_same import nn`` instead of ``from mxnet.gluon import nn`` changes nothing until a
``padding`` says ``'same'``. Layers of Keras that Gluon lacks come on top: depthwise and separable
convolution, zero padding, cropping, and ReLU6.
"""

from mxnet.gluon import nn as _stock
from mxnet.gluon.nn import *  # noqa: F403

from .borders import (  # noqa: F401
    Cropping1D,
    Cropping2D,
    Cropping3D,
    ZeroPadding1D,
    ZeroPadding2D,
    ZeroPadding3D,
)
from .conv import (  # noqa: F401
    Conv1D,
    Conv1DTranspose,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
)
from .depthwise import DepthwiseConv1D, DepthwiseConv2D  # noqa: F401
from .pool import (  # noqa: F401
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
)
from .relu6 import ReLU6  # noqa: F401
from .separable import SeparableConv1D, SeparableConv2D  # noqa: F401

__all__ = [
    *(name for name in dir(_stock) if not name.startswith("_")),
    *("Cropping1D", "Cropping2D", "Cropping3D", "DepthwiseConv1D", "DepthwiseConv2D", "ReLU6"),
    *("SeparableConv1D", "SeparableConv2D", "ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D"),
]
