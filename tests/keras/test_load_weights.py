"""Weights of Keras files in nets that a user wrote."""

import h5py
import mxnet as mx
import numpy as np
import pytest
from small_models import conv, functional, image, layer, write

from gluon_same import nn
from gluon_same.keras import load_keras_weights, load_model
from goldens import ARCHIVES, Golden, differences, stems


def flatten_dense():
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(3, 2, padding="same", activation="relu"),
        nn.MaxPool2D(2),
        nn.Flatten(),
        nn.Dense(4, activation="relu"),
        nn.Dense(3),
    )
    return net


def sequential():
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3, strides=2, padding="same", use_bias=False),
        nn.BatchNorm(momentum=0.9, epsilon=0.01),
        nn.ReLU6(),
        nn.DepthwiseConv2D(3, padding="same"),
        nn.GlobalAvgPool2D(),
        nn.Dense(3),
        nn.HybridLambda("softmax"),
    )
    return net


def cases():
    """Return each file of the two models, and each file that contains only weights."""
    for archive in ARCHIVES:
        for make in (flatten_dense, sequential):
            for ending in stems(archive).get(make.__name__, ()):
                if not ending.endswith(("npz", "json")):
                    yield archive, make, ending, False
                if ending in ("weights.h5", "legacy.h5"):
                    yield archive, make, ending, True


@pytest.mark.parametrize("archive, make, ending, alone", list(cases()))
def test_the_net_computes_what_keras_does(tmp_path, archive, make, ending, alone):
    model = Golden(archive, make.__name__, ending, tmp_path)
    net = make()
    load_keras_weights(net, model.path[1] if alone else model.path)
    for inputs, outputs in model.runs():
        expected = {key: model.first(value) for key, value in outputs.items()}
        got = net(*(mx.nd.array(model.first(x)) for x in inputs)).asnumpy()
        assert differences([got], expected) == {}


@pytest.fixture
def path(tmp_path):
    first, shapes = conv("first", "image")
    config = functional(
        image(4, 5, 2),
        first,
        layer("Flatten", "flat", "first"),
        layer("Dense", "dense", "flat", units=2),
    )
    return write(tmp_path, config, first=shapes, dense={"kernel": (12, 2), "bias": (2,)})


def small(channels=2, units=2):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(channels, 3), nn.Dense(units))
    return net


def test_dense_flattens_in_keras_order_without_a_flatten(path):
    net = small()
    load_keras_weights(net, path)
    kernel = np.arange(12).reshape(2, 3, 2)  # rows, columns, channels: the row of Keras' kernel
    flat = mx.nd.array(kernel.transpose(2, 0, 1).reshape(1, 12))
    with h5py.File(path[1]) as file:
        dense = file["dense"]["dense"]
        want = kernel.reshape(1, 12) @ dense["kernel:0"][()] + dense["bias:0"][()]
    got = mx.nd.FullyConnected(flat, net[1].weight.data(), net[1].bias.data(), num_hidden=2)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5)


def test_a_file_of_weights_requires_the_input_shape_after_a_flatten(path):
    with pytest.raises(ValueError, match="give input_shape"):
        load_keras_weights(small(), path[1])
    one, other = small(), small()
    load_keras_weights(one, path[1], input_shape=(1, 2, 4, 5))
    load_keras_weights(other, path)
    x = mx.nd.random.uniform(shape=(1, 2, 4, 5))
    np.testing.assert_array_equal(one(x).asnumpy(), other(x).asnumpy())


def test_other_numbers_of_layers_show_both_sides(path):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3), nn.BatchNorm(), nn.Dense(2))
    with pytest.raises(ValueError) as error:
        load_keras_weights(net, path)
    lines = str(error.value).splitlines()
    assert "the numbers of layers differ" in lines[0]
    assert [" ".join(line.split()) for line in lines[1:]] == [
        f"{net[0].name} (Conv2D: 2x?x3x3, 2) first (kernel 3x3x2x2, bias 2)",
        f"{net[1].name} (BatchNorm: ?, ?, ?, ?) dense (kernel 12x2, bias 2)",
        f"{net[2].name} (Dense: 2x?, 2) -",
    ]


def test_shapes_that_differ_show_both_sides_and_leave_the_net(path):
    net = small(units=3)
    net.initialize()
    net(mx.nd.ones((1, 2, 4, 5)))
    before = net[0].weight.data().asnumpy()
    with pytest.raises(
        ValueError, match=r"kernel of dense has shape \(12, 2\).*dense\d+_weight has \(3, 12\)"
    ):
        load_keras_weights(net, path)
    np.testing.assert_array_equal(net[0].weight.data().asnumpy(), before)


def test_a_layer_that_keras_does_not_have_is_named(path):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3), nn.InstanceNorm())
    with pytest.raises(ValueError, match="no Keras layer corresponds to it"):
        load_keras_weights(net, path)


def test_what_is_no_block_is_refused(path):
    with pytest.raises(TypeError, match="is not a Gluon Block"):
        load_keras_weights(3, path)


@pytest.mark.parametrize("order", ["channels_first", "channels_last"])
@pytest.mark.parametrize("more", [{}, {"input_shape": (1, 2, 4, 5)}])
def test_models_with_channels_first_are_flattened_as_keras_does(tmp_path, order, more):
    first, _ = conv("first", "image", data_format="channels_first", padding="same", filters=3)
    flat = layer("Flatten", "flat", "first", data_format=order)
    config = functional(image(2, 4, 5), first, flat, layer("Dense", "dense", "flat", units=2))
    arrays = {"kernel": (3, 3, 2, 3), "bias": (3,)}
    path = write(tmp_path, config, first=arrays, dense={"kernel": (60, 2), "bias": (2,)})
    net = nn.HybridSequential()
    net.add(nn.Conv2D(3, 3, padding="same"), nn.Flatten(), nn.Dense(2))
    load_keras_weights(net, path, **more)
    x = mx.nd.random.normal(shape=(2, 2, 4, 5))
    np.testing.assert_allclose(net(x).asnumpy(), load_model(path)(x).asnumpy(), 1e-4, 1e-5)
