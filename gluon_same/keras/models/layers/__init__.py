"""Keras' layers, each with the block that it becomes."""

from . import (  # noqa: F401  each fills the table
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
from .custom import custom_builder
from .operations import build_operation, is_operation
from .table import BUILDERS, Built, Request, Weight

__all__ = ["BUILDERS", "Built", "Request", "Weight", "build_operation", "custom_builder", "is_operation"]
