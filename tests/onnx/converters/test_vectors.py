"""Support vector machines, against onnxruntime."""

import mxnet as mx
import numpy as np
import pytest
from imported import compared, numbers, pipeline, recent_runtime

from gluon_same.onnx import import_model


def model(path, operator, **given):
    outputs = ["label", "scores"] if operator.endswith("Classifier") else ["scores"]
    return pipeline(path, operator, outputs, **{**dict(version=1), **given})


def machine(kernel, vectors, rows, intercepts, scale=1.0):
    """Return random attributes of that many support vectors, rows of coefficients, and intercepts."""
    flat = (
        (scale * numbers(rows, vectors)).ravel().tolist(),
        numbers(vectors, 3, seed=1).ravel().tolist(),
    )
    how = dict(coefficients=flat[0], support_vectors=flat[1], rho=numbers(intercepts, seed=2).tolist())
    return dict(kernel_type=kernel, kernel_params=[0.4, 0.3, 3.0], **how)


KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"]


@pytest.mark.parametrize("one_class", [0, 1])
@pytest.mark.parametrize("kernel", KERNELS)
def test_regressions(tmp_path, kernel, one_class):
    how = machine(kernel, 5, 1, 1)
    path = model(tmp_path, "SVMRegressor", n_supports=5, one_class=one_class, **how)
    compared(path, numbers(20, 3, seed=3), numbers(1, 3, seed=4))


@pytest.mark.parametrize("link", ["NONE", pytest.param("LOGISTIC", marks=recent_runtime)])
@pytest.mark.parametrize("counts", [[2, 3], [3, 1, 2], [1, 2, 1, 3]])
@pytest.mark.parametrize("kernel", KERNELS)
def test_classes(tmp_path, kernel, counts, link):
    pairs = len(counts) * (len(counts) - 1) // 2
    how = machine(kernel, sum(counts), len(counts) - 1, pairs)
    how.update(classlabels_ints=[7, 3, 2**24 + 1, 5][: len(counts)], vectors_per_class=counts)
    path = model(tmp_path, "SVMClassifier", post_transform=link, **how)
    compared(path, numbers(40, 3, seed=3), numbers(1, 3, seed=4))


def test_large_coefficients_that_cancel(tmp_path):
    x = numbers(6, 3, seed=3)
    vectors = np.repeat(numbers(1, 3, seed=1), 3, axis=0) + np.array([[0.0], [1e-3], [2e-3]], "f")
    weights = np.array([1e5, -2e5, 1e5], "f")
    how = machine("RBF", 3, 1, 1)
    how.update(support_vectors=vectors.ravel().tolist(), coefficients=weights.tolist(), rho=[0.0])
    net = import_model(model(tmp_path, "SVMRegressor", n_supports=3, **how))
    distances = ((x[:, None].astype("d") - vectors.astype("d")) ** 2).sum(axis=2)
    wanted = np.exp(-np.float64(np.float32(0.4)) * distances) @ weights.astype("d")
    got = net(mx.nd.array(x)).asnumpy()[:, 0]
    np.testing.assert_allclose(got, wanted, 1e-6, 1e-7)


@pytest.mark.parametrize(
    "changes, words",
    [
        (dict(post_transform="SOFTMAX"), "its post_transform='SOFTMAX' for 2 labels"),
        (dict(vectors_per_class=[5]), "for 2 labels"),
        (dict(prob_a=[1.0], prob_b=[0.5]), "found by iterations"),
        (dict(kernel_type="OTHER"), "its kernel_type='OTHER'"),
    ],
)
def test_others_are_refused(tmp_path, changes, words):
    how = machine("RBF", 5, 1, 1)
    how.update(classlabels_ints=[7, 3], vectors_per_class=[2, 3])
    with pytest.raises(ValueError, match=words):
        import_model(model(tmp_path, "SVMClassifier", **{**how, **changes}))
