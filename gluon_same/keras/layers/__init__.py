"""Keras' layers and the builders of their blocks."""

from ..arguments import words
from . import (  # noqa: F401  each registers its builders
    activations,
    arithmetic,
    attention,
    audio,
    convolutions,
    core,
    gathering,
    images,
    masks,
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

#: Keras' layers of strings.
STRINGS = ("HashedCrossing", "StringLookup", "TextVectorization")

#: Keras' layers that have no builder.
KERAS = words("""
    ContrastLimitedAdaptiveHistogramEqualization DenseFeatures FlaxLayer GRUCell JaxLayer LSTMCell
    MaxNumBoundingBoxes Pipeline ReversibleEmbedding SimpleRNNCell
    StackedRNNCells TFSMLayer TorchModuleWrapper
""")
