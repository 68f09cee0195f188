"""The names of :mod:`gluon_same.nn` for type checkers, which do not follow MXNet's star imports."""

# ruff: noqa: F403
from .avg_pool import *
from .borders import *
from .conv import *
from .conv_transpose import *
from .depthwise import *
from .global_pool import *
from .gluon import *
from .pool import *
from .relu6 import *
from .separable import *
