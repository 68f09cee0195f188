import os
import struct

import mxnet as mx
import numpy as np
import pytest
from darknet_files import features_shapes, file_of, header, random_weights, yolov3_tiny_shapes

from gluon_same import nn, specialize
from gluon_same.model_zoo import load_darknet_weights, tiny_darknet, yolov3_tiny

SHAPES = [((4, 3, 3, 3), True), ((6, 4, 1, 1), True), ((5, 6, 1, 1), False)]


def make_net(**kwargs):
    net = nn.HybridSequential(prefix="small_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, padding="same", use_bias=False, **kwargs), nn.BatchNorm())
        net.add(nn.LeakyReLU(0.1), nn.MaxPool2D(2, 1, padding="same"))
        net.add(nn.Conv2D(6, 1, use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.1))
        net.add(nn.Conv2D(5, 1))
    return net


@pytest.fixture
def layers():
    return random_weights(SHAPES)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "small.weights"


def numbers(net):
    """Return the arrays of a small net in the order of the file."""
    found = []
    for conv, norm in ((net[0], net[1]), (net[4], net[5])):
        arrays = (norm.beta, norm.gamma, norm.running_mean, norm.running_var, conv.weight)
        found.append([parameter.data().asnumpy() for parameter in arrays])
    return [*found, [net[7].bias.data().asnumpy(), net[7].weight.data().asnumpy()]]


def assert_holds(net, layers):
    for have, want in zip(numbers(net), layers):
        for a, b in zip(have, want):
            np.testing.assert_array_equal(a, b)


def uninitialized(net):
    return net


def deferred(net):
    net.initialize()
    return net


def ready(net):
    net.initialize()
    net(mx.nd.ones((1, 3, 8, 8)))
    return net


def hybridized(net):
    ready(net).hybridize()
    net(mx.nd.ones((1, 3, 8, 8)))
    return net


def specialized(net):
    net.initialize()
    specialize(net, (1, 3, 8, 9))(mx.nd.ones((1, 3, 8, 9)))
    return net


@pytest.mark.parametrize("minor", [1, 2, 5])
@pytest.mark.parametrize("state", [uninitialized, deferred, ready, hybridized, specialized])
def test_reads_both_headers_into_a_net_of_any_state(state, minor, path, layers):
    path.write_bytes(file_of(layers, minor))
    net = state(make_net())
    load_darknet_weights(net, path)
    assert_holds(net, layers)
    x = mx.nd.random.uniform(shape=(1, 3, 8, 9))
    other = ready(make_net())
    load_darknet_weights(other, str(path))
    np.testing.assert_allclose(net(x).asnumpy(), other(x).asnumpy(), rtol=1e-5, atol=1e-6)


def test_a_specialized_block_has_the_weights_of_its_net(path, layers):
    path.write_bytes(file_of(layers, 2))
    net, x = ready(make_net()), mx.nd.random.uniform(shape=(1, 3, 8, 9))
    block = specialize(net, x.shape)
    block(x)
    load_darknet_weights(net, path)
    np.testing.assert_allclose(block(x).asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-6)


def test_reads_the_whole_detector(tmp_path):
    layers = random_weights(yolov3_tiny_shapes(classes=2))
    path = tmp_path / "yolo.weights"
    path.write_bytes(file_of(layers))
    net = yolov3_tiny(classes=2)
    load_darknet_weights(net, path)
    maps = net.maps
    np.testing.assert_array_equal(maps.features.features[0].weight.data().asnumpy(), layers[0][4])
    np.testing.assert_array_equal(maps.features.features[25].running_var.data().asnumpy(), layers[6][3])
    for block, layer in ((maps.neck, 7), (maps.coarse, 8), (maps.lateral, 10), (maps.fine, 11)):
        np.testing.assert_array_equal(block[0].weight.data().asnumpy(), layers[layer][4])
    np.testing.assert_array_equal(maps.fine[3].bias.data().asnumpy(), layers[12][0])
    with pytest.raises(ValueError, match="features_conv6.*too many|continues after the last layer"):
        load_darknet_weights(tiny_darknet(), path)
    other = yolov3_tiny(classes=3)
    with pytest.raises(ValueError, match="coarse_conv1|fine_conv"):
        load_darknet_weights(other, path)


def test_reads_into_a_net_that_has_run(tmp_path):
    # oneDNN has changed the memory layout of the weights by then.
    layers = random_weights(features_shapes())
    path = tmp_path / "features.weights"
    path.write_bytes(file_of(layers))
    x = mx.nd.random.uniform(shape=(1, 3, 32, 32))
    net, fresh = tiny_darknet(ctx=mx.cpu()), tiny_darknet()
    for _ in range(2):
        net(x)[1].wait_to_read()
        load_darknet_weights(net, path)
    load_darknet_weights(fresh, path)
    for got, want in zip(net(x), fresh(x)):
        np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())


def test_first_layer_may_have_known_channels(path):
    layers = random_weights([((4, 1, 3, 3), True), *SHAPES[1:]])
    path.write_bytes(file_of(layers))
    net = make_net(in_channels=1)
    load_darknet_weights(net, path)
    assert_holds(net, layers)


def test_numpy_mode(numpy_mode, path, layers):
    path.write_bytes(file_of(layers))
    net = deferred(make_net())
    load_darknet_weights(net, path)
    assert_holds(net, layers)


@pytest.mark.parametrize("state", [uninitialized, deferred, ready])
@pytest.mark.parametrize(
    "spoil, told",
    [
        (lambda data: b"", "no Darknet header: 12 bytes are required and 0 were found"),
        (lambda data: data[:14], "ends in its header: 20 bytes expected, 14 found"),
        (lambda data: data[:20], "conv0: beta .* 16 bytes expected from byte 20 on, 0 found"),
        (lambda data: data[:-1], r"conv2: weights of shape \(5, 6, 1, 1\), 120 .* 119 found"),
        (lambda data: data[:520], "conv1: beta .* 24 bytes expected from byte 516 on, 4 found"),
        (lambda data: data + b"\0", "last layer, .*conv2: 848 bytes are expected and 849 were found"),
        (lambda data: b"\x89PNG\r\n\x1a\n" + data, "no Darknet header"),
        (lambda data: struct.pack("<QQ", 0x112, 0) + data, "no Darknet header"),
        (lambda data: b"PK\x03\x04" + data, "no Darknet header"),
        (lambda data: header() + b"\xff" * (len(data) - 20), "conv0 that are not finite"),
        (
            lambda data: header() + struct.pack("<f", -1) * (len(data) // 4 - 5),
            "variance below 0 .*conv0",
        ),
    ],
)
def test_another_file_is_refused_and_the_net_does_not_change(spoil, told, state, path, layers):
    path.write_bytes(spoil(file_of(layers)))
    net = state(make_net())
    shapes = [p.shape for p in net.collect_params().values()]
    before = numbers(net) if state is ready else None
    with pytest.raises(ValueError, match=told) as refusal:
        load_darknet_weights(net, path)
    assert str(path) in str(refusal.value)
    assert [p.shape for p in net.collect_params().values()] == shapes
    if before:
        assert_holds(net, before)
    elif state is deferred:
        assert net(mx.nd.ones((1, 3, 8, 8))).shape == (1, 5, 8, 8)


def test_a_missing_file_and_a_directory_raise_os_error(tmp_path):
    net = deferred(make_net())
    with pytest.raises(FileNotFoundError, match="missing"):
        load_darknet_weights(net, tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        load_darknet_weights(net, tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_is_refused_without_reading_it(path):
    os.mkfifo(str(path))
    with pytest.raises(ValueError, match="is a pipe"):
        load_darknet_weights(make_net(), path)


def test_numbers_beyond_the_dtype_of_the_net_are_refused(path):
    path.write_bytes(struct.pack("<3iq3f", 0, 2, 0, 0, 0.5, 3, 1e38))
    net = nn.Conv2D(1, 1, in_channels=2)
    net.cast("float16")
    with pytest.raises(ValueError, match=r"weights of 1e\+38 .* exceeds float16"):
        load_darknet_weights(net, path)


def sequence(*blocks):
    net = nn.HybridSequential()
    net.add(*blocks)
    return net


@pytest.mark.parametrize(
    "net, told",
    [
        (sequence(nn.Dense(3)), "Dense"),
        (sequence(nn.BatchNorm()), "BatchNorm"),
        (sequence(nn.Conv2D(3, 1, in_channels=3), nn.BatchNorm()), "use_bias=False"),
        (sequence(nn.Conv2D(3, 1, in_channels=3, use_bias=False)), "neither a bias"),
        (sequence(nn.Conv1D(3, 1)), "Conv1D"),
        (sequence(nn.Activation("relu")), "no convolutions"),
        (sequence(nn.Conv2D(3, 1, in_channels=3), nn.Dense(2)), "Dense"),
    ],
)
def test_a_net_without_a_darknet_file_format_is_refused(net, told, path, layers):
    path.write_bytes(file_of(layers))
    with pytest.raises(ValueError, match=told):
        load_darknet_weights(net, path)


def test_a_net_that_is_not_a_block_is_refused(path):
    with pytest.raises(TypeError, match="net='yolo' is not a Gluon Block"):
        load_darknet_weights("yolo", path)


def test_parameters_are_on_the_requested_context(path, layers):
    path.write_bytes(file_of(layers))
    net = make_net()
    load_darknet_weights(net, path, ctx=[mx.cpu(0), mx.cpu(1)])
    assert net[0].weight.list_ctx() == [mx.cpu(0), mx.cpu(1)]
