"""How much a pass may change results, and which form is kept."""

import os

import mxnet as mx
import numpy as np
import pytest

import gluon_same
from gluon_same import nn
from gluon_same._compat import processor_features
from gluon_same.deployment import pipeline, running
from gluon_same.deployment.fuse import available
from graphs import graph_of

F, X = mx.sym, mx.sym.var("data0")
SHAPE = (1, 3, 8, 8)


class Net(nn.HybridBlock):
    """A convolution and a normalization, followed by a function."""

    def __init__(self, after):
        super().__init__()
        self.after = after
        with self.name_scope():
            self.conv, self.norm = nn.Conv2D(8, 3, padding="same", in_channels=3), nn.BatchNorm()

    def hybrid_forward(self, F, x):
        return self.after(F, self.norm(self.conv(x)))


def made(after):
    net = Net(after)
    net.initialize(mx.init.Normal(1))
    x = mx.nd.random.normal(shape=SHAPE)
    with mx.autograd.record():  # fills the running averages
        net(x)
    return net, x


def test_a_net_that_amplifies_rounding_is_folded():
    def logistic(F, y):  # each step doubles errors
        y = F.sigmoid(y)
        for _ in range(4):
            y = 4 * y * (1 - y)
        return y

    net, x = made(logistic)
    block = gluon_same.deploy(net, x.shape, tune=False)
    assert 1e-5 < block.report.error < 1e-3
    assert not any(row.note for row in block.report.rows)
    net.cast("float64")
    want = net(x.astype("float64")).asnumpy()
    assert np.abs(block(x).asnumpy() - want).max() < 1e-3 * np.abs(want).max()


def test_rows_of_equal_scores_may_change_places():
    want = [np.array([[[0.5], [0.5], [0.4]]]), np.array([[[1.0, 2], [3, 4], [5, 6]]])]
    got = [y[:, [1, 0, 2]] for y in want]
    assert running.error(got, want) > 0.3 and running.error(got, want, ranked=True) == 0
    other = [want[0], want[1] + [[[0, 0], [0, 0], [0, 1]]]]
    assert running.error(other, want, ranked=True) == pytest.approx(1 / 6)
    twice = [y[:, [1, 1, 2]] for y in want]
    assert running.error(twice, want, ranked=True) > 0.3


def test_detections_are_compared_as_a_set():
    class Detector(Net):
        def hybrid_forward(self, F, x):
            y = super().hybrid_forward(F, x)
            y = F.transpose(F.reshape(y, (0, 0, -1)), (0, 2, 1))
            # All scores are 1, but for rounding.
            boxes = F.slice_axis(y, -1, 0, 4)
            score = F.softmax(y, axis=-1).sum(-1, keepdims=True)
            y = F.concat(F.zeros_like(score), score, boxes, dim=-1)
            y = F.contrib.box_nms(y, overlap_thresh=2, force_suppress=True)
            return [F.slice_axis(y, -1, i, j) for i, j in ((0, 1), (1, 2), (2, 6))]

    net = Detector(lambda F, y: y)
    net.initialize(mx.init.Normal(1))
    x = mx.nd.random.normal(shape=SHAPE)
    with mx.autograd.record():
        net(x)
    block = gluon_same.deploy(net, x.shape, tune=False)
    assert block.report.error < 1e-5
    assert "fold normalizations" in [row.name for row in block.report.rows if not row.note]
    assert running.error(*([y.asnumpy() for y in each(x)] for each in (block, net))) > 1e-2


@pytest.mark.parametrize("bit", range(running.CHANGES))
def test_noise_is_that_of_the_last_bit(bit):
    weight = np.array([1, 0, -3, np.finfo("float32").max], "float32")
    changed = running._last_bit(mx.nd.array(weight), bit).asnumpy()
    np.testing.assert_array_equal(np.abs(changed - weight), [2**-23, 0, 2**-22, 2.0**104])
    assert running._last_bit(mx.nd.array([np.inf]), bit).asscalar() == np.inf
    graph = graph_of(F.FullyConnected(X, num_hidden=4), (2, 3))
    checks = running.samples(graph, [mx.nd.ones((2, 3))])
    noises = running.noises(graph, [each[:2] for each in checks])
    assert (noises > 1e-8).all() and (noises < 1e-6).all()
    assert [each[2:] for each in checks] == 2 * [(1e-5, pytest.approx(1e-3))]


def test_a_channel_may_differ_by_as_much_as_rounding_changes_it():
    """The second channel is a small difference of large numbers."""
    weight = mx.nd.array([[0, 0, 1], [1e5, -1e5, 0]])
    graph = graph_of(
        F.FullyConnected(X, F.var("weight", shape=(2, 3)), num_hidden=2, no_bias=True), (1, 3)
    )
    graph.params["weight"] = weight
    check, _ = running.samples(graph, [mx.nd.array([[1, 1.00001, 900]])])
    assert check.tolerance < 1e-3 and check.by_channel > 1e-2


@pytest.mark.parametrize("wrong", ["bound", "bias"])
def test_what_only_large_numbers_show_is_found(monkeypatch, wrong):
    """Numbers around 1 reach neither the bound of ReLU6 nor channels that a bias keeps at zero."""

    def drops(graph, node):
        if wrong == "bound" and node.op == "clip":
            return graph.new("Activation", node, node.inputs, act_type="relu")
        if wrong == "bias" and node.op == "clip" and graph.shape(node.out)[1] == 8:
            one = graph.constant(node, "one", np.arange(8).reshape(1, 8, 1, 1) > 0)
            return graph.new("broadcast_mul", node, [node.out, one])
        return None

    net = Net(lambda F, y: F.clip(y, 0, 6))
    net.initialize(mx.init.Constant(0.1))
    net.conv.bias.set_data(mx.nd.array([-5.0] + 7 * [0.1]))
    monkeypatch.setattr(pipeline, "PASSES", [pipeline.Pass("wrong", [drops]), *pipeline.PASSES])
    report = gluon_same.deploy(net, SHAPE, tune=False).report
    assert report.rows[0] == pipeline.Row("wrong", *report.rows[0][1:5], pipeline.DIFFERS)


def test_the_second_sample_is_wide_if_its_results_can_be_compared():
    first = [mx.nd.array([[-1.5, 2, 1], [0, 0.5, 2.5]])]

    def largest(symbol, wide=True):
        found = running.samples(symbol, first, wide)
        return [each.arrays[0].abs().max().asscalar() for each in found]

    own = first[0].abs().max().asscalar()
    assert largest(graph_of(F.tanh(X), (2, 3))) == [own, running.WIDER * own]
    assert largest(graph_of(F.tanh(X), (2, 3)), wide=False) == [own, own / 2]
    assert largest(graph_of(F.exp(4 * F.square(X)), (2, 3))) == [own, own / 2]  # infinite
    assert largest(graph_of(F.sin(2e4 * X), (2, 3))) == [own, own / 2]  # all rounding
    table = F.take(F.ones((7, 2)), X + 3, mode="raise")
    assert largest(graph_of(table, (2, 3))) == [own, own / 2]  # indices


def test_only_the_rule_that_changes_results_is_left_out(monkeypatch):
    def wrong(graph, node):
        return node.inputs[0] if node.op == "Activation" else None

    monkeypatch.setattr(pipeline, "PASSES", [pipeline.Pass("both", [wrong, *pipeline._FOLD])])
    net, x = made(lambda F, y: F.Activation(y, act_type="relu"))
    block = gluon_same.deploy(net, x.shape, tune=False)
    row = block.report.rows[0]
    assert (row.name, row.note) == ("both", "") and row.after < row.before
    assert (block(x) - net(x)).abs().max() < 1e-5 * net(x).abs().max()


def test_rules_of_a_pass_that_was_left_out_are_not_tried_again(monkeypatch):
    def wrong(graph, node):
        return node.inputs[0] if node.op == "Activation" else None

    both = pipeline.Pass("wrong and right", [wrong, *pipeline._FOLD])
    monkeypatch.setattr(pipeline, "PASSES", [pipeline.Pass("wrong", [wrong]), both])
    net, x = made(lambda F, y: F.Activation(y, act_type="relu"))
    rows = gluon_same.deploy(net, x.shape, tune=False).report.rows
    assert [(row.name, row.note) for row in rows[:2]] == [
        ("wrong", pipeline.DIFFERS),
        ("wrong and right", ""),
    ]


@pytest.mark.skipif(not available(), reason="this build of MXNet is without oneDNN")
def test_without_fusion_the_graph_does_not_grow(monkeypatch):
    def gated(F, y):
        return F.broadcast_mul(y, F.sigmoid(F.mean(y, axis=(2, 3), keepdims=True)))

    def fuse(graph):
        raise mx.MXNetError("no kernel")

    net, x = made(gated)
    monkeypatch.setattr(pipeline, "fuse", fuse)
    report = gluon_same.deploy(net, x.shape, tune=False).report
    assert report.rows[-1].after <= report.rows[0].before


@pytest.mark.skipif(not available(), reason="this build of MXNet is without oneDNN")
def test_mxnets_own_fusion_is_a_candidate(monkeypatch):
    def faster(graphs, arrays, rule):
        return next((name for name in graphs if name.startswith("alone")), rule), True

    monkeypatch.setattr(pipeline, "faster", faster)
    net, x = made(lambda F, y: F.relu(y))
    block = gluon_same.deploy(net, x.shape)
    assert block.report.rows[-1].note == "alone: the other passes are slower"
    want = net(x)
    assert (block(x) - want).abs().max() < 1e-5 * want.abs().max()


def test_the_report_says_if_times_vary_too_much(monkeypatch):
    monkeypatch.setattr(pipeline, "faster", lambda graphs, arrays, rule: (rule, False))
    net, x = made(lambda F, y: F.relu(y))
    assert pipeline.BUSY in [row.note for row in gluon_same.deploy(net, x.shape).report.rows]


@pytest.mark.skipif(
    "avx2" not in processor_features()
    or os.environ.get("DNNL_MAX_CPU_ISA", "").upper() in ("SSE41", "AVX"),
    reason="without AVX2, layers return plain memory, and MXNet can run the graph",
)
def test_a_graph_that_mxnet_cannot_run_leaves_no_error_behind():
    y = F.Convolution(X, mx.sym.var("weight"), kernel=(1, 1, 1), num_filter=16, no_bias=True)
    shape = (2, 3, 3, 3, 1)
    graph = graph_of(mx.sym.Group([F.Flatten(F.Flatten(y)), F.Flatten(F.Flatten(F.relu(y)))]), shape)
    with pytest.raises(mx.MXNetError, match="reorder primitive"):
        running.outputs(graph, [mx.nd.ones(shape)])
    mx.nd.waitall()


@pytest.mark.parametrize("tune", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
def test_a_pass_that_fails_is_left_out(at_once, tune, monkeypatch):
    def fine(graph, node):
        return graph.new("Activation", node, node.inputs, act_type="relu") if node.op == "relu" else None

    def broken(graph, node):
        if node.op != "tanh":
            return None
        if at_once:  # when the shapes are inferred
            return graph.new("broadcast_add", node, [*node.inputs, np.ones((7, 11, 13, 17))])
        whole = graph.new("Cast", node, node.inputs, dtype="int32")
        y = graph.new("Activation", node, [whole], act_type="tanh")  # not of whole numbers
        return graph.new("Cast", node, [y], dtype="float32")

    passes = pipeline.Pass("optional", [fine], choice=True), pipeline.Pass("break", [broken])
    monkeypatch.setattr(pipeline, "PASSES", (*passes, *pipeline.PASSES))
    net, x = made(lambda F, y: F.tanh(F.relu(y)))
    block = gluon_same.deploy(net, x.shape, tune=tune)
    assert [row.note for row in block.report.rows if row.name == "break"] == [pipeline.FAILS]
    np.testing.assert_allclose(block(x).asnumpy(), net(x).asnumpy(), atol=1e-5)


def test_bounds_of_whole_numbers_stay_whole():
    def looked_up(F, y):
        places = F.maximum(F.cast(F.mean(y, axis=(1, 2, 3)), dtype="int32"), 0)
        return F.cast(places, dtype="float32")

    net, x = made(looked_up)
    block = gluon_same.deploy(net, x.shape, tune=False)
    assert not any(row.note == pipeline.FAILS for row in block.report.rows)
    assert (block(x).asnumpy() == net(x).asnumpy()).all()
