"""Deployed nets: their numbers, their export, and the errors."""

import json
import subprocess
import sys

import mxnet as mx
import numpy as np
import pytest
from mxnet import gluon

import gluon_same
from gluon_same import _compat, nn
from gluon_same.deployment import fuse, pipeline


def make_net():
    """Return a net of strided and even windows, normalizations, sums, gates and activations."""

    class Block(nn.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.first = nn.Conv2D(16, 3, 2, "same")
                self.deep = nn.Conv2D(16, 3, 2, "same", groups=16, use_bias=False)
                self.norm, self.drop = nn.BatchNorm(), nn.Dropout(0.5)
                self.even = nn.Conv2D(16, 2, 1, "same")
                self.gate = nn.Conv2D(16, 1)

        def hybrid_forward(self, F, x):
            x = F.clip(self.norm(self.deep(F.relu(self.first(x)))), 0, 6)
            x = self.drop(x) + self.even(x)
            gate = F.hard_sigmoid(self.gate(F.mean(x, axis=(2, 3), keepdims=True)))
            x = F.broadcast_mul(x * F.sigmoid(x), gate)
            return self.even(x), F.max(x, axis=(2, 3))

    net = Block()
    net.initialize(mx.init.Xavier())
    x = mx.nd.random.normal(shape=(1, 3, 33, 34))
    with mx.autograd.record():  # fills the running averages
        net(x)
    return net, x


def deploy_globals():
    # The function hides the module of its name.
    return gluon_same.deploy.__globals__


def close(got, want):
    for a, b in zip(got, want):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), atol=1e-5 * b.abs().max().asscalar())


@pytest.mark.parametrize("tune", [False, True])
@pytest.mark.parametrize("portable", [False, True])
def test_numbers_are_those_of_the_net(tune, portable):
    net, x = make_net()
    want = net(x)
    block = gluon_same.deploy(net, x.shape, tune=tune, portable=portable)
    got = block(x)
    assert isinstance(got, tuple) and len(got) == 2
    close(got, want)
    for factor in (2, -3):  # nothing is kept from call to call
        close(block(x * factor), net(x * factor))
    assert block.report.error < 1e-5
    graph = json.loads(block._cached_graph[1].tojson())
    fused = any(node["op"].startswith("_sg_mkldnn") for node in graph["nodes"])
    assert fused == (fuse.available() and not portable) or tune
    found = [node["op"] for node in graph["nodes"]]
    assert {"Dropout", "mean", "relu"}.isdisjoint(found)
    assert found.count("BatchNorm") <= 1  # scales by the gate


def test_the_net_stays_as_it_is():
    net, x = make_net()
    net.hybridize()
    before = [y.asnumpy() for y in net(x)]
    values = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
    graph = net._cached_graph[1].tojson()
    block = gluon_same.deploy(net, x.shape, tune=False)
    assert net._cached_graph[1].tojson() == graph
    for name, p in net.collect_params().items():
        np.testing.assert_array_equal(p.data().asnumpy(), values[name])
    for p in net.collect_params().values():
        p.set_data(p.data() * 2)
    close(block(x), [mx.nd.array(y) for y in before])
    assert net(mx.nd.ones((2, 3, 40, 40)))[0].shape == (2, 16, 10, 10)


@pytest.mark.parametrize("portable", [False, True])
def test_an_exported_graph_runs_without_this_package(tmp_path, portable):
    net, x = make_net()
    block = gluon_same.deploy(net, x.shape, tune=False, portable=portable)
    block.export(str(tmp_path / "net"))
    mx.nd.save(str(tmp_path / "input"), [x])
    program = """
import runpy, sys
runpy.run_path(sys.argv[1])  # lets MXNet run with this NumPy
import mxnet as mx
block = mx.gluon.SymbolBlock.imports("net-symbol.json", ["data"], "net-0000.params")
mx.nd.save("outputs", block(*mx.nd.load("input")))
assert not [name for name in sys.modules if name.startswith("gluon_same")]
try:
    [y.wait_to_read() for y in block(mx.nd.ones((1, 3, 40, 40)))]
except mx.MXNetError as error:
    assert "deployed_for_1x3x33x34" in str(error)
else:
    raise SystemExit("another size was accepted")
"""
    subprocess.run([sys.executable, "-c", program, _compat.__file__], cwd=tmp_path, check=True)
    close(mx.nd.load(str(tmp_path / "outputs")), net(x))


def test_several_inputs_and_nested_results():
    class Two(nn.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.layer = nn.Dense(3)

        def hybrid_forward(self, F, x, y):
            return self.layer(x) + y, [self.layer(y), x]

    net = Two()
    net.initialize()
    x, y = mx.nd.ones((2, 3)), mx.nd.random.normal(shape=(2, 3))
    block = gluon_same.deploy(net, x, y.shape, tune=False)
    (a, (b, c)), (d, (e, f)) = block(x, y), net(x, y)
    close([a, b, c], [d, e, f])


def test_an_input_without_use(tmp_path):
    net = nn.HybridLambda(lambda F, x, y: F.relu(y) * F.sigmoid(y))
    x = mx.nd.random.normal(shape=(1, 3, 5, 5))
    block = gluon_same.deploy(net, (2, 3), x.shape, tune=False)
    assert fuse.available() is not any("fails" in row.note for row in block.report.rows)
    block.export(str(tmp_path / "net"))
    files = (str(tmp_path / name) for name in ("net-symbol.json", "net-0000.params"))
    loaded = mx.gluon.SymbolBlock.imports(next(files), ["data1"], next(files))
    close([block(mx.nd.ones((2, 3)), x), loaded(x)], 2 * [net(mx.nd.ones((2, 3)), x)])


def test_a_net_that_was_specialized_or_not_called_yet():
    net, x = make_net()
    close(gluon_same.deploy(gluon_same.specialize(net, x.shape), x.shape, tune=False)(x), net(x))
    layer = nn.Conv2D(4, 3, padding="same")
    layer.initialize()
    x = mx.nd.random.normal(shape=(2, 3, 5, 5))
    block = gluon_same.deploy(layer, x.shape, tune=False)
    close([block(x)], [layer(x)])


def test_stock_nets():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(4, 3, activation="relu"), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(3))
    net.initialize()
    x = mx.nd.random.normal(shape=(2, 3, 6, 6))
    block = gluon_same.deploy(net, x.shape, tune=False)
    close([block(x)], [net(x)])
    assert len([row for row in block.report.rows if row.after < row.before]) == 2


def test_every_size():
    net, x = make_net()
    block = gluon_same.deploy(net, tune=False)
    for each in (x, mx.nd.random.normal(shape=(2, 3, 20, 21)), x):
        close(block(each), net(each))
    every = gluon_same.specialize(net)
    every(x)
    close(gluon_same.deploy(every, x.shape, tune=False)(x), net(x))


def test_without_onednn_as_on_gpus(monkeypatch):
    monkeypatch.setitem(deploy_globals(), "available", lambda: False)
    net, x = make_net()
    block = gluon_same.deploy(net, x.shape)
    close(block(x), net(x))
    names = [row.name for row in block.report.rows if row.name != "move crops"]
    assert names == ["drop and fold constants", "fold normalizations", "oneDNN's fusion"]
    assert "left out" in block.report.rows[-1].note
    with pytest.raises(ValueError, match="requires oneDNN"):
        gluon_same.deploy(net, x.shape, dtype="bfloat16")


def test_numpy_mode(numpy_mode):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, 2, "same", activation="relu"), nn.BatchNorm(), nn.AvgPool2D(3, 2, "same"))
    net.initialize()
    x = mx.np.random.normal(size=(1, 3, 8, 8))
    got = gluon_same.deploy(net, x.shape, tune=False)(x)
    assert isinstance(got, mx.np.ndarray)
    np.testing.assert_allclose(got.asnumpy(), net(x).asnumpy(), rtol=1e-4, atol=1e-5)


def test_bfloat16_and_int8(lower):
    net, x = make_net()
    block = gluon_same.deploy(net, x.shape, dtype=lower, data=x, tune=False)
    got, want = block(x), net(x)
    error = max((a - b).abs().max().asscalar() / b.abs().max().asscalar() for a, b in zip(got, want))
    assert 1e-5 < error < 0.1 and block.report.error == pytest.approx(error, rel=1e-3)
    assert got[0].dtype == np.float32


def test_bfloat16_and_int8_are_exported(lower, tmp_path):
    net, x = make_net()
    block = gluon_same.deploy(net, x.shape, dtype=lower, data=[x], tune=False)
    block.export(str(tmp_path / "net"))
    files = str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    close(mx.gluon.SymbolBlock.imports(*files)(x), block(x))


@pytest.mark.parametrize("tune", [False, True])
def test_a_pass_that_changes_numbers_is_left_out(monkeypatch, tune):
    def wrong(graph, node):
        if node.op == "clip" and node.get("a_max") == 6:
            return graph.new("clip", node, node.inputs, a_min=0, a_max=0.5)
        return None

    net, x = make_net()
    passes = [pipeline.Pass("wrong", [wrong]), *pipeline.PASSES]
    monkeypatch.setattr(pipeline, "PASSES", passes)
    block = gluon_same.deploy(net, x.shape, tune=tune)
    close(block(x), net(x))
    notes = {row.name: row.note for row in block.report.rows}
    assert notes["wrong"] == "left out: gives different results" and not notes["fold normalizations"]


def test_verbose_prints_a_table(capsys):
    net, x = make_net()
    block = gluon_same.deploy(net, x.shape, tune=False, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines == str(block.report).splitlines()
    assert lines[0].split() == ["pass", "operators", "ms"] and lines[-1].startswith("error")
    rows = {row.name: row for row in block.report.rows}
    row = rows["fold normalizations"]
    assert row.after < row.before and 0 < row.ms_after < 1e3


@pytest.mark.parametrize(
    "change, kind, words",
    [
        (dict(net=3), TypeError, "is not a Gluon Block"),
        (dict(shapes=[(1, 3, 0, 5)]), ValueError, "out of range"),
        (dict(shapes=[(1, 5, 33, 34)]), ValueError, "could not be traced"),
        (dict(dtype="float16"), ValueError, "use one of"),
        (dict(dtype="int8"), ValueError, "give typical samples"),
        (dict(dtype="int8", data=3), TypeError, "neither an array nor batches"),
        (dict(dtype="int8", data=np.zeros((1, 3, 5, 5))), ValueError, "do not fit"),
        (dict(dtype="int8", data=[]), ValueError, "data have 0 samples"),
        (dict(dtype="bfloat16", portable=True), ValueError, "requires oneDNN"),
    ],
)
def test_what_does_not_fit_is_refused(change, kind, words):
    net, x = make_net()
    given = dict(net=net, shapes=[x.shape], tune=False)
    given.update(change)
    with pytest.raises(kind, match=words):
        gluon_same.deploy(given.pop("net"), *given.pop("shapes"), **given)


def test_nets_that_are_not_ready_are_refused():
    net, x = make_net()
    net.cast("float64")
    with pytest.raises(ValueError, match="cast"):
        gluon_same.deploy(net, x.shape)
    with pytest.raises(ValueError, match="initialize"):
        gluon_same.deploy(nn.Conv2D(3, 3, in_channels=3), x.shape)


def test_a_net_of_float32_may_have_numbers_in_float64():
    class Net(nn.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.layer = nn.Conv2D(2, 3, in_channels=3)
            self.scale = self.params.get("scale", shape=(1,), dtype="float64")

        def hybrid_forward(self, F, x, scale):
            return F.broadcast_mul(F.cast(self.layer(x), "float64"), scale)

    net, x = Net(), mx.nd.ones((1, 3, 8, 8))
    net.initialize()
    y = gluon_same.deploy(net, x.shape, tune=False)(x)
    assert y.dtype == np.float64
    np.testing.assert_allclose(y.asnumpy(), net(x).asnumpy(), 1e-5, 1e-6)


def test_a_net_of_plain_blocks_inside_is_refused():
    class Plain(mx.gluon.Block):
        def forward(self, x):
            return x if x.sum().asscalar() > 0 else -x

    class Net(nn.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.layer = nn.Conv2D(2, 3)

        def hybrid_forward(self, F, x, **kwargs):
            return Plain()(self.layer(x))

    net = Net()
    net.initialize()
    net(mx.nd.ones((1, 3, 8, 8)))
    with pytest.raises(ValueError, match="could not be traced"):
        gluon_same.deploy(net, (1, 3, 8, 8))


def test_a_deployed_net_refuses_other_inputs():
    net, x = make_net()
    block = gluon_same.deploy(net, x.shape, tune=False)
    with pytest.raises(ValueError, match="deployed for inputs of shape"):
        block(mx.nd.ones((2, 3, 33, 34)))
    with pytest.raises(TypeError, match="1 inputs and received 2"):
        block(x, x)
    with pytest.raises(TypeError, match="takes NDArrays, and received ndarray"):
        block(x.asnumpy())
    with pytest.raises(TypeError, match="received float64: give x.astype"):
        block(x.astype("float64"))
    assert block(x)[0].shape == net(x)[0].shape


def test_a_layer_that_is_not_called_needs_no_shape():
    net = nn.HybridLambda(lambda F, x: F.relu(x))
    net.unused = nn.Conv2D(4, 3)
    net.initialize()
    x = mx.nd.random.normal(shape=(1, 3, 5, 5))
    close([gluon_same.deploy(net, x.shape, tune=False)(x)], [net(x)])


def test_a_parameter_with_the_name_of_an_input_is_refused():
    net = nn.HybridLambda(lambda F, x: x, prefix="")
    net.params.get("data", shape=(1,), init="zeros")
    net.initialize()
    with pytest.raises(ValueError, match="named 'data' like an input"):
        gluon_same.deploy(net, (1, 3), tune=False)


def test_a_block_follows_its_parameters_hooks_and_outputs():
    net = nn.Dense(3)
    net.initialize()
    x = mx.nd.random.normal(shape=(2, 4))
    block, seen = gluon_same.deploy(net, x.shape, tune=False), []
    block(x)
    for parameter in block.collect_params().values():
        parameter.set_data(parameter.data() * 2)
    block.hybridize(static_alloc=True)
    close([block(x)], [net(x) * 2])
    handle = block.register_forward_hook(lambda _, inputs, output: seen.append(output.shape))
    block(x)
    handle.detach()
    assert seen == [(2, 3)]
    for parameter in block.collect_params().values():
        parameter.reset_ctx([mx.cpu(0), mx.cpu(1)])
    assert block(x.as_in_context(mx.cpu(1))).context == mx.cpu(1)


def test_results_are_constants_and_those_of_inference_while_recording():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(4, 3, in_channels=2), gluon.nn.Activation("relu"), gluon.nn.BatchNorm())
    net.add(gluon.nn.Conv2D(4, 3, padding=1, in_channels=4), gluon.nn.Dense(3))
    net.initialize()
    x = mx.nd.random.normal(shape=(1, 2, 8, 8))
    want, block = net(x), gluon_same.deploy(net, x.shape, tune=False)
    x.attach_grad()
    with mx.autograd.record():
        found = block(x)
        total = (found * x.mean()).sum()
    np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), atol=1e-5)
    total.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), want.asnumpy().sum() / x.size, rtol=1e-3)


def test_a_net_whose_graph_computes_something_else_is_refused():
    net = nn.HybridLambda(lambda F, x: x * (2 if F is mx.nd else 1))
    with pytest.raises(ValueError, match=r"its graph differ by 1.0e\+00 .* first call net.hybridize"):
        gluon_same.deploy(net, (2, 3), tune=False)
    net.hybridize()  # so that its results are those of the graph
    x = mx.nd.random.normal(shape=(2, 3))
    close([gluon_same.deploy(net, (2, 3), tune=False)(x)], [net(x)])
