"""What the layers of a file compute is compared with the net that receives their weights."""

import warnings
from pathlib import Path

import mxnet as mx
import numpy as np
import pytest
from mobilenet import mobilenet
from mxnet.gluon import HybridBlock
from mxnet.gluon import nn as stock
from mxnet.gluon.model_zoo import vision
from small_models import conv, functional, image, layer, write

from gluon_same import nn, to_same
from gluon_same.keras import load_keras_weights, load_model

NORM = dict(gamma=(2,), beta=(2,), moving_mean=(2,), moving_variance=(2,))


@pytest.fixture(autouse=True)
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


def borrowed():
    """Return MXNet's MobileNet of the file's size, with a softmax behind it."""
    net = nn.HybridSequential()
    net.add(vision.MobileNet(1 / 32, classes=5), nn.HybridLambda("softmax"))
    return net


def test_mobilenet_of_the_model_zoo_equals_keras(tmp_path):
    path = mobilenet(tmp_path)
    net = borrowed()
    with pytest.raises(ValueError) as refusal:
        load_keras_weights(net, path)
    message = str(refusal.value)
    rows = [line.split() for line in message.splitlines()[2:]]
    assert {row[0] for row in rows} == {"epsilon", "momentum", "activation", "padding"}
    assert "epsilon" in message and "0.001" in message and "1e-05" in message
    assert "and 25 more" in message
    assert "net[0].features.register_child(nn.ReLU6(), '2')" in message
    assert "gluon_same.to_same(net)" in message and "fix=True" in message

    features = net[0].features
    to_same(net)
    for number, block in enumerate(features):
        if isinstance(block, nn.Activation):
            features.register_child(nn.ReLU6(), str(number))
    with pytest.raises(ValueError, match="epsilon"):
        load_keras_weights(net, path)
    load_keras_weights(net, path, fix=True)
    x = mx.nd.random.uniform(-1, 1, (2, 3, 64, 64))
    want = load_model(path)(x).asnumpy()
    np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-3, atol=1e-6)
    assert want.std() > 0.01
    load_keras_weights(net, path)  # nothing differs any more


@pytest.mark.parametrize("change", ["epsilon", "activation", "padding"])
def test_each_difference_of_mobilenet_changes_its_results(tmp_path, change):
    path = mobilenet(tmp_path)
    net = borrowed()
    if change != "padding":
        to_same(net)
    for number, block in enumerate(net[0].features):
        if isinstance(block, nn.Activation) and change != "activation":
            net[0].features.register_child(nn.ReLU6(), str(number))
        if isinstance(block, nn.BatchNorm) and change != "epsilon":
            block._kwargs["eps"] = 1e-3
    load_keras_weights(net, path[1])  # without the configuration, nothing is compared
    x = mx.nd.random.uniform(-1, 1, (2, 3, 64, 64))
    assert np.abs(net(x).asnumpy() - load_model(path)(x).asnumpy()).max() > 1e-3


def test_a_refused_net_is_unchanged(tmp_path):
    net = borrowed()
    with pytest.raises(ValueError):
        load_keras_weights(net, mobilenet(tmp_path), fix=True)
    assert net[0].features[1]._kwargs["eps"] == 1e-5
    assert all(p._data is None for p in net.collect_params().values())


def one(tmp_path, *after, **config):
    """Write a convolution of two channels and what follows it."""
    first, shapes = conv("first", "image", **config)
    more = {"norm": NORM} if any(each["name"] == "norm" for each in after) else {}
    return write(tmp_path, functional(image(9, 8, 2), first, *after), first=shapes, **more)


def sequence(*blocks):
    net = nn.HybridSequential()
    net.add(*blocks)
    return net


@pytest.mark.parametrize(
    "config, block, words",
    [
        (dict(strides=[2, 2]), nn.Conv2D(2, 3), ["strides", "(2, 2)", "(1, 1)"]),
        (dict(dilation_rate=[2, 2]), nn.Conv2D(2, 3), ["dilation", "(2, 2)", "(1, 1)"]),
        (dict(padding="same"), nn.Conv2D(2, 3), ["padding", "((1, 1), (1, 1))", "((0, 0), (0, 0))"]),
        (
            dict(padding="same", strides=[2, 2]),
            nn.Conv2D(2, 3, 2, padding=1),
            ["padding", "((1, 1), (0, 1))", "((1, 1), (1, 1))"],
        ),
        (dict(activation="relu"), nn.Conv2D(2, 3), ["activation", "relu", "none"]),
        (dict(activation="tanh"), nn.Conv2D(2, 3, activation="relu"), ["activation", "tanh", "relu"]),
        (dict(), nn.Conv2D(2, 3, activation="relu"), ["activation", "none", "relu", "remove"]),
        (dict(activation="swish"), nn.Conv2D(2, 3), ["activation", "several operators", "none"]),
    ],
)
def test_a_difference_of_a_convolution_is_named(tmp_path, config, block, words):
    with pytest.raises(ValueError) as refusal:
        load_keras_weights(sequence(block), one(tmp_path, **config), fix=True)
    _, _, line = str(refusal.value).splitlines()
    assert all(word in line for word in [*words, block.name])


def test_groups_are_compared(tmp_path):
    first, _ = conv("first", "image", filters=4, groups=2)
    shapes = {"kernel": (3, 3, 1, 4), "bias": (4,)}
    path = write(tmp_path, functional(image(9, 8, 2), first), first=shapes)
    load_keras_weights(sequence(nn.Conv2D(4, 3, groups=2)), path)
    shapes["kernel"] = (3, 3, 2, 4)
    path = write(tmp_path, functional(image(9, 8, 4), first), first=shapes)
    with pytest.raises(ValueError, match="groups +2 +1"):
        load_keras_weights(sequence(nn.Conv2D(4, 3)), path)


@pytest.mark.parametrize(
    "net",
    [
        sequence(nn.Conv2D(2, 3, padding="same"), nn.ReLU6()),
        sequence(nn.Conv2D(2, 3, padding=1), nn.HybridLambda(lambda F, x: F.clip(x, 0, 6))),
        sequence(nn.ZeroPadding2D(1), nn.Conv2D(2, 3), nn.Dropout(0.5), nn.ReLU6()),
    ],
)
def test_what_is_equal_in_another_form_is_accepted(tmp_path, net):
    path = one(tmp_path, layer("ReLU", "relu", "first", max_value=6.0), padding="same")
    load_keras_weights(net, path)
    x = mx.nd.random.uniform(shape=(1, 2, 9, 8))
    np.testing.assert_allclose(net(x).asnumpy(), load_model(path)(x).asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("pairs", [False, True])
def test_a_strided_layer_behind_a_linear_one_is_no_activation(tmp_path, pairs):
    second, shapes = conv("second", "first", strides=[2, 2], padding="same")
    first, _ = conv("first", "image", padding="same")
    config = functional(image(9, 8, 2), first, second)
    path = write(tmp_path, config, first=shapes, second=shapes)
    padding = ((1, 1), (0, 1)) if pairs else "same"
    load_keras_weights(sequence(nn.Conv2D(2, 3, padding=1), nn.Conv2D(2, 3, 2, padding=padding)), path)


def test_an_activation_may_stand_behind_a_max_pooling(tmp_path):
    pool = layer("MaxPooling2D", "pool", "first", pool_size=[2, 2], strides=[2, 2])
    path = one(tmp_path, pool, activation="relu")
    load_keras_weights(sequence(nn.Conv2D(2, 3), nn.MaxPool2D(2), nn.Activation("relu")), path)
    with pytest.raises(ValueError, match="activation"):
        load_keras_weights(sequence(nn.Conv2D(2, 3), nn.MaxPool2D(2), nn.ReLU6()), path)


class Residual(HybridBlock):
    def __init__(self, activation):
        super().__init__()
        self.conv, self.norm = nn.Conv2D(2, 3, padding="same"), nn.BatchNorm(momentum=0.99, epsilon=1e-3)
        self.kind = activation

    def hybrid_forward(self, F, x):
        return getattr(F, self.kind)(x + self.norm(self.conv(x)))


def test_an_activation_behind_a_sum_is_compared(tmp_path):
    after = layer("BatchNormalization", "norm", "first", axis=[3])
    path = one(
        tmp_path,
        after,
        layer("Add", "add", "image", "norm"),
        layer("ReLU", "relu", "add"),
        padding="same",
    )
    load_keras_weights(Residual("relu"), path)
    with pytest.raises(ValueError, match="activation.*relu.*tanh"):
        load_keras_weights(Residual("tanh"), path)


def test_fix_sets_epsilon_and_momentum_in_a_hybridized_net(tmp_path):
    norm = layer("BatchNormalization", "norm", "first", axis=[3], epsilon=0.5, momentum=0.7)
    path = one(tmp_path, norm)
    net = sequence(nn.Conv2D(2, 3), stock.BatchNorm())
    net.initialize()
    net.hybridize()
    x = mx.nd.random.uniform(shape=(1, 2, 9, 8))
    net(x)
    load_keras_weights(net, path, fix=True)
    assert (net[1]._kwargs["eps"], net[1]._kwargs["momentum"]) == (0.5, 0.7)
    np.testing.assert_allclose(net(x).asnumpy(), load_model(path)(x).asnumpy(), rtol=1e-5)


def test_fix_sets_the_epsilon_of_a_layer_norm(tmp_path):
    norm = layer("LayerNormalization", "norm", "image", axis=[1], epsilon=0.25)
    path = write(tmp_path, functional(image(4), norm), norm=dict(gamma=(4,), beta=(4,)))
    net = sequence(nn.LayerNorm())
    with pytest.raises(ValueError, match="epsilon +0.25 +1e-05"):
        load_keras_weights(net, path)
    load_keras_weights(net, path, fix=True)
    x = mx.nd.random.uniform(shape=(3, 4))
    np.testing.assert_allclose(net(x).asnumpy(), load_model(path)(x).asnumpy(), rtol=1e-5)


def test_a_factor_that_the_net_ignores_is_named(tmp_path):
    path = one(tmp_path, layer("BatchNormalization", "norm", "first", axis=[3]))
    net = sequence(nn.Conv2D(2, 3), nn.BatchNorm(scale=False, epsilon=1e-3, momentum=0.99))
    with pytest.raises(ValueError, match="scale +True +False"):
        load_keras_weights(net, path)


@pytest.mark.parametrize("padding, fits", [("same", True), (0, False)])
def test_poolings_are_compared(tmp_path, padding, fits):
    pool = layer("MaxPooling2D", "pool", "first", pool_size=[2, 2], strides=[2, 2], padding="same")
    path = one(tmp_path, pool)
    net = sequence(nn.Conv2D(2, 3), nn.MaxPool2D(2, padding=padding))
    if fits:
        load_keras_weights(net, path)
    else:
        with pytest.raises(ValueError, match="padding"):
            load_keras_weights(net, path)


def test_a_transposed_convolution_is_compared(tmp_path):
    up = layer(
        "Conv2DTranspose", "up", "image", filters=2, kernel_size=[3, 3], strides=[2, 2], padding="same"
    )
    path = write(tmp_path, functional(image(9, 8, 2), up), up={"kernel": (3, 3, 2, 2), "bias": (2,)})
    load_keras_weights(sequence(nn.Conv2DTranspose(2, 3, 2, padding="same")), path)
    load_keras_weights(sequence(nn.Conv2DTranspose(2, 3, 2, padding=((0, 1), (0, 1)))), path)
    with pytest.raises(ValueError, match="padding"):
        load_keras_weights(sequence(nn.Conv2DTranspose(2, 3, 2, padding=1, output_padding=1)), path)


@pytest.mark.parametrize("dense", [False, True])
def test_a_dense_layer_and_a_convolution_of_one_element_exchange_kernels(tmp_path, dense):
    if dense:
        last = layer("Dense", "last", "image", units=3)
        path = write(tmp_path, functional(image(2), last), last={"kernel": (2, 3), "bias": (3,)})
        net, x = sequence(nn.Conv2D(3, 1), nn.Flatten()), mx.nd.random.uniform(shape=(2, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the inputs of the two nets have different ranks
            load_keras_weights(net, path)
        got = net(x.reshape((2, 2, 1, 1)))
    else:
        last, _ = conv("last", "image", filters=3, kernel=1)
        shapes = {"kernel": (1, 1, 2, 3), "bias": (3,)}
        path = write(tmp_path, functional(image(1, 1, 2), last), last=shapes)
        net, x = sequence(nn.Dense(3)), mx.nd.random.uniform(shape=(2, 2, 1, 1))
        load_keras_weights(net, path)
        got = net(x)
    want = load_model(path)(x).asnumpy()
    np.testing.assert_allclose(got.asnumpy().reshape(want.shape), want, rtol=1e-5)


def test_what_cannot_be_compared_is_loaded_with_a_warning(tmp_path):
    path = one(tmp_path, layer("Mystery", "odd", "first"))
    with pytest.warns(UserWarning, match="what the layers compute is not compared: .*"):
        load_keras_weights(sequence(nn.Conv2D(2, 3)), path)


def test_weights_alone_are_loaded_without_a_comparison(tmp_path):
    load_keras_weights(sequence(nn.Conv2D(2, 3)), one(tmp_path, strides=[2, 2])[1])


def test_fix_is_true_or_false(tmp_path):
    with pytest.raises(TypeError, match="fix='yes' is neither True nor False"):
        load_keras_weights(sequence(nn.Conv2D(2, 3)), one(tmp_path), fix="yes")


def test_the_files_of_the_notebook_are_those_that_are_written_here(tmp_path):
    golden = Path(__file__).parents[2] / "notebooks" / "golden"
    text, weights = mobilenet(tmp_path)
    assert (golden / "mobilenet.json").read_text() == Path(text).read_text()
    want, got = (
        load_model((text, path)).collect_params() for path in (weights, golden / "mobilenet.weights.h5")
    )
    for one, other in zip(want.values(), got.values()):
        np.testing.assert_array_equal(one.data().asnumpy(), other.data().asnumpy())
