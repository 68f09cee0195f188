"""Keras' layers and the builders of their blocks."""

from . import (  # noqa: F401  each registers its builders
    activations,
    arithmetic,
    convolutions,
    core,
    gathering,
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

#: Keras' layers of strings.
STRINGS = ("HashedCrossing", "StringLookup", "TextVectorization")

#: Keras' layers that have no builder.
_KERAS = """
    AdditiveAttention Attention ContrastLimitedAdaptiveHistogramEqualization ConvLSTM1D ConvLSTM2D
    ConvLSTM3D DenseFeatures EinsumDense FlaxLayer GRUCell GroupQueryAttention Hashing JaxLayer LSTMCell
    Masking MaxNumBoundingBoxes MelSpectrogram MultiHeadAttention Pipeline RNN ReversibleEmbedding
    STFTSpectrogram SimpleRNNCell StackedRNNCells TFSMLayer TorchModuleWrapper
"""
KERAS = _KERAS.split()
