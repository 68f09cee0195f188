"""The blocks of :mod:`mxnet.gluon.nn`. The stub beside this file gives them type hints."""

from mxnet.gluon.nn import *  # noqa: F403
