"""ONNX's own tests of operators and models, from the installed package, eager and hybridized.

``refused.txt`` lists those that are refused. A test that is not listed must pass, and one that is listed
must be refused with a ValueError, so that the list only shrinks.
"""

import contextlib
import warnings
from pathlib import Path

import mxnet as mx
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from gluon_same.onnx import import_model

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
FOLDERS = ("node", "simple", "pytorch-converted", "pytorch-operator")
NAMES = sorted(
    f"{folder}/{path.name}"
    for folder in FOLDERS
    for path in (DATA / folder).glob("test_*")
    if path.is_dir()
)

#: Tests whose expected numbers are wrong. In the first, each number of the last column is 30 less than
#: the next, but the first is 14 instead of 24. The second has 0 / 0 for vectors of zeros, which stay
#: zeros in onnxruntime. In the others integers overflow; onnxruntime saturates them, as the
#: specification requires.
FAULTY = ("node/test_col2im_pads", "node/test_l2normalization_axis_0", *(
    f"node/test_qlinearmatmul_{n}D_int8_float{bits}" for n in (2, 3) for bits in (16, 32)
))  # fmt: skip

# The results in onnx before 1.19 divide by another count.
if tuple(map(int, onnx.__version__.split(".")[:2])) < (1, 19):
    FAULTY += ("node/test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",)

#: Files of later operator sets are refused as a whole.
LATEST = 28


def is_late(name):
    model = onnx.load(str(DATA / name / "model.onnx"), load_external_data=False)
    return any(each.domain in ("", "ai.onnx") and each.version > LATEST for each in model.opset_import)


REFUSED = Path(__file__).with_name("refused.txt").read_text(encoding="utf-8").split()


def arrays(folder, kind):
    """Return the inputs or outputs of a test."""
    found = []
    for i in range(len(list(folder.glob(f"{kind}_*.pb")))):
        tensor = onnx.TensorProto.FromString((folder / f"{kind}_{i}.pb").read_bytes())
        found.append(np.asarray(numpy_helper.to_array(tensor)))
    return found


def as_mxnet(x):
    x = np.atleast_1d(x.astype("f") if x.dtype in (bool, np.float16) else x)
    return mx.nd.array(x, dtype=x.dtype)


def run(name):
    """Import a model and compare its outputs for all inputs that the test has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # half precision is computed in float32
        net = import_model(str(DATA / name / "model.onnx"))
    folders = sorted((DATA / name).glob("test_data_set_*"))
    assert folders
    for folder in folders:
        inputs, wanted = arrays(folder, "input"), arrays(folder, "output")
        for active in (False, True):
            net.hybridize(active)
            got = net(*map(as_mxnet, inputs))
            got = got if isinstance(got, (list, tuple)) else [got]
            assert len(got) == len(wanted)
            for one, other in zip(got, wanted):
                assert one.shape == (other.shape or (1,)) and np.dtype(one.dtype) == other.dtype
                one, other = one.asnumpy().reshape(other.shape).astype("f8"), other.astype("f8")
                largest = np.abs(other[np.isfinite(other)]).max(initial=1)
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-7 * largest)


LATE = [name for name in NAMES if is_late(name)]


@pytest.mark.parametrize("name", [n for n in NAMES if n not in (*REFUSED, *FAULTY, *LATE)])
def test_numbers_are_those_of_onnx(name):
    run(name)


@pytest.mark.parametrize("name", [n for n in NAMES if n in REFUSED and n not in LATE])
def test_what_is_refused_is_listed(name):
    with pytest.raises(ValueError):
        # A model whose input is read as numbers is refused when it is called.
        run(name)
    with contextlib.suppress(mx.MXNetError):  # MXNet fails late for inputs without elements
        mx.nd.waitall()


@pytest.mark.skipif(not LATE, reason="the installed onnx has no later operator set")
def test_later_operator_sets_are_refused():
    for name in LATE:
        with pytest.raises(ValueError, match="operator set|MXNet has no arrays|not a tensor|no inputs"):
            import_model(str(DATA / name / "model.onnx"))


def test_at_least_800_pass():
    if not any(name.startswith("node/") for name in NAMES):
        pytest.skip("the tests of operators are not in packages of onnx from 1.21 on")
    assert len(NAMES) - len({*REFUSED, *FAULTY, *LATE} & set(NAMES)) >= 800
