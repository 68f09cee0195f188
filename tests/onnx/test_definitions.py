"""Operators without a converter, which ONNX defines by others, against onnxruntime."""

import mxnet as mx
import numpy as np
import pytest
from imported import compared, numbers, operator_set, recent_runtime, written

from gluon_same.onnx import export_model, import_model


@recent_runtime
@operator_set(23)
def test_a_norm_of_a_later_operator_set(tmp_path):
    text = "net (float[N, T, 6] x) => (float[N, T, 6] y) { y = RMSNormalization(x, scale) }"
    path = written(tmp_path / "net.onnx", text, {"scale": numbers(6, seed=1)}, version=23)
    net = compared(path, numbers(2, 5, 6), numbers(1, 3, 6))
    assert net.input_sizes == ((None, None, 6),)
    export_model(net, (2, 5, 6), tmp_path / "again.onnx", dynamic=True)  # which compares the numbers


@recent_runtime
@operator_set(23)
def test_attention_of_a_later_operator_set(tmp_path):
    text = """net (float[N, 2, T, 4] x) => (float[N, 2, T, 4] y) {
        y = Attention<is_causal: int = 1>(x, x, x)
    }"""
    compared(written(tmp_path / "net.onnx", text, version=23), numbers(2, 2, 5, 4), numbers(1, 2, 3, 4))


@operator_set(24)
@pytest.mark.parametrize("attribute, alpha", [("<alpha: float = 2>", 2), ("", 1)])
def test_attributes_have_the_defaults_of_the_definition(tmp_path, attribute, alpha):
    text = f"net (float[N, 3] x) => (float[N, 3] y) {{ y = Swish{attribute}(x) }}"
    x = numbers(2, 3)
    y = import_model(written(tmp_path / "net.onnx", text, version=24))(mx.nd.array(x)).asnumpy()
    np.testing.assert_allclose(y, x / (1 + np.exp(-alpha * x)), rtol=1e-5)


def test_what_a_definition_contains_is_refused_by_its_name(tmp_path):
    text = "net (float[N, 3] x) => (float[N, 3] y) { y = Bernoulli(x) }"
    with pytest.raises(ValueError, match="RandomUniformLike.*: the operator has no converter"):
        import_model(written(tmp_path / "net.onnx", text, version=22))
