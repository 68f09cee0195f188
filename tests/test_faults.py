"""Faults and crashes of MXNet that the blocks avoid."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from functools import partial

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd

import gluon_same
from gluon_same import deploy, functional, nn, specialize
from gluon_same.onnx import export_model
from small_nets import make_net, normal

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(gluon_same.__file__)))

TRANSPOSED = {1: nn.Conv1DTranspose, 2: nn.Conv2DTranspose, 3: nn.Conv3DTranspose}


@pytest.mark.parametrize("ndim", [1, 2])
@pytest.mark.parametrize("padding, size", [("same", 6), (0, 7)])
def test_a_dilated_and_strided_transposed_convolution_is_refused_in_float64(ndim, padding, size):
    layer = TRANSPOSED[ndim](1, 2, strides=2, dilation=2, padding=padding, use_bias=False)
    layer.initialize(mx.init.One())
    x = mx.nd.arange(1, 4).reshape((1, 1, *(1,) * (ndim - 1), 3))
    assert layer(x).shape[-1] == size
    layer.cast("float64")
    for hybridize in (False, True):
        layer.hybridize(hybridize)
        with pytest.raises(ValueError, match=r"stride=.* does not support float64: .* Use float32"):
            layer(x.astype("float64"))


@pytest.mark.parametrize("window", [dict(stride=2), dict(dilate=2), dict(kernel=1, stride=2, dilate=2)])
def test_other_transposed_convolutions_serve_float64(window):
    window = {"kernel": 2, **window}
    x = mx.nd.random.normal(shape=(1, 2, 5, 6), dtype="float64")
    w = mx.nd.random.normal(shape=(2, 3, window["kernel"], window["kernel"]), dtype="float64")
    want = functional.deconvolution(
        mx.nd, x.astype("float32"), w.astype("float32"), num_filter=3, **window
    )
    got = functional.deconvolution(mx.nd, x, w, num_filter=3, **window)
    np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("padding", ["same", 0])
def test_a_transposed_convolution_over_three_axes_is_refused_in_float64(padding):
    layer = nn.Conv3DTranspose(2, 2, strides=2, padding=padding, in_channels=2)
    layer.initialize()
    layer.cast("float64")
    with pytest.raises(ValueError, match="over 3 axes does not support float64.*Use float32"):
        layer(mx.nd.ones((1, 2, 3, 3, 3), dtype="float64"))
    assert mx.nd.ones((2,)).sum().asscalar() == 2  # the next call works


@pytest.mark.parametrize("prepare", ["eager", "hybridized", "specialized", "every size"])
@pytest.mark.parametrize("record", [False, True])
def test_threads_that_each_have_a_net(prepare, record):
    shape, failures = (1, 8, 9, 8), []

    def work(seed):
        try:
            layer = nn.Conv2D(8, 3, strides=2, padding="same", groups=8, in_channels=8)
            layer.initialize()
            x = mx.nd.array(np.random.RandomState(seed).normal(size=shape))
            want = layer(x).asnumpy()
            block = layer
            with lock:  # only one thread may trace at a time, as in stock Gluon
                if prepare == "specialized":
                    block = specialize(layer, shape)
                elif prepare == "every size":
                    block = specialize(layer)
                elif prepare == "hybridized":
                    layer.hybridize()
                block(x).wait_to_read()
            for _ in range(30):
                if record:
                    with autograd.record():
                        out = block(x)
                    out.backward()
                    layer.weight.grad().wait_to_read()
                else:
                    out = block(x)
                np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-4, atol=1e-5)
        except Exception as error:
            failures.append(error)

    lock = threading.Lock()
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


@pytest.mark.parametrize("make", [specialize, partial(deploy, tune=False)], ids=["specialize", "deploy"])
def test_threads_that_share_a_block(make):
    net, data = make_net(), [normal((1, 3, 17, 16), seed) for seed in range(4)]
    want, failures = [net(x).asnumpy() for x in data], []
    block = make(net, data[0])

    def work(x, wanted):
        try:
            for _ in range(50):
                np.testing.assert_allclose(block(x).asnumpy(), wanted, rtol=1e-4, atol=1e-5)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=each, daemon=True) for each in zip(data, want)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures, failures[0]
    assert not any(thread.is_alive() for thread in threads), "a call never returned"


@pytest.mark.parametrize("prepare", ["eager", "hybridized", "specialized", "every size"])
def test_no_reference_keeps_a_net_alive(prepare, tmp_path):
    x = mx.nd.ones((1, 3, 16, 17))
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, 2, "same"), nn.BatchNorm(), nn.MaxPool2D(2, 1, padding="same"))
    net.initialize()
    block = net
    if prepare == "specialized":
        block = specialize(net, x.shape)
    elif prepare == "every size":
        block = specialize(net)
    elif prepare == "hybridized":
        net.hybridize()
    with autograd.record():
        out = block(x)
    out.backward()
    gluon_same.summary(net, x.shape)
    export_model(net, x.shape, str(tmp_path / "net.onnx"), check=False)
    held = [weakref.ref(each) for each in (block, net, *net)]
    held += [weakref.ref(parameter) for parameter in net.collect_params().values()]
    del block, net, out
    gc.collect()
    assert not [kept() for kept in held if kept() is not None]


UNDER_AMP = """
    import gluon_same
    import mxnet as mx
    from gluon_same import nn, specialize
    from mxnet.contrib import amp

    amp.init(target_dtype="bfloat16")  # cannot be undone, so this runs in a separate process
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, padding="same"), nn.Conv2D(8, 2, 2, "same"), nn.AvgPool2D(3, 2, "same"))
    net.initialize()
    x = mx.nd.ones((1, 8, 16, 16))
    shapes = [net(x).shape]
    net.hybridize()
    shapes += [net(x).shape, specialize(net, x)(x).shape, specialize(net)(x).shape]
    assert set(shapes) == {(1, 8, 4, 4)}, shapes
"""


def test_automatic_mixed_precision():
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-c", textwrap.dedent(UNDER_AMP)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
