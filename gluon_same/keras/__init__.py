"""Keras models as Gluon nets, with TensorFlow's and Keras' results.

:func:`load_model` reads a model that Keras saved. :func:`load_keras_weights` reads its weights into an
existing net. :func:`compare` finds the first layer whose results differ. Neither Keras nor TensorFlow is
required.
"""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

from typing import List

from .compare import compare
from .load_weights import load_keras_weights
from .loading import load_model

__all__ = ["compare", "load_keras_weights", "load_model"]


def __dir__() -> List[str]:
    return __all__
