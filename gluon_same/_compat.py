"""Let MXNet 1.x import and run on today's Python and NumPy, and explain imports that fail.

- MXNet 1.9.1 uses names that NumPy 1.24 and 2.0 removed, such as ``numpy.bool`` and ``numpy.PINF``. Its
  modules, and those of keras-mxnet, receive a copy of the module numpy that has them. NumPy itself stays
  as it is, for everything else in the process.
- MXNet imports ``distutils``, which Python 3.12 removed. Importing setuptools restores it.
- MXNet's exporter imports ``onnx.mapping``, which onnx 1.19 removed.
- MXNet's OpenBLAS chooses its kernels by the model of the processor. For models that it does not know,
  that of the wheel (0.3.13) falls back to kernels for SSE3, which take twice as long in ``dot``
  and ``batch_dot``. It is loaded with those for AVX2.
- The wheels require system libraries that slim images lack. The loader's error names only the file.

All this takes effect when MXNet is imported, which must be after gluon_same.
"""

import builtins
import ctypes
import functools
import importlib
import importlib.util
import os
import sys
import types
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import numpy

#: Packages of the libraries that the wheel requires: on Debian and Ubuntu, and on Fedora and RHEL.
_PACKAGES = {"libgomp.so": ("libgomp1", "libgomp"), "libquadmath.so": ("libquadmath0", "libquadmath")}

#: The environment variable that tells OpenBLAS its kernels, and those for all processors with AVX2.
CORE_TYPE, AVX2_KERNELS = "OPENBLAS_CORETYPE", "Haswell"

#: OpenBLAS' names of the kernels that it falls back to.
OLD_KERNELS = {"Prescott", "Barcelona", "Nehalem", "Sandybridge"}


def _removed(name):
    """Return a function that raises an error, as NumPy's did before it was removed."""

    def function(*args, **kwargs):
        raise RuntimeError(f"NumPy {numpy.__version__} has no {name}: use the package numpy-financial")

    return function


#: What MXNet and keras-mxnet read from the module numpy, and some version from 1.20 on does not have.
_REMOVED = {
    **{kind.__name__: kind for kind in (bool, int, float, complex, object, str)},
    **dict.fromkeys(["Inf", "PINF"], numpy.inf),
    **dict.fromkeys(["NaN", "NAN"], numpy.nan),
    "NINF": -numpy.inf,
    "PZERO": 0.0,
    "NZERO": -0.0,
    "string_": numpy.bytes_,
    # MXNet registers functions for the next three. They must be others than numpy.any, round and prod.
    "sometrue": functools.partial(numpy.any),
    "round_": functools.partial(numpy.round),
    "product": functools.partial(numpy.prod),
    "alltrue": numpy.all,
    "in1d": lambda ar1, ar2, **kwargs: numpy.isin(numpy.ravel(ar1), ar2, **kwargs),
    "msort": functools.partial(numpy.sort, axis=0),
    "trapz": vars(numpy).get("trapezoid"),
    "compat": types.SimpleNamespace(basestring=str),
    **{name: _removed(name) for name in ("mirr", "npv", "pmt", "ppmt", "pv", "rate")},
}


def with_removed_names():
    """Return a copy of the module numpy, with the names that this version lacks."""
    module = types.ModuleType("numpy")
    vars(module).update({**_REMOVED, **vars(numpy)})
    if "_core" in vars(numpy):
        vars(module)["core"] = vars(numpy)["_core"]  # numpy.core warns
    return module


def text(value):
    """Return the text of an operator's argument, without ``np.float32()`` around a list's numbers."""

    def plain(value):
        if isinstance(value, (list, tuple)):
            return tuple(map(plain, value)) if isinstance(value, tuple) else list(map(plain, value))
        if isinstance(value, numpy.floating):
            return float(str(value))  # the shortest text of that precision
        return value.item() if isinstance(value, numpy.generic) else value

    return str(plain(value) if isinstance(value, (list, tuple)) else value)


class Finder:
    """Finds the modules of MXNet and keras-mxnet, and gives them their own ``import`` of numpy."""

    def __init__(self):
        self.numpy = with_removed_names()
        self.builtins = {**vars(builtins), "__import__": self.import_module}

    def import_module(self, name, *args, **kwargs):
        """Import as Python does, with the older numpy in place of the module numpy."""
        module = __import__(name, *args, **kwargs)
        return self.numpy if module is numpy else module

    def find_spec(self, name, path=None, target=None):
        """Return the specification of a module of MXNet or keras-mxnet, and None for any other."""
        top = name.partition(".")[0]
        spec = PathFinder.find_spec(name, path, target) if top in ("mxnet", "keras") else None
        if spec is None or spec.loader is None or (top == "keras" and not _of_keras_mxnet(name, spec)):
            return None
        vars(spec.loader)["exec_module"] = functools.partial(self.execute, spec.loader.exec_module)
        return spec

    def execute(self, execute, module):
        """Execute a module with these builtins."""
        name = module.__name__
        vars(module)["__builtins__"] = self.builtins
        if name in ("mxnet._ctypes.ndarray", "mxnet._ctypes.symbol"):
            vars(module)["str"] = text
        if name == "mxnet":
            use_avx2(Path(module.__file__).with_name("libopenblas.so.0"))
        execute(module)
        if name == "mxnet.contrib.quantization":
            # NumPy 2 converts arrays of one number, as entropy calibration returns them, to no scalar.
            c_array = module.c_array
            module.c_array = lambda kind, values: c_array(kind, list(map(_scalar, values)))


def _scalar(value):
    return value.item() if isinstance(value, numpy.ndarray) else value


def _of_keras_mxnet(name, spec):
    folders = sys.modules["keras"].__path__ if "." in name else spec.submodule_search_locations
    return Path(folders[0], "backend", "mxnet_backend.py").exists()


def use_avx2(library: Path) -> None:
    """Load OpenBLAS with other kernels than those of a fallback, before MXNet loads it.

    The environment variable, if it is set, decides instead.
    """
    if CORE_TYPE in os.environ or not {"avx2", "fma"} <= processor_features():
        return
    with suppress(OSError, AttributeError):  # of which the import of MXNet tells, or another OpenBLAS
        if _kernels(ctypes.CDLL(str(library))) in OLD_KERNELS:
            os.environ[CORE_TYPE] = AVX2_KERNELS
            try:
                ctypes.CDLL(str(library))
            finally:
                del os.environ[CORE_TYPE]


def _kernels(library):
    """Return the name of a library's kernels, and unload it if they are those of a fallback."""
    library.openblas_get_corename.restype = ctypes.c_char_p
    name = library.openblas_get_corename().decode()
    if name in OLD_KERNELS:
        from _ctypes import dlclose  # Windows has none

        dlclose(library._handle)
    return name


def processor_features():
    """Return the features of the processor, by the names of Linux; none on other systems."""
    with suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("flags"):
                return set(line.split())
    return set()


def restore_onnx_mapping():
    """Make ``onnx.mapping``, with the two tables that MXNet's exporter reads, where onnx has none."""
    onnx: Any = importlib.import_module("onnx")  # type checkers do not find a module that is made here
    if hasattr(onnx, "mapping") or importlib.util.find_spec("onnx.mapping"):
        return
    types_of = onnx.helper.tensor_dtype_to_np_dtype
    numbers = sorted(set(onnx.TensorProto.DataType.values()) - {onnx.TensorProto.UNDEFINED})
    kinds = {number: types_of(number) for number in numbers}
    tables = onnx.mapping = sys.modules["onnx.mapping"] = types.ModuleType("onnx.mapping")
    vars(tables)["TENSOR_TYPE_TO_NP_TYPE"] = kinds
    vars(tables)["NP_TYPE_TO_TENSOR_TYPE"] = {kinds[number]: number for number in reversed(numbers)}


def explain(error):
    """Return an ImportError that says what to install, or None."""
    for library, (debian, fedora) in _PACKAGES.items():
        if library in str(error):
            return ImportError(
                f"MXNet did not load: {error}. Install the system library: "
                f"'apt-get install {debian}' (Debian, Ubuntu) or 'dnf install {fedora}' (Fedora, RHEL)"
            )
    if getattr(error, "name", None) == "mxnet":
        return ImportError(
            f"{error}: pip install --no-deps mxnet==1.9.1 (on Python 3.13 pip does not install it with "
            "gluon_same, because its metadata asks for NumPy 1, although NumPy 2 works)"
        )
    return None


def prepare():
    """Prepare the import of MXNet."""
    sys.meta_path.insert(0, Finder())
    if sys.version_info >= (3, 12) and importlib.util.find_spec("distutils") is None:
        import setuptools  # noqa: F401  restores distutils


def import_mxnet():
    """Import MXNet, or raise an ImportError that says what to install."""
    try:
        import mxnet
    except (OSError, ModuleNotFoundError) as error:
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


def required(name: str, task: str, version: str = "", otherwise: str = "") -> Any:
    """Return an optional package, or raise an ImportError that says what to install for a task."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"{task} requires the package {package}{version} ({error}): pip install {package}{otherwise}"
        ) from error


prepare()
