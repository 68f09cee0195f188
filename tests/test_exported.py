"""Use nets as in production: nested, exported, imported by another process, in threads."""

import subprocess
import sys
import threading

import mxnet as mx
import numpy as np
from mxnet import gluon

from gluon_same import _compat, functional, nn


class Residual(nn.HybridBlock):
    def __init__(self, channels, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(
                nn.Conv2D(channels, 3, 2, "same"), nn.BatchNorm(), nn.Conv2D(channels, 2, 1, "same")
            )
            self.short = nn.AvgPool2D(3, 2, "same")

    def hybrid_forward(self, F, x):
        return F.concat(self.body(x), self.short(x), dim=1)


def make_net():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(Residual(4), Residual(6), nn.MaxPool2D(3, 2, "same"), nn.Conv2D(3, 3, 3, "same"))
    net.initialize(mx.init.Xavier())
    return net


SIZES = [(40, 41), (33, 20), (16, 17), (64, 50)]


def close(a, b):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)


def test_one_hybridized_graph_serves_every_size():
    net = make_net()
    inputs = [mx.nd.random.normal(shape=(1, 3, *size)) for size in SIZES]
    eager = [net(x) for x in inputs]
    net.hybridize(static_alloc=True, static_shape=True)
    for x, want in list(zip(inputs, eager)) * 2:
        close(net(x), want)


def test_one_exported_graph_serves_every_size_in_a_process_without_this_package(tmp_path):
    net = make_net()
    inputs = [mx.nd.random.normal(shape=(1, 3, *size)) for size in SIZES]
    wants = [net(x) for x in inputs]
    net.hybridize()
    net(inputs[0])
    net.export(str(tmp_path / "net"))
    mx.nd.save(str(tmp_path / "inputs"), inputs)
    program = """
import runpy, sys
runpy.run_path(sys.argv[1])  # lets MXNet run with this NumPy
import mxnet as mx
block = mx.gluon.SymbolBlock.imports("net-symbol.json", ["data"], "net-0000.params")
mx.nd.save("outputs", [block(x) for x in mx.nd.load("inputs")])
assert not [name for name in sys.modules if name.startswith("gluon_same")]
"""
    subprocess.run([sys.executable, "-c", program, _compat.__file__], cwd=tmp_path, check=True)
    for got, want in zip(mx.nd.load(str(tmp_path / "outputs")), wants):
        close(got, want)


def test_a_symbol_block_inside_a_hybridized_net():
    net = make_net()
    x = mx.nd.random.normal(shape=(1, 3, 40, 41))
    want = net(x)
    data = mx.sym.var("data")
    inner = gluon.SymbolBlock(net(data), data, params=net.collect_params())
    outer = nn.HybridSequential()
    outer.add(inner, nn.MaxPool2D(2, 1, padding="same"))
    outer.hybridize()
    close(outer(x), functional.pooling(mx.nd, want, kernel=2))


def test_threads_with_separate_nets():
    # One hybridized net that several threads share can deadlock, also in stock MXNet.
    nets = [make_net() for _ in SIZES]
    for net in nets:
        net.hybridize()
    inputs = [mx.nd.random.normal(shape=(1, 3, *size)) for size in SIZES]
    wants = [net(x).asnumpy() for net, x in zip(nets, inputs)]
    failures = []

    def work(net, x, want):
        try:
            for _ in range(10):
                np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-4, atol=1e-5)
        except Exception as error:  # pytest does not report errors of threads
            failures.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(nets, inputs, wants)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_functions_in_a_custom_block():
    class Mine(nn.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.weight = self.params.get("weight", shape=(4, 3, 3, 3))

        def hybrid_forward(self, F, x, weight):
            y = functional.convolution(F, x, weight, kernel=(3, 3), num_filter=4, stride=2)
            return functional.pooling(F, y, kernel=(2, 2))

    net = Mine()
    net.initialize(mx.init.Xavier())
    inputs = [mx.nd.random.normal(shape=(1, 3, *size)) for size in SIZES]
    eager = [net(x) for x in inputs]
    net.hybridize()
    for x, want in zip(inputs, eager):
        close(net(x), want)


def test_a_net_learns_hybridized_as_eager():
    losses = []
    for hybridize in (False, True):
        mx.random.seed(1)
        np.random.seed(1)
        net = make_net()
        if hybridize:
            net.hybridize()
        x = mx.nd.random.normal(shape=(4, 3, 20, 21))
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
        found = []
        for _ in range(6):
            with mx.autograd.record():
                loss = (net(x) - 1).square().mean()
            loss.backward()
            trainer.step(1)
            found.append(loss.asscalar())
        losses.append(found)
    np.testing.assert_allclose(*losses, rtol=1e-3)
    assert losses[0][-1] < 0.9 * losses[0][0]


def test_numpy_mode_equals_classic_mode():
    arrays = [np.random.standard_normal((1, 3, *size)).astype("float32") for size in SIZES]
    mx.npx.set_np()
    try:
        net = nn.HybridSequential()
        net.add(nn.Conv2D(4, 3, 2, "same"), nn.AvgPool2D(3, 2, "same"), nn.Conv2D(2, 2, 1, "same"))
        net.initialize(mx.init.Xavier())
        eager = [net(mx.np.array(x)).asnumpy() for x in arrays]
        net.hybridize()
        for x, want in zip(arrays, eager):
            got = net(mx.np.array(x))
            assert isinstance(got, mx.np.ndarray)
            np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-5)
        values = [p.data().asnumpy() for p in net.collect_params().values()]
    finally:
        mx.npx.reset_np()
    classic = nn.HybridSequential()
    classic.add(nn.Conv2D(4, 3, 2, "same"), nn.AvgPool2D(3, 2, "same"), nn.Conv2D(2, 2, 1, "same"))
    classic.initialize()
    for x, want in zip(arrays, eager):
        classic(mx.nd.array(x))
        for p, value in zip(classic.collect_params().values(), values):
            p.set_data(mx.nd.array(value))
        np.testing.assert_allclose(classic(mx.nd.array(x)).asnumpy(), want, rtol=1e-4, atol=1e-5)
