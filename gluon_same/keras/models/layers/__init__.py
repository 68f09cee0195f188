"""Keras' layers and the builders of their blocks."""

from . import (  # noqa: F401  each registers its builders
    activations,
    convolutions,
    core,
    merging,
    normalization,
    pooling,
    recurrent,
    sizes,
    wrappers,
)
from .custom import custom_builder  # noqa: F401
from .operations import build_operation, is_operation  # noqa: F401
from .table import BUILDERS, Built, Request, Weight  # noqa: F401
