"""A net from a Keras model supports everything that other nets support."""

import copy
import pickle

import mxnet as mx
import numpy as np
import pytest
from small_models import conv, functional, image, layer, write

import gluon_same
import gluon_same.onnx
from gluon_same.keras import load_model


@pytest.fixture
def path(tmp_path):
    """Write a model with a nested model, strides, normalization, broadcasting and a head."""
    first, shapes = conv("first", "image", 4, strides=[2, 2], padding="same", use_bias=False)
    norm = layer("BatchNormalization", "norm", "first", axis=[3])
    squeeze = layer("GlobalAveragePooling2D", "squeeze", "norm", keepdims=True)
    product = layer("Multiply", "product", "norm", "squeeze")
    inner = layer("Functional", "inner", "image")
    inner["config"] = functional(image(None, None, 2), first, norm, squeeze, product, name="inner")[
        "config"
    ]
    relu = layer("ReLU", "relu", "inner", max_value=6.0)
    flat = layer("GlobalMaxPooling2D", "flat", "relu")
    head = layer("Dense", "head", "flat", units=3, activation="softmax", trainable=False)
    config = functional(image(None, None, 2), inner, relu, flat, head, name="outer")
    arrays = {f"first/{role}": shape for role, shape in shapes.items() if role == "kernel"}
    arrays.update({f"norm/{role}": (4,) for role in ("gamma", "beta", "moving_mean", "moving_variance")})
    return write(tmp_path, config, inner=arrays, head={"kernel": (4, 3), "bias": (3,)})


X = mx.nd.random.uniform(-1, 1, shape=(2, 2, 9, 8))


def test_names_are_keras_own(path):
    net = load_model(path)
    assert list(net.layers) == ["inner", "relu", "flat", "head"]
    assert list(net.layers["inner"].layers) == ["first", "norm", "squeeze", "product"]
    assert list(net.collect_params()) == [
        *("outer_inner_first_weight", "outer_inner_norm_gamma", "outer_inner_norm_beta"),
        *("outer_inner_norm_running_mean", "outer_inner_norm_running_var"),
        *("outer_head_weight", "outer_head_bias"),
    ]


def test_the_summary_lists_the_layers(path):
    rows = gluon_same.summary(load_model(path), X.shape).rows
    names = ["inner_first", "inner_norm", "inner_squeeze", "inner_product", "relu", "flat", "head"]
    assert [row.name for row in rows] == names
    types = ["Conv2D", "BatchNorm", "GlobalAveragePooling2D", "Multiply", "ReLU6"]
    assert [row.type for row in rows[:5]] == types


def test_what_keras_does_not_train_has_no_gradient(path):
    parameters = load_model(path).collect_params()
    still = {name for name, p in parameters.items() if p.grad_req == "null"}
    assert still == {
        *("outer_head_weight", "outer_head_bias"),
        *("outer_inner_norm_running_mean", "outer_inner_norm_running_var"),
    }


@pytest.mark.parametrize(
    "form", ["hybridized", "specialized", "every size", "saved", "exported", "copied"]
)
def test_every_form_gives_the_same_numbers(path, tmp_path, form):
    net = load_model(path)
    expected = net(X).asnumpy()
    if form == "hybridized":
        net.hybridize(static_alloc=True)
    elif form == "specialized":
        net = gluon_same.specialize(net, X.shape)
    elif form == "every size":
        net = gluon_same.specialize(net)
        net(X[:, :, :6])
    elif form == "saved":
        net.save_parameters(str(tmp_path / "net.params"))
        other = load_model(path)
        for parameter in other.collect_params().values():
            parameter.set_data(mx.nd.zeros_like(parameter.data()))
        other.load_parameters(str(tmp_path / "net.params"))
        net = other
    elif form == "exported":
        net.hybridize()
        net(X)
        net.export(str(tmp_path / "net"))
        files = [str(tmp_path / name) for name in ("net-symbol.json", "net-0000.params")]
        net = mx.gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    elif form == "copied":
        net = pickle.loads(pickle.dumps(copy.copy(net)))
    np.testing.assert_allclose(net(X).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_one_graph_serves_every_size(path):
    net, hybrid = load_model(path), load_model(path)
    hybrid.hybridize()
    for size in ((9, 8), (4, 4), (3, 13)):
        x = mx.nd.random.uniform(shape=(1, 2, *size))
        np.testing.assert_allclose(hybrid(x).asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_onnx_takes_it_with_open_sizes(path, tmp_path, layout):
    import onnxruntime

    net = load_model(path, layout=layout)
    channels = layout.index("C")
    example = np.moveaxis(X.asnumpy(), 1, channels)
    file = gluon_same.onnx.export_model(net, example.shape, tmp_path / "net.onnx", dynamic=True)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    sizes = ["batch", "height", "width"]
    sizes.insert(channels, 2)
    assert session.get_inputs()[0].shape == sizes
    x = np.random.RandomState(0).uniform(-1, 1, (3, 2, 5, 12)).astype("float32")
    x = np.ascontiguousarray(np.moveaxis(x, 1, channels))
    (got,) = session.run(None, {"data": x})
    np.testing.assert_allclose(got, net(mx.nd.array(x)).asnumpy(), rtol=1e-4, atol=1e-5)


def test_batch_normalization_trains_with_keras_momentum(path):
    net = load_model(path)
    norm = net.layers["inner"].layers["norm"]
    mean = norm.running_mean.data().asnumpy()
    with mx.autograd.record():
        net(X).sum().backward()
    seen = net.layers["inner"].layers["first"](X).asnumpy().mean((0, 2, 3))
    np.testing.assert_allclose(
        norm.running_mean.data().asnumpy(), 0.99 * mean + 0.01 * seen, rtol=1e-4, atol=1e-6
    )


def test_channels_may_come_last(path):
    net, last = load_model(path), load_model(path, layout="NHWC")
    np.testing.assert_allclose(last(X.transpose((0, 2, 3, 1))).asnumpy(), net(X).asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("shape", [(1, 3, 9, 9), (1, 2, 9), (2, 2, 9, 9, 1)])
def test_data_that_do_not_fit_are_refused(path, shape):
    with pytest.raises(ValueError, match=r"does not fit outer\w*, which requires \(any, 2, any, any\)"):
        load_model(path)(mx.nd.ones(shape))


def test_the_number_of_inputs_counts(path):
    with pytest.raises(ValueError, match="has 1 inputs, and 2 were given"):
        load_model(path)(X, X)


def test_a_size_that_a_dense_layer_does_not_take_is_refused(tmp_path):
    dense = layer("Dense", "dense", "flat", units=2)
    config = functional(image(3, 3, 1), layer("Flatten", "flat", "image"), dense)
    net = load_model(write(tmp_path, config, dense={"kernel": (9, 2), "bias": (2,)}))
    assert net(mx.nd.ones((1, 1, 3, 3))).shape == (1, 2)
    with pytest.raises(ValueError, match=r"cannot run on data of shape \(1, 1, 4, 4\)"):
        net(mx.nd.ones((1, 1, 4, 4)))


def test_a_layout_that_is_unknown_is_refused(path):
    with pytest.raises(ValueError, match="layout='NCWH' is unknown"):
        load_model(path, layout="NCWH")


def test_nothing_of_tensorflow_is_imported(path):
    import sys

    load_model(path)
    assert "tensorflow" not in sys.modules


def test_numpy_mode_is_refused(path):
    with mx.util.np_array(True), pytest.raises(ValueError, match=r"call mx\.npx\.reset_np\(\) first"):
        load_model(path)


def test_the_first_call_of_a_shared_layer_may_run_last(tmp_path):
    dense, norm = layer("Dense", "dense", units=3, use_bias=False), layer("BatchNormalization", "norm")
    dense["inbound_nodes"] = [[["image", 0, 0, {}]], [["norm", 1, 0, {}]]]
    norm["inbound_nodes"] = [[["dense", 1, 0, {}]], [["dense", 0, 0, {}]]]
    shapes = dict.fromkeys(("gamma", "beta", "moving_mean", "moving_variance"), (3,))
    path = write(tmp_path, functional(image(3), dense, norm), dense={"kernel": (3, 3)}, norm=shapes)
    net = load_model(path)
    x, w = np.eye(3), net.layers["dense"].weight.data().asnumpy().T
    scale, shift, mean, variance = (p.data().asnumpy() for p in net.layers["norm"].params.values())
    for _ in range(2):
        x = (x @ w - mean) / np.sqrt(variance + 1e-3) * scale + shift
    np.testing.assert_allclose(net(mx.nd.array(np.eye(3))).asnumpy(), x, rtol=1e-5)
