"""Keras' layers and the builders of their blocks."""

from . import (  # noqa: F401  each registers its builders
    activations,
    arithmetic,
    convolutions,
    core,
    images,
    merging,
    normalization,
    pooling,
    preprocessing,
    rearranging,
    recurrent,
    reducing,
    sizes,
    wrappers,
)
from .registry import Lowered, Request  # noqa: F401
