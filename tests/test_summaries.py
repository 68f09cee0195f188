"""Summaries have the right numbers and leave the net unchanged."""

import sys

import mxnet as mx
import numpy as np
import pytest
from mxnet.gluon import Block, HybridBlock, SymbolBlock, rnn
from mxnet.gluon import nn as stock

import keras_nets
from gluon_same import model_zoo, nn, specialize, summary
from small_nets import blocks_of


def totals(found):
    return found.total_params, found.trainable_params, found.non_trainable_params


def small_net():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            nn.Conv2D(4, (3, 1), strides=2, padding="same", activation="relu"),
            nn.BatchNorm(),
            nn.MaxPool2D(2, strides=1, padding="same_lower"),
        )
    return net


def test_the_keras_model_has_the_totals_of_keras():
    found = summary(keras_nets.keras_cnn(), (1, 3, 32, 32))
    assert totals(found) == (38_960, 38_840, 120)
    assert [row.params for row in found.rows] == [1792, 120, 0, 0, 36_928, 120, 0, 0]
    assert found.output_shapes == ((1, 64, 15, 15),)
    assert str(found).splitlines()[-4:-1] == [
        "Total params: 38,960",
        "Trainable params: 38,840",
        "Non-trainable params: 120",
    ]


def test_a_row_shows_the_window_the_padding_and_the_sizes():
    rows = summary(small_net(), (2, 3, 9, 7)).rows
    assert rows[0] == (
        *("conv0", "Conv2D", "3x1/2", "same"),
        *(((2, 3, 9, 7),), ((2, 4, 5, 4),)),
        *(4 * 3 * 3 + 4, 4 * 3 * 3 + 4, 0),
    )
    assert (rows[1].type, rows[1].window, rows[1].padding) == ("BatchNorm", "", "")
    assert (rows[1].params, rows[1].trainable) == (16, 8)
    assert (rows[2].window, rows[2].padding) == ("2x2/1", "same_lower")
    assert len(rows) == 3  # the activation is part of its convolution, as in Keras


@pytest.mark.parametrize(
    "block, shape, window, padding",
    [
        (nn.Conv2D(1, 3, padding=1), (1, 1, 9, 9), "3x3/1", "1"),
        (nn.Conv2D(1, 3, padding=(1, 0)), (1, 1, 9, 9), "3x3/1", "1x0"),
        (nn.Conv2D(1, 3, padding="valid", dilation=2), (1, 1, 9, 9), "3x3/1 d2", "valid"),
        (nn.Conv2D(1, 3, padding=((0, 1), (2, 3))), (1, 1, 9, 9), "3x3/1", "(0, 1) (2, 3)"),
        (nn.Conv1D(1, 3, padding="causal"), (1, 1, 9), "3/1", "causal"),
        (stock.MaxPool2D(3, (2, 1), ceil_mode=True), (1, 1, 9, 9), "3x3/2x1", "0 ceil"),
        (
            stock.Conv2DTranspose(1, 3, strides=2, padding=1, output_padding=1),
            *((1, 1, 9, 9), "3x3/2", "1 adj 1"),
        ),
        (nn.GlobalAvgPool2D(), (1, 1, 9, 9), "global", ""),
        (nn.Dense(3), (1, 9), "", ""),
    ],
)
def test_windows_and_paddings_in_words(block, shape, window, padding):
    (row,) = summary(block, shape).rows
    assert (row.window, row.padding) == (window, padding)


@pytest.mark.parametrize(
    "make, shape",
    [
        (model_zoo.tiny_darknet, (1, 3, 64, 96)),
        (model_zoo.yolov3_tiny, (1, 3, 64, 64)),
        (keras_nets.conv_autoencoder, (2, 1, 28, 28)),
        (keras_nets.keras_cnn, (2, 3, 32, 32)),
        (small_net, (2, 3, 1, 1)),
    ],
)
def test_sizes_and_parameters_are_those_of_the_net_that_runs(make, shape):
    net = make()
    found = summary(net, shape)
    net.initialize()
    net(mx.nd.zeros(shape))  # fixes the parameters' shapes
    sizes = {}
    for block in found.rows:
        sizes.setdefault(block.name, []).append(block.output_shapes)
    seen = {}

    def see(block, _, out):
        name = block.name[len(net.prefix) :]
        seen.setdefault(name, []).append(tuple(y.shape for y in flat(out)))

    handles = []
    net.apply(lambda block: handles.append(block.register_forward_hook(see)))
    outputs = flat(net(mx.nd.zeros(shape)))
    assert found.output_shapes == tuple(y.shape for y in outputs)
    assert sizes == {name: seen[name] for name in sizes}
    parameters = net.collect_params().values()
    assert found.total_params == sum(p.data().size for p in parameters)
    assert found.trainable_params == sum(p.data().size for p in parameters if p.grad_req != "null")
    assert sum(row.params for row in found.rows) == found.total_params
    assert sum(row.trainable for row in found.rows) == found.trainable_params
    assert found.unused_params == 0


def flat(out):
    return [y for part in out for y in flat(part)] if isinstance(out, (list, tuple)) else [out]


def test_it_is_the_same_before_and_after_every_step():
    net = small_net()
    shape = (2, 3, 9, 7)
    before = str(summary(net, shape))
    net.initialize()
    assert str(summary(net, shape)) == before
    net.hybridize()
    assert str(summary(net, shape)) == before
    net(mx.nd.ones(shape))
    assert str(summary(net, shape)) == before
    specialize(net, shape)(mx.nd.ones(shape))
    assert str(summary(net, shape)) == before
    for block in (specialize(net), specialize(net, shape)):
        assert str(summary(block, shape)).splitlines()[-4:-1] == before.splitlines()[-4:-1]
    assert str(summary(net, (5, *shape[1:]))) != before


def test_the_net_does_not_change():
    net = small_net()
    net.initialize()
    parameters = net.collect_params()
    shapes = {name: p.shape for name, p in parameters.items()}
    states = [(dict(vars(block)), type(block)) for block in blocks_of(net)]
    summary(net, (2, 3, 9, 7))
    assert {name: p.shape for name, p in parameters.items()} == shapes
    with pytest.raises(mx.gluon.parameter.DeferredInitializationError):
        parameters["net_conv0_weight"].data()
    assert [(dict(vars(block)), type(block)) for block in blocks_of(net)] == states
    assert not any(block._forward_hooks or block._forward_pre_hooks for block in blocks_of(net))


def test_a_hybridized_and_specialized_net_keeps_its_graph_and_its_guard():
    net = small_net()
    net.initialize()
    net.hybridize()
    x = mx.nd.random.normal(shape=(2, 3, 9, 7))
    before, graph = net(x).asnumpy(), net._cached_op
    block = specialize(net, x.shape)
    np.testing.assert_allclose(block(x).asnumpy(), before, rtol=1e-5, atol=1e-6)
    summary(net, (5, 3, 8, 8))
    assert summary(block, x.shape).output_shapes == summary(net, x.shape).output_shapes
    with pytest.raises(ValueError, match="net_specialized_for_anyx3x9x7"):
        summary(block, (2, 3, 8, 7))
    assert net._cached_op is graph
    np.testing.assert_array_equal(net(x).asnumpy(), before)
    with pytest.raises(ValueError, match="specialized"):
        block(mx.nd.ones((2, 3, 8, 7)))


def test_hooks_and_sizes_are_removed_after_an_error():
    class Failing(HybridBlock):
        def hybrid_forward(self, F, x):
            raise ZeroDivisionError("told why")

    net = small_net()
    net.add(Failing())
    with pytest.raises(ValueError, match="told why"):
        summary(net, (2, 3, 9, 7))
    assert not any(block._forward_hooks or block._forward_pre_hooks for block in blocks_of(net))
    assert all(getattr(block, "_in_shape", None) is None for block in blocks_of(net))


def test_a_block_that_is_called_twice_counts_once():
    class Twice(HybridBlock):
        def __init__(self):
            super().__init__(prefix="twice_")
            with self.name_scope():
                self.conv = nn.Conv2D(3, 3, padding="same")

        def hybrid_forward(self, F, x):
            return self.conv(self.conv(x))

    found = summary(Twice(), (1, 3, 8, 8))
    assert [(row.params, row.shared) for row in found.rows] == [(84, 0), (0, 84)]
    assert found.total_params == 84
    assert "0 (+84 shared)" in str(found)


def test_parameters_that_layers_share_count_once():
    net = nn.HybridSequential()
    first = nn.Dense(8, in_units=8)
    net.add(first, nn.Dense(8, in_units=8, params=first.collect_params()))
    found = summary(net, (2, 8))
    assert [(row.params, row.shared) for row in found.rows] == [(72, 0), (0, 72)]
    assert totals(found) == (72, 72, 0)


def test_frozen_parameters_are_not_trainable():
    net = small_net()
    net[0].collect_params().setattr("grad_req", "null")
    assert totals(summary(net, (2, 3, 9, 7))) == (56, 8, 48)


class HalfUsed(HybridBlock):
    def __init__(self, in_units):
        super().__init__(prefix="half_")
        with self.name_scope():
            self.used = nn.Dense(2, in_units=3)
            self.unused = nn.Dense(2, in_units=in_units, prefix="unused_")

    def hybrid_forward(self, F, x):
        return self.used(x)


def test_layers_that_are_not_called_are_reported():
    found = summary(HalfUsed(in_units=5), (1, 3))
    assert (found.total_params, found.unused_params, found.unknown) == (20, 12, [])
    assert "Params of layers that were not called: 12" in str(found)


def test_parameters_of_unknown_shape_are_named_and_not_counted():
    found = summary(HalfUsed(in_units=0), (1, 3))
    assert found.unknown == ["half_unused_weight"]
    assert found.total_params == 8 + 2
    assert "Not counted because their shapes are unknown: half_unused_weight" in str(found)


def test_several_inputs_and_outputs():
    class Pair(HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.dense = nn.Dense(4)
                self.scale = self.params.get("scale", shape=(1,))

        def hybrid_forward(self, F, a, b, scale):
            halves = F.split(self.dense(F.concat(a, b, dim=1)), num_outputs=2)
            return F.broadcast_mul(halves[0], scale), [halves[1], a]

    found = summary(Pair(), (2, 3), (2, 5))
    assert found.input_shapes == ((2, 3), (2, 5))
    assert found.output_shapes == ((2, 2), (2, 2), (2, 3))
    assert [(row.type, row.params) for row in found.rows] == [("Pair", 1), ("Dense", 36)]
    assert found.rows[0].input_shapes == ((2, 3), (2, 5))
    assert "3, 5" in str(found)


def test_sequential_blocks_that_are_not_hybrid_and_layers_of_stock_gluon():
    net = stock.Sequential()
    net.add(stock.Conv2D(4, 3, padding=1), stock.Flatten(), stock.Dense(2))
    found = summary(net, (1, 3, 5, 5))
    assert [row.type for row in found.rows] == ["Conv2D", "Flatten", "Dense"]
    assert found.total_params == 112 + 202


def test_maps_that_are_smaller_than_a_kernel():
    net = nn.HybridSequential()
    net.add(nn.MaxPool2D(2, padding="same"), nn.MaxPool2D(2, padding="same"))
    assert summary(net, (1, 3, 2, 2)).output_shapes == ((1, 3, 1, 1),)


def test_a_recurrent_layer():
    found = summary(rnn.LSTM(5, input_size=3), (7, 2, 3))
    assert found.output_shapes[0] == (7, 2, 5)
    assert found.total_params == 4 * (5 * 3 + 5 * 5 + 5 + 5)


def test_an_exported_net_is_one_layer(tmp_path):
    net = small_net()
    net.initialize()
    net.hybridize()
    net(mx.nd.ones((2, 3, 9, 7)))
    net.export(str(tmp_path / "net"))
    loaded = SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    found = summary(loaded, (2, 3, 9, 7))
    assert found.total_params == summary(net, (2, 3, 9, 7)).total_params
    assert found.output_shapes == ((2, 4, 5, 4),)


def test_numpy_mode(numpy_mode):
    net = small_net()
    net.add(Scaled())
    found = summary(net, (2, 3, 9, 7))
    assert found.rows[0].output_shapes == ((2, 4, 5, 4),)
    assert (found.total_params, found.unknown) == (57, [])


class Scaled(HybridBlock):
    def __init__(self):
        super().__init__()
        self.scale = self.params.get("scale", shape=())

    def hybrid_forward(self, F, x, scale):
        return x * scale


def test_sizes_that_do_not_fit_are_reported_in_one_line():
    for net, shapes, words in (
        (keras_nets.keras_cnn(), [(1, 3, 33, 33)], r"^data for kerascnn\d* of shape .* does not fit"),
        (
            nn.BatchNorm(in_channels=4),
            [(1, 3, 9, 9)],
            r"gamma has shape \(4,\), and these inputs require",
        ),
        (nn.Conv2D(4, 3, in_channels=2), [(1, 3, 9, 9)], "conv"),
        (nn.Dense(3, in_units=4), [(1, 5)], "dense"),
        (small_net(), [(1, 3, 9, 9), (1,)], "net could not be traced"),
    ):
        with pytest.raises(ValueError, match=words) as refusal:
            summary(net, *shapes)
        assert "\n" not in str(refusal.value)


def test_code_that_requires_arrays_is_reported():
    class Eager(Block):
        def forward(self, x):
            return mx.nd.relu(x) + mx.nd.ones((1, 3))

    with pytest.raises(ValueError, match="replace arrays in its code by params.get_constant"):
        summary(Eager(), (1, 3))


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        ((3, (1, 3)), TypeError, "net=3 is not a Gluon Block"),
        ((nn.Flatten(),), ValueError, "input_shapes is empty"),
        ((nn.Flatten(), 3), TypeError, "input shape=3"),
        ((nn.Flatten(), ()), TypeError, "input shape=()"),
        ((nn.Flatten(), (1, 0)), ValueError, "input shape=0"),
        ((nn.Flatten(), (1, 2.5)), TypeError, "input shape=2.5"),
    ],
)
def test_bad_arguments_are_named(arguments, error, words):
    with pytest.raises(error, match=words.replace("(", r"\(").replace(")", r"\)")):
        summary(*arguments)


def test_a_script_prints_the_table_and_a_session_does_not(monkeypatch, capsys):
    found = summary(small_net(), (2, 3, 9, 7))
    assert capsys.readouterr().out == ""
    monkeypatch.delattr(sys, "ps1")
    again = summary(small_net(), (2, 3, 9, 7))
    assert capsys.readouterr().out == f"{found}\n"
    assert again.rows == found.rows


def test_a_notebook_shows_a_table_of_html():
    page = summary(small_net(), (2, 3, 9, 7))._repr_html_()
    assert page.count("<tr>") == 4 and ">conv0 (Conv2D)</td>" in page
    assert "net: (2, 3, 9, 7) -&gt; " in page and "Total params: 56" in page
