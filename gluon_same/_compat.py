"""Prepare Python and NumPy for the import of MXNet 1.x, and explain imports that fail.

- MXNet 1.9.1 uses aliases such as ``numpy.bool``, which NumPy 1.24 removed. Python 3.12 and later
  require NumPy 1.26, so this module restores the aliases.
- MXNet imports ``distutils``, which Python 3.12 removed. Importing setuptools restores it.
- The wheels require system libraries that slim images lack. The loader's error names only the file.
"""

import importlib.util
import sys

import numpy

_ALIASES = {
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "object": object,
    "str": str,
}

#: Packages of the libraries that the wheel requires: on Debian and Ubuntu, and on Fedora and RHEL.
_PACKAGES = {
    "libgomp.so": ("libgomp1", "libgomp"),
    "libquadmath.so": ("libquadmath0", "libquadmath"),
}


def restore_numpy_aliases():
    """Restore the aliases of Python's types that NumPy 1.24 removed, if they are missing."""
    if int(numpy.__version__.split(".")[0]) >= 2:
        raise ImportError(
            f"NumPy {numpy.__version__} is installed, and MXNet 1.x requires NumPy 1: "
            "pip install 'numpy<1.24' up to Python 3.11, 'numpy<2' from 3.12 on"
        )
    for name, kind in _ALIASES.items():
        if name not in vars(numpy):
            setattr(numpy, name, kind)


def explain(error):
    """Return an ImportError that names the missing system library's package, or None."""
    for library, (debian, fedora) in _PACKAGES.items():
        if library in str(error):
            return ImportError(
                f"MXNet did not load: {error}. Install the system library: "
                f"'apt-get install {debian}' (Debian, Ubuntu) or 'dnf install {fedora}' (Fedora, RHEL)"
            )
    return None


def prepare():
    """Restore names that MXNet imports and newer versions of NumPy and Python removed."""
    restore_numpy_aliases()
    if sys.version_info >= (3, 12) and importlib.util.find_spec("distutils") is None:
        import setuptools  # noqa: F401  restores distutils


def import_mxnet():
    """Import MXNet, or raise an ImportError that says what to install."""
    try:
        import mxnet
    except OSError as error:
        explained = explain(error)
        if explained is None:
            raise
        raise explained from error
    version = tuple(int(part) for part in mxnet.__version__.split(".")[:2])
    if not (1, 6) <= version < (2, 0):
        raise ImportError(
            f"MXNet {mxnet.__version__} is installed, and gluon_same requires at least 1.6 and below "
            "2.0: pip install 'mxnet>=1.6,<2'"
        )
    return mxnet


prepare()
