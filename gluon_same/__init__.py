"""TensorFlow-exact SAME padding for every Gluon convolution and pooling layer.

- :mod:`gluon_same.nn`: ``mxnet.gluon.nn`` with ``padding='same'``.
- :mod:`gluon_same.functional`: the same on arrays and symbols.
- :mod:`gluon_same.keras`: with the signatures of a Keras backend (to be imported by name).
- :mod:`gluon_same.geometry`: the arithmetic, on plain integers.
- :mod:`gluon_same.model_zoo`: whole nets on these blocks.
- :func:`gluon_same.specialize`: fix the input sizes of a net, for fewer or for the fastest operators.
- :func:`gluon_same.adapt`: have a hybridized net do so for each size that it is given.
- :mod:`gluon_same.tuning`: what was measured to find the fastest.
- :func:`gluon_same.deploy`: make the fastest block of a whole net, for inference.
- :func:`gluon_same.summary`: a table of a net's layers, windows, sizes and parameters.
"""

from . import (
    _compat,  # noqa: F401  must come before the first import of mxnet
    functional,
    geometry,
    model_zoo,
    nn,
    tuning,
)
from .adapt import adapt
from .specialize import specialize
from .summary import summary

__version__ = "0.1.0"
__all__ = [
    "adapt",
    "deploy",
    "functional",
    "geometry",
    "model_zoo",
    "nn",
    "specialize",
    "summary",
    "tuning",
]


def __getattr__(name):
    # What deploying requires is imported with its first use.
    if name == "deploy":
        from .deployment import deploy

        return deploy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
