"""Make the MXNet 1.x wheels importable where they would fail, before their first import.

- MXNet 1.9.1 uses aliases such as ``numpy.bool`` that NumPy 1.24 removed. Python 3.12 and later have
  no older NumPy, so the aliases are put back there, on NumPy 1.26.
- It imports ``distutils``, which Python 3.12 dropped; setuptools brings it back and is installed
  there.
- Its wheels need system libraries that slim images lack; the loader's error names the file alone.
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

#: Debian's and Ubuntu's package, and Fedora's and RHEL's, for each library that the wheel needs.
_PACKAGES = {
    "libgomp.so": ("libgomp1", "libgomp"),
    "libquadmath.so": ("libquadmath0", "libquadmath"),
}


def restore_numpy_aliases():
    """Put back the aliases of Python's own types that NumPy 1.24 removed, where they are missing."""
    if int(numpy.__version__.split(".")[0]) >= 2:
        raise ImportError(
            f"NumPy {numpy.__version__} is installed, and MXNet 1.x needs NumPy 1: "
            "pip install 'numpy<1.24' up to Python 3.11, 'numpy<2' from 3.12 on"
        )
    for name, kind in _ALIASES.items():
        if name not in vars(numpy):
            setattr(numpy, name, kind)


def explain(error):
    """What to do about a system library that MXNet did not find, as an ImportError; else None."""
    for library, (debian, fedora) in _PACKAGES.items():
        if library in str(error):
            return ImportError(
                f"MXNet did not load: {error}. Install the system library: "
                f"'apt-get install {debian}' (Debian, Ubuntu) or 'dnf install {fedora}' (Fedora, RHEL)"
            )
    return None


def prepare():
    """Put back what MXNet imports and newer versions of NumPy and Python dropped."""
    restore_numpy_aliases()
    if sys.version_info >= (3, 12) and importlib.util.find_spec("distutils") is None:
        import setuptools  # noqa: F401  brings distutils back


def import_mxnet():
    """Import MXNet, with an error that says what to install where something is missing."""
    try:
        import mxnet
    except OSError as error:
        told = explain(error)
        if told is None:
            raise
        raise told from error
    version = tuple(int(part) for part in mxnet.__version__.split(".")[:2])
    if not (1, 6) <= version < (2, 0):
        raise ImportError(
            f"MXNet {mxnet.__version__} is installed, and gluon_same supports 1.6 up to, not "
            "including, 2.0: pip install 'mxnet>=1.6,<2'"
        )
    return mxnet


prepare()
