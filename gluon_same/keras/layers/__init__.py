"""Keras' layers and the builders of their blocks."""

from . import (  # noqa: F401  each registers its builders
    activations,
    attention,
    comparisons,
    convolutions,
    core,
    masks,
    merging,
    normalization,
    pooling,
    rearranging,
    recurrent,
    sizes,
    wrappers,
)
from .registry import Lowered, Request  # noqa: F401
