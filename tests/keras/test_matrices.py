"""Functions of matrices in models' files, against NumPy."""

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, write

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)


def matrices(*shape):
    """Return matrices that are symmetric and positive definite."""
    x = RANDOM.normal(size=shape)
    return (x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])).astype("float32")


def compared(folder, made, wanted, *inputs, count=1):
    """Compare a function's results, eager and hybridized."""
    names = ["image", "other"][: len(inputs)]
    layers = [image(*x.shape[1:], name=name) for name, x in zip(names, inputs)]
    model = functional(*layers, made, inputs=names)
    model["config"]["output_layers"] = [[made["name"], 0, i] for i in range(count)]
    net = load_model(write(folder, model), layout="NHWC")
    for _ in range(2):
        found = net(*map(mx.nd.array, inputs))
        for y, known in zip(found if count > 1 else [found], wanted):
            np.testing.assert_allclose(y.asnumpy(), known, rtol=2e-5, atol=2e-5)
        net.hybridize()


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3)])
def test_functions_of_one_matrix(tmp_path, shape):
    x = matrices(2, *shape)
    x[0] = -x[0]  # of another sign, if the number of rows is odd
    compared(tmp_path, function("linalg.slogdet", "image"), np.linalg.slogdet(x), x, count=2)
    x = matrices(2, *shape)
    compared(tmp_path, function("linalg.logdet", "image"), [np.linalg.slogdet(x)[1]], x)
    upper = np.swapaxes(np.linalg.cholesky(x), -1, -2)
    compared(tmp_path, function("linalg.cholesky", "image", upper=True), [upper], x)


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3)])
def test_equations_are_solved(tmp_path, shape, vector):
    x, y = matrices(2, *shape), RANDOM.normal(size=(2, *shape[:-1], 5)).astype("float32")
    y = y[..., 0] if vector else y
    for name, arguments, known in (
        ("linalg.solve", {}, x),
        ("linalg.solve", dict(adjoint=True), np.swapaxes(x + np.triu(x), -1, -2)),
        ("linalg.triangular_solve", {}, np.tril(x)),
        ("linalg.triangular_solve", dict(lower=False, adjoint=True), np.swapaxes(np.triu(x), -1, -2)),
        ("solve_triangular", dict(lower=True), np.tril(x)),
        ("solve_triangular", {}, np.triu(x)),
    ):
        made = function(name, "image", **{"rhs": ["other", 0, 0], **arguments})
        columns = y[..., None] if vector else y
        wanted = np.linalg.inv(known) @ columns
        given = x + np.triu(x) if name == "linalg.solve" and arguments else x
        compared(tmp_path, made, [wanted[..., 0] if vector else wanted], given, y)


def test_matrices_that_are_not_square_are_refused(tmp_path):
    for name in ("linalg.logdet", "linalg.slogdet"):
        with pytest.raises(ValueError, match="of shape"):
            load_model(write(tmp_path, functional(image(3, 4), function(name, "image"))))


def test_equations_of_other_batches_are_refused(tmp_path):
    x, y = (image(*shape, name=name) for name, shape in (("image", (4, 3, 3)), ("other", (1, 3, 5))))
    made = function("linalg.solve", "image", rhs=["other", 0, 0])
    with pytest.raises(ValueError, match="solve of shapes"):
        load_model(write(tmp_path, functional(x, y, made, inputs=["image", "other"])))
