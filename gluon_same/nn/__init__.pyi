"""The names of :mod:`gluon_same.nn` for type checkers, which do not follow MXNet's star imports."""

# ruff: noqa: F403, I001
from mxnet.gluon.nn import (  # type: ignore  # MXNet has no type hints
    Activation as Activation,
    BatchNormReLU as BatchNormReLU,
    Block as Block,
    Dense as Dense,
    Dropout as Dropout,
    ELU as ELU,
    Embedding as Embedding,
    Flatten as Flatten,
    GELU as GELU,
    GlobalAvgPool1D as GlobalAvgPool1D,
    GlobalAvgPool2D as GlobalAvgPool2D,
    GlobalAvgPool3D as GlobalAvgPool3D,
    GlobalMaxPool1D as GlobalMaxPool1D,
    GlobalMaxPool2D as GlobalMaxPool2D,
    GlobalMaxPool3D as GlobalMaxPool3D,
    GroupNorm as GroupNorm,
    HybridBlock as HybridBlock,
    HybridLambda as HybridLambda,
    HybridSequential as HybridSequential,
    InstanceNorm as InstanceNorm,
    Lambda as Lambda,
    LayerNorm as LayerNorm,
    LeakyReLU as LeakyReLU,
    PReLU as PReLU,
    ReflectionPad2D as ReflectionPad2D,
    SELU as SELU,
    Sequential as Sequential,
    Swish as Swish,
    SymbolBlock as SymbolBlock,
)

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
