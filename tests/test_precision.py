"""Apply MXNet's graph passes to nets with SAME blocks: fusion, int8 and bfloat16."""

import json
import subprocess
import sys

import mxnet as mx
import numpy as np
import pytest
from mxnet.contrib import amp, quantization
from mxnet.gluon.data import ArrayDataset, DataLoader

from gluon_same import nn, specialize


def convolution(channels, kernel=3, strides=1):
    block = nn.HybridSequential()
    block.add(
        nn.Conv2D(channels, kernel, strides, "same", use_bias=False),
        nn.BatchNorm(momentum=0),
        nn.LeakyReLU(0.1),
    )
    return block


def make_net(first=1, *stem):
    """Return a small, untrained TinyDarkNet, whose classes have nearly equal scores.

    ``first`` is the stride of its first layer, after the stem.
    """
    net = nn.HybridSequential()
    net.add(*stem)
    for channels in (16, 32, 64):
        net.add(convolution(channels, 3, first), nn.MaxPool2D(2, 2, padding="same"))
        first = 1
    net.add(convolution(64), nn.MaxPool2D(2, 1, padding="same"), convolution(64))
    net.add(nn.Conv2D(10, 1), nn.GlobalAvgPool2D(), nn.Flatten())
    net.add(nn.BatchNorm(momentum=0))  # centers the scores, so that all classes occur
    net.initialize(mx.init.Xavier(magnitude=3))
    net(images(1))
    with mx.autograd.record():  # sets the running averages to those of one batch
        out = net(images(64))
    out.backward()  # MXNet updates the averages here
    net.hybridize()
    net(images(1))
    return net


def strided(channels=8):
    """Return a net whose second convolution is strided, so that a plan may change its input."""
    return make_net(2, convolution(channels))


def images(count, size=(64, 64)):
    """Return smoothed noise, in which neighboring pixels are similar."""
    coarse = mx.nd.random.uniform(shape=(count, 3, 8, 8))
    return mx.nd.contrib.BilinearResize2D(coarse, height=size[0], width=size[1])


def nodes(symbol):
    return json.loads(symbol.tojson(remove_amp_cast=False))["nodes"]


def operators(symbol):
    return [node["op"] for node in nodes(symbol) if node["op"] != "null"]


def compare(what, got, want, record):
    """Print and return the share of equal classes and the mean error relative to the mean."""
    got, want = got.astype("float32").asnumpy(), want.asnumpy()
    agreement = float((got.argmax(axis=1) == want.argmax(axis=1)).mean())
    error = float(abs(got - want).mean() / abs(want).mean())
    assert len(set(want.argmax(axis=1))) > 3  # otherwise equal classes would prove nothing
    record(f"{what}, top-1 agreement", agreement)
    record(f"{what}, mean error", error)
    print(f"{what}: top-1 agreement {agreement:.3f}, mean relative error {error:.4f}")
    return agreement, error


def fused(symbol):
    """Return the operators inside of each fused convolution."""
    return [
        [inner["op"] for inner in node["subgraphs"][0]["nodes"] if inner["op"] != "null"]
        for node in nodes(symbol)
        if node["op"] == "_sg_mkldnn_conv"
    ]


BLOCK = ["Convolution", "BatchNorm", "LeakyReLU"]


@pytest.mark.parametrize("fuse", ["get_backend_symbol", "optimize_for"])
@pytest.mark.parametrize("first", [1, 2])
def test_convolution_normalization_and_activation_are_fused(fuse, first):
    net = make_net(first)
    symbol = getattr(net(mx.sym.var("data")), fuse)("MKLDNN")
    assert fused(symbol) == [BLOCK] * 5 + [["Convolution"]]
    assert operators(symbol).count("BatchNorm") == 1  # the one that centers the scores
    assert not {"Convolution", "LeakyReLU"} & set(operators(symbol))


@pytest.mark.parametrize("channels", [6, 8])
def test_the_fused_net_equals_the_net(channels):
    net = strided(channels)
    arrays = [images(2), images(2, (40, 51)), images(1, (33, 32))]
    wants = [net(x) for x in arrays]
    net.optimize_for(arrays[0], backend="MKLDNN")
    for x, want in [*zip(arrays, wants)] * 2:  # cached weights must not depend on the size
        np.testing.assert_allclose(net(x).asnumpy(), want.asnumpy(), rtol=1e-3, atol=1e-4)


def to_int8(net, dtype="auto", mode="naive"):
    calibration = DataLoader(ArrayDataset(images(32), mx.nd.zeros(32)), batch_size=16)
    return quantization.quantize_net(
        net,
        quantized_dtype=dtype,
        calib_mode=mode,
        calib_data=calibration,
        num_calib_examples=32,
        ctx=mx.cpu(),
    )


def assert_int8(quantized, net, what, record):
    x = images(128)
    found = compare(f"int8 {what}", quantized(x), net(x), record)
    assert found[0] >= 0.8 and found[1] <= 0.2
    found = [node for node in nodes(quantized(mx.sym.var("data"))) if node["op"] == "_sg_mkldnn_conv"]
    assert len(found) == operators(net(mx.sym.var("data"))).count("Convolution") and all(
        node["attrs"].get("quantized") == "true" for node in found
    )


@pytest.mark.usefixtures("exact_int8")
@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("dtype", ["auto", "int8"])
@pytest.mark.parametrize("mode", ["naive", "entropy"])
@pytest.mark.filterwarnings("ignore")  # deprecation warnings of MXNet
def test_int8(first, dtype, mode, record_property):
    net = make_net(first)
    quantized = to_int8(net, dtype, mode)
    assert_int8(quantized, net, f"{dtype} {mode}, first stride {first}", record_property)


@pytest.mark.usefixtures("exact_int8")
@pytest.mark.filterwarnings("ignore")
def test_int8_of_a_net_that_pads_its_input(record_property):
    net = strided()
    quantized = to_int8(net)
    assert_int8(quantized, net, "strided", record_property)
    x = images(128, (50, 43))  # their padding differs from that of the calibration
    found = compare("int8 strided, at 50x43", quantized(x), net(x), record_property)
    assert found[0] >= 0.8 and found[1] <= 0.2
    quantized = to_int8(specialize(net, (1, 3, 64, 64)))
    assert_int8(quantized, net, "strided, fixed", record_property)


@pytest.mark.usefixtures("exact_int8")
@pytest.mark.filterwarnings("ignore")
def test_int8_of_a_specialized_net(record_property):
    # MXNet passes all items of the loader to the net, including labels, and drops the last one while the
    # net raises a TypeError.
    net = make_net(2)
    quantized = to_int8(specialize(net, (1, 3, 64, 64)))
    assert_int8(quantized, net, "specialized", record_property)


def to_bfloat16(net, **kwargs):
    return amp.convert_hybrid_block(net, target_dtype="bfloat16", ctx=mx.cpu(), **kwargs)


@pytest.mark.usefixtures("bfloat16")
@pytest.mark.parametrize("first", [1, 2])
def test_bfloat16(first, record_property):
    net = make_net(first)
    converted = to_bfloat16(net)
    assert operators(converted(mx.sym.var("data"))).count("amp_cast") > 1
    for size in [(64, 64), (48, 52)]:
        x = images(64, size)
        found = compare(
            f"bfloat16 at {size}, first stride {first}", converted(x), net(x), record_property
        )
        assert found[0] >= 0.9 and found[1] <= 0.08


@pytest.mark.usefixtures("bfloat16")
def test_bfloat16_of_a_strided_convolution_for_every_size(record_property):
    for net in (strided(6), strided(8)):
        converted = to_bfloat16(net)
        for size in [(64, 64), (50, 43)]:
            x = images(64, size)
            found = compare(f"bfloat16, strided, at {size}", converted(x), net(x), record_property)
            assert found[0] >= 0.9 and found[1] <= 0.08


@pytest.mark.usefixtures("bfloat16")
def test_bfloat16_of_a_specialized_net(record_property):
    x = images(64)
    net = specialize(strided(), x.shape)
    net(x)
    found = compare("bfloat16, specialized", to_bfloat16(net)(x), net(x), record_property)
    assert found[0] >= 0.9 and found[1] <= 0.08


AMP = """
import gluon_same, mxnet as mx
from gluon_same import nn
from mxnet.contrib import amp


def make():
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(8, 2, padding="same"),
        nn.Conv2D(8, 3, 2, "same"),
        nn.Conv2D(8, 3, 2, "same", groups=8),
        nn.MaxPool2D(2, 1, padding="same"),
        nn.MaxPool2D(3, 2, padding="same"),
        nn.AvgPool2D(2, 1, padding="same"),
        nn.Conv2D(4, 4, padding="same"),
    )
    net.initialize()
    return net


mx.random.seed(1)
x = mx.nd.random.uniform(shape=(2, 3, 19, 24))
exact = make()
want = exact(x).asnumpy()

amp.init("bfloat16")
net = make()
net(x)
for old, new in zip(exact.collect_params().values(), net.collect_params().values()):
    new.set_data(old.data())
layers = net
{make}
for layer in layers:
    x = layer(x)
    assert x.dtype == amp.amp.bfloat16, (layer, x.dtype)
error = abs(mx.nd.amp_cast(x, dtype="float32").asnumpy() - want).max() / abs(want).max()
assert error < 0.03, error
"""


@pytest.mark.usefixtures("bfloat16")
@pytest.mark.parametrize(
    "make", ["", "net.hybridize()", "layers = [gluon_same.specialize(net, x.shape)]"]
)
def test_mixed_precision_keeps_bfloat16_between_layers(make):
    script = AMP.format(make=make)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
