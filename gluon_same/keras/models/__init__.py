"""Loading of Keras models as Gluon nets."""

from .carry import load_keras_weights
from .compare import compare
from .loading import load_model

__all__ = ["compare", "load_keras_weights", "load_model"]
