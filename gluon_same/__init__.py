"""``padding='same'`` for MXNet Gluon, with TensorFlow's and Keras' numbers.

- :mod:`gluon_same.nn`: ``mxnet.gluon.nn`` with ``padding='same'``.
- :mod:`gluon_same.functional`: the same on arrays and symbols.
- :mod:`gluon_same.geometry`: the arithmetic, on plain integers.
- :mod:`gluon_same.model_zoo`: whole nets on these blocks.
- :mod:`gluon_same.keras`: Keras models as Gluon nets.
- :mod:`gluon_same.keras_backend`: the functions of a Keras backend.
- :mod:`gluon_same.onnx`: import ONNX files as nets, and export nets.
- :func:`gluon_same.specialize`: the fewest operators for given input sizes, or for each size.
- :func:`gluon_same.deploy`: build the fastest block of a whole net, for inference.
- :func:`gluon_same.compare_speed`: measure each form of a net on this machine.
- :func:`gluon_same.to_same`: turn the padding of a stock net into SAME.
- :func:`gluon_same.summary`: a table of a net's layers, windows, sizes and parameters.
- :func:`gluon_same.explain`: a picture of a window on one axis.

Modules are imported on first use, so that those that do not require MXNet do not load it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, List

from . import _compat  # noqa: F401  prepares for the import of mxnet, and so must run first

if TYPE_CHECKING:
    from . import functional, geometry, keras, keras_backend, model_zoo, nn, onnx
    from .converting import to_same
    from .deployment.deploy import deploy
    from .picture.explain import explain
    from .specializing import specialize
    from .speed import compare_speed
    from .summaries import summary

__version__ = "0.2.0"
__all__ = [
    "compare_speed",
    "deploy",
    "explain",
    "functional",
    "geometry",
    "keras",
    "keras_backend",
    "model_zoo",
    "nn",
    "onnx",
    "specialize",
    "summary",
    "to_same",
]

#: The module of each public function.
_FUNCTIONS = {
    "compare_speed": ".speed",
    "deploy": ".deployment.deploy",
    "explain": ".picture.explain",
    "specialize": ".specializing",
    "summary": ".summaries",
    "to_same": ".converting",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _FUNCTIONS:
        return import_module(f".{name}", __name__)
    value = globals()[name] = getattr(import_module(_FUNCTIONS[name], __name__), name)
    return value


def __dir__() -> List[str]:
    return [*__all__, "__version__"]
