"""Nets whose numbers deploying cannot compare, and nets at the edge of what it serves."""

import subprocess
import sys

import mxnet as mx
import numpy as np
import pytest

import gluon_same
from gluon_same import nn
from gluon_same.deployment import fuse, running
from gluon_same.graph import Graph
from gluon_same.importing.embedding import Embedding
from small_nets import Body, normal, same

SHAPE = (2, 3, 8, 8)


def make(body, **kwargs):
    net = Body(body, channels=4)
    net.initialize(mx.init.Xavier(), **kwargs)
    return net


def deployed(net, data=None, dtype="float32", tune=False):
    return gluon_same.deploy(net, SHAPE, data=data, dtype=dtype, tune=tune)


def serves(net, x, **kwargs):
    """Whether the deployed net gives the numbers of the net, for two inputs."""
    block = deployed(net, **kwargs)
    for each in (x, 0.7 * x):
        np.testing.assert_allclose(block(each).asnumpy(), net(each).asnumpy(), rtol=1e-4, atol=1e-5)
    return block


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"], indirect=True)
def test_a_net_that_is_not_defined_for_random_numbers_needs_data(dtype):
    net = make(lambda F, layer, x: layer(F.log(x)))
    with pytest.raises(ValueError, match="NaN for normal random numbers.*as data="):
        deployed(net, dtype=dtype)
    with pytest.raises(ValueError, match="NaN for the first batch of data"):
        deployed(net, mx.nd.zeros(SHAPE), dtype)
    data = mx.nd.random.uniform(1, 2, shape=SHAPE)
    assert deployed(net, data, dtype).report.error < 0.1
    serves(net, data, data=data)


def test_fusion_is_kept_for_such_a_net():
    data = mx.nd.random.uniform(1, 2, shape=SHAPE)
    block = serves(make(lambda F, layer, x: F.relu(layer(F.log(x)))), data, data=data)
    assert not block.report.rows[-1].note or not fuse.available()


@pytest.mark.parametrize(
    "body",
    [
        lambda F, layer, x: layer(x) / 0,
        lambda F, layer, x: F.broadcast_div(layer(x), F.zeros_like(F.sum(x, axis=1, keepdims=True))),
    ],
)
def test_divisions_by_zero_are_refused(body):
    with pytest.raises(ValueError, match="returns an infinity or a NaN"):
        deployed(make(body))


def test_a_division_by_zero_whose_result_is_not_used():
    body = lambda F, layer, x: F.where(layer(x) > 99, layer(x) / 0, layer(x))  # noqa: E731
    serves(make(body), mx.nd.random.normal(shape=SHAPE))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_parameter_that_is_not_finite_is_named(value):
    net = make(lambda F, layer, x: layer(x))
    net.layer.weight.data()[0, 0, 0, 0] = value
    with pytest.raises(ValueError, match=f"load or train {net.layer.weight.name} again"):
        deployed(net)


def test_a_mask_is_not_named():
    net = make(lambda F, layer, x: layer(x))
    net.layer.weight.data()[0, 0, 0, 0] = -np.inf
    with pytest.raises(ValueError, match="which deploy cannot compare: give samples"):
        deployed(net)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"], indirect=True)
@pytest.mark.parametrize(
    "body",
    [
        lambda F, layer, x: F.Dropout(layer(x), p=0.5, mode="always"),
        lambda F, layer, x: layer(x) + F.random.normal(shape=(2, 4, 8, 8)),
    ],
)
def test_random_results_are_refused(body, dtype):
    with pytest.raises(ValueError, match=r"^(Dropout|_random_normal) \(.* returns random numbers"):
        deployed(make(body), dtype=dtype)


def test_the_operator_that_orders_nearly_equal_scores_is_named(monkeypatch):
    def chosen(F, layer, x):
        rows = F.reshape(F.transpose(layer(x), (0, 2, 3, 1)), (-1, 4))
        scores = F.softmax(rows, axis=-1).sum(-1)  # all of them are 1, but for rounding
        return F.take(rows, F.topk(scores, k=9))

    monkeypatch.setitem(gluon_same.deploy.__globals__, "error", lambda *_: 0.5)
    with pytest.raises(ValueError, match=r"^topk \(.* orders scores that are nearly equal.*data="):
        deployed(make(chosen))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"], indirect=True)
def test_a_net_that_returns_its_input(dtype, tmp_path):
    net = make(lambda F, layer, x: F.identity(x))
    x = mx.nd.random.normal(shape=SHAPE)
    block = deployed(net, x, dtype)
    np.testing.assert_array_equal(block(x).asnumpy(), x.asnumpy())
    block.export(str(tmp_path / "net"))
    files = str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    np.testing.assert_array_equal(mx.gluon.SymbolBlock.imports(*files)(x).asnumpy(), x.asnumpy())


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (1, 2)])
def test_a_net_on_several_contexts_is_deployed_on_the_first(order):
    contexts = [mx.cpu(i) for i in order]
    net = make(lambda F, layer, x: F.relu(layer(x)), ctx=contexts)
    block = serves(net, mx.nd.random.normal(shape=SHAPE, ctx=contexts[0]))
    assert [p.list_ctx() for p in block.collect_params().values()] == [contexts[:1]] * 2
    assert net.layer.weight.list_ctx() == contexts


def test_sparse_parameters_are_refused():
    class Sparse(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = self.params.get("weight", shape=(6, 4), stype="row_sparse")

        def hybrid_forward(self, F, x, weight):
            return F.Embedding(x, weight, input_dim=6, output_dim=4)

    net = Sparse()
    net.initialize()
    with pytest.raises(ValueError, match="weight is row_sparse: give a net with dense parameters"):
        gluon_same.deploy(net, (1, 2))


def test_sparse_gradients_are_no_hindrance():
    net = nn.HybridSequential()
    net.add(nn.Embedding(6, 4, sparse_grad=True), nn.Dense(3))
    net.initialize()
    x = mx.nd.array([[1, 5]])
    block = gluon_same.deploy(net, x, data=x, tune=False)
    np.testing.assert_allclose(block(x).asnumpy(), net(x).asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
def test_a_dtype_that_mxnet_cannot_run_is_refused(dtype, monkeypatch):
    def failing(*_):
        raise mx.MXNetError("Traceback\n  MXNetError: could not create a primitive")

    monkeypatch.setattr(f"gluon_same.deployment.pipeline.to_{dtype}", failing)
    net = make(lambda F, layer, x: layer(x))
    with pytest.raises(ValueError, match=f"in {dtype} .*use dtype='float32'.*create a primitive"):
        deployed(net, mx.nd.ones(SHAPE), dtype)


@pytest.mark.skipif(not fuse.available(), reason="this build of MXNet is without oneDNN")
def test_tuning_in_bfloat16_reports_the_time_in_float32(bfloat16):
    block = deployed(make(lambda F, layer, x: layer(x)), dtype=bfloat16, tune=True)
    assert block.report.rows[-1].note.startswith("float32 ")
    assert " ms, bfloat16 " in block.report.rows[-1].note


def test_deploying_logs_nothing(exact_lower):
    # MXNet reads its settings once a process.
    program = f"""
import gluon_same, os
import mxnet as mx
net = gluon_same.nn.HybridSequential()
net.add(gluon_same.nn.Conv2D(4, 3, padding="same", activation="relu"))
net.add(gluon_same.nn.HybridLambda(lambda F, x: F.broadcast_mul(x, 2 * F.ones((1, 4, 1, 1)))))
net.add(gluon_same.nn.MaxPool2D(), gluon_same.nn.Dense(4))
net.initialize()
environment = dict(os.environ)
for dtype in ("float32", {exact_lower!r}):
    gluon_same.deploy(net, (1, 4, 8, 8), dtype=dtype, data=mx.nd.ones((1, 4, 8, 8)), tune=False)
assert dict(os.environ) == environment
"""
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.returncode == 0 and done.stdout == b""


def test_progress_is_shown_if_deploying_takes_long(monkeypatch, capfd):
    monkeypatch.setattr("gluon_same.progress.PATIENCE", -1)
    deployed(make(lambda F, layer, x: F.relu(layer(x))), tune=True)
    err = capfd.readouterr().err
    assert "deploying: move crops" in err and "\ndeploying: oneDNN's fusion" in err
    assert "\r" not in err


@pytest.mark.parametrize("aligns", [True, False])
def test_regions_of_samples_are_given(aligns):
    def pooled(F, x, regions):
        function = F.contrib.ROIAlign if aligns else F.ROIPooling
        return 2 * function(x, F.identity(regions), pooled_size=(3, 2), spatial_scale=0.5)

    net = nn.HybridLambda(pooled)
    inputs = normal((2, 3, 16, 16)), mx.nd.array([[0, 0, 0, 15, 15], [1, 3, 1, 31, 30]])
    shapes = [x.shape for x in inputs]
    with pytest.raises(ValueError, match="'data1' has regions of samples: give typical ones as data="):
        gluon_same.deploy(net, *shapes, tune=False)
    same(gluon_same.deploy(net, *shapes, data=[inputs], tune=False)(*inputs), net(*inputs))


def test_regions_that_are_computed_are_not_given():
    def pooled(F, x):
        zero = F.zeros_like(F.mean(x, axis=(2, 3)))
        regions = F.slice_axis(F.concat(zero, zero + 7, dim=1), axis=1, begin=1, end=None)
        return F.contrib.ROIAlign(x, regions, pooled_size=(3, 2), spatial_scale=0.5)

    net, x = nn.HybridLambda(pooled), normal((2, 3, 16, 16))
    same(gluon_same.deploy(net, x.shape, tune=False)(x), net(x))


def test_indices_of_a_table_that_raises_an_error_for_others():
    net = nn.HybridSequential()
    net.add(Embedding(3, 4), nn.Dense(5, flatten=False))
    net.initialize()
    ids = mx.nd.array(np.arange(48).reshape(2, 24) % 3)
    for arguments in (dict(), dict(data=ids)):
        block = gluon_same.deploy(net, ids.shape, tune=False, **arguments)
        same(block(ids), net(ids))
        assert block.report.error < 1e-5
    symbol = net(mx.sym.Variable("ids"))
    graph = Graph(
        symbol, {name: p.data() for name, p in net.collect_params().items()}, {"ids": ids.shape}
    )
    changes = running.noises(graph, [([ids], [net(ids).asnumpy()])])
    assert changes.max() < 1e-5  # those of weights, and not of indices


def test_random_indices_that_do_not_fit():
    net = nn.HybridLambda(lambda F, x, indices: F.gather_nd(x, indices))
    x, indices = normal((1, 3)), mx.nd.array([[0, 0], [2, 1]])
    with pytest.raises(
        ValueError, match="lacks elements at random indices: give typical inputs as data="
    ):
        gluon_same.deploy(net, x.shape, indices.shape, tune=False)
    block = gluon_same.deploy(net, x.shape, indices.shape, data=[(x, indices)], tune=False)
    same(block(x, indices), net(x, indices))
    with pytest.raises(ValueError, match="lacks elements at indices of data"):
        gluon_same.deploy(net, x.shape, indices.shape, data=[(x, indices + 1)], tune=False)
