"""Keras' layers and the builders of their blocks."""

import importlib
import pkgutil

from .registry import Lowered, Request  # noqa: F401

for _module in pkgutil.iter_modules(__path__):  # each registers its builders
    importlib.import_module(f"{__name__}.{_module.name}")

#: Keras' layers of strings.
STRINGS = ("StringLookup", "TextVectorization")

_CELL = "a cell is supported only in an RNN"
_CODE = "what it calls is not in the file"
_DATA = "it prepares data, which is not a task of the net"

#: Why Keras' other layers without a builder have none.
UNSUPPORTED = {
    **dict.fromkeys(("GRUCell", "LSTMCell", "SimpleRNNCell", "StackedRNNCells"), _CELL),
    **dict.fromkeys(("FlaxLayer", "JaxLayer", "TFSMLayer", "TorchModuleWrapper"), _CODE),
    **dict.fromkeys(("DenseFeatures", "MaxNumBoundingBoxes"), _DATA),
    "ContrastLimitedAdaptiveHistogramEqualization": "histograms of tiles are not supported",
}
