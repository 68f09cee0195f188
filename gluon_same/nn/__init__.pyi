"""The names of :mod:`gluon_same.nn` for type checkers, which do not follow MXNet's star imports."""

# ruff: noqa: F403
from mxnet.gluon.nn import (
    ELU as ELU,
)
from mxnet.gluon.nn import (
    GELU as GELU,
)
from mxnet.gluon.nn import (
    SELU as SELU,
)
from mxnet.gluon.nn import (  # type: ignore
    Activation as Activation,
)
from mxnet.gluon.nn import (
    BatchNorm as BatchNorm,
)
from mxnet.gluon.nn import (
    BatchNormReLU as BatchNormReLU,
)
from mxnet.gluon.nn import (
    Block as Block,
)
from mxnet.gluon.nn import (
    Dense as Dense,
)
from mxnet.gluon.nn import (
    Dropout as Dropout,
)
from mxnet.gluon.nn import (
    Embedding as Embedding,
)
from mxnet.gluon.nn import (
    Flatten as Flatten,
)
from mxnet.gluon.nn import (
    GlobalAvgPool1D as GlobalAvgPool1D,
)
from mxnet.gluon.nn import (
    GlobalAvgPool2D as GlobalAvgPool2D,
)
from mxnet.gluon.nn import (
    GlobalAvgPool3D as GlobalAvgPool3D,
)
from mxnet.gluon.nn import (
    GlobalMaxPool1D as GlobalMaxPool1D,
)
from mxnet.gluon.nn import (
    GlobalMaxPool2D as GlobalMaxPool2D,
)
from mxnet.gluon.nn import (
    GlobalMaxPool3D as GlobalMaxPool3D,
)
from mxnet.gluon.nn import (
    GroupNorm as GroupNorm,
)
from mxnet.gluon.nn import (
    HybridBlock as HybridBlock,
)
from mxnet.gluon.nn import (
    HybridLambda as HybridLambda,
)
from mxnet.gluon.nn import (
    HybridSequential as HybridSequential,
)
from mxnet.gluon.nn import (
    InstanceNorm as InstanceNorm,
)
from mxnet.gluon.nn import (
    Lambda as Lambda,
)
from mxnet.gluon.nn import (
    LayerNorm as LayerNorm,
)
from mxnet.gluon.nn import (
    LeakyReLU as LeakyReLU,
)
from mxnet.gluon.nn import (
    PReLU as PReLU,
)
from mxnet.gluon.nn import (
    ReflectionPad2D as ReflectionPad2D,
)
from mxnet.gluon.nn import (
    Sequential as Sequential,
)
from mxnet.gluon.nn import (
    Swish as Swish,
)
from mxnet.gluon.nn import (
    SymbolBlock as SymbolBlock,
)

from .avg_pool import *
from .borders import *
from .conv import *
from .conv_transpose import *
from .depthwise import *
from .pool import *
from .relu6 import *
from .separable import *
