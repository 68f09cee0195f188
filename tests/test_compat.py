import subprocess
import sys
import textwrap

import numpy
import pytest

from gluon_same import _compat


def test_missing_aliases_are_restored(monkeypatch):
    for name in ("bool", "object", "complex"):
        monkeypatch.delattr(numpy, name, raising=False)
    _compat.restore_numpy_aliases()
    assert vars(numpy)["bool"] is bool and vars(numpy)["object"] is object
    for name in ("bool", "object", "complex"):
        monkeypatch.delattr(numpy, name, raising=False)


def test_numpy_2_is_refused_with_the_command_to_install_another(monkeypatch):
    monkeypatch.setattr(numpy, "__version__", "2.1.0")
    with pytest.raises(ImportError, match="numpy<1.24"):
        _compat.restore_numpy_aliases()


@pytest.mark.parametrize(
    "library, package", [("libgomp.so.1", "libgomp1"), ("libquadmath.so.0", "libquadmath0")]
)
def test_missing_system_libraries_are_named_with_their_package(library, package):
    told = _compat.explain(OSError(f"{library}: cannot open shared object file"))
    assert isinstance(told, ImportError)
    assert f"apt-get install {package}" in str(told) and library in str(told)
    assert _compat.explain(OSError("libother.so")) is None


def output_of(program):
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def test_import_says_which_package_to_install():
    program = """
    import sys

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "mxnet":
                raise OSError("libquadmath.so.0: cannot open shared object file")

    sys.meta_path.insert(0, Finder())
    try:
        from gluon_same import nn
    except ImportError as error:
        print(error)
    """
    assert "apt-get install libquadmath0" in output_of(program)


def test_import_refuses_another_major_version():
    program = """
    import sys, types

    sys.modules["mxnet"] = types.SimpleNamespace(__version__="2.0.0b1")
    try:
        from gluon_same import nn
    except ImportError as error:
        print(error)
    """
    assert "mxnet>=1.6,<2" in output_of(program)
