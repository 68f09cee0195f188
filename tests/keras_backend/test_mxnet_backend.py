"""Install and uninstall the replacements."""

import collections
import inspect
import subprocess
import sys
from importlib import metadata

import numpy as np
import pytest

import reference
from gluon_same.keras_backend import mxnet_backend

RELATED = ("keras", "keras_applications", "keras_preprocessing")


def everything():
    """Return all attributes of Keras' modules and classes, by full name."""
    found = {}
    for module in [m for n, m in list(sys.modules.items()) if n.split(".")[0] in RELATED]:
        for name, value in vars(module).items():
            found[f"{module.__name__}.{name}"] = value
            if isinstance(value, type) and value.__module__ == module.__name__:
                for attribute, inner in vars(value).items():
                    found[f"{module.__name__}.{value.__name__}.{attribute}"] = inner
    return found


def changes(before, after):
    return {name for name in {*before, *after} if before.get(name) is not after.get(name)}


def test_install_replaces_what_it_names_and_nothing_else(keras):
    before = everything()
    mxnet_backend.install()
    try:
        assert changes(before, everything()) == set(mxnet_backend.REPLACED)
        assert mxnet_backend.is_installed()
    finally:
        mxnet_backend.uninstall()
    assert not changes(before, everything())
    assert not mxnet_backend.is_installed()


def test_installing_twice_is_installing_once(keras):
    before = everything()
    mxnet_backend.install()
    once = everything()
    mxnet_backend.install()
    assert not changes(once, everything())
    mxnet_backend.uninstall()
    assert not changes(before, everything())
    mxnet_backend.uninstall()
    assert not changes(before, everything())


def test_contexts_restore_the_previous_state(keras):
    with mxnet_backend.installed():
        with mxnet_backend.installed():
            pass
        assert mxnet_backend.is_installed()
    assert not mxnet_backend.is_installed()
    with pytest.raises(KeyError), mxnet_backend.installed():
        raise KeyError
    assert not mxnet_backend.is_installed()


def test_replacements_keep_signatures_and_docstrings(keras):
    def described():
        names = {
            path.rsplit(".", 1)[1]
            for path in mxnet_backend.REPLACED
            if path.startswith("keras.backend.mxnet_backend.") and "KerasSymbol" not in path
        }
        functions = [getattr(keras.backend, name) for name in names]
        return [(list(inspect.signature(f).parameters.values()), f.__doc__) for f in functions]

    stock = described()
    with mxnet_backend.installed():
        assert described() == stock


def test_without_keras_mxnet_the_error_says_what_to_install(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(ImportError, match="not installed.*pip install keras-mxnet==2.2.4.3"):
        mxnet_backend.install()


def test_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: "2.2.4.2")
    with pytest.raises(
        ImportError, match=r"keras-mxnet 2\.2\.4\.2 is installed\. .* requires 2\.2\.4\.3"
    ):
        mxnet_backend.install()
    assert not mxnet_backend.is_installed()


def test_another_installed_keras_is_refused(keras, monkeypatch):
    monkeypatch.setattr(keras, "__version__", "2.3.1")
    with pytest.raises(ImportError, match=r"Keras 2\.3\.1 is imported"):
        mxnet_backend.install()


def test_another_backend_is_refused(keras, monkeypatch):
    monkeypatch.setattr(keras.backend, "_BACKEND", "theano")
    with pytest.raises(RuntimeError, match="'theano'.*KERAS_BACKEND=mxnet"):
        mxnet_backend.install()
    assert not mxnet_backend.is_installed()


def test_the_name_added_to_collections_is_removed(keras):
    assert hasattr(collections, "Iterable") == (sys.version_info < (3, 10))


def test_importing_the_package_does_not_import_keras():
    code = (
        "import gluon_same.keras_backend.mxnet_backend, sys;"
        "assert not [m for m in sys.modules if m.split('.')[0] == 'keras'], sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def variables(patched):
    from keras import backend as K

    return K, K.variable(np.ones((1, 8, 8, 3))), K.variable(np.ones((3, 3, 3, 4)))


def test_errors_have_the_words_of_keras(variables):
    K, x, kernel = variables
    with pytest.raises(ValueError, match="`padding` argument must be one of .*'same'.*padding='full'"):
        K.conv2d(x, kernel, padding="full")
    with pytest.raises(ValueError, match="`padding` argument.*'causal'"):
        K.conv2d(x, kernel, padding="causal")
    with pytest.raises(ValueError, match="`data_format` argument must be one of.*'NHWC'"):
        K.pool2d(x, (2, 2), data_format="NHWC")
    with pytest.raises(ValueError, match="`pool_mode` argument must be one of.*'sum'"):
        K.pool2d(x, (2, 2), pool_mode="sum")
    with pytest.raises(ValueError, match=r"`inputs` must have 5 axes.*\(1, 8, 8, 3\)"):
        K.pool3d(x, (2, 2, 2))
    with pytest.raises(ValueError, match="input channels=3, kernel in_channels=4"):
        K.conv2d(x, K.variable(np.ones((3, 3, 4, 4))))
    with pytest.raises(ValueError, match=r"`kernel` must have 4 axes.*\(3, 3, 4\)"):
        K.conv2d(x, K.variable(np.ones((3, 3, 4))))


def test_transposed_convolution_over_three_axes(variables):
    K, _, _ = variables
    x = K.variable(np.random.standard_normal((1, 3, 4, 5, 2)))
    kernel = K.variable(np.random.standard_normal((3, 2, 3, 4, 2)))
    out = K.conv3d_transpose(x, kernel, (1, 6, 7, 10, 4), (2, 2, 2), padding="same")
    pads = [(0, 1), (0, 1), (0, 1)]  # of 7, 8 and 11 elements in the full result
    want = reference.deconvolution(
        K.eval(x).transpose(0, 4, 1, 2, 3), K.eval(kernel).transpose(4, 3, 0, 1, 2), (2,) * 3, (1,) * 3,
        pads, (0,) * 3,
    )  # fmt: skip
    np.testing.assert_allclose(K.eval(out), want.transpose(0, 2, 3, 4, 1), rtol=1e-4, atol=1e-4)


def test_output_shape_of_a_transposed_convolution_must_fit(variables):
    K, x, kernel = variables
    kernel = K.variable(np.ones((3, 3, 4, 3)))
    for size in (15, 16):
        out = K.conv2d_transpose(x, kernel, (1, size, size, 4), (2, 2), padding="same")
        assert K.eval(out).shape == (1, size, size, 4)
    for size, padding in ((14, "same"), (16, "VALID"), (17, "same"), (16, "valid"), (19, "valid")):
        with pytest.raises(ValueError, match=f"`output_shape` argument does not fit.*{size}"):
            K.conv2d_transpose(x, kernel, (1, size, size, 4), (2, 2), padding=padding)
    for shape in (None, (16, 16)):
        with pytest.raises(ValueError, match="`output_shape` argument must have 4 sizes"):
            K.conv2d_transpose(x, kernel, shape, (2, 2), padding="same")
    with pytest.raises(ValueError, match="must have every spatial size"):
        K.conv2d_transpose(x, kernel, (1, None, 16, 4), (2, 2), padding="same")
