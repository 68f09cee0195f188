import subprocess
import sys
import textwrap
import warnings

import mxnet as mx
import numpy as np
import pytest

from gluon_same import _compat

NUMPY = tuple(int(part) for part in np.__version__.split(".")[:2])


@pytest.mark.parametrize(
    "library, package", [("libgomp.so.1", "libgomp1"), ("libquadmath.so.0", "libquadmath0")]
)
def test_missing_system_libraries_are_named_with_their_package(library, package):
    told = _compat.explain(OSError(f"{library}: cannot open shared object file"))
    assert isinstance(told, ImportError)
    assert f"apt-get install {package}" in str(told) and library in str(told)
    assert _compat.explain(OSError("libother.so")) is None
    assert _compat.explain(ModuleNotFoundError("No module named 'numpy'", name="numpy")) is None


def output_of(program):
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def test_import_says_which_package_to_install():
    program = """
    import gluon_same, sys

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


def test_import_says_how_to_install_mxnet_where_pip_leaves_it_out():
    program = """
    import gluon_same, sys

    sys.modules["mxnet"] = None
    try:
        from gluon_same import nn
    except ImportError as error:
        print(error)
    """
    assert "pip install --no-deps mxnet==1.9.1" in output_of(program)


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


@pytest.mark.parametrize("first", ["numpy", "gluon_same"])
def test_the_module_numpy_stays_as_it_is(first):
    """Other libraries neither find more in it, nor less, and receive the same warnings."""
    program = f"""
    import {first}, numpy

    public = lambda: {{name for name in vars(numpy) if name[0] != "_"}}
    before = public()
    import gluon_same.nn, types
    import mxnet.contrib.quantization, mxnet.gluon.contrib.estimator, mxnet.test_utils
    added = public() - before
    print([name for name in added if not isinstance(vars(numpy)[name], types.ModuleType)])
    """
    assert output_of(program).strip() == "[]"


def test_import_does_not_warn():
    output_of("""
    import warnings

    warnings.filterwarnings("error", message=".*(np|numpy)\\\\.")
    import gluon_same.nn, mxnet.test_utils
    """)


def test_names_that_numpy_has_are_those_of_numpy():
    seen = vars(_compat.with_removed_names())
    assert seen["Inf"] == np.inf and seen["PZERO"] == 0 and np.isnan(seen["NaN"])
    assert all(seen[name] is value for name, value in vars(np).items() if name != "core")
    assert seen["msort"]([[2, 1], [1, 2]]).tolist() == [[1, 1], [2, 2]]
    assert seen["in1d"]([1, 2], [2]).tolist() == [False, True]
    assert mx.np.PINF == mx.np.inf == np.inf
    assert mx.np.product(mx.np.array([[2, 3]]), axis=1).asnumpy() == 6


@pytest.mark.skipif(NUMPY < (2, 0), reason="earlier versions have these")
def test_removed_financial_functions_name_their_package():
    with pytest.raises(RuntimeError, match="numpy-financial"):
        mx.np.ppmt(0.1, 1, 12, 100)


@pytest.mark.parametrize(
    "value, text",
    [
        ([np.float32(0.02), np.float64(0.1)], "[0.02, 0.1]"),
        ((np.int64(3), (np.int32(4), 5)), "(3, (4, 5))"),
        ((np.bool_(True),), "(True,)"),
        ([0.5, "valid"], "[0.5, 'valid']"),
        (np.float32(0.02), "0.02"),
        ("valid", "valid"),
    ],
)
def test_arguments_have_the_text_that_operators_parse(value, text):
    assert _compat.text(value) == text


@pytest.mark.parametrize("optimizer", ["sgd", "nag", "adam", "lamb"])
def test_optimizers_accept_numbers_of_numpy(optimizer):
    def trained(rate, size):
        net = mx.gluon.nn.Dense(1, in_units=2)
        net.initialize(mx.init.One())
        trainer = mx.gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": rate})
        with mx.autograd.record():
            y = net(mx.nd.ones((2, 2)))
        y.backward()
        trainer.step(size)
        return net.weight.data().asnumpy()

    assert np.allclose(trained(np.float32(0.1), np.int64(2)), trained(0.1, 2))


def test_other_functions_that_read_removed_names():
    assert mx.nd.moveaxis(mx.nd.zeros((2, 3)), 0, 1).shape == (3, 2)
    assert mx.np.pad(mx.np.ones((1, 1)), ((1, 0), (0, 0)), mode="constant").shape == (2, 1)
    from mxnet.gluon.contrib.estimator import EarlyStoppingHandler

    EarlyStoppingHandler(mx.metric.Accuracy(), mode="min").train_begin(None)


def test_entropy_calibration():
    from mxnet.contrib import quantization

    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=2, no_bias=True, name="conv")
    data = mx.io.NDArrayIter(mx.nd.random.uniform(shape=(2, 2, 8, 8)), batch_size=2)
    quantized, _, _ = quantization.quantize_model_mkldnn(
        *(net, {"conv_weight": mx.nd.ones((2, 2, 1, 1))}, {}),
        **dict(ctx=mx.cpu(), calib_mode="entropy", calib_data=data, label_names=()),
        **dict(num_calib_examples=2, quantize_mode="smart", quantized_dtype="auto"),
    )
    ranges = [dict(node) for node in quantized.attr_dict().values() if "max_calib_range" in node]
    assert ranges and all(float(node["max_calib_range"]) > 0.5 for node in ranges)


def test_onnx_without_mapping(monkeypatch):
    import onnx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _compat.restore_onnx_mapping()
        from onnx import mapping

        assert mapping.NP_TYPE_TO_TENSOR_TYPE[np.dtype("float32")] == onnx.TensorProto.FLOAT
        assert mapping.TENSOR_TYPE_TO_NP_TYPE[onnx.TensorProto.INT64] == np.dtype("int64")
