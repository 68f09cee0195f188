"""Keras' layers and the builders of their blocks."""

from . import (  # noqa: F401  each registers its builders
    activations,
    augmentation,
    convolutions,
    core,
    merging,
    normalization,
    pooling,
    recurrent,
    sizes,
    wrappers,
)
from .choice import builder_of  # noqa: F401
from .operations import build_operation  # noqa: F401
from .table import Built, Request, Weight  # noqa: F401
