"""The kernels of MXNet's OpenBLAS."""

import os
import subprocess
import sys
from pathlib import Path

import mxnet as mx
import pytest

from gluon_same import _compat

LIBRARY = Path(mx.__file__).with_name("libopenblas.so.0")

PROGRAM = f"""
import ctypes, os
import gluon_same
from gluon_same import _compat

# A processor that OpenBLAS does not know, and other kernels than those that it may choose by itself.
_compat.OLD_KERNELS |= {{"Haswell", "Zen", "SkylakeX", "Excavator"}}
_compat.AVX2_KERNELS = "Nehalem"
import mxnet as mx

library = ctypes.CDLL({str(LIBRARY)!r})
library.openblas_get_corename.restype = ctypes.c_char_p
x = mx.nd.ones((2, 3, 4))
assert (mx.nd.batch_dot(x, x, transpose_b=True).asnumpy() == 4).all()
print(library.openblas_get_corename().decode(), os.environ.get("OPENBLAS_CORETYPE"))
"""


@pytest.mark.skipif(not LIBRARY.exists(), reason="MXNet has no OpenBLAS of its own")
@pytest.mark.parametrize("given", [None, "Prescott"])
def test_a_fallback_is_replaced_unless_the_variable_is_set(given):
    if not {"avx2", "fma"} <= _compat.processor_features():
        pytest.skip("requires AVX2")
    env = {key: value for key, value in os.environ.items() if key != _compat.CORE_TYPE}
    env.update({_compat.CORE_TYPE: given} if given else {})
    done = subprocess.run([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, check=True, env=env)
    assert done.stdout.decode().split() == [given or "Nehalem", str(given)]


def test_other_processors_and_libraries_keep_their_kernels(monkeypatch, tmp_path):
    monkeypatch.delenv(_compat.CORE_TYPE, raising=False)
    _compat.use_avx2(tmp_path / "libopenblas.so.0")  # of a build without it
    monkeypatch.setattr(_compat, "processor_features", lambda: {"sse3"})
    monkeypatch.setattr(_compat.ctypes, "CDLL", None)  # which would be called
    _compat.use_avx2(LIBRARY)
    assert _compat.CORE_TYPE not in os.environ
