"""Correct keras-mxnet: replace its convolutions and poolings by those of this package.

Run one line before building models::

    import gluon_same; gluon_same.keras_backend.install()

After ``install()``, all convolutions (also depthwise, separable and transposed) and poolings of
keras-mxnet 2.2.4.3 have the results and the sizes of TensorFlow, also for unknown sizes
(``Input((None, None, 3))``). Models that were built before keep their graphs. Do not call
``uninstall()`` before a model is compiled.

``install()`` also corrects the learning phase. Functions of ``K.function`` run dropout and batch
normalization in the phase given as their last input, or by default in the phase of
``K.learning_phase()`` when the function was made. ``training=True`` or ``False`` in the call of a layer
applies to both ``fit`` and ``predict``.

:data:`REPLACED` lists everything that is replaced. :func:`uninstall` restores it.
"""

import collections
import functools
import importlib
import inspect
import os
import pydoc
import threading
from collections.abc import Iterable
from contextlib import ExitStack, contextmanager
from importlib import metadata
from typing import Any, Dict, Iterator, List

from . import learning_phase, replacements

__all__ = ["REPLACED", "install", "installed", "is_installed", "uninstall"]


def __dir__() -> List[str]:
    return __all__


VERSION = "2.2.4.3"

#: Functions of the backend that are wrapped.
_WRAPPERS = {
    "placeholder": replacements.fixing,
    "in_train_phase": learning_phase.forcing,
    "function": learning_phase.obeying,
}
_LAYERS = "keras.layers.convolutional"
_METHODS = {
    "keras.backend.mxnet_backend.KerasSymbol._get_shape": replacements.get_shape,
    **{f"{_LAYERS}.Conv{ndim}DTranspose.call": replacements.call_transposed for ndim in (2, 3)},
    f"{_LAYERS}.DepthwiseConv2D.compute_output_shape": replacements.depthwise_output_shape,
}
_MODULES = ("keras.backend", "keras.backend.mxnet_backend")

#: Full names of everything that :func:`install` replaces.
REPLACED = (
    *(f"{module}.{name}" for module in _MODULES for name in (*replacements.FUNCTIONS, *_WRAPPERS)),
    *_METHODS,
)

_originals: Dict[Any, Any] = {}

# Contexts of several threads may overlap. The last one to end restores the originals.
_lock = threading.RLock()
_contexts: List[Any] = []


def install() -> None:
    """Replace everything in :data:`REPLACED`. Calling this again changes nothing.

    On Python 3.10 and later, keras-mxnet cannot be imported by itself, because it imports ``Iterable``
    from ``collections``. This function adds the name during the import. Keras then runs on MXNet, unless
    it was imported before or the environment variable KERAS_BACKEND names another backend.

    Raises
    ------
    ImportError
        If keras-mxnet is not installed, has another version, or is hidden by another Keras.
    RuntimeError
        If Keras runs on another backend than MXNet.

    Examples
    --------
    >>> from gluon_same import keras_backend
    >>> keras_backend.install()
    >>> from keras.layers import Input, MaxPooling2D
    >>> MaxPooling2D((2, 2), padding='same')(Input((None, None, 3)))._keras_shape
    (None, None, None, 3)
    >>> keras_backend.uninstall()
    """
    if _originals:
        return
    keras = _import_keras()
    if keras.backend.backend() != "mxnet":
        raise RuntimeError(
            f"Keras runs on the backend {keras.backend.backend()!r}: set the environment variable "
            "KERAS_BACKEND=mxnet before importing Keras"
        )
    wrap = keras.backend.mxnet_backend.keras_mxnet_symbol
    for name in (*replacements.FUNCTIONS, *_WRAPPERS):
        stock = getattr(keras.backend, name)
        if name in _WRAPPERS:
            function = _WRAPPERS[name](stock)
        else:
            function = wrap(_bound(stock, replacements.FUNCTIONS[name]))
        for module in _MODULES:
            _replace(f"{module}.{name}", function)
    for name, method in _METHODS.items():
        _replace(name, method)


def uninstall() -> None:
    """Restore everything that :func:`install` replaced.

    Examples
    --------
    >>> from gluon_same import keras_backend
    >>> keras_backend.uninstall()
    >>> keras_backend.is_installed()
    False
    """
    while _originals:
        name, original = _originals.popitem()
        owner, attribute = _locate(name)
        setattr(owner, attribute, original)


def is_installed() -> bool:
    """Return whether the replacements are installed.

    Returns
    -------
    bool

    Examples
    --------
    >>> from gluon_same import keras_backend
    >>> keras_backend.is_installed()
    False
    """
    return bool(_originals)


@contextmanager
def installed() -> Iterator[None]:
    """Return a context that installs the replacements and restores the previous state at its end.

    Returns
    -------
    context manager
        Entering it raises the errors of :func:`install`.

    Examples
    --------
    >>> from gluon_same import keras_backend
    >>> with keras_backend.installed():
    ...     keras_backend.is_installed()
    True
    """
    with _lock:
        before = _contexts[0] if _contexts else is_installed()
        install()
        _contexts.append(before)
    try:
        yield
    finally:
        with _lock:
            found = _contexts.pop()
            if not _contexts and not found:
                uninstall()


def _import_keras():
    advice = f"gluon_same.keras_backend.install() requires {VERSION}: pip install keras-mxnet=={VERSION}"
    try:
        found = metadata.version("keras-mxnet")
    except metadata.PackageNotFoundError:
        raise ImportError(f"keras-mxnet is not installed. {advice}") from None
    if found != VERSION:
        raise ImportError(f"keras-mxnet {found} is installed. {advice}")
    # keras-mxnet imports ``collections.Iterable``, which Python 3.10 dropped. Without the backend's
    # name, it reads the backend from a settings file that another Keras may have written.
    needed = [(vars(collections), "Iterable", Iterable), (os.environ, "KERAS_BACKEND", "mxnet")]
    with ExitStack() as stack:
        for names, name, value in needed:
            if name not in names:
                names[name] = value
                stack.callback(names.pop, name)
        keras = importlib.import_module("keras")
    # Another Keras may be installed in the same folder.
    if keras.__version__ != VERSION:
        raise ImportError(f"Keras {keras.__version__} is imported, not keras-mxnet. {advice}")
    return keras


def _bound(stock, replacement):
    """Return a function with the signature of ``stock`` that passes each argument to a replacement."""
    signature = inspect.signature(stock)

    @functools.wraps(stock)
    def function(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return replacement(*bound.args)

    return function


def _replace(name, value):
    owner, attribute = _locate(name)
    _originals[name] = vars(owner)[attribute]
    setattr(owner, attribute, value)


def _locate(name):
    """Return the module or class of a full name, and the name of the attribute."""
    path, _, attribute = name.rpartition(".")
    return pydoc.locate(path), attribute
